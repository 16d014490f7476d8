r"""Words of shell lines, read strictly: quotes, expansions, here-document bodies. What is not known is refused.

| refused, though some shell would take it | why |
| --- | --- |
| `$[…]`, `name[…]=`, `${name[…]}` but for `[@]`, `[*]` and numbers | arithmetic that can run commands |
| a single quote inside `"${x:-…}"`, a brace, a newline or `<(` in `${…}` | shells differ |
| `\` + newline between `$` and what it expands, or inside an operator | parsers differ |
| a newline inside a word that follows `<<EOF` on its line | where the body starts is easily misread |
| a line of an unquoted here-document that ends in `\` | it may hide the delimiter |
| inside `$(…)`, a body line that begins with the delimiter and goes on | old and new bash differ |
| NUL, `$'\xff'` and other escapes that make no character | no word can hold them |
"""

import re
from collections.abc import Callable

from mcp_gate.policy.shell.cursor import Cursor, UnreadableError
from mcp_gate.policy.shell.syntax import Arithmetic, Part, Script, Substitution, Text, Variable, Word
from mcp_gate.policy.shell.tokens import (
    BODY_PLAIN,
    BRACED_PARAMETER,
    BREAKS,
    DOUBLE_PLAIN,
    NAME,
    NUMBERS,
    OPERAND_PLAIN,
    OPERATION,
    OPERATOR_CHARACTERS,
    PARAMETER,
    PLAIN,
    SLICE,
)

__all__ = ["UnreadableError", "WordReader"]


