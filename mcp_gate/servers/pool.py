"""All configured servers: started side by side, their tools kept in the registry."""

from collections.abc import Callable, Mapping

import anyio
import anyio.lowlevel

from mcp_gate.catalog.names import gate_name
from mcp_gate.catalog.registry import Registry, ServerTool
from mcp_gate.config import Config
from mcp_gate.servers.server import Server


class Servers:
    """The servers of a configuration; `only` leaves the others out. `on_change` is called after every change."""

    def __init__(
        self,
        config: Config,
        registry: Registry,
        environ: Mapping[str, str],
        *,
        only: frozenset[str] | None = None,
    ) -> None:
        self._registry = registry
        self.on_change: Callable[[], None] = lambda: None
        self.refused: dict[str, list[str]] = {}
        self.by_name = {
            name: Server(name, server, environ, self._register)
            for name, server in config.servers.items()
            if server.enabled and (only is None or name in only)
        }

    async def run(self) -> None:
        """Start every server at once and own them all until cancelled, or until the last has ended."""
        async with anyio.create_task_group() as tasks:
            for server in self.by_name.values():
                tasks.start_soon(server.run)
                await anyio.lowlevel.checkpoint()  # starting a process blocks: let the host be answered in between

    async def settled(self, seconds: float | None = None) -> None:
        """Wait until every server is ready or has failed, but no longer than `seconds`."""
        with anyio.move_on_after(seconds):
            for server in self.by_name.values():
                await server.settled.wait()

    def starting(self, tool: str) -> Server | None:
        """The server that a tool of this name would belong to, if it is still starting."""
        for server in self.by_name.values():
            if not server.settled.is_set() and tool.startswith(server.config.prefix):
                return server
        return None

    def failed(self, tool: str) -> Server | None:
        """The server that a tool of this name would belong to, if it never became ready."""
        for server in self.by_name.values():
            if server.state == "failed" and server.config.prefix and tool.startswith(server.config.prefix):
                return server
        return None

    def hurry(self) -> None:
        """Give the servers little time when they are stopped: the host is about to kill the gate."""
        for server in self.by_name.values():
            server.hurry = True

    def _register(self, server: Server) -> None:
        before = self._registry.version
        self.refused[server.name] = self._registry.replace_server(server.name, self._tools(server))
        if self._registry.version != before:
            self.on_change()

    def _tools(self, server: Server) -> list[ServerTool]:
        tools = []
        for definition in server.tools:
            override = server.config.tools.get(definition["name"])
            tools.append(
                ServerTool(
                    name=gate_name(server.config.prefix, definition["name"]),
                    server=server.name,
                    tool=definition["name"],
                    definition=definition,
                    category=override.category if override else None,
                    cost_tier=override.cost_tier if override else None,
                    tier=override.tier if override else None,
                    approval=server.config.approval,
                    cost=override.cost if override else None,
                    forward=server.call,
                    kind=override.kind if override else None,
                    subject=override.subject if override else "",
                    shell=server.config.shell,
                    trusts_hints=server.config.trust_annotations,
                    cwd=str(server.config.cwd or ""),
                )
            )
        return tools
