"""The verbs about policy, run as a person runs them: decide, test, lint, import-rules, explain, and modes and nodes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rawhost import Json, raw_host, scripted, text_of

if TYPE_CHECKING:
    import subprocess

Write = Callable[..., Path]
Argv = Callable[..., list[str]]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def policy_file(tmp_path: Path, text: str, name: str = "p.toml") -> str:
    path = tmp_path / name
    path.write_text(text)
    path.chmod(0o644)
    return str(path)


RULES = {"deny": ["Bash(rm *)"], "ask": [], "allow": ["shell__run(git *)", "fs__write(path=/home/u/project/**)"]}
CASES: list[tuple[Json, str]] = [
    ({"tool": "shell__run", "arguments": {"command": "git status"}, "rules": RULES}, "allow\trule `shell__run(git *)`"),
    ({"tool": "shell__run", "arguments": {"command": "ls; rm x"}, "rules": RULES}, "deny\trule `Bash(rm *)`"),
    ({"tool": "fs__write", "arguments": {"path": "a.txt"}, "rules": RULES}, "allow\trule `fs__write("),
    (
        {
            "tool": "fs__write",
            "arguments": {"path": "link/x"},
            "rules": RULES,
            "fixture": {"home": "/home/u", "cwd": "/home/u/project", "symlinks": {"/home/u/project/link": "/etc"}},
        },
        "ask\tserver `fs` needs one approval",
    ),
    ({"tool": "shell__run", "arguments": {"command": "[[ -f x ]]"}, "rules": RULES, "shell": "sh"}, "ask\t"),
    ({"tool": "noserver", "rules": RULES}, "ask\tno case: tool: "),
    ({"tool": "a__b", "rules": {"allow": ["Bash("]}}, "ask\tno case: allow[0]: rule `Bash(`"),
    ({"tool": "a__b", "rules": {"alow": []}}, "ask\tno case: rules.alow: "),
]


def test_decide_answers_each_line_with_an_effect_and_a_reason(run: Run) -> None:
    done = run("decide", answers="".join(json.dumps(case) + "\n" for case, _ in CASES) + "{nonsense\n\n")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert len(lines) == len(CASES) + 1
    for line, (_, start) in zip(lines, CASES, strict=False):
        assert line.startswith(start)
    assert lines[-1].startswith("ask\tno case: ")


def test_decide_without_rules_is_judged_by_the_policy_in_force(run: Run, write_config: Write, tmp_path: Path) -> None:
    policy = policy_file(tmp_path, "deny = ['s__nuke']\nallow = ['Bash(make *)']")
    tools = {"run": {"kind": "shell"}}
    servers = {"s": {**scripted(), "shell": "bash", "tools": tools, "approval": "auto"}}
    config = write_config(gate={"policies": [policy]}, servers=servers)
    cases = [
        {"tool": "s__nuke"},
        {"tool": "s__run", "arguments": {"command": "make all"}},
        {"tool": "s__run", "arguments": {"command": "sudo id"}},
        {"tool": "s__echo"},
        {"tool": "other__x"},
    ]
    done = run("decide", "--json", "--config", str(config), answers="\n".join(map(json.dumps, cases)))
    decisions = [json.loads(line) for line in done.stdout.splitlines()]
    assert [decision["effect"] for decision in decisions] == ["deny", "allow", "deny", "allow", "ask"]
    assert decisions[1]["reasons"][0]["rule"] == "Bash(make *)"
    assert decisions[1]["tier"] == "dangerous"


def test_test_runs_the_tests_of_a_policy_file_over_the_baseline(run: Run, tmp_path: Path) -> None:
    good = policy_file(
        tmp_path,
        """
        deny = ["x__*"]
        [[tests]]
        call = "x__y"
        expect = "deny"
        reason = "x__*"
        [[tests]]
        call = "shell__run"
        arguments = { command = "sudo id" }
        expect = "deny"
        reason = "policies/default.toml"
        """,
    )
    done = run("test", good)
    assert (done.returncode, done.stdout) == (0, "2 passed, 0 failed\n")
    bad = policy_file(tmp_path, "[[tests]]\ncall = 'x__y'\nexpect = 'deny'\n", "bad.toml")
    done = run("test", good, bad)
    assert done.returncode == 1
    assert f"{bad}: tests[0]: `x__y`: expected deny, decided ask: server `x` needs one approval" in done.stdout
    outcomes = json.loads(run("test", "--json", bad).stdout)
    assert [(o["expected"], o["effect"], o["passed"]) for o in outcomes] == [("deny", "ask", False)]


def test_every_policy_file_that_ships_passes_its_tests(run: Run) -> None:
    files = sorted(map(str, (Path(__file__).parents[1] / "policies").glob("*.toml")))
    done = run("test", *files)
    assert done.returncode == 0
    assert done.stdout.endswith(" passed, 0 failed\n")


def test_a_policy_file_that_cannot_be_read_is_refused_by_test_with_file_and_column(run: Run, tmp_path: Path) -> None:
    done = run("test", policy_file(tmp_path, "deny = ['Bash(rm']"))
    assert done.returncode == 4
    assert "p.toml: deny[0]: rule `Bash(rm`, column 7: has no `)` at its end" in done.stderr


def test_lint_reports_rules_that_do_nothing(run: Run, write_config: Write, tmp_path: Path) -> None:
    policy = policy_file(
        tmp_path,
        """
        deny = ["s__stop", "gone__*"]
        ask = ["s__stop", "s__*"]
        allow = ["s__echo", "s__echo", "Bash(ls *)", "s__echo(text=a*)", "s__echo(txt=a*)"]
        """,
    )
    config = write_config(gate={"policies": [policy]}, servers={"s": scripted()})
    done = run("lint", "--json", "--config", str(config))
    found = {f["where"].removeprefix(f"{policy}: "): (f["kind"], f["why"]) for f in json.loads(done.stdout)}
    assert done.returncode == 1
    assert found["deny[1]"] == ("never matches", "no tool has such a name or such arguments")
    assert found["ask[0]"][0] == "contradictory"
    assert found["allow[0]"][0] == "unreachable"
    assert found["allow[1]"][0] == "repeated"
    assert 'no tool is declared `kind = "shell"`' in found["allow[2]"][1]
    assert found["allow[3]"][0] == "unreachable"
    assert found["allow[4]"][0] == "never matches"
    assert "ask[1]" not in found


def test_check_warns_of_rules_that_never_match_and_starts_all_the_same(
    run: Run, write_config: Write, tmp_path: Path
) -> None:
    policy = policy_file(tmp_path, "deny = ['s__sotp']")
    done = run("check", "--config", str(write_config(gate={"policies": [policy]}, servers={"s": scripted()})))
    assert done.returncode == 0
    assert f"warning: {policy}: deny[0]: `s__sotp` never matches: no tool has such a name" in done.stdout


def test_import_rules_prints_a_policy_file_and_says_what_it_could_not_translate(run: Run, tmp_path: Path) -> None:
    settings = {
        "permissions": {
            "deny": ["Bash(rm -rf:*)", "Read(./.env)", "Read(/secrets/**)", "mcp__github", "Bash(rm -rf:*)"],
            "ask": ["WebFetch(domain:*.example.com)", "Agent(x)"],
            "allow": ["Bash(git *)", "Edit(//tmp/**)", "mcp__git__git_log", "Bash(*)", "Read", 5],
            "defaultMode": "auto",
        }
    }
    folder = tmp_path / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text(json.dumps(settings))
    done = run("import-rules", ".claude/settings.json")
    assert done.returncode == 1
    policy_file(tmp_path, done.stdout + "\n[[tests]]\ncall = 'github__x'\nexpect = 'deny'\n")
    assert run("test", "p.toml").returncode == 0
    assert "Bash(rm -rf:*)" in done.stdout
    assert done.stdout.count("Bash(rm -rf") == 1
    assert f"Read({tmp_path}/secrets/**)" in done.stdout
    assert [line.split(": ")[2] for line in done.stderr.splitlines()] == [
        "permissions.ask[1]",
        "permissions.allow[5]",
        "permissions.defaultMode",
    ]
    done = run("import-rules", "p.toml")
    assert done.returncode == 4


def test_explain_prints_each_step_and_the_rules_that_lost(run: Run, write_config: Write, tmp_path: Path) -> None:
    policy = policy_file(tmp_path, "ask = ['s__*']\n[policies.quiet]\ndenied_tools = ['s__stop']")
    config = str(write_config(gate={"policies": [policy]}, servers={"s": scripted()}))
    done = run("explain", "--config", config, "--allow", "s__echo", "s__echo", '{"text": "x"}')
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "allow: s__echo"
    assert lines[1] == "  rule `s__echo` (cli, --allow) allows this tool"
    assert lines[2] == f"  rule `s__*` (user, {policy}: ask[0]) would ask, but source cli goes before user"
    assert lines[3] == "1 availability: policy `quiet` of mode `*` permits it by its blacklist"
    assert lines[4:7] == [
        "2 rules: ",
        "    cli: allow `s__echo` (--allow) matches",
        f"    user: ask `s__*` ({policy}: ask[0]) matches",
    ]
    assert lines[7].startswith("3 tier, where no rule had decided: server `s` needs one approval")
    assert lines[8] == "4 obligation: none"
    steps = json.loads(run("explain", "--json", "--config", config, "s__stop").stdout)
    assert steps["effect"] == "deny"
    assert steps["steps"]["chain"][0]["permits"] is False
    assert steps["steps"]["rules"][0]["rule"] == "s__*"


def test_trust_makes_what_a_projects_policy_file_allows_count(run: Run, write_config: Write, tmp_path: Path) -> None:
    config = str(write_config(servers={"s": scripted()}))
    (tmp_path / ".mcp-gate").mkdir()
    policy_file(tmp_path, "allow = ['s__echo']", ".mcp-gate/policy.toml")
    explain = ("explain", "--config", config, "s__echo", '{"text": "x"}')
    done = run(*explain)
    assert done.returncode == 3
    assert "is not trusted" in done.stderr
    assert "s__echo" in run("trust", ".mcp-gate/policy.toml").stdout
    assert run(*explain).returncode == 0
    policy_file(tmp_path, "allow = ['s__*']", ".mcp-gate/policy.toml")
    assert run(*explain).returncode == 3


def test_a_mode_is_taken_from_the_option_the_environment_or_the_file(
    run: Run, write_config: Write, tmp_path: Path
) -> None:
    policy = policy_file(tmp_path, "[policies.a]\nmode = 'dry'\ndenied_tools = ['s__echo']")
    config = str(write_config(gate={"policies": [policy]}, servers={"s": {**scripted(), "approval": "auto"}}))
    explain = ("explain", "--config", config, "s__echo", '{"text": "x"}')
    assert run(*explain).returncode == 0
    assert run(*explain, "--mode", "dry").returncode == 2
    assert run(*explain, MCP_GATE_MODE="dry").returncode == 2
    assert run(*explain, "--mode", "full_pipeline", MCP_GATE_MODE="dry").returncode == 0
    done = run(*explain, "--mode", "dyr")
    assert done.returncode == 4
    assert "--mode: no policy names the mode `dyr`; known are `dry`, `full_pipeline`" in done.stderr


@pytest.mark.anyio
async def test_what_a_mode_or_node_does_not_have_is_not_listed_not_found_and_not_called(
    write_config: Write, argv: Argv, state: dict[str, str], tmp_path: Path
) -> None:
    policy = policy_file(
        tmp_path,
        "[policies.a]\ndenied_tools = ['s__stop']\n[nodes.reader]\nallowed_tools = ['s__echo']\n",
    )
    config = write_config(gate={"policies": [policy]}, servers={"s": {**scripted(), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        names = [tool["name"] for tool in (await host.request("tools/list"))["tools"]]
        assert "s__stop" not in names
        assert {"s__echo", "s__slow"} <= set(names)
        node = {"_meta": {"mcp-gate/node": "reader_x"}}
        names = [tool["name"] for tool in (await host.request("tools/list", node))["tools"]]
        assert names == ["tool_search", "s__echo"]
        found = await host.request("tools/call", {"name": "tool_search", "arguments": {"query": "slow"}, **node})
        assert "s__slow" not in text_of(found)
        refused = await host.request("tools/call", {"name": "s__slow", "arguments": {}, **node})
        assert "node `reader_x` may not use it, by the allowlist of `reader`" in text_of(refused)
        assert "policy `a` of mode `*` blocks it" in text_of(await host.call("s__stop"))
        assert text_of(await host.request("tools/call", {"name": "s__echo", "arguments": {"text": "x"}, **node})) == "x"
    async with raw_host(argv(config, "--node", "reader"), state) as host:
        await host.initialize()
        node = {"_meta": {"mcp-gate/node": "writer"}}  # naming another node frees from nothing
        names = [tool["name"] for tool in (await host.request("tools/list", node))["tools"]]
        assert names == ["tool_search", "s__echo"]
