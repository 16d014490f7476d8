"""What holds of every decision, whatever the line, the arguments and the rules; and the shared corpora, case by case.

The corpora are data: their lines are read and decided on, and never given to a shell.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from shlex import quote
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcp_gate.model import Context, Decision, Dialect, Effect, Kind, Place, Request, Resource, Source, Subject, Tier
from mcp_gate.policy.decide import decide, is_permitted
from mcp_gate.policy.policy import Policy, ReadOnly, ToolFacts
from mcp_gate.policy.rules import Rule, parse_rule
from mcp_gate.policy.shell.patterns import CommandPattern
from mcp_gate.policy.shell.reader import UnreadableError, read

CORPORA = Path(__file__).parents[2] / "shared" / "corpora"
needs_corpora = pytest.mark.skipif(not CORPORA.is_dir(), reason="the rule corpora (../shared/corpora) are not here")
RANK = {Effect.ALLOW: 0, Effect.ASK: 1, Effect.DENY: 2}
HOME, PROJECT = "/home/u", "/home/u/project"
PLACE = Place(HOME, PROJECT)
few, some, many = (settings(max_examples=count, deadline=None) for count in (25, 50, 100))


@lru_cache(maxsize=4096)
def rule(effect: Effect, pattern: str, source: Source = Source.USER) -> Rule:
    return parse_rule(pattern, effect, source, f"f: {effect}")


def allow(*patterns: str, source: Source = Source.USER) -> tuple[Rule, ...]:
    return tuple(rule(Effect.ALLOW, pattern, source) for pattern in patterns)


def deny(*patterns: str) -> tuple[Rule, ...]:
    return tuple(rule(Effect.DENY, pattern) for pattern in patterns)


def shell(line: Any, dialect: Dialect = "bash") -> Request:
    resource = Resource("shell__run", "shell", "run", {"command": line}, kind=Kind.SHELL, shell=dialect)
    return Request(Subject("s"), "tools/call", resource, Context(place=PLACE))


def effect_of(line: str, rules: Sequence[Rule], dialect: Dialect = "bash") -> Effect:
    return decide(shell(line, dialect), Policy(tuple(rules))).effect


def was_judged(decision: Decision) -> bool:
    """Whether the decision is one, and not what remains after an error of the policy's own."""
    return bool(decision.reasons) and decision.reasons[0].source != "error"


# shell lines

WORDS = (
    "git",
    "status",
    "push",
    "log",
    "rm",
    "-rf",
    "x",
    "ls",
    "cat",
    "/etc/passwd",
    "sudo",
    "env",
    "sh",
    "-c",
    "make",
)
PIECES = (
    *WORDS,
    *(" ", "  ", "\t", "\n", ";", "&", "&&", "|", "||", "|&", "(", ")", "{ ", "; }", "!", "#", "\\", "\\\n", "\r"),
    *("'", '"', "$'", '$"', "`", "$(", "$((", "))", "${", "}", "${x:-", "<(", ">(", "$x", "$HOME", "~", "*", "?", "["),
    *(">", ">>", "<", "2>&1", ">/dev/null", "<<E\n", "\nE\n", "<<'E'\n", "<<<", "&>", ">|", "{a,b}", "A=1 ", "PATH=."),
    *(" if ", " then ", " fi ", " for i in ", " do ", " done ", " case x in ", " esac ", " [[ ", " ]] ", "f() ", "x=("),
    *("timeout 5 ", "xargs ", "find . -exec ", " {} ';'", "eval ", "\u200b", "\u00a0", "é", "\x00", "\ud800"),
)
lines = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.lists(
    st.sampled_from(PIECES), min_size=1, max_size=9
).map(" ".join)
dialects: st.SearchStrategy[Dialect] = st.sampled_from(("bash", "sh", "cmd", "powershell", "unknown"))

