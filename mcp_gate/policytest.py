"""The `[[tests]]` of policy files, run: a user's own proof that a policy decides as it is meant to."""

from collections.abc import Iterator
from dataclasses import dataclass

from mcp_gate.model import Context, Decision, Place, Request, Resource, Subject
from mcp_gate.policy.decide import decide
from mcp_gate.policy.policy import Policy
from mcp_gate.policyfile import PolicyTest

HOME, PROJECT = "/home/u", "/home/u/project"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One test with the decision; `fault` says what was not as expected, empty where all was."""

    number: int
    test: PolicyTest
    decision: Decision
    fault: str


def request_of(test: PolicyTest) -> Request:
    """The call that a test speaks of. Home and project are the same on every machine: `/home/u`, `/home/u/project`."""
    server, _, tool = test.call.partition("__")
    kind = test.kind
    resource = Resource(test.call, server, tool, test.arguments, test.tier, test.approval, kind=kind, shell=test.shell)
    context = Context(mode=test.mode, place=Place(HOME, PROJECT))
    return Request(Subject("test", test.node), "tools/call", resource, context)


def run_tests(tests: tuple[PolicyTest, ...], policy: Policy) -> Iterator[Outcome]:
    """Decide each test's call under the policy."""
    for number, test in enumerate(tests):
        decision = decide(request_of(test), policy)
        yield Outcome(number, test, decision, _fault(test, decision))


def _fault(test: PolicyTest, decision: Decision) -> str:
    first = str(decision.reasons[0]) if decision.reasons else ""
    if decision.effect is not test.expect:
        return f"expected {test.expect}, decided {decision.effect}: {first}"
    if test.reason not in first:
        return f"expected a reason with `{test.reason}`, got: {first}"
    return ""
