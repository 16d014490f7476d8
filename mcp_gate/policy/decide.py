"""The policy decision point: one pure, total function from a call and what is in force to a decision.

| step | what is so | decision |
| --- | --- | --- |
| availability | a policy of the mode, or an allowlist of the node, is without the tool | deny |
| permission | a deny rule of any source matches | deny |
| | a part that is not known could make a deny rule match | ask, for this call |
| | else the highest source with a match has an ask rule that matches, or could | ask, for this call |
| | else that source has an allow rule that matches | allow |
| tier, where no rule matched | safe | allow |
| | standard, server's approval `auto`, or `auto_approve` | allow |
| | standard, approval `session`, server approved in this session | allow |
| | standard, approval `session` | ask, for the session |
| | standard, approval `call` | ask, for this call |
| | expensive, and its cost is inside the session's budget | allow |
| | dangerous, declared a shell, and each command of the line is on the read-only list | allow |
| | write, dangerous, expensive | ask, for this call, whatever the approval mode |

A shell line is allowed by several allow rules together: each of its commands by one of them, all from sources above
that of the highest ask rule.

A tool has two names: `server__tool` in full, and the gate's name for it, which may have another prefix or be cut short.
A deny or ask rule matches if it matches either. An allow rule must match the full name: under `prefix = ""` a server
chooses the whole of the other one, and could name its tool so that a rule meant for another server allows it.
"""

from dataclasses import dataclass, replace
from typing import assert_never

from mcp_gate.model import Decision, Effect, Kind, Obligation, Reason, Request, Resource, Scope, Tier
from mcp_gate.policy.chain import Verdict, verdicts
from mcp_gate.policy.evidence import Evidence, Match
from mcp_gate.policy.nature import nature_of, rules_for
from mcp_gate.policy.policy import RANK, Policy
from mcp_gate.policy.rules import Rule
from mcp_gate.policy.shell.judge import uncovered
from mcp_gate.policy.shell.patterns import CommandPattern

ANYTHING = CommandPattern("*")
UNREADABLE = "the arguments could not be judged"


@dataclass(frozen=True, slots=True)
class Trace:
    """How a decision came about, step by step: for `explain`.

    `rules` are those that matched, with whether that is certain; `tier` and `tier_reason` are what decides where no
    rule does.
    """

    verdicts: tuple[Verdict, ...]
    rules: tuple[tuple[Rule, Match], ...]
    tier: Tier
    tier_reason: Reason
    decision: Decision


def decide(request: Request, policy: Policy) -> Decision:
    """Judge one call. The reasons come in order of weight, the deciding one first; nothing is raised."""
    try:
        return _Judge(request, policy).decide()
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError) as error:
        return _failed(request, error)


def trace(request: Request, policy: Policy) -> Trace:
    """Judge one call, and keep how."""
    try:
        return _Judge(request, policy).trace()
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError) as error:
        decision = _failed(request, error)
        return Trace((), (), decision.tier, decision.reasons[0], decision)


def _failed(request: Request, error: Exception) -> Decision:
    """A call that could not be judged is asked about: what is uncertain tightens."""
    reason = Reason("error", "", "", f"{UNREADABLE} ({type(error).__name__}), so a person is asked")
    return Decision(Effect.ASK, (reason,), (Obligation(Scope.CALL, request.resource.cost),), Tier.DANGEROUS)


def is_permitted(resource: Resource, policy: Policy, mode: str = "full_pipeline", nodes: tuple[str, ...] = ()) -> bool:
    """Whether neither chain nor a deny rule forbids the tool as such, so that it may be listed and found.

    The arguments of `resource` do not matter.
    """
    nature = nature_of(resource, policy)
    if resource.server and not all(one.permits for one in verdicts(policy, nature.full_name, mode, nodes)):
        return False
    rules = rules_for(resource, nature, policy)
    return not any(rule.effect is Effect.DENY and rule.is_whole for rule in rules)


