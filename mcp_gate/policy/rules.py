"""Rules: one line of policy each, read strictly, because a rule that is misread loosens what it was meant to forbid.

| text | speaks of |
| --- | --- |
| `git__git_status`, `git__*`, `*__delete_*`, `*` | tools by name; only `*` is special |
| `shell__run(git status*)` | calls whose subject fits: a shell's command, a file tool's paths, a fetcher's URL |
| `fs__write(path=/home/u/**)`, `x__y(a=1, b=2*)` | calls whose arguments fit, each that is named |
| `Bash(…)`; `Read(…)`, `Edit(…)`; `WebFetch(…)` | every shell; file; URL tool, of any server |
| `WebFetch(domain:*.example.com)` | the host of a URL |
| `Bash(git:*)` | as `Bash(git *)` |
| `mcp__git__git_log`, `mcp__git` | `git__git_log`, `git__*` |

A name in capitals before `=` is no argument but a variable set for a shell command: `shell__run(CI=1 make*)`.
Refused: what is empty, holds a control or invisible character, names no server and no kind, or is cut short.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from string import ascii_letters, digits

from mcp_gate.errors import RuleSyntaxError
from mcp_gate.globs import Glob
from mcp_gate.model import Effect, Kind, Source
from mcp_gate.policy.characters import odd_character
from mcp_gate.policy.paths import pattern_problem as path_problem
from mcp_gate.policy.shell.patterns import CommandPattern
from mcp_gate.policy.urls import pattern_problem as url_problem

NAME_CHARACTERS = frozenset(ascii_letters + digits + "_-")
CLAUDE_PREFIX = "mcp__"
READS = frozenset({"Read", "Grep", "Glob", "LS"})
EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
KINDS = {"Bash": Kind.SHELL, "WebFetch": Kind.URL} | dict.fromkeys(READS | EDITS, Kind.PATH)
DOMAIN = "domain:"
NAMED = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_.-]*)=")
NEXT_NAMED = re.compile(r",\s*(?=[A-Za-z_][A-Za-z0-9_.-]*=)")


@dataclass(frozen=True, slots=True)
class ArgumentPattern:
    """What one argument must fit. `name` is empty for the subject, whatever the argument is called."""

    name: str
    text: str
    command: CommandPattern = field(compare=False)
    glob: Glob = field(compare=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `where` is its place as a person finds it: `policies/starter.toml: deny[2]` (from 0), or `--deny`.

    `word` is the word for its kind (`Bash`, `Read`, …), empty for a rule over names; `counts` is false for an allow
    rule of a project that its user has not trusted: it is kept, to say so.
    """

    effect: Effect
    pattern: str
    source: Source
    where: str
    word: str = field(default="", compare=False)
    kind: Kind | None = field(default=None, compare=False)
    name: Glob = field(default_factory=lambda: Glob(""), compare=False)
    arguments: tuple[ArgumentPattern, ...] = field(default=(), compare=False)
    counts: bool = True

    @property
    def is_whole(self) -> bool:
        """Whether it speaks of every call of its tools."""
        return all(not part.name and part.command.is_any for part in self.arguments)

    def names(self, name: str) -> bool:
        """Whether a rule over names speaks of the tool `name` (`server__tool`); upper and lower case differ."""
        return not self.word and self.name.matches(name)


def parse_rule(text: str, effect: Effect, source: Source, where: str, *, counts: bool = True) -> Rule:
    """Read one rule; raises RuleSyntaxError with the first character that is wrong."""
    if not text:
        raise RuleSyntaxError(text, 1, "is empty; write a tool glob such as `git__*`, or remove the line")
    head, bracket, body = text.partition("(")
    word = head if head in KINDS else ""
    if not word:
        _check_name(text, head)
    arguments = tuple(_arguments(text, len(head) + 2, body)) if bracket else ()
    name = Glob("*" if word else _without_prefix(head))
    rule = Rule(effect, text, source, where, word, KINDS.get(word), name, arguments, counts)
    for argument in arguments:
        if why := _pattern_problem(rule, argument):
            raise RuleSyntaxError(text, text.find(argument.text, len(head)) + 1, why)
    return rule


def _check_name(text: str, head: str) -> None:
    for column, character in enumerate(head, start=1):
        if character != "*" and character not in NAME_CHARACTERS:
            raise RuleSyntaxError(text, column, _why_refused(character))
    if not head:
        raise RuleSyntaxError(text, 1, "names no tool before `(`; write `server__tool(…)` or `Bash(…)`")
    if "__" not in head and "*" not in head:
        kinds = ", ".join(sorted(KINDS))
        why = f"names no server; write `server__{head}`, or `*__{head}` for any server; kinds are {kinds}"
        raise RuleSyntaxError(text, 1, why)


def _without_prefix(head: str) -> str:
    """A name in Claude Code's spelling as the gate's: hosts write `mcp__server__tool`, and `mcp__server` for all."""
    if not head.startswith(CLAUDE_PREFIX):
        return head
    plain = head.removeprefix(CLAUDE_PREFIX)
    return plain if "__" in plain or "*" in plain else f"{plain}__*"


def _why_refused(character: str) -> str:
    if character.isspace():
        return "holds a blank; write one rule to a line, without blanks before its parentheses"
    if not character.isprintable():
        return f"holds the invisible character U+{ord(character):04X}; remove it"
    if character in "?[]{}":
        return f"`{character}` is not special in a rule; only `*` is, for any characters"
    return f"no tool name holds `{character}`; names are letters, digits, `_` and `-`, and others become `_`"


def _arguments(text: str, column: int, body: str) -> Iterator[ArgumentPattern]:
    """The patterns between the parentheses, the first of which stands at `column` (from 1)."""
    if not body.endswith(")"):
        at = len(text.rstrip())
        raise RuleSyntaxError(text, at, "has no `)` at its end; close the parentheses there")
    inside = body[:-1]
    if not inside.strip():
        raise RuleSyntaxError(text, column, "has nothing between its parentheses; drop them, or write a pattern")
    for at, character in enumerate(inside):
        if character in "\t\n" or odd_character(character):
            raise RuleSyntaxError(text, column + at, f"holds the character U+{ord(character):04X}, which is not seen")
    named = NAMED.match(inside)
    if named is None or named[1].isupper():
        yield _argument("", inside)
        return
    for part in NEXT_NAMED.split(inside):
        found = NAMED.match(part)
        if found is not None:
            yield _argument(found[1], part[found.end() :])


def _argument(name: str, text: str) -> ArgumentPattern:
    return ArgumentPattern(name, text, CommandPattern(text), Glob(text))


def _pattern_problem(rule: Rule, argument: ArgumentPattern) -> str:
    """Why a pattern can never match, where the kind of its rule tells."""
    if rule.kind is Kind.PATH and not argument.name and (why := path_problem(argument.text)):
        return f"the pattern {why}"
    if rule.kind is Kind.URL and not argument.name and not argument.text.startswith(DOMAIN):
        return f"the pattern {why}" if (why := url_problem(argument.text)) else ""
    return ""
