"""How much harm a tool can do, by who says so.

| who speaks, the first that does | the tier |
| --- | --- |
| servers.toml, of this tool (`servers.NAME.tools.TOOL.tier`) | what it says |
| policy files, `[[tools]]`: the highest source that gives one | the highest tier that its entries give |
| nobody, and the tool runs shell lines | dangerous |
| nobody, `readOnlyHint`, and the server is marked `trust_annotations` | safe |
| nobody | standard |

But for the first row, `destructiveHint` makes at least write of it, and an entry of a project that is not trusted only
counts where it is higher than what the others say.
"""

from collections.abc import Sequence

from mcp_gate.model import Resource, Tier
from mcp_gate.policy.policy import ToolFacts

ORDER = {
    tier: number for number, tier in enumerate((Tier.SAFE, Tier.STANDARD, Tier.EXPENSIVE, Tier.WRITE, Tier.DANGEROUS))
}


def tier_of(resource: Resource, runs_lines: bool, facts: Sequence[ToolFacts]) -> tuple[Tier, str, str]:
    """The tier, the place of the setting that says so, and why where it is none. `facts` are highest source first."""
    if resource.tier is not None:
        return resource.tier, f"servers.{resource.server}.tools.{resource.tool}.tier" if resource.server else "", ""
    tier, where, why = _by_files(facts) or _by_nature(resource, runs_lines)
    for one in facts:
        if one.tier is not None and not one.counts and ORDER[one.tier] > ORDER[tier]:
            tier, where, why = one.tier, one.where, ""
    if resource.destructive and ORDER[tier] < ORDER[Tier.WRITE]:
        return Tier.WRITE, "", "its server says that it is destructive"
    return tier, where, why


def _by_files(facts: Sequence[ToolFacts]) -> tuple[Tier, str, str] | None:
    speaking = [one for one in facts if one.tier is not None and one.counts]
    if not speaking:
        return None
    highest = [one for one in speaking if one.source is speaking[0].source]
    strictest = max(highest, key=lambda one: ORDER[one.tier or Tier.SAFE])
    return strictest.tier or Tier.SAFE, strictest.where, ""


def _by_nature(resource: Resource, runs_lines: bool) -> tuple[Tier, str, str]:
    if runs_lines:
        return Tier.DANGEROUS, "", "it runs shell lines"
    if resource.read_only and resource.trusts_hints:
        return Tier.SAFE, f"servers.{resource.server}.trust_annotations", "its server, which is trusted, says so"
    return Tier.STANDARD, "", ""
