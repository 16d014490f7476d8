"""Do the arguments of a call fit the tool's schema? The part of `schemas` that needs jsonschema.

The schemas come from servers nobody has vetted, so the check is bounded and stays offline:

| in the schema                    | here                                                                     |
| -------------------------------- | ------------------------------------------------------------------------ |
| `$schema`                        | the root's chooses the dialect, 2020-12 without one; others are left out |
| `$ref`                           | within the schema only, nothing is fetched; followed 5,000 times a check |
| `pattern`, `patternProperties`   | not judged: they are ECMAScript's, not Python's, and may take for ever   |
| `unevaluatedProperties`/`-Items` | not judged: the work doubles with every level                            |
| invalid, unresolvable, endless   | no errors: the server checks for itself                                  |
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend, validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable

MAX_ERRORS = 5
MAX_MESSAGE = 200
MAX_REFERENCES = 5_000

_REQUIRED = " is a required property"  # how jsonschema ends that message, which is all that names the property

_EMPTY: Registry[Any] = Registry()  # the validator's default registry fetches over the network
_references: ContextVar[Iterator[int]] = ContextVar("references left to follow in the check at hand")

_Keyword = Callable[[Validator, Any, Any, dict[str, Any]], Iterable[ValidationError] | None]


class _TooMuchWorkError(Exception):
    """A schema that refers to itself so often that checking it would not end."""


# what an invalid schema makes jsonschema and referencing raise: their own errors, and Python's where they trusted it
_UNCHECKABLE = (
    Unresolvable,
    _TooMuchWorkError,
    RecursionError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    re.error,
)


def errors(schema: dict[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """What is wrong with `arguments`, one line each, at most five; empty where the schema cannot be checked."""
    try:
        dialect = schema.get("$schema")
        validator = _compiled(dialect if isinstance(dialect, str) else "", json.dumps(schema))
        if validator is None:
            return []
        _references.set(iter(range(MAX_REFERENCES)))
        found = islice(validator.iter_errors(dict(arguments)), MAX_ERRORS)
        return list(dict.fromkeys(_line(error) for error in found))
    except _UNCHECKABLE:
        return []


@lru_cache(maxsize=256)
def _compiled(dialect: str, text: str) -> Validator | None:
    """The validator of a schema given as JSON, None for an invalid one. Equal schemas share an entry of the cache."""
    # a `$schema` further down, or met again through `$ref: "#"`, would bring back the stock validator without bounds
    schema = json.loads(text, object_hook=_without_dialect)
    stock = validator_for({"$schema": dialect}, default=Draft202012Validator)
    # not `check_schema`, which refuses the whole schema for a regular expression that is ECMAScript's only
    if not stock(stock.META_SCHEMA, registry=_EMPTY).is_valid(schema):
        return None
    return _bounded(stock)(schema, registry=_EMPTY)


def _without_dialect(value: dict[str, Any]) -> dict[str, Any]:
    if isinstance(value.get("$schema"), str):
        del value["$schema"]
    return value


@lru_cache
def _bounded(dialect: type[Validator]) -> type[Validator]:
    keywords: dict[str, _Keyword] = dict.fromkeys(
        ("pattern", "patternProperties", "unevaluatedProperties", "unevaluatedItems"), _unjudged
    )
    known: Mapping[str, _Keyword] = dialect.VALIDATORS
    for name in ("$ref", "$dynamicRef", "$recursiveRef"):
        if name in known:
            keywords[name] = _counted(known[name])
    keywords["additionalProperties"] = _unless_patterns(known["additionalProperties"])
    bounded: type[Validator] = extend(dialect, keywords)  # type: ignore[no-untyped-call]  # it has no types
    return bounded


def _unjudged(validator: Validator, value: Any, instance: Any, schema: dict[str, Any]) -> None:
    return None


def _counted(follow: _Keyword) -> _Keyword:
    def check(validator: Validator, value: Any, instance: Any, schema: dict[str, Any]) -> Iterable[ValidationError]:
        if next(_references.get(), None) is None:
            raise _TooMuchWorkError
        return follow(validator, value, instance, schema) or ()

    return check


def _unless_patterns(judge: _Keyword) -> _Keyword:
    def check(validator: Validator, value: Any, instance: Any, schema: dict[str, Any]) -> Iterable[ValidationError]:
        return () if "patternProperties" in schema else judge(validator, value, instance, schema) or ()

    return check


def _line(error: ValidationError) -> str:
    """One error as "`where`: what", `where` being a path like `items[0].name`."""
    names: Any = error.validator_value
    path, what = error.json_path.removeprefix("$").removeprefix("."), error.message
    if error.validator == "required" and isinstance(names, list):
        missing = next(name for name in names if what == f"{name!r}{_REQUIRED}")
        path, what = f"{path}.{missing}" if path else missing, "required"
    elif error.validator in {"anyOf", "oneOf"} and error.context:
        whys = (_line(inner).removeprefix(f"`{path}`: ") for inner in error.context[:MAX_ERRORS])
        what = "; or ".join(dict.fromkeys(whys))
    return f"`{_clean(path)}`: {_clean(what)}" if path else _clean(what)


def _clean(text: str) -> str:
    """`text` on one line, its middle left out where it is long (a message begins with the value and ends with why)."""
    if len(text) > MAX_MESSAGE:
        half = MAX_MESSAGE // 2
        text = f"{text[:half]} … {text[-half:]}"
    return "".join(c if c.isprintable() else " " for c in text)
