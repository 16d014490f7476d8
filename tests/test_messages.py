"""One line of the wire: read, or refused with a reason."""

import json
from typing import Any

import pytest

from mcp_gate.wire.messages import MAX_DEPTH, MalformedError, NoiseError, is_id, malformed, read_line, write_line

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
        (b"\xef\xbb\xbf \t" + WIRE, [PING]),
        (b"\xef\xbb\xbf\r", []),
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
        b"[info] caf\xe9",
        b"[" * 100_000,
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
        (b'{"jsonrpc":"2.0","id":7,"result":{"n":[1e999]}}', "1e999 is too big", 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"n":' + b"[" * 200 + b"1" + b"]" * 200 + b"}}", "deeper than 128", 7),
        (b'{"result":' + b'{"a":' * 200 + b"1" + b"}" * 200 + b',"jsonrpc":"2.0","id":7}', "deeper than 128", 7),
        (b'{"jsonrpc":"2.0","result":{"id":7,"text":"half', "JSON", None),
        (b'{"jsonrpc":"2.0","result":{"text":[],"id":7}', "JSON", None),
        (b'{"jsonrpc":"2.0","id":7,"result":{}}{"jsonrpc":"2.0"}', "JSON", 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"text":"half', "JSON", 7),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a\x00b":1}}', "JSON", 7),
        (b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xff"}}', "UTF-8", None),
    ],
)
def test_what_cannot_be_read_says_why_and_whose_it_is(line: bytes, why: str, request_id: int | str | None) -> None:
    with pytest.raises(MalformedError, match=why) as refused:
        read_line(line)
    assert refused.value.id == request_id
    assert refused.value.is_request == (b'"method"' in line)


@pytest.mark.parametrize(
    ("depth", "is_read"), [(MAX_DEPTH - 2, True), (MAX_DEPTH - 1, False)], ids=["the most", "one more"]
)
def test_nesting_has_a_limit_far_from_our_own_stack(depth: int, is_read: bool) -> None:
    line = b'{"jsonrpc":"2.0","id":1,"result":{"wide":[%b],"deep":%b}}' % (
        b",".join([b"{}"] * 1_000),
        b"[" * depth + b"]" * depth,
    )
    if is_read:
        assert write_line(read_line(line)[0]) == line + b"\n"
    else:
        with pytest.raises(MalformedError, match="nested deeper"):
            read_line(line)


@pytest.mark.parametrize(
    ("head", "tail", "request_id"),
    [
        (b'\xef\xbb\xbf { "id" : 3 , "jsonrpc" : "2.0" , "result" : {', b"}}", 3),
        (b'{"jsonrpc":"2.0","result":{"id":5,"x":', b'},"id":9}', 9),
        (b'{"jsonrpc":"2.0","result":{"id":5,"x":', b'"}}', None),
        (b'{"result":{"text":"', b'\\"id\\":5}"}}', None),
        (b'{"jsonrpc":"2.0","id":1234567890123456789012,"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":true,"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":12,"result":{', b"}}", 12),
        (b'{"result":{"content":[', b']},"jsonrpc":"2.0","id":"x"}', "x"),
        (b'{"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":null,"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":1.5,"result":{', b"}}", None),
        (b'{"jsonrpc":"2.0","id":"\\u0041","result":{', b"}}", "A"),
    ],
)
def test_an_id_is_salvaged_from_either_end_and_never_from_inside(
    head: bytes, tail: bytes, request_id: int | str | None
) -> None:
    assert malformed("", head, tail).id == request_id


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


@pytest.mark.parametrize(
    ("head", "tail", "is_request"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"x","params":{', b"}}", True),
        (b'{"method":"x","params":{', b'},"jsonrpc":"2.0","id":1}', True),
        (b'{"jsonrpc":"2.0","id":null,"method":"x","params":{', b"}}", True),
        (b'{"jsonrpc":"2.0","id":1,"result":{"method":"x","a":', b"}}", False),
        (b'{"jsonrpc":"2.0","id":1,"result":{', b'"method":"x"}}', False),
    ],
)
def test_a_request_is_told_from_an_answer_that_speaks_of_methods(head: bytes, tail: bytes, is_request: bool) -> None:
    assert malformed("", head, tail).is_request is is_request


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_json_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_line({**PING, "params": {"n": value}})