class _Judge:
    """One call being judged."""

    def __init__(self, request: Request, policy: Policy) -> None:
        self.request, self.policy, self.resource = request, policy, request.resource
        self.nature = nature_of(self.resource, policy)
        self.evidence = Evidence(request, self.nature)
        self.tier, self.cost = self.nature.tier, self.nature.cost
        self.uncovered = ""  # why the shell allow rules do not allow a line

    def decide(self) -> Decision:
        """The steps of the module's table."""
        return self._decide(self._verdicts(), self._matching())

    def trace(self) -> Trace:
        """The decision with its steps."""
        said, spoken = self._verdicts(), self._matching()
        return Trace(said, spoken, self.tier, self._by_tier().reasons[0], self._decide(said, spoken))

    def _verdicts(self) -> tuple[Verdict, ...]:
        if not self.resource.server:  # the gate's own tools
            return ()
        return verdicts(self.policy, self.nature.full_name, self.request.context.mode, self.request.subject.nodes)

    def _decide(self, said: tuple[Verdict, ...], spoken: tuple[tuple[Rule, Match], ...]) -> Decision:
        blocking = tuple(Reason("chain", "", one.where, one.why) for one in said if not one.permits)
        decision = Decision(Effect.DENY, blocking) if blocking else self._by_rules(spoken) or self._by_tier()
        waiting = tuple(_waiting(rule) for rule, _ in spoken if rule.effect is Effect.ALLOW and not rule.counts)
        reasons = decision.reasons if blocking else decision.reasons + waiting
        permits = tuple((one.policy, one.permits) for one in said)
        return replace(decision, reasons=reasons, tier=self.tier, verdicts=permits)

    # rules

    def _matching(self) -> tuple[tuple[Rule, Match], ...]:
        """The rules that match or may, highest source first. A shell allow rule is there if the line is allowed by all
        such rules together, and it was needed.
        """
        found: list[tuple[Rule, Match]] = []
        shell: list[Rule] = []
        for rule in rules_for(self.resource, self.nature, self.policy):
            match = self.evidence.match(rule)
            if match is Match.NO:
                continue
            if rule.effect is Effect.ALLOW and self.nature.runs_lines:
                shell.append(rule)
            else:
                found.append((rule, match))
        asking = min((RANK[r.source] for r, _ in found if r.effect is Effect.ASK), default=len(RANK))
        able = self._covering([r for r in shell if r.counts and RANK[r.source] < asking])
        if waiting := [rule for rule in shell if not rule.counts]:
            able += [rule for rule in self._covering(shell, keep=False) if rule in waiting]
        found += [(rule, Match.YES) for rule in able]
        return tuple(sorted(found, key=lambda pair: RANK[pair[0].source]))

    def _covering(self, rules: list[Rule], *, keep: bool = True) -> list[Rule]:
        """The allow rules that together allow every line of the call; none where they do not, and why is kept."""
        if not rules or not self.evidence.is_line or not self.evidence.analyses:
            return []
        patterns = [self._shell_pattern(rule) for rule in rules]
        used: set[int] = set()
        for line, analysis in zip(self.evidence.lines, self.evidence.analyses, strict=True):
            why, numbers = uncovered(line, analysis, patterns)
            if why:
                self.uncovered = why if keep else self.uncovered
                return []
            used.update(numbers)
        return [rules[number] for number in sorted(used)]

    def _shell_pattern(self, rule: Rule) -> CommandPattern:
        parts = [part for part in rule.arguments if self.evidence.is_shell_part(part)]
        return parts[0].command if parts else ANYTHING

    def _by_rules(self, spoken: tuple[tuple[Rule, Match], ...]) -> Decision | None:
        effective = [(rule, match) for rule, match in spoken if rule.counts or rule.effect is not Effect.ALLOW]
        deciding = _deciding(effective)
        if not deciding:
            return None
        effect, certain = deciding[0][0].effect, deciding[0][1] is Match.YES
        if effect is Effect.ALLOW and self.nature.runs_lines:  # by all of them together
            deciding = [pair for pair in effective if pair[0].effect is Effect.ALLOW]
        if effect is Effect.DENY and not certain:
            effect = Effect.ASK
        reasons = [_spoken(rule, match) for rule, match in deciding]
        by = deciding[0][0]
        reasons += [_overruled(rule, by, certain) for rule, match in effective if (rule, match) not in deciding]
        if effect is not Effect.ALLOW and self.uncovered:
            reasons.append(Reason("shell", "", "", self.uncovered))
        return Decision(effect, tuple(reasons), self._per_call() if effect is Effect.ASK else ())

    # tiers

    def _by_tier(self) -> Decision:
        match self.tier:
            case Tier.SAFE:
                return Decision(Effect.ALLOW, (self._tier("it can do no harm, so no approval is needed"),))
            case Tier.STANDARD:
                return self._by_approval_mode()
            case Tier.WRITE:
                why = "it changes data, so each call needs an approval"
            case Tier.DANGEROUS:
                return self._dangerous()
            case Tier.EXPENSIVE:
                return self._expensive()
            case _:
                assert_never(self.tier)
        return self._asked(why)

    def _dangerous(self) -> Decision:
        """A shell tool: what only reads is allowed."""
        lists, why = self.policy.read_only, ""
        if self.nature.declared is Kind.SHELL and self.evidence.is_line and self.evidence.analyses:
            used: set[int] = set()
            for line, analysis in zip(self.evidence.lines, self.evidence.analyses, strict=True):
                why, numbers = uncovered(line, analysis, [one.command for one in lists])
                used.update(numbers)
                if why:
                    break
            else:
                covering = [lists[number] for number in sorted(used)]
                reasons = tuple(Reason(o.source, o.text, o.where, "is on the read-only list") for o in covering)
                return Decision(Effect.ALLOW, reasons or (self._tier("the line does nothing that needs an approval"),))
        why = self.uncovered or (f"not read-only: {why}" if why else "")
        rest = f"; {why}" if why else ""
        return self._asked(f"it can do lasting harm, so each call needs an approval{rest}")

    def _expensive(self) -> Decision:
        budget = self.request.context.budget
        price = "costs money" if self.cost is None else f"costs ${self.cost:.2f}"
        if budget is not None and self.cost is not None and self.cost <= budget:
            why = f"a call {price}, and ${budget:.2f} of the session's budget are left"
            return Decision(Effect.ALLOW, (self._tier(why),), spends=self.cost)
        left = "" if budget is None else f", and only ${budget:.2f} of the session's budget are left"
        return self._asked(f"a call {price}{left}, so each call needs an approval")

    def _by_approval_mode(self) -> Decision:
        resource, context = self.resource, self.request.context
        server = f"server `{resource.server}`"
        match resource.approval:
            case "auto":
                return Decision(Effect.ALLOW, (self._approval(f"calls to {server} need no approval"),))
            case "session" if resource.server in context.approved_servers:
                return Decision(Effect.ALLOW, (self._approval(f"{server} was approved for this session"),))
            case "session" | "call" if context.auto_approve:
                why = "standard tools need no approval here"
                return Decision(Effect.ALLOW, (Reason("approval", "", "gate.auto_approve", why),))
            case "session":
                why = f"{server} needs one approval per session and has none yet"
                return Decision(Effect.ASK, (self._approval(why),), (Obligation(Scope.SESSION),))
            case "call":
                return Decision(
                    Effect.ASK, (self._approval(f"each call to {server} needs an approval"),), self._per_call()
                )
            case _:
                assert_never(resource.approval)

    def _asked(self, why: str) -> Decision:
        return Decision(Effect.ASK, (self._tier(why),), self._per_call())

    def _per_call(self) -> tuple[Obligation]:
        return (Obligation(Scope.CALL, self.cost),)

    def _tier(self, why: str) -> Reason:
        because = f" ({self.nature.tier_why})" if self.nature.tier_why else ""
        return Reason("tier", "", self.nature.tier_where, f"tier {self.tier}{because}: {why}")

    def _approval(self, why: str) -> Reason:
        return Reason("approval", "", f"servers.{self.resource.server}.approval", why)


