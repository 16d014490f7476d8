"""Finding tools by words: an index over SQLite's FTS5, and the tool `tool_search` that puts it to the model.

| the query is or holds                                     | the tool comes                                  |
| --------------------------------------------------------- | ----------------------------------------------- |
| its gate name, also behind a host's prefix (`mcp__gate__`) | first                                           |
| its own name, in any spelling (`git status`, `gitStatus`)  | first                                           |
| words of its name, description or parameters               | by BM25: the name counts most, parameters least |
| nothing of it                                              | not                                             |

Whatever the query holds is text: it is cut into words here and none of it reaches FTS5 as an operator.
"""

import json
import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from mcp_gate.catalog.exposure import first_sentence, schema_error
from mcp_gate.catalog.registry import Registry, ServerTool, Tool
from mcp_gate.catalog.schemas import argument_errors

MAX_QUERY = 2_000  # characters that are read of a query
DEFAULT_LIMIT = 5
MAX_LIMIT = 20
MAX_ANSWER = 60_000  # characters of definitions in one answer
MAX_SUMMARY = 16_000
MAX_DESCRIPTION = 600
GATE = "mcp-gate"  # where the gate's own tools are listed in a summary

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(r"[^\W_]+")
_TOKEN = re.compile(r"[\w.-]+")
_HOST_PREFIX = re.compile(r"mcp__.+?__")
_STOP_WORDS = frozenset(
    _WORD.findall(
        "a about all an and any are as at be by can could do does for from give has have help how i if in into is it "
        "its just like me my need of on or our please should some that the their them then there these they this those "
        "to tool tools use using want was we what when where which who will with would you your"
    )
)
_WEIGHTS = "4, 2, 1, 0.5"  # name, server and category, description, parameters

_PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What the tool should do, in a few English words, or a tool's name"},
        "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
        "server": {"type": "string", "description": "Only tools of this server"},
        "category": {"type": "string", "description": "Only tools of this category"},
    },
    "required": ["query"],
    "additionalProperties": False,
}


def _is_any(name: str, call: Any = None) -> bool:
    return True


class ToolIndex:
    """An index in memory over the tools it is built from."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        import sqlite3  # 10 ms, only when something is searched

        self._tools = tuple(tools)
        self._by_name: dict[str, int] = {}
        self._by_spelling: dict[str, list[int]] = {}
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._database.close)
        self._database.execute(
            "create virtual table tools using fts5(name, place, description, parameters, tokenize='porter unicode61')"
        )
        for row, tool in enumerate(self._tools):
            self._by_name[tool.name.casefold()] = row
            self._by_spelling.setdefault(_spelling(_own_name(tool)), []).append(row)
        self._database.executemany(
            "insert into tools(rowid, name, place, description, parameters) values (?, ?, ?, ?, ?)",
            ((row, *_columns(tool)) for row, tool in enumerate(self._tools)),
        )

    def search(
        self,
        query: str,
        limit: int = DEFAULT_LIMIT,
        server: str | None = None,
        category: str | None = None,
        is_permitted: Callable[[str], bool] = _is_any,
    ) -> tuple[list[Tool], int]:
        """The best matches, at most `limit`, and how many more there are. Only tools of `server` and `category`
        (None: any) whose names are permitted are found or counted. Any text is a query.
        """
        query = query[:MAX_QUERY]
        rows = dict.fromkeys([*self._named(query), *self._matching(query)])
        found = [
            tool
            for tool in (self._tools[row] for row in rows)
            if server in (None, _server(tool))
            and category in (None, getattr(tool, "category", None))
            and is_permitted(tool.name)
        ]
        return found[:limit], len(found[limit:])

    def _named(self, query: str) -> Iterator[int]:
        """The tools that the query calls by name; a name of one word counts only where it is the whole query."""
        tokens = _TOKEN.findall(query)
        for token in tokens:
            for name in (token, _HOST_PREFIX.sub("", token, count=1)):
                if name.casefold() in self._by_name:
                    yield self._by_name[name.casefold()]
        yield from self._by_spelling.get(_spelling(query), ())
        for token in tokens:
            if " " in (spelling := _spelling(token)):
                yield from self._by_spelling.get(spelling, ())

    def _matching(self, query: str) -> list[int]:
        words = dict.fromkeys(_words(query))
        telling = [word for word in words if word not in _STOP_WORDS] or list(words)
        if not telling:
            return []
        match = " OR ".join(f'"{word}"' for word in telling)
        ranked = f"select rowid from tools where tools match ? order by bm25(tools, {_WEIGHTS}), rowid"
        return [row for (row,) in self._database.execute(ranked, (match,))]


class ToolSearch:
    """`tool_search`, the gate's own tool that finds the others; tools that are not permitted do not exist for it."""

    name = "tool_search"
    parameters = _PARAMETERS
    category = "discovery"
    cost_tier = "free"
    annotations: Mapping[str, Any] = {"readOnlyHint": True, "openWorldHint": False}

    def __init__(self, registry: Registry, is_permitted: Callable[[str, Any], bool] = _is_any) -> None:
        """`is_permitted` is given the name of a tool and what `execute` was given as `call`."""
        self._registry = registry
        self._is_permitted = is_permitted
        self._index = ToolIndex(())
        self._indexed_version = -1

    @property
    def description(self) -> str:
        """What can be found, by server and category, as the registry is now; at most 600 characters."""
        tools = self._permitted()
        servers = _enumeration("Servers", (_server(tool) for tool in tools), 300)
        categories = _enumeration("Categories", (getattr(tool, "category", None) for tool in tools), 100)
        return (
            "Finds tools by what they do and returns their full definitions. Tools that are listed without parameters "
            f"have them all the same: search before you call one.{servers}{categories}"
        )

    async def execute(self, arguments: Mapping[str, Any], call: Any = None) -> dict[str, Any]:
        """A `CallToolResult` with one text, compact JSON: `{"tools": [{name, description, inputSchema}], "more": n}`,
        or `{"tools": [], "message", "available": {server: [names and what they do]}}` where nothing matches.
        """
        if wrong := argument_errors(self.parameters, arguments):
            return schema_error(self, wrong)
        server, category = arguments.get("server"), arguments.get("category")
        limit = int(arguments.get("limit", DEFAULT_LIMIT))
        found, more = self._up_to_date_index().search(
            arguments["query"], limit, server, category, is_permitted=lambda name: self._is_permitted(name, call)
        )
        answer = _answer(found, more) if found else self._summary(server, category, call)
        return {"content": [{"type": "text", "text": _compact(answer)}]}

    def _permitted(self, call: Any = None) -> list[Tool]:
        return [tool for tool in self._registry.tools() if tool is not self and self._is_permitted(tool.name, call)]

    def _up_to_date_index(self) -> ToolIndex:
        if self._indexed_version != self._registry.version:
            self._index = ToolIndex([tool for tool in self._registry.tools() if tool is not self])
            self._indexed_version = self._registry.version
        return self._index

    def _summary(self, server: str | None, category: str | None, call: Any) -> dict[str, Any]:
        """What there is instead, of the server and category that were asked for if they have anything."""
        tools = self._permitted(call)
        asked = [
            tool
            for tool in tools
            if server in (None, _server(tool)) and category in (None, getattr(tool, "category", None))
        ]
        there = "the tools there are" if asked else "no tool has that server and category, so all the tools there are"
        return {
            "tools": [],
            "message": f"nothing matches; other words may, or choose from `available`: {there}",
            "available": _available(asked or tools),
        }


