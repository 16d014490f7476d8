from pathlib import Path

import pytest

from mcp_gate.config import load
from mcp_gate.errors import ConfigError
from mcp_gate.model import Effect, Request, Resource, Source, Subject
from mcp_gate.policy.decide import decide
from mcp_gate.policy.rules import Rule
from mcp_gate.snapshot import read_snapshot
from mcp_gate.sources import load_policy, parse_policy, read_policy_file, shipped_policies


def write(folder: Path, text: str, name: str = "p.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_policy_file_gives_rules_that_know_where_they_stand(tmp_path: Path) -> None:
    path = write(tmp_path, "description = 'd'\ndeny = ['a__x', 'a__y']\nask = ['b__*']\nallow = ['c__*']")
    assert read_policy_file(path, Source.USER) == (
        Rule(Effect.DENY, "a__x", Source.USER, f"{path}: deny[0]"),
        Rule(Effect.DENY, "a__y", Source.USER, f"{path}: deny[1]"),
        Rule(Effect.ASK, "b__*", Source.USER, f"{path}: ask[0]"),
        Rule(Effect.ALLOW, "c__*", Source.USER, f"{path}: allow[0]"),
    )


def test_every_bad_rule_of_a_file_is_told_with_key_and_column(tmp_path: Path) -> None:
    path = write(tmp_path, "deny = ['a__*', 'Bash(rm *)', '']\nallow = ['a b']")
    with pytest.raises(ConfigError) as caught:
        read_policy_file(path, Source.USER)
    starts = [str(problem).split(": ", 3)[1:3] for problem in caught.value.problems]
    assert starts == [
        ["deny[1]", "rule `Bash(rm *)`, column 5"],
        ["deny[2]", "rule ``, column 1"],
        ["allow[0]", "rule `a b`, column 2"],
    ]


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("denny = []", ["p: denny: is no key here; did you mean `deny`?"]),
        ("deny = 'a__*'", ['p: deny: must be a list, not `"a__*"`']),
        ("deny = ['a__*', 5]", ["p: deny[1]: must be a string, not `5`"]),
        (
            "[[tests]]\ncall = 5\nexpct = 'deny'",
            [
                "p: tests[0].call: must be a string, not `5`",
                "p: tests[0].expect: is missing and has no default",
                "p: tests[0].expct: is no key here; did you mean `expect`?",
            ],
        ),
        (
            "[[tests]]\ncall = 'a__b'\nexpect = 'maybe'",
            ['p: tests[0].expect: must be `allow`, `ask` or `deny`, not `"maybe"`'],
        ),
        ("deny = [", ["p: is not TOML: invalid value (at end of document)"]),
    ],
)
def test_a_policy_file_with_anything_unknown_is_refused(text: str, problems: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_policy(text.encode(), "p")
    assert [*map(str, caught.value.problems)] == problems


def test_the_policy_in_force_is_the_command_line_the_named_files_and_the_baseline(tmp_path: Path) -> None:
    write(tmp_path, "deny = ['a__*']")
    servers = write(tmp_path, "[gate]\npolicies = ['p.toml']", "servers.toml")
    config = load(read_snapshot(servers, source=Source.PROJECT), {})
    first, second, third, *baseline = load_policy(config, {Effect.ALLOW: ["b__*"], Effect.DENY: ["c__*"]}).rules
    assert first == Rule(Effect.ALLOW, "b__*", Source.CLI, "--allow")
    assert second == Rule(Effect.DENY, "c__*", Source.CLI, "--deny")
    assert third == Rule(Effect.DENY, "a__*", Source.PROJECT, "p.toml: deny[0]")
    assert tuple(baseline) == read_policy_file(shipped_policies() / "default.toml", Source.DEFAULT)


def test_a_denied_call_says_which_rule_denied_it_and_where_that_rule_stands(tmp_path: Path) -> None:
    write(tmp_path, "deny = ['x__y', 'git__git_reset']")
    config = load(write(tmp_path, "[gate]\npolicies = ['p.toml']", "servers.toml"), {})
    resource = Resource("git__git_reset", "git", "git_reset", {})
    decision = decide(Request(Subject("s"), "tools/call", resource), load_policy(config, {}))
    assert str(decision.reasons[0]) == "rule `git__git_reset` (user, p.toml: deny[1]) denies this tool"


def test_the_problems_of_all_sources_are_told_together(tmp_path: Path) -> None:
    write(tmp_path, "deny = ['(']", "a.toml")
    write(tmp_path, "dny = []", "b.toml")
    config = load(write(tmp_path, "[gate]\npolicies = ['a.toml', 'b.toml']", "servers.toml"), {})
    with pytest.raises(ConfigError) as caught:
        load_policy(config, {Effect.ASK: ["a b"]})
    assert [(problem.file, problem.key) for problem in caught.value.problems] == [
        ("", "--ask"),
        ("a.toml", "deny[0]"),
        ("b.toml", "dny"),
    ]


def test_the_rules_are_of_the_bytes_that_were_read_with_the_configuration(tmp_path: Path) -> None:
    path = write(tmp_path, "deny = ['a__*']")
    config = load(write(tmp_path, "[gate]\npolicies = ['p.toml']", "servers.toml"), {})
    path.write_text("allow = ['*']")
    assert load_policy(config, {}).rules[0].effect is Effect.DENY


def test_the_files_that_ship_are_found() -> None:
    assert {path.name for path in shipped_policies().glob("*.toml")} >= {"default.toml", "starter.toml"}
