"""`mcp-gate decide`: many calls decided, one a line, by rules of their own or by the policy in force."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Any

import click
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mcp_gate.cli import Options
from mcp_gate.cli.assembly import Setting, place, read
from mcp_gate.cli.call import as_dict
from mcp_gate.display import shown
from mcp_gate.errors import GateError
from mcp_gate.model import (
    ApprovalMode,
    Context,
    Decision,
    Dialect,
    Effect,
    Kind,
    Place,
    Request,
    Resource,
    Source,
    Subject,
    Tier,
)
from mcp_gate.policy.decide import decide as decided
from mcp_gate.policy.policy import Policy
from mcp_gate.policyfile import read_rules

HOME, PROJECT = "/home/u", "/home/u/project"
Loose = ConfigDict(frozen=True, extra="ignore")


class Rules(BaseModel):
    """The rules of a case."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    deny: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()


class Fixture(BaseModel):
    """Where a case happens; `symlinks` maps absolute paths to what they lead to."""

    model_config = Loose
    home: str = ""
    cwd: str = ""
    platform: str = Field("posix", pattern="^(posix|windows)$")
    case_insensitive: bool = False
    symlinks: dict[str, str] = Field(default_factory=dict)


class Case(BaseModel):
    """One line: a call, and what it is judged by. Without `rules` it is the policy in force."""

    model_config = Loose
    tool: Annotated[str, Field(pattern=".+__.+")]
    arguments: dict[str, Any] = Field(default_factory=dict)
    rules: Rules | None = None
    fixture: Fixture | None = None
    shell: Dialect | None = None
    mode: str = ""
    node: str = ""
    tier: Tier | None = None
    kind: Kind | None = None
    subject: str = ""
    approval: ApprovalMode | None = None


def decide(options: Options, *, as_json: bool) -> int:
    """Read cases from stdin and print a decision for each: `effect`, a tab, the first reason; or JSON.

    A line that is no case asks, and says so. The configuration is read when the first case needs it.
    """
    setting = lru_cache(maxsize=1)(lambda: read(options))
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    for line in sys.stdin:
        if line.strip():
            name, decision, why = _answer(line, setting)
            if as_json:
                body = (
                    as_dict(name, decision) if decision is not None else {"tool": name, "effect": "ask", "error": why}
                )
                click.echo(json.dumps(body))
            else:
                effect = decision.effect if decision is not None else Effect.ASK
                click.echo(f"{effect}\t{shown(why)}")
    return 0


def _answer(line: str, setting: Callable[[], Setting]) -> tuple[str, Decision | None, str]:
    try:
        case = Case.model_validate_json(line)
        request, policy = _question(case, setting)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return "", None, f"no case: {'.'.join(map(str, first['loc']))}: {first['msg']}".replace(": : ", ": ")
    except (GateError, ValueError) as error:
        return "", None, f"no case: {error}"
    decision = decided(request, policy)
    return case.tool, decision, str(decision.reasons[0]) if decision.reasons else ""


def _question(case: Case, setting: Callable[[], Setting]) -> tuple[Request, Policy]:
    server, _, tool = case.tool.partition("__")
    if case.rules is not None:
        resource = Resource(
            case.tool, server, tool, case.arguments, case.tier, case.approval or "session", None, case.kind,
            case.subject, case.shell or "bash",
        )  # fmt: skip
        where = _place(case.fixture) if case.fixture is not None else Place(HOME, PROJECT)
        context = Context(mode=case.mode or "full_pipeline", place=where)
        return Request(Subject("", case.node), "tools/call", resource, context), _policy(case.rules)
    in_force = setting()
    configured = in_force.config.servers.get(server)
    own = configured.tools.get(tool) if configured else None
    resource = Resource(
        case.tool,
        server,
        tool,
        case.arguments,
        case.tier or (own.tier if own else None),
        case.approval or (configured.approval if configured else "session"),
        own.cost if own else None,
        case.kind or (own.kind if own else None),
        case.subject or (own.subject if own else ""),
        case.shell or (configured.shell if configured else "unknown"),
        trusts_hints=configured.trust_annotations if configured else False,
    )
    context = in_force.context
    if case.fixture is not None:
        where = _place(case.fixture)
    elif configured is not None and configured.cwd is not None:
        where = place(configured.cwd)
    else:
        where = context.place
    context = Context(
        mode=case.mode or context.mode, auto_approve=context.auto_approve, budget=context.budget, place=where
    )
    return Request(Subject("", case.node, in_force.node), "tools/call", resource, context), in_force.policy


def _place(fixture: Fixture) -> Place:
    links: Mapping[str, str] = fixture.symlinks
    platform: Any = fixture.platform
    return Place(fixture.home, fixture.cwd, platform, fixture.case_insensitive, lambda path: links.get(path, ""))


@lru_cache(maxsize=64)
def _policy(rules: Rules) -> Policy:
    places = [(effect, text, f"{effect}[{n}]") for effect, texts in _lists(rules) for n, text in enumerate(texts)]
    return Policy(read_rules(places, "", Source.USER))


def _lists(rules: Rules) -> Iterator[tuple[Effect, tuple[str, ...]]]:
    yield from ((Effect.DENY, rules.deny), (Effect.ASK, rules.ask), (Effect.ALLOW, rules.allow))
