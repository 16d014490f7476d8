"""A host that speaks raw JSON-RPC over a pair of pipes: what it sends and gets is exactly what is on the wire."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from mcp_gate.wire.context import CallOptions, Context, Params
from mcp_gate.wire.dispatcher import Dispatcher
from mcp_gate.wire.eras import CLIENT_CAPABILITIES_KEY, CLIENT_INFO_KEY, LATEST_MODERN, VERSION_KEY
from mcp_gate.wire.messages import METHOD_NOT_FOUND, RpcError

Json = dict[str, Any]
Answer = Callable[[str, Params], Json]
SERVERS = Path(__file__).parent / "servers"
FORMS: Json = {"elicitation": {}}


def scripted(*options: str) -> Json:
    """A configured server: the scripted one with these options."""
    return {"command": sys.executable, "args": [str(SERVERS / "scripted.py"), *options]}


class RawHost:
    """One connection. `notifications` keeps what came; `on_request` answers what the gate asks in the legacy era."""

    def __init__(self, dispatcher: Dispatcher, process: "subprocess.Popen[bytes]", on_request: Answer | None) -> None:
        self.dispatcher, self.process, self._on_request = dispatcher, process, on_request
        self.notifications: list[tuple[str, Params]] = []
        self.asked: list[tuple[str, Params]] = []
        self._arrived = anyio.Event()

    async def request(self, method: str, params: Json | None = None, **options: Any) -> Json:
        """Send a request of the legacy era."""
        given: CallOptions = {"timeout": 20, **options}  # type: ignore[typeddict-item]
        return await self.dispatcher.send_raw_request(method, params, given)

    async def modern(self, method: str, params: Json | None = None, capabilities: Json = FORMS, **options: Any) -> Json:
        """Send a request of the modern era, with its envelope."""
        meta = {VERSION_KEY: LATEST_MODERN, CLIENT_INFO_KEY: {"name": "raw", "version": "1"}}
        given = params or {}
        envelope = {**given.get("_meta", {}), **meta, CLIENT_CAPABILITIES_KEY: capabilities}
        return await self.request(method, {**given, "_meta": envelope}, **options)

    async def initialize(self, capabilities: Json = FORMS, version: str = "2025-11-25", name: str = "raw") -> Json:
        """Open the legacy era."""
        info = {"name": name, "version": "1"}
        result = await self.request(
            "initialize", {"protocolVersion": version, "capabilities": capabilities, "clientInfo": info}
        )
        await self.dispatcher.notify("notifications/initialized", None)
        return result

    async def call(self, tool: str, arguments: Json | None = None, *, modern: bool = False, **options: Any) -> Json:
        """Call a tool in either era."""
        send = self.modern if modern else self.request
        return await send("tools/call", {"name": tool, "arguments": arguments or {}}, **options)

    async def notified(self, method: str) -> Params:
        """The params of the next notification of that method, taken out of `notifications`."""
        with anyio.fail_after(20):
            while True:
                for index, (name, params) in enumerate(self.notifications):
                    if name == method:
                        del self.notifications[index]
                        return params
                await self._arrived.wait()

    async def _request(self, _context: Context, method: str, params: Params) -> Json:
        self.asked.append((method, params))
        if self._on_request is None:
            raise RpcError(METHOD_NOT_FOUND, "this host answers nothing")
        return self._on_request(method, params)

    async def _notify(self, _context: Context, method: str, params: Params) -> None:
        self.notifications.append((method, params))
        arrived, self._arrived = self._arrived, anyio.Event()
        arrived.set()


@asynccontextmanager
async def raw_host(
    argv: Sequence[str], environ: Mapping[str, str], *, answer: Answer | None = None
) -> AsyncIterator[RawHost]:
    """Launch `argv` as a host does, and speak with it; at the end its input is closed and it has to end by itself."""
    process = subprocess.Popen(  # noqa: ASYNC220 - as the gate does it
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **environ}, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    dispatcher = Dispatcher(process.stdout.fileno(), os.dup(process.stdin.fileno()), peer="the gate")
    process.stdin.close()
    host = RawHost(dispatcher, process, answer)
    try:
        async with anyio.create_task_group() as tasks:
            await tasks.start(dispatcher.run, host._request, host._notify)
            yield host
            tasks.cancel_scope.cancel()
        with anyio.fail_after(20):
            await anyio.to_thread.run_sync(process.wait)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def text_of(result: Json) -> str:
    """The text of a result's first block."""
    text: str = result["content"][0]["text"]
    return text
