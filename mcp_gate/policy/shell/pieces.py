"""The pieces that commands are made of: operators, words, redirections, assignments, and what is inside `[[ … ]]`."""

import re

from mcp_gate.policy.shell.heredoc import read_bodies
from mcp_gate.policy.shell.syntax import Assignment, Command, Redirect, Script, Text, Word
from mcp_gate.policy.shell.tokens import BREAKS, OPERATOR_CHARACTERS
from mcp_gate.policy.shell.words import WordReader

ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=)")
DIGITS = re.compile(r"[0-9]*")
REDIRECTS = ("&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">&", ">|", "<", ">")
BASH_REDIRECTS = frozenset({"&>>", "&>", "<<<"})
JOINERS = frozenset({"&&", "||", ";", "&", "|", "|&"})
REGEX_BREAKS = frozenset(" \t\n;&<>")


class Pieces:
    """Reads pieces of a script from where `reader` stands."""

    def __init__(self, reader: WordReader) -> None:
        self._reader = reader
        self._script = Script(reader.text, reader.base)
        self._joiner = ""  # the operator that was read last between commands

    def _test(self, start: int) -> None:
        """The rest of a `[[ … ]]`; its words are the operands and operators that are words."""
        reader, words, regex = self._reader, list[Word](), False
        while True:
            self._newlines()
            if self._plain_ahead() == "]]":
                self._take()
                break
            if reader.peek("<(") or reader.peek(">("):
                raise reader.fail("a process substitution in `[[`")
            if any(map(self._operator, ("&&", "||", "(", ")", "<", ">"))):
                continue
            if reader.at >= len(reader.text):
                raise reader.fail("`]]` is missing")
            words.append(self._regex() if regex else self._word())
            regex = self._literal(words[-1]) == "=~"
        self._script.commands.append(Command(tuple(words), test=True, start=reader.base + start, end=self._place()))

    def _regex(self) -> Word:
        """The right side of `=~`: parentheses and bars are its own."""
        word = self._reader.word(REGEX_BREAKS)
        text = "".join(part.value for part in word.parts if isinstance(part, Text) and not part.quoted)
        if not word.parts or text.count("(") != text.count(")"):
            raise self._reader.fail("a regular expression that is not known")
        return word

    def _assignment(self, match: re.Match[str]) -> Assignment:
        reader = self._reader
        if match[2] == "+=":
            reader.bashisms.append("`+=`")
            if not reader.bash:
                raise reader.fail("`+=`")
        reader.at = match.end()
        if not reader.peek("("):
            return Assignment(match[1], (reader.word(),))
        reader.bashisms.append("an array")
        if not reader.bash:
            raise reader.fail("an array")
        reader.at += 1
        values: list[Word] = []
        self._newlines()
        while not reader.peek(")"):
            values.append(self._word())
            if self._literal(values[-1]).startswith("["):
                raise reader.fail("a subscript")
            self._newlines()
        reader.at += 1
        return Assignment(match[1], tuple(values), array=True)

    def _redirect(self) -> Redirect | None:
        reader, start = self._reader, self._reader.at
        digits = DIGITS.match(reader.text, start)
        fd = digits[0] if digits else ""
        reader.at += len(fd)
        operator = next((op for op in REDIRECTS if reader.peek(op)), "")
        if operator in BASH_REDIRECTS and not reader.bash:
            operator = "" if operator.startswith("&") else "<<"
        if (
            not operator
            or (fd and operator.startswith("&"))
            or (reader.bash and operator in "<>" and reader.text[reader.at + 1 : reader.at + 2] == "(")
        ):
            reader.at = start
            return None
        self._operator(operator)
        if operator in BASH_REDIRECTS:
            reader.bashisms.append(f"`{operator}`")
        reader.skip_blanks()
        following = reader.text[reader.at + 1 : reader.at + 2]
        if operator in (">&", "<&") and reader.peek("-") and following not in BREAKS | {""}:
            raise reader.fail("a word right after a closed descriptor")
        redirect = Redirect(operator, self._word(), fd, start=reader.base + start)
        if operator in ("<<", "<<-"):
            if not self._is_delimiter(redirect.target):
                raise reader.fail("a here-document delimiter that is not known")
            reader.waiting.append(redirect)
        return redirect

    def _is_delimiter(self, word: Word) -> bool:
        text = "".join(part.value for part in word.parts if isinstance(part, Text))
        return bool(text) and "\n" not in text and all(isinstance(part, Text) for part in word.parts)

    def _place(self) -> int:
        return self._reader.base + self._reader.at

    def _word(self) -> Word:
        """A word that must be there."""
        reader = self._reader
        start, word = reader.at, reader.word()
        if not word.parts:
            raise reader.fail("a word is missing")
        if reader.text[reader.at : reader.at + 1] in ("<", ">") and "\\\n" in reader.text[start : reader.at]:
            raise reader.fail("a joined line before a redirection")
        if reader.peek("<") or reader.peek(">"):
            literal = self._literal(word)
            if literal.isdigit() or (literal.startswith("{") and literal.endswith("}")):
                raise reader.fail("a descriptor that is not known")
        return word

    def _literal(self, word: Word) -> str:
        """The text of a word in which nothing is quoted and nothing expands, else an empty string."""
        match word.parts:
            case (Text(value=value, quoted=False),):
                return value
        return ""

    def _plain_ahead(self) -> str:
        """The unquoted word that comes next, empty where it is anything else; nothing is read."""
        text, at = self._reader.text, self._reader.at
        characters: list[str] = []
        while at < len(text) and text[at] not in " \t\n" and text[at] not in OPERATOR_CHARACTERS:
            if text.startswith("\\\n", at):
                at += 2
            elif text[at] in "\\'\"$`":
                return ""
            else:
                characters.append(text[at])
                at += 1
        return "".join(characters)

    def _reserved(self) -> str:
        """The word that comes next, where a reserved word may stand."""
        self._reader.skip_blanks()
        return self._plain_ahead()

    def _take(self) -> None:
        self._reader.word()

    def _operator(self, operator: str) -> bool:
        """Read this operator, if it comes next. A joined line may follow it, but not cut it in two."""
        reader = self._reader
        if not reader.peek(operator):
            return False
        reader.at += len(operator)
        self._joiner = operator if operator in JOINERS else self._joiner
        after = reader.at
        while reader.text.startswith("\\\n", after):
            after += 2
        if after != reader.at and reader.text[after : after + 1] in OPERATOR_CHARACTERS - {""}:
            raise reader.fail("a joined line between operators")
        return True

    def _expect(self, operator: str) -> None:
        self._reader.skip_blanks()
        if not self._operator(operator):
            raise self._reader.fail(f"`{operator}` is missing")

    def _close(self, close: str) -> None:
        if close == ")":
            self._expect(")")
        elif self._reserved() == close:
            self._take()
        else:
            raise self._reader.fail(f"`{close}` is missing")

    def _newlines(self) -> None:
        """Go past blanks, comments and newlines, with the here-documents that they begin."""
        reader = self._reader
        reader.skip_blanks()
        while reader.peek("\n"):
            reader.at += 1
            self._joiner = self._joiner or ";"
            read_bodies(reader)
            reader.skip_blanks()
