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
        self._arguments, self._runs_lines = request.resource.arguments, nature.runs_lines

    def subjects(self, kind: Kind) -> tuple[str, ...]:
        """The arguments of the call that a rule's parentheses speak of, for this kind of tool."""
        if self._nature.subject:
            return (self._nature.subject,) if self._nature.subject in self._arguments else ()
        return kinds.fitting(kind, self._arguments)

    @cached_property
    def is_told(self) -> bool:
        """Whether it is certain which arguments are the subject, so that an allow rule can speak of them: they were
        declared, or one of them is in the schema, if that is known."""
        known, named = self._resource.parameters, self._every
        return bool(named) and (bool(self._nature.subject) or not known or not known.isdisjoint(named))

    @cached_property
    def _every(self) -> tuple[str, ...]:
        """All arguments of the call that may be the subject."""
        every = (name for kind in self._nature.kinds or (Kind.PLAIN,) for name in self.subjects(kind))
        return tuple(dict.fromkeys(every))

    # shell lines

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The shell lines of the call: one for each argument that may be one, two for a list of words, which servers
        join in two ways."""
        if not self._runs_lines:
            return ()
        names = self.subjects(Kind.SHELL)
        values = [self._arguments[name] for name in names] if names else [dict(self._arguments)]
        return tuple(dict.fromkeys(line for value in values for line in _lines(value)))

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """What each line does."""
        place, dialect = self._place, self._resource.shell
        return tuple(analyse(line, dialect, place.home, place.cwd) for line in self.lines)

    @cached_property
    def is_line(self) -> bool:
        """Whether what is run is a line or a list of words, so that an allow rule can speak of it."""
        values = [self._arguments[name] for name in self.subjects(Kind.SHELL)]
        return self.is_told and bool(values) and all(isinstance(value, str) or _is_words(value) for value in values)

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
            fits = self._fits(rule, pattern)
            if fits is Match.NO:
                return Match.NO
            if fits is Match.MAYBE:
                found = fits
        return found

    def is_shell_part(self, pattern: ArgumentPattern) -> bool:
        """Whether a pattern is over a shell line of the call."""
        return self._runs_lines and (not pattern.name or pattern.name in self.subjects(Kind.SHELL))

    def _fits(self, rule: Rule, pattern: ArgumentPattern) -> Match:
        if pattern.name:
            return (
                self._shell(pattern) if self.is_shell_part(pattern) else self._named(pattern.name, pattern, rule.effect)
            )
        if rule.effect is Effect.ALLOW:
            return self._every_subject(pattern)
        if rule.kind is Kind.SHELL:
            return self._shell(pattern)
        found = Match.NO
        for kind in (rule.kind,) if rule.kind is not None else self._nature.kinds or (Kind.PLAIN,):
            if kind is Kind.SHELL:
                found = max(found, self._shell(pattern))
            else:
                found = max([found, *(self._named(name, pattern, rule.effect) for name in self.subjects(kind))])
        if rule.kind is None and found is Match.NO and not (self._nature.is_certain or self._nature.subject):
            found = _yes(any(pattern.glob.matches(text) for text in _texts(dict(self._arguments))))
        return found

    def _every_subject(self, pattern: ArgumentPattern) -> Match:
        """An allow rule must fit all arguments that may be the subject."""
        if not self.is_told:
            return Match.NO
        return min(self._named(name, pattern, Effect.ALLOW) for name in self._every)

    def _shell(self, pattern: ArgumentPattern) -> Match:
        """Whether a deny or ask pattern fits a command of a line."""
        unsure = Match.NO
        for analysis in self.analyses:
            if pattern.command.covers(analysis.texts):
                return Match.YES
            if analysis.open_texts and pattern.command.may_cover(analysis.open_texts):
                unsure = Match.MAYBE
        return unsure

    def _named(self, name: str, pattern: ArgumentPattern, effect: Effect) -> Match:
        if name not in self._arguments:
            return Match.NO
        value = self._arguments[name]
        kind = kinds.kind_of_argument(name, self._nature.declared, self._nature.subject)
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


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)


def _lines(value: Any) -> Iterator[str]:
    """The shell lines that a value may be."""
    if _is_words(value):
        yield shlex.join(value)
        if not OPERATORS.isdisjoint("".join(value)):
            yield " ".join(value)
    else:
        yield from _texts(value)


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
