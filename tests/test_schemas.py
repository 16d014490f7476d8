"""What of a server's list is usable, and what arguments fit a schema."""

import socket
import subprocess
import sys
from typing import Any

import pytest
from catalogs import needs_catalogs, recorded, recorded_servers

from mcp_gate.catalog.schemas import argument_errors, definition_problem

GOOD: dict[str, Any] = {"name": "x", "inputSchema": {"type": "object"}}
CATASTROPHIC = "^(a+)+$"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"items": value}
    return value


@pytest.mark.parametrize(
    "raw",
    [
        GOOD,
        {**GOOD, "inputSchema": {}},
        {**GOOD, "name": "with space.and/slash"},
        {**GOOD, "name": "n" * 128},
        {**GOOD, "description": ""},
        {**GOOD, "unknown": {"field": [1, None]}},
        {**GOOD, "annotations": {"category": "debugging", "readOnlyHint": True}},
        {**GOOD, "inputSchema": {"type": "object", "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
        {**GOOD, "inputSchema": {"type": "object", "$ref": "#"}},
        {**GOOD, "inputSchema": nested(62)},
    ],
)
def test_a_usable_definition_has_no_problem(raw: Any) -> None:
    assert definition_problem(raw) is None


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (None, "is not an object"),
        ([GOOD], "is not an object"),
        ("x", "is not an object"),
        ({"inputSchema": {}}, "has no `name`"),
        ({**GOOD, "name": 7}, "`name` is not a string"),
        ({**GOOD, "name": ""}, "`name` is empty"),
        ({**GOOD, "name": "  "}, "`name` is empty"),
        ({**GOOD, "name": "n" * 129}, "`name` has 129 characters, 128 are the most"),
        ({**GOOD, "name": "a\x1b[2Jb"}, "`name` has control or invisible characters"),
        ({**GOOD, "name": "a\nb"}, "`name` has control or invisible characters"),
        ({**GOOD, "name": "a\u202eb"}, "`name` has control or invisible characters"),
        ({"name": "x"}, "has no `inputSchema`"),
        ({"name": "x", "inputSchema": None}, "`inputSchema` is not an object"),
        ({"name": "x", "inputSchema": True}, "`inputSchema` is not an object"),
        ({"name": "x", "inputSchema": {"type": "string"}}, "`inputSchema.type` is not `object`"),
        ({"name": "x", "inputSchema": {"type": ["object"]}}, "`inputSchema.type` is not `object`"),
        ({"name": "x", "inputSchema": {"properties": []}}, "`inputSchema.properties` is not an object"),
        ({"name": "x", "inputSchema": {"required": "a"}}, "`inputSchema.required` is not an array of strings"),
        ({"name": "x", "inputSchema": {"required": [1]}}, "`inputSchema.required` is not an array of strings"),
        ({**GOOD, "description": 5}, "`description` is not a string"),
        ({**GOOD, "title": None}, "`title` is not a string"),
        ({**GOOD, "annotations": []}, "`annotations` is not an object"),
        ({**GOOD, "outputSchema": "x"}, "`outputSchema` is not an object"),
        ({**GOOD, "icons": {}}, "`icons` is not an array"),
        ({**GOOD, "_meta": 1}, "`_meta` is not an object"),
        ({**GOOD, "inputSchema": nested(63)}, "is nested deeper than 64 levels"),
        ({**GOOD, "inputSchema": nested(3_000)}, "is nested deeper than 64 levels"),
        ({**GOOD, "description": "ä" * 60_000}, "has 120061 bytes, 100000 are the most"),
    ],
)
def test_an_unusable_definition_is_told_what_is_wrong_with_it(raw: Any, problem: str) -> None:
    assert definition_problem(raw) == problem


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "half \ud83d", 10**5_000], ids=["NaN", "infinite", "half", "digits"]
)
def test_a_definition_that_could_not_be_sent_on_as_json_is_refused(value: Any) -> None:
    problem = definition_problem({**GOOD, "inputSchema": {"properties": {"a": {"default": value}}}})
    assert problem == "holds a value that JSON cannot carry (`NaN`, an endless number, half a character)"


@needs_catalogs
def test_every_tool_of_every_recorded_server_is_usable() -> None:
    problems = {
        (server, tool["name"]): definition_problem(tool) for server in recorded_servers() for tool in recorded(server)
    }
    assert len(problems) > 700
    assert {tool: problem for tool, problem in problems.items() if problem} == {}


SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "n": {"type": "integer", "minimum": 1},
        "mode": {"enum": ["fast", "safe"]},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "edits": {"type": "array", "items": {"type": "object", "required": ["old text"]}},
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "errors"),
    [
        ({"path": "/a", "n": 1, "mode": "fast", "limit": None, "edits": [{"old text": ""}]}, []),
        ({}, ["`path`: required"]),
        ({"path": 1}, ["`path`: 1 is not of type 'string'"]),
        ({"path": "", "n": "x"}, ["`n`: 'x' is not of type 'integer'"]),
        ({"path": "", "n": 0}, ["`n`: 0 is less than the minimum of 1"]),
        ({"path": "", "mode": "slow"}, ["`mode`: 'slow' is not one of ['fast', 'safe']"]),
        ({"path": "", "limit": "s"}, ["`limit`: 's' is not of type 'integer'; or 's' is not of type 'null'"]),
        ({"path": "", "edits": [{"old text": ""}, {}]}, ["`edits[1].old text`: required"]),
        ({"path": "", "pth": 1}, ["Additional properties are not allowed ('pth' was unexpected)"]),
    ],
)
def test_arguments_that_do_not_fit_are_told_where_and_why(arguments: dict[str, Any], errors: list[str]) -> None:
    assert argument_errors(SCHEMA, arguments) == errors


