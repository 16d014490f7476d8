"""Options that make a command which reads, or only does what its name says, write, run, send or load something else.

An allow rule has to spell such words (choice P3): the option, its value, and operands and programs that do the same.

| a command                                       | what is spelled                                         |
| ----------------------------------------------- | ------------------------------------------------------- |
| `sort -ro f`, `-of`, `--outp=f`, `--output f`   | the option, and `f` where it is a word of its own       |
| `sort -o /dev/null`, `curl -o -`, `curl -X GET` | nothing: the value makes it harmless                    |
| `sort -t o`, `sort -- -o`                       | nothing: no option                                      |
| `sort -t -o f`                                  | `-o`, `f`: what looks like an option is one, even there |
| `uniq a b`, `dd of=b`, `git stash drop`         | the operand                                             |
| `sed 'w f' a`, `awk '{print > "f"}'`            | the program; also one that is not understood            |
| `fd -x rm`                                      | the option and all words after it                       |
| `python -c 'code'`                              | the option: a rule `python -c *` is for any code        |

What commands there are, and their options, is in `TABLE`. It errs towards spelling too much: any beginning of a risky
long option is that option, also where a program would refuse it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mcp_gate.policy.shell.option_rows import DISCARDED, KINDS, READING, ROWS
from mcp_gate.policy.shell.programs import awk_risk, make_risk, sed_risk, sql_risk
from mcp_gate.policy.shell.syntax import UNKNOWN
from mcp_gate.policy.shell.wrappers import base_name

__all__ = ["KINDS", "TABLE", "Risks", "risks"]


@dataclass(frozen=True, slots=True)
class Risks:
    """Which words of a command an allow rule must spell, by their place, never 0, and why the first of them.

    `open`: a word that is not known could be an option of this kind. Never where it stands after the place at which
    the options end, be it the first operand of `printf` or a `--`, and all before that is known.
    """

    spelled: frozenset[int]
    open: bool
    why: str


NONE = Risks(frozenset(), False, "")


@dataclass(frozen=True, slots=True)
class Option:
    """`takes`: nothing, `:` a value, `?` a value only if attached, `!` a value that ends the options, `*` all words
    after it."""

    name: str
    takes: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Use:
    """An option as it stands in a command: at which word, and which words are its value."""

    option: Option
    at: int
    value: str = ""
    words: range = range(0)

    @property
    def harmless(self) -> bool:
        return not self.option.kind or KINDS[self.option.kind][1](self.value)


@dataclass(slots=True)
class Reading:
    """The options and the operands of a command; `unsure` are words that may be operands, or values of options."""

    title: str
    words: Sequence[str]
    uses: list[Use] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    unsure: list[int] = field(default_factory=list)


Judge = Callable[[Reading], Iterator[tuple[int, str]]]


@dataclass(frozen=True, slots=True)
class Syntax:
    """How a command reads its words.

    verbs: first operands that are risky, and their kinds. judge: finds what operands and programs do. traits:
    `words`: options are whole words with one dash or two, not clusters of letters; `loose`: so, with abbreviations;
    `early`: options end at the first operand; `bundle`: the first word may be a cluster without a dash.
    """

    options: Mapping[str, Option]
    verbs: Mapping[str, str]
    traits: frozenset[str]
    judge: Judge | None

    @property
    def risky(self) -> bool:
        return bool(self.verbs or self.judge) or any(option.kind for option in self.options.values())


def risks(words: Sequence[str]) -> Risks:
    """What an allow rule must spell of a command, given its unquoted words, UNKNOWN in them for what is not known."""
    name = base_name(words[0]) if words else ""
    syntax = TABLE.get(name) or TABLE.get(name.rstrip("0123456789."))
    if syntax is None:
        return NONE
    found: dict[int, str] = {}
    reading = Reading(name, words)
    is_open = _study(syntax, reading, 1, found)
    if inner := _inner(name, reading):
        title, at = inner
        if syntax := TABLE.get(title):
            is_open = _study(syntax, Reading(title, words), at + 1, found) or is_open
    if name == "git":
        for at, word in enumerate(words[1:], 1):
            if word.startswith(("ext::", "fd::")) or "=ext::" in word:
                found.setdefault(at, f"`{word.partition('::')[0]}::` given to `git` runs a program")
    return Risks(frozenset(found), is_open, found[min(found)] if found else "")


def _inner(name: str, reading: Reading) -> tuple[str, int] | None:
    """The title and the place of a subcommand, or of a module that Python runs, which has options of its own."""
    if name in NESTED and reading.operands:
        at = reading.operands[0]
        return f"{name} {reading.words[at]}", at
    for use in reading.uses:
        if use.option.name == "-m" and use.option.takes == "!" and use.value in MODULES:
            return use.value, use.words[-1] if use.words else use.at
    return None


def _study(syntax: Syntax, reading: Reading, start: int, found: dict[int, str]) -> bool:
    """Read the words from `start`, add what is to be spelled, and tell whether words that are not known could be."""
    end = _read(syntax, reading, start)
    for use in reading.uses:
        if not use.harmless:
            why = f"`{use.option.name}` of `{reading.title}` {KINDS[use.option.kind][0]}"
            for at in (use.at, *(() if use.option.kind == "code" else use.words)):
                found.setdefault(at, why)
    if reading.operands and (kind := syntax.verbs.get(reading.words[reading.operands[0]])):
        at = reading.operands[0]
        found.setdefault(at, f"`{reading.words[at]}` of `{reading.title}` {KINDS[kind][0]}")
    for at, why in syntax.judge(reading) if syntax.judge else ():
        found.setdefault(at, why)
    return syntax.risky and (end is None or any(UNKNOWN in word for word in reading.words[:end]))


def _read(syntax: Syntax, reading: Reading, at: int) -> int | None:
    """Sort the words from `at` into options and operands; where the options end before the words do, tell where."""
    words, early, end = reading.words, "early" in syntax.traits, None
    loose = False  # the word before may be an option that takes this one
    if "bundle" in syntax.traits and words[at : at + 1] and words[at][:1] not in ("", "-"):
        reading.uses += _bundle(syntax, words, at)
    while at < len(words):
        word, step = words[at], 1
        if end is not None or not word.startswith("-") or word == "-":
            (reading.unsure if early and loose else reading.operands).append(at)
            if end is None and early and not loose:
                end = at + 1
            loose = False
        elif word == "--":
            end = None if loose else at
            loose = False
        elif word not in ("--help", "--version"):
            uses, loose = _options(syntax, words, at)
            reading.uses += uses
            last = uses[-1] if uses else None
            if last and last.words and (not last.value.startswith("-") or last.value in ("-", "--")):
                step = 2
            if last and last.option.takes in ("!", "*"):
                end = at + 1
        at += step
    return end


def _options(syntax: Syntax, words: Sequence[str], at: int) -> tuple[list[Use], bool]:
    """The options in one word, and whether there is one that may take the next word, for all that is known."""
    word = words[at]
    name, equals, value = word.partition("=")
    option = _named(syntax, name)
    if option is not None:
        return [_use(option, words, at, value if equals else None)], False
    if word.startswith("--") or not syntax.traits.isdisjoint(("words", "loose")):
        return [], not equals
    uses: list[Use] = []
    for number, letter in enumerate(word[1:], 2):
        if short := syntax.options.get(f"-{letter}"):
            uses.append(_use(short, words, at, word[number:] or None))
        if letter == UNKNOWN or (short is not None and short.takes):
            break
    return uses, False


def _named(syntax: Syntax, name: str) -> Option | None:
    """The option that is written as a whole word, also the first that it abbreviates, a risky one if it can be."""
    if whole := not syntax.traits.isdisjoint(("words", "loose")):
        name = f"-{name.lstrip('-')}"
    if not whole and len(name) < 3:
        return None
    if (option := syntax.options.get(name)) is not None:
        return option
    if len(name) < 3 or "words" in syntax.traits or not (whole or name.startswith("--")):
        return None
    meant = [option for option in syntax.options.values() if option.name.startswith(name)]
    return next((option for option in meant if option.kind), meant[0] if meant else None)


def _use(option: Option, words: Sequence[str], at: int, attached: str | None) -> Use:
    if option.takes == "*":
        return Use(option, at, words=range(at + 1, len(words)))
    if not option.takes:
        return Use(option, at)
    if attached is not None or option.takes == "?" or at + 1 == len(words):
        return Use(option, at, attached or "")
    return Use(option, at, words[at + 1], range(at + 1, at + 2))


def _bundle(syntax: Syntax, words: Sequence[str], at: int) -> Iterator[Use]:
    """The options of `tar xIf program archive`: their values follow in their order."""
    value = at
    for letter in words[at]:
        if option := syntax.options.get(f"-{letter}"):
            value += bool(option.takes)
            known = option.takes and value < len(words)
            yield Use(option, at, words[value], range(value, value + 1)) if known else Use(option, at)


# what operands and programs do


def _operands(does: str, risky: Callable[[str], bool], skip: int = 0) -> Judge:
    """A judge of operands, one by one, all but the first `skip`."""

    def judge(reading: Reading) -> Iterator[tuple[int, str]]:
        for at in reading.operands[skip:]:
            if risky(word := reading.words[at]):
                yield at, f"`{word.replace(UNKNOWN, '…')}` given to `{reading.title}` {does}"

    return judge


def _programs(risk: Callable[[str], str], given: frozenset[str], loaded: frozenset[str]) -> Judge:
    """A judge of programs: the values of the options `given`, or the first operand if no option brings one."""

    def judge(reading: Reading) -> Iterator[tuple[int, str]]:
        programs = [
            (use.words[0] if use.words else use.at, use.value) for use in reading.uses if use.option.name in given
        ]
        if not programs and not any(use.option.name in loaded for use in reading.uses):
            # `sed -i '' …` of BSD: an empty operand may be the value of an option
            first = [at for at in reading.operands if reading.words[at]][:1]
            programs = [(at, reading.words[at]) for at in reading.unsure + first]
        for at, program in programs:
            if why := risk(program):
                yield at, f"in a program of `{reading.title}`, {why}"

    return judge


def _gh_api(reading: Reading) -> Iterator[tuple[int, str]]:
    """Fields make a request a POST unless its method is given; GraphQL is always one."""
    methods = [use.value for use in reading.uses if use.option.name in ("-X", "--method")]
    for use in reading.uses:
        if use.option.name in FIELDS and not (methods and READING.issuperset(methods)):
            for at in (use.at, *use.words):
                yield at, f"`{use.option.name}` of `{reading.title}` sends data"
    for at in reading.operands:
        if reading.words[at].rstrip("/").endswith("graphql"):
            yield at, f"`graphql` of `{reading.title}` sends data"


def _git_config(reading: Reading) -> Iterator[tuple[int, str]]:
    """A second operand is the value to set, unless the first one or an option says to read."""
    first = [reading.words[at] for at in reading.operands[:1]]
    if not READS_CONFIG.isdisjoint(first + [use.option.name for use in reading.uses]):
        return
    yield from _operands("changes settings", lambda _: True, 1)(reading)


FIELDS = frozenset({"-f", "-F", "--raw-field", "--field", "--input"})
READS_CONFIG = frozenset({"get", "list", "--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"})
NESTED = frozenset({"git", "gh"})
MODULES = frozenset({"pytest", "mypy", "ruff", "json.tool"})
JUDGES: Mapping[str, Judge] = {
    "@sed": _programs(sed_risk, frozenset({"-e", "--expression"}), frozenset({"-f", "--file"})),
    "@awk": _programs(awk_risk, frozenset({"-e", "--source"}), frozenset({"-f", "--file"})),
    "@second": _operands("is written", lambda word: word not in DISCARDED, 1),
    "@any": _operands("is set", lambda _: True),
    "@clock": _operands("sets the clock", lambda word: not word.startswith("+")),
    "@of": _operands("writes a file", lambda word: word.startswith("of=") and word[3:] not in DISCARDED),
    "@plus": _operands("is a command", lambda word: word.startswith("+")),
    "@make": _operands("sets a variable", make_risk),
    "@sql": _operands("does more than a query", sql_risk, 1),
    "@api": _gh_api,
    "@config": _git_config,
}


def _table(text: str) -> dict[str, Syntax]:
    """The rows of TABLE: `name|name subcommand|subcommand = tokens`, indented where they go on.

    A token is `@trait` or `@judge`, an option with what it takes, `kind=` for the tokens after it, or a verb.
    """
    table: dict[str, Syntax] = {}
    for row in text.strip().replace("\n  ", " ").split("\n"):
        names, _, tokens = row.partition(" = ")
        options: dict[str, Option] = {}
        verbs: dict[str, str] = {}
        traits: set[str] = set()
        judge, kind = None, ""
        for token in tokens.split():
            if token.endswith("="):
                kind = token[:-1]
            elif token in JUDGES:
                judge = JUDGES[token]
            elif token.startswith("@"):
                traits.add(token[1:])
            elif token.startswith("-"):
                name = token.rstrip(":?!*")
                options[name] = Option(name, token[len(name) :], kind)
            else:
                verbs[token] = kind
        syntax = Syntax(options, verbs, frozenset(traits), judge)
        commands, _, inner = names.partition(" ")
        table |= {f"{one} {two}".strip(): syntax for one in commands.split("|") for two in inner.split("|")}
    return table


TABLE = _table(ROWS)
