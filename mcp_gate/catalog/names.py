"""The names that tools have behind the gate.

Hosts put their own prefix before a name (`mcp__gate__…`) and the whole must fit the 64 characters that model APIs take,
so a gate name has at most 53 characters, all of them letters, digits, `_` or `-`.
"""

import hashlib
import re

MAX_NAME = 53

_FOREIGN = re.compile(r"[^A-Za-z0-9_-]")
_HASH_DIGITS = 8


def gate_name(prefix: str, tool: str) -> str:
    """The gate's name for the server's tool `tool`: `git__` and `git_status` make `git__git_status`.

    Foreign characters become `_`. What is too long is cut and ends in a hash of the whole original, so the name is the
    same in every run and two long names that begin alike stay apart.
    """
    original = prefix + tool
    name = _FOREIGN.sub("_", original)
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(original.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH_DIGITS]
    return f"{name[: MAX_NAME - _HASH_DIGITS - 1]}_{digest}"
