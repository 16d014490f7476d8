"""`mcp-gate run`: serve one host over stdin and stdout until it goes away.

| the end | what happens |
| --- | --- |
| the host closes stdin | servers get their time to end; exit code 0 |
| SIGINT, SIGTERM, SIGHUP | servers get a tenth of a second: a host kills what is still there after half a second |
"""

import os
import signal
import sys

import anyio
import anyio.abc

from mcp_gate.cli import Options, logs
from mcp_gate.cli.assembly import Assembly, assemble, read
from mcp_gate.errors import GateError
from mcp_gate.host.server import Host
from mcp_gate.wire.dispatcher import Dispatcher


def run(options: Options) -> None:
    """Serve the host. Raises ConfigError before anything is started."""
    logs.configure("warning")
    stdin, stdout = claim_stdio()
    anyio.run(_serve, assemble(read(options)), stdin, stdout)


def claim_stdio() -> tuple[int, int]:
    """Descriptors for the protocol alone: from here on whatever prints goes to stderr, whatever reads gets nothing.

    Raises:
        GateError: one of them is closed.
    """
    if sys.stdin is not None and sys.stdin.isatty():
        print("mcp-gate: this is for hosts to launch; it now waits for one to speak MCP on stdin", file=sys.stderr)
    try:
        os.fstat(0), os.fstat(1)  # before either is duplicated: a duplicate takes the lowest number that is free
    except OSError:
        raise GateError("stdin or stdout is closed: a host speaks over them") from None
    null = os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:  # it is closed: what would go there goes nowhere, and no descriptor of ours takes its number
        os.dup2(null, 2)
        sys.stderr = os.fdopen(2, "w")
    stdin, stdout = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    os.dup2(null, 0)
    if null > 2:
        os.close(null)
    sys.stdout = sys.stderr
    return stdin, stdout


async def _serve(assembly: Assembly, stdin: int, stdout: int) -> None:
    dispatcher = Dispatcher(stdin, stdout, peer="the host")
    config = assembly.config.gate
    host = Host(assembly.gate, dispatcher, assembly.subject, assembly.exposure, list_timeout=config.list_timeout)
    assembly.servers.on_change = host.tools_changed
    async with anyio.create_task_group() as signals:
        async with anyio.create_task_group() as tasks:
            await signals.start(_heed_signals, assembly, tasks.cancel_scope)
            tasks.start_soon(assembly.servers.run)
            await host.run()
            tasks.cancel_scope.cancel()
        signals.cancel_scope.cancel()


async def _heed_signals(
    assembly: Assembly,
    scope: anyio.CancelScope,
    *,
    task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
) -> None:
    """Stop at the first signal, and bear the further ones that a host sends while the servers end."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
        task_status.started()
        async for _ in received:
            assembly.servers.hurry()
            scope.cancel()
