"""The path of a call, and the only one: nothing else calls a server's tool.

| step | where it can end |
| --- | --- |
| the name is resolved, waiting for a server that is still starting | `UnknownToolError`, `ServerUnavailableError` |
| the policy decides, and the decision is logged | a refusal; also where it cannot be logged |
| the arguments are checked against the tool's schema | the schema, with what was wrong |
| a person is asked, where the decision says so | a refusal |
| the call is forwarded, and its outcome logged | the server's own result or error |

Refusals and unavailable servers are `isError` results, so that the model reads why and can go on.
"""

import time
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import anyio
import structlog

from mcp_gate.approval import elicitation
from mcp_gate.approval.approval import Approval, Conversation, Verdict
from mcp_gate.audit import AuditError, AuditLog
from mcp_gate.catalog.exposure import schema_error
from mcp_gate.catalog.registry import Registry, ServerTool, Tool
from mcp_gate.catalog.schemas import argument_errors
from mcp_gate.errors import ServerUnavailableError, UnknownToolError
from mcp_gate.model import Attachment, Context, Decision, Effect, Request, Resource, Scope, Subject, Tier
from mcp_gate.policy.decide import Trace, decide, is_permitted, trace
from mcp_gate.policy.policy import Policy
from mcp_gate.servers.pool import Servers
from mcp_gate.wire.messages import RpcError

log = structlog.get_logger()

DECISION_KEY = "mcp-gate/decision"  # in `_meta` of a refusal: `deny`, or `ask` where nobody answered


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it came from a host: the gate's name of the tool, and the way back to the person."""

    name: str
    arguments: Mapping[str, Any]
    conversation: Conversation
    subject: Subject
    attachment: Attachment = field(default_factory=Attachment)


class Gate:
    """Decides every call and forwards those that may pass (the policy enforcement point)."""

    def __init__(
        self,
        registry: Registry,
        servers: Servers,
        policy: Policy,
        audit: AuditLog,
        *,
        approval_timeout: float,
        context: Context | None = None,
    ) -> None:
        self.registry, self.servers, self.policy = registry, servers, policy
        self._audit, self._approval_timeout = audit, approval_timeout
        self._context = context or Context()  # what every call is judged in, whoever makes it
        self._spent = 0.0
        self._approved: defaultdict[Subject, set[str]] = defaultdict(set)
        self._asking: defaultdict[tuple[Subject, str], anyio.Lock] = defaultdict(anyio.Lock)

    async def call(self, call: Call) -> dict[str, Any]:
        """Take a call down the path of the module's table; the result is a `CallToolResult` dict.

        Raises:
            UnknownToolError: no server has such a tool.
            RpcError: the server's own error.
        """
        call_id, started = uuid.uuid4().hex[:12], time.monotonic()
        status, why = "cancelled", ""
        try:
            tool = await self.resolve(call.name, call.subject)
            status, why, result = await self._decided(call_id, tool, call)
        except ServerUnavailableError as error:
            status, why = "unavailable", str(error)
            result = _refusal(str(error))
        except RpcError as error:
            status, why = "error", str(error)
            raise
        except UnknownToolError as error:
            status, why = "unknown", str(error)
            raise
        except AuditError as error:
            status, why = "refused", str(error)
            log.error("call refused", tool=call.name, why=why)
            result = _refusal(f"mcp-gate refuses `{call.name}`: {why}")
        finally:
            self._record_outcome(call_id, call.name, status, started, why)
        return result

    async def resolve(self, name: str, subject: Subject) -> Tool:
        """The tool of that name, once its server has started; near names are offered if this subject may see them.

        Raises:
            UnknownToolError: there is none.
            ServerUnavailableError: the server that it belongs to did not start.
        """
        if name not in self.registry and (server := self.servers.starting(name)):
            await server.settled.wait()
        if name not in self.registry and (server := self.servers.failed(name)):
            raise ServerUnavailableError(server.name, server.why)
        try:
            return self.registry.get(name)
        except UnknownToolError as error:
            near = [n for n in error.near if self.is_permitted(self.registry.get(n), subject)]
            raise UnknownToolError(name, near) from None

    def request(self, tool: Tool, arguments: Mapping[str, Any], subject: Subject) -> Request:
        """The question that a call is to the policy, now."""
        context = replace(
            self._context,
            approved_servers=frozenset(self._approved.get(subject, ())),
            budget=None if self._context.budget is None else self._context.budget - self._spent,
        )
        if isinstance(tool, ServerTool) and tool.cwd:
            context = replace(context, place=replace(context.place, cwd=tool.cwd))
        return Request(subject, "tools/call", resource_of(tool, arguments), context)

    def decide(self, tool: Tool, arguments: Mapping[str, Any], subject: Subject) -> tuple[Request, Decision]:
        """What the policy says of a call, now."""
        request = self.request(tool, arguments, subject)
        return request, decide(request, self.policy)

    def explain(self, tool: Tool, arguments: Mapping[str, Any], subject: Subject) -> Trace:
        """How a call would be decided, step by step."""
        return trace(self.request(tool, arguments, subject), self.policy)

    def permitted_tools(self, subject: Subject) -> list[Tool]:
        """The tools that nothing forbids this subject as such, in the registry's order: what is listed and found."""
        return [tool for tool in self.registry.tools() if self.is_permitted(tool, subject)]

    def is_permitted(self, tool: Tool, subject: Subject) -> bool:
        """Whether the tool may be shown to this subject."""
        return is_permitted(resource_of(tool, {}), self.policy, self._context.mode, subject.nodes)

    async def _decided(self, call_id: str, tool: Tool, call: Call) -> tuple[str, str, dict[str, Any]]:
        """Status and reason for the log, and the result."""
        request, decision = self.decide(tool, call.arguments, call.subject)
        self._audit.decision(call_id, request, decision)
        if decision.effect is Effect.DENY:
            return "denied", str(decision.reasons[0]), _refusal(denial(request, decision), Effect.DENY)
        if errors := argument_errors(tool.parameters, call.arguments):
            # the errors quote values of arguments, which are not for the log
            return "invalid", f"{len(errors)} of the arguments do not fit the schema", schema_error(tool, errors)
        if decision.effect is Effect.ASK:
            refused = await self._approved_or_refused(call_id, tool, call, request, decision)
            if refused is not None:
                return "denied", *refused
        self._spent += decision.spends  # nothing was awaited since the decision where there is anything to spend
        result = await tool.execute(call.arguments, replace(call.attachment, subject=call.subject))
        return ("error" if result.get("isError") is True else "ok"), "", result

    async def _approved_or_refused(
        self, call_id: str, tool: Tool, call: Call, request: Request, decision: Decision
    ) -> tuple[str, dict[str, Any]] | None:
        """None when the call may pass; else why not, and the result that says so."""
        if decision.obligations and decision.obligations[0].scope is not Scope.SESSION:
            return await self._ask(call_id, call, request, decision)
        async with self._asking[call.subject, request.resource.server]:
            # An answer to another call of this server may have settled this one meanwhile.
            request, decision = self.decide(tool, call.arguments, call.subject)
            if decision.effect is Effect.ASK:
                return await self._ask(call_id, call, request, decision)
            self._audit.decision(call_id, request, decision)
            return None if decision.effect is Effect.ALLOW else _refused(denial(request, decision), Effect.DENY)

    async def _ask(
        self, call_id: str, call: Call, request: Request, decision: Decision
    ) -> tuple[str, dict[str, Any]] | None:
        approval = Approval(request, decision)
        verdict = await elicitation.ask(approval, call.conversation, self._approval_timeout)
        self._audit.approval(call_id, verdict.effect or "none", verdict.by, verdict.why)
        if verdict.effect is not Effect.ALLOW:
            return _refused(unapproved(request, decision, verdict), verdict.effect or Effect.ASK)
        if verdict.scope is Scope.SESSION:
            self._approved[call.subject].add(request.resource.server)
        return None

    def _record_outcome(self, call_id: str, tool: str, status: str, started: float, why: str) -> None:
        try:
            self._audit.outcome(call_id, tool, status, (time.monotonic() - started) * 1000, why)
        except AuditError as error:
            log.error("outcome not recorded", id=call_id, why=str(error))