PATTERNS = (
    *("Bash", "Bash(*)", "shell__run", "shell__run(*)", "shell__*", "*", "Bash(rm *)", "Bash(rm*)", "Bash(git push *)"),
    *(
        "Bash(git *)",
        "Bash(git status*)",
        "Bash(ls*)",
        "Bash(cat /etc/*)",
        "Bash(sudo *)",
        "Bash(* -rf *)",
        "Bash(make)",
    ),
    *("Bash(env *)", "Bash(* | sh)", "Bash(cat *)", "Bash(sh -c *)", "Bash(*>*)", "shell__run(command=git *)", "Read"),
    *(
        "shell__run(command=rm *)",
        "shell__run(command=*)",
        "shell__run(A=1 *)",
        "mcp__shell",
        "other__*",
        "Bash(git:*)",
    ),
)
sources = st.sampled_from(tuple(Source))
patterns = st.sampled_from(PATTERNS)
any_rule = st.builds(rule, st.sampled_from(tuple(Effect)), patterns, sources)
rule_lists = st.lists(any_rule, max_size=6)
READ_ONLY = tuple(
    ReadOnly(text, "f", Source.DEFAULT, CommandPattern(text)) for text in ("git status*", "git log*", "ls *", "cat *")
)


@many
@given(lines, dialects, rule_lists)
def test_every_line_is_decided_with_a_reason(line: str, dialect: Dialect, rules: list[Rule]) -> None:
    assert was_judged(decide(shell(line, dialect), Policy(tuple(rules), read_only=READ_ONLY)))


@many
@given(lines, dialects, rule_lists, patterns, sources)
def test_a_deny_rule_more_never_loosens_a_decision_about_a_line(
    line: str, dialect: Dialect, rules: list[Rule], pattern: str, source: Source
) -> None:
    request, more = shell(line, dialect), rule(Effect.DENY, pattern, source)
    before = decide(request, Policy(tuple(rules), read_only=READ_ONLY))
    after = decide(request, Policy((*rules, more), read_only=READ_ONLY))
    assert RANK[after.effect] >= RANK[before.effect]


@many
@given(lines, dialects, rule_lists, patterns, sources)
def test_an_ask_rule_more_never_makes_a_line_allowed(
    line: str, dialect: Dialect, rules: list[Rule], pattern: str, source: Source
) -> None:
    request, more = shell(line, dialect), rule(Effect.ASK, pattern, source)
    before = decide(request, Policy(tuple(rules), read_only=READ_ONLY))
    after = decide(request, Policy((*rules, more), read_only=READ_ONLY))
    assert after.effect is not Effect.ALLOW or before.effect is Effect.ALLOW
    assert after.effect is Effect.DENY or before.effect is not Effect.DENY


@some
@given(lines, dialects, rule_lists)
def test_what_the_deny_rules_alone_deny_no_other_rule_loosens(line: str, dialect: Dialect, rules: list[Rule]) -> None:
    alone = [one for one in rules if one.effect is Effect.DENY]
    assert (effect_of(line, rules, dialect) is Effect.DENY) is (effect_of(line, alone, dialect) is Effect.DENY)


# lines of plain words, whose blanks and quotes can be changed without changing what they do

NAMES = ("git", "rm", "ls", "cat", "sudo", "env", "timeout", "make", "/bin/rm", "xargs", "find", "echo")
ARGUMENTS = (
    "status",
    "push",
    "log",
    "-rf",
    "-l",
    "x",
    "/etc/passwd",
    "5",
    "origin",
    "--force",
    "rm",
    "git",
    "-o",
    "a.py",
)
OPERATORS = ("&&", "||", ";", "|", "|&", "&")
TAILS = ("> f", ">> f", "2> f", "< f", "2>&1", ">/dev/null")
commands = st.builds(
    lambda name, words, tail: [name, *words, *tail.split()],
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(ARGUMENTS), max_size=4),
    st.just("") | st.sampled_from(TAILS),
)