def _answer(found: Sequence[Tool], more: int) -> dict[str, Any]:
    """The definitions, as many as fit one answer but at least the best; the others count as more."""
    definitions: list[dict[str, Any]] = []
    size = 0
    for tool in found:
        definition = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
        size += len(_compact(definition))
        if definitions and size > MAX_ANSWER:
            break
        definitions.append(definition)
    return {"tools": definitions, "more": more + len(found) - len(definitions)}


def _available(tools: Sequence[Tool]) -> dict[str, list[str]]:
    """By server, each tool's name and first sentence; names alone, and at last only some, where that is too much."""
    described: dict[str, list[str]] = {}
    named: dict[str, list[str]] = {}
    for tool in tools:
        sentence = first_sentence(tool.description)
        described.setdefault(_server(tool), []).append(f"{tool.name}: {sentence}" if sentence else tool.name)
        named.setdefault(_server(tool), []).append(tool.name)
    for summary in (described, named):
        if len(_compact(summary)) <= MAX_SUMMARY:
            return summary
    share = max(1, MAX_SUMMARY // (60 * len(named)))  # a name has at most 53 characters
    return {
        server: names if len(names) <= share else [*names[:share], f"and {len(names) - share} more"]
        for server, names in named.items()
    }


def _columns(tool: Tool) -> tuple[str, str, str, str]:
    place = f"{_server(tool)} {getattr(tool, 'category', None) or ''}"
    return (
        " ".join(_words(_own_name(tool))),
        " ".join(_words(place)),
        " ".join(_words(tool.description)),
        " ".join(_words(" ".join(_parameter_texts(tool.parameters)))),
    )


def _parameter_texts(schema: Mapping[str, Any]) -> Iterator[str]:
    for name, parameter in schema.get("properties", {}).items():
        yield name
        if isinstance(parameter, dict):
            yield from (
                text for text in (parameter.get("title"), parameter.get("description")) if isinstance(text, str)
            )
            choices = parameter.get("enum")
            yield from (text for text in choices if isinstance(text, str)) if isinstance(choices, list) else ()


def _words(text: str) -> Iterator[str]:
    """The words of a text in lower case; those in camel case as a whole and in parts (`gitStatus`: three words)."""
    for word in _WORD.findall(text):
        yield word.lower()
        parts = _CAMEL.split(word)
        if len(parts) > 1:
            yield from (part.lower() for part in parts)


def _spelling(name: str) -> str:
    """The same for all ways to write a name: `git_status`, `git-status`, `gitStatus` and `Git status`."""
    return " ".join(_WORD.findall(_CAMEL.sub(" ", name))).lower()


def _own_name(tool: Tool) -> str:
    return tool.tool if isinstance(tool, ServerTool) else tool.name


def _server(tool: Tool) -> str:
    return tool.server if isinstance(tool, ServerTool) else GATE


def _enumeration(title: str, values: Iterable[str | None], room: int) -> str:
    """` Title: a, b, …`, as many of the different values as there is room for; empty without any."""
    different = list(dict.fromkeys(value for value in values if value))
    text = ", ".join(different)
    if len(text) > room:
        text = f"{text[:room].rpartition(', ')[0]}, …"
    return f" {title}: {text}." if different else ""


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
