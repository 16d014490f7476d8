from itertools import product

import pytest

from mcp_gate.model import (
    ApprovalMode,
    Context,
    Decision,
    Effect,
    Obligation,
    Reason,
    Request,
    Resource,
    Scope,
    Source,
    Subject,
    Tier,
)
from mcp_gate.policy.decide import decide, is_permitted
from mcp_gate.policy.policy import Policy
from mcp_gate.policy.rules import parse_rule

CALL = (Obligation(Scope.CALL),)
SESSION = (Obligation(Scope.SESSION),)


def policy(*lines: str) -> Policy:
    """Rules written as `source effect pattern`; each stands at its own number."""
    rules = []
    for number, line in enumerate(lines):
        source, effect, pattern = line.split()
        rules.append(parse_rule(pattern, Effect(effect), Source(source), f"f: {effect}[{number}]"))
    return Policy(tuple(rules))


def call(
    name: str = "git__git_commit",
    *,
    tier: Tier | None = None,
    approval: ApprovalMode = "session",
    cost: float | None = None,
    approved: frozenset[str] = frozenset(),
) -> Request:
    server, _, tool = name.partition("__")
    resource = Resource(name, server, tool, {}, tier, approval, cost)
    return Request(Subject("s"), "tools/call", resource, Context(approved))


DENIES, ASKS, ALLOWS = "denies this tool", "asks before each call", "allows this tool"
RULES: list[tuple[list[str], Effect, list[str]]] = [
    (["user deny git__*"], Effect.DENY, [f"rule `git__*` (user, f: deny[0]) {DENIES}"]),
    (["user allow git__*"], Effect.ALLOW, [f"rule `git__*` (user, f: allow[0]) {ALLOWS}"]),
    (["user ask git__*"], Effect.ASK, [f"rule `git__*` (user, f: ask[0]) {ASKS}"]),
    (
        ["managed allow *", "default deny git__git_commit"],
        Effect.DENY,
        [
            f"rule `git__git_commit` (default, f: deny[1]) {DENIES}",
            "rule `*` (managed, f: allow[0]) would allow, but a deny of any source wins",
        ],
    ),
    (
        ["user deny *commit", "cli deny git__*"],
        Effect.DENY,
        [f"rule `git__*` (cli, f: deny[1]) {DENIES}", f"rule `*commit` (user, f: deny[0]) {DENIES}"],
    ),
    (
        ["user allow git__git_commit", "user ask git__*"],
        Effect.ASK,
        [
            f"rule `git__*` (user, f: ask[1]) {ASKS}",
            "rule `git__git_commit` (user, f: allow[0]) would allow, but ask goes before allow in one source",
        ],
    ),
    (
        ["default ask *commit*", "cli allow *"],
        Effect.ALLOW,
        [
            f"rule `*` (cli, f: allow[1]) {ALLOWS}",
            "rule `*commit*` (default, f: ask[0]) would ask, but source cli goes before default",
        ],
    ),
    (
        ["project ask git__*", "user allow git__*"],
        Effect.ASK,
        [
            f"rule `git__*` (project, f: ask[0]) {ASKS}",
            "rule `git__*` (user, f: allow[1]) would allow, but source project goes before user",
        ],
    ),
    (["cli deny github__*", "user allow git__*"], Effect.ALLOW, [f"rule `git__*` (user, f: allow[1]) {ALLOWS}"]),
]


@pytest.mark.parametrize(("lines", "effect", "reasons"), RULES)
def test_rules_decide_by_effect_and_source(lines: list[str], effect: Effect, reasons: list[str]) -> None:
    decision = decide(call(), policy(*lines))
    assert (decision.effect, [*map(str, decision.reasons)]) == (effect, reasons)
    assert decision.obligations == (CALL if effect is Effect.ASK else ())


@pytest.mark.parametrize(("higher", "lower"), [*zip(Source, list(Source)[1:], strict=False)])
def test_each_source_goes_before_the_next(higher: Source, lower: Source) -> None:
    assert decide(call(), policy(f"{lower} ask *", f"{higher} allow *")).effect is Effect.ALLOW
    assert decide(call(), policy(f"{lower} allow *", f"{higher} ask *")).effect is Effect.ASK