def joined(first: list[str], rest: list[tuple[str, list[str]]]) -> list[str]:
    return [*first, *(token for operator, words in rest for token in (operator, *words))]


plain_lines = st.builds(
    joined, commands, st.lists(st.tuples(st.sampled_from(OPERATORS), commands), max_size=3)
).flatmap(lambda tokens: st.sampled_from((tokens, ["(", *tokens, ")"], ["{", *tokens, ";", "}"], ["!", *tokens])))
PLAIN_WORD = re.compile(r"[A-Za-z0-9_./-]*[A-Za-z/_][A-Za-z0-9_./-]*")
RESERVED = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "in",
        "do",
        "done",
        "while",
        "until",
        "case",
        "esac",
        "function",
        "select",
        "time",
        "coproc",
    ]
)
blanks = st.sampled_from((" ", " ", "  ", "\t", " \t ", "    "))


def quotable(tokens: Sequence[str]) -> list[int]:
    return [n for n, token in enumerate(tokens) if PLAIN_WORD.fullmatch(token) and token not in RESERVED]


def spaced(data: st.DataObject, tokens: Sequence[str]) -> str:
    """The words of a line with other blanks between them, before and after."""
    gaps = data.draw(st.lists(blanks, min_size=len(tokens), max_size=len(tokens)))
    ends = [data.draw(st.sampled_from(("", " ", "\t"))) for _ in "ab"]
    between = "".join(gap + token for gap, token in zip(gaps, tokens, strict=True))[len(gaps[0]) :]
    return ends[0] + between + ends[1]


def with_one_quoted(data: st.DataObject, tokens: Sequence[str]) -> list[str]:
    at = data.draw(st.sampled_from(quotable(tokens)))
    word = tokens[at]
    cut = data.draw(st.integers(0, len(word) - 1))
    forms = (f"'{word}'", f'"{word}"', f"\\{word}", f"{word[:cut]}'{word[cut:]}'", f'{word[:cut]}""{word[cut:]}')
    form = data.draw(st.sampled_from(forms))
    assert quote(word) == word
    return [*tokens[:at], form, *tokens[at + 1 :]]


@many
@given(plain_lines, rule_lists, dialects, st.data())
def test_other_blanks_between_words_never_make_a_line_allowed(
    tokens: list[str], rules: list[Rule], dialect: Dialect, data: st.DataObject
) -> None:
    before = effect_of(" ".join(tokens), rules, dialect)
    after = effect_of(spaced(data, tokens), rules, dialect)
    assert after is not Effect.ALLOW or before is Effect.ALLOW
    assert after is Effect.DENY or before is not Effect.DENY


@many
@given(plain_lines, rule_lists, dialects, st.data())
def test_a_quoted_word_never_makes_a_line_allowed(
    tokens: list[str], rules: list[Rule], dialect: Dialect, data: st.DataObject
) -> None:
    before = effect_of(" ".join(tokens), rules, dialect)
    after = effect_of(" ".join(with_one_quoted(data, tokens)), rules, dialect)
    assert after is not Effect.ALLOW or before is Effect.ALLOW


OPERATED = ("git fetch && git reset *", "git fetch || git reset *", "git fetch; git reset *", "git fetch | git reset *")


@pytest.mark.parametrize("pattern", OPERATED)
@pytest.mark.parametrize("effect", [Effect.DENY, Effect.ASK])
def test_blanks_and_quotes_do_not_escape_a_rule_that_spells_an_operator(pattern: str, effect: Effect) -> None:
    rules = [rule(effect, f"Bash({pattern})"), *allow("shell__run", source=Source.DEFAULT)]
    line = pattern.replace("*", "x")
    spelled = (line, f" {line} ", line.replace(" ", "  "), line.replace(" ", "\t"), line.replace("fetch", "'fetch'"))
    assert {one: effect_of(one, rules) for one in spelled} == dict.fromkeys(spelled, effect)


# what cannot be read

