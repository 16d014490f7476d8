"""What a server sends reaches the host as it was, and the other way round, in every pairing of eras."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from rawhost import SERVERS, Json, RawHost, raw_host, scripted, text_of

from mcp_gate.wire.messages import INVALID_PARAMS, RpcError

pytestmark = pytest.mark.anyio

Write = Callable[..., Path]
Argv = Callable[..., list[str]]
PAIRINGS = [(host, server) for host in ("legacy", "modern") for server in ("legacy", "modern")]


async def opened(host: RawHost, era: str) -> bool:
    """Open the connection in this era; whether requests have to be modern."""
    if era == "legacy":
        await host.initialize()
    else:
        await host.modern("server/discover")
    return era == "modern"


async def direct(method: str, params: Json) -> Json:
    """What the scripted server itself answers in the legacy era."""
    async with raw_host([sys.executable, str(SERVERS / "scripted.py"), "--era", "legacy"], {}) as host:
        await host.initialize()
        return await host.request(method, params)


@pytest.mark.parametrize(("host_era", "server_era"), PAIRINGS)
@pytest.mark.parametrize("failed", [False, True])
async def test_a_result_of_every_kind_of_content_reaches_the_host_unchanged(
    host_era: str, server_era: str, failed: bool, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted("--era", server_era), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        modern = await opened(host, host_era)
        result = await host.call("s__rich", {"failed": failed}, modern=modern)
    expected = await direct("tools/call", {"name": "rich", "arguments": {"failed": failed}})
    assert result == (expected | {"resultType": "complete"} if modern else expected)


@pytest.mark.parametrize(("host_era", "server_era"), PAIRINGS)
async def test_a_tool_is_listed_with_every_field_its_server_gave_it(
    host_era: str, server_era: str, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": scripted("--era", server_era)})
    async with raw_host(argv(config), state) as host:
        result = await (host.modern if await opened(host, host_era) else host.request)("tools/list")
    expected = (await direct("tools/list", {}))["tools"]
    listed = [tool for tool in result["tools"] if tool["name"].startswith("s__")]
    assert listed == [{**tool, "name": f"s__{tool['name']}"} for tool in expected]
    fields = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if host_era == "modern" else {}
    assert {key: value for key, value in result.items() if key != "tools"} == fields


@pytest.mark.parametrize(("host_era", "server_era"), PAIRINGS)
async def test_progress_reaches_the_host_under_its_own_token(
    host_era: str, server_era: str, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted("--era", server_era), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        send = host.modern if await opened(host, host_era) else host.request
        call = {"name": "s__slow", "arguments": {"finish": True}, "_meta": {"progressToken": "mine"}}
        assert text_of(await send("tools/call", call)) == "done"
        steps = [await host.notified("notifications/progress") for _ in range(3)]
    expected = {"progressToken": "mine", "total": 3, "futureField": 1}
    assert steps == [{**expected, "progress": n, "message": f"step {n}"} for n in (1, 2, 3)]


@pytest.mark.parametrize(("host_era", "server_era"), PAIRINGS)
@pytest.mark.parametrize("request_id", [0, "call-1"])
async def test_cancelling_a_call_reaches_its_server(
    host_era: str,
    server_era: str,
    request_id: int | str,
    tmp_path: Path,
    write_config: Write,
    argv: Argv,
    state: dict[str, str],
) -> None:
    seen = tmp_path / "seen"
    server = {**scripted("--era", server_era, "--log", str(seen)), "approval": "auto"}
    async with raw_host(argv(write_config(servers={"s": server})), state) as host:
        modern = await opened(host, host_era)
        send = host.modern if modern else host.request
        call = {"name": "s__slow", "arguments": {"finish": False}, "_meta": {"progressToken": "p"}}

        async def call_until_cancelled() -> None:
            await send("tools/call", call, request_id=request_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call_until_cancelled)
            await host.notified("notifications/progress")
            tasks.cancel_scope.cancel()
        # the scripted server answers in order: once it has answered this, it has logged all before
        assert text_of(await host.call("s__echo", {"text": "x"}, modern=modern)) == "x"
    messages = [json.loads(line) for line in seen.read_text().splitlines()]
    [called] = [m for m in messages if m.get("params", {}).get("name") == "slow"]
    [cancelled] = [m for m in messages if m["method"] == "notifications/cancelled"]
    assert cancelled["params"]["requestId"] == called["id"]


async def test_what_a_host_says_in_meta_reaches_the_server_but_for_what_belongs_to_the_connection(
    tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    seen = tmp_path / "seen"
    server = {**scripted("--era", "legacy", "--log", str(seen)), "approval": "auto"}
    async with raw_host(argv(write_config(servers={"s": server})), state) as host:
        call = {"name": "s__echo", "arguments": {"text": "x"}, "_meta": {"claudecode/toolUseId": "t1"}}
        await host.modern("tools/call", call)
    [called] = [m for m in map(json.loads, seen.read_text().splitlines()) if m["method"] == "tools/call"]
    assert called["params"]["_meta"] == {"claudecode/toolUseId": "t1"}


@pytest.mark.parametrize("request_id", [0, "", "server-discover-probe-1", -5, 2**53])
async def test_any_id_that_a_host_chooses_comes_back_as_it_was(
    request_id: int | str, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.modern("server/discover", request_id=request_id)
        await host.modern("tools/list", request_id=request_id)
        assert text_of(await host.call("s__echo", {"text": "x"}, modern=True, request_id=request_id)) == "x"


async def test_a_host_may_discover_first_and_initialize_afterwards(
    write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        discovered = await host.modern("server/discover", request_id="server-discover-probe-1")
        initialized = await host.initialize()
        assert text_of(await host.call("s__echo", {"text": "legacy"})) == "legacy"
        assert text_of(await host.call("s__echo", {"text": "modern"}, modern=True)) == "modern"
    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert discovered["capabilities"]["tools"] == {"listChanged": True}
    assert initialized["protocolVersion"] == "2025-11-25"
    assert initialized["capabilities"]["tools"] == {"listChanged": True}
    assert {"resultType", "ttlMs", "cacheScope"}.isdisjoint(initialized)


@pytest.mark.parametrize(
    ("asked", "answered"),
    [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2099-01-01", "2025-11-25"), ("x", "2025-11-25")],
)
async def test_initialize_answers_with_the_revision_asked_for_or_else_the_latest_it_knows(
    asked: str, answered: str, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    async with raw_host(argv(write_config(servers={})), state) as host:
        assert (await host.initialize(version=asked))["protocolVersion"] == answered


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/list", None, -32600),
        ("resources/list", None, -32601),
        ("server/discover", None, -32601),
        ("no/such", {}, -32601),
    ],
)
async def test_a_host_that_has_not_introduced_itself_is_told(
    method: str, params: Json | None, code: int, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    async with raw_host(argv(write_config(servers={})), state) as host:
        assert await host.request("ping") == {}
        with pytest.raises(RpcError) as refused:
            await host.request(method, params)
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({"io.modelcontextprotocol/protocolVersion": "2026-07-28"}, -32602),
        ({"io.modelcontextprotocol/protocolVersion": 7, "io.modelcontextprotocol/clientCapabilities": {}}, -32602),
        ({"io.modelcontextprotocol/protocolVersion": "1", "io.modelcontextprotocol/clientCapabilities": {}}, -32022),
    ],
)
async def test_an_envelope_that_is_incomplete_or_unknown_is_refused(
    meta: Json, code: int, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    async with raw_host(argv(write_config(servers={})), state) as host:
        with pytest.raises(RpcError) as refused:
            await host.request("tools/list", {"_meta": meta})
    assert refused.value.code == code


@pytest.mark.parametrize(
    "params", [{}, {"name": 7}, {"name": "s__echo", "arguments": []}, {"name": "s__nothing"}, {"name": "t__x"}]
)
async def test_a_call_that_names_no_tool_is_an_error_of_the_protocol(
    params: Json, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        with pytest.raises(RpcError) as refused:
            await host.request("tools/call", params)
    assert refused.value.code == INVALID_PARAMS


async def test_nothing_but_the_protocol_is_on_stdout_whatever_is_logged(
    write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(gate={"log_level": "debug"}, servers={"s": scripted("--noise"), "gone": scripted("--exit")})
    hello: list[Json] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}}},
        {"id": 2, "method": "tools/list"},
    ]
    process = subprocess.Popen(  # noqa: ASYNC220 - nothing else runs in this test
        [sys.executable, "-X", "dev", *argv(config)[1:]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**state, "PYTHONWARNINGS": "default"},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        for message in hello:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            process.stdin.flush()
        lines = [json.loads(process.stdout.readline()) for _ in hello]
        rest, logged = process.communicate(timeout=30)
    assert [line["id"] for line in lines] == [1, 2]
    assert rest == b""
    assert b"server ready" in logged


async def test_a_session_that_lists_and_calls_tools_imports_no_heavy_library(
    write_config: Write, argv: Argv, state: dict[str, str], tmp_path: Path
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto"}})
    errors = tmp_path / "imports"
    shell = ["sh", "-c", f'exec "$@" 2>{errors}', "sh"]
    async with raw_host([*shell, *argv(config)], {**state, "PYTHONPROFILEIMPORTTIME": "1"}) as host:
        await host.initialize()
        await host.request("tools/list")
        assert text_of(await host.call("s__echo", {"text": "x"})) == "x"
        assert text_of(await host.call("s__echo", {"text": "x"}, modern=True)) == "x"
    imported = {line.rpartition("|")[2].strip() for line in errors.read_text().splitlines()}
    assert "mcp_gate.host.server" in imported
    heavy = {"mcp", "mcp_types", "starlette", "uvicorn", "httpx", "httpx2", "cryptography"}
    assert heavy.isdisjoint(imported)


def test_the_raw_host_and_the_gate_share_nothing_but_the_wire() -> None:
    """The expectations above compare with the server itself, so the scripted server has to be one that surprises."""
    result: Any = anyio.run(direct, "tools/call", {"name": "rich", "arguments": {"failed": False}})
    assert {block["type"] for block in result["content"]} == {"text", "image", "audio", "resource", "resource_link"}
    assert "futureField" in result
