"""The default configuration, with servers that others wrote, and the demo on top of it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.types import AudioContent, ElicitRequestParams, ElicitResult, ImageContent, TextContent
from rawhost import Json, raw_host, text_of

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "servers.toml"

pytestmark = [pytest.mark.anyio, pytest.mark.npm]


async def accept(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    """A person who approves every server."""
    return ElicitResult(action="accept", content={"decision": "session"})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty git repository."""
    folder = tmp_path / "repository"
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the memory server keep its file in the test's folder."""
    monkeypatch.setenv("MEMORY_FILE_PATH", str(tmp_path / "memory.jsonl"))


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_the_default_configuration_works_as_it_is(mode: str, gate: Callable[..., Any], repository: Path) -> None:
    async with Client(gate(CONFIG), mode=mode, elicitation_callback=accept) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {name.partition("__")[0] for name in tools} == {"tool_search", "time", "git", "memory", "everything"}
        assert tools["git__git_log"].input_schema == {"type": "object"}
        assert "timezone" in tools["time__get_current_time"].input_schema["properties"]
        assert "git__git_reset" not in tools

        status = await client.call_tool("git__git_status", {"repo_path": str(repository)})
        assert not status.is_error
        assert isinstance(status.content[0], TextContent)
        assert "No commits yet" in status.content[0].text

        created = await client.call_tool(
            "memory__create_entities", {"entities": [{"name": "n", "entityType": "t", "observations": ["o"]}]}
        )
        assert not created.is_error
        found = await client.call_tool("memory__search_nodes", {"query": "n"})
        assert found.structured_content is not None
        assert found.structured_content["entities"][0]["name"] == "n"

        image = await client.call_tool("everything__get-tiny-image", {})
        assert any(isinstance(block, ImageContent | AudioContent) for block in image.content)
        denied = await client.call_tool("git__git_reset", {"repo_path": str(repository)})
        assert denied.is_error
        assert isinstance(denied.content[0], TextContent)
        assert "policies/starter.toml: deny[0]" in denied.content[0].text


@pytest.mark.usefixtures("memory")
async def test_a_real_servers_result_is_the_same_through_the_gate_and_without_it(
    argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    """Byte for byte what the npm server answers to a client that has what the gate offers to servers."""
    server = ["node", str(ROOT / "demo/node_modules/@modelcontextprotocol/server-everything/dist/index.js")]
    calls: list[tuple[str, Json]] = [
        ("echo", {"message": "grüße ☃"}),
        ("get-structured-content", {"location": "Chicago"}),
        ("get-annotated-message", {"messageType": "error", "includeImage": True}),
        ("get-resource-links", {"count": 3}),
    ]
    async with raw_host(server, {}) as direct:
        await direct.initialize(capabilities={})
        expected_tools = {tool["name"]: tool for tool in (await direct.request("tools/list"))["tools"]}
        expected = [await direct.call(name, arguments) for name, arguments in calls]
    async with raw_host(
        [*argv(CONFIG, "--allow", "everything__*")], {**state, "MCP_GATE_DEFER_THRESHOLD": "99"}
    ) as host:
        await host.initialize()
        listed = (await host.request("tools/list"))["tools"]
        got = [await host.call(f"everything__{name}", arguments) for name, arguments in calls]
    assert got == expected
    through = {t["name"].removeprefix("everything__"): t for t in listed if t["name"].startswith("everything__")}
    denied = {"get-env"}
    assert {n: {**t, "name": n} for n, t in through.items()} == {
        n: t for n, t in expected_tools.items() if n not in denied
    }


@pytest.mark.usefixtures("memory")
async def test_an_error_of_a_real_server_reaches_the_host_as_its_own(
    argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    async with raw_host(argv(CONFIG), state) as host:
        await host.initialize()
        result = await host.call("time__get_current_time", {"timezone": "Nowhere/Land"})
    assert result["isError"] is True
    assert "Nowhere/Land" in text_of(result)


def test_the_demo_runs_without_a_terminal_and_shows_what_it_promises(state: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "demo/demo.py")],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**os.environ, **state},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for promised in (
        "stub ",
        "full ",
        "tool_search",
        "mcp-gate asks: may `create_entities` of server `memory` be called?",
        "the demo answers `session` by itself",
        "mcp-gate denied `git__git_reset`: rule `git__git_reset`",
        "decision  deny     git__git_reset",
        "outcome   denied   git__git_reset",
        '"event":"decision"',
    ):
        assert promised in done.stdout
    assert done.stdout.count("mcp-gate asks:") == 1
    [line] = [line for line in done.stdout.splitlines() if line.strip().startswith('{"time"')]
    assert json.loads(line)["effect"] == "deny"