OPENERS = (
    " '",
    ' "',
    " $(",
    " ${",
    " `",
    " (",
    "; if x",
    " |",
    " &&",
    " ||",
    "; }",
    "; done",
    "; )",
    "; fi",
    " <",
    " >",
)
EVERYTHING = (
    *allow("shell__run", "Bash", "Bash(*)", "shell__run(*)", "shell__run(command=*)", "*", "Bash(git *)"),
    *allow("shell__run", source=Source.MANAGED),
)


def allowing_exactly(line: str) -> tuple[Rule, ...]:
    """A rule with this very line, where a rule can be written so."""
    if "*" in line or not line.strip() or not line.isprintable():
        return ()
    return (*allow(f"Bash({line})"), *allow(f"shell__run(command={line})", source=Source.CLI))


@some
@given(plain_lines, st.sampled_from(OPENERS), dialects)
def test_a_line_that_breaks_off_is_never_allowed(tokens: list[str], opener: str, dialect: Dialect) -> None:
    line = " ".join(tokens) + opener
    everything = Policy((*EVERYTHING, *allowing_exactly(line)), read_only=READ_ONLY)
    assert decide(shell(line, dialect), everything).effect is not Effect.ALLOW


@many
@given(lines)
def test_a_line_that_cannot_be_read_is_never_allowed(line: str) -> None:
    try:
        read(line)
    except UnreadableError:
        everything = Policy((*EVERYTHING, *allowing_exactly(line)), read_only=READ_ONLY)
        assert decide(shell(line), everything).effect is not Effect.ALLOW
    else:
        assume(False)


@some
@given(plain_lines, st.sampled_from(OPENERS))
def test_a_deny_still_sees_the_commands_of_a_line_that_breaks_off(tokens: list[str], opener: str) -> None:
    line = " ".join(tokens) + opener
    for name in ("rm", "git"):
        names = [token for at, token in enumerate(tokens) if not at or tokens[at - 1] in (*OPERATORS, "(", "{", "!")]
        if name in names:
            assert effect_of(line, [*deny(f"Bash({name} *)", f"Bash({name})"), *EVERYTHING]) is Effect.DENY


# one command allowed

ALLOWED = (
    ("git status", ("Bash(git *)", "Bash(git status*)", "Bash(git status)", "Bash(git:*)", "shell__run(git *)")),
    ("ls -l", ("Bash(ls *)", "Bash(ls*)", "Bash(ls -l)", "shell__run(command=ls *)")),
    ("echo a b", ("Bash(echo *)", "Bash(echo a *)", "Bash(echo * b)", "Bash(echo a b)", "Bash(e*o a b)")),
    ("cat src/a.py", ("Bash(cat *)", "Bash(cat src/*)", "Bash(cat src/*.py)", "Bash(cat *.py)")),
)
OTHERS = (
    "rm -rf x",
    "curl http://x",
    "make",
    "./a.sh",
    "python x.py",
    "sudo id",
    "sh -c make",
    "timeout 5 make",
    "'rm' x",
)
JOINS = (
    *("{0}; {1}", "{0};{1}", "{0} && {1}", "{0}&&{1}", "{0} || {1}", "{0}||{1}", "{0} | {1}", "{0}|{1}", "{0} |& {1}"),
    *(
        "{0} & {1}",
        "{0}&{1}",
        "{0}\n{1}",
        "{0} \\\n; {1}",
        "{1}; {0}",
        "{1} | {0}",
        "{1}\n{0}",
        "{0} $({1})",
        "{0} `{1}`",
    ),
    *(
        '{0} "$({1})"',
        '{0} "a`{1}`b"',
        "{0} <({1})",
        "{0} >({1})",
        "({0}; {1})",
        "{{ {0}; {1}; }}",
        "{0} ${{x:-$({1})}}",
    ),
    *(
        "{0} $(( $({1}) ))",
        "{0} <<E\n$({1})\nE",
        "{0} <<E\nE\n{1}",
        "{0} <<< $({1})",
        "{0} # '\n{1} #'",
        "! {0} || {1}",
    ),
    *(
        "if {0}; then {1}; fi",
        "for i in a; do {0}; {1}; done",
        "while {0}; do {1}; done",
        "case a in a) {1};; esac; {0}",
    ),
    *("f() {{ {1}; }}; {0}", "A=$({1}) {0}", "{0} > $({1})", "{0} 2>&1 | {1}", "{0} '' ; {1}", "{0} \\; ; {1}"),
)


