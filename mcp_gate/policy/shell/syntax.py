"""What a shell line is made of, once read: words of parts, simple commands, scripts.

A `Script` is flat: the simple commands of a line at every level of its loops, groups and conditions, in order. Only
what runs inside a word (`$(…)`, a process substitution, a here-document) is a script of its own, in that word.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

UNKNOWN = "\0"  # stands in a text for what the line does not tell; no shell word can hold the character itself


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters, as the shell sees them. `quoted`: no glob, brace or tilde in them is special."""

    value: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """`$name` or `${name…}`. `operation` is what follows the name in braces; `words` are the words inside it."""

    name: str
    operation: str = ""
    quoted: bool = False
    words: tuple["Word", ...] = ()
    prefix: str = ""  # `#` of `${#name}`, `!` of `${!name}`


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((…))`. `constant`: only numbers and operators are in it."""

    constant: bool
    quoted: bool = False
    words: tuple["Word", ...] = ()


@dataclass(frozen=True, slots=True)
class Substitution:
    """What a script inside the word prints (`$`), or a file that is its output (`<`) or its input (`>`)."""

    script: "Script"
    kind: str = "$"
    quoted: bool = False


Part = Text | Variable | Arithmetic | Substitution


@dataclass(frozen=True, slots=True)
class Word:
    """One word: its parts, and where it stands in the text that it was read from (`start` and `end`, in characters)."""

    parts: tuple[Part, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name=value`, `name+=value` or `name=(…)`: then `array` is true and `values` may be many."""

    name: str
    values: tuple[Word, ...]
    array: bool = False


@dataclass(slots=True)
class Redirect:
    """`fd` is the text before the operator, often empty.

    The target of a here-document is its delimiter; its `body` is read, and set, when its line has ended.
    """

    operator: str
    target: Word
    fd: str = ""
    body: Word | None = None
    start: int = 0


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command. `words` is empty for a lone assignment or redirection.

    `piped`: its input is the output of another command. `joiner`: the operator between it and the command before it in
    the script, empty for the first. `test`: it is a `[[ … ]]`, and the words are its operands.
    """

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    piped: bool = False
    test: bool = False
    start: int = 0
    end: int = 0
    joiner: str = ""


@dataclass(slots=True)
class Script:
    """A line, or what stands in for one inside a word.

    `text` is what was read, `base` where it stands in the whole line. `redirects` are those of groups, loops and
    conditions; `words` those of `for` and `case`;
    `loops` are the variables of loops with their words; `oddities` say why the line can never be allowed;
    `bashisms` what POSIX sh reads in another way.
    """

    text: str
    base: int = 0
    commands: list[Command] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    loops: list[tuple[str, tuple[Word, ...]]] = field(default_factory=list)
    oddities: list[str] = field(default_factory=list)
    bashisms: list[str] = field(default_factory=list)


def words_of(script: Script) -> Iterator[Word]:
    """Every word of a script, but not those inside its words' own scripts."""
    yield from script.words
    for command in script.commands:
        yield from command.words
        for assignment in command.assignments:
            yield from assignment.values
    for redirect in redirects_of(script):
        yield redirect.target
        if redirect.body is not None:
            yield redirect.body


def redirects_of(script: Script) -> Iterator[Redirect]:
    """Every redirection of a script, those of its commands first."""
    for command in script.commands:
        yield from command.redirects
    yield from script.redirects


def scripts_in(word: Word) -> Iterator[Script]:
    """The scripts that run to make up a word, without those inside them."""
    for part in word.parts:
        match part:
            case Substitution(script=script):
                yield script
            case Variable(words=words) | Arithmetic(words=words):
                for inner in words:
                    yield from scripts_in(inner)
            case Text():
                pass


def scripts_under(script: Script) -> Iterator[Script]:
    """A script and every script inside it, at any depth."""
    waiting = [script]
    while waiting:
        current = waiting.pop()
        yield current
        for word in words_of(current):
            waiting.extend(scripts_in(word))