def resource_of(tool: Tool, arguments: Mapping[str, Any]) -> Resource:
    """A tool with the arguments of one call, as the policy sees it."""
    if not isinstance(tool, ServerTool):
        return Resource(tool.name, "", tool.name, arguments, Tier.SAFE, "auto")
    properties, annotations = tool.parameters.get("properties"), tool.definition.get("annotations")
    hints = annotations if isinstance(annotations, dict) else {}
    return Resource(
        tool.name,
        tool.server,
        tool.tool,
        arguments,
        tool.tier,
        tool.approval,
        tool.cost,
        tool.kind,
        tool.subject,
        tool.shell,
        frozenset(properties) if isinstance(properties, dict) else frozenset(),
        destructive=hints.get("destructiveHint") is True,
        read_only=hints.get("readOnlyHint") is True,
        trusts_hints=tool.trusts_hints,
    )


def denial(request: Request, decision: Decision) -> str:
    """The text of a refusal by policy: which rule, and where it stands."""
    return f"mcp-gate denied `{request.resource.name}`: {decision.reasons[0]}"


def unapproved(request: Request, decision: Decision, verdict: Verdict) -> str:
    """The text of a refusal by a person, or for want of one."""
    name = request.resource.name
    if verdict.effect is Effect.DENY:
        return f"mcp-gate did not forward `{name}`: the person asked said no ({verdict.why})"
    needs = f"it needs an approval and got none: {verdict.why}"
    return f"mcp-gate did not forward `{name}`: {needs}. {_advice(request, decision)}"


def _advice(request: Request, decision: Decision) -> str:
    advice = "to allow it without a question: an allow rule"
    if any(obligation.scope is Scope.SESSION for obligation in decision.obligations):
        return f'{advice}, or `approval = "auto"` under [servers.{request.resource.server}]'
    return advice


def _refused(text: str, effect: Effect) -> tuple[str, dict[str, Any]]:
    return text, _refusal(text, effect)


def _refusal(text: str, effect: Effect | None = None) -> dict[str, Any]:
    """A result of the gate's own; `_meta` says what it decided, for programs."""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": True}
    return result if effect is None else {**result, "_meta": {DECISION_KEY: effect.value}}