@many
@given(st.sampled_from(ALLOWED), st.sampled_from(OTHERS), st.sampled_from(JOINS), st.data())
def test_a_rule_for_one_command_never_allows_a_line_with_another(
    allowed: tuple[str, tuple[str, ...]], other: str, join: str, data: st.DataObject
) -> None:
    line, rules = allowed
    chosen = data.draw(st.lists(st.sampled_from(rules), min_size=1, max_size=3))
    assert effect_of(line, allow(*chosen)) is Effect.ALLOW
    assert effect_of(join.format(line, other), allow(*chosen)) is Effect.ASK
    first = other.replace("'", "").split()[0]
    denied = effect_of(join.format(line, other), [*allow(*chosen, "shell__run"), *deny(f"Bash({first}*)")])
    assert denied is Effect.DENY


# arguments

texts = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    (
        "git status",
        "rm x",
        "/etc/passwd",
        "~/.ssh/id",
        "../..",
        "file:///a%20b",
        "https://u@x.org:443/a?b#c",
        "//x",
        "[::1]",
    )
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4))
ARGUMENT_NAMES = (
    "command",
    "cmd",
    "url",
    "urls",
    "path",
    "paths",
    "uri",
    "uris",
    "source",
    "destination",
    "cwd",
    "a",
    "b",
)
argument_tables = st.dictionaries(st.sampled_from(ARGUMENT_NAMES) | texts, values | lines, max_size=5)
TOOLS = ("shell__run", "ops__exec", "fs__read_file", "fs__move_file", "web__fetch", "x__y", "res__read", "git__git_log")
MORE_PATTERNS = (
    *PATTERNS,
    *(
        "Read",
        "Edit",
        "WebFetch",
        "Read(**)",
        "Edit(/home/u/project/**)",
        "Read(~/.ssh/**)",
        "Edit(*.env)",
        "Read(/**)",
    ),
    *("WebFetch(domain:*.x.org)", "WebFetch(domain:x.org)", "WebFetch(https://x.org/*)", "WebFetch(*)", "x__y(*)"),
    *("x__y(a=1)", "x__y(a=*, b=*)", "fs__*(path=**)", "fs__move_file(/home/u/project/**)", "*(source=/etc/**)"),
    *("*(a=rm *)", "*(url=https://*)", "res__read(uri=file:///home/**)", "*(cwd=/home/**)", "*(*)", "*(paths=a*)"),
)
optional_kinds = st.none() | st.sampled_from(tuple(Kind))