def test_at_most_five_errors_are_told() -> None:
    schema = {"properties": {f"p{i}": {"type": "string"} for i in range(9)}}
    assert len(argument_errors(schema, {f"p{i}": i for i in range(9)})) == 5


def test_a_long_value_is_shortened_and_the_reason_kept() -> None:
    (error,) = argument_errors(SCHEMA, {"path": "", "n": "long\n\x1b" * 1_000})
    assert error.startswith("`n`: 'long")
    assert error.endswith("is not of type 'integer'")
    assert len(error) < 250
    assert error.isprintable()


def test_the_dialect_is_the_one_the_schema_names() -> None:
    tuple_schema = {"properties": {"pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}}}
    wrong = {"pair": ["a", "b"]}
    assert argument_errors({**tuple_schema, "$schema": DRAFT_7}, wrong) == ["`pair[1]`: 'b' is not of type 'integer'"]
    # in 2020-12 a tuple is `prefixItems`, and an array under `items` is invalid
    assert argument_errors(tuple_schema, wrong) == []


def test_an_argument_may_be_called_dollar_schema() -> None:
    schema = {"$schema": DRAFT_7, "properties": {"$schema": {"type": "integer"}}, "additionalProperties": False}
    assert argument_errors(schema, {"$schema": 1}) == []
    assert argument_errors(schema, {"$schema": "s"}) == ["`['$schema']`: 's' is not of type 'integer'"]


def test_references_within_the_schema_are_followed() -> None:
    schema = {"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}
    assert argument_errors(schema, {"a": "x"}) == ["`a`: 'x' is not of type 'integer'"]


def test_a_reference_to_the_network_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert argument_errors({"properties": {"a": {"$ref": f"http://127.0.0.1:{port}/x"}}}, {"a": 1}) == []
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


DOUBLING = {f"d{i}": {"allOf": [{"$ref": f"#/$defs/d{i + 1}"}] * 2} for i in range(60)}


@pytest.mark.parametrize(
    ("schema", "arguments"),
    [
        ({"type": "objekt"}, {}),
        ({"properties": {"a": 5}}, {"a": 1}),
        ({"required": 5}, {}),
        ({"$ref": "#/nowhere"}, {}),
        ({"$ref": "#"}, {}),
        ({"$ref": "http://["}, {}),
        ({"$ref": "#/enum/x", "enum": [1]}, {}),
        ({"properties": {"items": {"$ref": "#"}}}, nested(3_000)),
        ({"properties": {"a": {"pattern": CATASTROPHIC}}}, {"a": "a" * 100 + "b"}),
        ({"patternProperties": {CATASTROPHIC: {}}, "additionalProperties": False}, {"a" * 100 + "b": 1}),
        ({"properties": {"a": {"pattern": r"\p{L}("}}}, {"a": "x"}),
        ({"$defs": {**DOUBLING, "d60": {}}, "properties": {"a": {"$ref": "#/$defs/d0"}}}, {"a": 1}),
        (nested(3_000), {}),
    ],
)
def test_a_schema_that_cannot_be_checked_refuses_nothing_and_ends(
    schema: dict[str, Any], arguments: dict[str, Any]
) -> None:
    assert argument_errors(schema, arguments) == []


def test_a_dialect_named_further_down_does_not_bring_back_unbounded_checks() -> None:
    schema = {
        "$schema": DRAFT_7,
        "definitions": {"x": {"$schema": DRAFT_7, "pattern": CATASTROPHIC}},
        "properties": {"a": {"$ref": "#/definitions/x"}, "self": {"$ref": "#"}, "n": {"type": "integer"}},
    }
    arguments = {"a": "a" * 100 + "b", "self": {"a": "a" * 100 + "b", "n": "x"}}
    assert argument_errors(schema, arguments) == ["`self.n`: 'x' is not of type 'integer'"]


def test_a_bad_regular_expression_does_not_keep_the_rest_from_being_checked() -> None:
    schema = {"properties": {"a": {"pattern": r"\p{L}("}}, "required": ["b"]}
    assert argument_errors(schema, {"a": "x"}) == ["`b`: required"]


def test_a_schema_is_checked_as_it_is_now() -> None:
    schema: dict[str, Any] = {"required": ["a"]}
    assert argument_errors(schema, {}) == ["`a`: required"]
    schema["required"] = ["b"]
    assert argument_errors(schema, {}) == ["`b`: required"]


@needs_catalogs
def test_every_recorded_schema_can_be_checked() -> None:
    for server in recorded_servers():
        for tool in recorded(server):
            required = tool["inputSchema"].get("required", [])
            told = argument_errors(tool["inputSchema"], {})
            assert told == [f"`{name}`: required" for name in required[:5]], (server, tool["name"])


def test_jsonschema_is_imported_only_when_arguments_are_checked() -> None:
    code = "import sys, mcp_gate.catalog.search, mcp_gate.catalog.schemas; print('jsonschema' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
