"""The requests of ours that wait for an answer, by id: `1` and `"1"` are two.

| an answer | ends the wait with |
| --- | --- |
| `result`, an object, and no `error` | the result |
| `error`, an object with an integer `code`, and no `result` | that error |
| both, neither, or anything else | an error that names the peer |
| the second one of an id, or under an id that nothing waits for | nothing: it is a stray |
"""

import asyncio
import itertools
from collections.abc import Mapping
from typing import Any

from mcp_gate.wire.context import CallOptions
from mcp_gate.wire.messages import INTERNAL_ERROR, is_id

Answer = asyncio.Future[dict[str, Any]]


class Pending:
    """A table of requests. `error` is the type of the exceptions, made of code, message and data."""

    def __init__(self, peer: str, error: type[Exception]) -> None:
        self._peer, self._error = peer, error
        self._ids = itertools.count(1)
        self._requests: dict[int | str, tuple[Answer, CallOptions]] = {}

    def new_id(self) -> int:
        """An id that no request waits under."""
        return next(i for i in self._ids if i not in self._requests)

    def add(self, request_id: int | str, options: CallOptions) -> Answer:
        """Begin to wait.

        Raises:
            ValueError: a request waits under that id.
        """
        if request_id in self._requests:
            raise ValueError(f"request id {request_id!r} is in use")
        answer: Answer = asyncio.get_running_loop().create_future()
        self._requests[request_id] = (answer, options)
        return answer

    def remove(self, request_id: int | str) -> None:
        """Wait no longer."""
        del self._requests[request_id]

    def options(self, request_id: Any) -> CallOptions | None:
        """The options of the request under that id, which may be any value; None where there is none."""
        found = self._requests.get(request_id) if is_id(request_id) else None
        return found[1] if found is not None else None

    def settle(self, message: Mapping[str, Any]) -> bool:
        """Take an answer as the module's table says; false for a stray."""
        request_id, result, error = (message.get(key) for key in ("id", "result", "error"))
        if isinstance(result, dict) and "error" not in message:
            answer = self._unanswered(request_id)
            if answer is not None:
                answer.set_result(result)
            return answer is not None
        if isinstance(error, dict) and type(error.get("code")) is int and "result" not in message:
            text = error.get("message")
            refused = self._error(error["code"], text if isinstance(text, str) else "no message", error.get("data"))
            return self.fail(request_id, refused)
        shape = "without exactly one of `result`, an object, and `error`"
        return self.fail(request_id, self._error(INTERNAL_ERROR, f"{self._peer} sent an answer {shape}"))

    def fail(self, request_id: Any, error: Exception) -> bool:
        """End the wait under that id with an error; false where there is none."""
        answer = self._unanswered(request_id)
        if answer is None:
            return False
        answer.set_exception(error)
        answer.exception()  # marks it as seen: whoever waits may be cancelled before it reads it
        return True

    def fail_all(self, code: int, text: str) -> None:
        """End every wait with an error of that code and text, each its own exception."""
        for request_id in self._requests:
            self.fail(request_id, self._error(code, text))

    def _unanswered(self, request_id: Any) -> Answer | None:
        found = self._requests.get(request_id) if is_id(request_id) else None
        return found[0] if found is not None and not found[0].done() else None
