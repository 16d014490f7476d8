"""Words of a command as rules see them: unquoted, braces expanded, what is not known marked.

| part of a word | for allow | for deny and ask |
| --- | --- | --- |
| text, quoted or not | itself | itself |
| `~`, `$HOME`, `$PWD` | as written | as written, and their values |
| `$?`, `$#`, `$$`, `${#x}` and the like | as written | a digit |
| `$x`, bound in the line to a lower-case name | not known, but in order | not known |
| any other variable, `${x@P}`, `${!x}`, arithmetic with variables | the line is never allowed | not known |
| `$(…)`, backticks, `<(…)` | not known; the script inside must be allowed itself | not known |
| `*`, `?`, `[` of a glob | as written | as written, and not known |
| `{a,b}`, `{1..3}` | one word each | one word each |
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, product

from mcp_gate.policy.shell.syntax import UNKNOWN, Arithmetic, Part, Script, Substitution, Text, Variable, Word

KNOWN = frozenset({"HOME", "PWD"})
NUMERIC = frozenset({"?", "#", "$", "!", "RANDOM", "UID", "EUID", "PPID", "SECONDS", "LINENO", "COLUMNS", "LINES"})
LOWER_CASE = re.compile(r"[a-z_][a-z0-9_]*")
# read by programs although in lower case; assigning one changes what a later command does
SPECIAL = frozenset({"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "rsync_proxy", "_"})
MOST_BRACES = 256
SEQUENCE = re.compile(r"(-?[0-9]{1,9}|[A-Za-z])\.\.(-?[0-9]{1,9}|[A-Za-z])(?:\.\.(-?[0-9]{1,9}))?")
GLOB = re.compile(r"[*?]|\[(?=.*\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Argument:
    """One word. `doubt` says why it can never be allowed.

    written: as an allow rule sees it, with UNKNOWN for what is not known.
    value: the same with `~`, `$HOME` and `$PWD` replaced, where their values are known.
    wild: the value, with globs not known either.
    splits: an unquoted part may become several words, or none.
    """

    written: str
    value: str = ""
    wild: str = ""
    splits: bool = False
    globs: bool = False
    doubt: str = ""

    @classmethod
    def plain(cls, text: str) -> "Argument":
        """A word that is just this text."""
        return cls(text, text, text)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What words are read in: the person's home and the working directory, empty where not known."""

    home: str = ""
    cwd: str = ""
    bound: frozenset[str] = frozenset()


def is_free_name(name: str) -> bool:
    """Whether a line may bind this variable without changing what its commands do."""
    return LOWER_CASE.fullmatch(name) is not None and name not in SPECIAL


def bound_in(script: Script) -> Iterator[str]:
    """The lower-case variables that a script binds, by assignment, loop or `read`."""
    for name, _ in script.loops:
        yield name
    for command in script.commands:
        if not command.words:
            yield from (assignment.name for assignment in command.assignments)
        elif (words := [_literal(word) for word in command.words])[0] == "read":
            yield from (word for word in words[1:] if is_free_name(word))


def arguments(words: Iterable[Word], surroundings: Surroundings) -> tuple[Argument, ...]:
    """The words of a command, braces expanded."""
    return tuple(
        argument
        for word in words
        for parts in _without_braces(word.parts)
        for argument in [_argument(parts, surroundings)]
    )


def argument(word: Word, surroundings: Surroundings) -> Argument:
    """One word where the shell expands no braces: the value of an assignment, say."""
    return _argument(word.parts, surroundings)


def handed(words: tuple[Argument, ...], *, adds: bool, replaces: str) -> tuple[Argument, ...]:
    """The words that `xargs` and its like run: others added at the end, or put where its mark stands."""
    if replaces:
        words = tuple(
            replace(
                word,
                written=word.written.replace(replaces, UNKNOWN),
                value=word.value.replace(replaces, UNKNOWN),
                wild=word.wild.replace(replaces, UNKNOWN),
            )
            for word in words
        )
    return (*words, Argument(UNKNOWN, UNKNOWN, UNKNOWN, splits=True)) if adds else words


def _literal(word: Word) -> str:
    return "".join(part.value if isinstance(part, Text) else UNKNOWN for part in word.parts)


def _argument(parts: tuple[Part, ...], surroundings: Surroundings) -> Argument:
    written, value, wild = [], [], []
    splits = globs = False
    doubt = ""
    for number, part in enumerate(parts):
        match part:
            case Text(value=text, quoted=quoted):
                expanded, unclear = text, ""
                if not quoted and not number:
                    expanded, unclear = _tilde(text, surroundings.home, alone=len(parts) == 1)
                written.append(text)
                value.append(expanded)
                has_glob = not quoted and GLOB.search(text) is not None
                globs = globs or has_glob
                wild.append(GLOB.sub(UNKNOWN, expanded) if has_glob else expanded)
                doubt = doubt or unclear
            case Variable():
                known = _known(part, surroundings)
                written.append(known[0])
                value.append(known[1])
                wild.append(known[1])
                splits = splits or (not part.quoted and UNKNOWN in known[1])
                doubt = doubt or known[2]
            case Arithmetic(constant=constant):
                written.append("0" if constant else UNKNOWN)
                value.append(written[-1])
                wild.append(written[-1])
                doubt = doubt or ("" if constant else "arithmetic with variables may run what they hold")
            case Substitution(quoted=quoted):
                for texts in (written, value, wild):
                    texts.append(UNKNOWN)
                splits = splits or not (quoted or part.kind != "$")
    return Argument("".join(written), "".join(value), "".join(wild), splits, globs, doubt or "")


