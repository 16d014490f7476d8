"""How tools are shown: to a host as full definitions or stubs, to a model API in its own format.

| mode   | host                         | a server's tool is listed                                       |
| ------ | ---------------------------- | --------------------------------------------------------------- |
| `full` | any                          | in full                                                         |
| `stub` | any                          | as a stub, unless `always_load` names it                        |
| `auto` | defers by itself             | in full                                                         |
| `auto` | up to the threshold of tools | in full                                                         |
| `auto` | above it                     | as a stub, unless `always_load` names it                        |

The gate's own tools are always listed in full. A host that defers by itself is told which tools to load at once: those
of `always_load` and the gate's own. A full definition is the server's, with the gate's name; a stub keeps all of it but
the schemas and the end of the description.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mcp_gate.catalog.registry import ServerTool, Tool
from mcp_gate.globs import star_match

Mode = Literal["auto", "full", "stub"]
Format = Literal["mcp", "anthropic", "openai"]

STUB_DESCRIPTION = 80
HOSTS_THAT_DEFER = frozenset({"claude-code"})
ALWAYS_LOAD = "anthropic/alwaysLoad"

# a full stop with a space after it (but not after "e.g." and the like), or an empty line
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\bvs\.)(?<!\betc\.)\s|(?<=。)|\n\s*\n")


@dataclass(frozen=True, slots=True)
class Exposure:
    """The `[exposure]` setting. `threshold` counts the servers' tools, `always_load` holds globs over gate names."""

    mode: Mode = "auto"
    threshold: int = 15
    always_load: tuple[str, ...] = ()

    def is_always_loaded(self, tool: Tool) -> bool:
        """Is it one of the gate's own, or one that the user wants to have at hand?"""
        return not isinstance(tool, ServerTool) or any(star_match(glob, tool.name) for glob in self.always_load)


def deferred_names(tools: Sequence[Tool], exposure: Exposure, host: str = "") -> frozenset[str]:
    """The names of those `tools` that a host named `host` (its `clientInfo.name`) is shown as stubs."""
    if exposure.mode == "full":
        return frozenset()
    if exposure.mode == "auto":
        count = sum(isinstance(tool, ServerTool) for tool in tools)
        if host in HOSTS_THAT_DEFER or count <= exposure.threshold:
            return frozenset()
    return frozenset(tool.name for tool in tools if not exposure.is_always_loaded(tool))


def list_tools(tools: Sequence[Tool], exposure: Exposure, host: str = "") -> list[dict[str, Any]]:
    """The `tools` of a `tools/list` result for a host named `host` (its `clientInfo.name`), in the given order."""
    deferred = deferred_names(tools, exposure, host)
    listed = [_stub(tool) if tool.name in deferred else full_definition(tool) for tool in tools]
    if host in HOSTS_THAT_DEFER:
        return [
            _loaded(entry) if exposure.is_always_loaded(tool) else entry
            for tool, entry in zip(tools, listed, strict=True)
        ]
    return listed


def export(tools: Sequence[Tool], exposure: Exposure, fmt: Format) -> list[dict[str, Any]]:
    """The tools as a model API takes them (seed article, sections 3 and 6.2).

    `mcp`: as a host without a way of its own to defer would list them. `anthropic`: `{name, description, input_schema}`
    and `defer_loading: true` on what that host would see as a stub. `openai`: `{type, function: {name, description,
    parameters}}`.
    """
    if fmt == "mcp":
        return list_tools(tools, exposure)
    if fmt == "openai":
        return [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": _closed(tool)},
            }
            for tool in tools
        ]
    deferred = deferred_names(tools, exposure)
    return [
        {"name": tool.name, "description": tool.description, "input_schema": _closed(tool)}
        | ({"defer_loading": True} if tool.name in deferred else {})
        for tool in tools
    ]


def full_definition(tool: Tool) -> dict[str, Any]:
    """One entry of `tools/list`: the server's own under the gate's name, or that of a tool of the gate."""
    if isinstance(tool, ServerTool):
        return {**tool.definition, "name": tool.name}
    definition = {"name": tool.name, "description": tool.description, "inputSchema": tool.parameters}
    annotations = getattr(tool, "annotations", None)
    return {**definition, "annotations": annotations} if annotations else definition


def schema_error(tool: Tool, errors: Sequence[str]) -> dict[str, Any]:
    """The `CallToolResult` for arguments that the real schema refuses: what is wrong, and the whole schema.

    A model that has only seen the stub can call again, rightly, without a search in between.
    """
    schema = json.dumps(tool.parameters, ensure_ascii=False, separators=(",", ":"))
    text = (
        f"the arguments do not fit the schema of `{tool.name}`, nothing was called: {'; '.join(errors)}\n"
        f"call it again with arguments that fit its schema: {schema}"
    )
    return {"content": [{"type": "text", "text": text}], "isError": True}


def first_sentence(text: str, limit: int = STUB_DESCRIPTION) -> str:
    """The first sentence of a description on one line, cut between words where it has more than `limit` characters."""
    sentence = " ".join(_SENTENCE_END.split(text.strip(), maxsplit=1)[0].split())
    if len(sentence) <= limit:
        return sentence
    kept = sentence[: limit - 1]
    return f"{kept.rsplit(' ', 1)[0].rstrip(',;: ')}…"


def _stub(tool: Tool) -> dict[str, Any]:
    stub = full_definition(tool)
    stub.pop("outputSchema", None)
    if "description" in stub:
        stub["description"] = first_sentence(stub["description"])
    stub["inputSchema"] = {"type": "object"}
    return stub


def _loaded(entry: dict[str, Any]) -> dict[str, Any]:
    return {**entry, "_meta": {**entry.get("_meta", {}), ALWAYS_LOAD: True}}


def _closed(tool: Tool) -> dict[str, Any]:
    schema = {"type": "object", **tool.parameters}
    schema.setdefault("additionalProperties", False)
    return schema
