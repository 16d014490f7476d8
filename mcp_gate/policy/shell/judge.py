"""Whether allow rules cover a shell line: each command by one of them, all together the whole line."""

from collections.abc import Sequence

from mcp_gate.policy.shell.analysis import Analysis
from mcp_gate.policy.shell.patterns import CommandPattern
from mcp_gate.policy.shell.units import Unit


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
