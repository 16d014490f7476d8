"""The registry: unique names, a steady order, servers that come, change and go."""

from collections.abc import Mapping
from typing import Any, ClassVar

import anyio
import pytest
from catalogs import definition, needs_catalogs, recorded_servers, recorded_tools, server_tool

from mcp_gate.catalog.registry import Registry, Tool
from mcp_gate.errors import UnknownToolError


class Clock:
    """A tool of the gate's own, written without knowing the protocol's class."""

    description = "Tells the time"
    parameters: ClassVar[dict[str, Any]] = {"type": "object"}

    def __init__(self, name: str = "clock") -> None:
        self.name = name

    async def execute(self, arguments: Mapping[str, Any], call: Any = None) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "noon"}]}


def names(registry: Registry, **filters: str) -> list[str]:
    return [tool.name for tool in registry.tools(**filters)]


def test_anything_with_the_four_members_is_a_tool() -> None:
    assert isinstance(Clock(), Tool)
    assert isinstance(server_tool("git", definition("git_status")), Tool)
    assert not isinstance(definition("git_status"), Tool)


def test_a_server_tool_forwards_under_the_servers_own_name() -> None:
    tool = server_tool("git", definition("git_status", "Shows the status", path={"type": "string"}))

    async def run() -> dict[str, Any]:
        return await tool.execute({"path": "."}, "call 1")

    assert tool.name == "git__git_status"
    assert tool.description == "Shows the status"
    assert tool.parameters == {"type": "object", "properties": {"path": {"type": "string"}}}
    assert anyio.run(run) == {"content": [{"type": "text", "text": '["git_status", {"path": "."}, "call 1"]'}]}


def test_a_server_tool_without_a_description_has_an_empty_one() -> None:
    assert server_tool("s", {"name": "x", "inputSchema": {}}).description == ""


def test_registering_a_name_twice_is_an_error() -> None:
    registry = Registry()
    registry.register(Clock())
    with pytest.raises(ValueError, match="tool `clock` is registered already; register a name once"):
        registry.register(Clock())


def test_a_tool_is_found_by_its_name() -> None:
    registry = Registry()
    clock = Clock()
    registry.register(clock)
    assert registry.get("clock") is clock
    assert "clock" in registry
    assert "clok" not in registry


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("git__git_statsu", "git__git_status"),
        ("git_status", "git__git_status"),
        ("mcp__gate__git__git_status", "git__git_status"),
        ("tool_serach", "tool_search"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(asked: str, near: str) -> None:
    registry = Registry()
    registry.register(Clock("tool_search"))
    registry.replace_server("git", [server_tool("git", definition(name)) for name in ("git_status", "git_commit")])
    with pytest.raises(UnknownToolError) as caught:
        registry.get(asked)
    assert caught.value.near[0] == near


def test_a_name_like_no_other_is_answered_without_a_guess() -> None:
    with pytest.raises(UnknownToolError) as caught:
        Registry().get("x" * 100_000)
    assert caught.value.near == ()


def test_the_order_is_the_gates_own_then_the_servers_as_configured_whatever_was_ready_first() -> None:
    registry = Registry(["a", "b"])
    registry.replace_server("c", [server_tool("c", definition("one"))])
    registry.replace_server("b", [server_tool("b", definition(name)) for name in ("two", "one")])
    registry.replace_server("a", [server_tool("a", definition("one"))])
    registry.register(Clock())
    assert names(registry) == ["clock", "a__one", "b__two", "b__one", "c__one"]


def test_a_servers_tools_are_replaced_as_a_whole() -> None:
    registry = Registry(["a", "b"])
    registry.replace_server("a", [server_tool("a", definition(name)) for name in ("one", "two")])
    registry.replace_server("b", [server_tool("b", definition("one"))])
    assert registry.replace_server("a", [server_tool("a", definition(name)) for name in ("three", "two")]) == []
    assert names(registry) == ["a__three", "a__two", "b__one"]
    assert registry.replace_server("a", []) == []
    assert names(registry) == ["b__one"]


def test_a_name_that_another_server_has_is_refused_and_the_rest_goes_in() -> None:
    registry = Registry(["a", "b"])
    registry.replace_server("a", [server_tool("a", definition("search"), prefix="")])
    problems = registry.replace_server("b", [server_tool("b", definition(name), prefix="") for name in ("search", "x")])
    assert problems == [
        "server `b`: tool `search` is left out: the name `search` is taken by server `a`; "
        "set another `prefix` for one of the two"
    ]
    assert [getattr(tool, "server", None) for tool in registry.tools()] == ["a", "b"]


def test_a_name_that_is_the_gates_own_is_refused() -> None:
    registry = Registry()
    registry.register(Clock("tool_search"))
    assert registry.replace_server("a", [server_tool("a", definition("tool_search"), prefix="")]) == [
        "server `a`: tool `tool_search` is left out: the name `tool_search` is one of the gate's own; "
        "set another `prefix` for the server"
    ]
    assert isinstance(registry.get("tool_search"), Clock)


def test_of_two_tools_of_a_server_with_one_name_the_first_stays() -> None:
    registry = Registry()
    problems = registry.replace_server("a", [server_tool("a", definition(name)) for name in ("do.it", "do_it")])
    assert problems == [
        "server `a`: tool `do_it` is left out: the name `a__do_it` is taken by its tool `do.it`; "
        "the first one listed stays"
    ]
    assert names(registry) == ["a__do_it"]


def test_the_version_grows_with_every_change_and_only_then() -> None:
    registry = Registry()
    versions = [registry.version]
    registry.register(Clock())
    versions.append(registry.version)
    registry.replace_server("a", [server_tool("a", definition("one"))])
    versions.append(registry.version)
    registry.replace_server("a", [server_tool("a", definition("one", "now described"))])
    versions.append(registry.version)
    registry.replace_server("a", [])
    versions.append(registry.version)
    assert versions == sorted(set(versions))

    registry.replace_server("a", [])
    assert registry.version == versions[-1]


def test_listing_the_same_again_is_no_change_and_another_order_is() -> None:
    registry = Registry()
    one, two = (server_tool("a", definition(name)) for name in ("one", "two"))
    registry.replace_server("a", [one, two])
    before = registry.version
    registry.replace_server("a", [server_tool("a", definition("one")), two])
    assert registry.version == before
    registry.replace_server("a", [two, one])
    assert registry.version > before
    assert names(registry) == ["a__two", "a__one"]


def test_tools_are_filtered_by_category_and_cost_tier() -> None:
    registry = Registry()
    registry.register(Clock())
    registry.replace_server(
        "a",
        [
            server_tool("a", definition("one"), category="data", cost_tier="free"),
            server_tool("a", definition("two"), category="data", cost_tier="expensive"),
            server_tool("a", definition("three"), cost_tier="free"),
        ],
    )
    assert names(registry, category="data") == ["a__one", "a__two"]
    assert names(registry, cost_tier="free") == ["a__one", "a__three"]
    assert names(registry, category="data", cost_tier="free") == ["a__one"]
    assert names(registry, category="nothing") == []
    assert len(names(registry)) == 4


@needs_catalogs
def test_all_recorded_servers_fit_in_one_registry() -> None:
    registry = Registry(recorded_servers())
    for server in reversed(recorded_servers()):
        assert registry.replace_server(server, recorded_tools(server)) == []
    assert registry.tools() == recorded_tools()
