"""The tool index and `tool_search`."""

import json
from typing import Any

import anyio
import pytest
from catalogs import definition, needs_catalogs, recorded_servers, recorded_tools, server_tool

from mcp_gate.catalog.registry import Registry, ServerTool, Tool
from mcp_gate.catalog.search import MAX_ANSWER, MAX_SUMMARY, ToolIndex, ToolSearch

GIT = [
    server_tool("git", definition("git_status", "Shows the working tree status"), category="data"),
    server_tool("git", definition("git_commit", "Records changes to the repository"), category="editing"),
    server_tool("git", definition("git_diff", "Shows changes between commits", context={"description": "lines"})),
]
FILES = [
    server_tool("fs", definition("readFile", "Reads one file", path={"type": "string"}), category="data"),
    server_tool("fs", definition("write-file", "Writes one", target={"enum": ["disk", "clipboard"]})),
    server_tool("fs", definition("search", "Looks for files by a pattern, in the way of git ignore files")),
]


def registry_of(*tools: ServerTool) -> Registry:
    registry = Registry()
    for server in dict.fromkeys(tool.server for tool in tools):
        registry.replace_server(server, [tool for tool in tools if tool.server == server])
    return registry


def names(tools: list[Tool]) -> list[str]:
    return [tool.name for tool in tools]


def found(query: str, limit: int = 5, **filters: Any) -> list[str]:
    return names(ToolIndex([*GIT, *FILES]).search(query, limit, **filters)[0])


def answer(search: ToolSearch, **arguments: Any) -> dict[str, Any]:
    result = anyio.run(search.execute, arguments)
    assert list(result) == ["content"]
    (block,) = result["content"]
    assert block["type"] == "text"
    parsed: dict[str, Any] = json.loads(block["text"])
    return parsed


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("git__git_diff", "git__git_diff"),
        ("GIT__GIT_DIFF", "git__git_diff"),
        ("git_diff", "git__git_diff"),
        ("git diff", "git__git_diff"),
        ("gitDiff", "git__git_diff"),
        ("mcp__gate__git__git_diff", "git__git_diff"),
        ("mcp__mcp-gate__fs__search", "fs__search"),
        ("call git_diff to show the working tree status", "git__git_diff"),
        ("select:git__git_diff", "git__git_diff"),
        ("read_file", "fs__readFile"),
        ("Write File", "fs__write-file"),
        ("search", "fs__search"),
        ("commit", "git__git_commit"),
        ("committing", "git__git_commit"),
        ("working tree", "git__git_status"),
        ("clipboard", "fs__write-file"),
        ("lines of context", "git__git_diff"),
        ("git status please search", "git__git_status"),
    ],
)
def test_the_tool_that_is_meant_comes_first(query: str, best: str) -> None:
    assert found(query)[0] == best


def test_a_word_in_the_name_counts_more_than_in_the_description_and_that_more_than_in_a_parameter() -> None:
    tools = [
        server_tool("s", definition("one", "Makes it", zebra={"type": "string"})),
        server_tool("s", definition("two", "Feeds a zebra")),
        server_tool("s", definition("zebra_feed", "Gives hay")),
    ]
    assert names(ToolIndex(tools).search("zebra")[0]) == ["s__zebra_feed", "s__two", "s__one"]


def test_filler_words_count_only_where_the_query_has_no_others() -> None:
    tools = [server_tool("s", definition("one", "Which of the two is it")), server_tool("s", definition("two", "Kind"))]
    index = ToolIndex(tools)
    assert names(index.search("which of the kind is it")[0]) == ["s__two"]
    assert names(index.search("which of the")[0]) == ["s__one"]


def test_only_tools_of_the_server_and_category_are_found() -> None:
    assert set(found("git", server="git")) == {tool.name for tool in GIT}
    assert found("git", server="fs") == ["fs__search"]
    assert found("file status", category="data") == ["git__git_status", "fs__readFile"]
    assert found("git_commit", server="fs", category="data") == []


def test_the_number_of_further_matches_is_told() -> None:
    best, more = ToolIndex(GIT).search("git", limit=2)
    assert (len(best), more) == (2, 1)
    assert ToolIndex(GIT).search("git", limit=3)[1] == 0


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        '"',
        'git" OR "1',
        "git AND OR NOT NEAR(",
        "name: git*",
        "^git -status {a b}: c",
        "git'; drop table tools; --",
        "\x00git\x00",
        "\ud83d git",
        "%_*?[]()\\",
        "git " * 25_000,
        "x" * 100_000,
        "mcp__" * 20_000,
        "깃 상태",
    ],
)
def test_any_text_is_a_query(query: str) -> None:
    best, more = ToolIndex([*GIT, *FILES]).search(query)
    assert len(best) + more <= 6
    assert bool(best) == ("git" in query[:2_000])