def _deciding(spoken: list[tuple[Rule, Match]]) -> list[tuple[Rule, Match]]:
    """The rules that settle the effect, all of the same one; `spoken` is in the order of the sources."""
    for match in (Match.YES, Match.MAYBE):
        if denies := [pair for pair in spoken if pair[0].effect is Effect.DENY and pair[1] is match]:
            return denies
    highest = [pair for pair in spoken if pair[0].source is spoken[0][0].source]
    return [pair for pair in highest if pair[0].effect is Effect.ASK] or highest


def _spoken(rule: Rule, match: Match) -> Reason:
    tool = "call" if rule.arguments else "tool"
    why = {Effect.DENY: f"denies this {tool}", Effect.ASK: "asks before each call", Effect.ALLOW: f"allows this {tool}"}
    maybe = {Effect.DENY: "would deny", Effect.ASK: "would ask", Effect.ALLOW: "would allow"}
    text = why[rule.effect] if match is Match.YES else f"{maybe[rule.effect]}, if what is not known of the call fits"
    return Reason(rule.source, rule.pattern, rule.where, text)


def _overruled(rule: Rule, by: Rule, certain: bool) -> Reason:
    if by.effect is Effect.DENY:
        cause = "a deny of any source wins" if certain else "a deny of any source may match"
    elif by.source is rule.source:
        cause = f"{by.effect} goes before {rule.effect} in one source"
    else:
        cause = f"source {by.source} goes before {rule.source}"
    return Reason(rule.source, rule.pattern, rule.where, f"would {rule.effect}, but {cause}")


def _waiting(rule: Rule) -> Reason:
    why = "would allow, but its file is not trusted: read it, then run `mcp-gate trust`"
    return Reason(rule.source, rule.pattern, rule.where, why)
