"""What is wrong with a policy although every rule of it can be read, seen against the tools that there are.

| finding | what is so |
| --- | --- |
| never matches | no tool has such a name, kind or argument; or the shell of all its tools is not known |
| unreachable | another rule speaks of every call that it speaks of, and always goes before it |
| repeated | a rule of the same text and effect is in the same source, or a higher one |
| contradictory | a rule of the same text and another effect is in the same source |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_gate.model import Effect, Kind, Resource
from mcp_gate.policy.nature import full_name, nature_of, rules_for
from mcp_gate.policy.policy import RANK, Policy
from mcp_gate.policy.rules import Rule


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing to look at. `kind` is the first column of the module's table."""

    kind: str
    rule: Rule
    why: str

    def __str__(self) -> str:
        return f"{self.rule.where}: `{self.rule.pattern}` {self.kind}: {self.why}"


def lint(policy: Policy, tools: Sequence[Resource]) -> list[Finding]:
    """Every finding, in the order of the rules. The arguments of `tools` do not matter, their parameters do."""
    spoken = {rule.where: _tools_of(rule, policy, tools) for rule in policy.rules}
    findings = []
    for rule in policy.rules:
        if found := _never(rule, spoken[rule.where]) or _twice(rule, policy) or _unreachable(rule, policy, spoken):
            findings.append(found)
    return findings


def never_matching(policy: Policy, tools: Sequence[Resource]) -> list[Finding]:
    """The rules that no call of these tools could match."""
    found = (_never(rule, _tools_of(rule, policy, tools)) for rule in policy.rules)
    return [finding for finding in found if finding is not None]


def _tools_of(rule: Rule, policy: Policy, tools: Sequence[Resource]) -> dict[str, Resource]:
    """The tools that a rule could speak of, by their full names."""
    return {full_name(tool): tool for tool in tools if _speaks(rule, policy, tool)}


def _speaks(rule: Rule, policy: Policy, tool: Resource) -> bool:
    if rule not in rules_for(tool, nature_of(tool, policy), policy):
        return False
    return all(not part.name or part.name in tool.parameters for part in rule.arguments)


def _never(rule: Rule, tools: Mapping[str, Resource]) -> Finding | None:
    if not tools:
        if rule.word and rule.effect is Effect.ALLOW:
            why = f'no tool is declared `kind = "{rule.kind}"`, in servers.toml or `[[tools]]`'
        else:
            what = f"is a {rule.kind} tool" if rule.word else "has such a name or such arguments"
            why = f"no tool {what}"
        return Finding("never matches", rule, why)
    shells = rule.effect is Effect.ALLOW and rule.kind is Kind.SHELL
    if shells and rule.arguments and all(tool.shell not in ("bash", "sh") for tool in tools.values()):
        why = 'the shell of its tools is not known: say `shell = "bash"` or `"sh"` under their servers'
        return Finding("never matches", rule, why)
    return None


def _twice(rule: Rule, policy: Policy) -> Finding | None:
    for other in policy.rules:
        if other is rule:
            continue
        if other.pattern == rule.pattern:
            if other.effect is not rule.effect and other.source is rule.source:
                return Finding("contradictory", rule, f"{other.where} says {other.effect}, this one {rule.effect}")
            higher = RANK[other.source] < RANK[rule.source]
            earlier = other.source is rule.source and policy.rules.index(other) < policy.rules.index(rule)
            if other.effect is rule.effect and (higher or earlier):
                return Finding("repeated", rule, f"{other.where} says the same")
    return None


def _unreachable(rule: Rule, policy: Policy, spoken: Mapping[str, Mapping[str, Resource]]) -> Finding | None:
    for other in policy.rules:
        wider = spoken[rule.where].keys() <= spoken[other.where].keys()
        if other is not rule and other.is_whole and wider and _goes_before(other, rule):
            why = f"`{other.pattern}` ({other.where}) says {other.effect} for every tool that it speaks of"
            return Finding("unreachable", rule, why)
    return None


def _goes_before(other: Rule, rule: Rule) -> bool:
    """Whether `other` always decides where both match."""
    if other.effect is Effect.DENY:
        return rule.effect is not Effect.DENY
    if rule.effect is Effect.DENY:
        return False
    if other.source is rule.source:
        return other.effect is Effect.ASK and rule.effect is Effect.ALLOW
    return RANK[other.source] < RANK[rule.source] and other.counts
