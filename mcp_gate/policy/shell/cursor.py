"""A place in a shell line, and the reading of what needs no more than that: blanks, comments, fixed quotes."""

from mcp_gate.policy.shell.escapes import ESCAPE, escaped
from mcp_gate.policy.shell.syntax import Redirect, Text
from mcp_gate.policy.shell.tokens import BLANKS, DEEPEST


class UnreadableError(Exception):
    """A line that this reader does not take: wrong, or not known to it. The text says what and where."""


class Cursor:
    """Stands at `at` of `text`, which begins at `base` of the whole line.

    `bashisms` and `oddities` are those seen so far (`Script` says what they are), `waiting` the here-documents whose
    bodies are still to come.
    """

    def __init__(self, text: str, *, bash: bool, base: int = 0, depth: int = 0) -> None:
        self.text, self.at, self.base, self.bash, self.depth = text, 0, base, bash, depth
        self.bashisms: list[str] = []
        self.oddities: list[str] = []
        self.waiting: list[Redirect] = []

    def fail(self, why: str) -> UnreadableError:
        """The error to raise: `why` with the place."""
        return UnreadableError(f"{why} at character {self.base + self.at + 1}")

    def peek(self, text: str) -> bool:
        """Whether `text` comes next."""
        return self.text.startswith(text, self.at)

    def deeper(self) -> None:
        """Count one level of nesting; the caller takes it back."""
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.fail(f"nested deeper than {DEEPEST}")

    def skip_blanks(self) -> None:
        """Go past blanks, joined lines and a comment, up to the next word, operator or newline."""
        text = self.text
        while self.at < len(text):
            if text[self.at] in BLANKS:
                self.at += 1
            elif self.peek("\\\n"):
                self.at += 2
            elif text[self.at] == "#":
                end = text.find("\n", self.at)
                self.at = len(text) if end < 0 else end
            else:
                return

    def single_quoted(self) -> Text:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self.fail("an unterminated single quote")
        value = self.text[self.at + 1 : end]
        if "\0" in value:
            raise self.fail("a NUL character")
        self.at = end + 1
        return Text(value, quoted=True)

    def dollar_quoted(self) -> Text:
        """The rest of `$'…'`, whose first quote is behind."""
        value = []
        while not self.peek("'"):
            if self.at >= len(self.text) or self.peek("\0"):
                raise self.fail("an unterminated `$'`")
            if not self.peek("\\"):
                value.append(self.text[self.at])
                self.at += 1
                continue
            match = ESCAPE.match(self.text, self.at)
            if match is None or not escaped(match[0][1:]):
                raise self.fail("an escape that makes no character")
            value.append(escaped(match[0][1:]))
            self.at = match.end()
        self.at += 1
        return Text("".join(value), quoted=True)
