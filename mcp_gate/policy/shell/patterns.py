r"""Command patterns: what stands between the parentheses of a rule for a shell tool.

| in a pattern | deny and ask | allow |
| --- | --- | --- |
| `*` alone | any characters, also none | any number of words, also none |
| `*` inside a word (`HEAD~*`, `src/*.py`) | any characters | any characters of that word |
| `*` at the end of the last word (`git status*`) | any characters | also further words, where the word has no `/` |
| `\*` | a star | a star |
| `>`, `2>>` and the like as a word, with the next | characters like others | that redirection |
| `cmd:*` at the end | as `cmd *` | as `cmd *` |

An allow star never covers what must be spelled: a redirection, an option that writes or runs something, the words up
to the command that an opaque wrapper runs, `..` and what is not known where the pattern's word has a `/`.
"""

import re
from collections.abc import Iterable
from functools import cached_property

from mcp_gate.globs import Glob, star_match
from mcp_gate.policy.shell.arguments import Argument
from mcp_gate.policy.shell.syntax import UNKNOWN
from mcp_gate.policy.shell.units import Slot, Write

OPERATOR = re.compile(r"[0-9]*(?:&>>|&>|<>|>>|>\||>&|<&|>|<)")
CONTROL = frozenset({"|", "|&", "||", "&&", ";", "&"})
MOST_CELLS = 40_000


class CommandPattern:
    """A pattern, ready to match."""

    def __init__(self, text: str) -> None:
        if text.endswith(":*"):
            text = f"{text[:-2]} *"
        self.text = text
        self.is_any = text.strip() in ("", "*")
        self.is_literal = "*" not in text.replace("\\*", "")

    @cached_property
    def _globs(self) -> tuple[Glob, ...]:
        """As written, and so that ` * ` may also stand for nothing at all; both for text between blanks."""
        head = "" if self.text.startswith("*") else " "
        tail = "" if self.text.endswith("*") and not self.text.endswith("\\*") else " "
        padded = f"{head}{self.text}{tail}"
        return tuple(map(Glob, dict.fromkeys((padded, padded.replace(" * ", " *")))))

    @cached_property
    def _words(self) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
        """The words for an allow rule, and its redirections as (operator, target)."""
        words, writes = [], []
        texts = iter(self.text.split())
        for text in texts:
            if OPERATOR.fullmatch(text):
                writes.append((text, next(texts, "")))
            else:
                words.append(text)
        return tuple(words), tuple(writes)

    @cached_property
    def _operators(self) -> tuple[str, ...]:
        return tuple(word for word in self.text.split() if word in CONTROL or OPERATOR.fullmatch(word))

    @cached_property
    def _name(self) -> str:
        """The first word if no star is in it, else empty: to tell quickly that a command is another."""
        words = self._words[0]
        return "" if not words or "*" in words[0] else words[0]

    def covers(self, texts: Iterable[str]) -> bool:
        """Whether a deny or ask rule matches one of the texts, whatever the unknown parts of it are.

        The texts stand between two blanks, as in `Analysis`.
        """
        for glob in self._globs:
            head, matches = glob.head, glob.matches
            for text in texts:
                if text.startswith(head) and matches(text):
                    return True
        return False

    def may_cover(self, texts: Iterable[str]) -> bool:
        """Whether a deny or ask rule could match one of the texts, if its unknown parts are of the right kind.

        What a variable holds is no operator: the operators of the pattern must be in the text.
        """
        return any(
            all(f" {operator} " in text for operator in self._operators)
            and any(_may_meet(glob, text) for glob in self._globs)
            for text in texts
        )

    def allows(self, slots: tuple[Slot, ...], writes: tuple[Write, ...]) -> bool:
        """Whether an allow rule covers these words and redirections, all of them."""
        if self._name and (not slots or slots[0].argument.written != self._name):
            return False
        words, spelled = self._words
        if len(spelled) > len(writes) or (not words and slots):
            return False
        left = list(writes)
        for operator, target in spelled:
            found = next((w for w in left if w.operator == operator and _fits(target, w.target)), None)
            if found is None:
                return False
            left.remove(found)
        return not left and _cover(words, slots)


def _cover(words: tuple[str, ...], slots: tuple[Slot, ...]) -> bool:
    """Whether the pattern's words cover the slots from the first to the last."""
    reached = {0}
    for number, word in enumerate(words):
        following: set[int] = set()
        glued = number == len(words) - 1 and word.endswith("*") and not word.endswith("\\*") and "/" not in word
        for at in reached:
            if word == "*":
                following |= _run(slots, at)
            elif at < len(slots) and _fits(word, slots[at].argument):
                following |= _run(slots, at + 1) if glued else {at + 1}
        if not following:
            return False
        reached = following
    return len(slots) in reached


def _run(slots: tuple[Slot, ...], at: int) -> set[int]:
    """The places that a star can go on to from `at`."""
    end = at
    while end < len(slots) and not slots[end].spelled:
        end += 1
    return set(range(at, end + 1))


def _fits(word: str, argument: Argument) -> bool:
    """Whether one word of a pattern covers one word of a command."""
    text = argument.written
    if UNKNOWN in text or argument.doubt:
        return False
    if "*" not in word:
        return word == text
    if "/" in word and _climbs(text):
        return False
    return star_match(word, text)


def _climbs(text: str) -> bool:
    """Whether a path may lead out of where it begins: `..`, or a glob that could stand for it."""
    return any(part == ".." or (part.startswith(".") and any(c in part for c in "*?[")) for part in text.split("/"))


def _may_meet(glob: Glob, text: str) -> bool:
    """Whether some text fits both the glob and `text`, in which UNKNOWN is any run of characters.

    Where the two are too long to compare, the answer is yes.
    """
    known = text.split(UNKNOWN)
    if not (_agree(glob.head, known[0]) and _agree(glob.tail[::-1], known[-1][::-1])):
        return False
    pattern = [*glob.head]
    for piece in glob.pieces[1:]:
        pattern += [UNKNOWN, *piece]
    return len(pattern) * len(text) > MOST_CELLS or _intersect(pattern, text)


def _agree(one: str, other: str) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _intersect(one: list[str], other: str) -> bool:
    """Whether two texts, in which UNKNOWN is any run of characters, can be the same. `row[n]`: can what was seen of
    `one` be the first n characters of `other`."""
    row = [True] + [False] * len(other)
    for at, character in enumerate(other):
        row[at + 1] = row[at] and character == UNKNOWN
    for character in one:
        following = [row[0] and character == UNKNOWN] + [False] * len(other)
        for at, opposite in enumerate(other):
            if UNKNOWN in (character, opposite):  # takes nothing, or the character opposite
                following[at + 1] = row[at + 1] or following[at]
            else:
                following[at + 1] = row[at] and character == opposite
        row = following
    return row[-1]
