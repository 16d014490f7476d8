"""What a tool is: the kind of its subject and its tier, by everyone who says so."""

from dataclasses import dataclass

from mcp_gate.model import Kind, Resource, Tier
from mcp_gate.policy import kinds
from mcp_gate.policy.policy import Policy
from mcp_gate.policy.rules import NAME_CHARACTERS, Rule
from mcp_gate.policy.tiers import tier_of


@dataclass(frozen=True, slots=True)
class Nature:
    """What is known of a tool.

    full_name: `server__tool`, as rules write it, whatever the gate calls the tool.
    declared: the kind that servers.toml, or else policy files give it; kinds: that, and all that names tell.
    is_certain: the kind was declared, or told from the schema alone: no argument that a caller adds can change it.
    subject: the argument that was declared to be the subject.
    tier_where, tier_why: the place of the setting that gives the tier, and why where it is none.
    only_reads: it is known to change nothing.
    """

    full_name: str
    declared: Kind | None
    kinds: frozenset[Kind]
    is_certain: bool
    subject: str
    tier: Tier
    tier_where: str
    tier_why: str
    cost: float | None
    only_reads: bool

    @property
    def runs_lines(self) -> bool:
        """Whether it is, or may be, a shell."""
        return Kind.SHELL in self.kinds


def nature_of(resource: Resource, policy: Policy) -> Nature:
    """What the tool of a call is."""
    name = full_name(resource)
    facts = policy.facts(name)
    declared = resource.kind or next((one.kind for one in facts if one.kind is not None and one.counts), None)
    subject = resource.subject or next((one.subject for one in facts if one.subject and one.counts), "")
    by_schema = kinds.recognised(resource.tool, tuple(sorted(resource.parameters)))
    seen = by_schema | kinds.recognised(resource.tool, tuple(resource.arguments))
    every = seen if declared is None else frozenset({declared})
    tier, where, why = tier_of(resource, Kind.SHELL in every, facts)
    cost = resource.cost
    if cost is None:
        cost = next((one.cost for one in facts if one.cost is not None), None)
    only_reads = tier is Tier.SAFE or (resource.read_only and resource.trusts_hints)
    certain = declared is not None or bool(by_schema)
    return Nature(name, declared, every, certain, subject, tier, where, why, cost, only_reads)


def full_name(resource: Resource) -> str:
    """`server__tool`, as rules write it, whatever the gate calls the tool."""
    if not resource.server:
        return resource.name
    tool = "".join(character if character in NAME_CHARACTERS else "_" for character in resource.tool)
    return f"{resource.server}__{tool}"


def rules_for(resource: Resource, nature: Nature, policy: Policy) -> tuple[Rule, ...]:
    """The rules that speak of the tool, whatever their argument parts say; highest source first."""
    return policy.about(resource.name, nature.full_name, nature.kinds, nature.declared, nature.only_reads)
