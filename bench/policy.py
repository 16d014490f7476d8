"""How long a decision takes: `python bench/policy.py`. Medians of many rounds; the parse of a line is kept, as in use.

The second table shows that matching grows linearly: 1,000 rules against lines of 1 to 100 kB, read anew each time.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial

from mcp_gate.model import Effect, Kind, Request, Resource, Source, Subject
from mcp_gate.policy.decide import decide
from mcp_gate.policy.policy import Policy
from mcp_gate.policy.rules import parse_rule
from mcp_gate.policy.shell.analysis import analyse

EFFECTS = (Effect.DENY, Effect.ASK, Effect.ALLOW)


def microseconds(run: Callable[[], object], rounds: int, each: int) -> float:
    """The median time of one run."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(each):
            run()
        times.append((time.perf_counter() - start) / each * 1e6)
    return statistics.median(times)


def policy(*patterns: str) -> Policy:
    """Rules of these patterns, the effects in turn; the last one allows."""
    effects = [EFFECTS[number % 3] for number in range(len(patterns) - 1)] + [Effect.ALLOW]
    return Policy(
        tuple(parse_rule(text, effect, Source.USER, text) for text, effect in zip(patterns, effects, strict=True))
    )


def call(name: str, arguments: dict[str, object], kind: Kind | None = None) -> Request:
    """A call of a tool."""
    server, _, tool = name.partition("__")
    return Request(Subject("s"), "tools/call", Resource(name, server, tool, arguments, kind=kind, shell="bash"))


def main() -> None:
    """Print both tables."""
    rules = [f"server{n}__tool_{n}*" for n in range(99)]
    shell = [f"Bash(cmd{n} *)" for n in range(99)]
    paths = [f"files__write_{n}(path=/srv/{n}/**)" for n in range(99)]
    cases = {
        "a tool by name": (policy(*rules, "git__*"), call("git__git_log", {"repo_path": "/r"})),
        "a path argument": (
            policy(*paths, "files__write(path=/srv/**)"),
            call("files__write", {"path": "/srv/a/b.py"}, Kind.PATH),
        ),
        "a shell line, one command": (
            policy(*shell, "Bash(git *)"),
            call("shell__run", {"command": "git status --short"}, Kind.SHELL),
        ),
        "a shell line, four commands": (
            policy(*shell, "Bash(git *)"),
            call("shell__run", {"command": "git log -3 | git diff && git show HEAD; git status"}, Kind.SHELL),
        ),
    }
    print("| decide(), 100 rules | µs |\n| --- | --- |")
    for name, (with_rules, request) in cases.items():
        assert decide(request, with_rules).effect is Effect.ALLOW
        print(f"| {name} | {microseconds(partial(decide, request, with_rules), 25, 200):.0f} |")
    many = policy(*[f"Bash(*x{n}*y *)" for n in range(999)], "Bash(git *)")
    print("\n| a line of | read anew, 1,000 rules: ms | µs a byte |\n| --- | --- | --- |")
    for size in (1_000, 3_000, 10_000, 30_000, 100_000):
        request = call("shell__run", {"command": "git log " + "xy " * (size // 3)}, Kind.SHELL)

        def run(request: Request = request) -> None:
            analyse.cache_clear()
            decide(request, many)

        taken = microseconds(run, 5, 1)
        print(f"| {size:,} B | {taken / 1000:.1f} | {taken / size:.2f} |")


if __name__ == "__main__":
    main()
