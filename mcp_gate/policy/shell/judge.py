"""Judging a shell line by rules: deny over-matches, allow under-matches, what is unclear asks.

| what is so | judgement |
| --- | --- |
| a deny rule matches the line, or a command in it, however spelled | deny |
| an ask rule does | ask |
| an unknown part could make a deny or ask rule match | ask |
| an allow rule without a star is the whole line, word for word | allow |
| something in the line can never be allowed | ask |
| each command is covered by an allow rule, and a second parser sees the same commands | allow |
| else | ask |
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_gate.model import Dialect, Effect
from mcp_gate.policy.shell.analysis import Analysis, analyse
from mcp_gate.policy.shell.patterns import CommandPattern
from mcp_gate.policy.shell.units import Unit


@dataclass(frozen=True, slots=True)
class Judgement:
    """`patterns` are the indices of those that decided, in the list of their effect; `certain`: a rule spoke."""

    effect: Effect
    why: str
    patterns: tuple[int, ...] = ()


def matches(pattern: CommandPattern, analysis: Analysis) -> bool:
    """Whether a deny or ask rule matches, whatever is not known."""
    return pattern.covers(analysis.texts)


def may_match(pattern: CommandPattern, analysis: Analysis) -> bool:
    """Whether a deny or ask rule could match."""
    return pattern.may_cover(analysis.open_texts)


def covering(unit: Unit, patterns: Sequence[CommandPattern]) -> int:
    """The first allow rule that covers a command, or -1."""
    for number, pattern in enumerate(patterns):
        if pattern.allows(unit.slots, unit.writes):
            return number
        if unit.optional and pattern.allows(unit.slots[unit.optional :], unit.writes):
            return number
    return -1


def uncovered(line: str, analysis: Analysis, patterns: Sequence[CommandPattern]) -> tuple[str, tuple[int, ...]]:
    """Why these allow rules do not allow the line, empty where they do; and the rules that cover its commands."""
    used: list[int] = []
    if not analysis.unclear:
        for number, pattern in enumerate(patterns):
            if pattern.is_any or (pattern.is_literal and pattern.text == line):
                return "", (number,)
    if analysis.doubt:
        return analysis.doubt, ()
    for unit in analysis.units:
        found = covering(unit, patterns)
        if found < 0:
            why = f": {unit.why}" if unit.why else ""
            return f"no allow rule covers `{unit.text}`{why}", ()
        used.append(found)
    if analysis.disagreement:
        return analysis.disagreement, ()
    return "", tuple(dict.fromkeys(used))


def judge(
    line: str,
    deny: Sequence[CommandPattern],
    ask: Sequence[CommandPattern],
    allow: Sequence[CommandPattern],
    *,
    dialect: Dialect = "bash",
    home: str = "",
    cwd: str = "",
) -> Judgement:
    """Judge one line by three lists of patterns."""
    analysis = analyse(line, dialect, home, cwd)
    for effect, patterns in ((Effect.DENY, deny), (Effect.ASK, ask)):
        if found := tuple(n for n, pattern in enumerate(patterns) if matches(pattern, analysis)):
            return Judgement(effect, "matches", found)
    for effect, patterns in ((Effect.DENY, deny), (Effect.ASK, ask)):
        for number, pattern in enumerate(patterns):
            if may_match(pattern, analysis):
                return Judgement(
                    Effect.ASK, f"a part that is not known could make `{pattern.text}` ({effect}) match", (number,)
                )
    why, used = uncovered(line, analysis, allow)
    return Judgement(Effect.ASK, why) if why else Judgement(Effect.ALLOW, "covers every command", used)
