"""The path of a call, through the whole gate in a process of its own, in front of real server processes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, TextContent
from rawhost import Json, RawHost, raw_host, scripted, text_of

from mcp_gate.gate import DECISION_KEY
from mcp_gate.wire.messages import INVALID_PARAMS, RpcError

pytestmark = pytest.mark.anyio

Write = Callable[..., Path]
ERAS = ("legacy", "auto")


def form_answer(*decisions: str | ElicitResult) -> tuple[Any, list[str]]:
    """An elicitation callback that gives these answers in turn, and the list of the questions it was shown."""
    questions: list[str] = []
    answers = iter(decisions)

    async def answer(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        questions.append(params.message)
        decision = next(answers)
        if isinstance(decision, ElicitResult):
            return decision
        return ElicitResult(action="accept", content={"decision": decision})

    return answer, questions


async def said(client: Client, tool: str, arguments: Json | None = None) -> str:
    """The text of what a call came back with, marked where it is an error."""
    result = await client.call_tool(tool, arguments or {})
    block = result.content[0]
    assert isinstance(block, TextContent)
    return f"error: {block.text}" if result.is_error else block.text


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("server_era", ["legacy", "modern"])
async def test_the_first_call_to_a_session_server_asks_once_and_later_calls_pass(
    mode: str, server_era: str, write_config: Write, gate: Callable[..., Any]
) -> None:
    answer, questions = form_answer("session")
    config = write_config(servers={"s": scripted("--era", server_era)})
    async with Client(gate(config), mode=mode, elicitation_callback=answer) as client:
        assert await said(client, "s__echo", {"text": "one"}) == "one"
        assert await said(client, "s__echo", {"text": "two"}) == "two"
        assert await said(client, "s__add", {"a": 1, "b": 2}) == "3"
    assert len(questions) == 1
    assert '│ text = "one"' in questions[0]
    assert "`echo` of server `s`" in questions[0]


@pytest.mark.parametrize("mode", ERAS)
async def test_an_approval_for_one_call_does_not_reach_the_next(
    mode: str, write_config: Write, gate: Callable[..., Any]
) -> None:
    answer, questions = form_answer("once", "deny", ElicitResult(action="decline"), ElicitResult(action="cancel"))
    config = write_config(servers={"s": scripted()})
    async with Client(gate(config), mode=mode, elicitation_callback=answer) as client:
        assert await said(client, "s__echo", {"text": "one"}) == "one"
        assert "said no (denied)" in await said(client, "s__echo", {"text": "two"})
        assert "said no (declined)" in await said(client, "s__echo", {"text": "three"})
        assert "needs an approval and got none" in await said(client, "s__echo", {"text": "four"})
    assert len(questions) == 4


@pytest.mark.parametrize(
    "answer", [{}, {"action": "accept"}, {"action": "accept", "content": {"decision": "always"}}, {"action": "yes"}]
)
async def test_an_answer_that_was_not_offered_allows_nothing(
    answer: Json, write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    config = write_config(servers={"s": scripted()})
    async with raw_host(argv(config), state, answer=lambda _method, _params: answer) as host:
        await host.initialize()
        result = await host.call("s__echo", {"text": "x"})
    assert result["isError"] is True
    assert result["_meta"][DECISION_KEY] == "ask"


@pytest.mark.parametrize("mode", ERAS)
async def test_two_first_calls_at_once_share_one_question(
    mode: str, write_config: Write, gate: Callable[..., Any]
) -> None:
    answer, questions = form_answer("session")
    config = write_config(servers={"s": scripted()})
    texts: list[str] = []
    async with Client(gate(config), mode=mode, elicitation_callback=answer) as client:

        async def one(text: str) -> None:
            texts.append(await said(client, "s__echo", {"text": text}))

        async with anyio.create_task_group() as tasks:
            for text in ("a", "b", "c"):
                tasks.start_soon(one, text)
    assert sorted(texts) == ["a", "b", "c"]
    assert len(questions) == 1


@pytest.mark.parametrize("mode", ERAS)
async def test_a_denied_call_says_which_rule_denied_it_and_where_it_stands(
    mode: str, tmp_path: Path, write_config: Write, gate: Callable[..., Any]
) -> None:
    (tmp_path / "mine.toml").write_text('deny = ["x__y", "s__e*"]\n')
    config = write_config(gate={"policies": ["mine.toml"]}, servers={"s": {**scripted(), "approval": "auto"}})
    async with Client(gate(config), mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        denied = await said(client, "s__echo", {"text": "x"})
        found = await said(client, "tool_search", {"query": "s__echo"})
    assert denied.startswith("error: mcp-gate denied `s__echo`: rule `s__e*`")
    assert "mine.toml: deny[1]" in denied
    assert "s__echo" not in names
    assert "s__add" in names
    assert '"name":"s__echo"' not in found


async def test_rules_of_the_command_line_go_before_the_files_and_a_deny_before_everything(
    tmp_path: Path, write_config: Write, gate: Callable[..., Any]
) -> None:
    (tmp_path / "mine.toml").write_text('ask = ["s__add"]\ndeny = ["s__env"]\n')
    config = write_config(gate={"policies": ["mine.toml"]}, servers={"s": scripted()})
    async with Client(gate(config, "--allow", "*", "--ask", "s__echo")) as client:
        assert await said(client, "s__add", {"a": 1, "b": 1}) == "2"
        assert "needs an approval" in await said(client, "s__echo", {"text": "x"})
        assert "mine.toml: deny[0]" in await said(client, "s__env")


@pytest.mark.parametrize("mode", ERAS)
async def test_a_server_that_needs_no_approval_is_never_asked_about(
    mode: str, write_config: Write, gate: Callable[..., Any]
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto"}})
    async with Client(gate(config), mode=mode) as client:
        assert await said(client, "s__echo", {"text": "x"}) == "x"


@pytest.mark.parametrize("mode", ERAS)
async def test_a_host_without_forms_gets_a_refusal_that_says_what_to_do(
    mode: str, write_config: Write, gate: Callable[..., Any]
) -> None:
    config = write_config(servers={"s": scripted()})
    async with Client(gate(config), mode=mode) as client:
        refused = await said(client, "s__echo", {"text": "x"})
    assert "the host has no way to ask" in refused
    assert 'approval = "auto"` under [servers.s]' in refused


@pytest.mark.parametrize("mode", ERAS)
async def test_wrong_arguments_bring_the_schema_back_before_anyone_is_asked(
    mode: str, write_config: Write, gate: Callable[..., Any]
) -> None:
    answer, questions = form_answer()
    config = write_config(exposure={"threshold": 0}, servers={"s": scripted()})
    async with Client(gate(config), mode=mode, elicitation_callback=answer) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        refused = await said(client, "s__add", {"a": 1, "b": "two"})
    assert listed["s__add"].input_schema == {"type": "object"}
    assert "`b`" in refused
    assert '"required":["a","b"]' in refused
    assert questions == []


# request_state of the modern era


async def question_of(host: RawHost, tool: str, arguments: Json) -> Json:
    """The `input_required` result that a first call is answered with."""
    result = await host.call(tool, arguments, modern=True)
    assert result["resultType"] == "input_required"
    assert result["inputRequests"]["question"]["method"] == "elicitation/create"
    return result


def retry(question: Json, tool: str, arguments: Json, decision: str = "once") -> Json:
    """The params of a retry with an answer."""
    responses = {"question": {"action": "accept", "content": {"decision": decision}}}
    state = {"requestState": question["requestState"], "inputResponses": responses}
    return {"name": tool, "arguments": arguments, **state}


async def test_a_modern_question_is_a_result_and_its_retry_resumes_the_call(
    write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    config = write_config(servers={"s": scripted()})
    async with raw_host(argv(config), state) as host:
        question = await question_of(host, "s__echo", {"text": "x"})
        result = await host.modern("tools/call", retry(question, "s__echo", {"text": "x"}))
    assert text_of(result) == "x"
    assert result["resultType"] == "complete"
    assert host.asked == []


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("a letter of the state", {"requestState": "A" * 43}),
        ("no string", {"requestState": 7}),
        ("the arguments", {"arguments": {"text": "y"}}),
        ("one more argument", {"arguments": {"text": "x", "more": 1}}),
        ("the tool", {"name": "s__add"}),
        ("no answers", {"inputResponses": None}),
    ],
)
async def test_an_altered_retry_is_refused_and_the_true_one_still_works(
    what: str, change: Json, write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    config = write_config(servers={"s": scripted()})
    async with raw_host(argv(config), state) as host:
        question = await question_of(host, "s__echo", {"text": "x"})
        params = retry(question, "s__echo", {"text": "x"})
        with pytest.raises(RpcError) as refused:
            await host.modern("tools/call", {**params, **change})
        assert refused.value.code == INVALID_PARAMS, what
        assert text_of(await host.modern("tools/call", params)) == "x"


async def test_a_replayed_retry_is_refused(
    write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    config = write_config(servers={"s": scripted()})
    async with raw_host(argv(config), state) as host:
        question = await question_of(host, "s__echo", {"text": "x"})
        params = retry(question, "s__echo", {"text": "x"})
        assert text_of(await host.modern("tools/call", params)) == "x"
        with pytest.raises(RpcError, match="used") as refused:
            await host.modern("tools/call", params)
    assert refused.value.code == INVALID_PARAMS


async def test_a_question_that_nobody_answers_ends_and_its_state_with_it(
    write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    config = write_config(gate={"approval_timeout": 0.05}, servers={"s": scripted()})
    async with raw_host(argv(config), state) as host:
        question = await question_of(host, "s__echo", {"text": "x"})
        log = Path(state["MCP_GATE_STATE_DIR"]) / "audit.jsonl"
        while not any(record["event"] == "outcome" for record in records(log)):
            await host.modern("tools/list")
        with pytest.raises(RpcError, match="expired"):
            await host.modern("tools/call", retry(question, "s__echo", {"text": "x"}))


async def test_a_legacy_question_that_nobody_answers_ends_in_a_refusal(
    write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    def refuse(_method: str, _params: Any) -> Json:
        raise RpcError(-32603, "the window is closed")

    config = write_config(servers={"s": scripted()})
    async with raw_host(argv(config), state, answer=refuse) as host:
        await host.initialize()
        result = await host.call("s__echo", {"text": "x"})
    assert "the host could not ask: the window is closed" in text_of(result)


# The audit log


def records(log: Path) -> list[Json]:
    """The records of an audit log."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


