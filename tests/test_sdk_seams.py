"""The SDK's own sessions and servers, driven over our wire at the seams that it documents."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.dispatcher import DispatchContext, Outbound
from mcp.shared.dispatcher import Dispatcher as SdkDispatcher
from mcp.shared.exceptions import MCPError
from mcp.shared.transport_context import TransportContext
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent
from rawhost import SERVERS

from mcp_gate.wire.context import Context
from mcp_gate.wire.dispatcher import Dispatcher

pytestmark = pytest.mark.anyio

SEAMS = str(SERVERS / "seams.py")


async def answer_form(context: Any, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"colour": params.message[:5]})


def session_over(dispatcher: SdkDispatcher[TransportContext]) -> ClientSession:
    """A session of the SDK over a dispatcher. Ours satisfies the protocol: the type checker looks at the calls."""
    return ClientSession(dispatcher=dispatcher, elicitation_callback=answer_form)


def as_sdk(context: Context) -> DispatchContext[TransportContext]:
    """What our handlers get is what the SDK's handlers get; this too is for the type checker."""
    return context


@asynccontextmanager
async def our_client(wire: str) -> AsyncIterator[ClientSession]:
    """The SDK's session over our wire, with the SDK's server in a process, behind either wire."""
    process = subprocess.Popen(  # noqa: ASYNC220 - as the gate does it
        [sys.executable, SEAMS, wire], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with process.stdout:
            dispatcher = Dispatcher(
                process.stdout.fileno(), os.dup(process.stdin.fileno()), peer="the server", error=MCPError
            )
            process.stdin.close()
            async with session_over(dispatcher) as session:
                yield session
        with anyio.fail_after(20):
            await anyio.to_thread.run_sync(process.wait)
    finally:
        process.kill()
        process.wait()


@asynccontextmanager
async def their_client(wire: str) -> AsyncIterator[ClientSession]:
    """The SDK's session over the SDK's stdio transport, with the SDK's server in a process, behind either wire."""
    parameters = StdioServerParameters(command=sys.executable, args=[SEAMS, wire])
    async with (
        stdio_client(parameters) as (read, write),
        ClientSession(read, write, elicitation_callback=answer_form) as session,
    ):
        yield session


Connect = Callable[[], Any]
PAIRS = [
    pytest.param(partial(our_client, "sdk"), id="our client wire, the SDK's server wire"),
    pytest.param(partial(their_client, "gate"), id="the SDK's client wire, our server wire"),
    pytest.param(partial(our_client, "gate"), id="our wire on both sides"),
]


async def said(call: Awaitable[Any]) -> str:
    """The text that a call came back with."""
    result = await call
    assert isinstance(result, CallToolResult)
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


@pytest.mark.parametrize("connect", PAIRS)
async def test_a_whole_session_goes_over_it(connect: Connect) -> None:
    progress: list[tuple[float, float | None, str | None]] = []

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        progress.append((value, total, message))

    with anyio.fail_after(60):
        async with connect() as session:
            result = await session.initialize()
            assert result.server_info.name == "seams"
            assert "ask" in [tool.name for tool in (await session.list_tools()).tools]
            assert await said(session.call_tool("ask", {})) == "accept {'colour': 'which'}"
            assert await said(session.call_tool("count", {}, progress_callback=on_progress)) == "counted"
            assert progress == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


@pytest.mark.parametrize("connect", PAIRS)
async def test_an_error_that_a_handler_raises_reaches_the_caller_whole_and_ends_nothing(connect: Connect) -> None:
    with anyio.fail_after(60):
        async with connect() as session:
            await session.initialize()
            with pytest.raises(MCPError, match="no tool other") as refused:
                await session.call_tool("other", {})
            assert (refused.value.code, refused.value.data) == (-32602, {"near": ["ask"]})
            with pytest.raises(MCPError):
                await session.call_tool("crash", {})
            assert await said(session.call_tool("count", {})) == "counted"


@pytest.mark.parametrize("connect", PAIRS)
async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(connect: Connect) -> None:
    with anyio.fail_after(60):
        async with connect() as session:
            await session.initialize()
            async with anyio.create_task_group() as tasks:

                async def on_progress(*_: object) -> None:
                    tasks.cancel_scope.cancel()

                tasks.start_soon(partial(session.call_tool, "wait", {}, progress_callback=on_progress))
            assert await said(session.call_tool("was_cancelled", {})) == "yes"


async def test_params_that_do_not_fit_are_the_callers_fault() -> None:
    """The SDK's server leaves it to the dispatcher to say so."""
    process = subprocess.Popen(  # noqa: ASYNC220 - as the gate does it
        [sys.executable, SEAMS, "gate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    line = '{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}\n'
    about = '{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}'
    wrong = line % (1, "initialize", about) + line % (2, "tools/call", '{"name":7}')
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        process.stdin.write(wrong.encode())
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(2)]
    assert b'"id":1,"result"' in answers[0]
    assert b'"id":2,"error":{"code":-32602,' in answers[1]


def test_it_is_an_outbound_of_the_sdks_at_run_time_too() -> None:
    assert issubclass(Dispatcher, Outbound)
    assert issubclass(Context, Outbound)
