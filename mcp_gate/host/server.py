"""The MCP server that a host talks to, in both eras on one connection.

| a request | belongs to |
| --- | --- |
| with the `_meta` envelope (`io.modelcontextprotocol/protocolVersion`) | the modern era, judged by its own envelope |
| any other | the legacy era, once the connection has been initialized |

| method | legacy | modern |
| --- | --- | --- |
| `initialize`, `ping` | yes | no |
| `server/discover`, `subscriptions/listen` | no | yes |
| `tools/list`, `tools/call` | yes | yes |

One `list_changed` is sent for all changes that come between two lists: it says that the host's list is stale, once.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import anyio.abc
import structlog

from mcp_gate.catalog.exposure import Exposure, list_tools
from mcp_gate.errors import UnknownToolError
from mcp_gate.gate import Call, Gate
from mcp_gate.host.conversation import LiveConversation, SuspendableCall, Suspended, bind
from mcp_gate.model import Attachment, Subject
from mcp_gate.wire.context import Context, Params
from mcp_gate.wire.dispatcher import Dispatcher
from mcp_gate.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    IMPLEMENTATION,
    LATEST_LEGACY,
    LEGACY_VERSIONS,
    MODERN_VERSIONS,
    SERVER_INFO_KEY,
    SUBSCRIPTION_KEY,
    VERSION_KEY,
    complete_result,
    list_result,
    meta_of,
    without_envelope,
)
from mcp_gate.wire.messages import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, UNSUPPORTED_VERSION, RpcError

log = structlog.get_logger()

CAPABILITIES = {"tools": {"listChanged": True}}
NODE_KEY = "mcp-gate/node"  # in `_meta` of a request: the sub-agent that makes it
LIST_CHANGED = "notifications/tools/list_changed"


@dataclass(frozen=True, slots=True)
class Peer:
    """The host as one request shows it."""

    modern: bool
    name: str
    capabilities: Mapping[str, Any]


def peer_of(params: Params, initialized: Peer | None) -> Peer | None:
    """Who sends a request with these params; None for a host that has not introduced itself.

    Raises:
        RpcError: the envelope is incomplete, or of a revision that is not served.
    """
    meta = meta_of(params)
    if VERSION_KEY not in meta:
        return initialized
    version, capabilities = meta[VERSION_KEY], meta.get(CLIENT_CAPABILITIES_KEY)
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"`_meta.{VERSION_KEY}` is not a string")
    if not isinstance(capabilities, dict):
        raise RpcError(INVALID_PARAMS, f"`_meta.{CLIENT_CAPABILITIES_KEY}` is missing or no object")
    if version not in MODERN_VERSIONS:
        data = {"supported": list(MODERN_VERSIONS), "requested": version}
        raise RpcError(UNSUPPORTED_VERSION, f"protocol version `{version}` is not served", data)
    return Peer(True, _name_of(meta.get(CLIENT_INFO_KEY)), capabilities)


def _name_of(info: Any) -> str:
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) else ""


class Host:
    """One connection to a host. `run` serves it until the host goes away."""

    def __init__(
        self, gate: Gate, dispatcher: Dispatcher, subject: Subject, exposure: Exposure, *, list_timeout: float
    ) -> None:
        self._gate, self._dispatcher, self._subject = gate, dispatcher, subject
        self._exposure, self._list_timeout = exposure, list_timeout
        self._initialized: Peer | None = None
        self._listed = False
        self._stale = False
        self._streams: dict[int | str, dict[str, Any]] = {}
        self._suspended = Suspended()
        self._tasks: anyio.abc.TaskGroup
        self._methods: dict[tuple[bool, str], Callable[[Context, Peer, Mapping[str, Any]], Awaitable[dict[str, Any]]]]
        self._methods = {
            (False, "ping"): self._ping,
            (True, "server/discover"): self._discover,
            (True, "subscriptions/listen"): self._listen,
            (False, "tools/list"): self._list_tools,
            (True, "tools/list"): self._list_tools,
            (False, "tools/call"): self._call_tool,
            (True, "tools/call"): self._call_tool,
        }

    async def run(self) -> None:
        """Serve the connection until the host closes it; suspended calls end with it."""
        async with anyio.create_task_group() as self._tasks:
            await self._dispatcher.run(self._on_request, self._on_notify)
            self._tasks.cancel_scope.cancel()

    def tools_changed(self) -> None:
        """The registry has changed: tell the host, unless it has no list yet or knows already."""
        if self._listed and not self._stale:
            self._stale = True
            if self._initialized is not None:
                self._dispatcher.notify_now(LIST_CHANGED, None)
            for meta in self._streams.values():
                self._dispatcher.notify_now(LIST_CHANGED, {"_meta": meta})

    async def _on_request(self, context: Context, method: str, params: Params) -> dict[str, Any]:
        if method == "initialize":
            return self._initialize(params or {})
        peer = peer_of(params, self._initialized)
        handler = self._methods.get((peer.modern if peer else False, method))
        if handler is None:
            raise RpcError(METHOD_NOT_FOUND, f"there is no method `{method:.100}` here")
        if peer is None and method != "ping":
            raise RpcError(INVALID_REQUEST, "the connection is not initialized: send `initialize` first")
        return await handler(context, peer or Peer(False, "", {}), params or {})

    async def _on_notify(self, _context: Context, method: str, _params: Params) -> None:
        log.debug("notification ignored", method=method)

    def _initialize(self, params: Mapping[str, Any]) -> dict[str, Any]:
        asked, capabilities = params.get("protocolVersion"), params.get("capabilities")
        if not isinstance(asked, str):
            raise RpcError(INVALID_PARAMS, "`protocolVersion` is missing or no string")
        self._initialized = Peer(
            False, _name_of(params.get("clientInfo")), capabilities if isinstance(capabilities, dict) else {}
        )
        return {
            "protocolVersion": asked if asked in LEGACY_VERSIONS else LATEST_LEGACY,
            "capabilities": CAPABILITIES,
            "serverInfo": IMPLEMENTATION,
            "instructions": self._instructions(),
        }

    async def _discover(self, _context: Context, _peer: Peer, _params: Mapping[str, Any]) -> dict[str, Any]:
        result = {
            "supportedVersions": list(MODERN_VERSIONS),
            "capabilities": CAPABILITIES,
            "instructions": self._instructions(),
            "_meta": {SERVER_INFO_KEY: IMPLEMENTATION},
        }
        return list_result(result, modern=True)

    async def _ping(self, _context: Context, _peer: Peer, _params: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    async def _listen(self, context: Context, _peer: Peer, params: Mapping[str, Any]) -> dict[str, Any]:
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(INVALID_PARAMS, "`notifications` is missing or no object")
        assert context.request_id is not None
        honored = {"toolsListChanged": True} if wanted.get("toolsListChanged") is True else {}
        meta = {SUBSCRIPTION_KEY: context.request_id}
        acknowledgement = {"notifications": honored, "_meta": meta}
        await context.notify("notifications/subscriptions/acknowledged", acknowledgement)
        if honored:
            self._streams[context.request_id] = meta
            if self._stale:  # what changed before the stream was there
                self._dispatcher.notify_now(LIST_CHANGED, {"_meta": meta})
        try:
            await anyio.sleep_forever()
        finally:
            self._streams.pop(context.request_id, None)
        raise AssertionError("unreachable")

    async def _list_tools(self, _context: Context, peer: Peer, params: Mapping[str, Any]) -> dict[str, Any]:
        if params.get("cursor") is not None:
            raise RpcError(INVALID_PARAMS, "`cursor` is unknown: the whole list is one page")
        if not self._listed:
            await self._gate.servers.settled(self._list_timeout)
        self._listed, self._stale = True, False
        tools = list_tools(self._gate.permitted_tools(self._subject_of(params)), self._exposure, peer.name)
        return list_result({"tools": tools}, modern=peer.modern)

    async def _call_tool(self, context: Context, peer: Peer, params: Mapping[str, Any]) -> dict[str, Any]:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str):
            raise RpcError(INVALID_PARAMS, "`name` is missing or no string")
        if arguments is None:
            arguments = {}
        if not isinstance(arguments, dict):
            raise RpcError(INVALID_PARAMS, "`arguments` is no object")
        meta, subject = without_envelope(meta_of(params)), self._subject_of(params)
        try:
            if peer.modern:
                result = await self._call_modern(context, peer, name, arguments, params, meta)
            else:
                attachment = Attachment(meta, _progress_relay(context, lambda: context))
                conversation = LiveConversation(context, peer.capabilities)
                result = await self._gate.call(Call(name, arguments, conversation, subject, attachment))
        except UnknownToolError as error:
            raise RpcError(INVALID_PARAMS, str(error)) from None
        return complete_result(result, modern=peer.modern)

    async def _call_modern(
        self,
        context: Context,
        peer: Peer,
        name: str,
        arguments: dict[str, Any],
        params: Mapping[str, Any],
        meta: dict[str, Any],
    ) -> dict[str, Any]:
        subject = self._subject_of(params)
        binding = bind("tools/call", name, arguments, subject)
        if params.get("requestState") is not None:
            answers = params.get("inputResponses")
            if not isinstance(answers, dict):
                raise RpcError(INVALID_PARAMS, "`inputResponses` is missing or no object")
            call = self._suspended.take(params["requestState"], binding)
            call.resume(context, peer.capabilities, answers)
        else:
            call = SuspendableCall(binding, context, peer.capabilities, self._suspended)
            attachment = Attachment(meta, _progress_relay(context, lambda: call.context))
            request = Call(name, arguments, call, subject, attachment)
            self._tasks.start_soon(call.run, lambda: self._gate.call(request))
        return await call.step()

    def _subject_of(self, params: Mapping[str, Any]) -> Subject:
        """Who sends a request: the node that its `_meta` names, inside the node that this gate is for."""
        node = meta_of(params).get(NODE_KEY)
        if node is None or node == self._subject.node:
            return self._subject
        if not isinstance(node, str) or not node:
            raise RpcError(INVALID_PARAMS, f"`_meta.{NODE_KEY}` is no name")
        return Subject(self._subject.session, node, within=self._subject.node)

    def _instructions(self) -> str:
        servers = ", ".join(self._gate.servers.by_name) or "none"
        return (
            f"mcp-gate stands in front of these MCP servers: {servers}. Their tools are named `server__tool`. "
            "A tool listed without parameters has them all the same: find its full schema with `tool_search` "
            "before the first call. A person may be asked before a call is carried out; a refusal says why."
        )


def _progress_relay(first: Context, current: Callable[[], Context]) -> Callable[[dict[str, Any]], None] | None:
    """Pass a server's progress on to whichever request waits for the call, under the token of that request.

    None where the host did not ask for progress: then the server is not asked for it either.
    """
    if first.progress_token is None:
        return None

    def relay(params: dict[str, Any]) -> None:
        to = current()
        if to.progress_token is not None and not to.dispatcher.is_full:  # one step more or less does not matter
            to.dispatcher.notify_now("notifications/progress", {**params, "progressToken": to.progress_token})

    return relay
