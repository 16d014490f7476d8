"""One line of the wire: read into dicts, or refused with a reason.

| a line | is |
| --- | --- |
| blank, or white space | nothing |
| CR at its end, a byte order mark at its start | read as if they were not there |
| no JSON at all (a banner, a log line) | noise |
| JSON that is no message: a number, a string, an object without `"jsonrpc": "2.0"` | noise |
| an array | each of its members |
| meant as a message, but invalid UTF-8, nested too deep, cut off | malformed, with its id if that can be told |
| the same with a number that goes into no JSON again: NaN, 1e999, thousands of digits | malformed, likewise |

What is meant as a message has `"jsonrpc"` near one of its ends.
"""

import json
import math
import re
from typing import Any, NoReturn

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
UNSUPPORTED_VERSION = -32022

Message = dict[str, Any]

MAX_DEPTH = 128  # what is read here is walked and written by recursion elsewhere
ENDS = 256  # bytes of a line's head and tail that are searched for an id: serializers put it at either end

_BOM = b"\xef\xbb\xbf"
_MEMBER = rb'"(?:id|jsonrpc|method)"\s*:\s*(?:-?\d{1,18}|null|"(?:[^"\\\x00-\x1f]|\\.){0,200}")\s*'
# Only what directly follows the first brace or precedes the last one is the message's own: an `"id"` anywhere else
# may be of something inside it, and would end another call.
_FIRST = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*\{\s*((?:" + _MEMBER + rb",\s*)*)")
_LAST = re.compile(rb"((?:,\s*" + _MEMBER + rb")+)\}\s*$")


class RpcError(Exception):
    """A JSON-RPC error object, in either direction. Same shape as the SDK's `MCPError(code, message, data)`."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(code, message, data)
        self.code, self.message, self.data = code, message, data

    def __str__(self) -> str:
        return self.message


class NoiseError(ValueError):
    """A line that is no JSON-RPC message and does not try to be one."""


class MalformedError(ValueError):
    """A line that tries to be a message and cannot be read. `id` is its id where that could be told."""

    def __init__(self, why: str, id: int | str | None, *, is_request: bool) -> None:  # noqa: A002 - the protocol's word
        super().__init__(why)
        self.id, self.is_request = id, is_request


def is_id(value: object) -> bool:
    """Whether `value` can be a request's id: an integer or a string, and 0 is one; true is not."""
    return type(value) is int or type(value) is str


def malformed(why: str, head: bytes, tail: bytes) -> MalformedError:
    """The error for a message of which only the first and last bytes can be trusted; with no `tail`, its first."""
    first, last = _FIRST.match(head[:ENDS]), _LAST.search(tail[-ENDS:])
    parts = [found[1].strip(b", \t\r\n") for found in (first, last) if found is not None]
    try:
        members = json.loads(b"{" + b",".join(filter(None, parts)) + b"}")
    except ValueError:
        members = {}
    found_id = members.get("id")
    return MalformedError(why, found_id if is_id(found_id) else None, is_request="method" in members)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:20]} is too big")
    return number


# made once: `json.loads` and `json.dumps` build a new decoder or encoder for every message with options like these
_read = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite).decode
_write = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def read_line(line: bytes) -> list[Message]:
    """The messages of one line, usually one.

    Raises:
        NoiseError: the line is no message.
        MalformedError: the line was meant to be one.
    """
    line = line.strip(b" \t\r\n").removeprefix(_BOM).lstrip()
    if not line:
        return []
    if line[:1] not in b"{[":
        raise NoiseError("not JSON")
    try:
        value = _read(line.decode())
    except (ValueError, RecursionError) as error:
        raise _refusal(line, error) from None
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _is_deep(value):
        raise malformed(f"it is nested deeper than {MAX_DEPTH} levels", line, line)
    members = value if isinstance(value, list) else [value]
    messages = [m for m in members if isinstance(m, dict) and m.get("jsonrpc") == "2.0"]
    if not messages:
        raise NoiseError("not JSON-RPC")
    return messages


def _refusal(line: bytes, error: ValueError | RecursionError) -> NoiseError | MalformedError:
    if b'"jsonrpc"' not in line[:ENDS] and b'"jsonrpc"' not in line[-ENDS:]:
        return NoiseError("not JSON")
    if isinstance(error, RecursionError):
        return malformed(f"it is nested deeper than {MAX_DEPTH} levels", line, line)
    if isinstance(error, UnicodeDecodeError):
        return malformed(f"invalid UTF-8 at byte {error.start}", line, line)
    is_cut = isinstance(error, json.JSONDecodeError) and error.pos >= len(error.doc)
    return malformed(f"invalid JSON: {error}", line, b"" if is_cut else line)


def _is_deep(value: Any) -> bool:
    level = [value]  # level by level: recursion is what this is to prevent
    for _ in range(MAX_DEPTH):
        containers = [v for v in level if isinstance(v, dict | list)]
        if not containers:
            return False
        level = [child for c in containers for child in (c.values() if isinstance(c, dict) else c)]
    return any(isinstance(v, dict | list) for v in level)


def write_line(message: Message) -> bytes:
    """The bytes of one message, newline included. Pure ASCII, so that half surrogates survive the way through.

    Raises:
        ValueError: the message holds NaN or infinity.
        TypeError: it holds something that JSON has no word for.
    """
    return _write(message).encode() + b"\n"


def error_object(error: Any) -> dict[str, Any]:
    """The `error` member for anything with `code`, `message` and `data`."""
    body = {"code": error.code, "message": error.message}
    return body if error.data is None else {**body, "data": error.data}
