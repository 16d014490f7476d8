"""`mcp-gate explain` and `mcp-gate call`: one call, decided, or taken all the way through the gate."""

import json
from collections.abc import Mapping
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
from mcp_gate.wire.messages import RpcError

EXIT_CODES = {Effect.ALLOW: 0, Effect.DENY: DENY, Effect.ASK: ASK}


def explain(options: Options, name: str, arguments: str, *, as_json: bool) -> int:
    """Print the decision of a call that is not made; the exit code is its effect's."""
    given, assembly = _read_arguments(arguments), assemble(*read(options), tool=name)
    decision = anyio.run(partial(_decide, assembly, name, given))
    if as_json:
        click.echo(json.dumps(as_dict(name, decision), indent=2))
    else:
        click.echo(f"{decision.effect}: {shown(name)}")
        for reason in decision.reasons:
            click.echo(f"  {shown(str(reason))}")
        for obligation in decision.obligations:
            click.echo(f"  needs an approval, which may reach as far as: {obligation.scope}")
    return EXIT_CODES[decision.effect]


def call(options: Options, name: str, arguments: str) -> int:
    """Make a call and print its result as JSON; a question is asked on the terminal."""
    given, assembly = _read_arguments(arguments), assemble(*read(options), tool=name)
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


async def _decide(assembly: Assembly, name: str, arguments: Mapping[str, Any]) -> Decision:
    async with started(assembly):
        tool = await assembly.gate.resolve(name)
        return assembly.gate.decide(tool, arguments, assembly.subject)[1]


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
