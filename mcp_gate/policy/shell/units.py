"""What an allow rule has to cover: commands word by word, with the redirections that it has to spell."""

from dataclasses import dataclass

from mcp_gate.policy.shell.arguments import Argument
from mcp_gate.policy.shell.builtins import binding
from mcp_gate.policy.shell.options import risks
from mcp_gate.policy.shell.syntax import UNKNOWN


@dataclass(frozen=True, slots=True)
class Slot:
    """One word that a pattern has to cover: `spelled` if no star may, `path` if only with care."""

    argument: Argument
    spelled: bool = False


@dataclass(frozen=True, slots=True)
class Write:
    """A redirection that an allow rule has to spell."""

    operator: str
    target: Argument


@dataclass(frozen=True, slots=True)
class Unit:
    """A command that needs an allow rule: its words, the redirections a rule has to spell, `text` to show."""

    text: str
    slots: tuple[Slot, ...]
    writes: tuple[Write, ...] = ()
    optional: int = 0  # so many leading slots (assignments that do no harm) may be left out by a rule
    why: str = ""  # what makes words of it need spelling, for the reason


def unit_of(
    words: tuple[Argument, ...],
    writes: tuple[Write, ...],
    prefixes: tuple[Argument, ...],
    *,
    odd_prefix: bool,
    spelled: int,
) -> Unit:
    """A command as an allow rule has to cover it.

    `prefixes` are the assignments before it, `odd_prefix` whether one of them may do harm; `spelled` is how many of its
    words an opaque wrapper wants spelled.
    """
    texts = [word.wild if word.globs else word.written for word in words]
    first = max(spelled - 1, 0)  # what an opaque wrapper runs has options of its own
    risk, inner, binds = risks(texts), risks(texts[first:]), binding(texts)
    slots = tuple(
        Slot(
            word,
            at < spelled
            or at in risk.spelled | binds
            or at - first in inner.spelled
            or (bool(at) and (risk.open or inner.open) and _may_be_option(word)),
        )
        for at, word in enumerate(words)
    )
    set_ = "it sets a variable that other commands may read" if binds else ""
    why = risk.why or inner.why or set_ or ("it runs another command, which the rule must spell" if spelled else "")
    leading = tuple(Slot(prefix, spelled=True) for prefix in prefixes)
    shown = " ".join([*(w.written for w in (*prefixes, *words)), *(f"{w.operator} {w.target.written}" for w in writes)])
    return Unit(shown.replace(UNKNOWN, "…"), leading + slots, writes, 0 if odd_prefix else len(prefixes), why)


def _may_be_option(word: Argument) -> bool:
    """Whether what is not known of a word could make it an option."""
    return word.splits or (UNKNOWN in word.wild and word.wild[0] in (UNKNOWN, "-"))
