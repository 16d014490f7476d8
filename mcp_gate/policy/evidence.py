"""What the arguments of one call may mean to a rule, worked out when the first rule asks.

| a rule's argument part | deny and ask | allow |
| --- | --- | --- |
| of a shell tool, its subject | any command of the line | all commands, by all the allow rules together |
| a path | any reading of it | every reading |
| several paths (source and destination) | any of them | all of them |
| a URL | any reading | the one strict reading |
| other text, a number | the value as text | the same |
| a list or table | any text in it | never; of `paths`, `files`, `uris`: all of them |
| an argument that the call does not have | no match | no match |
| a subject that cannot be told | any text among the arguments | never |
"""

import json
import shlex
from collections.abc import Iterator
from enum import IntEnum
from functools import cached_property
from typing import Any

from mcp_gate.model import Effect, Kind, Request
from mcp_gate.policy import kinds
from mcp_gate.policy.nature import Nature
from mcp_gate.policy.paths import path_matches, read_path
from mcp_gate.policy.rules import DOMAIN, ArgumentPattern, Rule
from mcp_gate.policy.shell.analysis import Analysis, analyse
from mcp_gate.policy.urls import domain_matches, read_url, url_matches

MOST_TEXTS = 1_000
OPERATORS = frozenset(";|&<>`$()\n*?[]{}~#")


class Match(IntEnum):
    """Whether a rule speaks of a call; MAYBE where that rests on what cannot be known."""

    NO = 0
    MAYBE = 1
    YES = 2


class Evidence:
    """The arguments of one call, as rules see them."""

    def __init__(self, request: Request, nature: Nature) -> None:
        self._resource, self._place, self._nature = request.resource, request.context.place, nature
        self.kind = nature.kind

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        """The arguments that a rule's parentheses speak of."""
        return kinds.subjects(self.kind, self._nature.arguments, self._nature.subject)

    # shell lines

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The shell lines of the call, one at most but for a list of words, which servers join in two ways."""
        if self.kind is not Kind.SHELL:
            return ()
        value = self._resource.arguments.get(self.subjects[0]) if self.subjects else None
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
            quoted = shlex.join(value)
            return (quoted,) if OPERATORS.isdisjoint("".join(value)) else (quoted, " ".join(value))
        return tuple(_texts(value if value is not None else dict(self._resource.arguments)))

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """What each line does."""
        place, dialect = self._place, self._resource.shell
        return tuple(analyse(line, dialect, place.home, place.cwd) for line in self.lines)

    @cached_property
    def is_line(self) -> bool:
        """Whether the subject of the call is one line or a list of words, so that an allow rule can speak of it."""
        value = self._resource.arguments.get(self.subjects[0]) if self.subjects else None
        return isinstance(value, str) or (isinstance(value, list) and all(isinstance(word, str) for word in value))

    # rules

    def match(self, rule: Rule) -> Match:
        """Whether the argument part of a rule that speaks of the tool fits. A shell part of an allow rule is left out:
        `decide` asks all such rules together.
        """
        allows = rule.effect is Effect.ALLOW
        found = Match.YES
        for pattern in rule.arguments:
            if allows and self.is_shell_part(pattern):
                continue
            fits = self._fits(pattern, rule.effect)
            if fits is Match.NO:
                return Match.NO
            found = min(found, fits)
        return found

    def is_shell_part(self, pattern: ArgumentPattern) -> bool:
        """Whether a pattern is over the shell line of the call."""
        if self.kind is not Kind.SHELL:
            return False
        return not pattern.name or pattern.name in self.subjects

    def _fits(self, pattern: ArgumentPattern, effect: Effect) -> Match:
        if self.is_shell_part(pattern):
            unsure = Match.NO
            for analysis in self.analyses:
                if pattern.command.covers(analysis.texts):
                    return Match.YES
                if analysis.open_texts and pattern.command.may_cover(analysis.open_texts):
                    unsure = Match.MAYBE
            return unsure
        if pattern.name:
            return self._named(pattern.name, pattern, effect)
        allows = effect is Effect.ALLOW
        present = [name for name in self.subjects if name in self._resource.arguments]
        if not present:
            texts = () if allows else _texts(dict(self._resource.arguments))
            return Match.YES if any(pattern.glob.matches(text) for text in texts) else Match.NO
        found = [self._named(name, pattern, effect) for name in present]
        return min(found) if allows else max(found)

    def _named(self, name: str, pattern: ArgumentPattern, effect: Effect) -> Match:
        if name not in self._resource.arguments:
            return Match.NO
        value = self._resource.arguments[name]
        kind = kinds.kind_of_argument(name, self.kind, self._nature.subject)
        is_uri = kinds.plain(name) in kinds.URI_ARGUMENTS
        if pattern.text.startswith(DOMAIN):
            return _yes(domain_matches(pattern.text.removeprefix(DOMAIN), read_url(value), effect))
        if kind is Kind.URL or "://" in pattern.text:
            return _yes(url_matches(pattern.text, read_url(value), effect))
        if kind is Kind.PATH:
            many = effect is Effect.ALLOW and kinds.plain(name) in kinds.LISTS and isinstance(value, list) and value
            return self._path(value if many else [value], pattern.text, effect, uri=is_uri)
        if isinstance(value, list | dict):
            return _yes(effect is not Effect.ALLOW and any(pattern.glob.matches(text) for text in _texts(value)))
        return _yes(pattern.glob.matches(_text(value)))

    def _path(self, values: list[Any], pattern: str, effect: Effect, *, uri: bool) -> Match:
        readings = [read_path(one, self._place, uri=uri) for one in values]
        return _yes(all(path_matches(pattern, one, self._place, effect) for one in readings))


def _yes(fits: bool) -> Match:
    return Match.YES if fits else Match.NO


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _texts(value: Any) -> Iterator[str]:
    """The texts in a value, at any depth, so many at most as make sense."""
    waiting, seen = [value], 0
    while waiting and seen < MOST_TEXTS:
        current = waiting.pop()
        seen += 1
        if isinstance(current, str):
            yield current
        elif isinstance(current, list):
            waiting += current
        elif isinstance(current, dict):
            waiting += current.values()