@st.composite
def calls(draw: st.DrawFn) -> Request:
    name = draw(st.sampled_from(TOOLS))
    server, _, tool = name.partition("__")
    resource = Resource(
        name,
        server,
        tool,
        draw(argument_tables),
        draw(st.none() | st.sampled_from(tuple(Tier))),
        draw(st.sampled_from(("session", "auto", "call"))),
        draw(st.none() | st.floats(0, 9)),
        draw(optional_kinds),
        draw(st.just("") | st.sampled_from(ARGUMENT_NAMES)),
        draw(dialects),
        draw(st.frozensets(st.sampled_from(ARGUMENT_NAMES), max_size=3)),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    links = draw(st.sampled_from(({}, {"/home/u/project/a": "/etc", "/etc": "etc"})))
    place = Place(
        draw(st.sampled_from(("", HOME))),
        draw(st.sampled_from(("", PROJECT))),
        draw(st.sampled_from(("posix", "windows"))),
        draw(st.booleans()),
        lambda path: links.get(path, ""),
    )
    context = Context(
        draw(st.sampled_from((frozenset(), frozenset({server})))),
        auto_approve=draw(st.booleans()),
        budget=draw(st.none() | st.floats(0, 9)),
        place=place,
    )
    return Request(Subject("s", draw(st.sampled_from(("", "a")))), "tools/call", resource, context)


more_patterns = st.sampled_from(MORE_PATTERNS)
any_rules = st.lists(st.builds(rule, st.sampled_from(tuple(Effect)), more_patterns, sources), max_size=6)
tool_facts = st.lists(
    st.builds(
        ToolFacts,
        st.sampled_from(("*", "x__*", "shell__run")),
        st.none() | st.sampled_from(tuple(Tier)),
        optional_kinds,
        st.just("") | st.sampled_from(ARGUMENT_NAMES),
        source=sources,
        counts=st.booleans(),
    ),
    max_size=2,
)


@many
@given(calls(), any_rules, tool_facts)
def test_every_call_is_decided_with_a_reason(request_: Request, rules: list[Rule], facts: list[ToolFacts]) -> None:
    decision = decide(request_, Policy(tuple(rules), tools=tuple(facts), read_only=READ_ONLY))
    assert was_judged(decision)
    assert bool(decision.obligations) is (decision.effect is Effect.ASK)


@some
@given(calls(), any_rules, tool_facts, more_patterns, sources)
def test_a_deny_rule_more_never_loosens_a_decision_about_a_call(
    request_: Request, rules: list[Rule], facts: list[ToolFacts], pattern: str, source: Source
) -> None:
    more = rule(Effect.DENY, pattern, source)
    before = decide(request_, Policy(tuple(rules), tools=tuple(facts), read_only=READ_ONLY))
    after = decide(request_, Policy((*rules, more), tools=tuple(facts), read_only=READ_ONLY))
    assert RANK[after.effect] >= RANK[before.effect]


@some
@given(calls(), any_rules, tool_facts, more_patterns, sources)
def test_an_ask_rule_more_never_makes_a_call_allowed(
    request_: Request, rules: list[Rule], facts: list[ToolFacts], pattern: str, source: Source
) -> None:
    more = rule(Effect.ASK, pattern, source)
    before = decide(request_, Policy(tuple(rules), tools=tuple(facts), read_only=READ_ONLY))
    after = decide(request_, Policy((*rules, more), tools=tuple(facts), read_only=READ_ONLY))
    assert after.effect is not Effect.ALLOW or before.effect is Effect.ALLOW
    assert after.effect is Effect.DENY or before.effect is not Effect.DENY


@some
@given(calls(), any_rules, st.lists(more_patterns, max_size=3))
def test_rules_of_a_project_that_is_not_trusted_never_loosen_a_decision(
    request_: Request, rules: list[Rule], added: list[str]
) -> None:
    unread = [parse_rule(one, Effect.ALLOW, Source.PROJECT, "p", counts=False) for one in added]
    before = decide(request_, Policy(tuple(rules), read_only=READ_ONLY))
    after = decide(request_, Policy((*rules, *unread), read_only=READ_ONLY))
    assert after.effect is before.effect


@some
@given(calls(), any_rules)
def test_a_call_is_decided_alike_each_time_and_whatever_the_order_of_the_rules(
    request_: Request, rules: list[Rule]
) -> None:
    once = decide(request_, Policy(tuple(rules), read_only=READ_ONLY))
    assert decide(request_, Policy(tuple(rules), read_only=READ_ONLY)) == once
    assert decide(request_, Policy(tuple(reversed(rules)), read_only=READ_ONLY)).effect is once.effect


@some
@given(calls(), st.sampled_from(("Bash", "Read", "Edit", "WebFetch", "*", "x__*", "mcp__shell", "shell__run")))
def test_a_tool_that_a_bare_deny_hides_is_denied_with_any_arguments(request_: Request, pattern: str) -> None:
    rules = Policy(deny(pattern))
    if not is_permitted(request_.resource, rules):
        assert decide(request_, rules).effect is Effect.DENY


# the shared corpora


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CORPORA / f"{name}.jsonl").read_text("utf-8").splitlines() if line.strip()]


