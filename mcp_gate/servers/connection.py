"""A connection to one server: its handshake in whichever era it speaks, its tools, and calls to them.

| answer to `server/discover` | what follows |
| --- | --- |
| a result that names a modern revision | the server is modern |
| a result without one, or any error | `initialize`: the server is legacy |
| an error that names only revisions unknown here | the server cannot be used |
| nothing for `PROBE` s | `initialize`; if that is refused as the wrong era, `server/discover` once more |
| the process ends (some servers die from it) | `ProbeKilledError`: start it again and `connect(probe=False)` |
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcp_gate.catalog.schemas import definition_problem
from mcp_gate.errors import ServerUnavailableError
from mcp_gate.wire.context import CallOptions, Context, Params
from mcp_gate.wire.dispatcher import Dispatcher
from mcp_gate.wire.eras import (
    IMPLEMENTATION,
    LATEST_LEGACY,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    SERVER_INFO_KEY,
    envelope,
    meta_of,
)
from mcp_gate.wire.messages import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT, UNSUPPORTED_VERSION, RpcError

PROBE = 3.0  # seconds a server has to answer `server/discover`
MAX_PAGES = 100
MAX_TOOLS = 2_000

# What the gate can do for a server. Passing a server's own questions on to the host comes with a later version.
CAPABILITIES: dict[str, Any] = {}


class ProbeKilledError(Exception):
    """The server's process ended when it was asked `server/discover`."""


