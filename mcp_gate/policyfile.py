"""Policy files: TOML documents of rules and what goes with them, each part with the place where it stands.

| table or key | holds |
| --- | --- |
| `deny`, `ask`, `allow` | rules |
| `read_only` | shell commands that only read |
| `[[tools]]` | what tools are: `match` (a glob over `server__tool`), `tier`, `kind`, `subject`, `cost` |
| `[policies.NAME]` | a policy of the chain: `mode`, `priority`, `allowed_tools`, `denied_tools` |
| `[nodes.NAME]` | `allowed_tools` of a node |
| `[[tests]]` | calls with the effect that the file is to have on them |
| `description`, `only_managed` | what it is for; whether an organisation's file keeps other files from allowing |

A rule that cannot be read is never skipped: the whole file is refused.
"""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import Field

from mcp_gate.documents import Model, parse_toml, validate
from mcp_gate.errors import ConfigError, Problem, RuleSyntaxError
from mcp_gate.model import ApprovalMode, Dialect, Effect, Kind, Source, Tier
from mcp_gate.policy.policy import ChainPolicy, NodeScope, Policy, ReadOnly, ToolFacts
from mcp_gate.policy.rules import Rule, parse_rule
from mcp_gate.policy.shell.patterns import CommandPattern

Names = Annotated[tuple[str, ...], Field(strict=False)]
Dollars = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class PolicyTest(Model):
    """`[[tests]]`: a call, the effect it is to have, and words that its first reason holds.

    The other members say what the call's tool and place are, as servers.toml would.
    """

    call: str
    expect: Annotated[Effect, Field(strict=False)]
    arguments: dict[str, Any] = Field(default_factory=dict)
    mode: str = "full_pipeline"
    node: str = ""
    tier: Annotated[Tier | None, Field(strict=False)] = None
    approval: ApprovalMode = "session"
    kind: Annotated[Kind | None, Field(strict=False)] = None
    shell: Dialect = "bash"
    reason: str = ""


class ToolEntry(Model):
    """`[[tools]]`: what the tools are that `match` speaks of."""

    match: str
    tier: Annotated[Tier | None, Field(strict=False)] = None
    kind: Annotated[Kind | None, Field(strict=False)] = None
    subject: str = ""
    cost: Dollars | None = None


class ChainEntry(Model):
    """`[policies.NAME]`: which tools a mode has."""

    mode: str = "*"
    priority: int = 100
    allowed_tools: Names = ()
    denied_tools: Names = ()


class NodeEntry(Model):
    """`[nodes.NAME]`: which tools a node has."""

    allowed_tools: Names


class PolicyDocument(Model):
    """A whole policy file, its rules not yet read."""

    description: str = ""
    only_managed: bool = False
    deny: Names = ()
    ask: Names = ()
    allow: Names = ()
    read_only: Names = ()
    tools: Annotated[tuple[ToolEntry, ...], Field(strict=False)] = ()
    policies: dict[str, ChainEntry] = Field(default_factory=dict)
    nodes: dict[str, NodeEntry] = Field(default_factory=dict)
    tests: Annotated[tuple[PolicyTest, ...], Field(strict=False)] = ()

    def policy(self, label: str, source: Source, *, trusted: bool = True) -> Policy:
        """What the file puts in force; raises ConfigError with every bad rule.

        Each part has its place (`label: deny[2]`, counted from 0). Of a file that is not `trusted` only what tightens
        counts: its allow rules are kept, marked, so that a decision can say why they did not speak.
        """
        lists = {Effect.DENY: self.deny, Effect.ASK: self.ask, Effect.ALLOW: self.allow}
        places = [
            (effect, text, f"{effect}[{number}]")
            for effect, texts in lists.items()
            for number, text in enumerate(texts)
        ]
        return Policy(
            read_rules(places, label, source, trusted=trusted),
            tuple(
                ChainPolicy(
                    name, e.mode, e.priority, e.allowed_tools, e.denied_tools, f"{label}: policies.{name}", source
                )
                for name, e in self.policies.items()
            ),
            tuple(
                NodeScope(name, entry.allowed_tools, f"{label}: nodes.{name}", source)
                for name, entry in self.nodes.items()
            ),
            tuple(
                ToolFacts(e.match, e.tier, e.kind, e.subject, e.cost, f"{label}: tools[{number}]", source, trusted)
                for number, e in enumerate(self.tools)
            ),
            tuple(
                ReadOnly(text, f"{label}: read_only[{number}]", source, CommandPattern(text))
                for number, text in enumerate(self.read_only)
                if trusted
            ),
        )


def parse_policy(content: bytes, label: str) -> PolicyDocument:
    """A policy file from its bytes; raises ConfigError with every unknown key and wrong value."""
    return validate(PolicyDocument, parse_toml(content, label), label)


def read_rules(
    places: Iterable[tuple[Effect, str, str]], label: str, source: Source, *, trusted: bool = True
) -> tuple[Rule, ...]:
    """Read (effect, text, key) triples; `label` is the file they stand in, empty for the command line."""
    rules: list[Rule] = []
    problems: list[Problem] = []
    for effect, text, key in places:
        where = f"{label}: {key}" if label else key
        try:
            rules.append(parse_rule(text, effect, source, where, counts=trusted or effect is not Effect.ALLOW))
        except RuleSyntaxError as error:
            problems.append(Problem(label, key, str(error)))
    if problems:
        raise ConfigError(problems)
    return tuple(rules)
