"""The approver that asks through the host's own form (MCP elicitation), in either era.

| the host answers | verdict |
| --- | --- |
| accept, with one of the offered choices | that choice |
| decline | deny |
| accept with anything else, cancel, an error, nothing within the timeout | none |
"""

from collections.abc import Mapping
from typing import Any

import anyio

from mcp_gate.approval.approval import Approval, Choice, Conversation, Verdict
from mcp_gate.approval.question import question
from mcp_gate.model import Effect, Scope
from mcp_gate.wire.messages import RpcError

BY = "elicitation"


async def ask(approval: Approval, conversation: Conversation, seconds: float) -> Verdict:
    """Put the question to the person at the host, for `seconds` at most."""
    if not conversation.can_elicit:
        return _none("the host has no way to ask (it does not offer form elicitation)")
    try:
        with anyio.fail_after(seconds):
            answer = await conversation.ask("elicitation/create", form(approval))
    except TimeoutError:
        return _none(f"nobody answered within {seconds:g} s")
    except RpcError as error:
        return _none(f"the host could not ask: {error}")
    return verdict_of(answer, approval)


def form(approval: Approval) -> dict[str, Any]:
    """The params of `elicitation/create`: the question, and one required field with the titled choices."""
    choices = approval.choices
    field = {
        "type": "string",
        "title": "Decision",
        "enum": [choice.value for choice in choices],
        "enumNames": [approval.title(choice) for choice in choices],
        "default": choices[0].value,
    }
    schema = {"type": "object", "properties": {"decision": field}, "required": ["decision"]}
    return {"message": question(approval), "requestedSchema": schema}


def verdict_of(answer: Mapping[str, Any], approval: Approval) -> Verdict:
    """What an `ElicitResult` settles."""
    action, content = answer.get("action"), answer.get("content")
    if action == "decline":
        return Verdict(Effect.DENY, Scope.CALL, BY, "declined")
    if action != "accept":
        return _none("the question was closed without an answer")
    decision = content.get("decision") if isinstance(content, Mapping) else None
    if decision not in [choice.value for choice in approval.choices]:
        return _none("the answer was none of the choices offered")
    if decision == Choice.DENY:
        return Verdict(Effect.DENY, Scope.CALL, BY, "denied")
    scope = Scope.SESSION if decision == Choice.SESSION else Scope.CALL
    return Verdict(Effect.ALLOW, scope, BY, approval.title(Choice(decision)).lower())


def _none(why: str) -> Verdict:
    return Verdict(None, Scope.CALL, BY, why)
