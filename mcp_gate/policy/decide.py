"""The policy decision point: one pure, total function from a call and the rules to a decision.

| what is so | decision |
| --- | --- |
| a deny rule of any source matches | deny |
| else the highest source with a match has an ask rule that matches | ask, for this call |
| else that source has an allow rule that matches | allow |
| no rule matches, tier safe | allow |
| no rule matches, tier standard, server's approval `auto` | allow |
| no rule matches, tier standard, approval `session`, server approved in this session | allow |
| no rule matches, tier standard, approval `session` | ask, for the session |
| no rule matches, tier standard, approval `call` | ask, for this call |
| no rule matches, tier write, dangerous or expensive | ask, for this call, whatever the approval mode |

A tool has two names: `server__tool` in full, and the gate's name for it, which may have another prefix or be cut short.
A deny or ask rule matches if it matches either. An allow rule must match the full name: under `prefix = ""` a server
chooses the whole of the other one, and could name its tool so that a rule meant for another server allows it.
"""

from typing import assert_never

from mcp_gate.model import Decision, Effect, Obligation, Reason, Request, Resource, Scope, Source, Tier
from mcp_gate.policy.rules import NAME_CHARACTERS, Policy, Rule

RANK = {source: rank for rank, source in enumerate(Source)}


def decide(request: Request, policy: Policy) -> Decision:
    """Judge one call. The reasons come in order of weight, the deciding one first; nothing is raised."""
    resource = request.resource
    matching = _matching(policy, resource.name, _full_name(resource.name, resource.server, resource.tool))
    if not matching:
        return _by_tier(request)
    deciding = _deciding(matching)
    effect = deciding[0].effect
    overruled = [rule for rule in matching if rule.effect is not effect]
    reasons = (*map(_spoken, deciding), *(_overruled(rule, deciding[0]) for rule in overruled))
    return Decision(effect, reasons, _per_call(resource) if effect is Effect.ASK else ())


def is_permitted(name: str, policy: Policy, server: str = "", tool: str = "") -> bool:
    """Whether no deny rule forbids the tool as such, so that it may be listed and found.

    `name` is the gate's name for it; `server` and the server's own `tool` name are wanted where the gate's name may
    differ from `server__tool`.
    """
    matching = _matching(policy, name, _full_name(name, server, tool))
    return all(rule.effect is not Effect.DENY for rule in matching)


def _full_name(name: str, server: str, tool: str) -> str:
    if not server:
        return name
    return f"{server}__" + "".join(character if character in NAME_CHARACTERS else "_" for character in tool)


def _matching(policy: Policy, name: str, full_name: str) -> list[Rule]:
    """The rules that match, highest source first; within a source in the order of the policy."""
    matching = [
        rule
        for rule in policy.rules
        if rule.matches(full_name) or (rule.effect is not Effect.ALLOW and rule.matches(name))
    ]
    return sorted(matching, key=lambda rule: RANK[rule.source])


def _deciding(matching: list[Rule]) -> list[Rule]:
    """The rules that settle the effect, all of the same one; `matching` is sorted and not empty."""
    if denies := [rule for rule in matching if rule.effect is Effect.DENY]:
        return denies
    highest = [rule for rule in matching if rule.source is matching[0].source]
    return [rule for rule in highest if rule.effect is Effect.ASK] or highest


def _by_tier(request: Request) -> Decision:
    resource = request.resource
    match resource.tier:
        case Tier.SAFE:
            return Decision(Effect.ALLOW, (_tier(resource, "it can do no harm, so no approval is needed"),))
        case Tier.STANDARD:
            return _by_approval_mode(request)
        case Tier.WRITE:
            why = "it changes data, so each call needs an approval"
        case Tier.DANGEROUS:
            why = "it can do lasting harm, so each call needs an approval"
        case Tier.EXPENSIVE:
            price = "costs money" if resource.cost is None else f"costs ${resource.cost:.2f}"
            why = f"a call {price}, so each call needs an approval"
        case _:
            assert_never(resource.tier)
    return Decision(Effect.ASK, (_tier(resource, why),), _per_call(resource))


def _by_approval_mode(request: Request) -> Decision:
    resource = request.resource
    server = f"server `{resource.server}`"
    match resource.approval:
        case "auto":
            return Decision(Effect.ALLOW, (_approval(resource, f"calls to {server} need no approval"),))
        case "session" if resource.server in request.context.approved_servers:
            return Decision(Effect.ALLOW, (_approval(resource, f"{server} was approved for this session"),))
        case "session":
            why = f"{server} needs one approval per session and has none yet"
            return Decision(Effect.ASK, (_approval(resource, why),), (Obligation(Scope.SESSION),))
        case "call":
            why = f"each call to {server} needs an approval"
            return Decision(Effect.ASK, (_approval(resource, why),), _per_call(resource))
        case _:
            assert_never(resource.approval)


def _per_call(resource: Resource) -> tuple[Obligation]:
    return (Obligation(Scope.CALL, resource.cost),)


def _tier(resource: Resource, why: str) -> Reason:
    setting = f"servers.{resource.server}.tools.{resource.tool}.tier" if resource.server else ""
    return Reason("tier", "", setting, f"tier {resource.tier}: {why}")


def _approval(resource: Resource, why: str) -> Reason:
    return Reason("approval", "", f"servers.{resource.server}.approval", why)


def _spoken(rule: Rule) -> Reason:
    why = {Effect.DENY: "denies this tool", Effect.ASK: "asks before each call", Effect.ALLOW: "allows this tool"}
    return Reason(rule.source, rule.pattern, rule.where, why[rule.effect])


def _overruled(rule: Rule, by: Rule) -> Reason:
    if by.effect is Effect.DENY:
        cause = "a deny of any source wins"
    elif by.source is rule.source:
        cause = f"{by.effect} goes before {rule.effect} in one source"
    else:
        cause = f"source {by.source} goes before {rule.source}"
    return Reason(rule.source, rule.pattern, rule.where, f"would {rule.effect}, but {cause}")
