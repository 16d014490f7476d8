"""Bounded lines in from a descriptor, bytes out to one."""

import contextlib
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from mcp_gate.wire.pipes import HIGH_WATER, LineReader, Writer, pollable

pytestmark = pytest.mark.anyio


class Lines:
    """What a reader has reported."""

    def __init__(self, fd: int = -1, limit: int = 100) -> None:
        self.lines: list[bytes] = []
        self.oversize: list[tuple[bytes, bytes, int]] = []
        self.ended = anyio.Event()
        self.reader = LineReader(
            fd,
            limit=limit,
            on_line=self.lines.append,
            on_oversize=lambda head, tail, length: self.oversize.append((head, tail, length)),
            on_end=self.ended.set,
        )


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe; whatever of it is open at the end is closed."""
    ends = os.pipe()
    yield ends
    for fd in ends:
        with contextlib.suppress(OSError):
            os.close(fd)


@pytest.mark.parametrize("seed", range(50))
async def test_the_lines_do_not_depend_on_how_the_bytes_are_cut(seed: int) -> None:
    chance = random.Random(seed)
    lines = [bytes(chance.choices(b"ab\r\xff", k=chance.randrange(150))) for _ in range(20)]
    data = b"".join(line + b"\n" for line in lines)
    read = Lines()
    while data:
        size = chance.randrange(1, 80)
        read.reader.feed(data[:size])
        data = data[size:]
    assert read.lines == [line for line in lines if len(line) <= 100]
    assert [length for *_, length in read.oversize] == [len(line) for line in lines if len(line) > 100]


@pytest.mark.parametrize("limit", [10, 1_000, 5_000])
async def test_what_is_kept_of_a_line_over_the_limit_does_not_depend_on_the_cuts(limit: int) -> None:
    line = b"".join(b"%05d" % n for n in range(2_000))
    for size in (1, 7, 500, 1_024, 9_999, 20_000):
        read = Lines(limit=limit)
        for start in range(0, len(line), size):
            read.reader.feed(line[start : start + size])
        read.reader.feed(b"\nnext\n")
        assert read.oversize == [(line[:1_024], line[-1_024:], 10_000)]
        assert read.lines == [b"next"]


async def test_a_line_over_the_limit_is_skipped_with_its_ends_kept_and_little_memory() -> None:
    read = Lines(limit=10_000)
    chunk = b"x" * 5_000
    read.reader.feed(b"HEAD" + chunk)
    for _ in range(1_000):
        read.reader.feed(chunk)
        assert len(read.reader._buffer) <= 15_000
    read.reader.feed(b"TAIL\nnext\n")
    [(head, tail, length)] = read.oversize
    assert head.startswith(b"HEAD")
    assert tail.endswith(b"TAIL")
    assert length == 8 + 1_001 * 5_000
    assert read.lines == [b"next"]


async def test_a_last_line_without_a_newline_is_a_line(pipe: tuple[int, int]) -> None:
    read = Lines(pipe[0])
    read.reader.start()
    os.write(pipe[1], b"one\ntwo")
    os.close(pipe[1])
    with anyio.fail_after(5):
        await read.ended.wait()
    assert read.lines == [b"one", b"two"]


async def test_standard_input_may_be_a_file(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"one\n" * 50_000)
    fd = os.open(file, os.O_RDONLY)
    read = Lines(fd)
    read.reader.start()
    with anyio.fail_after(20):
        await read.ended.wait()
    os.close(fd)
    assert len(read.lines) == 50_000


async def test_standard_input_may_be_the_null_device() -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    read = Lines(null)
    read.reader.start()
    with anyio.fail_after(20):
        await read.ended.wait()
    os.close(null)
    assert read.lines == []


async def test_reading_a_file_leaves_nothing_open_whether_it_ends_or_is_stopped(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"one\n" * 500_000)  # more than a pipe holds
    threads, descriptors = set(threading.enumerate()), set(os.listdir("/proc/self/fd"))
    with file.open("rb") as source:
        read = Lines(source.fileno())
        read.reader.start()
        read.reader.stop()
        read.reader.stop()
        for thread in set(threading.enumerate()) - threads:
            thread.join(20)
    with file.open("rb") as source:
        read = Lines(source.fileno())
        read.reader.start()
        with anyio.fail_after(20):
            await read.ended.wait()
        for thread in set(threading.enumerate()) - threads:
            thread.join(20)
    assert len(read.lines) == 500_000
    assert (set(threading.enumerate()), set(os.listdir("/proc/self/fd"))) == (threads, descriptors)


def test_a_pipe_is_polled_as_it_is(pipe: tuple[int, int]) -> None:
    assert pollable(pipe[0]) == pipe[0]


async def test_what_a_peer_does_not_take_waits_in_order_and_blocks_nobody(pipe: tuple[int, int]) -> None:
    writer = Writer(pipe[1])
    sent = [f"{n:06}\n".encode() * 1_000 for n in range(300)]
    for data in sent:
        writer.write(data)  # returns although nobody reads yet
    drained = anyio.Event()

    async def drain() -> None:
        await writer.drain()
        drained.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drain)
        await anyio.lowlevel.checkpoint()
        assert not drained.is_set()
        assert sum(map(len, sent)) > HIGH_WATER
        read = Lines(pipe[0])
        read.reader.start()
        with anyio.fail_after(20):
            await drained.wait()
            while len(read.lines) < 300_000:
                await anyio.lowlevel.checkpoint()
    assert b"".join(line + b"\n" for line in read.lines) == b"".join(sent)
    read.reader.stop()
    writer.close()


async def test_a_peer_that_is_gone_is_reported_once_and_writing_goes_on_as_nothing(pipe: tuple[int, int]) -> None:
    broken: list[None] = []
    writer = Writer(pipe[1], on_broken=lambda: broken.append(None))
    os.close(pipe[0])
    writer.write(b"x")
    writer.write(b"y")
    await writer.drain()
    assert len(broken) == 1


async def test_a_peer_that_goes_away_while_bytes_are_queued_wakes_whoever_waits(pipe: tuple[int, int]) -> None:
    writer = Writer(pipe[1])
    writer.write(b"x" * (2 * HIGH_WATER))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(writer.drain)
        await anyio.lowlevel.checkpoint()
        os.close(pipe[0])


async def test_a_full_disk_as_standard_output_is_an_end_and_no_hang() -> None:
    broken: list[None] = []
    writer = Writer(os.open("/dev/full", os.O_WRONLY), on_broken=lambda: broken.append(None))
    writer.write(b"x")
    with anyio.fail_after(5):
        await writer.drain()
    assert broken == [None]


async def test_a_closed_writer_takes_bytes_to_nowhere_and_may_be_closed_again(pipe: tuple[int, int]) -> None:
    writer = Writer(pipe[1])
    writer.write(b"x" * (2 * HIGH_WATER))
    writer.close()
    writer.close()
    writer.write(b"y")
    with anyio.fail_after(5):
        await writer.drain()
