"""`mcp-gate check`: everything loaded and started once, and what is wrong with it."""

from functools import partial

import anyio
import click

from mcp_gate.catalog.registry import ServerTool
from mcp_gate.cli import FAILURE, Options, logs
from mcp_gate.cli.assembly import Assembly, assemble, read, started
from mcp_gate.display import shown
from mcp_gate.gate import resource_of
from mcp_gate.model import Source
from mcp_gate.policy.lint import never_matching
from mcp_gate.servers.server import Server


def check(options: Options) -> int:
    """Print a table of the servers and every problem; 1 if one of them cannot be used. Raises ConfigError."""
    setting = read(options)
    logs.configure("error")  # what is wrong with a server is printed below, once
    assembly = assemble(setting)
    config, rules = setting.config, setting.policy.rules
    click.echo(f"{config.path}: {len(config.servers)} servers, {len(rules)} rules")
    return anyio.run(partial(_report, assembly))


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows in columns that line up, each cell on one line."""
    cells = [[shown(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join(lines)


async def _report(assembly: Assembly) -> int:
    servers = assembly.servers.by_name
    async with started(assembly):
        click.echo(table([("server", "state", "era", "protocol", "tools", "program"), *map(_row, servers.values())]))
        for name in assembly.config.servers:
            if name not in servers:
                click.echo(f"{name}: disabled")
        for server in servers.values():
            lines = [server.why] if server.why else []
            for line in (*lines, *server.problems, *assembly.servers.refused.get(server.name, ())):
                click.echo(f"{server.name}: {shown(line)}")
        for line in _warnings(assembly):
            click.echo(shown(line))
        return FAILURE if any(server.state != "ready" for server in servers.values()) else 0


def _warnings(assembly: Assembly) -> list[str]:
    """Rules that no tool could ever meet; told only where every server was there to list its tools."""
    if any(server.state != "ready" for server in assembly.servers.by_name.values()):
        return []
    tools = [resource_of(tool, {}) for tool in assembly.registry.tools() if isinstance(tool, ServerTool)]
    found = never_matching(assembly.gate.policy, tools)
    return [f"warning: {finding}" for finding in found if finding.rule.source is not Source.DEFAULT]


def _row(server: Server) -> tuple[str, ...]:
    connection = server.connection
    if connection is None:
        return (server.name, server.state, "", "", "", "")
    program = " ".join(str(connection.info.get(key, "")) for key in ("name", "version")).strip()
    return (server.name, server.state, connection.era, connection.version, str(len(server.tools)), program)