async def test_a_decision_is_on_disk_before_its_call_is_forwarded_and_its_outcome_after(
    tmp_path: Path, write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    log = Path(state["MCP_GATE_STATE_DIR"]) / "audit.jsonl"
    seen = tmp_path / "seen"
    config = write_config(servers={"s": {**scripted("--log", str(seen)), "approval": "auto"}})
    async with raw_host(argv(config), state) as host:
        await host.initialize()
        call = {"name": "s__slow", "arguments": {"finish": False}, "_meta": {"progressToken": "p"}}
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(host.request, "tools/call", call)
                await host.notified("notifications/progress")  # so it has been forwarded, and is not over
                assert [record["event"] for record in records(log)] == ["decision"]
                scope.cancel()
        assert text_of(await host.call("s__echo", {"text": "x"})) == "x"
    events = [(record["event"], record.get("effect") or record.get("status")) for record in records(log)]
    assert sorted(events) == [("decision", "allow")] * 2 + [("outcome", "cancelled"), ("outcome", "ok")]


async def test_secrets_are_masked_by_key_and_the_masked_keys_named(
    write_config: Write, gate: Callable[..., Any], state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted("--tools", "1"), "approval": "auto"}})
    async with Client(gate(config)) as client:
        await said(client, "s__tool_001", {"text": "x", "api_key": "hunter2", "nested": {"password": "hunter2"}})
    text = (Path(state["MCP_GATE_STATE_DIR"]) / "audit.jsonl").read_text()
    assert "hunter2" not in text
    assert json.loads(text.splitlines()[0])["masked"] == ["api_key", "nested.password"]


async def test_a_call_that_cannot_be_logged_does_not_happen(
    write_config: Write, argv: Callable[..., list[str]], state: dict[str, str]
) -> None:
    config = write_config(servers={"s": {**scripted(), "approval": "auto"}})
    shell = ["sh", "-c", 'ulimit -f 0; trap "" XFSZ; exec "$@"', "sh"]
    async with raw_host([*shell, *argv(config)], state) as host:
        await host.initialize()
        result = await host.call("s__stop")  # the server would end, had it got this
    assert result["isError"] is True
    assert text_of(result).startswith("mcp-gate refuses `s__stop`: the audit log")
