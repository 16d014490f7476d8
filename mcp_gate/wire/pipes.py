"""Bounded lines in from a file descriptor, bytes out to one. Nothing here blocks the loop.

The loop's `add_reader`/`add_writer` are used directly: no thread per pipe, and a small read is one system call.
"""

import asyncio
import os
import selectors
import threading
from collections import deque
from collections.abc import Callable

import anyio

READ_SIZE = 1 << 16  # asyncio's own 256 KiB buffers cost more to allocate than small messages cost to read
HIGH_WATER = 1 << 20  # bytes queued towards a peer before `drain` waits


class LineReader:
    """Cuts a descriptor's bytes into lines.

    `on_line` gets every line without its newline. A line of more than `limit` bytes is not kept: `on_oversize` gets
    its first and last bytes and its length, and reading goes on after it. `on_end` is called once, at end of file.
    """

    def __init__(
        self,
        fd: int,
        *,
        limit: int,
        on_line: Callable[[bytes], None],
        on_oversize: Callable[[bytes, bytes, int], None],
        on_end: Callable[[], None],
    ) -> None:
        self._given = self._fd = fd
        self._limit = limit
        self._on_line, self._on_oversize, self._on_end = on_line, on_oversize, on_end
        self._buffer = bytearray()
        self._head, self._skipped = b"", 0
        self._loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> None:
        """Begin to read, on the running loop."""
        self._fd = pollable(self._given)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._fd, self._ready)

    def stop(self) -> None:
        """Stop reading; the descriptor stays open. Idempotent."""
        if self._loop is None:
            return
        self._loop.remove_reader(self._fd)
        self._loop = None
        if self._fd != self._given:
            os.close(self._fd)

    def _ready(self) -> None:
        try:
            data = os.read(self._fd, READ_SIZE)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self.feed(data)
            return
        self.stop()
        if self._buffer:
            self._end_line(bytes(self._buffer))  # a last line without a newline is still a line
            self._buffer.clear()
        self._on_end()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            if self._buffer:
                self._buffer += data[start:end]
                line = bytes(self._buffer)
                self._buffer.clear()
            else:
                line = data[start:end]
            start = end + 1
            self._end_line(line)
        if start < len(data):
            self._buffer += data[start:] if start else data
            if len(self._buffer) > self._limit:
                self._skip()

    def _skip(self) -> None:
        """Forget what came of a line that is too long, but for its ends: an id may be found there."""
        if not self._skipped:
            self._head = bytes(self._buffer[:1024])
        kept = bytes(self._buffer[-1024:])
        self._skipped += len(self._buffer) - len(kept)
        self._buffer = bytearray(kept)

    def _end_line(self, line: bytes) -> None:
        if not self._skipped and len(line) <= self._limit:
            self._on_line(line)
            return
        head, length = self._head if self._skipped else line[:1024], self._skipped + len(line)
        self._head, self._skipped = b"", 0
        self._on_oversize(head, line[-1024:], length)


class Writer:
    """Writes bytes to a descriptor in order; what the peer does not take yet waits in a queue."""

    def __init__(self, fd: int, *, on_broken: Callable[[], None] = lambda: None) -> None:
        os.set_blocking(fd, False)
        self._fd: int | None = fd
        self._on_broken = on_broken
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._room: anyio.Event | None = None

    def write(self, data: bytes) -> None:
        """Send `data`, now if the descriptor takes it, else when it does. Dropped once the peer is gone."""
        if self._fd is None:
            return
        rest = memoryview(data)
        if not self._queue:
            rest = rest[self._push(rest) :]
            if not rest or self._fd is None:
                return
            asyncio.get_running_loop().add_writer(self._fd, self._ready)
        self._queue.append(rest)
        self._queued += len(rest)

    @property
    def is_full(self) -> bool:
        """Whether so much is queued that more had better wait, or be left out."""
        return self._queued > HIGH_WATER

    async def drain(self) -> None:
        """Wait until the peer has taken enough for more to be worth queueing."""
        while self.is_full and self._fd is not None:
            if self._room is None:
                self._room = anyio.Event()
            await self._room.wait()

    def close(self) -> None:
        """Forget what is queued and close the descriptor. Idempotent."""
        fd, self._fd = self._fd, None
        if fd is None:
            return
        if self._queue:
            asyncio.get_running_loop().remove_writer(fd)
            self._queue.clear()
        self._queued = 0
        self._wake()
        os.set_blocking(fd, True)  # a terminal shares this flag with the shell that started us
        os.close(fd)

    def _push(self, data: memoryview) -> int:
        assert self._fd is not None
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0
        except OSError:  # EPIPE, EBADF: the peer is gone, and its reader will say so
            self.close()
            self._on_broken()
            return len(data)

    def _ready(self) -> None:
        while self._queue:
            head = self._queue[0]
            sent = self._push(head)
            if self._fd is None:
                return
            self._queued -= sent
            if sent < len(head):
                self._queue[0] = head[sent:]
                break
            self._queue.popleft()
        if not self._queue and self._fd is not None:
            asyncio.get_running_loop().remove_writer(self._fd)
        if self._queued <= HIGH_WATER:
            self._wake()

    def _wake(self) -> None:
        if self._room is not None:
            self._room.set()
            self._room = None


def pollable(fd: int) -> int:
    """`fd`, or a pipe with the same bytes where the kernel cannot poll it: a file or /dev/null as standard input."""
    with selectors.DefaultSelector() as probe:
        try:
            probe.register(fd, selectors.EVENT_READ)
        except OSError:
            pass
        else:
            return fd
    read, write = os.pipe()
    source = os.dup(fd)  # its number stays ours, whatever becomes of `fd` while the thread reads

    def copy() -> None:
        try:
            while data := os.read(source, READ_SIZE):
                os.write(write, data)
        except OSError:
            pass  # nobody reads the pipe any more
        finally:
            os.close(source)
            os.close(write)

    threading.Thread(target=copy, daemon=True).start()
    return read
