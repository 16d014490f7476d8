"""Every row of the policy's design and of the tables in `policy/`: a call, the rules in force, effect and reasons.

Rules are written `source effect pattern`; `project?` is a project that its user has not trusted. A reason is written as
a part of its text; `2 denies this call` is `rule PATTERN-OF-LINE-2 (SOURCE, PLACE) denies this call`, in full.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from mcp_gate.model import (
    Context,
    Effect,
    Kind,
    Obligation,
    Place,
    Request,
    Resource,
    Scope,
    Source,
    Subject,
    Tier,
)
from mcp_gate.policy.decide import decide, is_permitted, trace
from mcp_gate.policy.policy import ChainPolicy, NodeScope, Policy, ReadOnly, ToolFacts
from mcp_gate.policy.rules import Rule, parse_rule
from mcp_gate.policy.shell.patterns import CommandPattern

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
SHELL, PATH, URL, PLAIN = Kind.SHELL, Kind.PATH, Kind.URL, Kind.PLAIN
LINKS = {"/home/u/project/out": "/etc", "/home/u/project/in": "src"}
PLACE = Place("/home/u", "/home/u/project", link=lambda path: LINKS.get(path, ""))
DANGEROUS = "tier dangerous (it runs shell lines): it can do lasting harm, so each call needs an approval"
PER_SESSION = "needs one approval per session and has none yet"
UNTRUSTED = "would allow, but its file is not trusted: read it, then run `mcp-gate trust`"
IF_KNOWN = "if what is not known of the call fits"

Row = tuple[Request, Sequence[str], Effect, Sequence[str]]


def policy(
    *lines: str,
    chain: Sequence[ChainPolicy] = (),
    nodes: Sequence[NodeScope] = (),
    tools: Sequence[ToolFacts] = (),
    read_only: Sequence[str] = (),
) -> Policy:
    rules = []
    for number, line in enumerate(lines):
        source, effect, pattern = line.split(" ", 2)
        trusted = not source.endswith("?")
        place = f"f: {effect}[{number}]"
        rules.append(parse_rule(pattern, Effect(effect), Source(source.rstrip("?")), place, counts=trusted))
    lists = [
        ReadOnly(text, f"f: read_only[{number}]", Source.DEFAULT, CommandPattern(text))
        for number, text in enumerate(read_only)
    ]
    return Policy(tuple(rules), tuple(chain), tuple(nodes), tuple(tools), tuple(lists))


def call(
    name: str, arguments: Mapping[str, Any] | None = None, context: Context | None = None, **facts: Any
) -> Request:
    server, _, tool = name.partition("__")
    resource = Resource(name, server, tool, arguments or {}, **{"shell": "bash", **facts})
    return Request(Subject("s"), "tools/call", resource, context or Context(place=PLACE))


def run(line: Any, **facts: Any) -> Request:
    """A call of a shell tool that servers.toml declares."""
    return call("shell__run", {"command": line}, **{"kind": SHELL, **facts})


def told(lines: Sequence[str], reason: str) -> str:
    number, _, rest = reason.partition(" ")
    if not number.isdigit():
        return reason
    source, effect, pattern = lines[int(number)].split(" ", 2)
    return f"rule `{pattern}` ({source.rstrip('?')}, f: {effect}[{number}]) {rest}"


def check(request: Request, rules: Policy, effect: Effect, reasons: Sequence[str]) -> None:
    decision = decide(request, rules)
    texts = [*map(str, decision.reasons)]
    assert decision.effect is effect, texts
    assert len(texts) == len(reasons), texts
    assert [part if part in text else text for part, text in zip(reasons, texts, strict=True)] == [*reasons]
    assert bool(decision.obligations) is (effect is ASK)


def check_row(row: Row) -> None:
    request, lines, effect, reasons = row
    check(request, policy(*lines), effect, [told(lines, reason) for reason in reasons])


# kinds

NO_RM, GIT = "user deny Bash(rm *)", "user allow Bash(git *)"
SHELL_TOOLS: list[Row] = [
    (call(name, {argument: "rm -rf x"}), [NO_RM], DENY, ["0 denies this call"])
    for name, argument in (
        ("shell__run", "command"),
        ("ops__execute_command", "cmd"),
        ("term__runInTerminal", "commandLine"),
        ("kube__exec-pod", "shell_command"),
        ("win__start_process", "command"),
    )
]
KINDS: list[Row] = [
    *SHELL_TOOLS,
    # declared, under whatever name
    (call("box__go", {"line": "rm x"}, kind=SHELL, subject="line"), [NO_RM], DENY, ["0 denies this call"]),
    (call("box__go", {"line": "git log"}, kind=SHELL, subject="line"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log"), ["user allow Bash(git:*)"], ALLOW, ["0 allows this call"]),
    (run("rm x"), ["user deny Bash"], DENY, ["0 denies this tool"]),
    (run("rm x"), ["user ask Bash(rm *)"], ASK, ["0 asks before each call"]),
    # recognised: a rule over the kind denies and asks, and never allows
    (call("shell__run", {"command": "git log"}), [GIT], ASK, [DANGEROUS]),
    (call("shell__run", {"command": "git log"}), ["user allow Bash"], ASK, [DANGEROUS]),
    (call("shell__run", {"command": "git log"}), ["user ask Bash(git *)"], ASK, ["0 asks before each call"]),
    (call("shell__run", {"command": "git log"}), ["user allow shell__run(git *)"], ALLOW, ["0 allows this call"]),
    # not a shell: no word for one in its name, no such argument, or said to be plain
    (call("notes__add", {"command": "rm x"}), [NO_RM], ASK, [PER_SESSION]),
    (call("notes__run", {"text": "rm x"}), [NO_RM], ASK, [PER_SESSION]),
    (call("shell__run", {"command": "rm x"}, kind=PLAIN), [NO_RM], ASK, [PER_SESSION]),
    # the arguments that only the schema knows count too
    (
        call("shell__run", {"line": "rm x"}, parameters=frozenset({"command"})),
        ["user deny Bash"],
        DENY,
        ["0 denies this tool"],
    ),
    # paths
    (call("fs__read_file", {"path": "~/.ssh/id"}), ["user deny Read(~/.ssh/**)"], DENY, ["0 denies this call"]),
    (call("fs__read_file", {"path": "../.ssh/id"}), ["user deny Read(~/.ssh/**)"], DENY, ["0 denies this call"]),
    (call("fs__read_file", {"path": "/etc/x"}), ["user deny Read(~/.ssh/**)"], ASK, [PER_SESSION]),
    (call("fs__write_file", {"path": "~/.ssh/id"}), ["user deny Read(~/.ssh/**)"], DENY, ["0 denies this call"]),
    (call("fs__write_file", {"path": "a.env"}), ["user deny Edit(*.env)"], DENY, ["0 denies this call"]),
    (call("fs__write_file", {"path": "a.env"}), ["user deny Write(*.env)"], DENY, ["0 denies this call"]),
    (call("fs__read_file", {"path": "a.env"}, tier=Tier.SAFE), ["user deny Edit(*.env)"], ALLOW, ["tier safe"]),
    (
        call("fs__read_file", {"path": "a.env"}, read_only=True, trusts_hints=True),
        ["user deny Edit(*.env)"],
        ALLOW,
        ["tier safe (its server, which is trusted, says so)"],
    ),
    (
        call("fs__read_file", {"path": "a.env"}, read_only=True),
        ["user deny Edit(*.env)"],
        DENY,
        ["0 denies this call"],
    ),
    (call("fs__write_file", {"path": "a.py"}, kind=PATH), ["user allow Edit(**)"], ALLOW, ["0 allows this call"]),
    (call("fs__write_file", {"path": "a.py"}), ["user allow Edit(**)"], ASK, [PER_SESSION]),
    (call("fs__write_file", {"path": "a.py"}, kind=PATH), ["user allow Read(**)"], ASK, [PER_SESSION]),
    (
        call("fs__read_file", {"path": "a.py"}, kind=PATH, approval="call", read_only=True, trusts_hints=True),
        ["user allow Read(**)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (call("fs__read_file", {"path": "out/x"}, kind=PATH), ["user allow Edit(**)"], ASK, [PER_SESSION]),
    (call("fs__read_file", {"path": "out/x"}), ["user deny Read(/etc/**)"], DENY, ["0 denies this call"]),
    (call("fs__read_file", {"path": "in/x"}, kind=PATH), ["user allow Edit(**)"], ALLOW, ["0 allows this call"]),
    # URLs
    (
        call("web__fetch", {"url": "https://a.example.com/x"}),
        ["user deny WebFetch(domain:*.example.com)"],
        DENY,
        ["0 denies this call"],
    ),
    (
        call("web__fetch", {"url": "https://example.com/x"}),
        ["user deny WebFetch(domain:*.example.com)"],
        ASK,
        [PER_SESSION],
    ),
    (
        call("web__fetch", {"url": "https://evil.com#@example.com"}),
        ["user deny WebFetch(domain:evil.com)"],
        DENY,
        ["0 denies this call"],
    ),
    (
        call("web__fetch", {"url": "https://example.com/x"}, kind=URL),
        ["user allow WebFetch(domain:example.com)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (
        call("web__fetch", {"url": "https://example.com/x"}),
        ["user allow WebFetch(domain:example.com)"],
        ASK,
        [PER_SESSION],
    ),
    (
        call("web__fetch", {"url": "https://u@example.com/x"}, kind=URL),
        ["user allow WebFetch(domain:example.com)"],
        ASK,
        [PER_SESSION],
    ),
    (
        call("web__fetch", {"url": "https://example.com/docs/a"}, kind=URL),
        ["user allow WebFetch(https://example.com/docs/*)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (call("web__fetch", {"url": "https://example.com"}), ["user deny WebFetch"], DENY, ["0 denies this tool"]),
    # a rule over one kind says nothing of another
    (call("web__fetch", {"url": "https://x.org"}), ["user deny Read", "user deny Bash"], ASK, [PER_SESSION]),
    (run("cat x"), ["user deny Read", "user deny WebFetch"], ASK, [DANGEROUS]),
]


@pytest.mark.parametrize("row", KINDS)
def test_a_rule_over_a_kind_speaks_of_every_such_tool_and_allows_only_declared_ones(row: Row) -> None:
    check_row(row)


def test_a_kind_and_a_subject_may_be_declared_in_a_policy_file_that_counts() -> None:
    request = call("box__go", {"line": "git log"})
    declared = ToolFacts("box__*", kind=SHELL, subject="line")
    check(request, policy(GIT, tools=[declared]), ALLOW, [told([GIT], "0 allows this call")])
    unread = ToolFacts("box__*", kind=SHELL, subject="line", source=Source.PROJECT, counts=False)
    check(request, policy(GIT, tools=[unread]), ASK, [PER_SESSION])


def test_what_servers_toml_says_of_a_kind_goes_before_policy_files() -> None:
    request = call("box__go", {"line": "git log"}, kind=PLAIN, subject="other")
    check(request, policy(GIT, tools=[ToolFacts("box__*", kind=SHELL, subject="line")]), ASK, [PER_SESSION])


# arguments

IN_PROJECT = "user allow fs__move_file(/home/u/project/**)"
NO_ENV = "user deny fs__move_file(**/.env)"
QUERY = "user allow db__query(select *)"
ARGUMENTS: list[Row] = [
    # named, one and several
    (
        call("fs__write", {"path": "/home/u/project/a"}),
        ["user allow fs__write(path=/home/u/project/**)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (call("fs__write", {"path": "/etc/a"}), ["user allow fs__write(path=/home/u/project/**)"], ASK, [PER_SESSION]),
    (call("fs__write", {}), ["user allow fs__write(path=/home/**)"], ASK, [PER_SESSION]),
    (call("fs__write", {}), ["user deny fs__write(path=**)"], ASK, [PER_SESSION]),
    (call("x__y", {"a": "1", "b": "27"}), ["user allow x__y(a=1, b=2*)"], ALLOW, ["0 allows this call"]),
    (call("x__y", {"a": "1", "b": "37"}), ["user allow x__y(a=1, b=2*)"], ASK, [PER_SESSION]),
    (call("x__y", {"a": "1"}), ["user allow x__y(a=1, b=2*)"], ASK, [PER_SESSION]),
    (call("x__y", {"a": "1", "b": "27"}), ["user deny x__y(a=1, b=2*)"], DENY, ["0 denies this call"]),
    (call("x__y", {"a": "2", "b": "27"}), ["user deny x__y(a=1, b=2*)"], ASK, [PER_SESSION]),
    (call("x__y", {"a": "x", "b": "y", "c": "z"}), ["user ask x__y(c=z)"], ASK, ["0 asks before each call"]),
    (
        call("x__y", {"to": "https://a.org/x"}),
        ["user allow x__y(to=https://a.org/*)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (call("x__y", {"to": "https://a.org.evil/x"}), ["user allow x__y(to=https://a.org/*)"], ASK, [PER_SESSION]),
    # numbers and the like as JSON
    (call("x__y", {"n": 5}), ["user allow x__y(n=5)"], ALLOW, ["0 allows this call"]),
    (call("x__y", {"n": True}), ["user allow x__y(n=true)"], ALLOW, ["0 allows this call"]),
    (call("x__y", {"n": None}), ["user deny x__y(n=null)"], DENY, ["0 denies this call"]),
    # lists and tables: any text for deny, never for allow, but for lists of paths
    (call("x__y", {"tags": ["a", "b"]}), ["user deny x__y(tags=b)"], DENY, ["0 denies this call"]),
    (call("x__y", {"tags": ["b", "b"]}), ["user allow x__y(tags=b)"], ASK, [PER_SESSION]),
    (call("x__y", {"tags": {"k": [{"m": "b"}]}}), ["user ask x__y(tags=b)"], ASK, ["0 asks before each call"]),
    (call("x__y", {"tags": {"k": "b"}}), ["user allow x__y(tags=*)"], ASK, [PER_SESSION]),
    (
        call("fs__read_files", {"paths": ["a.py", "b/c.py"]}, kind=PATH),
        ["user allow fs__read_files(/home/u/project/**)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (
        call("fs__read_files", {"paths": ["a.py", "/etc/x"]}, kind=PATH),
        ["user allow fs__read_files(/home/u/project/**)"],
        ASK,
        [PER_SESSION],
    ),
    (
        call("fs__read_files", {"paths": []}, kind=PATH),
        ["user allow fs__read_files(/home/u/project/**)"],
        ASK,
        [PER_SESSION],
    ),
    (
        call("fs__read_files", {"paths": ["a.py", "/etc/x"]}),
        ["user deny fs__read_files(/etc/**)"],
        DENY,
        ["0 denies this call"],
    ),
    (
        call("fs__read_files", {"path": ["a.py"]}, kind=PATH),
        ["user allow fs__read_files(/home/u/project/**)"],
        ASK,
        [PER_SESSION],
    ),
    # source and destination
    (
        call("fs__move_file", {"source": "a", "destination": "b"}),
        [IN_PROJECT],
        ALLOW,
        ["0 allows this call"],
    ),
    (call("fs__move_file", {"source": "a", "destination": "/etc/b"}), [IN_PROJECT], ASK, [PER_SESSION]),
    (call("fs__move_file", {"source": "/etc/a", "destination": "b"}), [IN_PROJECT], ASK, [PER_SESSION]),
    (call("fs__move_file", {"source": ".env", "destination": "b"}), [NO_ENV], DENY, ["0 denies this call"]),
    (call("fs__move_file", {"source": "a", "destination": ".env"}), [NO_ENV], DENY, ["0 denies this call"]),
    (
        call("fs__move_file", {"source": "a", "destination": "b/c"}),
        ["user allow fs__move_file(source=/home/u/project/*, destination=/home/u/project/b/*)"],
        ALLOW,
        ["0 allows this call"],
    ),
    (
        call("fs__move_file", {"source": "b/c", "destination": "a"}),
        ["user allow fs__move_file(source=/home/u/project/*, destination=/home/u/project/b/*)"],
        ASK,
        [PER_SESSION],
    ),
    # the declared subject
    (call("db__query", {"sql": "select 1"}, subject="sql"), [QUERY], ALLOW, ["0 allows this call"]),
    (call("db__query", {"sql": "drop t"}, subject="sql"), [QUERY], ASK, [PER_SESSION]),
    (call("db__query", {"sql": "drop t", "x": "select 1"}, subject="sql"), [QUERY], ASK, [PER_SESSION]),
    (
        call("db__query", {"sql": "select 1", "note": "drop t"}, subject="sql"),
        ["user deny db__query(drop *)"],
        ASK,
        [PER_SESSION],
    ),
    (call("fs__put", {"at": "b"}, kind=PATH, subject="at"), ["user allow fs__put(**)"], ALLOW, ["0 allows this call"]),
    # no subject that can be told: any text denies, none allows
    (call("db__query", {"q": {"sql": "drop t"}}), ["user deny db__query(drop *)"], DENY, ["0 denies this call"]),
    (call("db__query", {"sql": "select 1"}), [QUERY], ASK, [PER_SESSION]),
]


@pytest.mark.parametrize("row", ARGUMENTS)
def test_the_argument_part_of_a_rule_over_matches_for_deny_and_under_matches_for_allow(row: Row) -> None:
    check_row(row)


# shell lines

ALL = "user allow shell__run"
NO_PUSH = "user deny Bash(git push *)"
LINES: list[Row] = [
    # a command at any depth, behind wrappers, however spelled
    *[
        (run(line), [NO_RM, ALL], DENY, ["0 denies this call", "1 would allow, but a deny of any source wins"])
        for line in (
            "rm x",
            "git log; rm x",
            "(git log && { rm x; })",
            "echo $(rm x)",
            "echo `rm x`",
            "cat <(rm x)",
            "for f in a; do rm $f; done",
            "env A=1 timeout 5 rm x",
            "sudo -u root rm x",
            "xargs rm <f",
            "sh -c 'rm x'",
            "find . -exec rm {} ';'",
            "/bin/rm x",
            "'r'm x",
            "A=1 rm x",
            "cat <<E\n$(rm x)\nE",
        )
    ],
    # allow needs each command, known, and every write
    (run("git log | git diff"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log; make"), [GIT], ASK, [f"{DANGEROUS}; no allow rule covers `make`"]),
    (run("git log > f"), [GIT], ASK, [DANGEROUS]),
    (run("git log > f"), ["user allow Bash(git log > f)"], ALLOW, ["0 allows this call"]),
    (run("git log >/dev/null 2>&1"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log $x"), [GIT], ASK, [DANGEROUS]),
    (run("git -c a=b log"), [GIT], ASK, [DANGEROUS]),
    (run("git log $(git diff)"), [GIT], ASK, [DANGEROUS]),
    (run(""), [ALL], ASK, ["it holds no command"]),
    (run("git log '"), [ALL], ASK, ["it cannot be read"]),
    (run("git log\u200b"), [ALL], ASK, ["it holds"]),
    (run("git log ".ljust(10_001, "a")), [ALL], ASK, ["it is longer than 10,000 characters"]),
    (run("x; $(frob) | sh"), [ALL], ALLOW, ["0 allows this tool"]),
    (run("rm '"), [NO_RM, ALL], DENY, ["0 denies this call", "it cannot be read"]),
    # a list of words
    (run(["git", "log"]), [GIT], ALLOW, ["0 allows this call"]),
    (run(["rm", "-rf", "x"]), [NO_RM], DENY, ["0 denies this call"]),
    (run(["bash", "-c", "rm x"]), [NO_RM], DENY, ["0 denies this call"]),
    (run(["git", "log;", "rm", "x"]), [NO_RM, GIT], DENY, ["0 denies this call", "no allow rule covers `rm x`"]),
    (run(["git", "log;", "make"]), [GIT], ASK, [DANGEROUS]),
    # what is no line: any text denies, none allows
    (run({"a": ["rm x"]}), [NO_RM], DENY, ["0 denies this call"]),
    (run({"a": ["git log"]}), [GIT], ASK, [DANGEROUS]),
    (run(5), [GIT], ASK, [DANGEROUS]),
    (run([]), [GIT, ALL], ASK, [DANGEROUS]),
    (call("shell__run", {"other": "rm x"}, kind=SHELL), [NO_RM], DENY, ["0 denies this call"]),
    # named
    (run("git log"), ["user allow shell__run(command=git *)"], ALLOW, ["0 allows this call"]),
    (run("git log; make"), ["user allow shell__run(command=git *)"], ASK, [DANGEROUS]),
    (
        call("shell__run", {"command": "git log", "cwd": "/etc"}, kind=SHELL),
        ["user allow shell__run(command=git *, cwd=/home/**)"],
        ASK,
        [DANGEROUS],
    ),
    (
        call("shell__run", {"command": "git log", "cwd": "/home/u"}, kind=SHELL),
        ["user allow shell__run(command=git *, cwd=/home/**)"],
        ALLOW,
        ["0 allows this call"],
    ),
    # what is not known could make a rule match
    (run("git $x"), [NO_PUSH], ASK, [f"0 would deny, {IF_KNOWN}"]),
    (run("git $x"), [NO_PUSH, "managed allow shell__run"], ASK, [
        f"0 would deny, {IF_KNOWN}", "1 would allow, but a deny of any source may match",
    ]),
    (run("git $x"), ["user ask Bash(git push *)"], ASK, [f"0 would ask, {IF_KNOWN}"]),
    (run("git $x"), ["user ask Bash(git push *)", ALL], ASK, [f"0 would ask, {IF_KNOWN}"]),
    (run("git $x; rm y"), [NO_PUSH, "default deny Bash(rm *)"], DENY, [
        "1 denies this call", "0 would deny, but a deny of any source wins",
    ]),
    (run("$x"), ["user deny Bash(rm *)", "user ask Bash(rm *)"], ASK, [
        f"0 would deny, {IF_KNOWN}", "1 would ask, but a deny of any source may match",
    ]),
]  # fmt: skip


@pytest.mark.parametrize("row", LINES)
def test_a_shell_line_is_denied_by_any_of_its_commands_and_allowed_by_all(row: Row) -> None:
    check_row(row)


PATHS, URLS, COMMANDS = frozenset({"path"}), frozenset({"url"}), frozenset({"cmd"})
KEYS = "~/.ssh/id"
ADDED: list[tuple[Request, str, Effect]] = [
    # a second shell line, of which the server may run either
    (call("ops__exec", {"command": "git log", "cmd": "rm x"}, kind=SHELL), NO_RM, DENY),
    (call("ops__exec", {"command": "git log", "cmd": "rm x"}, kind=SHELL), GIT, ASK),
    (call("ops__exec", {"command": "git log", "cmd": "rm x"}, parameters=COMMANDS), NO_RM, DENY),
    (call("ops__exec", {"command": "git log", "cmd": "rm x"}, kind=SHELL, parameters=COMMANDS), GIT, ASK),
    (call("ops__exec", {"command": "git log", "Command": "rm x"}, kind=SHELL), NO_RM, DENY),
    # an argument that makes the tool look like one of another kind
    (call("fs__read_file", {"path": KEYS, "url": "x"}, parameters=PATHS), "user deny Read(~/.ssh/**)", DENY),
    (call("fs__read_file", {"path": KEYS, "url": "x"}, parameters=PATHS), "user deny fs__*(~/.ssh/**)", DENY),
    (call("fs__exec_file", {"path": KEYS, "command": "x"}, parameters=PATHS), "user deny Read(~/.ssh/**)", DENY),
    (
        call("web__run_get", {"url": "https://x.org", "cmd": "x"}, parameters=URLS),
        "user deny WebFetch(domain:x.org)",
        DENY,
    ),
    (call("db__query", {"sql": "drop t", "url": "x"}), "user deny db__query(drop *)", DENY),
    # an argument that the schema does not have, in the place of the one that the tool takes
    (
        call("fs__get", {"location": "/etc/x", "path": "a.py"}, kind=PATH, parameters=frozenset({"location"})),
        "user allow fs__get(/home/u/project/**)",
        ASK,
    ),
    (
        call(
            "web__get",
            {"address": "https://y.org", "url": "https://x.org"},
            kind=URL,
            parameters=frozenset({"address"}),
        ),
        "user allow WebFetch(domain:x.org)",
        ASK,
    ),
]


@pytest.mark.parametrize(("request_", "line", "effect"), ADDED)
def test_an_argument_that_the_caller_adds_hides_no_other_from_a_rule(
    request_: Request, line: str, effect: Effect
) -> None:
    assert decide(request_, policy(line)).effect is effect


UNKNOWN_SHELL = "the shell of its server is not known"
DIALECTS: list[Row] = [
    (run("git log", shell="bash"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log", shell="sh"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log", shell="cmd"), [GIT], ASK, [f"{DANGEROUS}; lines of cmd are not read"]),
    (run("git log", shell="powershell"), [GIT], ASK, [f"{DANGEROUS}; lines of powershell are not read"]),
    (run("git log", shell="unknown"), [GIT], ASK, [f"{DANGEROUS}; {UNKNOWN_SHELL}"]),
    (run("git log <<< x", shell="bash"), [GIT], ALLOW, ["0 allows this call"]),
    (run("git log <<< x", shell="sh"), [GIT], ASK, [DANGEROUS]),
    (run("git log |& git diff", shell="sh"), [GIT], ASK, [DANGEROUS]),
    *[
        (run("git log & rm x", shell=shell), [NO_RM], DENY, ["0 denies this call"])
        for shell in ("bash", "sh", "cmd", "powershell", "unknown")
    ],
    *[
        (run("git log", shell=shell), ["user ask Bash(git *)"], ASK, ["0 asks before each call"])
        for shell in ("bash", "sh", "cmd", "powershell", "unknown")
    ],
    *[
        (run("git log", shell=shell), [rule], ALLOW, ["0 allows"])
        for shell in ("cmd", "powershell", "unknown")
        for rule in (ALL, "user allow shell__run(*)", "user allow shell__run(git log)")
    ],
]


@pytest.mark.parametrize("row", [row for row in DIALECTS if row[3] != ["0 allows"]])
def test_only_lines_of_bash_and_sh_are_read_well_enough_to_be_allowed(row: Row) -> None:
    check_row(row)


@pytest.mark.parametrize("row", [row for row in DIALECTS if row[3] == ["0 allows"]])
def test_a_rule_for_the_whole_tool_or_the_very_line_allows_it_in_any_shell(row: Row) -> None:
    request, lines, _, _ = row
    assert decide(request, policy(*lines)).effect is ALLOW


# sources

SOURCES: list[Row] = [
    *[
        (
            run("rm x"),
            ["managed allow shell__run", f"{source} deny Bash(rm *)"],
            DENY,
            ["1 denies this call", "0 would allow, but a deny of any source wins"],
        )
        for source in Source
    ],
    (run("git log"), ["user ask Bash(git log)", "user allow Bash(git *)"], ASK, ["0 asks before each call"]),
    (
        call("x__y", {"a": "1"}),
        ["user allow x__y(a=*)", "user ask x__y(a=1)"],
        ASK,
        ["1 asks before each call", "0 would allow, but ask goes before allow in one source"],
    ),
    (
        call("x__y", {"a": "1"}),
        ["user allow x__y(a=*)", "local ask x__y(a=1)"],
        ASK,
        ["1 asks before each call", "0 would allow, but source local goes before user"],
    ),
    (
        call("x__y", {"a": "1"}),
        ["user ask x__y(a=*)", "local allow x__y(a=1)"],
        ALLOW,
        ["1 allows this call", "0 would ask, but source local goes before user"],
    ),
    # a shell line, by rules together
    (
        run("git log && ls -l"),
        ["user allow Bash(git *)", "user allow Bash(ls *)"],
        ALLOW,
        ["0 allows this call", "1 allows this call"],
    ),
    (
        run("git log && ls -l"),
        ["user allow Bash(git *)", "cli allow Bash(ls *)", "default ask Bash(ls *)"],
        ALLOW,
        ["1 allows this call", "0 allows this call", "2 would ask, but source cli goes before default"],
    ),
    (
        run("git log && ls -l"),
        ["user allow Bash(git *)", "cli allow Bash(ls *)", "local ask Bash(ls *)"],
        ASK,
        ["2 asks before each call", "no allow rule covers `git log`"],
    ),
    (
        run("git log && ls -l"),
        ["cli allow Bash(git *)", "cli allow Bash(ls *)", "local ask Bash(ls *)"],
        ALLOW,
        ["0 allows this call", "1 allows this call", "2 would ask, but source cli goes before local"],
    ),
    # a project that is not trusted tightens, and does not loosen
    (run("rm x"), ["project? deny Bash(rm *)", ALL], DENY, ["0 denies this call", "1 would allow"]),
    (call("x__y"), ["project? ask x__*", "user allow *"], ASK, ["0 asks before each call", "1 would allow"]),
    (call("x__y"), ["project? allow x__*", "user ask *"], ASK, ["1 asks before each call", f"0 {UNTRUSTED}"]),
    (call("x__y"), ["project? allow x__*", "user deny *"], DENY, ["1 denies this tool", f"0 {UNTRUSTED}"]),
    (call("x__y"), ["project? allow x__*", "user allow *"], ALLOW, ["1 allows this tool", f"0 {UNTRUSTED}"]),
]


@pytest.mark.parametrize("row", SOURCES)
def test_a_deny_of_any_source_wins_and_else_the_highest_source_decides(row: Row) -> None:
    check_row(row)


UNTRUSTED_ALONE: list[Row] = [
    (call("x__y"), ["project? allow x__*"], ASK, [PER_SESSION, f"0 {UNTRUSTED}"]),
    (call("x__y", tier=Tier.WRITE), ["project? allow x__*"], ASK, ["tier write", f"0 {UNTRUSTED}"]),
    (run("make"), ["project? allow Bash(make)"], ASK, [DANGEROUS, f"0 {UNTRUSTED}"]),
    (
        run("make"),
        ["project? allow Bash(make)", "user ask Bash"],
        ASK,
        ["1 asks before each call", f"0 {UNTRUSTED}"],
    ),
]


@pytest.mark.parametrize("row", UNTRUSTED_ALONE)
def test_a_decision_says_which_allow_rule_waits_for_trust_whatever_else_decides(row: Row) -> None:
    check_row(row)


@pytest.mark.parametrize("row", UNTRUSTED_ALONE)
def test_an_allow_rule_that_waits_for_trust_allows_nothing(row: Row) -> None:
    request, lines, effect, reasons = row
    decision = decide(request, policy(*lines))
    assert decision.effect is effect
    assert told(lines, reasons[0]) in str(decision.reasons[0])


# tiers

OWN_TIER = "servers.x.tools.y.tier"


def facts(tier: Tier, source: str, *, place: str = "f: tools[0]") -> ToolFacts:
    return ToolFacts("x__*", tier, where=place, source=Source(source.rstrip("?")), counts=not source.endswith("?"))


TierRow = tuple[Request, Sequence[ToolFacts], Tier, Effect, str]
SAFE, STANDARD, WRITE, EXPENSIVE = Tier.SAFE, Tier.STANDARD, Tier.WRITE, Tier.EXPENSIVE
TIERS: list[TierRow] = [
    # servers.toml first
    (
        call("x__y", tier=SAFE),
        [facts(Tier.DANGEROUS, "managed")],
        SAFE,
        ALLOW,
        f"tier safe: it can do no harm, so no approval is needed (tier, {OWN_TIER})",
    ),
    (call("x__y", tier=SAFE), [facts(Tier.DANGEROUS, "project?")], SAFE, ALLOW, f"(tier, {OWN_TIER})"),
    (call("x__y", tier=SAFE, destructive=True), [], SAFE, ALLOW, f"(tier, {OWN_TIER})"),
    (
        run("make", tier=WRITE),
        [],
        WRITE,
        ASK,
        "tier write: it changes data, so each call needs an approval (tier, servers.shell.tools.run.tier)",
    ),
    # policy files: the highest source, the strictest entry in it
    (
        call("x__y"),
        [facts(WRITE, "user")],
        WRITE,
        ASK,
        "tier write: it changes data, so each call needs an approval (tier, f: tools[0])",
    ),
    (call("x__y"), [facts(WRITE, "user"), facts(SAFE, "user", place="f: tools[1]")], WRITE, ASK, "(tier, f: tools[0])"),
    (
        call("x__y"),
        [facts(EXPENSIVE, "user"), facts(WRITE, "user", place="f: tools[1]")],
        WRITE,
        ASK,
        "(tier, f: tools[1])",
    ),
    (
        call("x__y"),
        [facts(Tier.DANGEROUS, "user"), facts(SAFE, "local", place="g: tools[0]")],
        SAFE,
        ALLOW,
        "(tier, g: tools[0])",
    ),
    (
        call("x__y"),
        [ToolFacts("x__*", cost=1, source=Source.CLI), facts(SAFE, "user")],
        SAFE,
        ALLOW,
        "(tier, f: tools[0])",
    ),
    # a project that is not trusted only tightens
    (call("x__y"), [facts(SAFE, "project?")], STANDARD, ASK, PER_SESSION),
    (call("x__y"), [facts(WRITE, "project?")], WRITE, ASK, "(tier, f: tools[0])"),
    (
        call("x__y"),
        [facts(SAFE, "local"), facts(WRITE, "project?", place="p: tools[0]")],
        WRITE,
        ASK,
        "(tier, p: tools[0])",
    ),
    (
        call("x__y"),
        [facts(WRITE, "user"), facts(SAFE, "project?", place="p: tools[0]")],
        WRITE,
        ASK,
        "(tier, f: tools[0])",
    ),
    # what it is
    (run("make"), [], Tier.DANGEROUS, ASK, f"{DANGEROUS}; not read-only: no allow rule covers `make` (tier)"),
    (call("x__run", {"command": "make"}), [], Tier.DANGEROUS, ASK, DANGEROUS),
    (run("make", read_only=True, trusts_hints=True), [], Tier.DANGEROUS, ASK, DANGEROUS),
    (call("x__run", {"command": "make"}), [facts(SAFE, "user")], SAFE, ALLOW, "(tier, f: tools[0])"),
    # the server's hints
    (
        call("x__y", read_only=True, trusts_hints=True),
        [],
        SAFE,
        ALLOW,
        "says so): it can do no harm, so no approval is needed (tier, servers.x.trust_annotations)",
    ),
    (call("x__y", read_only=True), [], STANDARD, ASK, PER_SESSION),
    (call("x__y", trusts_hints=True), [], STANDARD, ASK, PER_SESSION),
    (call("x__y", read_only=True, trusts_hints=True), [facts(WRITE, "default")], WRITE, ASK, "(tier, f: tools[0])"),
    (
        call("x__y", destructive=True),
        [],
        WRITE,
        ASK,
        "tier write (its server says that it is destructive): it changes data, so each call needs an approval (tier)",
    ),
    (
        call("x__y", destructive=True, read_only=True, trusts_hints=True),
        [],
        WRITE,
        ASK,
        "its server says that it is destructive",
    ),
    (call("x__y", destructive=True), [facts(SAFE, "user")], WRITE, ASK, "its server says that it is destructive"),
    (call("x__y", destructive=True), [facts(EXPENSIVE, "user")], WRITE, ASK, "its server says that it is destructive"),
    (
        call("x__y", destructive=True),
        [facts(Tier.DANGEROUS, "user")],
        Tier.DANGEROUS,
        ASK,
        "tier dangerous: it can do lasting harm",
    ),
    (call("x__y"), [], STANDARD, ASK, f"server `x` {PER_SESSION} (approval, servers.x.approval)"),
]


@pytest.mark.parametrize(("request_", "tools", "tier", "effect", "reason"), TIERS)
def test_the_first_that_speaks_gives_the_tier_and_hints_tighten(
    request_: Request, tools: Sequence[ToolFacts], tier: Tier, effect: Effect, reason: str
) -> None:
    rules = policy(tools=tools)
    assert decide(request_, rules).tier is tier
    check(request_, rules, effect, [reason])


READ_ONLY = ("git status*", "git log*", "ls *", "sort *", "find *")
LISTED = "is on the read-only list"
READS: list[tuple[Request, Effect, Sequence[str]]] = [
    (run("git status"), ALLOW, [f"rule `git status*` (default, f: read_only[0]) {LISTED}"]),
    (
        run("ls -l | sort; git log"),
        ALLOW,
        [
            f"rule `git log*` (default, f: read_only[1]) {LISTED}",
            f"rule `ls *` (default, f: read_only[2]) {LISTED}",
            f"rule `sort *` (default, f: read_only[3]) {LISTED}",
        ],
    ),
    (run("true"), ALLOW, ["tier dangerous (it runs shell lines): the line does nothing that needs an approval (tier)"]),
    (run(["ls", "-l"]), ALLOW, [f"rule `ls *` (default, f: read_only[2]) {LISTED}"]),
    (run("ls", tier=Tier.DANGEROUS), ALLOW, [LISTED]),
    (run("ls; make"), ASK, [f"{DANGEROUS}; not read-only: no allow rule covers `make`"]),
    (run("ls > f"), ASK, [f"{DANGEROUS}; not read-only: "]),
    (run("sort -o f f"), ASK, [f"{DANGEROUS}; not read-only: "]),
    (run("find . -delete"), ASK, [f"{DANGEROUS}; not read-only: "]),
    (run("git -c core.pager=x log"), ASK, [f"{DANGEROUS}; not read-only: "]),
    (run("ls $(make)"), ASK, [f"{DANGEROUS}; not read-only: "]),
    (run("ls '"), ASK, [f"{DANGEROUS}; not read-only: it cannot be read"]),
    (run(""), ASK, [f"{DANGEROUS}; not read-only: it holds no command"]),
    (run({"a": "ls"}), ASK, [DANGEROUS]),
    (run("ls", shell="unknown"), ASK, [f"not read-only: {UNKNOWN_SHELL}"]),
    (run("ls", tier=WRITE), ASK, ["tier write: it changes data"]),
    (call("x__y", {"command": "ls"}, tier=Tier.DANGEROUS), ASK, ["tier dangerous: it can do lasting harm"]),
]


@pytest.mark.parametrize(("request_", "effect", "reasons"), READS)
def test_of_a_dangerous_tool_only_lines_on_the_read_only_list_need_no_approval(
    request_: Request, effect: Effect, reasons: Sequence[str]
) -> None:
    check(request_, policy(read_only=READ_ONLY), effect, reasons)


@pytest.mark.parametrize("effect", [DENY, ASK])
def test_a_deny_or_ask_rule_goes_before_the_read_only_list(effect: Effect) -> None:
    lines = [f"default {effect} Bash(ls *)"]
    why = "denies this call" if effect is DENY else "asks before each call"
    check(run("ls -l"), policy(*lines, read_only=READ_ONLY), effect, [told(lines, f"0 {why}")])


ContextRow = tuple[Request, Effect, tuple[Obligation, ...], str]
ONCE, BY_CALL = (Obligation(Scope.SESSION),), (Obligation(Scope.CALL),)
UNATTENDED = Context(auto_approve=True, place=PLACE)
APPROVED = Context(frozenset({"x"}), place=PLACE)


def budget(dollars: float) -> Context:
    return Context(budget=dollars, place=PLACE)


APPROVALS: list[ContextRow] = [
    (call("x__y"), ASK, ONCE, f"server `x` {PER_SESSION} (approval, servers.x.approval)"),
    (
        call("x__y", context=APPROVED),
        ALLOW,
        (),
        "server `x` was approved for this session (approval, servers.x.approval)",
    ),
    (call("x__y", approval="auto"), ALLOW, (), "calls to server `x` need no approval (approval, servers.x.approval)"),
    (call("x__y", approval="call", context=APPROVED), ASK, BY_CALL, "each call to server `x` needs an approval"),
    # nobody is there to ask: standard tools alone
    (call("x__y", context=UNATTENDED), ALLOW, (), "standard tools need no approval here (approval, gate.auto_approve)"),
    (call("x__y", approval="call", context=UNATTENDED), ALLOW, (), "(approval, gate.auto_approve)"),
    (call("x__y", tier=SAFE, context=UNATTENDED), ALLOW, (), "tier safe"),
    (call("x__y", tier=WRITE, context=UNATTENDED), ASK, BY_CALL, "tier write: it changes data"),
    (call("x__y", tier=Tier.DANGEROUS, context=UNATTENDED), ASK, BY_CALL, "tier dangerous: it can do lasting harm"),
    (
        call("x__y", tier=EXPENSIVE, context=UNATTENDED),
        ASK,
        BY_CALL,
        "tier expensive: a call costs money, so each call needs an approval",
    ),
    (run("make", context=UNATTENDED), ASK, BY_CALL, DANGEROUS),
    (call("x__y", destructive=True, context=UNATTENDED), ASK, BY_CALL, "tier write"),
    (call("x__y", tier=WRITE, approval="auto", context=APPROVED), ASK, BY_CALL, "tier write"),
    # the budget: expensive tools alone
    (
        call("x__y", tier=EXPENSIVE, cost=0.5),
        ASK,
        (Obligation(Scope.CALL, 0.5),),
        "tier expensive: a call costs $0.50, so each call",
    ),
    (
        call("x__y", tier=EXPENSIVE, cost=0.5, context=budget(2)),
        ALLOW,
        (),
        "a call costs $0.50, and $2.00 of the session's budget are left",
    ),
    (
        call("x__y", tier=EXPENSIVE, cost=0.5, context=budget(0.5)),
        ALLOW,
        (),
        "a call costs $0.50, and $0.50 of the session's budget are left",
    ),
    (
        call("x__y", tier=EXPENSIVE, cost=0.5, context=budget(0.25)),
        ASK,
        (Obligation(Scope.CALL, 0.5),),
        "a call costs $0.50, and only $0.25 of the session's budget are left, so",
    ),
    (
        call("x__y", tier=EXPENSIVE, context=budget(9)),
        ASK,
        BY_CALL,
        "a call costs money, and only $9.00 of the session's budget are left",
    ),
    (call("x__y", tier=WRITE, cost=0.5, context=budget(9)), ASK, (Obligation(Scope.CALL, 0.5),), "tier write"),
    (
        call("x__y", tier=Tier.DANGEROUS, cost=0.5, context=budget(9)),
        ASK,
        (Obligation(Scope.CALL, 0.5),),
        "tier dangerous",
    ),
]


@pytest.mark.parametrize(("request_", "effect", "obligations", "reason"), APPROVALS)
def test_where_no_rule_matches_tier_approval_budget_and_attendance_decide(
    request_: Request, effect: Effect, obligations: tuple[Obligation, ...], reason: str
) -> None:
    check(request_, policy(), effect, [reason])
    assert decide(request_, policy()).obligations == obligations


def test_only_an_allow_inside_the_budget_spends() -> None:
    paid = call("x__y", tier=EXPENSIVE, cost=0.5, context=budget(2))
    assert decide(paid, policy()).spends == 0.5
    assert decide(paid, policy("user ask x__y")).spends == 0
    assert decide(call("x__y", tier=EXPENSIVE, cost=0.5, context=budget(0)), policy()).spends == 0


def test_a_cost_may_stand_in_a_policy_file_and_servers_toml_goes_before_it() -> None:
    rules = policy(tools=[ToolFacts("x__*", EXPENSIVE, cost=3)])
    assert decide(call("x__y", context=budget(5)), rules).spends == 3
    assert decide(call("x__y", cost=1, context=budget(5)), rules).spends == 1
    assert decide(call("x__y"), rules).obligations == (Obligation(Scope.CALL, 3),)


def test_an_ask_rule_asks_whatever_budget_and_attendance_are() -> None:
    context = Context(frozenset({"x"}), auto_approve=True, budget=9, place=PLACE)
    for tier in Tier:
        lines = ["default ask x__*"]
        request = call("x__y", tier=tier, cost=1, context=context)
        check(request, policy(*lines), ASK, [told(lines, "0 asks before each call")])


# availability


def chained(name: str, mode: str = "*", *, allowed: str = "", denied: str = "", priority: int = 100) -> ChainPolicy:
    return ChainPolicy(name, mode, priority, tuple(allowed.split()), tuple(denied.split()), f"f: policies.{name}")


def blocks(name: str, mode: str, listed: str) -> str:
    return f"policy `{name}` of mode `{mode}` blocks it by its {listed} (chain, f: policies.{name})"


ChainRow = tuple[Sequence[ChainPolicy], str, Sequence[str]]
CHAINS: list[ChainRow] = [
    ([], "m", []),
    ([chained("w", allowed="x__*")], "m", []),
    ([chained("w", allowed="z__* git__*")], "m", [blocks("w", "*", "whitelist")]),
    ([chained("b", denied="x__*")], "m", [blocks("b", "*", "blacklist")]),
    ([chained("b", denied="z__*")], "m", []),
    ([chained("e")], "m", []),
    # a whitelist goes before a blacklist of the same policy
    ([chained("both", allowed="x__*", denied="x__*")], "m", []),
    ([chained("both", allowed="z__*", denied="z__*")], "m", [blocks("both", "*", "whitelist")]),
    # the mode
    ([chained("b", "m", denied="x__*")], "m", [blocks("b", "m", "blacklist")]),
    ([chained("b", "n", denied="x__*")], "m", []),
    ([chained("b", "m", denied="x__*")], "full_pipeline", []),
    ([chained("b", "*", denied="x__*")], "full_pipeline", [blocks("b", "*", "blacklist")]),
    # every policy that applies must permit; those that block are told by priority
    ([chained("w", allowed="x__*"), chained("b", denied="*y")], "m", [blocks("b", "*", "blacklist")]),
    (
        [chained("last", denied="*", priority=9), chained("first", "m", allowed="z__*", priority=1)],
        "m",
        [blocks("first", "m", "whitelist"), blocks("last", "*", "blacklist")],
    ),
    (
        [chained("first", denied="*", priority=5), chained("last", denied="x*", priority=5)],
        "m",
        [blocks("first", "*", "blacklist"), blocks("last", "*", "blacklist")],
    ),
]


@pytest.mark.parametrize(("chain", "mode", "reasons"), CHAINS)
def test_every_policy_of_the_mode_must_permit_a_tool(
    chain: Sequence[ChainPolicy], mode: str, reasons: Sequence[str]
) -> None:
    request = call("x__y", context=Context(mode=mode, place=PLACE), tier=SAFE)
    lines = ["managed allow x__y"]
    rules = policy(*lines, chain=chain)
    check(request, rules, DENY if reasons else ALLOW, reasons or [told(lines, "0 allows this tool")])
    assert is_permitted(request.resource, rules, mode) is (not reasons)


def scoped(node: str, allowed: str) -> NodeScope:
    return NodeScope(node, tuple(allowed.split()), f"f: nodes.{node}")


def may_not(node: str, scope: str) -> str:
    return f"node `{node}` may not use it, by the allowlist of `{scope}` (chain, f: nodes.{scope})"


NodeRow = tuple[Sequence[NodeScope], Subject, Sequence[str]]
NODES: list[NodeRow] = [
    ([scoped("analyst", "z__*")], Subject("s"), []),
    ([scoped("analyst", "z__*")], Subject("s", "writer"), []),
    ([scoped("analyst", "x__* z__*")], Subject("s", "analyst"), []),
    ([scoped("analyst", "z__*")], Subject("s", "analyst"), [may_not("analyst", "analyst")]),
    ([scoped("analyst", "")], Subject("s", "analyst"), [may_not("analyst", "analyst")]),
    # by the beginning of the name, up to a `_`
    ([scoped("analyst", "z__*")], Subject("s", "analyst_x"), [may_not("analyst_x", "analyst")]),
    ([scoped("analyst", "z__*")], Subject("s", "analyst_x_y"), [may_not("analyst_x_y", "analyst")]),
    ([scoped("analyst", "z__*")], Subject("s", "analysts"), []),
    ([scoped("analyst_x", "z__*")], Subject("s", "analyst"), []),
    (
        [scoped("analyst", "x__*"), scoped("analyst_x", "z__*")],
        Subject("s", "analyst_x"),
        [may_not("analyst_x", "analyst_x")],
    ),
    # the node of the run and that of the request both hold
    ([scoped("a", "z__*"), scoped("b", "x__*")], Subject("s", "b", "a"), [may_not("a", "a")]),
    ([scoped("a", "x__*"), scoped("b", "z__*")], Subject("s", "b", "a"), [may_not("b", "b")]),
    ([scoped("a", "z__*"), scoped("b", "z__*")], Subject("s", "b", "a"), [may_not("a", "a"), may_not("b", "b")]),
    ([scoped("a", "x__*"), scoped("b", "x__*")], Subject("s", "b", "a"), []),
    ([scoped("a", "z__*")], Subject("s", "", "a"), [may_not("a", "a")]),
    ([scoped("a", "z__*")], Subject("s", "a", "a"), [may_not("a", "a")]),
]


@pytest.mark.parametrize(("nodes", "subject", "reasons"), NODES)
def test_the_allowlist_of_every_node_that_holds_must_have_the_tool(
    nodes: Sequence[NodeScope], subject: Subject, reasons: Sequence[str]
) -> None:
    resource = call("x__y").resource
    lines = ["managed allow x__y"]
    rules = policy(*lines, nodes=nodes)
    request = Request(subject, "tools/call", resource)
    check(request, rules, DENY if reasons else ALLOW, reasons or [told(lines, "0 allows this tool")])
    assert is_permitted(resource, rules, nodes=subject.nodes) is (not reasons)


def test_the_policies_of_the_chain_are_told_before_the_nodes_and_before_any_rule() -> None:
    rules = policy("user deny x__y", chain=[chained("b", denied="x__*")], nodes=[scoped("a", "z__*")])
    request = Request(Subject("s", "a"), "tools/call", call("x__y").resource)
    check(request, rules, DENY, [blocks("b", "*", "blacklist"), may_not("a", "a")])
    verdicts = [(verdict.policy, verdict.permits) for verdict in trace(request, rules).verdicts]
    assert verdicts == [("b", False), ("node a", False)]


def test_the_gates_own_tools_are_always_there_but_rules_hold_for_them() -> None:
    own = Resource("find_tools", "", "find_tools", {}, SAFE)
    rules = policy(chain=[chained("b", denied="*")], nodes=[scoped("a", "")])
    request = Request(Subject("s", "a"), "tools/call", own)
    check(request, rules, ALLOW, ["tier safe"])
    assert is_permitted(own, rules, nodes=("a",))
    assert decide(request, policy("user deny *")).effect is DENY


# what is listed

HIDING = [
    ("shell__run", "Bash", True),
    ("shell__run", "Bash(*)", True),
    ("shell__run", "Bash(rm *)", False),
    ("shell__run", "Read", False),
    ("shell__run", "shell__*", True),
    ("shell__run", "shell__run(*)", True),
    ("shell__run", "shell__run(rm *)", False),
    ("shell__run", "shell__run(command=*)", False),
    ("git__git_log", "git__*", True),
    ("git__git_log", "mcp__git", True),
    ("git__git_log", "mcp__git__git_log", True),
    ("git__git_log", "mcp__git__git_push", False),
    ("git__git_log", "mcp__github", False),
    ("git__git_log", "Bash", False),
    ("git__git_log", "*", True),
    ("fs__read_file", "Read", True),
    ("fs__read_file", "Edit", True),
    ("fs__read_file", "Read(~/.ssh/**)", False),
    ("web__fetch", "WebFetch", True),
    ("web__fetch", "WebFetch(domain:x.org)", False),
]
PARAMETERS = {"shell__run": "command", "git__git_log": "count", "fs__read_file": "path", "web__fetch": "url"}


@pytest.mark.parametrize(("name", "pattern", "hidden"), HIDING)
def test_only_a_deny_of_the_whole_tool_hides_it(name: str, pattern: str, hidden: bool) -> None:
    resource = call(name, parameters=frozenset({PARAMETERS[name]})).resource
    assert is_permitted(resource, policy(f"default deny {pattern}", "managed allow *")) is not hidden
    assert is_permitted(resource, policy(f"managed ask {pattern}"))


def test_a_deny_of_edits_does_not_hide_a_tool_that_only_reads() -> None:
    names = frozenset({"path"})
    rules = policy("user deny Edit")
    assert is_permitted(call("fs__read_file", parameters=names, tier=SAFE).resource, rules)
    assert is_permitted(call("fs__read", parameters=names, read_only=True, trusts_hints=True).resource, rules)
    assert not is_permitted(call("fs__read", parameters=names, read_only=True).resource, rules)


def test_a_declared_kind_hides_and_a_declared_plain_tool_is_not_hidden() -> None:
    assert not is_permitted(call("box__go", kind=SHELL).resource, policy("user deny Bash"))
    names = frozenset({"command"})
    assert is_permitted(call("shell__run", kind=PLAIN, parameters=names).resource, policy("user deny Bash"))
    declared = ToolFacts("box__*", kind=SHELL)
    assert not is_permitted(call("box__go").resource, policy("user deny Bash", tools=[declared]))


# the trace


def test_the_trace_keeps_the_rules_that_matched_and_what_the_tier_would_have_said() -> None:
    lines = ["user allow x__*", "cli ask x__y", "user deny z__*"]
    found = trace(call("x__y", tier=WRITE), policy(*lines))
    matched: list[Rule] = [rule for rule, _ in found.rules]
    assert [(rule.source, rule.pattern) for rule in matched] == [(Source.CLI, "x__y"), (Source.USER, "x__*")]
    assert (found.tier, found.tier_reason.source) == (WRITE, "tier")
    assert found.decision == decide(call("x__y", tier=WRITE), policy(*lines))
