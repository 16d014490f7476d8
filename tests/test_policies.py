"""Every policy file that ships is held to the tests it carries, with the baseline below it as in use."""

import pytest

from mcp_gate.documents import read_bytes
from mcp_gate.model import Effect, Request, Resource, Source, Subject
from mcp_gate.policy.decide import decide
from mcp_gate.policy.rules import Policy, Rule
from mcp_gate.sources import BASELINE, PolicyDocument, PolicyTest, parse_policy, shipped_policies

FILES = sorted(path.name for path in shipped_policies().glob("*.toml"))


def read(name: str) -> PolicyDocument:
    return parse_policy(read_bytes(shipped_policies() / name, name), name)


def rules_in_use(name: str) -> tuple[Rule, ...]:
    baseline = read(BASELINE).rules(f"policies/{BASELINE}", Source.DEFAULT)
    return baseline if name == BASELINE else (*read(name).rules(f"policies/{name}", Source.USER), *baseline)


CASES = [pytest.param(name, test, id=f"{name}-{test.call}") for name in FILES for test in read(name).tests]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_policy_file_decides_as_its_own_tests_say(name: str, case: PolicyTest) -> None:
    server, _, tool = case.call.partition("__")
    resource = Resource(case.call, server, tool, {}, case.tier, case.approval)
    decision = decide(Request(Subject("s"), "tools/call", resource), Policy(rules_in_use(name)))
    assert decision.effect is case.expect
    assert case.reason in str(decision.reasons[0])


@pytest.mark.parametrize("name", FILES)
def test_a_policy_file_says_what_it_is_for_and_is_tested(name: str) -> None:
    document = read(name)
    assert document.description
    assert len(document.tests) >= 3


@pytest.mark.parametrize("name", FILES)
def test_every_rule_of_a_policy_file_is_reached_by_one_of_its_tests(name: str) -> None:
    document = read(name)
    calls = {test.call for test in document.tests}
    unreached = [rule.where for rule in document.rules(name, Source.USER) if not any(map(rule.matches, calls))]
    assert unreached == []


def test_the_baseline_neither_allows_nor_denies_anything() -> None:
    assert {rule.effect for rule in rules_in_use(BASELINE)} <= {Effect.ASK}
