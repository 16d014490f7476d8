"""Shell lines, read strictly: lists, pipelines, loops and conditions of simple commands.

Reads what bash reads, or with `bash=False` what POSIX sh reads, and refuses what it does not know. A line that is read
has no command that the result does not hold: tests check that against bash's own parser.
"""

from mcp_gate.policy.shell.pieces import ASSIGNMENT, Pieces
from mcp_gate.policy.shell.syntax import Assignment, Command, Redirect, Script, Word
from mcp_gate.policy.shell.tokens import NAME
from mcp_gate.policy.shell.words import UnreadableError, WordReader

CLOSING = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}", "in"})
OPENING = frozenset({"if", "while", "until", "for", "case", "{"})
BASH_OPENING = frozenset({"select", "[[", "function", "coproc", "time"})

__all__ = ["UnreadableError", "read"]


def read(text: str, *, bash: bool = True) -> Script:
    """Read a whole line (which may be many). Raises UnreadableError."""
    reader = WordReader(text, _substituted, bash=bash)
    return Grammar(reader).whole()


def _substituted(reader: WordReader) -> Script:
    """The script of a substitution: to its `)`, or to the end where the text is the inside of backticks."""
    grammar = Grammar(reader)
    return grammar.whole() if not reader.at else grammar.parenthesised()


