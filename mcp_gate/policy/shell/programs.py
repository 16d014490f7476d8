r"""Programs given to commands, of `sed` and `awk` above all: do they only read and print?

The readers of sed and awk are strict: what they do not understand is a reason, as is a part that is not known. Where
implementations read a program in different ways (a delimiter inside `[…]`, a `/` that may divide or begin a regular
expression), it is not understood.

| in a program                                            | is                                                   |
| ------------------------------------------------------- | ---------------------------------------------------- |
| sed: addresses, `s` and `y`, `a` `i` `c`, branches, `r` | harmless                                             |
| sed: `w`, `W`, `s///w`                                  | writes a file                                        |
| sed: `e`, `s///e`                                       | runs a program                                       |
| awk: strings, regular expressions, comments             | skipped                                              |
| awk: `system`, a single `|`, `|&`                       | runs a program                                       |
| awk: `@include`, `@load`, `@f()`                        | loads code, or calls what only a variable names      |
| awk: `>` in a `print` outside its parentheses, any `>>` | writes a file                                        |
| awk: any other `>`                                      | a comparison                                         |
"""

import re

from mcp_gate.policy.shell.syntax import UNKNOWN

NOT_KNOWN = "a part is not known"
NOT_UNDERSTOOD = "a part is not understood"

_BLANKS = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"[ \t\n;]*")
_ADDRESS_END = re.compile(r"[ \t!]*")
_COUNT = re.compile(r"[0-9]+(?:~[0-9]+)?|\$|[+~][0-9]+")
_SED_FLAGS = re.compile(r"[gpiImM0-9]*")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.-]*")
_NUMBER = re.compile(r"[ \t]*[0-9]*")
_FILE = re.compile(r"[ \t]*[^;{}\n\\]+")
_TEXT = re.compile(r"(?:[^\\\n]|\\[\s\S])*")
_DELIMITERS = frozenset("/|,#:;!@%_+~=\"'&<>-")
_SED_RISKS = {"w": "`w` writes a file", "W": "`W` writes a file", "e": "`e` runs a program"}
_ARGUMENTS = {":": _LABEL, "b": _LABEL, "t": _LABEL, "T": _LABEL, "r": _FILE, "R": _FILE}
_ARGUMENTS |= dict.fromkeys("qQl", _NUMBER) | dict.fromkeys("aic", _TEXT) | {"#": re.compile(r"[^\n]*")}
_BARE = frozenset("dDgGhHnNpPx=zF}")


class _NotUnderstoodError(Exception):
    """The reader does not know how to go on."""


def sed_risk(script: str) -> str:
    """What a sed script does besides reading and printing; empty where that is nothing."""
    if UNKNOWN in script:
        return NOT_KNOWN
    try:
        at = _skip(_BETWEEN, script, 0)
        while at < len(script):
            at, risk = _sed_command(script, _sed_addresses(script, at))
            if risk:
                return risk
            at = _skip(_BETWEEN, script, at)
    except _NotUnderstoodError:
        return NOT_UNDERSTOOD
    return ""


