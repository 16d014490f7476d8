"""What a handler of an incoming message gets, and the options of an outgoing request.

These have the shapes of the SDK's `DispatchContext`, `TransportContext` and `CallOptions` (`mcp/shared/dispatcher.py`).
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict

import anyio

Params = Mapping[str, Any] | None


class CallOptions(TypedDict, total=False):
    """Options of a request. The first four are the SDK's; `on_progress_params` gets progress as it came."""

    request_id: int | str
    timeout: float
    cancel_on_abandon: bool
    on_progress: Callable[[float, float | None, str | None], Awaitable[None]]
    on_progress_params: Callable[[dict[str, Any]], None]


class Outbound(Protocol):
    """The way to the peer."""

    async def send_raw_request(
        self, method: str, params: Params, opts: Mapping[str, Any] | None = None
    ) -> dict[str, Any]: ...

    async def notify(self, method: str, params: Params, opts: Any = None) -> None: ...

    @property
    def is_full(self) -> bool: ...

    def notify_now(self, method: str, params: Params) -> None: ...


@dataclass(frozen=True, slots=True)
class Transport:
    """What a handler may know of the channel a message came over (the SDK's `TransportContext`)."""

    kind: str = "stdio"
    can_send_request: bool = True
    headers: Mapping[str, str] | None = None


@dataclass(slots=True, eq=False)
class Context:
    """What a handler gets besides method and params: the way back to the peer (the SDK's `DispatchContext`)."""

    dispatcher: Outbound
    request_id: int | str | None
    progress_token: int | str | None = None
    transport: Any = field(default_factory=Transport)  # Any: the SDK's type, which it stands for, is nominal
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    message_metadata: None = None
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def can_send_request(self) -> bool:
        """Whether the peer can be asked something."""
        return bool(self.transport.can_send_request)

    async def send_raw_request(self, method: str, params: Params, opts: Any = None) -> dict[str, Any]:
        """As `Dispatcher.send_raw_request`: one pipe carries every request."""
        return await self.dispatcher.send_raw_request(method, params, opts)

    async def notify(self, method: str, params: Params, opts: Any = None) -> None:
        """As `Dispatcher.notify`."""
        await self.dispatcher.notify(method, params, opts)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress of the request being handled, if its sender wants to know."""
        if self.progress_token is not None:
            values = {"progress": progress, "total": total, "message": message}
            params = {key: value for key, value in values.items() if value is not None}
            await self.notify("notifications/progress", {"progressToken": self.progress_token, **params})


OnRequest = Callable[[Context, str, Params], Awaitable[dict[str, Any]]]
OnNotify = Callable[[Context, str, Params], Awaitable[None]]
OnNotifyIntercept = Callable[[str, Params], bool]