def test_an_index_of_nothing_finds_nothing() -> None:
    assert ToolIndex([]).search("git") == ([], 0)


def test_odd_schemas_are_indexed() -> None:
    odd = {
        "name": "odd",
        "inputSchema": {"properties": {"a": True, "b": {"enum": "x", "title": 5}, "c": {"enum": [1, None, "pear"]}}},
    }
    assert names(ToolIndex([server_tool("s", odd)]).search("pear")[0]) == ["s__odd"]


def test_tool_search_is_a_tool_and_returns_definitions_that_can_be_called() -> None:
    search = ToolSearch(registry_of(*GIT, *FILES))
    assert isinstance(search, Tool)
    assert answer(search, query="git_diff", limit=1) == {
        "tools": [
            {
                "name": "git__git_diff",
                "description": "Shows changes between commits",
                "inputSchema": {"type": "object", "properties": {"context": {"description": "lines"}}},
            }
        ],
        "more": 3,
    }


def test_a_forbidden_tool_is_never_found_counted_summed_up_or_named() -> None:
    search = ToolSearch(registry_of(*GIT, *FILES), is_permitted=lambda name, _call: name == "git__git_status")
    assert [tool["name"] for tool in answer(search, query="git_diff git changes")["tools"]] == ["git__git_status"]
    assert answer(search, query="git_diff git changes", limit=1)["more"] == 0
    assert answer(search, query="xyzzy")["available"] == {"git": ["git__git_status: Shows the working tree status"]}
    assert "fs" not in search.description


def test_what_is_permitted_is_asked_at_every_search() -> None:
    forbidden: set[str] = set()
    search = ToolSearch(registry_of(*GIT), is_permitted=lambda name, _call: name not in forbidden)
    assert answer(search, query="git_diff")["tools"][0]["name"] == "git__git_diff"
    forbidden.add("git__git_diff")
    assert "git__git_diff" not in [tool["name"] for tool in answer(search, query="git_diff")["tools"]]


def test_tools_that_come_later_are_found_and_those_that_left_are_not() -> None:
    registry = registry_of(*GIT)
    search = ToolSearch(registry)
    assert answer(search, query="readFile")["tools"] == []
    registry.replace_server("fs", FILES)
    assert answer(search, query="readFile")["tools"][0]["name"] == "fs__readFile"
    registry.replace_server("git", [])
    assert answer(search, query="git_status", server="git")["tools"] == []


def test_tool_search_does_not_find_itself() -> None:
    registry = registry_of(*GIT)
    registry.register(search := ToolSearch(registry))
    assert answer(search, query="tool_search")["tools"] == []


def test_no_match_is_answered_with_what_there_is() -> None:
    summary = answer(ToolSearch(registry_of(GIT[0], *FILES[:2])), query="xyzzy")
    assert summary == {
        "tools": [],
        "message": "nothing matches; other words may, or choose from `available`: the tools there are",
        "available": {
            "git": ["git__git_status: Shows the working tree status"],
            "fs": ["fs__readFile: Reads one file", "fs__write-file: Writes one"],
        },
    }


def test_no_match_within_a_server_is_answered_with_what_that_server_has() -> None:
    search = ToolSearch(registry_of(*GIT, *FILES))
    assert list(answer(search, query="xyzzy", server="fs")["available"]) == ["fs"]
    nowhere = answer(search, query="git", server="nowhere")
    assert list(nowhere["available"]) == ["git", "fs"]
    assert nowhere["message"].endswith("no tool has that server and category, so all the tools there are")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({}, "`query`: required"),
        ({"query": 5}, "`query`: 5 is not of type 'string'"),
        ({"query": "x", "limit": 0}, "`limit`: 0 is less than the minimum of 1"),
        ({"query": "x", "limit": 21}, "`limit`: 21 is greater than the maximum of 20"),
        ({"query": "x", "servers": "git"}, "Additional properties are not allowed ('servers' was unexpected)"),
    ],
)
def test_wrong_arguments_are_answered_with_the_schema(arguments: dict[str, Any], error: str) -> None:
    search = ToolSearch(registry_of(*GIT))
    result = anyio.run(search.execute, arguments)
    assert result["isError"] is True
    told, schema = result["content"][0]["text"].split("\n")
    assert told.endswith(f"nothing was called: {error}")
    assert json.loads(schema.partition(": ")[2]) == search.parameters


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert len(answer(ToolSearch(registry_of(*GIT)), query="git", limit=2.0)["tools"]) == 2


