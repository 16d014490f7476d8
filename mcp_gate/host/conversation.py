"""How a call asks its host something, in either era.

| era | a question is | the answer comes |
| --- | --- | --- |
| legacy | a live request on the call's own channel | as that request's result |
| modern | the *result* of the call's request, `input_required`; the call stays suspended | with a retry of the call |

A retry names the suspended call by its `requestState`. That is client-supplied input: an unguessable reference, good
once, and only with the same tool, arguments and subject. A retry that does not fit leaves the suspended call as it is.
"""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio

from mcp_gate.model import Subject
from mcp_gate.wire.context import Context
from mcp_gate.wire.messages import INVALID_PARAMS, RpcError

QUESTION = "question"  # the key of the one input request that is open at a time


def can_elicit_forms(capabilities: Mapping[str, Any]) -> bool:
    """Whether a host with these capabilities shows forms: a bare `elicitation: {}` means forms alone."""
    elicitation = capabilities.get("elicitation")
    return isinstance(elicitation, dict) and ("form" in elicitation or "url" not in elicitation)


@dataclass(frozen=True, slots=True)
class LiveConversation:
    """A legacy host: it is asked while its call waits."""

    context: Context
    capabilities: Mapping[str, Any]

    @property
    def can_elicit(self) -> bool:
        """Whether the host shows forms."""
        return can_elicit_forms(self.capabilities)

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """See `Conversation.ask`."""
        return await self.context.send_raw_request(method, params)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a `requestState` is good for."""

    method: str
    tool: str
    arguments: str
    subject: Subject


def bind(method: str, tool: str, arguments: Mapping[str, Any], subject: Subject) -> Binding:
    """The binding of a call; the arguments count by their canonical JSON."""
    canonical = json.dumps(arguments, sort_keys=True, separators=(",", ":")).encode()
    return Binding(method, tool, hashlib.sha256(canonical).hexdigest(), subject)


@dataclass(slots=True, eq=False)
class SuspendableCall:
    """A modern host's call. It runs in a task of the host's own and may outlive the request that started it."""

    binding: Binding
    context: Context
    capabilities: Mapping[str, Any]
    suspended: "Suspended"
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _reply: "asyncio.Future[dict[str, Any]]" = field(init=False)
    _answers: "asyncio.Future[Mapping[str, Any]] | None" = None

    def __post_init__(self) -> None:
        self._reply = asyncio.get_running_loop().create_future()

    @property
    def can_elicit(self) -> bool:
        """Whether the host shows forms."""
        return can_elicit_forms(self.capabilities)

    async def run(self, call: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Carry the call out; what it returns or raises goes to whichever request waits for it by then."""
        with self.scope:
            try:
                result = await call()
            except Exception as error:  # noqa: BLE001 - handed over: `step` raises it in the request's own task
                if not self._reply.done():
                    self._reply.set_exception(error)
                    self._reply.exception()
            else:
                if not self._reply.done():
                    self._reply.set_result(result)

    async def step(self) -> dict[str, Any]:
        """What to answer the request at hand with: the call's result, or a question to put first.

        If the request is cancelled, so is the call.
        """
        try:
            return await self._reply
        except asyncio.CancelledError:
            self.scope.cancel()
            raise

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """See `Conversation.ask`: answers the request with the question and waits for the retry."""
        if self._reply.done():
            raise RpcError(INVALID_PARAMS, "the host has left the call")
        self._answers = asyncio.get_running_loop().create_future()
        reply, self._reply = self._reply, asyncio.get_running_loop().create_future()
        with self.suspended.hold(self) as state:
            questions = {QUESTION: {"method": method, "params": dict(params)}}
            reply.set_result({"resultType": "input_required", "inputRequests": questions, "requestState": state})
            answer = (await self._answers).get(QUESTION)
        if not isinstance(answer, dict):
            raise RpcError(INVALID_PARAMS, f"`inputResponses.{QUESTION}` is missing")
        return answer

    def resume(self, context: Context, capabilities: Mapping[str, Any], answers: Mapping[str, Any]) -> None:
        """Go on, now on behalf of the request of `context`."""
        self.context, self.capabilities = context, capabilities
        if self._answers is not None and not self._answers.done():
            self._answers.set_result(answers)


class Suspended:
    """The calls that wait for a retry of their host, by `requestState`."""

    def __init__(self) -> None:
        self._calls: dict[str, SuspendableCall] = {}

    def hold(self, call: SuspendableCall) -> "_Held":
        """While the returned context lasts, a retry can find the call by the state that it gives."""
        return _Held(self._calls, call)

    def take(self, state: Any, binding: Binding) -> SuspendableCall:
        """The call that a retry goes on with; the state is used up.

        Raises:
            RpcError: the state is none, has been used or has expired, or belongs to another call.
        """
        call = self._calls.get(state) if isinstance(state, str) else None
        if call is None or call.binding != binding:
            raise RpcError(
                INVALID_PARAMS,
                "`requestState` is unknown, used, expired, or of a call with another tool or other arguments; "
                "call again without it",
            )
        del self._calls[state]
        return call


class _Held:
    def __init__(self, calls: dict[str, SuspendableCall], call: SuspendableCall) -> None:
        self._calls, self._call = calls, call
        self._state = secrets.token_urlsafe(32)

    def __enter__(self) -> str:
        self._calls[self._state] = self._call
        return self._state

    def __exit__(self, *_: object) -> None:
        self._calls.pop(self._state, None)
