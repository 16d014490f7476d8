"""The verbs, run as a person runs them: what they print, and their exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rawhost import Json, scripted

Write = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_check_shows_each_server_its_era_its_tools_and_what_is_wrong(run: Run, write_config: Write) -> None:
    servers: Json = {
        "old": scripted("--era", "legacy", "--name", "Old", "--tools", "3"),
        "new": scripted("--era", "modern", "--bad-tool"),
        "gone": scripted("--exit"),
        "off": {**scripted(), "enabled": False},
    }
    done = run("check", "--config", str(write_config(servers=servers)))
    assert done.returncode == 1
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line}
    assert rows["old"] == ["old", "ready", "legacy", "2025-11-25", "9", "Old", "1.2.3"]
    assert rows["new"][:4] == ["new", "ready", "modern", "2026-07-28"]
    assert "gone: it exited with code 1 before it was ready; it said: scripted: the database is locked" in done.stdout
    assert "off: disabled" in done.stdout
    assert "new: tool `bad_no_schema` is left out" in done.stdout


def test_check_is_content_with_servers_that_all_start(run: Run, write_config: Write) -> None:
    assert run("check", "--config", str(write_config(servers={"s": scripted()}))).returncode == 0


def test_every_mistake_of_a_configuration_is_reported_at_once(run: Run, write_config: Write) -> None:
    config = write_config(gate={"list_timeot": 1}, servers={"s": {"command": 7, "approval": "never"}, "a__b": {}})
    for verb in (["check"], ["tools"], ["run"], ["explain", "s__x"], ["call", "s__x"]):
        done = run(*verb, "--config", str(config))
        assert done.returncode == 4
        assert done.stdout == ""
        for key in ("gate.list_timeot", "servers.s.command", "servers.s.approval", "servers.a__b"):
            assert f"servers.toml: {key}" in done.stderr, done.stderr


@pytest.mark.parametrize("rule", ["s__x(", "", "two words"])
def test_a_rule_that_cannot_be_read_stops_the_gate(rule: str, run: Run, write_config: Write) -> None:
    done = run("check", "--config", str(write_config(servers={})), "--deny", rule)
    assert done.returncode == 4
    assert "column" in done.stderr


def test_without_a_configuration_it_says_where_it_looked(run: Run) -> None:
    done = run("check")
    assert done.returncode == 4
    assert "--config" in done.stderr
    assert "servers.toml" in done.stderr


def test_a_configuration_of_the_working_directory_is_passed_over_until_it_is_trusted(
    run: Run, write_config: Write, tmp_path: Path
) -> None:
    mark = tmp_path / "started"
    server = scripted("--log", str(mark))
    write_config(servers={"s": server})
    done = run("check")
    assert done.returncode == 4
    assert f"{tmp_path / 'servers.toml'}: is not trusted" in done.stderr
    assert "mcp-gate trust" in done.stderr
    assert not mark.exists()

    trusted = run("trust")
    assert trusted.returncode == 0
    assert str(mark) in trusted.stdout  # the whole command line is shown
    assert run("check").returncode == 0
    assert mark.exists()

    write_config(servers={"s": {**server, "approval": "auto"}})
    assert run("check").returncode == 4

    run("trust")
    assert run("trust", "--remove").returncode == 0
    assert run("check").returncode == 4


def test_the_environment_names_a_configuration_and_so_does_the_users_own_folder(
    run: Run, write_config: Write, state: dict[str, str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.toml"
    write_config(servers={"s": scripted()}).rename(elsewhere)
    assert run("check", MCP_GATE_CONFIG=str(elsewhere)).returncode == 0
    own = Path(state["MCP_GATE_CONFIG_DIR"])
    own.mkdir()
    elsewhere.rename(own / "servers.toml")
    assert run("check").returncode == 0


def test_a_hosts_own_json_is_taken_as_it_is(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "claude_desktop_config.json"
    file.write_text(json.dumps({"mcpServers": {"my server": {**scripted(), "type": "stdio"}}, "theme": "dark"}))
    done = run("tools", "--config", str(file), "--format", "mcp")
    assert done.returncode == 0
    assert "my_server__echo" in [tool["name"] for tool in json.loads(done.stdout)]


@pytest.mark.parametrize(
    ("form", "name", "schema"),
    [("mcp", "name", "inputSchema"), ("anthropic", "name", "input_schema"), ("openai", "function", "parameters")],
)
def test_tools_are_printed_in_the_forms_of_model_apis(
    form: str, name: str, schema: str, run: Run, write_config: Write
) -> None:
    config = write_config(servers={"s": scripted()})
    entries = json.loads(run("tools", "--config", str(config), "--format", form).stdout)
    assert all(name in entry for entry in entries)
    inner = [entry.get("function", entry) for entry in entries]
    assert {entry["name"] for entry in inner} >= {"tool_search", "s__echo", "s__add"}
    assert all(entry[schema]["type"] == "object" for entry in inner)


def test_tools_are_filtered_by_category_and_cost_tier(run: Run, write_config: Write) -> None:
    settings = {"echo": {"category": "talk", "cost_tier": "free"}, "add": {"category": "maths", "cost_tier": "free"}}
    config = str(write_config(servers={"s": {**scripted(), "tools": settings}}))
    assert [line.split()[0] for line in run("tools", "--config", config, "--category", "talk").stdout.splitlines()] == [
        "tool",
        "s__echo",
    ]
    free = run("tools", "--config", config, "--cost-tier", "free", "--format", "mcp")
    assert {"s__echo", "s__add"} <= {tool["name"] for tool in json.loads(free.stdout)}
    assert "s__rich" not in free.stdout


@pytest.mark.parametrize(
    ("rules", "effect", "code", "why"),
    [
        ([], "ask", 3, "server `s` needs one approval per session"),
        (["--allow", "s__*"], "allow", 0, "rule `s__*` (cli, --allow)"),
        (["--ask", "s__echo", "--allow", "*"], "ask", 3, "rule `s__echo` (cli, --ask)"),
        (["--deny", "*__echo", "--allow", "s__echo"], "deny", 2, "rule `*__echo` (cli, --deny)"),
    ],
)
def test_explain_says_what_would_be_decided_and_why(
    rules: list[str], effect: str, code: int, why: str, run: Run, write_config: Write
) -> None:
    config = str(write_config(servers={"s": scripted()}))
    done = run("explain", "--config", config, *rules, "s__echo", '{"text": "x"}')
    assert done.returncode == code
    assert done.stdout.startswith(f"{effect}: s__echo\n")
    assert why in done.stdout
    as_json = json.loads(run("explain", "--json", "--config", config, *rules, "s__echo").stdout)
    assert as_json["effect"] == effect
    assert as_json["reasons"]


@pytest.mark.parametrize(
    ("answers", "code", "text"),
    [
        ("1\n", 0, "hello"),
        ("session\n", 0, "hello"),
        ("what?\n99\n2\n", 0, "hello"),
        ("3\n", 2, "said no"),
        ("", 3, "needs an approval and got none"),
    ],
)
def test_call_asks_in_the_terminal(answers: str, code: int, text: str, run: Run, write_config: Write) -> None:
    config = str(write_config(servers={"s": scripted()}))
    done = run("call", "--config", config, "s__echo", '{"text": "hello"}', answers=answers)
    assert done.returncode == code
    assert text in json.loads(done.stdout)["content"][0]["text"]
    assert "may `echo` of server `s` be called?" in done.stderr


@pytest.mark.parametrize(
    ("shell", "code", "text"),
    [
        ('exec "$@" <&-', 1, "stdin or stdout is closed"),
        ('exec "$@" </dev/null >&-', 1, "stdin or stdout is closed"),
        ('mkdir gone; cd gone; rmdir ../gone; exec "$@" </dev/null', 1, "the working directory is gone"),
    ],
)
def test_a_gate_in_an_impossible_place_says_so(
    shell: str, code: int, text: str, write_config: Write, tmp_path: Path, state: dict[str, str]
) -> None:
    config = str(write_config(servers={"s": scripted()}))
    command = ["sh", "-c", shell, "sh", sys.executable, "-m", "mcp_gate", "run", "--config", config]
    environ = {**os.environ, **state, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environ, timeout=60, check=False)
    assert done.returncode == code
    assert text in done.stderr
    assert "Traceback" not in done.stderr


def test_call_fails_as_its_tool_does(run: Run, write_config: Write) -> None:
    config = str(write_config(servers={"s": {**scripted(), "approval": "auto"}}))
    assert run("call", "--config", config, "s__rich", '{"failed": true}').returncode == 1
    assert run("call", "--config", config, "s__add", "{}").returncode == 1
    unknown = run("call", "--config", config, "s__ecko", "{}")
    assert unknown.returncode == 1
    assert "closest: `s__echo`" in unknown.stderr
    denied = run("call", "--config", config, "--deny", "s__*", "s__echo", '{"text": "x"}')
    assert denied.returncode == 2


@pytest.mark.parametrize("arguments", ["{", "[]", "7"])
def test_arguments_that_are_no_json_object_are_a_usage_error(arguments: str, run: Run, write_config: Write) -> None:
    done = run("call", "--config", str(write_config(servers={})), "s__echo", arguments)
    assert done.returncode == 2
    assert "JSON" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_help_names_every_verb(run: Run) -> None:
    done = run("--help")
    assert done.returncode == 0
    assert all(verb in done.stdout for verb in ("run", "check", "tools", "explain", "call", "trust"))
