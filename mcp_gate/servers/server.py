"""One configured server at run time: the task that owns its process and connection, and its state.

| state | means | a call |
| --- | --- | --- |
| starting | its first start is under way | waits for it |
| ready | it has listed its tools | is forwarded |
| failed | it could not start, or ended by itself; `why` says how | `ServerUnavailableError` |
| stopped | the gate has ended it | `ServerUnavailableError` |
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import anyio
import anyio.abc
import structlog

from mcp_gate.config import Server as ServerConfig
from mcp_gate.errors import ServerUnavailableError
from mcp_gate.model import Attachment
from mcp_gate.servers.connection import Connection, ProbeKilledError
from mcp_gate.servers.process import Process, server_environment, start
from mcp_gate.wire.dispatcher import Dispatcher
from mcp_gate.wire.messages import RpcError

log = structlog.get_logger()


class Server:
    """A server and its owner task, `run`. `on_tools` is called whenever `tools` has been listed anew."""

    def __init__(
        self, name: str, config: ServerConfig, environ: Mapping[str, str], on_tools: Callable[["Server"], None]
    ) -> None:
        self.name, self.config = name, config
        self.state: Literal["starting", "ready", "failed", "stopped"] = "starting"
        self.why = ""
        self.tools: list[dict[str, Any]] = []
        self.problems: list[str] = []
        self.connection: Connection | None = None
        self.settled = anyio.Event()
        self.hurry = False
        self._environ, self._on_tools = environ, on_tools
        self._changed = anyio.Event()

    async def run(self) -> None:
        """Start the server and own it until it ends or the task is cancelled. Never raises for the server's sake."""
        try:
            try:
                await self._live(probe=True)
            except ProbeKilledError:
                log.info("server ends when probed; it is started again", server=self.name)
                await self._live(probe=False)
        except ServerUnavailableError as error:
            self._settle("failed", error.why)
            log.warning("server unavailable", server=self.name, why=error.why)
        except Exception as error:  # the supervisor: whatever it was costs this server alone
            self._settle("failed", f"internal error: {type(error).__name__}")
            log.exception("server task failed", server=self.name)
        finally:
            if self.state != "failed":
                self._settle("stopped", "mcp-gate has stopped it")

    async def call(self, tool: str, arguments: Mapping[str, Any], attachment: Attachment | None) -> dict[str, Any]:
        """Forward a call and return the server's result, an unchanged dict.

        Raises:
            RpcError: the server's own error.
            ServerUnavailableError: it is not there, ended in mid-call, or did not answer in time.
        """
        await self.settled.wait()
        if self.state != "ready" or self.connection is None:
            raise ServerUnavailableError(self.name, self.why)
        along = attachment or Attachment()
        return await self.connection.call_tool(tool, arguments, along.meta, self.config.timeout, along.on_progress)

    async def _live(self, *, probe: bool) -> None:
        environment = server_environment(self.config.env, self._environ)
        process = start(self.name, self.config.command, self.config.args, environment, self.config.cwd)
        dispatcher = Dispatcher(process.stdout, process.stdin, peer=f"server `{self.name}`")
        connection = Connection(self.name, dispatcher, self._tools_changed)
        failure: Exception | None = None
        try:
            async with anyio.create_task_group() as tasks:
                await tasks.start(dispatcher.run, connection.on_request, connection.on_notify, connection.intercept)
                failure = await self._serve(connection, tasks, probe=probe)
                tasks.cancel_scope.cancel()
        finally:
            self.connection = None
            with anyio.CancelScope(shield=True):
                await process.stop(hurry=self.hurry)
        raise failure or self._ended(process, dispatcher)

    async def _serve(
        self, connection: Connection, tasks: anyio.abc.TaskGroup, *, probe: bool
    ) -> ServerUnavailableError | ProbeKilledError | None:
        """Take the server through its life; returns what was wrong with it, or None when its output ended."""
        try:
            with anyio.fail_after(self.config.startup_timeout):
                await connection.connect(probe=probe)
                self.tools, self.problems = await connection.list_tools()
        except TimeoutError:
            why = f"it was not ready within {self.config.startup_timeout:g} s (servers.{self.name}.startup_timeout)"
            return ServerUnavailableError(self.name, why)
        except ProbeKilledError as error:
            return error
        except (ServerUnavailableError, RpcError) as error:
            if connection.dispatcher.closed.is_set():
                return None  # how the process ended says more
            return error if isinstance(error, ServerUnavailableError) else self._refused(error)
        self.connection = connection
        self._on_tools(self)
        self._settle("ready", "")
        log.info("server ready", server=self.name, era=connection.era, tools=len(self.tools))
        tasks.start_soon(connection.listen)
        tasks.start_soon(self._relist, connection)
        await connection.dispatcher.closed.wait()
        self._settle("failed", "it has ended")  # how, is known when its process has been reaped
        return None

    async def _relist(self, connection: Connection) -> None:
        """List the tools again whenever the server says that they changed."""
        while True:
            await self._changed.wait()
            self._changed = anyio.Event()
            try:
                with anyio.fail_after(self.config.startup_timeout):
                    self.tools, self.problems = await connection.list_tools()
            except (RpcError, TimeoutError) as error:
                log.warning("tools could not be listed again; the old list stays", server=self.name, why=str(error))
            else:
                self._on_tools(self)

    def _tools_changed(self) -> None:
        self._changed.set()

    def _ended(self, process: Process, dispatcher: Dispatcher) -> ServerUnavailableError:
        when = "" if self.settled.is_set() else " before it was ready"
        noise = f"; on its stdout was: {dispatcher.noise_lines[0]!r}" if when and dispatcher.noise_lines else ""
        words = f"; it said: {said}" if (said := process.last_words()) else ""
        return ServerUnavailableError(self.name, f"it {process.exit_text()}{when}{words}{noise}")

    def _refused(self, error: RpcError) -> ServerUnavailableError:
        return ServerUnavailableError(self.name, f"`tools/list` failed: {error}")

    def _settle(self, state: Literal["ready", "failed", "stopped"], why: str) -> None:
        self.state, self.why = state, why
        self.settled.set()
