"""Rules: one line of policy each, read strictly, because a rule that is misread loosens what it was meant to forbid.

A rule is a glob over `server__tool` in which only `*` is special:

| text | what becomes of it |
| --- | --- |
| `git__git_status`, `git__*`, `*__delete_*`, `*` | a rule |
| empty, or with a blank or a control character | refused: it could match nothing |
| `shell__run(git *)`, `Bash(git *)` | refused: argument parts are not read yet, and to drop them would loosen |
| `Bash`, `git_status` | refused: no server is named, so no name of `server__tool` form could match |
| `mcp__git__git_reset` | refused: Claude Code's spelling of a name is not read yet |
| a character that no name holds, `?` and `[` included | refused |
"""

from dataclasses import dataclass
from string import ascii_letters, digits

from mcp_gate.errors import RuleSyntaxError
from mcp_gate.globs import star_match
from mcp_gate.model import Effect, Source

NAME_CHARACTERS = frozenset(ascii_letters + digits + "_-")
CLAUDE_PREFIX = "mcp__"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `where` is its place as a person finds it: `policies/starter.toml: deny[2]` (from 0), or `--deny`."""

    effect: Effect
    pattern: str
    source: Source
    where: str

    def matches(self, name: str) -> bool:
        """Whether the whole of `name` (`server__tool`) matches; upper and lower case differ."""
        return star_match(self.pattern, name)


@dataclass(frozen=True, slots=True)
class Policy:
    """Every rule in force, from all sources, in no particular order."""

    rules: tuple[Rule, ...] = ()


def parse_rule(text: str, effect: Effect, source: Source, where: str) -> Rule:
    """Read one rule; raises RuleSyntaxError with the first character that is wrong."""
    if not text:
        raise RuleSyntaxError(text, 1, "is empty; write a tool glob such as `git__*`, or remove the line")
    for column, character in enumerate(text, start=1):
        if character != "*" and character not in NAME_CHARACTERS:
            raise RuleSyntaxError(text, column, _why_refused(character))
    if text.startswith(CLAUDE_PREFIX):
        plain = text.removeprefix(CLAUDE_PREFIX)
        raise RuleSyntaxError(text, 1, f"Claude Code's `mcp__` spelling is not read yet; write `{plain}`")
    if "__" not in text and "*" not in text:
        raise RuleSyntaxError(text, 1, f"names no server; write `server__{text}`, or `*__{text}` for any server")
    return Rule(effect, text, source, where)


def _why_refused(character: str) -> str:
    if character == "(":
        return "argument parts such as `tool(…)` are not read yet; write a glob over `server__tool`"
    if character.isspace():
        return "holds a blank; write one glob for each rule, without blanks"
    if not character.isprintable():
        return f"holds the invisible character U+{ord(character):04X}; remove it"
    if character in "?[]{}":
        return f"`{character}` is not special in a rule; only `*` is, for any characters"
    return f"no tool name holds `{character}`; names are letters, digits, `_` and `-`, and others become `_`"
