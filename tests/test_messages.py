"""One line of the wire: read, or refused with a reason."""

import json
from typing import Any

import pytest

from mcp_gate.wire.messages import MalformedError, NoiseError, is_id, read_line, salvage_id, write_line

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
WIRE = json.dumps(PING).encode()


@pytest.mark.parametrize(
    ("line", "messages"),
    [
        (WIRE, [PING]),
        (WIRE + b"\r", [PING]),
        (b"\xef\xbb\xbf" + WIRE, [PING]),
        (b"  " + WIRE + b"\t", [PING]),
        (b"[" + WIRE + b"," + WIRE + b"]", [PING, PING]),
        (b"[1," + WIRE + b"]", [PING]),
        (b"", []),
        (b"   \r", []),
    ],
)
def test_what_is_a_message_is_read(line: bytes, messages: list[Any]) -> None:
    assert read_line(line) == messages


@pytest.mark.parametrize(
    "line",
    [
        b"listening on port 1",
        b"42",
        b"null",
        b'"text"',
        b"[]",
        b"{}",
        b'{"level":"info"}',
        b'{"jsonrpc":"1.0"}',
        b"{oops",
    ],
)
def test_what_does_not_try_to_be_a_message_is_noise(line: bytes) -> None:
    with pytest.raises(NoiseError):
        read_line(line)


@pytest.mark.parametrize(
    ("line", "why", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"caf\xe9"}}', "UTF-8", 7),
        (b'{"result":{"text":"\xff"},"jsonrpc":"2.0","id":"a-7"}', "UTF-8", "a-7"),
        (b'{"jsonrpc":"2.0","id":7,"result":{"n":NaN}}', "NaN", 7),
        (b'{"jsonrpc":"2.0","id":0,"result":{"n":-Infinity}}', "Infinity", 0),
        (b'{"jsonrpc":"2.0","id":7,"result":' + b"[" * 100_000, "deep", 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"n":' + b"9" * 20_000 + b"}}", "JSON", 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"half', "JSON", 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a\x00b":1}}', "JSON", 7),
        (b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xff"}}', "UTF-8", None),
    ],
)
def test_what_cannot_be_read_says_why_and_whose_it_is(line: bytes, why: str, request_id: int | str | None) -> None:
    with pytest.raises(MalformedError, match=why) as refused:
        read_line(line)
    assert refused.value.id == request_id


@pytest.mark.parametrize(
    ("head", "tail", "request_id"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{', b"}}", 12),
        (b'{"result":{"content":[', b']},"jsonrpc":"2.0","id":"x"}', "x"),
        (b'{"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":null,"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":"\\u0041","result":{', b"}}", "A"),
    ],
)
def test_an_id_is_salvaged_from_either_end(head: bytes, tail: bytes, request_id: int | str | None) -> None:
    assert salvage_id(head, tail) == request_id


@pytest.mark.parametrize(
    ("value", "valid"), [(0, True), ("", True), (-1, True), (True, False), (1.0, False), (None, False)]
)
def test_only_integers_and_strings_are_ids(value: object, valid: bool) -> None:
    assert is_id(value) is valid


@pytest.mark.parametrize("text", ["grüße", "\ud800", "\x00\n\r", "\u2028"])
def test_what_is_written_is_one_line_and_reads_back_the_same(text: str) -> None:
    message = {**PING, "params": {"text": text}}
    line = write_line(message)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert read_line(line) == [message]