class Grammar(Pieces):
    """Reads one script from where its reader stands."""

    def whole(self) -> Script:
        """A script that goes on to the end of the text."""
        self._list(())
        if self._reader.at < len(self._reader.text):
            raise self._reader.fail("an unexpected operator")
        return self._finished()

    def parenthesised(self) -> Script:
        """A script that ends with `)`, in a word of another."""
        outer = self._reader.waiting
        self._reader.waiting = []
        self._list((")",))
        self._expect(")")
        script = self._finished()
        self._reader.waiting = outer
        return script

    def _finished(self) -> Script:
        if self._reader.waiting:
            raise self._reader.fail("a here-document without a body")
        self._script.oddities += self._reader.oddities
        self._script.bashisms += self._reader.bashisms
        return self._script

    # lists and pipelines

    def _list(self, ends: tuple[str, ...], *, piped: bool = False, needs: bool = False) -> None:
        """Commands up to one of `ends` (a reserved word or an operator) or the end of the text, which is not read."""
        reader, count = self._reader, 0
        while True:
            self._newlines()
            if self._at_end(ends):
                if needs and not count:
                    raise reader.fail("a list without a command")
                return
            self._and_or(piped=piped)
            count += 1
            reader.skip_blanks()
            if reader.peek(";;") or reader.peek(";&"):
                if ";;" in ends:
                    return
                raise reader.fail("`;;` outside `case`")
            if not (reader.peek("\n") or self._operator(";") or self._operator("&")):
                if self._at_end(ends):
                    return
                raise reader.fail("an unexpected word or operator")

    def _at_end(self, ends: tuple[str, ...]) -> bool:
        if self._reader.at >= len(self._reader.text):
            return True
        return any(self._reader.peek(end) if end in (")", ";;") else self._reserved() == end for end in ends)

    def _and_or(self, *, piped: bool) -> None:
        while True:
            self._pipeline(piped=piped)
            self._reader.skip_blanks()
            if not (self._operator("&&") or self._operator("||")):
                return
            self._newlines()

    def _pipeline(self, *, piped: bool) -> None:
        reader = self._reader
        while (word := self._reserved()) == "!" or (word == "time" and reader.bash):
            self._take()
            if word == "time":
                self._time_options()
        self._command(piped=piped)
        while True:
            reader.skip_blanks()
            if reader.peek("||") or not reader.peek("|"):
                return
            both = reader.peek("|&") and reader.bash
            self._operator("|&" if both else "|")
            if both:
                reader.bashisms.append("`|&`")
            self._newlines()
            self._command(piped=True)

    def _time_options(self) -> None:
        reader = self._reader
        reader.bashisms.append("`time`")
        reader.skip_blanks()
        while self._plain_ahead() == "-p":
            self._take()
            reader.skip_blanks()
        if reader.peek("-"):
            raise reader.fail("an option of `time` that is not known")

    # commands

    def _command(self, *, piped: bool) -> None:
        reader = self._reader
        reader.skip_blanks()
        word = self._reserved()
        if word in CLOSING or word == "!":
            raise reader.fail(f"an unexpected `{word}`")
        if reader.bash and reader.peek("(("):
            self._arithmetic_command()
        elif reader.peek("("):
            self._nested(piped=piped, open_="(", close=")")
        elif word in OPENING or (word in BASH_OPENING and reader.bash):
            if word in BASH_OPENING:
                reader.bashisms.append(f"`{word}`")
            self._compound(word, piped=piped)
        else:
            self._simple(piped=piped)

    def _compound(self, word: str, *, piped: bool) -> None:
        start = self._reader.at
        if word == "{":
            self._nested(piped=piped, open_="{", close="}")
            return
        self._take()
        match word:
            case "[[":
                self._test(start)
            case "function":
                self._function_keyword(piped=piped)
                return
            case "coproc":
                self._script.oddities.append("`coproc` runs in the background")
                self._command(piped=piped)
                return
            case _:
                self._reader.deeper()
                loops = {"if": self._if, "for": self._for, "select": self._for, "case": self._case}
                loops.get(word, self._while)(piped=piped)
                self._reader.depth -= 1
        self._redirects_after()

    def _nested(self, *, piped: bool, open_: str, close: str) -> None:
        self._reader.deeper()
        if open_ == "{":
            self._take()
        else:
            self._expect("(")
        self._list((close,), piped=piped, needs=True)
        self._close(close)
        self._reader.depth -= 1
        self._redirects_after()

    def _if(self, *, piped: bool) -> None:
        self._block(("then",), piped=piped)
        while True:
            ended = self._block(("elif", "else", "fi"), piped=piped)
            if ended == "elif":
                self._block(("then",), piped=piped)
            elif ended == "else":
                self._block(("fi",), piped=piped)
                return
            else:
                return

    def _while(self, *, piped: bool) -> None:
        self._block(("do",), piped=piped)
        self._block(("done",), piped=piped)

    def _block(self, ends: tuple[str, ...], *, piped: bool) -> str:
        """A list that must hold a command, with the word that ends it."""
        self._list(ends, piped=piped, needs=True)
        ended = self._reserved()
        if ended not in ends:
            raise self._reader.fail(f"`{ends[-1]}` is missing")
        self._take()
        return ended

    def _for(self, *, piped: bool) -> None:
        reader = self._reader
        reader.skip_blanks()
        name = self._plain_ahead()
        if not NAME.fullmatch(name):
            raise reader.fail("a loop that is not known")
        self._take()
        reader.skip_blanks()
        self._newlines()
        words: list[Word] = []
        if self._reserved() == "in":
            self._take()
            reader.skip_blanks()
            while not (reader.peek(";") or reader.peek("\n")):
                words.append(self._word())
                reader.skip_blanks()
            if reader.peek(";;") or not (self._operator(";") or reader.peek("\n")):
                raise reader.fail("a loop that is not known")
        else:
            self._script.oddities.append("a loop over the positional parameters")
            self._operator(";")
        self._newlines()
        if self._reserved() != "do":
            raise reader.fail("`do` is missing")
        self._take()
        self._script.loops.append((name, tuple(words)))
        self._script.words += words
        self._block(("done",), piped=piped)

    def _case(self, *, piped: bool) -> None:
        reader = self._reader
        reader.skip_blanks()
        self._script.words.append(self._word())
        self._newlines()
        if self._reserved() != "in":
            raise reader.fail("`in` is missing")
        self._take()
        self._newlines()
        while self._reserved() != "esac":
            self._operator("(")
            self._pattern()
            self._list((";;", "esac"), piped=piped)
            if reader.peek(";;&") or reader.peek(";&"):
                reader.bashisms.append("`;&`")
                if not reader.bash:
                    raise reader.fail("`;&`")
            ended = any(map(self._operator, (";;&", ";;", ";&")))
            if not ended and self._reserved() != "esac":
                raise reader.fail("`esac` is missing")
            self._newlines()
        self._take()

    def _pattern(self) -> None:
        while True:
            self._reader.skip_blanks()
            self._script.words.append(self._word())
            self._reader.skip_blanks()
            if not self._operator("|"):
                break
        self._expect(")")

    def _arithmetic_command(self) -> None:
        reader = self._reader
        reader.bashisms.append("`((…))`")
        self._script.oddities.append("an arithmetic command")
        reader.at += 2
        words, _ = reader.expression()
        self._script.words += words
        self._redirects_after()

    def _function_keyword(self, *, piped: bool) -> None:
        reader = self._reader
        reader.skip_blanks()
        self._word()
        reader.skip_blanks()
        if self._operator("("):
            self._expect(")")
        self._function_body(piped=piped)

    def _function_body(self, *, piped: bool) -> None:
        self._script.oddities.append("a function is defined")
        self._newlines()
        if not (self._reserved() in OPENING | {"[["} or self._reader.peek("(")):
            raise self._reader.fail("a function body that is not known")
        self._command(piped=piped)

    # simple commands

    def _simple(self, *, piped: bool) -> None:
        reader = self._reader
        start = reader.at
        words, assignments, redirects = list[Word](), list[Assignment](), list[Redirect]()
        while True:
            end = self._place()
            reader.skip_blanks()
            if redirect := self._redirect():
                redirects.append(redirect)
            elif reader.at >= len(reader.text) or reader.text[reader.at] in "\n;&|()":
                break
            elif not words and (match := ASSIGNMENT.match(reader.text, reader.at)):
                assignments.append(self._assignment(match))
            else:
                words.append(self._word())
        if reader.peek("("):
            self._function(words, plain=not (assignments or redirects), piped=piped)
        elif not (words or assignments or redirects):
            raise reader.fail("a command is missing")
        else:
            place = reader.base + start
            parts = tuple(words), tuple(assignments), tuple(redirects)
            joiner = self._joiner if self._script.commands else ""
            self._script.commands.append(Command(*parts, piped, start=place, end=end, joiner=joiner))
            self._joiner = ""

    def _function(self, words: list[Word], *, plain: bool, piped: bool) -> None:
        if not (plain and len(words) == 1 and NAME.fullmatch(self._literal(words[0]))):
            raise self._reader.fail("an unexpected `(`")
        self._expect("(")
        self._reader.skip_blanks()
        self._expect(")")
        self._function_body(piped=piped)

    def _redirects_after(self) -> None:
        """The redirections of a compound command."""
        self._reader.skip_blanks()
        while redirect := self._redirect():
            self._script.redirects.append(redirect)
            self._reader.skip_blanks()
