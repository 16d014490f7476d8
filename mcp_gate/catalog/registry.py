"""What can be called: the gate's own tools and those of its servers, under names that are unique.

| a name that is taken                  | what happens                                                       |
| ------------------------------------- | ------------------------------------------------------------------ |
| by anything, `register`               | ValueError: the gate itself is put together wrongly                |
| by the gate or another server         | the server's tool is refused and reported, its other tools go in   |
| by an earlier tool of the same server | likewise                                                           |
| by the tools that are being replaced  | nothing: the old ones leave as the new ones come                   |
"""

import difflib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from mcp_gate.errors import UnknownToolError
from mcp_gate.model import ApprovalMode, Dialect, Kind, Tier

NEAR_NAMES = 3

Forward = Callable[[str, Mapping[str, Any], Any], Awaitable[dict[str, Any]]]


@runtime_checkable
class Tool(Protocol):
    """Anything with a name, a description, a JSON schema of its arguments, and a way to run it.

    Optional metadata, read where it is there: `category` (what it is for), `cost_tier` (`free`, `cheap`, `expensive`)
    and `annotations` (MCP's hints about its behaviour).
    """

    @property
    def name(self) -> str: ...

    @property
    def description(self) -> str: ...

    @property
    def parameters(self) -> dict[str, Any]: ...

    async def execute(self, arguments: Mapping[str, Any], call: Any = None) -> dict[str, Any]:
        """Run with `arguments`, on behalf of `call`; returns an MCP `CallToolResult` as a dict."""
        ...


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server. `name` is the gate's, `tool` the server's own, `definition` the dict the server listed.

    `forward(tool, arguments, call)` sends the call to the server; `cost` is in US dollars a call.

    `kind`, `subject`, `tier` and `cost` are what the configuration says of the tool, `shell`, `trusts_hints` and `cwd`
    what it says of the server.
    """

    name: str
    server: str
    tool: str
    definition: dict[str, Any]
    category: str | None
    cost_tier: str | None
    tier: Tier | None
    approval: ApprovalMode
    cost: float | None
    forward: Forward
    kind: Kind | None = None
    subject: str = ""
    shell: Dialect = "unknown"
    trusts_hints: bool = False
    cwd: str = ""

    @property
    def description(self) -> str:
        """The server's own description, empty where it gave none."""
        description: str = self.definition.get("description", "")
        return description

    @property
    def parameters(self) -> dict[str, Any]:
        """The real schema of the arguments, whatever of it the host was shown."""
        schema: dict[str, Any] = self.definition["inputSchema"]
        return schema

    async def execute(self, arguments: Mapping[str, Any], call: Any = None) -> dict[str, Any]:
        """The server's `CallToolResult`, unchanged."""
        return await self.forward(self.tool, arguments, call)


class Registry:
    """All tools by name, in an order that does not depend on which server was ready first.

    `version` grows with every change, so that whatever is computed from the tools can be kept until then.
    """

    def __init__(self, server_order: Sequence[str] = ()) -> None:
        self._ranks = {server: rank for rank, server in enumerate(server_order)}
        self._tools: dict[str, Tool] = {}
        self.version = 0

    def __contains__(self, name: str) -> bool:
        return name in self._tools

    def get(self, name: str) -> Tool:
        """The tool of that name; raises UnknownToolError, which offers the nearest names."""
        try:
            return self._tools[name]
        except KeyError:
            near = difflib.get_close_matches(name[:128], self._tools, n=NEAR_NAMES)  # the time grows with the length
            raise UnknownToolError(name, near) from None

    def register(self, tool: Tool) -> None:
        """Add one tool; raises ValueError if its name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"tool `{tool.name}` is registered already; register a name once")
        self._add(tool)
        self.version += 1

    def replace_server(self, server: str, tools: Sequence[ServerTool]) -> list[str]:
        """Put `tools` in the place of all that `server` had; returns one line for each that had to be refused.

        Nothing changes, the version included, where the server listed again what it had.
        """
        before = [tool for tool in self._tools.values() if _server_of(tool) == server]
        others = {name: tool for name, tool in self._tools.items() if _server_of(tool) != server}
        accepted: dict[str, ServerTool] = {}
        problems: list[str] = []
        for tool in tools:
            holder = accepted.get(tool.name) or others.get(tool.name)
            if holder is None:
                accepted[tool.name] = tool
            else:
                problems.append(_refusal(tool, holder))
        if list(accepted.values()) != before:
            self._tools = others
            for tool in accepted.values():
                self._add(tool)
            self.version += 1
        return problems

    def tools(self, category: str | None = None, cost_tier: str | None = None) -> list[Tool]:
        """The tools that have this category and cost tier (None: any): the gate's own, then server by server in the
        configured order, each server's as it listed them.
        """
        chosen = (
            tool
            for tool in self._tools.values()
            if category in (None, getattr(tool, "category", None))
            and cost_tier in (None, getattr(tool, "cost_tier", None))
        )
        return sorted(chosen, key=lambda tool: self._ranks.get(_server_of(tool) or "", -1))

    def _add(self, tool: Tool) -> None:
        server = _server_of(tool)
        if server is not None:
            self._ranks.setdefault(server, len(self._ranks))
        self._tools[tool.name] = tool


def _server_of(tool: Tool) -> str | None:
    return tool.server if isinstance(tool, ServerTool) else None


def _refusal(tool: ServerTool, holder: Tool) -> str:
    if not isinstance(holder, ServerTool):
        why = "is one of the gate's own; set another `prefix` for the server"
    elif holder.server != tool.server:
        why = f"is taken by server `{holder.server}`; set another `prefix` for one of the two"
    else:
        why = f"is taken by its tool `{holder.tool}`; the first one listed stays"
    return f"server `{tool.server}`: tool `{tool.tool}` is left out: the name `{tool.name}` {why}"
