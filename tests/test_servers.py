"""Servers start side by side, and one that is missing, slow or broken costs only itself."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from rawhost import Json, RawHost, raw_host, scripted, text_of

pytestmark = pytest.mark.anyio

Write = Callable[..., Path]
Argv = Callable[..., list[str]]


async def names(host: RawHost, *, modern: bool = False) -> list[str]:
    """The names of the tools as the host sees them now."""
    result = await (host.modern if modern else host.request)("tools/list")
    return [tool["name"] for tool in result["tools"]]


async def test_servers_start_side_by_side(
    tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    """Each answers only when all have been started: started one after the other none would ever be ready."""
    barrier = tmp_path / "barrier"
    barrier.mkdir()
    servers = {f"s{n}": scripted("--name", f"s{n}", "--barrier", f"{barrier}:5") for n in range(5)}
    config = write_config(gate={"list_timeout": 20}, servers=servers)
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        listed = await names(host)
    assert [name for name in listed if name.endswith("__echo")] == [f"s{n}__echo" for n in range(5)]


async def test_the_host_is_answered_before_any_server_is_up(
    tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(gate={"list_timeout": 0.01}, servers={"s": scripted("--never")})
    async with raw_host(argv(config), state) as host:
        assert (await host.initialize())["serverInfo"]["name"] == "mcp-gate"
        assert (await host.modern("server/discover"))["supportedVersions"] == ["2026-07-28"]
        assert await names(host) == ["tool_search"]


@pytest.mark.parametrize("modern", [False, True])
async def test_the_first_list_waits_only_so_long_and_later_servers_are_announced(
    modern: bool, tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    servers = {"late": scripted("--wait-for", str(fifo)), "never": scripted("--never"), "s": scripted()}
    config = write_config(gate={"list_timeout": 1}, servers=servers)
    async with raw_host(argv(config), state) as host:
        if modern:
            listen = {"notifications": {"toolsListChanged": True}}
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: host.modern("subscriptions/listen", listen, request_id="listen:0"))
                acknowledged = await host.notified("notifications/subscriptions/acknowledged")
                await check_late_arrival(host, fifo, modern=True)
                tasks.cancel_scope.cancel()
            assert acknowledged is not None
            assert acknowledged["notifications"] == {"toolsListChanged": True}
        else:
            await host.initialize()
            await check_late_arrival(host, fifo, modern=False)


async def check_late_arrival(host: RawHost, fifo: Path, *, modern: bool) -> None:
    """The list without the late server, then the notification, then the list with it."""
    first = await names(host, modern=modern)
    assert "s__echo" in first
    assert not any(name.startswith("late__") for name in first)
    await anyio.to_thread.run_sync(fifo.write_bytes, b"go")
    params = await host.notified("notifications/tools/list_changed")
    stamp = {"_meta": {"io.modelcontextprotocol/subscriptionId": "listen:0"}} if modern else None
    assert params == stamp
    assert "late__echo" in await names(host, modern=modern)


async def test_a_call_to_a_server_that_is_still_starting_waits_for_it(
    tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    config = write_config(servers={"s": {**scripted("--wait-for", str(fifo)), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        results: list[Json] = []

        async def call() -> None:
            results.append(await host.call("s__echo", {"text": "x"}))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await host.request("ping")
            assert results == []
            await anyio.to_thread.run_sync(fifo.write_bytes, b"go")
        assert text_of(results[0]) == "x"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        ({"command": "no-such-program"}, "servers.bad.command: `no-such-program` is not on PATH"),
        ({"command": "/no/such/program"}, "`/no/such/program` cannot be run"),
        (scripted("--exit"), "exited with code 1 before it was ready; it said: scripted: the database is locked"),
        ({**scripted("--never"), "startup_timeout": 0.2}, "not ready within 0.2 s (servers.bad.startup_timeout)"),
        ({"command": "cat"}, "server `bad` is unavailable"),
        ({"command": "true"}, "exited with code 0 before it was ready"),
    ],
)
async def test_a_server_that_cannot_be_used_costs_only_itself_and_is_named(
    broken: Json, why: str, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"bad": broken, "s": {**scripted(), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        assert "s__echo" in await names(host)
        result = await host.call("bad__echo", {"text": "x"})
        assert result["isError"] is True
        assert why in text_of(result)
        assert text_of(await host.call("s__echo", {"text": "x"})) == "x"


async def test_a_server_that_ends_in_mid_call_fails_that_call_by_name_and_no_other(
    write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={name: {**scripted(), "approval": "auto"} for name in ("bad", "s")})
    async with raw_host(argv(config, "--allow", "bad__stop"), state) as host:  # which says that it is destructive
        await host.initialize()
        result = await host.call("bad__stop")
        assert result["isError"] is True
        assert "server `bad` is unavailable: it ended during the call of `stop`" in text_of(result)
        with anyio.fail_after(20):
            while "exited with code 7" not in (why := text_of(await host.call("bad__echo", {"text": "x"}))):
                assert why == "server `bad` is unavailable: it has ended"
        assert text_of(await host.call("s__echo", {"text": "x"})) == "x"
        assert "bad__echo" in await names(host)  # it stays listed: the host's list does not lose tools under it


async def test_a_call_that_its_server_never_answers_ends_at_the_servers_timeout(
    write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto", "timeout": 0.2}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        result = await host.call("s__slow", {"finish": False})
    assert "server `s` is unavailable: `slow` gave no answer within 0.2 s" in text_of(result)


@pytest.mark.parametrize("era", ["legacy", "modern", "both"])
async def test_a_server_is_spoken_to_in_the_era_it_speaks(
    era: str, tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    seen = tmp_path / "seen"
    config = write_config(servers={"s": {**scripted("--era", era, "--log", str(seen)), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        assert text_of(await host.call("s__echo", {"text": "x"}, modern=True)) == "x"
    methods = [json.loads(line)["method"] for line in seen.read_text().splitlines()]
    handshake = ["initialize", "notifications/initialized"] if era == "legacy" else []
    assert methods[: 2 + len(handshake)] == ["server/discover", *handshake, "tools/list"]


async def test_a_server_that_dies_from_the_probe_is_started_again_the_legacy_way(
    tmp_path: Path, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    seen = tmp_path / "seen"
    server = {**scripted("--die-on-discover", "--era", "legacy", "--log", str(seen)), "approval": "auto"}
    async with raw_host(argv(write_config(servers={"s": server})), state) as host:
        await host.initialize()
        assert text_of(await host.call("s__echo", {"text": "x"})) == "x"
    methods = [json.loads(line)["method"] for line in seen.read_text().splitlines()]
    assert methods[:3] == ["server/discover", "initialize", "notifications/initialized"]


async def test_bad_tools_cost_only_themselves(write_config: Write, argv: Argv, state: dict[str, str]) -> None:
    config = write_config(servers={"s": scripted("--bad-tool", "--page", "3")})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        listed = await names(host)
    good = ["echo", "add", "rich", "slow", "env", "stop"]
    assert [name for name in listed if name.removeprefix("s__") in good] == [f"s__{name}" for name in good]
    assert not {"s__bad_no_schema", "s__bad_schema_text", "s__bad_schema_type", "s__bad_description"} & set(listed)


async def test_noise_between_the_messages_is_borne(write_config: Write, argv: Argv, state: dict[str, str]) -> None:
    config = write_config(servers={"s": {**scripted("--noise"), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        assert text_of(await host.call("s__echo", {"text": "x"})) == "x"


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_tool_that_a_server_adds_later_is_announced_listed_and_called(
    era: str, write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted("--change", "--era", era), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        before = await names(host)
        await host.call("s__grow")
        await host.notified("notifications/tools/list_changed")
        [added] = set(await names(host)) - set(before)
        assert text_of(await host.call(added)).startswith("grown_")


async def test_a_server_gets_only_the_environment_it_was_given(
    write_config: Write, argv: Argv, state: dict[str, str]
) -> None:
    server = {**scripted(), "approval": "auto", "env": {"OWN": "${FROM_GATE}", "ELSE": "${UNSET_HERE:-fallback}"}}
    async with raw_host(argv(write_config(servers={"s": server})), {**state, "FROM_GATE": "v", "SECRET": "x"}) as host:
        await host.initialize()
        environment = json.loads(text_of(await host.call("s__env")))
    assert environment["OWN"] == "v"
    assert environment["ELSE"] == "fallback"
    assert "PATH" in environment
    assert {"SECRET", "FROM_GATE", "MCP_GATE_STATE_DIR"}.isdisjoint(environment)


# The end


@pytest.fixture
def running(write_config: Write, argv: Argv, state: dict[str, str], tmp_path: Path) -> Iterator[Any]:
    """A gate with two servers up, one of which ignores the end of its input, and the servers' process ids."""
    pids = tmp_path / "pids"
    script = tmp_path / "server.py"
    script.write_text(
        "import os, sys\n"
        f"open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        f"sys.path.insert(0, {str(Path(__file__).parent / 'servers')!r})\n"
        "import scripted\n"
        "scripted.main()\n"
        "if os.environ.get('STUBBORN'):\n"
        "    import signal, time\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    while True: time.sleep(60)\n"
    )
    server: Json = {"command": sys.executable, "args": [str(script)]}
    config = write_config(servers={"s": server, "stubborn": {**server, "env": {"STUBBORN": "1"}}})
    process = subprocess.Popen(
        argv(config), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **state}, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}}
        for message in ({"id": 1, "method": "initialize", "params": hello}, {"id": 2, "method": "tools/list"}):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        for _ in range(2):
            json.loads(process.stdout.readline())
        yield process, [int(pid) for pid in pids.read_text().split()]
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@pytest.mark.parametrize("how", ["eof", signal.SIGTERM, signal.SIGINT, signal.SIGHUP, "claude-code"])
def test_no_server_survives_the_gate(how: Any, running: tuple["subprocess.Popen[bytes]", list[int]]) -> None:
    process, pids = running
    assert len(pids) == 2
    if how == "eof":
        assert process.stdin is not None
        process.stdin.close()
    elif how == "claude-code":  # SIGINT, and SIGTERM soon after
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
    else:
        process.send_signal(how)
    assert process.wait(timeout=30) == 0
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
