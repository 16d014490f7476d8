"""The recorded catalogues of real servers, and tools made by hand, for the tests of `catalog/`."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mcp_gate.catalog.names import gate_name
from mcp_gate.catalog.registry import ServerTool

CATALOGS = Path(__file__).parents[2] / "shared/catalogs"

needs_catalogs = pytest.mark.skipif(not CATALOGS.is_dir(), reason="the recorded catalogues (../shared) are not here")


def recorded(name: str) -> list[dict[str, Any]]:
    """The tools that a recorded server listed."""
    tools: list[dict[str, Any]] = json.loads((CATALOGS / f"{name}.json").read_text(encoding="utf-8"))["tools"]
    return tools


def recorded_servers() -> list[str]:
    return sorted(path.stem for path in CATALOGS.glob("*.json") if not path.stem.endswith(".modern"))


async def echo(tool: str, arguments: Mapping[str, Any], call: Any) -> dict[str, Any]:
    """Stands in for a server: answers with what it was asked."""
    return {"content": [{"type": "text", "text": json.dumps([tool, dict(arguments), call])}]}


def server_tool(
    server: str,
    definition: dict[str, Any],
    *,
    prefix: str | None = None,
    category: str | None = None,
    cost_tier: str | None = None,
) -> ServerTool:
    tool = definition["name"]
    return ServerTool(
        name=gate_name(f"{server}__" if prefix is None else prefix, tool),
        server=server,
        tool=tool,
        definition=definition,
        category=category,
        cost_tier=cost_tier,
        tier=None,
        approval="session",
        cost=None,
        forward=echo,
    )


def definition(name: str, description: str = "", **properties: Any) -> dict[str, Any]:
    return {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }


def recorded_tools(*servers: str) -> list[ServerTool]:
    """The recorded tools of these servers (none named: of all), as the gate would register them."""
    return [server_tool(server, raw) for server in servers or recorded_servers() for raw in recorded(server)]
