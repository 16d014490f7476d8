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
    assert rule(pattern).names(name) is expected


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("mcp__git__git_reset", "git__git_reset", True),
        ("mcp__git__git_*", "git__git_reset", True),
        ("mcp__git", "git__git_reset", True),
        ("mcp__git", "github__search", False),
        ("mcp__git__*", "git__git_reset", True),
        ("mcp__*", "git__git_reset", True),
    ],
)
def test_claude_codes_spelling_of_a_name_means_the_gates(pattern: str, name: str, expected: bool) -> None:
    assert rule(pattern).names(name) is expected


@pytest.mark.parametrize(
    ("text", "word", "arguments"),
    [
        ("git__*", "", []),
        ("shell__run(git *)", "", [("", "git *")]),
        ("shell__run(echo (a))", "", [("", "echo (a)")]),
        ("shell__run(CI=1 make*)", "", [("", "CI=1 make*")]),
        ("fs__write(path=/a/**)", "", [("path", "/a/**")]),
        ("fs__move(source=/a/**, destination=/b/**)", "", [("source", "/a/**"), ("destination", "/b/**")]),
        ("x__y(a=1, 2, b=3)", "", [("a", "1, 2"), ("b", "3")]),
        ("Bash", "Bash", []),
        ("Bash(git:*)", "Bash", [("", "git:*")]),
        ("Read(~/.ssh/**)", "Read", [("", "~/.ssh/**")]),
        ("WebFetch(domain:*.example.com)", "WebFetch", [("", "domain:*.example.com")]),
    ],
)
def test_a_rule_is_a_name_or_kind_and_patterns_of_arguments(
    text: str, word: str, arguments: list[tuple[str, str]]
) -> None:
    read = rule(text)
    assert (read.word, [(part.name, part.text) for part in read.arguments]) == (word, arguments)


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
        ("shell__run(git *", 16, "no `)`"),
        ("shell__run(git *) x", 19, "no `)`"),
        ("Bash(", 5, "no `)`"),
        ("Bash()", 6, "nothing between"),
        ("Bash( )", 6, "nothing between"),
        ("(git *)", 1, "names no tool"),
        ("Bash (git *)", 5, "holds a blank"),
        ("bash(git *)", 1, "kinds are Bash, Edit"),
        ("Bash(git\u202e *)", 9, "U+202E"),
        ("Bash(git\n *)", 9, "U+000A"),
        ("WebFetch(example.com)", 10, "scheme"),
        ("git__git_?", 10, "only `*` is"),
        ("git__[ab]", 6, "only `*` is"),
        ("git__gít", 7, "no tool name holds `í`"),
        ("files__a.b", 9, "no tool name holds `.`"),
        ("git__\\*", 6, "no tool name holds `\\`"),
        ("!git__*", 1, "no tool name holds `!`"),
        ("Shell", 1, "write `server__Shell`"),
        ("git_status", 1, "names no server"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused_at_its_column(text: str, column: int, why: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        rule(text)
    assert caught.value.column == column
    assert why in caught.value.why
    assert str(caught.value).isprintable()
