"""One line of the wire: read into dicts, or refused with a reason.

| a line | is |
| --- | --- |
| blank, or white space | nothing |
| CR at its end, a byte order mark at its start | read as if they were not there |
| no JSON at all (a banner, a log line) | noise |
| JSON that is no message: a number, a string, an object without `"jsonrpc": "2.0"` | noise |
| an array | each of its members |
| meant as a message, but invalid UTF-8, NaN, nested too deep, cut off | malformed, with its id if that can be told |
"""

import json
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

_BOM = b"\xef\xbb\xbf"
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\\x00-\x1f]|\\.){0,200}")\s*[,}]')
ENDS = 256  # bytes of a line's head and tail that are searched for an id: serializers put it at either end


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

    def __init__(self, why: str, id: int | str | None = None) -> None:  # noqa: A002 - the protocol's word
        super().__init__(why)
        self.id = id


def is_id(value: object) -> bool:
    """Whether `value` can be a request's id: an integer or a string, and 0 is one; true is not."""
    return type(value) is int or type(value) is str


def salvage_id(head: bytes, tail: bytes = b"") -> int | str | None:
    """The id of a message that cannot be read, from its first or last bytes; None where that is unsure."""
    found = _ID.search(head[:ENDS]) or next(iter(list(_ID.finditer((tail or head)[-ENDS:]))[-1:]), None)
    if found is None:
        return None
    try:
        value = json.loads(found[1])
    except ValueError:
        return None
    return value if isinstance(value, int | str) else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# made once: `json.loads` and `json.dumps` build a new decoder or encoder for every message with options like these
_read = json.JSONDecoder(parse_constant=_refuse_constant).decode
_write = json.JSONEncoder(separators=(",", ":")).encode


def read_line(line: bytes) -> list[Message]:
    """The messages of one line, usually one.

    Raises:
        NoiseError: the line is no message.
        MalformedError: the line was meant to be one.
    """
    line = line.strip(b" \t\r\n").removeprefix(_BOM)
    if not line:
        return []
    if line[:1] not in b"{[":
        raise NoiseError("not JSON")
    try:
        value = _read(line.decode())
    except UnicodeDecodeError as error:
        raise MalformedError(f"invalid UTF-8 at byte {error.start}", salvage_id(line)) from None
    except RecursionError:
        raise MalformedError("nested too deep", salvage_id(line)) from None
    except ValueError as error:
        if b'"jsonrpc"' not in line[:ENDS] and b'"jsonrpc"' not in line[-ENDS:]:
            raise NoiseError("not JSON") from None
        raise MalformedError(f"invalid JSON: {error}", salvage_id(line)) from None
    members = value if isinstance(value, list) else [value]
    messages = [m for m in members if isinstance(m, dict) and m.get("jsonrpc") == "2.0"]
    if not messages:
        raise NoiseError("not JSON-RPC")
    return messages


def write_line(message: Message) -> bytes:
    """The bytes of one message, newline included. Pure ASCII, so that half surrogates survive the way through."""
    return _write(message).encode() + b"\n"


def error_object(error: Any) -> dict[str, Any]:
    """The `error` member for anything with `code`, `message` and `data`."""
    body = {"code": error.code, "message": error.message}
    return body if error.data is None else {**body, "data": error.data}
