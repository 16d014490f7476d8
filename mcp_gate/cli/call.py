"""`mcp-gate explain` and `mcp-gate call`: one call, decided, or taken all the way through the gate."""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import anyio
import click

from mcp_gate.cli import ASK, DENY, FAILURE, Options
from mcp_gate.cli.assembly import Assembly, assemble, read, started
from mcp_gate.cli.terminal import TerminalConversation
from mcp_gate.display import shown
from mcp_gate.errors import GateError
from mcp_gate.gate import DECISION_KEY, Call
from mcp_gate.model import Attachment, Decision, Effect
from mcp_gate.policy.decide import Trace
from mcp_gate.policy.evidence import Match
from mcp_gate.wire.messages import RpcError

EXIT_CODES = {Effect.ALLOW: 0, Effect.DENY: DENY, Effect.ASK: ASK}


def explain(options: Options, name: str, arguments: str, *, as_json: bool) -> int:
    """Print how the decision of a call comes about, without making it; the exit code is its effect's."""
    given, assembly = _read_arguments(arguments), assemble(read(options), tool=name)
    found = anyio.run(partial(_explain, assembly, name, given))
    decision = found.decision
    if as_json:
        click.echo(json.dumps(as_dict(name, decision) | {"steps": _steps(found)}, indent=2))
    else:
        click.echo(f"{decision.effect}: {shown(name)}")
        for reason in decision.reasons:
            click.echo(f"  {shown(str(reason))}")
        for line in _lines(found):
            click.echo(shown(line))
    return EXIT_CODES[decision.effect]


def _steps(found: Trace) -> dict[str, Any]:
    """The steps as JSON members."""
    return {
        "chain": [{"policy": v.policy, "permits": v.permits, "where": v.where, "why": v.why} for v in found.verdicts],
        "rules": [
            {
                "source": rule.source,
                "effect": rule.effect,
                "rule": rule.pattern,
                "where": rule.where,
                "match": match.name.lower(),
                "counts": rule.counts,
            }
            for rule, match in found.rules
        ],
        "tier": {"tier": found.tier, "where": found.tier_reason.where, "why": found.tier_reason.why},
    }


def _lines(found: Trace) -> Iterator[str]:
    """The steps for a person."""
    yield "1 availability: " + ("; ".join(v.why for v in found.verdicts) or "no policy of the chain speaks of it")
    yield "2 rules: " + ("" if found.rules else "none matches")
    for rule, match in found.rules:
        certain = "matches" if match is Match.YES else "may match"
        count = "" if rule.counts else ", but its file is not trusted"
        yield f"    {rule.source}: {rule.effect} `{rule.pattern}` ({rule.where}) {certain}{count}"
    settled = found.rules and found.decision.reasons != (found.tier_reason,)
    yield f"3 tier{', where no rule had decided' if settled else ''}: {found.tier_reason}"
    for obligation in found.decision.obligations:
        cost = "" if obligation.cost is None else f", at a cost of ${obligation.cost:.2f}"
        yield f"4 obligation: an approval, which may reach as far as: {obligation.scope}{cost}"
    if not found.decision.obligations:
        yield "4 obligation: none"


def call(options: Options, name: str, arguments: str) -> int:
    """Make a call and print its result as JSON; a question is asked on the terminal."""
    given, assembly = _read_arguments(arguments), assemble(read(options), tool=name)
    result = anyio.run(partial(_call, assembly, name, given))
    click.echo(json.dumps(result, indent=2))
    effect = (result.get("_meta") or {}).get(DECISION_KEY)
    if effect in (Effect.DENY, Effect.ASK):
        return EXIT_CODES[Effect(effect)]
    return FAILURE if result.get("isError") is True else 0


def as_dict(name: str, decision: Decision) -> dict[str, Any]:
    """A decision as JSON members."""
    return {
        "tool": name,
        "effect": decision.effect,
        "tier": decision.tier,
        "reasons": [{"source": r.source, "rule": r.rule, "where": r.where, "why": r.why} for r in decision.reasons],
        "obligations": [{"scope": o.scope, "cost": o.cost} for o in decision.obligations],
    }


def _read_arguments(text: str) -> dict[str, Any]:
    try:
        arguments = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"`{text:.80}` is no JSON: {error}", param_hint="ARGUMENTS") from None
    if not isinstance(arguments, dict):
        raise click.BadParameter(f"`{text:.80}` is no JSON object", param_hint="ARGUMENTS")
    return arguments


async def _explain(assembly: Assembly, name: str, arguments: Mapping[str, Any]) -> Trace:
    async with started(assembly):
        tool = await assembly.gate.resolve(name, assembly.subject)
        return assembly.gate.explain(tool, arguments, assembly.subject)


async def _call(assembly: Assembly, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    async with started(assembly):
        attachment = Attachment(on_progress=_show_progress)
        request = Call(name, arguments, TerminalConversation(), assembly.subject, attachment)
        try:
            return await assembly.gate.call(request)
        except RpcError as error:
            raise GateError(f"`{name}` failed: {shown(str(error))} (code {error.code})") from None


def _show_progress(params: dict[str, Any]) -> None:
    message = params.get("message")
    text = f"{params.get('progress')}/{params.get('total', '?')} {message if isinstance(message, str) else ''}"
    click.echo(shown(text.strip()), err=True)
