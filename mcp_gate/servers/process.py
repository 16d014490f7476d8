"""A server's process: started in a session of its own, fed over pipes, ended with all that it started.

Signals go to its whole group.

| how it ends | what it gets |
| --- | --- |
| the gate is done with it, or it closed its output | no input, `GRACE` s, SIGTERM, `TERM_GRACE` s, SIGKILL |
| the gate was told to stop at once (a signal) | the same with `HURRY` s for either wait |
| it ended by itself | SIGKILL to the group: helpers that it left behind would live on |
"""

import contextlib
import os
import shutil
import signal
import subprocess
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import structlog

from mcp_gate.errors import ServerUnavailableError
from mcp_gate.wire.pipes import LineReader

log = structlog.get_logger()

GRACE = 2.0
TERM_GRACE = 1.0
HURRY = 0.1
STDERR_LINES = 20
STDERR_LINE = 1 << 16  # bytes

# What every program needs to run at all; a server gets nothing else of the gate's own environment.
INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")


def server_environment(own: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of a server: its `own`, over the few inherited names that `environ` has."""
    return {name: environ[name] for name in INHERITED if name in environ} | dict(own)


class Process:
    """A running server. `stdin` and `stdout` are descriptors; whoever takes `stdin` closes it."""

    def __init__(self, name: str, popen: "subprocess.Popen[bytes]", stderr_fd: int) -> None:
        assert popen.stdin is not None
        assert popen.stdout is not None
        self.name = name
        self.stdin = os.dup(popen.stdin.fileno())
        popen.stdin.close()
        self._popen, self._stdout, self._stderr = popen, popen.stdout, stderr_fd
        self._forced = False
        self._stderr_lines: deque[str] = deque(maxlen=STDERR_LINES)
        self._stderr_reader = LineReader(
            stderr_fd,
            limit=STDERR_LINE,
            on_line=self._said,
            on_oversize=lambda head, _tail, _length: self._said(head),
            on_end=lambda: None,
        )
        self._stderr_reader.start()

    @property
    def pid(self) -> int:
        """The process id, which is also the id of its group."""
        return self._popen.pid

    @property
    def stdout(self) -> int:
        """The descriptor that the server's messages come from."""
        return self._stdout.fileno()

    def last_words(self) -> str:
        """The last line that the server wrote to stderr, or nothing."""
        return self._stderr_lines[-1] if self._stderr_lines else ""

    def exit_text(self) -> str:
        """How the process ended, for people, once `stop` has reaped it: `exited with code 3`."""
        code = self._popen.returncode
        if self._forced or code is None:
            return "closed its output"
        if code < 0:
            return f"was killed by signal {-code} ({signal.strsignal(-code)})"
        return f"exited with code {code}"

    async def ended(self) -> None:
        """Wait until the process has ended; it is not reaped yet, so its id and its group's are still its own."""
        try:
            fd = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not on this system: a thread waits, and reaps
            await anyio.to_thread.run_sync(self._popen.wait, abandon_on_cancel=True)
            return
        try:
            await anyio.wait_readable(fd)
        finally:
            os.close(fd)

    async def stop(self, *, hurry: bool) -> None:
        """End the process and its group, and reap it. The caller has closed `stdin`. Call it shielded."""
        for grace, signal_number in ((GRACE, signal.SIGTERM), (TERM_GRACE, signal.SIGKILL)):
            with anyio.move_on_after(HURRY if hurry else grace):
                await self.ended()
                break
            self._forced = True
            self._signal(signal_number)
        self._signal(signal.SIGKILL)
        with anyio.move_on_after(TERM_GRACE) as unkillable:
            await self.ended()
            self._popen.wait()
        if unkillable.cancelled_caught:
            log.error("server survives SIGKILL", server=self.name, pid=self.pid)
        self._stderr_reader.stop()
        os.close(self._stderr)
        self._stdout.close()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    def _said(self, line: bytes) -> None:
        text = line.decode(errors="replace").strip()
        if text:
            shown = text[:500].encode("unicode_escape").decode() if not text.isprintable() else text[:500]
            self._stderr_lines.append(shown)
            log.debug("server stderr", server=self.name, line=shown)


def start(name: str, command: str, args: Sequence[str], env: Mapping[str, str], cwd: Path | None) -> Process:
    """Start a server's process.

    Raises:
        ServerUnavailableError: the program is not there, or cannot be run.
    """
    search = env.get("PATH", os.defpath)
    program = shutil.which(command, path=search) if os.sep not in command else command
    if program is None:
        raise ServerUnavailableError(name, f"servers.{name}.command: `{command}` is not on PATH; install it")
    stderr_read, stderr_write = os.pipe()
    try:
        popen = subprocess.Popen(  # Popen, since asyncio's own starts a thread a child
            [program, *args],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr_write,
            env=dict(env),
            cwd=cwd,
            start_new_session=True,
            bufsize=0,
        )
    except (OSError, ValueError) as error:
        os.close(stderr_read)
        why = getattr(error, "strerror", None) or str(error)
        raise ServerUnavailableError(name, f"servers.{name}.command: `{command}` cannot be run: {why}") from None
    finally:
        os.close(stderr_write)
    return Process(name, popen, stderr_read)