def test_the_description_names_the_servers_and_categories_that_are_there_now() -> None:
    registry = registry_of(*GIT)
    search = ToolSearch(registry)
    assert search.description.endswith("Servers: git. Categories: data, editing.")
    registry.replace_server("fs", FILES)
    assert "Servers: git, fs." in search.description
    assert ToolSearch(Registry()).description.endswith("search before you call one.")


def test_the_description_stays_short_with_many_servers() -> None:
    many = [server_tool(f"server-{i}", definition("x"), category=f"a rather long category {i}") for i in range(200)]
    description = ToolSearch(registry_of(*many)).description
    assert len(description) <= 600
    assert "Servers: server-0, server-1," in description
    assert "…. Categories: a rather long category 0," in description


@pytest.mark.parametrize(("count", "described"), [(50, True), (400, False)])
def test_a_summary_leaves_the_descriptions_out_where_it_would_be_too_long(count: int, described: bool) -> None:
    tools = [server_tool("s", definition(f"tool_{i:03}", "Does a lot. More.")) for i in range(count)]
    tools += [server_tool("t", definition(f"tool_{i:03}", "Does this and that and a lot more")) for i in range(count)]
    available = answer(ToolSearch(registry_of(*tools)), query="xyzzy")["available"]
    assert len(json.dumps(available)) <= 1.2 * MAX_SUMMARY
    assert available["s"][0] == ("s__tool_000: Does a lot." if described else "s__tool_000")
    assert len(available["s"]) == count


def test_a_summary_of_very_many_tools_says_how_many_it_leaves_out() -> None:
    tools = [server_tool(f"s{i % 10}", definition(f"tool_{i:04}")) for i in range(5_000)]
    available = answer(ToolSearch(registry_of(*tools)), query="xyzzy")["available"]
    assert len(json.dumps(available)) <= MAX_SUMMARY
    assert available["s3"][0] == "s3__tool_0003"
    assert available["s3"][-1] == "and 474 more"


def test_an_answer_holds_only_as_many_big_definitions_as_fit() -> None:
    tools = [server_tool("s", definition(f"zebra_{i}", "z" * 25_000)) for i in range(5)]
    found_now = answer(ToolSearch(registry_of(*tools)), query="zebra")
    assert (len(found_now["tools"]), found_now["more"]) == (2, 3)
    one = answer(ToolSearch(registry_of(server_tool("s", definition("zebra", "z" * 2 * MAX_ANSWER)))), query="zebra")
    assert (len(one["tools"]), one["more"]) == (1, 0)


@needs_catalogs
@pytest.mark.parametrize(
    ("query", "tool"),
    [
        ("working tree status", "mcp-server-git__git_status"),
        ("create a pull request on github", "github__create_pull_request"),
        ("convert time between timezones", "mcp-server-time__convert_time"),
        ("take a screenshot of the page", "chrome-devtools__take_screenshot"),
        ("directory tree of files", "filesystem__directory_tree"),
        ("search academic papers on arxiv", "arxiv-mcp-server__search_papers"),
        ("send a message to a slack channel", "slack__slack_post_message"),
        ("create entities in the knowledge graph", "memory__create_entities"),
        ("list calendar events", "google-calendar__list-events"),
    ],
)
def test_among_all_recorded_tools_the_obvious_one_is_among_the_first_five(query: str, tool: str) -> None:
    assert tool in names(ToolIndex(recorded_tools()).search(query)[0])


@needs_catalogs
def test_every_recorded_tool_is_found_first_by_its_gate_name() -> None:
    tools = recorded_tools()
    index = ToolIndex(tools)
    assert [names(index.search(tool.name, limit=1)[0]) for tool in tools] == [[tool.name] for tool in tools]


@needs_catalogs
def test_the_answers_over_all_recorded_servers_stay_small() -> None:
    registry = registry_of(*recorded_tools())
    search = ToolSearch(registry)
    assert len(search.description) <= 600
    assert len(json.dumps(answer(search, query="xyzzy"))) <= 1.2 * MAX_SUMMARY
    assert list(answer(search, query="xyzzy")["available"]) == recorded_servers()