class WordReader(Cursor):
    """Reads words from `text`.

    `script` reads the inside of a substitution, up to and with its closing parenthesis.
    """

    def __init__(
        self, text: str, script: Callable[["WordReader"], Script], *, bash: bool, base: int = 0, depth: int = 0
    ) -> None:
        super().__init__(text, bash=bash, base=base, depth=depth)
        self._script = script

    def word(self, breaks: frozenset[str] = BREAKS) -> Word:
        """One word, which may be empty where a break comes at once."""
        start, parts = self.at, list[Part]()
        text = self.text
        while self.at < len(text):
            character = text[self.at]
            if character in breaks:
                if not (self.bash and character in "<>" and text[self.at + 1 : self.at + 2] == "("):
                    break
                parts.append(self._process_substitution(character))
            elif not self._expansion(parts, quoted=False):
                self._unquoted(character, parts)
        if self.waiting and "\n" in text[start : self.at]:
            raise self.fail("a word with a newline after `<<`")
        return self._made(parts, start)

    def _made(self, parts: list[Part], start: int) -> Word:
        merged: list[Part] = []
        for part in parts:
            if (
                isinstance(part, Text)
                and merged
                and isinstance(last := merged[-1], Text)
                and last.quoted == part.quoted
            ):
                merged[-1] = Text(last.value + part.value, part.quoted)
            else:
                merged.append(part)
        return Word(tuple(merged), self.base + start, self.base + self.at)

    def _unquoted(self, character: str, parts: list[Part]) -> None:
        text = self.text
        if match := PLAIN.match(text, self.at):
            self.at = match.end()
            parts.append(Text(match[0]))
        elif character == "'":
            parts.append(self.single_quoted())
        elif character == '"':
            self.at += 1
            self._double_quoted(parts)
        elif character == "\\":
            if self.at + 1 >= len(text):
                raise self.fail("a lone backslash at the end")
            if text[self.at + 1] != "\n":
                parts.append(Text(text[self.at + 1], quoted=True))
            self.at += 2
        elif character == "$":
            self.at += 1
            parts.append(Text("$", quoted=True))
        elif character in OPERATOR_CHARACTERS:  # only where the caller does not break at it
            self.at += 1
            parts.append(Text(character))
        else:
            raise self.fail("a NUL character" if character == "\0" else "an unexpected character")

    def _double_quoted(self, parts: list[Part]) -> None:
        """The rest of a double-quoted string, whose first quote is behind."""
        parts.append(Text("", quoted=True))
        while not self.peek('"'):
            if self.at >= len(self.text):
                raise self.fail("an unterminated double quote")
            self._soft(parts, DOUBLE_PLAIN, '$`"\\')
        self.at += 1

    def _soft(self, parts: list[Part], plain: re.Pattern[str], escapable: str) -> None:
        """One piece of text in which only `$`, a backtick and backslashes are special."""
        if match := plain.match(self.text, self.at):
            self.at = match.end()
            parts.append(Text(match[0], quoted=True))
        elif self._expansion(parts, quoted=True):
            pass
        elif self.peek("\\"):
            following = self.text[self.at + 1 : self.at + 2]
            self.at += 2
            if following != "\n":
                parts.append(Text(following if following and following in escapable else "\\" + following, quoted=True))
        elif self.peek("\0"):
            raise self.fail("a NUL character")
        else:
            parts.append(Text(self.text[self.at], quoted=True))
            self.at += 1

    def _expansion(self, parts: list[Part], *, quoted: bool) -> bool:
        """Read what starts with `$` or a backtick, if it expands to anything."""
        text, at = self.text, self.at
        if text[at] == "`":
            parts.append(self._backticks(quoted=quoted))
            return True
        if text[at] != "$":
            return False
        if self.peek("$\\\n"):
            raise self.fail("a joined line after `$`")
        if self.peek("$(("):
            parts.append(self._arithmetic(quoted=quoted))
        elif self.peek("$("):
            self.at += 2
            self.deeper()
            parts.append(Substitution(self._script(self), quoted=quoted))
            self.depth -= 1
        elif self.peek("${"):
            self.at += 2
            parts.append(self._braced(quoted=quoted))
        elif match := PARAMETER.match(text, at + 1):
            self.at = match.end()
            if self.peek("\\\n"):
                raise self.fail("a joined line after a variable")
            parts.append(Variable(match[0], quoted=quoted))
        elif self.peek("$[") and self.bash:
            raise self.fail("`$[`")
        elif self.peek("$'") and self.bash and not quoted:
            self.bashisms.append("`$'…'`")
            self.at += 2
            parts.append(self.dollar_quoted())
        elif self.peek('$"') and self.bash and not quoted:
            self.bashisms.append('`$"…"`')
            self.oddities.append('`$"…"` is translated')
            self.at += 2
            self._double_quoted(parts)
        else:
            return False
        return True

    def _backticks(self, *, quoted: bool) -> Substitution:
        """A backtick ends at the next one without a backslash, whatever quotes are between."""
        start, inner = self.at + 1, list[str]()
        at, text = start, self.text
        while at < len(text) and text[at] != "`":
            if text[at] == "\\" and text[at + 1 : at + 2] and text[at + 1] in ('`$\\"' if quoted else "`$\\"):
                at += 1
            inner.append(text[at])
            at += 1
        if at >= len(text):
            raise self.fail("an unterminated backtick")
        if at - start != len(inner):
            self.oddities.append("escapes inside backticks")
        reader = self.inside("".join(inner), start)
        reader.deeper()
        script = self._script(reader)
        self.bashisms += reader.bashisms
        self.at = at + 1
        return Substitution(script, quoted=quoted)

    def _process_substitution(self, direction: str) -> Substitution:
        self.bashisms.append(f"`{direction}(…)`")
        self.at += 2
        self.deeper()
        script = self._script(self)
        self.depth -= 1
        return Substitution(script, direction)

    def _arithmetic(self, *, quoted: bool) -> Arithmetic:
        """`$((…))`: the inner parenthesis must close right before the outer one, else bash reads a substitution."""
        self.at += 3
        words, constant = self.expression()
        return Arithmetic(constant, quoted, words)

    def expression(self) -> tuple[tuple[Word, ...], bool]:
        """An arithmetic expression up to and with its `))`: the words that expand in it; whether all are numbers."""
        open_, words, constant = 0, list[Word](), True
        while True:
            if self.peek("))") and not open_:
                self.at += 2
                return tuple(words), constant
            match = NUMBERS.match(self.text, self.at) or NAME.match(self.text, self.at)
            if self.peek("$"):
                start, parts = self.at, list[Part]()
                if not self._expansion(parts, quoted=True):
                    raise self.fail("a `$` in arithmetic")
                words.append(self._made(parts, start))
                constant = False
            elif self.peek("(") or self.peek(")"):
                open_ += 1 if self.peek("(") else -1
                self.at += 1
                if open_ < 0:
                    raise self.fail("`)` in arithmetic")
            elif match is None:
                raise self.fail("arithmetic that is not known")
            else:
                constant = constant and not match[0][0].isalpha() and match[0][0] != "_"
                self.at = self._up_to_parenthesis(match)

    def _up_to_parenthesis(self, match: re.Match[str]) -> int:
        found = [at for at in (match[0].find("("), match[0].find(")")) if at >= 0]
        return match.start() + min(found) if found else match.end()

    def _braced(self, *, quoted: bool) -> Variable:
        """`${…}`, whose opening is behind."""
        prefix = ""
        if self.peek("!") or (self.peek("#") and not self.peek("#}")):
            prefix = self.text[self.at]
            self.at += 1
        name = BRACED_PARAMETER.match(self.text, self.at)
        if name is None:
            raise self.fail("a `${` that is not known")
        self.at = name.end()
        operation, words = "", list[Word]()
        while not self.peek("}"):
            match = OPERATION.match(self.text, self.at)
            if match is None or (operation and not operation.startswith("[")):
                raise self.fail("a `${` that is not known")
            self.at = match.end()
            operation += match[0]
            if match[0] == ":":
                self._slice()
            elif match[0][0] not in "@[":
                words.append(self._operand(quoted=quoted))
        self.at += 1
        if operation and operation.lstrip(":")[:1] not in "-+?=%#":
            self.bashisms.append(f"`${{x{operation}…}}`")
        return Variable(name[0], operation, quoted, tuple(words), prefix)

    def _slice(self) -> None:
        match = SLICE.match(self.text, self.at)
        self.at = match.end() if match else self.at
        if not self.peek("}"):
            raise self.fail("a slice that is not known")

    def _operand(self, *, quoted: bool) -> Word:
        """What follows the operation in `${name…}`, up to the brace."""
        start, parts = self.at, list[Part]()
        self.deeper()
        while not self.peek("}"):
            if match := OPERAND_PLAIN.match(self.text, self.at):
                self.at = match.end()
                parts.append(Text(match[0], quoted))
            elif self.at >= len(self.text):
                raise self.fail("an unterminated `${`")
            elif self._expansion(parts, quoted=quoted):
                pass
            elif self.peek('"'):
                self.at += 1
                self._double_quoted(parts)
            elif self.peek("'") and not quoted:
                parts.append(self.single_quoted())
            elif self.peek("\\") and self.text[self.at + 1 : self.at + 2] not in ("", "\n"):
                parts.append(Text(self.text[self.at + 1], quoted=True))
                self.at += 2
            elif self.peek("$"):
                parts.append(Text("$", quoted=True))
                self.at += 1
            else:
                raise self.fail("a character in `${…}` that shells read differently")
        self.depth -= 1
        return self._made(parts, start)

    def body(self) -> Word:
        """The whole text as the body of an unquoted here-document."""
        parts: list[Part] = []
        while self.at < len(self.text):
            self._soft(parts, BODY_PLAIN, "$`\\")
        return self._made(parts, 0)

    def inside(self, text: str, start: int) -> "WordReader":
        """A reader of `text`, which begins at `start` of this one's."""
        return WordReader(text, self._script, bash=self.bash, base=self.base + start, depth=self.depth)
