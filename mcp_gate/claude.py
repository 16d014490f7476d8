"""Claude Code's permission rules, turned into the gate's.

| in settings.json | here |
| --- | --- |
| `Bash(…)`, `Read(…)`, `Edit(…)`, `WebFetch(…)`, `mcp__…` | as they are: the gate reads them |
| `Bash`, `Bash(*)`; `Read`, `Edit`, `WebFetch` | the kind alone |
| a path `//x`; `/x`; `x` | `//x` is absolute; `/x` is below the folder of the settings; `x` as it is |
| an allow over a kind or over all servers | kept; it counts for tools that are declared to be of the kind |
| `Tool(name:value)`, Claude Code's other tools (`Agent` …), modes, directories | not translated, and said |
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_gate.documents import parse_json, read_bytes
from mcp_gate.errors import ConfigError, Problem, RuleSyntaxError
from mcp_gate.model import Effect, Kind, Source
from mcp_gate.policy.rules import KINDS, parse_rule

PERMISSIONS = "permissions"
LISTS = {"deny": Effect.DENY, "ask": Effect.ASK, "allow": Effect.ALLOW}


@dataclass(slots=True)
class Imported:
    """The rules by effect, and what could not be translated, each with its place and why."""

    rules: dict[Effect, list[str]] = field(default_factory=dict)
    left: list[str] = field(default_factory=list)


def import_settings(path: Path) -> Imported:
    """Read a settings.json; raises ConfigError where it cannot be read or has no permissions."""
    label = str(path)
    permissions = parse_json(read_bytes(path, label), label).get(PERMISSIONS)
    if not isinstance(permissions, dict):
        raise ConfigError([Problem(label, PERMISSIONS, "is missing or no object; name a settings.json of Claude Code")])
    root = path.resolve().parent.parent if path.resolve().parent.name == ".claude" else path.resolve().parent
    imported = Imported()
    for name, texts in permissions.items():
        if name not in LISTS:
            imported.left.append(f"{PERMISSIONS}.{name}: is no list of rules, and has no counterpart here")
        elif not isinstance(texts, list):
            raise ConfigError([Problem(label, f"{PERMISSIONS}.{name}", "must be a list")])
        else:
            _import_list(imported, LISTS[name], name, texts, root)
    return imported


def _import_list(imported: Imported, effect: Effect, name: str, texts: list[Any], root: Path) -> None:
    for number, text in enumerate(texts):
        place = f"{PERMISSIONS}.{name}[{number}]"
        if not isinstance(text, str):
            imported.left.append(f"{place}: is no text")
            continue
        try:
            rule = translated(text, root)
            parse_rule(rule, effect, Source.USER, place)
        except (RuleSyntaxError, ValueError) as error:
            why = error.why if isinstance(error, RuleSyntaxError) else str(error)
            imported.left.append(f"{place}: `{text}` {why}")
            continue
        kept = imported.rules.setdefault(effect, [])
        if rule not in kept:
            kept.append(rule)


def translated(text: str, root: Path) -> str:
    """One rule of Claude Code's as one of the gate's; raises ValueError where there is none."""
    head, bracket, rest = text.partition("(")
    body = rest.removesuffix(")")
    if head not in KINDS:
        if not head.startswith("mcp__") and head != "*":
            raise ValueError("is about a tool of Claude Code itself, which the gate does not see")
        if bracket:
            raise ValueError("gives a parameter, which is `server__tool(name=value)` here; write it anew")
        return text
    if not bracket or body.strip() in ("", "*"):
        return head
    if KINDS[head] is Kind.PATH:
        return f"{head}({_path(body, root)})"
    return text


def _path(pattern: str, root: Path) -> str:
    if pattern.startswith("/") and not pattern.startswith("//"):
        return f"{root.as_posix()}{pattern}"
    return pattern


def as_policy(imported: Imported, source: Path) -> Mapping[str, Any]:
    """The document of a policy file."""
    lists = {effect.value: rules for effect, rules in imported.rules.items()}
    return {"description": f"Permissions of Claude Code, imported from {source.name}."} | lists
