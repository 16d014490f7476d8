"""A low-level SDK server: `seams.py sdk` speaks over the SDK's own stdio transport, `seams.py gate` over our wire."""

import os
import sys
from typing import Any

import anyio
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import serve_connection
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
)

from mcp_gate.wire.dispatcher import Dispatcher

FORM: Any = {"type": "object", "properties": {"colour": {"type": "string"}}}
cancelled = anyio.Event()


async def list_tools(_context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
    names = ("ask", "count", "wait", "was_cancelled", "crash")
    return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in names])


async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
    match params.name:
        case "ask":
            answer = await context.session.elicit_form("which colour?", FORM)
            text = f"{answer.action} {answer.content}"
        case "count":
            for n in (1, 2, 3):
                await context.session.report_progress(n, 3, f"step {n}")
            text = "counted"
        case "wait":
            await context.session.report_progress(0)
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.set()
        case "was_cancelled":
            await cancelled.wait()
            text = "yes"
        case "crash":
            raise KeyError("a bug")
        case _:
            raise MCPError(-32602, f"no tool {params.name}", {"near": ["ask"]})
    return CallToolResult(content=[TextContent(type="text", text=text)])


def server() -> Server[Any]:
    """The server that either wire carries."""
    return Server("seams", on_list_tools=list_tools, on_call_tool=call_tool)


async def over_sdk() -> None:
    seams = server()
    async with stdio_server() as (read, write):
        await seams.run(read, write, seams.create_initialization_options())


async def over_gate() -> None:
    dispatcher = Dispatcher(os.dup(0), os.dup(1), peer="the client", error=MCPError)
    connection = Connection.for_loop(dispatcher)
    await serve_connection(server(), dispatcher, connection=connection, lifespan_state={})


if __name__ == "__main__":
    anyio.run({"sdk": over_sdk, "gate": over_gate}[sys.argv[1]])
