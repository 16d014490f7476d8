"""Calls and answers over a pair of pipes: a lean implementation of the SDK's `Dispatcher` protocol.

`mcp/shared/dispatcher.py` of the SDK defines what is implemented here (`send_raw_request`, `notify`, `run`, and the
`DispatchContext` that handlers get), so the SDK's own sessions and servers can be driven over it: pass
`error=MCPError`. It imports nothing of the SDK itself, since that takes a second.

| an incoming message | what happens |
| --- | --- |
| request | its handler runs in a task of its own; what it returns or raises is the answer |
| request with no proper id, or one that is in use; params that are no object | refused |
| response | ends the wait of the request with exactly that id (`wire/pending.py`); a stray is dropped and counted |
| what cannot be read | a request is refused, a response ends the wait with an error, where their ids can be told |
| notification | is offered to the intercept, in order of arrival, and unless that takes it: |
| … `notifications/cancelled` | cancels the handler of that id, which then gets no answer |
| … `notifications/progress` | goes to the request whose token it has |
| … any other, progress of no request too | goes to its handler, in a task |

Whatever a handler or callback raises costs that one message.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

import anyio
import anyio.abc
import structlog
from pydantic import ValidationError

from mcp_gate.wire.context import CallOptions, Context, OnNotify, OnNotifyIntercept, OnRequest, Params
from mcp_gate.wire.eras import meta_of
from mcp_gate.wire.messages import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    MalformedError,
    Message,
    NoiseError,
    RpcError,
    error_object,
    is_id,
    malformed,
    read_line,
    write_line,
)
from mcp_gate.wire.pending import Pending
from mcp_gate.wire.pipes import LineReader, Writer

log = structlog.get_logger()

MAX_LINE = 16 << 20  # bytes
NOISE_KEPT = 3


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
        self._pending = Pending(peer, error)
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
                try:
                    self._reader.start()
                    task_status.started()
                    await self.closed.wait()
                finally:
                    self._end()  # before the handlers end: a peer that floods would go on to start new ones
                self._tasks.cancel_scope.cancel()
        finally:
            self._writer.close()

    async def send_raw_request(
        self, method: str, params: Params, opts: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request and wait for its result. `opts` are `CallOptions`, or the SDK's.

        Raises:
            RpcError: (or the `error` type) the peer's error; the connection closed; `timeout` seconds passed.
            ValueError: `request_id` is in use.
        """
        options = cast("CallOptions", opts or {})
        if self.closed.is_set():
            raise self._error(CONNECTION_CLOSED, self._closed_text)
        request_id = options["request_id"] if "request_id" in options else self._pending.new_id()
        if "on_progress" in options or "on_progress_params" in options:
            params = {**(params or {}), "_meta": {**meta_of(params), "progressToken": request_id}}
        message: Message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        line = write_line(message)
        answer = self._pending.add(request_id, options)
        try:
            self._writer.write(line)
            with anyio.fail_after(options.get("timeout")):
                return await answer
        except TimeoutError:
            self._abandon(request_id, options, "timed out")
            limit = options.get("timeout")
            raise self._error(REQUEST_TIMEOUT, f"{self.peer} did not answer `{method}` within {limit:g} s") from None
        except asyncio.CancelledError:
            self._abandon(request_id, options, "cancelled")
            raise
        finally:
            self._pending.remove(request_id)

    async def notify(self, method: str, params: Params, opts: Any = None) -> None:
        """Send a notification; it is dropped where the connection is closed."""
        self.notify_now(method, params)
        await self._writer.drain()

    @property
    def is_full(self) -> bool:
        """Whether the peer reads so slowly that what it can do without had better be left out."""
        return self._writer.is_full

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
            self._unreadable(error)
            return
        for message in messages:
            self._message(message)

    def _oversize(self, head: bytes, tail: bytes, length: int) -> None:
        self._unreadable(malformed(f"a line of {length:,} bytes is over the limit", head, tail))

    def _unreadable(self, error: MalformedError) -> None:
        self.unreadable.append(str(error))
        log.warning("unreadable message", peer=self.peer, why=str(error))
        if error.is_request:
            self._reply_error(error.id, RpcError(PARSE_ERROR, f"the message could not be read: {error}"))
        else:
            text = f"{self.peer} sent an answer that could not be read: {error}"
            self._pending.fail(error.id, self._error(INTERNAL_ERROR, text))

    def _message(self, message: Message) -> None:
        method = message.get("method")
        if method is None:
            self.stray += not self._pending.settle(message)
        elif not isinstance(method, str):
            request_id = message.get("id")
            error = RpcError(INVALID_REQUEST, "`method` is not a string")
            self._reply_error(request_id if is_id(request_id) else None, error)
        elif "id" in message:
            self._request(message, method)
        else:
            self._notification(method, _params_of(message))

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
        if self._intercept is not None:
            with self._contained(method):
                if self._intercept(method, params):
                    return
        if method == "notifications/cancelled":
            self._cancel((params or {}).get("requestId"))
        elif method != "notifications/progress" or not self._progress(method, params or {}):
            self._start(self._notified, method, self._on_notify, Context(self, None), method, params)

    def _cancel(self, request_id: Any) -> None:
        context = self._handling.get(request_id) if is_id(request_id) else None
        if context is not None:
            context.cancel_requested.set()
            context.scope.cancel()

    def _progress(self, method: str, params: Mapping[str, Any]) -> bool:
        """Whether some request waits for this progress."""
        options = self._pending.options(params.get("progressToken"))
        if options is None:
            return False
        if raw := options.get("on_progress_params"):
            with self._contained(method):
                raw(dict(params))
        progress, total, message = (params.get(key) for key in ("progress", "total", "message"))
        if (typed := options.get("on_progress")) and _is_number(progress):
            total, message = total if _is_number(total) else None, message if isinstance(message, str) else None
            self._start(self._notified, method, typed, progress, total, message)
        return True

    async def _notified(self, method: str, function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        with self._contained(method):
            await function(*arguments)

    @contextmanager
    def _contained(self, method: str) -> Iterator[None]:
        try:
            yield
        except Exception:  # neither the reader nor the other tasks may end with it
            log.exception("notification failed", peer=self.peer, method=method)

    # Handling

    async def _handle(self, context: Context, method: str, params: Params) -> None:
        assert context.request_id is not None
        try:
            line = self._reply(context.request_id, await self._answer(context, method, params))
        except asyncio.CancelledError:
            if not context.cancel_requested.is_set():
                self._reply_error(context.request_id, RpcError(CONNECTION_CLOSED, "mcp-gate is stopping"))
            raise
        finally:
            del self._handling[context.request_id]
        if not context.cancel_requested.is_set():
            self._writer.write(line)
            await self._writer.drain()

    async def _answer(self, context: Context, method: str, params: Params) -> Message:
        """The `result` or `error` of a request; neither where it has been cancelled."""
        try:
            with context.scope:
                return {"result": await self._on_request(context, method, params)}
            return {}
        except self._error as error:
            return {"error": error_object(error)}
        except ValidationError:
            return {"error": error_object(RpcError(INVALID_PARAMS, "the params do not fit the method"))}
        except Exception as error:  # one request that crashes must not take the others with it
            log.exception("request failed", peer=self.peer, method=method)
            return {"error": _internal_error(error)}

    def _reply(self, request_id: int | str | None, answer: Message) -> bytes:
        try:
            return write_line({"jsonrpc": "2.0", "id": request_id, **answer})
        except (TypeError, ValueError, RecursionError) as error:  # what the handler gave is not JSON
            log.exception("answer not sent", peer=self.peer)
            return write_line({"jsonrpc": "2.0", "id": request_id, "error": _internal_error(error)})

    def _reply_error(self, request_id: int | str | None, error: RpcError) -> None:
        self._writer.write(write_line({"jsonrpc": "2.0", "id": request_id, "error": error_object(error)}))

    def _start(self, function: Callable[..., Coroutine[Any, Any, None]], *arguments: Any) -> None:
        if self._tasks is not None and not self.closed.is_set():
            self._tasks.start_soon(function, *arguments)

    # Ends

    def _end(self) -> None:
        self._reader.stop()
        self.closed.set()
        self._pending.fail_all(CONNECTION_CLOSED, self._closed_text)

    @property
    def _closed_text(self) -> str:
        return f"{self.peer} closed the connection"

    def _abandon(self, request_id: int | str, options: CallOptions, reason: str) -> None:
        if options.get("cancel_on_abandon", True):
            self.notify_now("notifications/cancelled", {"requestId": request_id, "reason": reason})


def _internal_error(error: Exception) -> dict[str, Any]:
    return error_object(RpcError(INTERNAL_ERROR, f"internal error: {type(error).__name__}"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _params_of(message: Message) -> Params:
    params = message.get("params")
    return params if isinstance(params, dict) else None
