"""Every policy file that ships is held to the tests it carries, with the baseline below it as in use."""

import pytest

from mcp_gate.documents import read_bytes
from mcp_gate.model import Effect, Source
from mcp_gate.policy.decide import decide
from mcp_gate.policy.policy import Policy
from mcp_gate.policyfile import PolicyDocument, PolicyTest, parse_policy
from mcp_gate.policytest import request_of, run_tests
from mcp_gate.snapshot import shipped_policies
from mcp_gate.sources import BASELINE, READ_ONLY, merged

FILES = sorted(path.name for path in shipped_policies().glob("*.toml"))
LOADED = (BASELINE, READ_ONLY)


def read(name: str) -> PolicyDocument:
    return parse_policy(read_bytes(shipped_policies() / name, name), name)


def in_use(name: str) -> Policy:
    below = [read(one).policy(f"policies/{one}", Source.DEFAULT) for one in LOADED]
    return merged(below if name in LOADED else [read(name).policy(f"policies/{name}", Source.USER), *below])


CASES = [
    pytest.param(name, test, id=f"{name}-{number}-{test.call}")
    for name in FILES
    for number, test in enumerate(read(name).tests)
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_a_policy_file_decides_as_its_own_tests_say(name: str, case: PolicyTest) -> None:
    (outcome,) = run_tests((case,), in_use(name))
    assert outcome.fault == ""


@pytest.mark.parametrize("name", FILES)
def test_a_policy_file_says_what_it_is_for_and_is_tested(name: str) -> None:
    document = read(name)
    assert document.description
    assert len(document.tests) >= 3


@pytest.mark.parametrize("name", FILES)
def test_every_rule_of_a_policy_file_is_named_by_the_decision_of_one_of_its_tests(name: str) -> None:
    document = read(name)
    source = Source.DEFAULT if name in LOADED else Source.USER
    own = document.policy(f"policies/{name}", source)
    reasons = {r.where for test in document.tests for r in decide(request_of(test), in_use(name)).reasons}
    wanted = {rule.where for rule in own.rules} | {policy.where for policy in own.chain if policy.denied_tools}
    assert wanted - reasons == set()


def test_the_baseline_holds_at_least_the_33_rules_of_its_model() -> None:
    document = read(BASELINE)
    assert len(document.deny) + len(document.ask) + len(document.allow) >= 33


def test_the_read_only_list_has_47_entries_each_of_which_allows_a_line_by_itself() -> None:
    document = read(READ_ONLY)
    only = Policy(read_only=document.policy(READ_ONLY, Source.DEFAULT).read_only)
    assert len(only.read_only) == 47
    allowed = [test for test in document.tests if test.expect is Effect.ALLOW]
    reasons = {r.where for test in allowed for r in decide(request_of(test), only).reasons}
    assert reasons >= {entry.where for entry in only.read_only}