@dataclass(slots=True)
class Connection:
    """One live connection. `connect` fills in `era`, `version`, `info` and `capabilities`."""

    name: str
    dispatcher: Dispatcher
    on_tools_changed: Callable[[], None]
    era: Literal["legacy", "modern"] = "legacy"
    version: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=dict)

    async def connect(self, *, probe: bool) -> None:
        """Agree on an era with the server.

        Raises:
            ProbeKilledError: see the module's table.
            ServerUnavailableError: there is no common revision, or the handshake failed.
        """
        if probe and await self._discover():
            return
        try:
            await self._initialize()
        except RpcError as error:
            if probe and error.code == UNSUPPORTED_VERSION and await self._discover():
                return
            raise ServerUnavailableError(self.name, f"`initialize` failed: {error}") from None

    async def _discover(self) -> bool:
        """Whether the server turned out to be modern."""
        params = {"_meta": envelope(CAPABILITIES)}
        options: CallOptions = {"timeout": PROBE, "cancel_on_abandon": False}
        try:
            result = await self.dispatcher.send_raw_request("server/discover", params, options)
        except RpcError as error:
            if error.code == CONNECTION_CLOSED and self.dispatcher.closed.is_set():
                raise ProbeKilledError from None
            if error.code == UNSUPPORTED_VERSION:
                self._refuse_strangers(error.data)
            return False
        offered = result.get("supportedVersions")
        common = [v for v in MODERN_VERSIONS if isinstance(offered, list) and v in offered]
        if common:
            self.era, self.version = "modern", common[-1]
            self._learn(result, meta_of(result).get(SERVER_INFO_KEY))
        return bool(common)

    def _refuse_strangers(self, data: Any) -> None:
        offered = data.get("supported") if isinstance(data, Mapping) else None
        if isinstance(offered, list) and not set(map(str, offered)) & {*LEGACY_VERSIONS, *MODERN_VERSIONS}:
            raise ServerUnavailableError(self.name, f"it speaks only protocol {', '.join(map(str, offered))}")

    async def _initialize(self) -> None:
        params = {"protocolVersion": LATEST_LEGACY, "capabilities": CAPABILITIES, "clientInfo": IMPLEMENTATION}
        result = await self.dispatcher.send_raw_request("initialize", params, {"cancel_on_abandon": False})
        version = result.get("protocolVersion")
        if version not in LEGACY_VERSIONS:
            raise ServerUnavailableError(self.name, f"it answered `initialize` with protocol `{version!s:.40}`")
        self.era, self.version = "legacy", version
        self._learn(result, result.get("serverInfo"))
        await self.dispatcher.notify("notifications/initialized", None)

    def _learn(self, result: Mapping[str, Any], info: Any) -> None:
        capabilities = result.get("capabilities")
        self.capabilities = capabilities if isinstance(capabilities, dict) else {}
        self.info = info if isinstance(info, dict) else {}

    async def list_tools(self) -> tuple[list[dict[str, Any]], list[str]]:
        """The server's usable tool definitions, as they came, and what was wrong with the others.

        Raises:
            RpcError: the server's error.
        """
        tools: list[dict[str, Any]] = []
        problems: list[str] = []
        cursor: str | None = None
        seen: set[str] = set()
        for _ in range(MAX_PAGES):
            result = await self._request("tools/list", {} if cursor is None else {"cursor": cursor})
            page = result.get("tools")
            if not isinstance(page, list):
                problems.append("`tools/list` was answered without a list of tools")
                break
            for raw in page:
                problem = definition_problem(raw)
                if problem is None:
                    tools.append(raw)
                else:
                    problems.append(f"tool {_label(raw)} is left out: {problem}")
            cursor = result.get("nextCursor")
            if not isinstance(cursor, str):
                break
            if cursor in seen or len(tools) >= MAX_TOOLS:
                why = "gave one page twice" if cursor in seen else f"goes on after {len(tools):,} tools"
                problems.append(f"`tools/list` {why}; the rest is left out")
                break
            seen.add(cursor)
        else:
            problems.append(f"`tools/list` goes on after {MAX_PAGES} pages; the rest is left out")
        return tools[:MAX_TOOLS], problems

    async def call_tool(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        meta: Mapping[str, Any],
        timeout: float,  # noqa: ASYNC109 - it goes to the server's own deadline, with the cancellation that it needs
        on_progress: Callable[[dict[str, Any]], None] | None,
    ) -> dict[str, Any]:
        """Call a tool; the result is the server's own dict.

        Raises:
            RpcError: the server's own error.
            ServerUnavailableError: the server closed the connection, or did not answer in `timeout` seconds.
        """
        options: CallOptions = {"timeout": timeout}
        if on_progress is not None:
            options["on_progress_params"] = on_progress
        params: dict[str, Any] = {"name": tool, "arguments": dict(arguments)}
        if meta:
            params["_meta"] = dict(meta)
        try:
            result = await self._request("tools/call", params, options)
        except RpcError as error:
            if error.code == REQUEST_TIMEOUT:
                raise ServerUnavailableError(self.name, f"`{tool}` gave no answer within {timeout:g} s") from None
            if error.code == CONNECTION_CLOSED and self.dispatcher.closed.is_set():
                raise ServerUnavailableError(self.name, f"it ended during the call of `{tool}`") from None
            raise
        if result.get("resultType") == "input_required":
            raise ServerUnavailableError(self.name, f"`{tool}` asks for input, which is not passed on yet")
        return result

    async def listen(self) -> None:
        """Hold a modern server's stream of changes open, for as long as the server does."""
        if self.era == "modern" and self._announces_changes():
            try:
                await self._request("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            except RpcError:
                return  # it does not offer the stream after all: its list is taken to be fixed

    def _announces_changes(self) -> bool:
        tools = self.capabilities.get("tools")
        return isinstance(tools, dict) and tools.get("listChanged") is True

    async def _request(self, method: str, params: dict[str, Any], options: CallOptions | None = None) -> dict[str, Any]:
        if self.era == "modern":
            params["_meta"] = {**meta_of(params), **envelope(CAPABILITIES)}
        return await self.dispatcher.send_raw_request(method, params, options)

    async def on_request(self, _context: Context, method: str, _params: Params) -> dict[str, Any]:
        """Answer a request of the server."""
        if method == "ping":
            return {}
        raise RpcError(METHOD_NOT_FOUND, f"mcp-gate does not offer `{method}` to servers")

    def intercept(self, method: str, _params: Params) -> bool:
        """Take a notification of the server as it comes: a task for each would let a flood of them pile up."""
        if method == "notifications/tools/list_changed":
            self.on_tools_changed()
        return method not in ("notifications/progress", "notifications/cancelled")

    async def on_notify(self, _context: Context, _method: str, _params: Params) -> None:
        """Progress of a call that is over: nobody waits for it."""


def _label(raw: Any) -> str:
    name = raw.get("name") if isinstance(raw, dict) else None
    return f"`{name[:60]!s}`" if isinstance(name, str) and name.isprintable() else "without a usable name"
