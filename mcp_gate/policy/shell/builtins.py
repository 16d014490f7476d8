"""Commands that need no rule, variables that do no harm, programs that run what they read."""

import re
from collections.abc import Sequence

from mcp_gate.policy.shell.arguments import is_free_name
from mcp_gate.policy.shell.syntax import UNKNOWN
from mcp_gate.policy.shell.wrappers import SHELLS, base_name, invoked

HARMLESS_VARIABLES = frozenset(
    {
        "LANG",
        "LANGUAGE",
        "TZ",
        "CI",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "TERM",
        "COLUMNS",
        "LINES",
    }
    | {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "NODE_ENV", "RUST_BACKTRACE", "DEBIAN_FRONTEND"}
)
BINDING = frozenset({"export", "declare", "typeset", "readonly", "local", "read", "unset", "mapfile", "readarray"})
COMPARISONS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
NUMBER = re.compile(r"-?[0-9]+|\$[?#$!]|0")
SET_OPTIONS = re.compile(r"[-+][eux]+")
INTERPRETERS = re.compile(
    r"python[0-9.]*|pypy[0-9.]*|node|nodejs|deno|bun|ruby|perl|php|lua[0-9.]*|Rscript|R|osascript|tclsh|psql|mysql|sqlite3|bc|dc|ed|ex|at|batch|m4|gdb|awk|make"
)


def harmless_assignment(name: str) -> bool:
    """Whether this variable may be set before a command without a rule for it."""
    return name in HARMLESS_VARIABLES or name.startswith("LC_")


def binding(words: Sequence[str]) -> frozenset[int]:
    """The words by which a built-in sets a variable that may change what other commands do: a rule must spell them."""
    if words[0] not in BINDING:
        return frozenset()
    names = [(at, word.partition("=")[0].rstrip("+")) for at, word in enumerate(words) if at]
    return frozenset(
        at for at, name in names if not (name.startswith("-") or is_free_name(name) or harmless_assignment(name))
    )


def free_reason(words: Sequence[str], *, conditional: bool = False) -> str | None:
    """None where the command needs a rule; empty where it needs none; else why it is never allowed.

    conditional: the words are those inside `[[ … ]]`.
    """
    if conditional:
        return _test(words)
    name, rest = words[0], words[1:]
    if name in ("true", "false", ":"):
        return ""
    if name in ("test", "["):
        return _test(rest) or "" if not _test(rest) else None
    if name == "set" and rest and all(_is_set_option(rest, at) for at in range(len(rest))):
        return ""
    if name == "read" and rest:
        names = rest[1:] if rest[0] == "-r" else rest
        if names and all(is_free_name(word) for word in names):
            return ""
    return None


def _is_set_option(words: Sequence[str], at: int) -> bool:
    word = words[at]
    if at and words[at - 1].endswith("o") and words[at - 1][:1] in "-+":
        return word == "pipefail"
    return SET_OPTIONS.fullmatch(word) is not None or re.fullmatch(r"[-+][eux]*o", word) is not None


def _test(words: Sequence[str]) -> str:
    """Why a test is not harmless: some of its operators evaluate what they are given."""
    for at, word in enumerate(words):
        if word in ("-v", "-R"):
            return f"`{word}` in a test evaluates its operand"
        if word in COMPARISONS:
            for operand in (words[at - 1] if at else "", *words[at + 1 : at + 2]):
                if not NUMBER.fullmatch(operand):
                    return f"`{word}` in a test evaluates its operands"
    return ""


def runs_input(words: Sequence[str]) -> bool:
    """Whether a command runs what it reads from its standard input."""
    name = base_name(words[0])
    if name in SHELLS:
        shell = invoked(words)
        return shell is not None and shell.is_input
    if INTERPRETERS.fullmatch(name) is None:
        return False
    operands = [word for word in words[1:] if not word.startswith("-")]
    if name in ("awk", "make"):
        return any(word in ("-", "-f-", "/dev/stdin") for word in words[1:])
    return not operands or "-" in words[1:] or any(UNKNOWN in word for word in words[1:2])