def request_of(case: Mapping[str, Any], kind: Kind | None) -> Request:
    server, _, tool = case["tool"].partition("__")
    resource = Resource(case["tool"], server, tool, case["arguments"], kind=kind, shell=case.get("shell", "bash"))
    fixture = case.get("fixture", {"home": HOME, "cwd": PROJECT})
    links = fixture.get("symlinks", {})
    place = Place(
        fixture.get("home", ""),
        fixture.get("cwd", ""),
        fixture.get("platform", "posix"),
        fixture.get("case_insensitive", False),
        lambda path: links.get(path, ""),
    )
    return Request(Subject("s"), "tools/call", resource, Context(place=place))


def rules_of(case: Mapping[str, Any]) -> tuple[Rule, ...]:
    return tuple(rule(Effect(effect), text) for effect, texts in case["rules"].items() for text in texts)


KINDS = {"shell": Kind.SHELL, "path": None, "url": None}


@needs_corpora
@pytest.mark.parametrize("name", KINDS)
def test_every_case_of_a_corpus_is_decided_as_it_says(name: str) -> None:
    failures = []
    for case in cases(name):
        decision = decide(request_of(case, KINDS[name]), Policy(rules_of(case)))
        if decision.effect != case["expected"]:
            unsafe = RANK[decision.effect] < RANK[Effect(case["expected"])]
            why = f"{decision.effect}, not {case['expected']}: {decision.reasons[0]}"
            failures.append(f"{case['id']} {'unsafe' if unsafe else 'noisy'}: {why}")
    assert failures == []


@needs_corpora
def test_no_rule_more_loosens_a_case_of_the_shell_corpus() -> None:
    for case in cases("shell"):
        request, rules = request_of(case, Kind.SHELL), rules_of(case)
        before = RANK[decide(request, Policy(rules)).effect]
        for pattern in ("Bash(rm *)", "Bash(* x*)", "Bash(* && *)"):
            after = RANK[decide(request, Policy((*rules, rule(Effect.DENY, pattern)))).effect]
            asked = RANK[decide(request, Policy((*rules, rule(Effect.ASK, pattern)))).effect]
            assert after >= before, case["id"]
            assert asked >= min(before, 1), case["id"]


@needs_corpora
def test_no_line_of_the_shell_corpus_that_cannot_be_read_is_allowed_by_any_rule() -> None:
    unreadable = 0
    for case in cases("shell"):
        line = case["arguments"]["command"]
        try:
            read(line)
        except UnreadableError:
            unreadable += 1
            everything = Policy((*EVERYTHING, *allowing_exactly(line)), read_only=READ_ONLY)
            assert decide(shell(line), everything).effect is not Effect.ALLOW, case["id"]
    assert unreadable


SIMPLE = re.compile(r"[A-Za-z0-9_./ ;|&,:=@%+-]+")


@needs_corpora
@few
@given(st.data())
def test_other_blanks_and_quotes_never_make_a_line_of_the_shell_corpus_allowed(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from([c for c in cases("shell") if SIMPLE.fullmatch(c["arguments"]["command"])]))
    tokens = case["arguments"]["command"].split()
    assume(quotable(tokens))
    rules = rules_of(case)
    before = effect_of(case["arguments"]["command"], rules, case.get("shell", "bash"))
    for changed in (spaced(data, tokens), " ".join(with_one_quoted(data, tokens))):
        after = effect_of(changed, rules, case.get("shell", "bash"))
        assert after is not Effect.ALLOW or before is Effect.ALLOW, changed
