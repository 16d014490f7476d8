"""How tools are shown to hosts and to model APIs."""

import json
from typing import Any

import pytest
from catalogs import definition, needs_catalogs, recorded_tools, server_tool

from mcp_gate.catalog.exposure import (
    Exposure,
    Mode,
    deferred_names,
    export,
    first_sentence,
    full_definition,
    list_tools,
    schema_error,
)
from mcp_gate.catalog.registry import Registry, ServerTool, Tool
from mcp_gate.catalog.search import ToolSearch

RICH: dict[str, Any] = {
    "title": "Say it",
    "name": "say",
    "description": "Says a word. Then it rests.",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "category": "speech"},
    "_meta": {"vendor/key": 1},
    "unknown": ["kept"],
}


def tools(count: int) -> list[Tool]:
    search = ToolSearch(Registry())
    return [search, *(server_tool("s", definition(f"tool_{i}", "Does it. Well.", a={})) for i in range(count))]


def stubs(listed: list[dict[str, Any]]) -> set[str]:
    return {tool["name"] for tool in listed if tool["inputSchema"] == {"type": "object"}}


def always_loaded(listed: list[dict[str, Any]]) -> set[str]:
    return {tool["name"] for tool in listed if tool.get("_meta", {}).get("anthropic/alwaysLoad") is True}


ALL_OF_THREE = {"s__tool_0", "s__tool_1", "s__tool_2"}


@pytest.mark.parametrize(
    ("mode", "host", "threshold", "always_load", "as_stubs", "loaded"),
    [
        ("full", "vscode", 0, (), set(), set()),
        ("full", "claude-code", 0, ("s__tool_1",), set(), {"tool_search", "s__tool_1"}),
        ("stub", "vscode", 15, (), ALL_OF_THREE, set()),
        ("stub", "vscode", 15, ("s__*_1",), {"s__tool_0", "s__tool_2"}, set()),
        ("stub", "claude-code", 15, (), ALL_OF_THREE, {"tool_search"}),
        ("auto", "vscode", 3, (), set(), set()),
        ("auto", "vscode", 2, (), ALL_OF_THREE, set()),
        ("auto", "vscode", 2, ("s__tool_2",), {"s__tool_0", "s__tool_1"}, set()),
        ("auto", "", 2, ("other__*",), ALL_OF_THREE, set()),
        ("auto", "claude-code", 2, ("s__tool_2",), set(), {"tool_search", "s__tool_2"}),
    ],
)
def test_a_tool_is_listed_in_full_or_as_a_stub_by_mode_host_and_threshold(
    mode: Mode, host: str, threshold: int, always_load: tuple[str, ...], as_stubs: set[str], loaded: set[str]
) -> None:
    exposure = Exposure(mode, threshold, always_load)
    listed = list_tools(tools(3), exposure, host)
    assert [tool["name"] for tool in listed] == ["tool_search", "s__tool_0", "s__tool_1", "s__tool_2"]
    assert stubs(listed) == as_stubs == deferred_names(tools(3), exposure, host)
    assert always_loaded(listed) == loaded


def test_the_default_threshold_is_fifteen_tools_of_servers() -> None:
    assert stubs(list_tools(tools(15), Exposure(), "vscode")) == set()
    assert len(stubs(list_tools(tools(16), Exposure(), "vscode"))) == 16


def test_a_full_definition_is_the_servers_own_with_the_gates_name() -> None:
    (listed,) = list_tools([server_tool("s", RICH)], Exposure("full"), "vscode")
    assert listed == {**RICH, "name": "s__say"}
    assert list(listed) == list(RICH)


def test_a_stub_keeps_everything_but_the_schemas_and_the_rest_of_the_description() -> None:
    (listed,) = list_tools([server_tool("s", RICH)], Exposure("stub"), "vscode")
    kept = {key: value for key, value in RICH.items() if key != "outputSchema"}
    assert listed == {
        **kept,
        "name": "s__say",
        "description": "Says a word.",
        "inputSchema": {"type": "object"},
    }


def test_listing_leaves_the_definition_of_the_server_as_it_is() -> None:
    before = json.dumps(RICH)
    for exposure in (Exposure("stub"), Exposure("auto", always_load=("*",))):
        list_tools([server_tool("s", RICH)], exposure, "claude-code")
    assert json.dumps(RICH) == before


def test_the_mark_for_a_host_that_defers_is_added_to_what_the_server_put_there() -> None:
    (listed,) = list_tools([server_tool("s", RICH)], Exposure(always_load=("s__say",)), "claude-code")
    assert listed["_meta"] == {"vendor/key": 1, "anthropic/alwaysLoad": True}


