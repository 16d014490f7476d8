"""Documents that people write: read, parsed and checked against a model, with every fault told in the gate's words.

Each function raises ConfigError; `label` is what its problems call the file. The faults pydantic finds are told by
dotted key, with the bad value and the fix: ``servers.toml: servers.git.timeout: must be greater than 0, not `-1` ``.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from mcp_gate.errors import ConfigError, Problem

MOST_BYTES = 1_000_000
LONGEST_SHOWN = 60


class Model(BaseModel):
    """What every table of a document is: frozen, without conversions between types, unknown keys refused."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


M = TypeVar("M", bound=Model)


def read_bytes(path: Path, label: str) -> bytes:
    """The bytes of a regular file of at most a megabyte: a pipe or device that a stranger's file names never ends."""
    try:
        if path.exists() and not path.is_file():
            raise ConfigError([Problem(label, "", "is not a regular file")])
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError([Problem(label, "", "does not exist")]) from None
    except OSError as error:
        raise ConfigError([Problem(label, "", f"cannot be read: {(error.strerror or str(error)).lower()}")]) from None
    if len(content) > MOST_BYTES:
        raise ConfigError([Problem(label, "", f"is longer than {MOST_BYTES} bytes")])
    return content


def parse_toml(content: bytes, label: str) -> dict[str, Any]:
    """The tables of a TOML document; a syntax error names its line and column."""
    text = _decoded(content, label)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(label, "", f"is not TOML: {_lower(str(error))}")]) from None
    except RecursionError:
        raise ConfigError([Problem(label, "", "is nested too deeply")]) from None


def parse_json(content: bytes, label: str) -> dict[str, Any]:
    """The members of a JSON document's one object; a syntax error names its line and column."""
    text = _decoded(content, label)
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"(at line {error.lineno}, column {error.colno})"
        raise ConfigError([Problem(label, "", f"is not JSON: {_lower(error.msg)} {place}")]) from None
    except RecursionError:
        raise ConfigError([Problem(label, "", "is nested too deeply")]) from None
    if not isinstance(value, dict):
        raise ConfigError([Problem(label, "", "must be a JSON object")])
    return value


def validate(model: type[M], raw: Mapping[str, Any], label: str, context: object = None) -> M:
    """`raw` as a `model`; `context` is handed to the model's validators. All problems are raised together."""
    try:
        return model.model_validate(raw, context=context)
    except ValidationError as error:
        problems = [
            Problem(label, dotted(detail["loc"]), _message(model, detail)) for detail in error.errors(include_url=False)
        ]
        raise ConfigError(problems) from None


def dotted(location: tuple[str | int, ...]) -> str:
    """A place in a document as one writes it: `servers.git.args[0]`, with quotes where TOML would want them."""
    key = ""
    for part in location:
        if isinstance(part, int):
            key += f"[{part}]"
        elif part != "[key]":
            name = part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)
            key += f".{name}" if key else name
    return key


def _decoded(content: bytes, label: str) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError([Problem(label, "", f"is not UTF-8 (at line {line}); save it as UTF-8")]) from None


def _message(model: type[Model], detail: ErrorDetails) -> str:
    kind, location, limits = detail["type"], detail["loc"], detail.get("ctx", {})
    if kind == "extra_forbidden":
        return _unknown(str(location[-1]), _known_keys(model, location[:-1]))
    if kind == "missing":
        return "is missing and has no default"
    if kind == "value_error":
        return str(limits["error"])
    return f"{_wanted(kind, limits) or _lower(detail['msg'])}, not {_shown(detail['input'], location)}"


def _wanted(kind: str, limits: Mapping[str, Any]) -> str:
    match kind:
        case "string_type" | "path_type" | "is_instance_of":  # the last is what a strict `Path` says
            return "must be a string"
        case "bool_type":
            return "must be true or false"
        case "int_type" | "int_from_float":
            return "must be a whole number"
        case "float_type" | "finite_number":
            return "must be a number"
        case "tuple_type":
            return "must be a list"
        case "dict_type" | "model_type":
            return "must be a table"
        case "literal_error" | "enum":
            return "must be " + str(limits["expected"]).replace("'", "`")
        case "greater_than":
            return f"must be greater than {limits['gt']:g}"
        case "greater_than_equal":
            return f"must be at least {limits['ge']:g}"
        case "less_than_equal":
            return f"must be at most {limits['le']:g}"
    return ""


def _shown(value: object, location: tuple[str | int, ...]) -> str:
    """The bad value, but never one of an `env` table: it may be a secret."""
    if "env" in location:
        return f"a value of type {type(value).__name__}"
    text = json.dumps(value, default=str, ensure_ascii=False)
    return f"`{text}`" if len(text) <= LONGEST_SHOWN else f"`{text[:LONGEST_SHOWN]}…`"


def _unknown(key: str, known: list[str]) -> str:
    if near := get_close_matches(key, known, n=1):
        return f"is no key here; did you mean `{near[0]}`?"
    return "is no key here; the keys are " + ", ".join(f"`{name}`" for name in known)


def _known_keys(model: type[Model], location: tuple[str | int, ...]) -> list[str]:
    """The keys that the table at `location` may have, found by walking the model's annotations."""
    kind: Any = model
    for part in location:
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            kind = kind.model_fields[str(part)].annotation
        else:
            *_, kind = (argument for argument in get_args(kind) if argument is not Ellipsis)
    return list(kind.model_fields)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
