"""`mcp-gate tools`: what there is to call, for people or in the form that a model's API takes."""

import json
from functools import partial

import anyio
import click

from mcp_gate.catalog.exposure import Format, export, first_sentence
from mcp_gate.cli import FAILURE, Options
from mcp_gate.cli.assembly import Assembly, assemble, read, started
from mcp_gate.cli.check import table


def tools(options: Options, form: Format | None, category: str | None, cost_tier: str | None) -> int:
    """Print the permitted tools; 1 if a server's are missing because it did not start. Raises ConfigError."""
    assembly = assemble(read(options))
    return anyio.run(partial(_print, assembly, form, category, cost_tier))


async def _print(assembly: Assembly, form: Format | None, category: str | None, cost_tier: str | None) -> int:
    async with started(assembly):
        chosen = [
            tool
            for tool in assembly.registry.tools(category, cost_tier)
            if assembly.gate.is_permitted(tool, assembly.subject)
        ]
        if form is None:
            click.echo(table([("tool", "description"), *((t.name, first_sentence(t.description)) for t in chosen)]))
        else:
            click.echo(json.dumps(export(chosen, assembly.exposure, form), indent=2))
        return FAILURE if any(server.state != "ready" for server in assembly.servers.by_name.values()) else 0