def _tilde(text: str, home: str, *, alone: bool) -> tuple[str, str]:
    """An unquoted beginning of a word with its `~` replaced, and a doubt about it."""
    if not text.startswith("~"):
        return text, ""
    user, slash, rest = text[1:].partition("/")
    if user in ("", "+") and (slash or alone):
        return (f"{home or UNKNOWN}{slash}{rest}" if not user else UNKNOWN + slash + rest), ""
    return (UNKNOWN + slash + rest, "") if slash or alone else (text, "")


def _known(variable: Variable, surroundings: Surroundings) -> tuple[str, str, str]:
    """How a variable is written, its value, and a doubt."""
    name, operation = variable.name, variable.operation
    if variable.prefix == "#" or (name in NUMERIC and not operation and not variable.prefix):
        return f"${name}", "0", ""
    if variable.prefix == "!":
        return UNKNOWN, UNKNOWN, f"`${{!{name}}}` stands for a variable that is not known"
    if name in KNOWN and not operation:
        value = surroundings.home if name == "HOME" else surroundings.cwd
        return f"${name}", value or UNKNOWN, ""
    if operation.startswith("@"):
        return UNKNOWN, UNKNOWN, f"`${{{name}{operation}}}` may run what the variable holds"
    if operation in (":", "=", ":="):
        return UNKNOWN, UNKNOWN, f"`${{{name}{operation}…}}` is not followed"
    if is_free_name(name) and name in surroundings.bound:
        return UNKNOWN, UNKNOWN, ""
    return UNKNOWN, UNKNOWN, f"the line does not say what `${name}` is"


# brace expansion: a word is a list of atoms, which are parts or single unquoted characters

Atom = Part | str


def _without_braces(parts: tuple[Part, ...]) -> Iterator[tuple[Part, ...]]:
    """The words that brace expansion makes of one."""
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.value for part in parts):
        yield parts
        return
    atoms: list[Atom] = []
    for part in parts:
        atoms += list(part.value) if isinstance(part, Text) and not part.quoted else [part]
    words = _expand(atoms)
    if len(words) > MOST_BRACES:
        yield (Variable("{…}"),)  # too many to list: not known, and never allowed
        return
    for word in words:
        yield tuple(_joined(word))


def _joined(atoms: list[Atom]) -> Iterator[Part]:
    plain = ""
    for atom in atoms:
        if isinstance(atom, str):
            plain += atom
            continue
        if plain:
            yield Text(plain)
            plain = ""
        yield atom
    if plain or not atoms:
        yield Text(plain)


def _expand(atoms: list[Atom]) -> list[list[Atom]]:
    """Every word, at most a few more than MOST_BRACES."""
    for start, atom in enumerate(atoms):
        if atom == "{" and (found := _alternatives(atoms, start)):
            alternatives, end = found
            heads = [list(head) for head in alternatives]
            tails = _expand(atoms[end:])
            if len(heads) * len(tails) > MOST_BRACES:
                return [[]] * (MOST_BRACES + 1)
            return [atoms[:start] + head + tail for head, tail in product(heads, tails)]
    return [atoms]


def _alternatives(atoms: list[Atom], start: int) -> tuple[list[list[Atom]], int] | None:
    """What the brace at `start` stands for, and where it ends; None where it is an ordinary character."""
    depth, cuts = 0, [start]
    for at in range(start, len(atoms)):
        if atoms[at] == "{":
            depth += 1
        elif atoms[at] == "," and depth == 1:
            cuts.append(at)
        elif atoms[at] == "}":
            depth -= 1
            if not depth:
                cuts.append(at)
                break
    else:
        return None
    inside = [atoms[a + 1 : b] for a, b in pairwise(cuts)]
    if len(inside) > 1:
        expanded = [word for alternative in inside for word in _expand(alternative)]
        return (expanded if len(expanded) <= MOST_BRACES else [[]] * (MOST_BRACES + 1)), cuts[-1] + 1
    if not all(isinstance(atom, str) for atom in inside[0]):
        return None
    sequence = SEQUENCE.fullmatch("".join(str(atom) for atom in inside[0]))
    return (_sequence(sequence), cuts[-1] + 1) if sequence else None


def _sequence(match: re.Match[str]) -> list[list[Atom]]:
    first, last, step = match.groups()
    numeric = first.lstrip("-").isdigit() and last.lstrip("-").isdigit()
    if not numeric and (first.lstrip("-").isdigit() or last.lstrip("-").isdigit()):
        return [list(f"{{{match[0]}}}")]
    low, high = (int(first), int(last)) if numeric else (ord(first), ord(last))
    stride = max(abs(int(step or 1)), 1)
    if abs(high - low) // stride >= MOST_BRACES:
        return [[]] * (MOST_BRACES + 1)
    numbers = range(low, high + 1, stride) if low <= high else range(low, high - 1, -stride)
    width = max(len(first), len(last)) if numeric and ({first[:1], last[:1]} & {"0"}) else 0
    return [list(str(n).zfill(width) if numeric else chr(n)) for n in numbers]
