"""A host's own JSON configuration (`mcpServers`, or VS Code's `servers`), turned into the shape of servers.toml.

| a server there | here |
| --- | --- |
| `command`, `args`, `env`, `cwd` | kept |
| `disabled: true` | `enabled = false` |
| `timeout` in milliseconds | seconds; below 1000 the host ignores it, and so does the gate |
| a `url`, or a `type` that is not stdio | passed over with a note: remote servers are not supported yet |
| the gate itself | passed over with a note: it would start itself for ever |
| a name the gate cannot use | the nearest one it can, with a note |
| any other key | the host's own business |
"""

import re
from collections.abc import Container
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from mcp_gate.documents import dotted, parse_json
from mcp_gate.errors import ConfigError, Problem

KEPT = ("command", "args", "env", "cwd")
LONGEST_TIMEOUT = 86_400.0


def is_hostfile(path: Path, content: bytes) -> bool:
    """Whether this is JSON: by its name, or by a first character with which no TOML begins."""
    return path.suffix == ".json" or content.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")


def read_hostfile(content: bytes, label: str) -> tuple[dict[str, Any], str, list[str]]:
    """The document as servers.toml would have it, the key its servers stood under, and notes on what was changed.

    Raises ConfigError where it is not JSON or holds no servers. Values of a wrong type are left for the loader to find.
    """
    document = parse_json(content, label)
    root = next((key for key in ("mcpServers", "servers") if key in document), None)
    if root is None:
        raise ConfigError([Problem(label, "", "holds no servers; expected an object `mcpServers`")])
    if not isinstance(document[root], dict):
        raise ConfigError([Problem(label, root, "must be an object")])
    servers: dict[str, Any] = {}
    notes: list[str] = []
    for name, entry in document[root].items():
        if why := _why_passed_over(entry):
            notes.append(f"{label}: {dotted((root, name))}: {why}, passed over")
            continue
        usable = _usable_name(name, {taken.lower() for taken in servers})
        if usable != name:
            why = f"is called `{usable}` here; names are letters, digits, `-` and `_`"
            notes.append(f"{label}: {dotted((root, name))}: {why}")
        servers[usable] = _converted(entry)
    return {"servers": servers}, root, notes


def _why_passed_over(entry: Any) -> str:
    if not isinstance(entry, dict):
        return ""
    if "url" in entry or "serverUrl" in entry or entry.get("type", "stdio") not in ("stdio", None):
        return "remote servers are not supported yet"
    command, args = entry.get("command"), entry.get("args")
    words = args if isinstance(args, list) else []
    if isinstance(command, str) and PurePath(command).stem == "mcp-gate":
        return "is the gate itself"
    if "mcp-gate" in words or ("-m", "mcp_gate") in pairwise(words):
        return "is the gate itself"
    return ""


def _converted(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    server = {key: entry[key] for key in KEPT if entry.get(key) is not None}
    if "disabled" in entry:
        server["enabled"] = entry["disabled"] is not True
    timeout = entry.get("timeout")
    if isinstance(timeout, int | float) and timeout >= 1000:
        server["timeout"] = min(timeout / 1000, LONGEST_TIMEOUT)
    return server


def _usable_name(name: str, taken: Container[str]) -> str:
    """The nearest name that the gate accepts and no earlier server has."""
    usable = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9_-]", "_", name)) if not _is_plain(name) else name
    usable = usable.lstrip("_-").rstrip("_") or "server"
    if usable.lower() == "mcp":
        usable = f"{usable}-server"
    number, candidate = 1, usable
    while candidate.lower() in taken:
        number += 1
        candidate = f"{usable}-{number}"
    return candidate


def _is_plain(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z0-9_-]+", name) is not None and "__" not in name
