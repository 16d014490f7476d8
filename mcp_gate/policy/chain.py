"""Availability: whether a mode and a node have a tool at all. Every policy that applies must permit it.

| what is so | the tool |
| --- | --- |
| a policy of the mode, or of `*`, has a whitelist without it | is not there |
| it has no whitelist, and a blacklist with it | is not there |
| the node, or one whose name begins its (`analyst` for `analyst_x`), has an allowlist without it | is not there |
| else | is there |

The gate's own tools are always there: they reach no server.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_gate.policy.policy import Policy


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy of the chain says of a tool."""

    policy: str
    permits: bool
    where: str
    source: str
    why: str


def verdicts(policy: Policy, name: str, mode: str, nodes: Sequence[str]) -> tuple[Verdict, ...]:
    """What each policy that applies says of the tool `server__tool`, in order of priority, the nodes' last."""
    found = []
    for one in sorted(policy.chain, key=lambda chained: chained.priority):
        if one.mode in (mode, "*"):
            permits = one.permits(name)
            listed = "whitelist" if one.allowed_tools else "blacklist"
            why = f"policy `{one.name}` of mode `{one.mode}` {'permits' if permits else 'blocks'} it by its {listed}"
            found.append(Verdict(one.name, permits, one.where, one.source, why))
    for node in nodes:
        for scope in policy.nodes:
            if scope.holds_for(node):
                permits = scope.permits(name)
                why = f"node `{node}` {'may' if permits else 'may not'} use it, by the allowlist of `{scope.node}`"
                found.append(Verdict(f"node {scope.node}", permits, scope.where, scope.source, why))
    return tuple(found)
