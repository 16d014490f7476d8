"""Calls and answers over a pair of pipes: a lean implementation of the SDK's `Dispatcher` protocol.

`mcp/shared/dispatcher.py` of the SDK defines what is implemented here (`send_raw_request`, `notify`, `run`, and the
`DispatchContext` that handlers get), so the SDK's own sessions and servers can be driven over it: pass
`error=MCPError`. It imports nothing of the SDK itself, since that takes a second.

| an incoming message | what happens |
| --- | --- |
| request | its handler runs in a task of its own; what it returns or raises is the answer |
| response | ends the wait of the request with exactly that id; any other is dropped and counted |
| `notifications/cancelled` | cancels the handler of that id, which then gets no answer |
| `notifications/progress` | goes to the request whose token it has |
| another notification | first to the intercept, in order of arrival, then to its handler in a task |
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
import structlog

from mcp_gate.wire.context import CallOptions, Context, OnNotify, OnNotifyIntercept, OnRequest, Params
from mcp_gate.wire.eras import meta_of
from mcp_gate.wire.messages import (
    CONNECTION_CLOSED,
    ENDS,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    MalformedError,
    Message,
    NoiseError,
    RpcError,
    error_object,
    is_id,
    read_line,
    salvage_id,
    write_line,
)
from mcp_gate.wire.pipes import LineReader, Writer

log = structlog.get_logger()

MAX_LINE = 16 << 20  # bytes
NOISE_KEPT = 3


@dataclass(slots=True)
class _Pending:
    """A request of ours that waits for its answer."""

    answer: "asyncio.Future[dict[str, Any]]"
    options: CallOptions

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)
            self.answer.exception()  # marks it as seen: whoever waits may be cancelled before it reads it


class Dispatcher:
    """Speaks JSON-RPC with the peer behind two descriptors; `write_fd` is closed at the end, `read_fd` is not.

    `error` is the exception type with which a peer's error is raised and whose instances handlers raise to answer
    with an error: ours, or the SDK's `MCPError`, which has the same shape. `peer` names the other side in messages.
    """

    def __init__(
        self, read_fd: int, write_fd: int, *, peer: str, max_line: int = MAX_LINE, error: type[Exception] = RpcError
    ) -> None:
        self.peer = peer
        self.noise = 0
        self.noise_lines: list[str] = []
        self.stray = 0
        self.unreadable: deque[str] = deque(maxlen=NOISE_KEPT)
        self.closed = anyio.Event()
        self._error = error
        self._ids = itertools.count(1)
        self._pending: dict[int | str, _Pending] = {}
        self._handling: dict[int | str, Context] = {}
        self._writer = Writer(write_fd, on_broken=self._end)
        self._reader = LineReader(
            read_fd, limit=max_line, on_line=self._line, on_oversize=self._oversize, on_end=self._end
        )
        self._tasks: anyio.abc.TaskGroup | None = None
        self._on_request: OnRequest
        self._on_notify: OnNotify
        self._intercept: OnNotifyIntercept | None = None

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve the connection until the peer closes it; handlers still running then are cancelled."""
        self._on_request, self._on_notify, self._intercept = on_request, on_notify, on_notify_intercept
        try:
            async with anyio.create_task_group() as self._tasks:
                self._reader.start()
                task_status.started()
                await self.closed.wait()
                self._tasks.cancel_scope.cancel()
        finally:
            self._end()
            self._writer.close()

    async def send_raw_request(self, method: str, params: Params, opts: CallOptions | None = None) -> dict[str, Any]:
        """Send a request and wait for its result.

        Raises:
            RpcError: (or the `error` type) the peer's error; the connection closed; `timeout` seconds passed.
            ValueError: `request_id` is in use.
        """
        options: CallOptions = opts or {}
        request_id = options["request_id"] if "request_id" in options else self._next_id()
        if request_id in self._pending:
            raise ValueError(f"request id {request_id!r} is in use")
        if self.closed.is_set():
            raise self._closed_error()
        message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if "on_progress" in options or "on_progress_params" in options:
            params = {**(params or {}), "_meta": {**meta_of(params), "progressToken": request_id}}
        if params is not None:
            message["params"] = params
        waiting = _Pending(asyncio.get_running_loop().create_future(), options)
        self._pending[request_id] = waiting
        try:
            self._writer.write(write_line(message))
            with anyio.fail_after(options.get("timeout")):
                return await waiting.answer
        except TimeoutError:
            self._abandon(request_id, options, "timed out")
            limit = options.get("timeout")
            raise self._error(REQUEST_TIMEOUT, f"{self.peer} did not answer `{method}` within {limit:g} s") from None
        except asyncio.CancelledError:
            self._abandon(request_id, options, "cancelled")
            raise
        finally:
            del self._pending[request_id]

    async def notify(self, method: str, params: Params, opts: Any = None) -> None:
        """Send a notification; it is dropped where the connection is closed."""
        self.notify_now(method, params)
        await self._writer.drain()

    def notify_now(self, method: str, params: Params) -> None:
        """As `notify`, without waiting for a peer that reads slowly."""
        message: Message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self._writer.write(write_line(message))

    # Incoming

    def _line(self, line: bytes) -> None:
        try:
            messages = read_line(line)
        except NoiseError:
            self.noise += 1
            if len(self.noise_lines) < NOISE_KEPT:
                self.noise_lines.append(line[:200].decode(errors="replace"))
            return
        except MalformedError as error:
            self._unreadable(str(error), error.id, line[:ENDS])
            return
        for message in messages:
            self._message(message)

    def _oversize(self, head: bytes, tail: bytes, length: int) -> None:
        self._unreadable(f"a line of {length:,} bytes is over the limit", salvage_id(head, tail), head)

    def _unreadable(self, why: str, request_id: int | str | None, head: bytes) -> None:
        self.unreadable.append(why)
        log.warning("unreadable message", peer=self.peer, why=why)
        waiting = self._pending.get(request_id) if request_id is not None else None
        if b'"method"' in head:
            self._reply_error(request_id, RpcError(PARSE_ERROR, f"the message could not be read: {why}"))
        elif waiting is not None:
            waiting.fail(self._error(INTERNAL_ERROR, f"{self.peer} sent an answer that could not be read: {why}"))

    def _message(self, message: Message) -> None:
        method = message.get("method")
        if method is None:
            self._response(message)
        elif not isinstance(method, str):
            self._reply_error(None, RpcError(INVALID_REQUEST, "`method` is not a string"))
        elif "id" in message:
            self._request(message, method)
        else:
            self._notification(method, _params_of(message))

    def _response(self, message: Message) -> None:
        request_id = message.get("id")
        waiting = self._pending.get(request_id) if is_id(request_id) else None  # type: ignore[arg-type]
        if waiting is None or waiting.answer.done():
            self.stray += 1
            return
        result, error = message.get("result"), message.get("error")
        if isinstance(result, dict) and "error" not in message:
            waiting.answer.set_result(result)
        elif isinstance(error, dict) and type(error.get("code")) is int and "result" not in message:
            text = error.get("message")
            waiting.fail(self._error(error["code"], text if isinstance(text, str) else "no message", error.get("data")))
        else:
            text = f"{self.peer} sent an answer that is neither a result nor an error"
            waiting.fail(self._error(INTERNAL_ERROR, text))

    def _request(self, message: Message, method: str) -> None:
        request_id = message["id"]
        if not is_id(request_id):
            self._reply_error(None, RpcError(INVALID_REQUEST, "`id` is neither a string nor an integer"))
            return
        params = message.get("params")
        if request_id in self._handling or not (params is None or isinstance(params, dict)):
            why = "`params` is not an object" if request_id not in self._handling else "`id` is in use"
            self._reply_error(request_id, RpcError(INVALID_REQUEST, why))
            return
        token = meta_of(params).get("progressToken")
        context = Context(self, request_id, token if is_id(token) else None)
        self._handling[request_id] = context
        self._start(self._handle, context, method, params)

    def _notification(self, method: str, params: Params) -> None:
        if method == "notifications/cancelled":
            request_id = (params or {}).get("requestId")
            context = self._handling.get(request_id) if is_id(request_id) else None  # type: ignore[arg-type]
            if context is not None:
                context.cancel_requested.set()
                context.scope.cancel()
            return
        if method == "notifications/progress" and params is not None and self._progress(params):
            return
        if self._intercept is not None and self._intercept(method, params):
            return
        self._start(self._on_notify, Context(self, None), method, params)

    def _progress(self, params: Mapping[str, Any]) -> bool:
        token = params.get("progressToken")
        waiting = self._pending.get(token) if is_id(token) else None  # type: ignore[arg-type]
        if waiting is None:
            return False
        if raw := waiting.options.get("on_progress_params"):
            raw(dict(params))
        if typed := waiting.options.get("on_progress"):
            progress = params.get("progress")
            if isinstance(progress, int | float):
                self._start(typed, progress, params.get("total"), params.get("message"))
        return True

    # Handling

    async def _handle(self, context: Context, method: str, params: Params) -> None:
        assert context.request_id is not None
        reply: Message = {"jsonrpc": "2.0", "id": context.request_id}
        try:
            with context.scope:
                reply["result"] = await self._on_request(context, method, params)
        except asyncio.CancelledError:
            if not context.cancel_requested.is_set():
                stopped = RpcError(CONNECTION_CLOSED, "mcp-gate is stopping")
                self._writer.write(write_line({**reply, "error": error_object(stopped)}))
            raise
        except self._error as error:
            reply["error"] = error_object(error)
        except Exception as error:  # one request that crashes must not take the others with it
            log.exception("request failed", peer=self.peer, method=method)
            reply["error"] = error_object(RpcError(INTERNAL_ERROR, f"internal error: {type(error).__name__}"))
        finally:
            del self._handling[context.request_id]
        if not context.cancel_requested.is_set():
            self._writer.write(write_line(reply))
            await self._writer.drain()

    def _reply_error(self, request_id: int | str | None, error: RpcError) -> None:
        self._writer.write(write_line({"jsonrpc": "2.0", "id": request_id, "error": error_object(error)}))

    def _start(self, function: Callable[..., Coroutine[Any, Any, Any]], *arguments: Any) -> None:
        if self._tasks is not None and not self.closed.is_set():
            self._tasks.start_soon(function, *arguments)

    # Ends

    def _end(self) -> None:
        if self.closed.is_set():
            return
        self.closed.set()
        self._reader.stop()
        for waiting in self._pending.values():
            waiting.fail(self._closed_error())

    def _closed_error(self) -> Exception:
        return self._error(CONNECTION_CLOSED, f"{self.peer} closed the connection")

    def _abandon(self, request_id: int | str, options: CallOptions, reason: str) -> None:
        if options.get("cancel_on_abandon", True):
            self.notify_now("notifications/cancelled", {"requestId": request_id, "reason": reason})

    def _next_id(self) -> int:
        return next(i for i in self._ids if i not in self._pending)


def _params_of(message: Message) -> Params:
    params = message.get("params")
    return params if isinstance(params, dict) else None