def _skip(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    if match is None:
        raise _NotUnderstoodError
    return match.end()


def _sed_addresses(script: str, at: int) -> int:
    """Where the command after the addresses begins."""
    end = _sed_address(script, at)
    if end > at and (comma := _skip(_BLANKS, script, end)) < len(script) and script[comma] == ",":
        start = _skip(_BLANKS, script, comma + 1)
        end = _sed_address(script, start)
        if end == start:
            raise _NotUnderstoodError
    return _skip(_ADDRESS_END, script, end)


def _sed_address(script: str, at: int) -> int:
    if count := _COUNT.match(script, at):
        return count.end()
    if script.startswith("/", at):
        end = _delimited(script, at + 1, "/")
    elif script.startswith("\\", at) and script[at + 1 : at + 2] in _DELIMITERS:
        end = _delimited(script, at + 2, script[at + 1])
    else:
        return at
    while script[end : end + 1] in ("I", "M"):
        end += 1
    return end


def _sed_command(script: str, at: int) -> tuple[int, str]:
    """Where the command at `at` ends, and what it does."""
    command = script[at : at + 1]
    at += 1
    if risk := _SED_RISKS.get(command):
        return at, risk
    if command == "{":
        return at, ""
    if command in ("s", "y"):
        at = _sed_pair(script, at)
        at = _skip(_SED_FLAGS, script, at) if command == "s" else at
        if command == "s" and (risk := _SED_RISKS.get(script[at : at + 1])):
            return at, risk
    elif command in _ARGUMENTS:
        at = _skip(_ARGUMENTS[command], script, at)
    elif command not in _BARE:
        raise _NotUnderstoodError
    at = _skip(_BLANKS, script, at)
    if script[at : at + 1] not in ("", ";", "\n", "}", "#"):
        raise _NotUnderstoodError
    return at, ""


def _sed_pair(script: str, at: int) -> int:
    """Where the two parts of `s/…/…/` or `y/…/…/` end."""
    delimiter = script[at : at + 1]
    if delimiter not in _DELIMITERS:
        raise _NotUnderstoodError
    middle = _delimited(script, at + 1, delimiter)
    return _delimited(script, middle, delimiter, brackets=False)


def _delimited(text: str, at: int, delimiter: str, *, brackets: bool = True) -> int:
    """The place after the next `delimiter` that is not escaped."""
    while at < len(text):
        character = text[at]
        if character == delimiter:
            return at + 1
        if character == "\n" or (brackets and text.startswith("\\\n", at)):
            break
        if character == "\\":
            at += 2
        elif character == "[" and brackets:
            at = _bracket(text, at + 1, delimiter)
        else:
            at += 1
    raise _NotUnderstoodError


_CLASS = re.compile(r"\[([:.=])[a-z]+\1\]")


def _bracket(text: str, at: int, delimiter: str) -> int:
    """The place after a bracket expression that every implementation ends in the same place."""
    at += text.startswith("^", at)
    start = at
    while at < len(text) and text[at] not in (delimiter, "\n"):
        if text[at] == "]":
            if at == start:
                break
            return at + 1
        if text[at] == "[" and (known := _CLASS.match(text, at)):
            at = known.end()
        elif text[at] == "\\":
            if text[at + 1 : at + 2] == "]":
                break
            at += 2
        elif text.startswith(("[:", "[.", "[="), at):
            break
        else:
            at += 1
    raise _NotUnderstoodError


_AWK_TOKEN = re.compile(
    r"""(?P<skip>[ \t]+|\\\n|\#[^\n]*)|(?P<string>"(?:[^"\\\n]|\\[^\n])*")|(?P<number>[0-9.]+(?:[eE][+-]?[0-9]+)?)"""
    r"""|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<mark>&&|\|\||\|&|>>|>=|[-+]{2}|[-+*%^=<!]=|\*\*=?|[-+*%^=<>!?:;,~${}()\[\]|@/\n])"""
)
# after these names, an operand follows: a `/` begins a regular expression
_BEFORE_OPERAND = frozenset({"print", "printf", "return", "in", "case", "else", "do", "exit"})
_MAY_STAND_ALONE = frozenset({"getline", "length", "BEGIN", "END"})
_GOES_ON = frozenset({",", "&&", "||", "?", ":", "do", "else"})


def awk_risk(program: str) -> str:
    """What an awk program does besides reading and printing; empty where that is nothing."""
    if UNKNOWN in program:
        return NOT_KNOWN
    try:
        return _awk_risk(program)
    except _NotUnderstoodError:
        return NOT_UNDERSTOOD


def _awk_risk(program: str) -> str:
    at, depth, previous = 0, 0, "\n"
    printing: int | None = None  # how deep in parentheses the `print` stands whose statement goes on
    while at < len(program):
        match = _AWK_TOKEN.match(program, at)
        if match is None:
            raise _NotUnderstoodError
        at, token = match.end(), match[0]
        if match.lastgroup == "skip":
            continue
        if token == "/" and _begins_regex(previous, program, at):
            at, token = _delimited(program, at, "/"), '"'
        if risk := _token_risk(token, redirects=printing is not None and depth <= printing):
            return risk
        if token in ("print", "printf"):
            printing = depth
        elif token in (";", "}") or (token == "\n" and previous not in _GOES_ON):
            printing = None
        depth += (token == "(") - (token == ")")
        if depth < 0:
            raise _NotUnderstoodError
        if token != "\n" or previous not in _GOES_ON:
            previous = token
    return ""


def _token_risk(token: str, *, redirects: bool) -> str:
    if token in ("system", "|", "|&"):
        return f"`{token}` runs a program"
    if token == "@":
        return "`@` loads code, or calls what only a variable names"
    if token == ">>" or (token == ">" and redirects):
        return f"`{token}` writes a file"
    return ""


def _begins_regex(previous: str, program: str, at: int) -> bool:
    """Whether the `/` before `at` begins a regular expression, and does not divide.

    After `)` it may do either, and which one it is only the whole grammar tells: it divides where no other `/` follows
    in the line that could end a regular expression.
    """
    if previous == ")" or previous in _MAY_STAND_ALONE:
        slash, newline = program.find("/", at), program.find("\n", at)
        if slash >= 0 and not 0 <= newline < slash:
            raise _NotUnderstoodError
        return False
    operand = previous[0].isalnum() or previous[0] in '_".' or previous in ("]", "++", "--")
    return not operand or previous in _BEFORE_OPERAND


_SWITCHES = frozenset({"", "yes", "no", "true", "false", "on", "off", "y", "n"})
_HARMLESS_DOTS = frozenset({".databases", ".headers", ".help", ".indexes", ".mode", ".schema", ".show", ".tables"})
_ODD_SQL = re.compile(r"\b(?:writefile|edit|load_extension|fts3_tokenizer)\b", re.IGNORECASE)


def make_risk(operand: str) -> bool:
    """Whether an operand of `make` sets a variable that could bring in a command: any but a plain switch."""
    name, equals, value = operand.partition("=")
    plain = name.isidentifier() and name != "SHELL" and (value.isdigit() or value.lower() in _SWITCHES)
    return UNKNOWN in operand or (bool(equals) and not plain)


def sql_risk(operand: str) -> bool:
    """Whether `sqlite3` does more with a text than query or change its database."""
    if UNKNOWN in operand:
        return True
    if operand.startswith("."):
        return operand.split()[0] not in _HARMLESS_DOTS
    return _ODD_SQL.search(operand) is not None
