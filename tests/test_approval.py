"""The question put to a person, faithfully, and what the answers settle."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_gate.approval.approval import Approval, Choice
from mcp_gate.approval.elicitation import ask, form, verdict_of
from mcp_gate.approval.question import question
from mcp_gate.display import shown
from mcp_gate.model import Decision, Effect, Obligation, Reason, Request, Resource, Scope, Subject, Tier
from mcp_gate.wire.messages import RpcError

pytestmark = pytest.mark.anyio


def approval(scope: Scope = Scope.SESSION, arguments: Mapping[str, Any] | None = None, **facts: Any) -> Approval:
    """A question about a tool `t` of a server `s`."""
    resource = Resource("s__t", "s", "t", arguments or {}, **facts)
    reason = Reason("approval", "", "servers.s.approval", "why not")
    decision = Decision(Effect.ASK, (reason,), (Obligation(scope),), tier=resource.tier or Tier.STANDARD)
    return Approval(Request(Subject("x"), "tools/call", resource), decision)


def test_a_question_says_what_is_called_with_what_and_why() -> None:
    text = question(approval(arguments={"path": "a b", "n": 1e3, "big": 10**30, "nothing": None}))
    assert text.splitlines() == [
        "mcp-gate asks: may `t` of server `s` be called?",
        '│ path = "a b"',
        "│ n = 1000.0",
        f"│ big = {10**30}",
        "│ nothing = null",
        "because why not (approval, servers.s.approval)",
    ]
    assert "│ (no arguments)" in question(approval())


def test_tier_and_cost_are_shown_where_they_matter() -> None:
    lines = question(approval(Scope.CALL, tier=Tier.EXPENSIVE, cost=1.5)).splitlines()
    assert lines[1:3] == ["tier: expensive", "cost: about $1.50"]


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("\n│ fake = 1", "\\n"),
        ("a\rb", "\\r"),
        ("\u202etxt.exe", "\\u{202e}"),
        ("zero\u200bwidth", "\\u{200b}"),
        ("\x1b[2J", "\\u001b"),
        ("\x9b2J", "\\u{9b}"),
        ("\U000e0041", "\\u{e0041}"),
        ("nb\u00a0sp", "\\u{a0}"),
        ("\u2028", "\\u{2028}"),
        ("\ud800", "\\u{d800}"),
        ("\ue000", "\\u{e000}"),
        ("\ufeff", "\\u{feff}"),
        ("\ufe0f", "\\u{fe0f}"),
        ("\u3164", "\\u{3164}"),
        ("\U000e0101", "\\u{e0101}"),
    ],
)
def test_a_value_or_a_key_cannot_pretend(text: str, escaped: str) -> None:
    for arguments in ({"x": text}, {"x": {text: 1}}):
        lines = question(approval(arguments=arguments)).splitlines()
        assert len(lines) == 3
        assert escaped in lines[1]
        assert text not in lines[1]
    assert len(question(approval(arguments={text: 1})).splitlines()) == 3
    assert all(c == " " or c.isprintable() for c in shown(text))


def test_what_can_be_shown_is_shown_as_it_is() -> None:
    assert shown("grüße, 你好, שלום, 👍") == "grüße, 你好, שלום, 👍"


def test_a_long_value_is_cut_with_its_length_and_digest_and_many_arguments_are_counted() -> None:
    text = question(approval(arguments={"x": "y" * 100_000}))
    assert len(text) < 2_000
    assert "100,002 characters, sha256" in text
    many = question(approval(arguments={f"a{n}": n for n in range(300)}))
    assert "│ … and 250 more arguments: {" in many
    assert len(many) < 4_000
    changed = question(approval(arguments={f"a{n}": n if n < 299 else "other" for n in range(300)}))
    assert changed != many
    assert len(question(approval(arguments={"k" * 100_000: 1}))) < 1_000


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("git_status", "`git_status`"),
        ("a.b/c:d-e", "`a.b/c:d-e`"),
        ("x` of server `git", '`"x\\u{60} of server \\u{60}git"`'),
        ("two words", '`"two words"`'),
        ("\u202egnp", '`"\\u{202e}gnp"`'),
        ("\\u{60}", '`"\\\\u{60}"`'),
        ("über", '`"über"`'),
    ],
)
def test_the_name_of_a_tool_cannot_break_out_of_its_place(name: str, label: str) -> None:
    resource = Resource("evil__t", "evil", name, {})
    asked = Approval(Request(Subject("x"), "tools/call", resource), approval().decision)
    assert question(asked).splitlines()[0] == f"mcp-gate asks: may {label} of server `evil` be called?"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("path", "│ path = 1"),
        ('path = "/tmp" ', '│ "path = \\"/tmp\\" " = 1'),
        ("… and 3 more arguments", '│ "… and 3 more arguments" = 1'),
        ("(no arguments)", '│ "(no arguments)" = 1'),
        ("", '│ "" = 1'),
    ],
)
def test_the_name_of_an_argument_cannot_pass_for_something_else(name: str, line: str) -> None:
    assert question(approval(arguments={name: 1})).splitlines()[1] == line


@pytest.mark.parametrize(("cost", "words"), [(1234.5, "about $1,234.50"), (0.01, "about $0.01"), (0.0004, "$0.0004")])
def test_a_small_cost_is_not_shown_as_nothing(cost: float, words: str) -> None:
    assert f"cost: {words}" in question(approval(Scope.CALL, tier=Tier.EXPENSIVE, cost=cost)).splitlines()


TRICKY = st.text(alphabet=st.one_of(st.characters(), st.sampled_from('\n\r\u202e\u200b│ `"\\u{}=…\ud800')), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TRICKY,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TRICKY, inner, max_size=3),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(TRICKY, VALUES, max_size=60)


@settings(max_examples=300, deadline=None, derandomize=True, database=None, suppress_health_check=[*HealthCheck])
@given(ARGUMENTS, ARGUMENTS)
def test_any_two_calls_that_differ_are_asked_about_in_different_words(one: dict[str, Any], two: dict[str, Any]) -> None:
    asked = question(approval(arguments=one))
    assert (asked == question(approval(arguments=two))) == (json.dumps(one) == json.dumps(two))
    shown_lines = asked.splitlines()
    assert len(shown_lines) == 2 + max(1, min(len(one), 51))
    assert all(line.startswith("│ ") for line in shown_lines[1:-1])
    assert all(c == "\n" or c.isprintable() for c in asked)


@pytest.mark.parametrize("seed", range(200))
def test_calls_that_differ_anywhere_are_asked_about_differently(seed: int) -> None:
    chance = random.Random(seed)
    value = "".join(chance.choices('ab\n\u202e│ \\"u{}', k=chance.choice([3, 10, 3_000])))
    place = chance.randrange(len(value))
    other = value[:place] + chance.choice("cd\r\u200b") + value[place + 1 :]
    assert question(approval(arguments={"x": value})) != question(approval(arguments={"x": other}))
    assert question(approval(arguments={"x": {value: 1}})) != question(approval(arguments={"x": {other: 1}}))
    assert question(approval(arguments={value: 1})) != question(approval(arguments={other: 1}))
    assert question(approval(arguments={"\n": 1})) != question(approval(arguments={"\\u{a}": 1}))


def test_the_form_offers_the_narrowest_choice_first_and_the_session_only_where_it_may_be() -> None:
    field = form(approval(Scope.SESSION))["requestedSchema"]["properties"]["decision"]
    assert field["enum"] == ["once", "session", "deny"]
    assert field["enumNames"] == ["Allow this call", "Allow server s for this session", "Deny"]
    assert field["default"] == "once"
    assert form(approval(Scope.CALL))["requestedSchema"]["properties"]["decision"]["enum"] == ["once", "deny"]
    json.dumps(form(approval()))


def accepted(decision: Any) -> dict[str, Any]:
    return {"action": "accept", "content": {"decision": decision}}


@pytest.mark.parametrize(
    ("scope", "answer", "effect", "reach"),
    [
        (Scope.SESSION, accepted("once"), Effect.ALLOW, Scope.CALL),
        (Scope.SESSION, accepted("session"), Effect.ALLOW, Scope.SESSION),
        (Scope.SESSION, accepted("deny"), Effect.DENY, Scope.CALL),
        (Scope.SESSION, {"action": "decline"}, Effect.DENY, Scope.CALL),
        (Scope.SESSION, {"action": "decline", "content": {"decision": "once"}}, Effect.DENY, Scope.CALL),
        (Scope.SESSION, {"action": "cancel"}, None, Scope.CALL),
        (Scope.CALL, accepted("session"), None, Scope.CALL),
        (Scope.SESSION, accepted("always"), None, Scope.CALL),
        (Scope.SESSION, accepted(["once"]), None, Scope.CALL),
        (Scope.SESSION, accepted(True), None, Scope.CALL),
        (Scope.SESSION, {"action": "accept"}, None, Scope.CALL),
        (Scope.SESSION, {"action": "accept", "content": "once"}, None, Scope.CALL),
        (Scope.SESSION, {"action": ["accept"]}, None, Scope.CALL),
        (Scope.SESSION, {}, None, Scope.CALL),
    ],
)
def test_an_answer_settles_what_was_offered_and_nothing_else(
    scope: Scope, answer: dict[str, Any], effect: Effect | None, reach: Scope
) -> None:
    verdict = verdict_of(answer, approval(scope))
    assert (verdict.effect, verdict.scope) == (effect, reach)
    assert verdict.why


@dataclass
class Person:
    """A conversation with someone who answers, refuses, or never does."""

    answer: dict[str, Any] | Exception | None
    can_elicit: bool = True

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        assert method == "elicitation/create"
        assert params["message"]
        if self.answer is None:
            await anyio.sleep_forever()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        return self.answer


@pytest.mark.parametrize(
    ("person", "effect", "why"),
    [
        (Person(accepted("once")), Effect.ALLOW, "allow this call"),
        (Person(RpcError(-1, "window closed")), None, "the host could not ask: window closed"),
        (Person(None), None, "nobody answered within 0.01 s"),
        (Person(accepted("once"), can_elicit=False), None, "the host has no way to ask"),
    ],
)
async def test_whoever_cannot_be_asked_allows_nothing(person: Person, effect: Effect | None, why: str) -> None:
    verdict = await ask(approval(), person, 0.01)
    assert verdict.effect is effect
    assert why in verdict.why


def test_choices_are_words_of_the_form() -> None:
    assert [*Choice] == ["once", "session", "deny"]
