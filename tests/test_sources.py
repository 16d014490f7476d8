from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mcp_gate.config import Config, load
from mcp_gate.errors import ConfigError
from mcp_gate.model import Effect, Request, Resource, Source, Subject
from mcp_gate.policy.decide import decide
from mcp_gate.policy.policy import Policy
from mcp_gate.policy.rules import Rule
from mcp_gate.policyfile import parse_policy
from mcp_gate.snapshot import Snapshot, read_snapshot
from mcp_gate.sources import Places, check_mode, load_policy, managed_file, places


def write(folder: Path, text: str, name: str = "p.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def loaded(
    config: Config,
    folder: Path,
    cli: Mapping[Effect, Sequence[str]] | None = None,
    *,
    trusts: bool = False,
) -> tuple[Policy, list[str]]:
    """What is in force with a managed, user and project folder of these names below `folder`; any may be missing."""
    where = Places(folder / "managed" / "policy.toml", folder / "user", folder / "project", lambda _: trusts)
    return load_policy(config, cli or {}, where)


def test_a_policy_file_gives_rules_that_know_where_they_stand() -> None:
    text = "description = 'd'\ndeny = ['a__x', 'a__y']\nask = ['b__*']\nallow = ['c__*']"
    assert parse_policy(text.encode(), "p").policy("p", Source.USER).rules == (
        Rule(Effect.DENY, "a__x", Source.USER, "p: deny[0]"),
        Rule(Effect.DENY, "a__y", Source.USER, "p: deny[1]"),
        Rule(Effect.ASK, "b__*", Source.USER, "p: ask[0]"),
        Rule(Effect.ALLOW, "c__*", Source.USER, "p: allow[0]"),
    )


