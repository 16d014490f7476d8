"""`make demo`: mcp-gate in front of real servers, driven as a host drives it, with everything it does shown.

The host is the MCP SDK's own client over stdio. Questions are put to whoever sits at the terminal; where there is no
terminal the demo answers by itself and says so.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.client.stdio import StdioServerParameters
from mcp.types import ElicitRequestParams, ElicitResult, Implementation, TextContent

ROOT = Path(__file__).parent.parent


def say(text: str = "") -> None:
    """One line of the transcript."""
    print(text, flush=True)


def step(title: str) -> None:
    """A heading of the transcript."""
    say(f"\n== {title}")


def short(value: Any, limit: int = 110) -> str:
    """A value on one line."""
    text = " ".join((value if isinstance(value, str) else json.dumps(value)).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """Show the gate's form as a host would, and let the person choose."""
    field = params.requested_schema["properties"]["decision"]  # type: ignore[union-attr]
    for line in params.message.splitlines():
        say(f"   ? {line}")
    for number, title in enumerate(field["enumNames"], start=1):
        say(f"   {number}. {title}")
    if sys.stdin.isatty():
        given = await anyio.to_thread.run_sync(input, "   your answer: ")
        if not given.isdigit() or not 1 <= int(given) <= len(field["enum"]):
            say("   (closed without an answer)")
            return ElicitResult(action="cancel")
        decision = field["enum"][int(given) - 1]
    else:
        decision = "session"
        say(f"   (no terminal here: the demo answers `{decision}` by itself)")
    return ElicitResult(action="accept", content={"decision": decision})


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> None:
    """One call, and what came back."""
    say(f"-> {tool} {short(arguments)}")
    result = await client.call_tool(tool, arguments)
    for block in result.content:
        text = block.text if isinstance(block, TextContent) else block.type
        say(f"<- {'refused or failed: ' if result.is_error else ''}{short(text, 320)}")


async def show_tools(client: Client) -> None:
    """The list as this host sees it."""
    tools = (await client.list_tools()).tools
    stubs = [tool for tool in tools if tool.input_schema == {"type": "object"}]
    say(f"{len(tools)} tools, {len(stubs)} of them stubs (name and first sentence; the schema on demand)")
    for tool in tools:
        kind = "stub" if tool in stubs else "full"
        size = len(json.dumps(tool.model_dump(by_alias=True, exclude_none=True)))
        say(f"  {kind}  {size:5} B  {tool.name:42} {short(tool.description or '', 60)}")


def show_log(lines: list[str]) -> None:
    """The audit log, a summary a line and the last decision as it stands in the file."""
    tools: dict[str, str] = {}
    for record in map(json.loads, lines):
        tool = tools.setdefault(record["id"], record.get("tool", ""))
        what = record.get("effect") or record.get("verdict") or record["status"]
        why = record.get("why", "")
        for reason in record.get("reasons", [])[:1]:
            why = f"rule `{reason['rule']}` {reason['why']}" if reason["rule"] else reason["why"]
        say(f"  {record['event']:8}  {what:7}  {tool:26}  {short(why, 90)}")
    say("  one of them as it is in the file:")
    say(f"  {next(line for line in reversed(lines) if json.loads(line)['event'] == 'decision')}")


async def demo(repository: Path, state: Path) -> None:
    """The transcript."""
    gate = StdioServerParameters(
        command=sys.executable,
        args=["-m", "mcp_gate", "run", "--config", str(ROOT / "servers.toml")],
        env={"MCP_GATE_STATE_DIR": str(state), "MEMORY_FILE_PATH": str(state / "memory.jsonl")},
    )
    step("a host launches `mcp-gate run` as its only server")
    host = Implementation(name="demo-host", version="1")
    async with Client(gate, mode="auto", client_info=host, elicitation_callback=answer) as client:
        say(f"connected, protocol {client.protocol_version}; instructions: {short(client.instructions or '', 200)}")
        step("tools/list: every server's tools, under `server__tool`")
        await show_tools(client)
        step("tool_search: full schemas by keywords")
        found = await client.call_tool("tool_search", {"query": "show the commit log", "limit": 2})
        block = found.content[0]
        for tool in json.loads(block.text if isinstance(block, TextContent) else "{}")["tools"]:
            say(f"  {tool['name']}: {short(tool['inputSchema'], 180)}")
        step("a call that a rule allows")
        await call(client, "time__get_current_time", {"timezone": "UTC"})
        step("a stub called with wrong arguments: the schema comes back, nobody is asked")
        await call(client, "git__git_log", {"path": "."})
        step("a call that asks: the first one to the server `memory`")
        gate_entity = {"name": "mcp-gate", "entityType": "program", "observations": ["decides every call"]}
        await call(client, "memory__create_entities", {"entities": [gate_entity]})
        step("a second call to the same server no longer asks")
        observation = {"entityName": "mcp-gate", "contents": ["asks once for a server"]}
        await call(client, "memory__add_observations", {"observations": [observation]})
        step("a call that a rule denies, whatever was approved")
        await call(client, "git__git_reset", {"repo_path": str(repository)})
    step("the audit log: a line before each call, a line after")
    show_log((state / "audit.jsonl").read_text().splitlines())


def main() -> None:
    """Run the demo in a scratch folder."""
    scratch = Path(tempfile.mkdtemp(prefix="mcp-gate-demo-"))
    try:
        subprocess.run(["git", "init", "-q", str(scratch / "repository")], check=True, env={**os.environ})
        anyio.run(demo, scratch / "repository", scratch / "state")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
