import pytest

from mcp_gate.errors import RuleSyntaxError
from mcp_gate.model import Effect, Source
from mcp_gate.policy.rules import Rule, parse_rule


def rule(text: str) -> Rule:
    return parse_rule(text, Effect.DENY, Source.USER, "policies/x.toml: deny[0]")


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("git__git_status", "git__git_status", True),
        ("git__git_status", "git__git_status_x", False),
        ("git__git_status", "x_git__git_status", False),
        ("git__*", "git__git_status", True),
        ("git__*", "github__search", False),
        ("git__*", "GIT__git_status", False),
        ("*", "anything__at-all", True),
        ("*__delete_*", "memory__delete_entities", True),
        ("*__delete_*", "delete__entities", False),
        ("*__*delete*", "delete__entities", False),
        ("git__git_diff*", "git__git_diff", True),
        ("a*b__*c", "ab__c", True),
        ("everything__get-env", "everything__get-env", True),
    ],
)
def test_a_rule_matches_whole_names_and_only_a_star_is_special(pattern: str, name: str, expected: bool) -> None:
    assert rule(pattern).matches(name) is expected


def test_a_rule_keeps_where_it_stands() -> None:
    assert rule("git__*") == Rule(Effect.DENY, "git__*", Source.USER, "policies/x.toml: deny[0]")


@pytest.mark.parametrize(
    ("text", "column", "why"),
    [
        ("", 1, "is empty"),
        (" ", 1, "blank"),
        (" git__*", 1, "blank"),
        ("git__* ", 7, "blank"),
        ("git__*\tgit", 7, "blank"),
        ("git__*\n", 7, "blank"),
        ("git__\x1b[2J", 6, "U+001B"),
        ("git__\u202e*", 6, "U+202E"),
        ("git__\u200bx", 6, "U+200B"),
        ("shell__run(git *)", 11, "argument parts"),
        ("Bash(git *)", 5, "argument parts"),
        ("git__git_?", 10, "only `*` is"),
        ("git__[ab]", 6, "only `*` is"),
        ("git__gít", 7, "no tool name holds `í`"),
        ("files__a.b", 9, "no tool name holds `.`"),
        ("git__\\*", 6, "no tool name holds `\\`"),
        ("!git__*", 1, "no tool name holds `!`"),
        ("Bash", 1, "write `server__Bash`"),
        ("git_status", 1, "names no server"),
        ("mcp__git__git_reset", 1, "write `git__git_reset`"),
        ("mcp__*", 1, "write `*`"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_at_its_column(text: str, column: int, why: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        rule(text)
    assert caught.value.column == column
    assert why in caught.value.why
    assert str(caught.value).isprintable()