def test_every_bad_rule_of_a_file_is_told_with_key_and_column() -> None:
    document = parse_policy(b"deny = ['a__*', 'Bash(rm *', '']\nallow = ['a b']", "p")
    with pytest.raises(ConfigError) as caught:
        document.policy("p", Source.USER)
    starts = [str(problem).split(": ", 3)[1:3] for problem in caught.value.problems]
    assert starts == [
        ["deny[1]", "rule `Bash(rm *`, column 9"],
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
    policy, notes = loaded(config, tmp_path, {Effect.ALLOW: ["b__*"], Effect.DENY: ["c__*"]})
    first, second, third, *baseline = policy.rules
    assert notes == []
    assert first == Rule(Effect.ALLOW, "b__*", Source.CLI, "--allow")
    assert second == Rule(Effect.DENY, "c__*", Source.CLI, "--deny")
    assert third == Rule(Effect.DENY, "a__*", Source.PROJECT, "p.toml: deny[0]")
    assert {rule.source for rule in baseline} == {Source.DEFAULT}


def test_a_denied_call_says_which_rule_denied_it_and_where_that_rule_stands(tmp_path: Path) -> None:
    write(tmp_path, "deny = ['x__y', 'git__git_reset']")
    config = load(write(tmp_path, "[gate]\npolicies = ['p.toml']", "servers.toml"), {})
    resource = Resource("git__git_reset", "git", "git_reset", {})
    decision = decide(Request(Subject("s"), "tools/call", resource), loaded(config, tmp_path)[0])
    assert str(decision.reasons[0]) == "rule `git__git_reset` (user, p.toml: deny[1]) denies this tool"


def test_the_problems_of_all_sources_are_told_together(tmp_path: Path) -> None:
    write(tmp_path, "deny = ['(']", "a.toml")
    write(tmp_path, "dny = []", "b.toml")
    config = load(write(tmp_path, "[gate]\npolicies = ['a.toml', 'b.toml']", "servers.toml"), {})
    with pytest.raises(ConfigError) as caught:
        loaded(config, tmp_path, {Effect.ASK: ["a b"]})
    assert [(problem.file, problem.key) for problem in caught.value.problems] == [
        ("", "--ask"),
        ("a.toml", "deny[0]"),
        ("b.toml", "dny"),
    ]


def test_the_rules_are_of_the_bytes_that_were_read_with_the_configuration(tmp_path: Path) -> None:
    path = write(tmp_path, "deny = ['a__*']")
    config = load(write(tmp_path, "[gate]\npolicies = ['p.toml']", "servers.toml"), {})
    path.write_text("allow = ['*']")
    assert loaded(config, tmp_path)[0].rules[0].effect is Effect.DENY


def folder(tmp_path: Path, **files: str) -> Config:
    """Policy files by the folder they are for; the configuration names none."""
    for name, text in files.items():
        path = {
            "managed": tmp_path / "managed" / "policy.toml",
            "user": tmp_path / "user" / "policy.toml",
            "project": tmp_path / "project" / ".mcp-gate" / "policy.toml",
            "local": Places(tmp_path, tmp_path / "user", tmp_path / "project", lambda _: False).local,
        }[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
    return load(write(tmp_path, "", "servers.toml"), {})


def effect_of(policy: Policy, name: str) -> tuple[Effect, str]:
    server, _, tool = name.partition("__")
    decision = decide(Request(Subject("s"), "tools/call", Resource(name, server, tool, {})), policy)
    return decision.effect, decision.reasons[0].source


def test_six_sources_are_read_and_the_highest_that_speaks_decides(tmp_path: Path) -> None:
    config = folder(
        tmp_path,
        managed="ask = ['a__*']",
        local="ask = ['a__*', 'b__*', 'c__*']",
        project="ask = ['c__*', 'd__*']",
        user="allow = ['*']",
    )
    policy, _ = loaded(config, tmp_path, {Effect.ALLOW: ["a__*", "b__*"]})
    assert effect_of(policy, "a__x") == (Effect.ASK, "managed")
    assert effect_of(policy, "b__x") == (Effect.ALLOW, "cli")
    assert effect_of(policy, "c__x") == (Effect.ASK, "local")
    assert effect_of(policy, "d__x") == (Effect.ASK, "project")
    assert effect_of(policy, "e__x") == (Effect.ALLOW, "user")


def test_a_projects_allow_rules_count_only_once_it_is_trusted_its_others_always(tmp_path: Path) -> None:
    config = folder(tmp_path, project="deny = ['a__*']\nallow = ['b__*']\nread_only = ['make*']")
    policy, notes = loaded(config, tmp_path)
    assert effect_of(policy, "a__x") == (Effect.DENY, "project")
    assert effect_of(policy, "b__x") == (Effect.ASK, "approval")
    assert not any(entry.source is Source.PROJECT for entry in policy.read_only)
    assert "mcp-gate trust" in notes[0]
    policy, notes = loaded(config, tmp_path, trusts=True)
    assert effect_of(policy, "b__x") == (Effect.ALLOW, "project")
    assert notes == []


def test_a_rule_that_does_not_count_says_so_beside_the_decision(tmp_path: Path) -> None:
    policy, _ = loaded(folder(tmp_path, project="allow = ['b__*']", user="ask = ['b__*']"), tmp_path)
    request = Request(Subject("s"), "tools/call", Resource("b__x", "b", "x", {}))
    assert "its file is not trusted" in str(decide(request, policy).reasons[1])


def test_a_managed_file_may_keep_every_other_source_from_allowing_but_not_from_denying(tmp_path: Path) -> None:
    config = folder(tmp_path, managed="only_managed = true\nallow = ['a__*']", user="allow = ['b__*']\ndeny = ['a__y']")
    policy, _ = loaded(config, tmp_path, {Effect.ALLOW: ["c__*"]})
    assert effect_of(policy, "a__x") == (Effect.ALLOW, "managed")
    assert effect_of(policy, "a__y") == (Effect.DENY, "user")
    assert effect_of(policy, "b__x") == (Effect.ASK, "approval")
    assert effect_of(policy, "c__x") == (Effect.ASK, "approval")
    assert policy.read_only == ()


def test_only_a_managed_file_may_say_only_managed(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="only_managed: is for an organisation's file alone"):
        loaded(folder(tmp_path, user="only_managed = true"), tmp_path)


@pytest.mark.parametrize(
    ("name", "mode", "message"),
    [
        ("managed", 0o664, "can be written by its group"),
        ("managed", 0o666, "can be written by anyone"),
        ("user", 0o666, "can be written by anyone"),
        ("project", 0o666, "can be written by anyone"),
        ("local", 0o602, "can be written by anyone"),
    ],
)
def test_a_policy_file_that_others_may_write_is_refused(tmp_path: Path, name: str, mode: int, message: str) -> None:
    config = folder(tmp_path, **{name: "deny = ['a__*']"})
    for path in tmp_path.rglob("*.toml"):
        if path.name != "servers.toml":
            path.chmod(mode)
    with pytest.raises(ConfigError, match=message):
        loaded(config, tmp_path)


def test_a_policy_file_that_its_group_may_write_is_fine_but_for_the_managed_one(tmp_path: Path) -> None:
    config = folder(tmp_path, user="deny = ['a__*']")
    (tmp_path / "user" / "policy.toml").chmod(0o664)
    assert effect_of(loaded(config, tmp_path)[0], "a__x") == (Effect.DENY, "user")


def test_the_project_is_where_claude_code_says_or_else_the_working_directory(tmp_path: Path) -> None:
    assert places({}, tmp_path, tmp_path / "cwd", lambda _: True).project == tmp_path / "cwd"
    environ = {"CLAUDE_PROJECT_DIR": str(tmp_path)}
    assert places(environ, tmp_path, tmp_path / "cwd", lambda _: True).project == tmp_path


@pytest.mark.parametrize(
    ("platform", "environ", "expected"),
    [
        ("linux", {}, "/etc/mcp-gate/policy.toml"),
        ("darwin", {}, "/Library/Application Support/mcp-gate/policy.toml"),
        ("win32", {"ProgramData": "D:/Data"}, "D:/Data/mcp-gate/policy.toml"),
    ],
)
def test_the_managed_file_has_one_place_on_each_system(platform: str, environ: dict[str, str], expected: str) -> None:
    assert str(managed_file(environ, platform)) == expected


def test_a_link_in_the_place_of_a_projects_file_is_never_trusted(tmp_path: Path) -> None:
    config = folder(tmp_path, project="allow = ['b__*']")
    file = tmp_path / "project" / ".mcp-gate" / "policy.toml"
    file.rename(tmp_path / "elsewhere.toml")
    file.symlink_to(tmp_path / "elsewhere.toml")
    policy, _ = loaded(config, tmp_path, trusts=True)
    assert effect_of(policy, "b__x") == (Effect.ASK, "approval")


def test_a_policy_that_ships_is_named_with_an_at_sign(tmp_path: Path) -> None:
    config = load(write(tmp_path, "[gate]\npolicies = ['@modes']", "servers.toml"), {})
    policy, _ = loaded(config, tmp_path)
    assert {one.mode for one in policy.chain} == {"dry_run", "evaluation", "scoring", "full_pipeline"}
    with pytest.raises(ConfigError, match=r"`@mods` is none of the policies that ship; those are .*`@modes`"):
        load(write(tmp_path, "[gate]\npolicies = ['@mods']", "servers.toml"), {})


def test_a_mode_that_no_policy_names_is_an_error_since_it_would_lift_every_restriction(tmp_path: Path) -> None:
    policy, _ = loaded(load(write(tmp_path, "[gate]\npolicies = ['@modes']", "servers.toml"), {}), tmp_path)
    check_mode(policy, "dry_run", "--mode")
    with pytest.raises(ConfigError, match="--mode: no policy names the mode `dryrun`; known are `dry_run`"):
        check_mode(policy, "dryrun", "--mode")


def test_the_baseline_can_be_left_out_but_not_the_list_of_what_only_reads(tmp_path: Path) -> None:
    config = load(write(tmp_path, "[gate]\nbaseline = false", "servers.toml"), {})
    policy, _ = loaded(config, tmp_path)
    assert policy.rules == ()
    assert len(policy.read_only) == 47


def test_a_policy_is_trusted_by_the_bytes_that_are_loaded(tmp_path: Path) -> None:
    config = folder(tmp_path, project="allow = ['b__*']")

    def is_trusted(snapshot: Snapshot) -> bool:
        (tmp_path / "project" / ".mcp-gate" / "policy.toml").write_text("allow = ['*']")
        return snapshot.content == b"allow = ['b__*']"

    policy, _ = load_policy(config, {}, Places(tmp_path / "m", tmp_path / "user", tmp_path / "project", is_trusted))
    assert effect_of(policy, "b__x") == (Effect.ALLOW, "project")
    assert effect_of(policy, "c__x") == (Effect.ASK, "approval")