TIER, APPROVAL = "servers.git.tools.git_commit.tier", "servers.git.approval"
TIERS: list[tuple[Request, Effect, tuple[Obligation, ...], str]] = [
    (call(tier=Tier.SAFE), Effect.ALLOW, (), f"tier safe: it can do no harm, so no approval is needed (tier, {TIER})"),
    (call(approval="auto"), Effect.ALLOW, (), f"calls to server `git` need no approval (approval, {APPROVAL})"),
    (
        call(),
        Effect.ASK,
        SESSION,
        f"server `git` needs one approval per session and has none yet (approval, {APPROVAL})",
    ),
    (
        call(approved=frozenset({"time"})),
        Effect.ASK,
        SESSION,
        f"server `git` needs one approval per session and has none yet (approval, {APPROVAL})",
    ),
    (
        call(approved=frozenset({"git"})),
        Effect.ALLOW,
        (),
        f"server `git` was approved for this session (approval, {APPROVAL})",
    ),
    (
        call(approval="call", approved=frozenset({"git"})),
        Effect.ASK,
        CALL,
        f"each call to server `git` needs an approval (approval, {APPROVAL})",
    ),
    (
        call(tier=Tier.WRITE, approval="auto", approved=frozenset({"git"})),
        Effect.ASK,
        CALL,
        f"tier write: it changes data, so each call needs an approval (tier, {TIER})",
    ),
    (
        call(tier=Tier.DANGEROUS, approval="auto", approved=frozenset({"git"})),
        Effect.ASK,
        CALL,
        f"tier dangerous: it can do lasting harm, so each call needs an approval (tier, {TIER})",
    ),
    (
        call(tier=Tier.EXPENSIVE, approval="auto", cost=0.5),
        Effect.ASK,
        (Obligation(Scope.CALL, 0.5),),
        f"tier expensive: a call costs $0.50, so each call needs an approval (tier, {TIER})",
    ),
    (
        call(tier=Tier.EXPENSIVE),
        Effect.ASK,
        CALL,
        f"tier expensive: a call costs money, so each call needs an approval (tier, {TIER})",
    ),
]


@pytest.mark.parametrize(("request_", "effect", "obligations", "reason"), TIERS)
def test_without_a_rule_the_tier_and_the_servers_approval_decide(
    request_: Request, effect: Effect, obligations: tuple[Obligation, ...], reason: str
) -> None:
    decision = decide(request_, policy("cli allow other__*"))
    assert (decision.effect, decision.obligations) == (effect, obligations)
    assert [*map(str, decision.reasons)] == [reason]


@pytest.mark.parametrize("tier", Tier)
def test_an_allow_rule_stands_before_every_tier(tier: Tier) -> None:
    assert decide(call(tier=tier, approval="call"), policy("user allow git__*")).effect is Effect.ALLOW


@pytest.mark.parametrize("tier", Tier)
def test_an_ask_rule_asks_for_the_call_with_its_cost_whatever_was_approved(tier: Tier) -> None:
    request = call(tier=tier, approval="auto", approved=frozenset({"git"}), cost=2)
    assert decide(request, policy("default ask git__*")).obligations == (Obligation(Scope.CALL, 2),)


def test_a_decision_names_the_rule_and_its_place() -> None:
    decision = decide(call(), policy("user deny git__*"))
    assert decision == Decision(Effect.DENY, (Reason("user", "git__*", "f: deny[0]", DENIES),))
    assert decision.tier is Tier.STANDARD


RENAMED = [
    Resource("git_reset", "git", "git_reset", {}),  # `prefix = ""`
    Resource("g-git_reset", "git", "git_reset", {}),  # `prefix = "g-"`
    Resource("git__git_re_1a2b3c4d", "git", "git_reset", {}),  # a name cut short
    Resource("git__git_reset", "git", "git.reset", {}),  # a name made fit
]


@pytest.mark.parametrize("resource", RENAMED)
def test_a_rule_over_server_and_tool_holds_whatever_the_gate_calls_the_tool(resource: Resource) -> None:
    request = Request(Subject("s"), "tools/call", resource)
    rules = policy("user deny git__git_reset")
    assert decide(request, rules).effect is Effect.DENY
    assert decide(request, policy("user allow git__git_reset")).effect is Effect.ALLOW
    assert not is_permitted(resource, rules)


def test_a_deny_or_ask_also_holds_for_the_name_that_the_gate_shows() -> None:
    request = Request(Subject("s"), "tools/call", RENAMED[1])
    assert decide(request, policy("user deny g-*", "user allow *")).effect is Effect.DENY
    assert decide(request, policy("user ask g-*", "user allow *")).effect is Effect.ASK


def test_a_server_cannot_name_its_tool_into_an_allow_rule_for_another_server() -> None:
    resource = Resource("git__git_log", "other", "git__git_log", {})  # `prefix = ""`
    request = Request(Subject("s"), "tools/call", resource)
    assert decide(request, policy("user allow git__*")).effect is Effect.ASK
    assert decide(request, policy("user allow other__*")).effect is Effect.ALLOW


def test_only_a_deny_hides_a_tool() -> None:
    rules = policy("user deny git__git_reset", "cli allow git__*", "user ask time__*")
    names = ["git__git_reset", "git__git_log", "time__now", "memory__read_graph"]
    assert [name for name in names if is_permitted(call(name).resource, rules)] == names[1:]


def test_no_set_of_rules_loosens_a_deny_or_leaves_a_decision_without_a_reason() -> None:
    rules = [parse_rule("*", effect, source, "here") for source, effect in product(Source, Effect)]
    for first, second in product(rules, rules):
        decision = decide(call(), Policy((first, second)))
        assert decision.reasons
        assert bool(decision.obligations) is (decision.effect is Effect.ASK)
        assert (decision.effect is Effect.DENY) is (Effect.DENY in {first.effect, second.effect})