def test_a_stub_of_a_tool_without_a_description_has_none() -> None:
    (listed,) = list_tools([server_tool("s", {"name": "x", "inputSchema": {}})], Exposure("stub"))
    assert listed == {"name": "s__x", "inputSchema": {"type": "object"}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ""),
        ("  \n ", ""),
        ("Shows the working tree status", "Shows the working tree status"),
        ("Reads a file. Use with care.", "Reads a file."),
        ("Really? Yes!", "Really?"),
        ("Reads a file,\nline by line. Then stops.", "Reads a file, line by line."),
        ("Get the logs\n\nArgs:\n  n: how many", "Get the logs"),
        ("Version 1.5 of api.example.com. Next.", "Version 1.5 of api.example.com."),
        ("Runs a tool, e.g. a linter, i.e. a checker. Fast.", "Runs a tool, e.g. a linter, i.e. a checker."),
        ("파일을 읽습니다. 조심하세요.", "파일을 읽습니다."),
        ("ファイルを読む。次に書く。", "ファイルを読む。"),
        ("x" * 100, "x" * 79 + "…"),
        ("word, " * 20, "word, " * 12 + "word…"),
    ],
)
def test_the_first_sentence_of_a_description_is_one_line_of_at_most_80_characters(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence
    assert len(sentence) <= 80


@needs_catalogs
def test_stubs_of_real_servers_are_a_small_part_of_the_full_list() -> None:
    real: list[ServerTool] = recorded_tools()
    full = list_tools(real, Exposure("full"), "vscode")
    stub = list_tools(real, Exposure("stub"), "vscode")
    # `_meta` and annotations are the host's in both
    sizes = [
        sum(len(json.dumps({key: tool.get(key) for key in ("name", "description", "inputSchema")})) for tool in listed)
        for listed in (full, stub)
    ]
    assert sizes[1] < sizes[0] / 5
    assert max(len(tool.get("description", "")) for tool in stub) <= 80


@needs_catalogs
def test_real_definitions_reach_a_host_whole() -> None:
    for tool, listed in zip(recorded_tools(), list_tools(recorded_tools(), Exposure("full"), "vscode"), strict=True):
        assert listed == {**tool.definition, "name": tool.name}


def test_the_export_for_anthropic_marks_what_is_deferred_and_closes_the_schemas() -> None:
    exported = export([tools(0)[0], server_tool("s", RICH)], Exposure("stub"), "anthropic")
    assert [tool["name"] for tool in exported] == ["tool_search", "s__say"]
    assert "defer_loading" not in exported[0]
    assert exported[1] == {
        "name": "s__say",
        "description": "Says a word. Then it rests.",
        "input_schema": {**RICH["inputSchema"], "additionalProperties": False},
        "defer_loading": True,
    }


def test_the_export_for_anthropic_defers_nothing_up_to_the_threshold() -> None:
    assert not any("defer_loading" in tool for tool in export(tools(15), Exposure(), "anthropic"))


def test_the_export_for_openai_is_a_list_of_functions() -> None:
    assert export([server_tool("s", RICH)], Exposure(), "openai") == [
        {
            "type": "function",
            "function": {
                "name": "s__say",
                "description": "Says a word. Then it rests.",
                "parameters": {**RICH["inputSchema"], "additionalProperties": False},
            },
        }
    ]


def test_the_export_for_mcp_is_what_a_host_without_deferral_lists() -> None:
    assert export(tools(20), Exposure(), "mcp") == list_tools(tools(20), Exposure(), "vscode")


def test_an_export_keeps_what_a_schema_says_about_additional_properties() -> None:
    open_schema = {"properties": {}, "additionalProperties": True}
    (exported,) = export([server_tool("s", {"name": "x", "inputSchema": open_schema})], Exposure(), "anthropic")
    assert exported["input_schema"] == {"type": "object", **open_schema}


def test_a_schema_error_carries_what_was_wrong_and_the_whole_schema() -> None:
    result = schema_error(server_tool("s", RICH), ["`word`: required", "`n`: 'x' is not of type 'integer'"])
    assert result["isError"] is True
    (block,) = result["content"]
    told, _, schema = block["text"].partition("\n")
    assert told == (
        "the arguments do not fit the schema of `s__say`, nothing was called: "
        "`word`: required; `n`: 'x' is not of type 'integer'"
    )
    assert json.loads(schema.removeprefix("call it again with arguments that fit its schema: ")) == RICH["inputSchema"]


def test_a_tool_of_the_gate_is_listed_with_its_hints() -> None:
    listed = full_definition(tools(0)[0])
    assert list(listed) == ["name", "description", "inputSchema", "annotations"]
    assert listed["annotations"]["readOnlyHint"] is True
