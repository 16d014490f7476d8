"""Taking a shell line apart: its texts for deny and ask rules, its commands for allow rules, and what is in doubt."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_gate.policy.shell.arguments import Argument, Surroundings, argument, arguments, bound_in, handed, is_free_name
from mcp_gate.policy.shell.builtins import free_reason, harmless_assignment, runs_input
from mcp_gate.policy.shell.reader import UnreadableError, read
from mcp_gate.policy.shell.redirects import shown, written
from mcp_gate.policy.shell.syntax import UNKNOWN, Command, Redirect, Script, scripts_under
from mcp_gate.policy.shell.texts import joined, pieces, spellings
from mcp_gate.policy.shell.units import Slot, Unit, Write, unit_of
from mcp_gate.policy.shell.wrappers import (
    EVALUATES,
    aliases,
    base_name,
    find_runs,
    has_unknown,
    invoked,
    unwrap,
)

DEEPEST = 10
MOST_UNITS = 4_000


class Study:
    """Collects what `Analysis` holds, in one pass."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.surroundings = surroundings
        self.texts: dict[str, None] = {}
        self.units: list[Unit] = []
        self.doubts: list[str] = []
        self.bashisms: list[str] = []
        self.scripts: list[Script] = []
        self.unread = ""
        self.depth = 0

    def line(self, line: str, dialect: str = "bash") -> None:
        """Read a line and everything in it. What sh reads otherwise than bash is a doubt for sh."""
        self.depth += 1
        try:
            if self.depth > DEEPEST:
                raise UnreadableError(f"shells in shells, deeper than {DEEPEST}")
            script = read(line)
            if dialect == "sh":
                self.bashisms += [f"{what} is not POSIX sh" for what in script.bashisms]
                if script.bashisms:
                    self.as_sh(line)
        except UnreadableError as error:
            self.unread = self.unread or f"it cannot be read: {error}"
            self.doubts.append(self.unread)
            self.as_sh(line)
            self._pieces(line)
        else:
            self.script(script)
        self.depth -= 1

    def as_sh(self, line: str) -> None:
        """Also read a line as plain sh would, for deny and ask rules alone."""
        try:
            script = read(line, bash=False)
        except UnreadableError:
            self._pieces(line)
            return
        beside = Study(self.surroundings)
        beside.depth = self.depth
        beside.script(script)
        self.texts |= beside.texts

    def _pieces(self, line: str) -> None:
        """The pieces of a line that cannot be read."""
        for piece, words in pieces(line):
            self.add_texts([Argument.plain(word) for word in words], (), (), piece)
            self._inner(words)

    def _inner(self, words: Sequence[str], depth: int = 0) -> None:
        """Texts of the commands that words which could not be read well may run."""
        if depth < DEEPEST:
            for start in unwrap(words).starts:
                self.add_texts([Argument.plain(word) for word in words[start:]], (), (), "")
                self._inner(words[start:], depth + 1)

    def script(self, script: Script) -> None:
        self.scripts.append(script)
        every = list(scripts_under(script))
        bound = frozenset(name for one in every for name in bound_in(one))
        outer = self.surroundings
        self.surroundings = replace(outer, bound=outer.bound | bound)
        for one in every:
            self.doubts += one.oddities
            self.doubts += [f"`{name}` is a special variable" for name, _ in one.loops if not is_free_name(name)]
            for word in one.words:
                self._doubt(argument(word, self.surroundings))
            for write in self._redirected(one.redirects):
                self.doubts.append(f"`{write.operator}` of a group or loop writes, which no rule can spell")
            for command in one.commands:
                self._command(command, one.text[command.start - one.base : command.end - one.base])
            self.texts |= dict.fromkeys(joined(one, self.surroundings))
        self.surroundings = outer

    def _doubt(self, argument: Argument) -> None:
        if argument.doubt:
            self.doubts.append(argument.doubt)

    # one command

    def _command(self, command: Command, source: str) -> None:
        words = arguments(command.words, self.surroundings)
        assignments = [(a.name, argument(value, self.surroundings)) for a in command.assignments for value in a.values]
        for one in (*words, *(value for _, value in assignments)):
            self._doubt(one)
        writes = self._redirected(command.redirects)
        prefixes = tuple(Argument.plain(f"{name}={value.written}") for name, value in assignments)
        if command.test:
            if why := free_reason([word.written for word in words], conditional=True):
                self.doubts.append(why)
            return
        appended = tuple(shown(redirect, self.surroundings) for redirect in command.redirects)
        self.add_texts(words, prefixes, appended, source)
        if len(self.units) >= MOST_UNITS:
            self.doubts.append(f"it holds more than {MOST_UNITS:,} commands")
        elif not words:
            self._bare(command, writes, prefixes)
        else:
            odd = not all(harmless_assignment(name) for name, _ in assignments)
            self.judge(words, writes, prefixes, odd, command)

    def _bare(self, command: Command, writes: tuple[Write, ...], prefixes: tuple[Argument, ...]) -> None:
        """Assignments or redirections alone."""
        for assignment in command.assignments:
            if not (is_free_name(assignment.name) or harmless_assignment(assignment.name)):
                self.doubts.append(f"it sets `{assignment.name}`, which other commands may read")
        if writes:
            self.units.append(Unit("", tuple(Slot(p) for p in prefixes), writes, len(prefixes)))

    def judge(
        self,
        words: tuple[Argument, ...],
        writes: tuple[Write, ...],
        prefixes: tuple[Argument, ...],
        odd_prefix: bool,
        command: Command | None,
    ) -> None:
        """Add the unit of a command, or those of what it runs."""
        texts = [word.written for word in words]
        if UNKNOWN in texts[0] or words[0].globs or not texts[0]:
            self.doubts.append("the name of a command is not known" if texts[0] else "the name of a command is empty")
        if command is not None and (why := self._input(texts, command)):
            self.doubts.append(why)
        if not writes and not odd_prefix and free_reason(texts) == "":
            return
        if (shell := invoked(texts)) and shell.script is not None:
            self._shell(texts, shell.script, shell.doubt)
            for other in shell.others:
                self._aside(other)
            self._leftover(writes, prefixes, odd_prefix)
            return
        if shell and shell.doubt:
            self.doubts.append(shell.doubt)
        wrapping = unwrap(texts)
        if wrapping.doubt:
            self.doubts.append(wrapping.doubt)
        for script in (*wrapping.scripts, *aliases(texts)):
            self._aside(script)
        for start in wrapping.starts:
            self._beside(words[start:], adds=wrapping.adds, replaces=wrapping.replaces)
        if wrapping.inner:
            self._clear(words, wrapping.inner, adds=wrapping.adds, replaces=wrapping.replaces)
            self._leftover(writes, prefixes, odd_prefix)
            return
        if base_name(texts[0]) in EVALUATES:
            self._evaluated(texts)
        if base_name(texts[0]) == "find":
            words = self._find(words, texts)
        self.units.append(unit_of(words, writes, prefixes, odd_prefix=odd_prefix, spelled=wrapping.spelled))

    def _leftover(self, writes: tuple[Write, ...], prefixes: tuple[Argument, ...], odd_prefix: bool) -> None:
        """What a clear wrapper itself writes or sets, which no rule of the inner command can spell."""
        if writes:
            self.doubts.append(f"`{writes[0].operator}` of a wrapper writes, which no rule can spell")
        if odd_prefix:
            self.doubts.append(f"`{prefixes[0].written}` is set for a wrapper")

    def _clear(self, words: tuple[Argument, ...], inner: int, *, adds: bool, replaces: str) -> None:
        """The command inside a clear wrapper decides."""
        texts = [word.written for word in words]
        if base_name(texts[0]) == "env":
            for word in texts[1:inner]:
                name, equals, _ = word.partition("=")
                if equals and not word.startswith("-") and not harmless_assignment(name):
                    self.doubts.append(f"`{name}` is set, which is not known to be harmless")
        if has_unknown(texts[:inner]):
            self.doubts.append(f"options of `{texts[0]}` are not known")
        self.judge(handed(words[inner:], adds=adds, replaces=replaces), (), (), False, None)

    def _beside(self, words: tuple[Argument, ...], *, adds: bool = False, replaces: str = "") -> None:
        """Texts of a command that may be run, for deny and ask rules."""
        words = handed(words, adds=adds, replaces=replaces)
        if not words or self.depth > DEEPEST:
            return
        beside = Study(self.surroundings)
        beside.depth = self.depth + 1
        beside.add_texts(words, (), (), "")
        beside.judge(words, (), (), False, None)
        self.texts |= beside.texts

    def _aside(self, script: str) -> None:
        """Texts of a line that may be run somehow, for deny and ask rules."""
        beside = Study(self.surroundings)
        beside.depth = self.depth
        beside.line(script)
        self.texts |= beside.texts

    def _shell(self, texts: Sequence[str], script: str, doubt: str) -> None:
        """`sh -c 'line'`: the line is read like any other."""
        if doubt:
            self.doubts.append(doubt)
        if UNKNOWN in script:
            self.doubts.append(f"what `{texts[0]}` is told to run is not known")
            self._aside(script.replace(UNKNOWN, " "))
            return
        self.line(script, "bash" if base_name(texts[0]) == "bash" else "sh")

    def _evaluated(self, texts: Sequence[str]) -> None:
        """`eval` and `trap`: what they run must be allowed, besides a rule for them."""
        words = texts[1:2] if base_name(texts[0]) == "trap" else texts[1:]
        script = " ".join(words)
        if UNKNOWN in script:
            self.doubts.append(f"what `{texts[0]}` runs is not known")
        elif script not in ("", "-"):
            self.line(script)

    def _find(self, words: tuple[Argument, ...], texts: Sequence[str]) -> tuple[Argument, ...]:
        """The commands that `find` runs decide besides `find` itself, whose other words are left."""
        kept = list(words)
        for start, end in reversed(find_runs(texts)):
            inner = handed(words[start:end], adds=False, replaces="{}")
            if inner:
                self._beside(inner)
                self.judge(inner, (), (), False, None)
            else:
                self.doubts.append("`find` runs nothing that can be read")
            del kept[start - 1 : end + 1]
        return tuple(kept)

    def _input(self, texts: Sequence[str], command: Command) -> str:
        """A doubt where a command runs what it reads; a shell's here-document is read."""
        fed = [r for r in command.redirects if r.operator in ("<<", "<<-", "<<<", "<", "<>") and r.fd in ("", "0")]
        if not runs_input(texts) or not (fed or command.piped):
            return ""
        last = fed[-1] if fed else None
        shell = invoked(texts)
        if shell is not None and last is not None:
            body = last.body if last.body is not None else last.target if last.operator == "<<<" else None
            text = argument(body, self.surroundings).written if body is not None else UNKNOWN
            if UNKNOWN not in text:
                self.line(text, "bash" if base_name(texts[0]) == "bash" else "sh")
                return ""
        if last is not None and last.body is not None:
            self._aside(argument(last.body, self.surroundings).written.replace(UNKNOWN, " "))
        return f"`{texts[0]}` runs what it reads, which no rule sees"

    # redirections and texts

    def _redirected(self, redirects: Iterable[Redirect]) -> tuple[Write, ...]:
        """What an allow rule has to spell of redirections; doubts about them are kept."""
        writes: list[Write] = []
        for redirect in redirects:
            for word in filter(None, (redirect.target, redirect.body)):
                self._doubt(argument(word, self.surroundings))
            write, doubt = written(redirect, self.surroundings)
            self.doubts += filter(None, [doubt])
            writes += filter(None, [write])
        return tuple(writes)

    def add_texts(
        self, words: Sequence[Argument], prefixes: Iterable[Argument], appended: Sequence[str], source: str
    ) -> None:
        """Every text that a deny or ask rule may be written for."""
        if source:
            self.texts[source] = None
        before = " ".join(prefix.value for prefix in prefixes)
        after = " ".join(appended)
        for text in spellings(words):
            for head in {"", before}:
                for tail in {"", after}:
                    self.texts[" ".join(filter(None, (head, text, tail)))] = None
