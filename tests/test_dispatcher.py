"""Calls and answers over pipes: between two of our dispatchers, and byte by byte."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from mcp_gate.wire.context import Context, Params
from mcp_gate.wire.dispatcher import Dispatcher
from mcp_gate.wire.messages import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    RpcError,
)

pytestmark = pytest.mark.anyio
Json = dict[str, Any]


class Side:
    """One end: answers `echo`, fails on `fail` and `crash`, waits on `wait`, and keeps notifications."""

    def __init__(self, fd: int, peer: str, **options: Any) -> None:
        self.dispatcher = Dispatcher(fd, os.dup(fd), peer=peer, **options)
        self.notes: list[tuple[str, Params]] = []
        self.noted = anyio.Event()
        self.waiting = anyio.Event()
        self.cancelled = anyio.Event()
        self.contexts: list[Context] = []

    async def on_request(self, context: Context, method: str, params: Params) -> Json:
        self.contexts.append(context)
        match method:
            case "echo":
                return dict(params or {})
            case "fail":
                raise RpcError(-32007, "on purpose", {"detail": 1})
            case "crash":
                raise KeyError("a bug")
            case "ask":
                return await context.send_raw_request("echo", {"back": True})
            case "progress":
                await context.progress(0.5, 1, "half")
                return {}
        self.waiting.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.cancelled.set()
        raise AssertionError

    async def on_notify(self, _context: Context, method: str, params: Params) -> None:
        self.notes.append((method, params))
        self.noted.set()


@asynccontextmanager
async def two_sides(**options: Any) -> AsyncIterator[tuple[Side, Side]]:
    """Two dispatchers that talk to each other."""
    ends = socket.socketpair()
    with ends[0], ends[1]:
        ours, theirs = (Side(end.fileno(), name, **options) for end, name in zip(ends, ("theirs", "ours"), strict=True))
        async with anyio.create_task_group() as tasks:
            for side in (ours, theirs):
                await tasks.start(side.dispatcher.run, side.on_request, side.on_notify)
            with anyio.fail_after(20):
                yield ours, theirs
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def raw_peer(**options: Any) -> AsyncIterator[tuple[Side, "Raw"]]:
    """A dispatcher, and a bare socket as its peer."""
    mine, other = socket.socketpair()
    other.setblocking(False)
    with mine, other:
        side = Side(mine.fileno(), "the peer", **options)
        async with anyio.create_task_group() as tasks:
            await tasks.start(side.dispatcher.run, side.on_request, side.on_notify)
            with anyio.fail_after(20):
                yield side, Raw(other)
            tasks.cancel_scope.cancel()


class Raw:
    """Bytes in and out."""

    def __init__(self, other: socket.socket) -> None:
        self.other, self.buffer = other, b""

    def send(self, *lines: bytes | Json) -> None:
        """Send lines; a dict gets the envelope of JSON-RPC."""
        for line in lines:
            data = line if isinstance(line, bytes) else json.dumps({"jsonrpc": "2.0", **line}).encode()
            self.other.sendall(data + b"\n")

    async def receive(self) -> Json:
        """The next message."""
        while b"\n" not in self.buffer:
            await anyio.wait_readable(self.other)
            self.buffer += self.other.recv(1 << 16)
        line, _, self.buffer = self.buffer.partition(b"\n")
        message: Json = json.loads(line)
        return message


async def test_both_sides_call_each_other_also_from_within_a_call() -> None:
    async with two_sides() as (ours, theirs):
        assert await ours.dispatcher.send_raw_request("echo", {"n": 1}) == {"n": 1}
        assert await theirs.dispatcher.send_raw_request("echo", None) == {}
        assert await ours.dispatcher.send_raw_request("ask", None) == {"back": True}


async def test_a_thousand_calls_at_once_get_each_its_own_answer() -> None:
    answers: dict[int, Json] = {}
    async with two_sides() as (ours, _):

        async def call(n: int) -> None:
            answers[n] = await ours.dispatcher.send_raw_request("echo", {"n": n})

        async with anyio.create_task_group() as tasks:
            for n in range(1_000):
                tasks.start_soon(call, n)
    assert answers == {n: {"n": n} for n in range(1_000)}


async def test_a_handlers_error_is_the_callers_and_a_crash_tells_nothing_and_costs_nothing_else() -> None:
    async with two_sides() as (ours, _):
        with pytest.raises(RpcError) as failed:
            await ours.dispatcher.send_raw_request("fail", None)
        assert (failed.value.code, failed.value.message, failed.value.data) == (-32007, "on purpose", {"detail": 1})
        with pytest.raises(RpcError) as crashed:
            await ours.dispatcher.send_raw_request("crash", None)
        assert crashed.value.code == INTERNAL_ERROR
        assert "a bug" not in crashed.value.message
        assert await ours.dispatcher.send_raw_request("echo", {}) == {}


async def test_cancelling_a_call_cancels_its_handler_which_then_answers_nothing() -> None:
    async with raw_peer() as (side, raw):
        for request_id in (0, "0", "a"):
            side.waiting, side.cancelled = anyio.Event(), anyio.Event()
            raw.send({"id": request_id, "method": "wait"})
            await side.waiting.wait()
            raw.send({"method": "notifications/cancelled", "params": {"requestId": request_id}})
            await side.cancelled.wait()
            assert side.contexts[-1].cancel_requested.is_set()
        raw.send({"id": 9, "method": "echo"})
        assert (await raw.receive())["id"] == 9


@pytest.mark.parametrize("request_id", [0, "call-1", None])
async def test_abandoning_a_call_tells_the_peer_under_the_calls_id(request_id: int | str | None) -> None:
    async with raw_peer() as (side, raw):
        options: Any = {} if request_id is None else {"request_id": request_id}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(side.dispatcher.send_raw_request, "wait", None, options)
            sent = await raw.receive()
            tasks.cancel_scope.cancel()
        cancelled = await raw.receive()
    assert request_id is None or sent["id"] == request_id
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == sent["id"]


async def test_what_must_not_be_cancelled_is_not() -> None:
    async with raw_peer() as (side, raw):
        with pytest.raises(RpcError):
            await side.dispatcher.send_raw_request("initialize", None, {"timeout": 0.01, "cancel_on_abandon": False})
        await side.dispatcher.notify("next", None)
        assert [(await raw.receive())["method"] for _ in range(2)] == ["initialize", "next"]


async def test_a_call_ends_at_its_timeout_and_tells_the_peer() -> None:
    async with raw_peer() as (side, raw):
        with pytest.raises(RpcError, match=r"the peer did not answer `wait` within 0\.01 s") as failed:
            await side.dispatcher.send_raw_request("wait", None, {"timeout": 0.01})
        assert failed.value.code == REQUEST_TIMEOUT
        sent, cancelled = await raw.receive(), await raw.receive()
        assert cancelled["params"]["requestId"] == sent["id"]
        raw.send({"id": sent["id"], "result": {"late": True}}, {"id": 1, "method": "echo"})
        await raw.receive()
        assert side.dispatcher.stray == 1


async def test_progress_goes_to_the_call_with_that_token_and_to_no_other() -> None:
    seen: list[Json] = []
    typed: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        typed.append((progress, total, message))

    async with two_sides() as (ours, theirs):
        options: Any = {"on_progress_params": seen.append, "on_progress": on_progress}
        await ours.dispatcher.send_raw_request("progress", {"_meta": {"progressToken": "other"}}, options)
        await theirs.dispatcher.notify("notifications/progress", {"progressToken": 999, "progress": 1})
        await ours.noted.wait()
    token = theirs.contexts[0].request_id
    assert seen == [{"progressToken": token, "progress": 0.5, "total": 1, "message": "half"}]
    assert typed == [(0.5, 1, "half")]
    assert ours.notes == [("notifications/progress", {"progressToken": 999, "progress": 1})]


async def test_the_intercept_sees_notifications_in_order_and_may_consume_them() -> None:
    seen: list[str] = []

    def intercept(method: str, _params: Params) -> bool:
        seen.append(method)
        if method == "fails":
            raise KeyError("a bug")
        return method not in ("kept", "notifications/cancelled", "notifications/progress")

    mine, other = socket.socketpair()
    with mine, other:
        side = Side(mine.fileno(), "the peer")
        async with anyio.create_task_group() as tasks:
            await tasks.start(side.dispatcher.run, side.on_request, side.on_notify, intercept)
            lost = {"method": "notifications/cancelled", "params": {"requestId": 9}}
            Raw(other).send({"method": "a"}, {"method": "fails"}, lost, {"method": "notifications/progress"})
            Raw(other).send({"method": "b"}, {"method": "kept"})
            with anyio.fail_after(20):
                while ("kept", None) not in side.notes:
                    await side.noted.wait()
                    side.noted = anyio.Event()
            tasks.cancel_scope.cancel()
    assert seen == ["a", "fails", "notifications/cancelled", "notifications/progress", "b", "kept"]
    assert [method for method, _ in side.notes] == ["fails", "notifications/progress", "kept"]


async def test_what_a_callback_raises_costs_that_one_message() -> None:
    async def on_progress(_progress: float, _total: float | None, _message: str | None) -> None:
        raise KeyError("a bug")

    def on_progress_params(_params: Json) -> None:
        raise KeyError("a bug")

    async def on_notify(_context: Context, _method: str, _params: Params) -> None:
        raise KeyError("a bug")

    mine, other = socket.socketpair()
    other.setblocking(False)
    with mine, other:
        side, raw = Side(mine.fileno(), "the peer"), Raw(other)
        async with anyio.create_task_group() as tasks:
            await tasks.start(side.dispatcher.run, side.on_request, on_notify)
            with anyio.fail_after(20):
                options: Any = {"on_progress": on_progress, "on_progress_params": on_progress_params, "request_id": 1}
                tasks.start_soon(side.dispatcher.send_raw_request, "x", None, options)
                await raw.receive()
                raw.send({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}})
                raw.send({"method": "a"}, {"id": 5, "method": "echo"}, {"id": 1, "result": {}})
                assert (await raw.receive())["id"] == 5
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("sent", "received"),
    [
        ({"progress": 1, "total": 2, "message": "m"}, (1, 2, "m")),
        ({"progress": 0.5}, (0.5, None, None)),
        ({"progress": 1, "total": "2", "message": ["m"]}, (1, None, None)),
        ({"progress": True}, None),
        ({"progress": "1"}, None),
        ({}, None),
    ],
)
async def test_typed_progress_is_what_its_types_say(sent: Json, received: tuple[Any, ...] | None) -> None:
    typed: list[tuple[Any, ...]] = []
    raws: list[Json] = []

    async def on_progress(*values: Any) -> None:
        typed.append(values)

    async with raw_peer() as (side, raw):
        options: Any = {"on_progress": on_progress, "on_progress_params": raws.append, "request_id": 0}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(side.dispatcher.send_raw_request, "x", {"_meta": {"a": 1}}, options)
            assert (await raw.receive())["params"] == {"_meta": {"a": 1, "progressToken": 0}}
            raw.send({"method": "notifications/progress", "params": {"progressToken": 0, **sent}})
            raw.send({"id": 9, "method": "echo"})
            await raw.receive()
            raw.send({"id": 0, "result": {}})
    assert raws == [{"progressToken": 0, **sent}]
    assert typed == ([] if received is None else [received])


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ({"result": {}, "error": {"code": 1, "message": "x"}}, INTERNAL_ERROR),
        ({}, INTERNAL_ERROR),
        ({"result": "text"}, INTERNAL_ERROR),
        ({"error": "oops"}, INTERNAL_ERROR),
        ({"error": {"code": "x", "message": "y"}}, INTERNAL_ERROR),
        ({"error": {"code": -5, "message": 7}}, -5),
    ],
)
async def test_an_answer_of_no_shape_ends_the_call_with_an_error(answer: Json, code: int) -> None:
    async with raw_peer() as (side, raw):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(answer_next, raw, answer)
            error = await failure_of(side)
        assert error.code == code


async def failure_of(side: Side) -> RpcError:
    """The error that a call ends with."""
    try:
        await side.dispatcher.send_raw_request("x", None)
    except RpcError as error:
        return error
    raise AssertionError("the call did not fail")


async def answer_next(raw: Raw, answer: Json) -> None:
    """Answer whatever is asked next."""
    raw.send({"id": (await raw.receive())["id"], **answer})


@pytest.mark.parametrize("wrong", ["1", True, 1.0, None, [], 10**30, 2])
async def test_an_answer_with_another_id_is_nobodys(wrong: Any) -> None:
    async with raw_peer() as (side, raw):
        async with anyio.create_task_group() as tasks:
            results: list[Json] = []

            async def call() -> None:
                results.append(await side.dispatcher.send_raw_request("x", None))

            tasks.start_soon(call)
            sent = await raw.receive()
            assert sent["id"] == 1
            raw.send({"id": wrong, "result": {"wrong": True}}, {"id": 1, "result": {"right": True}})
            raw.send({"id": 1, "result": {"again": True}})
        raw.send({"id": 1, "method": "echo"})
        await raw.receive()
        assert results == [{"right": True}]
        assert side.dispatcher.stray == 2


@pytest.mark.parametrize("bad_id", [True, 1.5, None, [], {}])
async def test_a_request_whose_id_is_none_is_refused(bad_id: Any) -> None:
    async with raw_peer() as (side, raw):
        raw.send({"id": bad_id, "method": "echo"})
        refused = await raw.receive()
        assert refused["id"] is None
        assert refused["error"]["code"] == INVALID_REQUEST
        assert side.contexts == []


async def test_the_number_and_the_string_are_two_requests_and_one_id_at_a_time_is_one() -> None:
    async with raw_peer() as (side, raw):
        raw.send({"id": 1, "method": "wait"})
        await side.waiting.wait()
        raw.send(
            {"id": "1", "method": "echo"},
            {"id": 1, "method": "echo"},
            {"id": 2, "method": 5},
            {"id": 3, "method": "echo", "params": []},
        )
        answers = [await raw.receive() for _ in range(4)]
    by_id = {json.dumps(answer["id"]): answer for answer in answers}
    assert by_id['"1"']["result"] == {}
    assert by_id["1"]["error"]["message"] == "`id` is in use"
    assert by_id["2"]["error"]["message"] == "`method` is not a string"
    assert by_id["3"]["error"]["message"] == "`params` is not an object"


async def test_noise_is_counted_and_the_connection_goes_on() -> None:
    async with raw_peer() as (side, raw):
        raw.send(b"starting...", b"", b"  \r", b"[]", b"4", b"\xff\xfe", {"id": 1, "method": "echo"})
        assert (await raw.receive())["result"] == {}
        assert side.dispatcher.noise == 4
        assert side.dispatcher.noise_lines[0] == "starting..."


async def test_an_unreadable_answer_ends_its_call_and_an_unreadable_request_is_refused() -> None:
    async with raw_peer() as (side, raw):
        errors: list[RpcError] = []

        async def call() -> None:
            errors.append(await failure_of(side))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await raw.receive()
            raw.send(b'{"jsonrpc":"2.0","id":1,"result":{"text":"\xff"}}')
            tasks.start_soon(call)
            await raw.receive()
            raw.send(b'{"jsonrpc":"2.0","id":2,"result":{"method":"x","n":1e999}}')
            tasks.start_soon(call)
            await raw.receive()
            raw.send(b'{"jsonrpc":"2.0","id":3,"result":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}")
        assert "the peer sent an answer that could not be read: invalid UTF-8" in errors[0].message
        assert "the number 1e999 is too big" in errors[1].message
        assert "nested deeper" in errors[2].message
        assert len(side.dispatcher.unreadable) == 3
        raw.send(b'{"jsonrpc":"2.0","id":5,"method":"echo","params":{"text":"\xff"}}')
        refused = await raw.receive()
        assert (refused["id"], refused["error"]["code"]) == (5, PARSE_ERROR)


async def test_an_answer_over_the_limit_ends_its_call_and_the_next_works() -> None:
    async with raw_peer(max_line=1_000) as (side, raw):
        errors: list[RpcError] = []

        async def call() -> None:
            errors.append(await failure_of(side))

        for answer in (
            b'{"jsonrpc":"2.0","id":1,"result":{"t":"%b"}}',
            b'{"result":{"t":"%b"},"jsonrpc":"2.0","id":2}',
        ):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(call)
                await raw.receive()
                raw.send(answer % (b"x" * 5_000))
        assert ["over the limit" in error.message for error in errors] == [True, True]
        raw.send({"id": 1, "method": "echo"})
        assert (await raw.receive())["result"] == {}


async def test_the_end_of_the_connection_ends_every_call_and_every_handler() -> None:
    mine, other = socket.socketpair()
    side = Side(mine.fileno(), "the peer")
    errors: list[RpcError] = []
    with mine:
        async with anyio.create_task_group() as tasks:

            async def call() -> None:
                errors.append(await failure_of(side))

            await tasks.start(side.dispatcher.run, side.on_request, side.on_notify)
            Raw(other).send({"id": 1, "method": "wait"})
            with anyio.fail_after(20):
                await side.waiting.wait()
                tasks.start_soon(call)
                await anyio.lowlevel.checkpoint()
                other.close()
                await side.cancelled.wait()
        assert [error.code for error in errors] == [CONNECTION_CLOSED]
        with pytest.raises(RpcError, match="closed the connection"):
            await side.dispatcher.send_raw_request("x", None)


async def test_handlers_that_are_stopped_with_the_gate_answer_with_an_error() -> None:
    mine, other = socket.socketpair()
    other.setblocking(False)
    with mine, other:
        side = Side(mine.fileno(), "the peer")
        raw = Raw(other)
        async with anyio.create_task_group() as tasks:
            await tasks.start(side.dispatcher.run, side.on_request, side.on_notify)
            raw.send({"id": 1, "method": "wait"})
            with anyio.fail_after(20):
                await side.waiting.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(20):
            answer = await raw.receive()
    assert (answer["id"], answer["error"]["code"]) == (1, CONNECTION_CLOSED)


async def test_a_request_and_its_cancellation_in_one_breath_get_no_answer() -> None:
    async with raw_peer() as (side, raw):
        cancel = {"method": "notifications/cancelled", "params": {"requestId": 4}}
        raw.send({"id": 4, "method": "wait"}, cancel, {"id": 5, "method": "echo"})
        assert (await raw.receive())["id"] == 5
        await side.cancelled.wait()
        raw.send({"id": 4, "method": "echo"})  # the id is free again
        assert (await raw.receive())["id"] == 4


@pytest.mark.parametrize("result", [{"n": float("nan")}, {"n": object()}, {"n": {1, 2}}])
async def test_an_answer_that_is_no_json_costs_that_one_request(result: Json) -> None:
    async def on_request(_context: Context, method: str, _params: Params) -> Json:
        if method == "raise":
            raise RpcError(-1, "x", result)
        return result if method == "give" else {}

    mine, other = socket.socketpair()
    other.setblocking(False)
    with mine, other:
        side, raw = Side(mine.fileno(), "the peer"), Raw(other)
        async with anyio.create_task_group() as tasks:
            await tasks.start(side.dispatcher.run, on_request, side.on_notify)
            with anyio.fail_after(20):
                for request_id, method in enumerate(("give", "raise")):
                    raw.send({"id": request_id, "method": method})
                    answer = await raw.receive()
                    assert (answer["id"], answer["error"]["code"]) == (request_id, INTERNAL_ERROR)
                raw.send({"id": 2, "method": "echo"})
                assert (await raw.receive())["result"] == {}
            tasks.cancel_scope.cancel()


async def test_a_request_that_is_no_json_is_the_callers_error_and_leaves_nothing_waiting() -> None:
    async with two_sides() as (ours, _):
        with pytest.raises(ValueError, match="JSON"):
            await ours.dispatcher.send_raw_request("echo", {"n": float("nan")}, {"request_id": 7})
        assert await ours.dispatcher.send_raw_request("echo", None, {"request_id": 7}) == {}


async def test_an_id_in_use_is_refused_and_never_minted() -> None:
    async with raw_peer() as (side, raw):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(side.dispatcher.send_raw_request, "x", None, {"request_id": 1})
            tasks.start_soon(side.dispatcher.send_raw_request, "x", None, {"request_id": "2"})
            sent = [(await raw.receive())["id"] for _ in range(2)]
            with pytest.raises(ValueError, match="is in use"):
                await side.dispatcher.send_raw_request("x", None, {"request_id": 1})
            tasks.start_soon(side.dispatcher.send_raw_request, "x", None)
            sent.append((await raw.receive())["id"])
            raw.send(*({"id": request_id, "result": {}} for request_id in sent))
        assert sent == [1, "2", 2]


async def test_a_peer_that_reads_nothing_stalls_nobody_but_itself() -> None:
    """Requests go out without blocking, other messages still come in, and in the end all arrive in order."""
    async with raw_peer() as (side, raw):
        big = {"text": "x" * 100_000}
        async with anyio.create_task_group() as tasks:
            for n in range(100):  # ten times what the socket and the queue hold
                tasks.start_soon(side.dispatcher.send_raw_request, "x", big, {"request_id": n})
            raw.send({"method": "hello"})
            await side.noted.wait()
            received = [(await raw.receive())["id"] for _ in range(100)]
            raw.send(*({"id": n, "result": {}} for n in received))
        assert received == [*range(100)]


async def test_a_pipe_that_breaks_while_writing_ends_the_connection_and_every_call() -> None:
    read_in, write_in = os.pipe()
    read_out, write_out = os.pipe()
    dispatcher = Dispatcher(read_in, write_out, peer="the peer")
    os.close(read_out)

    async def on_request(_context: Context, _method: str, _params: Params) -> Json:
        return {}

    async def on_notify(_context: Context, _method: str, _params: Params) -> None:
        return

    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            await tasks.start(dispatcher.run, on_request, on_notify)
            with pytest.raises(RpcError, match="the peer closed the connection") as failed:
                await dispatcher.send_raw_request("x", None)
    assert failed.value.code == CONNECTION_CLOSED
    os.close(read_in)
    os.close(write_in)


async def test_a_connection_that_broke_before_it_was_served_ends_at_once_and_stops_reading() -> None:
    before = set(os.listdir("/proc/self/fd"))
    mine, other = socket.socketpair()
    read_out, write_out = os.pipe()
    with mine, other:
        side = Side(mine.fileno(), "the peer")
        side.dispatcher._writer.close()
        dispatcher = Dispatcher(mine.fileno(), write_out, peer="the peer")
        os.close(read_out)
        await dispatcher.notify("x", None)
        with anyio.fail_after(20):
            await dispatcher.run(side.on_request, side.on_notify)
        assert not asyncio.get_running_loop().remove_reader(mine.fileno())
    assert set(os.listdir("/proc/self/fd")) == before


async def test_nothing_is_left_open() -> None:
    before = set(os.listdir("/proc/self/fd"))
    for _ in range(20):
        async with two_sides() as (ours, _):
            await ours.dispatcher.send_raw_request("echo", None)
    assert set(os.listdir("/proc/self/fd")) == before
