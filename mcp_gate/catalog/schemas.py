"""Is what a server lists usable, and do the arguments of a call fit it?

A definition reaches the host as the server wrote it, and hosts refuse a whole list for one bad tool, so every
definition is looked at alone: a bad one costs only itself.

| the definition                                             | is      |
| ---------------------------------------------------------- | ------- |
| not an object; a name that is missing, blank or too long   | refused |
| a name with control or invisible characters                | refused |
| `inputSchema` that is no object, or describes no object    | refused |
| a known field of the wrong type (hosts check those)        | refused |
| nested deeper than 64, bigger than 100 kB, not proper JSON | refused |
| anything else, unknown fields included                     | usable  |
"""

import json
from collections.abc import Mapping
from typing import Any

MAX_TOOL_NAME = 128
MAX_DEPTH = 64
MAX_BYTES = 100_000

_OPTIONAL_FIELDS: dict[str, tuple[type, str]] = {
    "description": (str, "a string"),
    "title": (str, "a string"),
    "outputSchema": (dict, "an object"),
    "annotations": (dict, "an object"),
    "execution": (dict, "an object"),
    "icons": (list, "an array"),
    "_meta": (dict, "an object"),
}


def definition_problem(raw: Any) -> str | None:
    """Why one entry of a server's `tools/list` cannot be shown to a host, or None if it can. Never raises."""
    if not isinstance(raw, dict):
        return "is not an object"
    return _name_problem(raw.get("name")) or _nesting_problem(raw) or _text_problem(raw) or _field_problem(raw)


def argument_errors(schema: dict[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with `arguments`, one readable line each, at most five; empty where nothing is, or where the
    schema cannot be checked (the server checks for itself). Never raises.
    """
    # jsonschema takes 160 ms to import, which a session that only lists tools should not pay
    from mcp_gate.catalog import arguments as checker

    return checker.errors(schema, arguments)


def _name_problem(name: object) -> str | None:
    if not isinstance(name, str):
        return "has no `name`" if name is None else "`name` is not a string"
    if not name.strip():
        return "`name` is empty"
    if len(name) > MAX_TOOL_NAME:
        return f"`name` has {len(name)} characters, {MAX_TOOL_NAME} are the most"
    return None if name.isprintable() else "`name` has control or invisible characters"


def _nesting_problem(raw: dict[str, Any]) -> str | None:
    # level by level instead of by recursion: the nesting of a hostile server must not become our own stack
    level: list[Any] = [raw]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for value in level
            for child in (value.values() if isinstance(value, dict) else value)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return None
    return f"is nested deeper than {MAX_DEPTH} levels"


def _text_problem(raw: dict[str, Any]) -> str | None:
    try:
        size = len(json.dumps(raw, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode())
    except (TypeError, ValueError):  # NaN, half of a surrogate pair, a number with thousands of digits
        return "holds a value that JSON cannot carry (`NaN`, an endless number, half a character)"
    return f"has {size} bytes, {MAX_BYTES} are the most" if size > MAX_BYTES else None


def _field_problem(raw: dict[str, Any]) -> str | None:
    schema = raw.get("inputSchema")
    if not isinstance(schema, dict):
        return "`inputSchema` is not an object" if "inputSchema" in raw else "has no `inputSchema`"
    if schema.get("type", "object") != "object":
        return "`inputSchema.type` is not `object`"
    if not isinstance(schema.get("properties", {}), dict):
        return "`inputSchema.properties` is not an object"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        return "`inputSchema.required` is not an array of strings"
    for field, (kind, words) in _OPTIONAL_FIELDS.items():
        if field in raw and not isinstance(raw[field], kind):
            return f"`{field}` is not {words}"
    return None
