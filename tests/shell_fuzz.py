"""Mutated shell lines, and bash's own parser as the judge of what commands they hold. Nothing is ever run.

`python tests/shell_fuzz.py [COUNT] [SEED]` checks so many lines that bash accepts and prints what was found.
"""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from mcp_gate.policy.shell.agree import disagreement
from mcp_gate.policy.shell.reader import UnreadableError, read
from mcp_gate.policy.shell.syntax import UNKNOWN, Command, Script, Text, Word, scripts_under, words_of

CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "shell.jsonl"
SEEDS = (
    "git status && cny1 x",
    "for f in a b; do cny1 $f; done; cny2",
    "cat <<EOF\nhi $(cny1 y)\nEOF\ncny2 x",
    "cat <<'A' | cny1\nhi\nA\ncny2",
    'echo "a $(cny1 "b c" | cny2) d" `cny3`',
    "if cny1; then cny2 a; elif cny3; then cny4; else cny5; fi",
    "case $x in a|b) cny1;; (c) cny2;& *) cny3;; esac",
    "while cny1; do cny2; done < <(cny3) > f",
    "{ cny1; (cny2 && ! cny3) || cny4; } 2>&1 | cny5 &",
    "[[ -f x && $(cny1) =~ ^(a|b)$ ]] && time cny2",
    "echo ${x:-$(cny1)} $((1 + $(cny2))) 'it'\\''s' $'a\\'b' # cny9\ncny3",
    "x=$(cny1) y=(1 $(cny2)) cny3 \\\n  a\\ b",
    "f() { cny1; }; function g { cny2; }; coproc cny3",
    "cat <<-X\n\ta\n\tX\ncny1 <<< cny2; until cny3; do cny4; done",
)
PIECES = (
    *"'\"\\$`;&|<>(){}[]#! \t\n=~*?-:+",
    *(
        "$(",
        "<(",
        ">(",
        "$((",
        "))",
        "${x:-",
        "${",
        "<<EOF\n",
        "EOF\n",
        "<<'E'\n",
        "E\n",
        "<<-E\n",
        "\tE\n",
        "<<<",
        ";;",
        ";&",
    ),
    *(
        "\\\n",
        "&&",
        "||",
        "|&",
        "&>",
        "2>&1",
        ">&2",
        ">|",
        "$'",
        '$"',
        "''",
        '""',
        "\\'",
        '\\"',
        "`",
        "\\`",
        " # ",
        "\n#",
    ),
    *(
        " then ",
        " do ",
        " done ",
        " fi ",
        " esac ",
        " in ",
        " if ",
        " { ",
        " }",
        "; }",
        " ! ",
        " time ",
        " [[ ",
        " ]] ",
    ),
    *(
        "cny6",
        " cny7 ",
        "\ncny8 z\n",
        ";cny9;",
        "function f ",
        "f() ",
        "case x in ",
        "x) ",
        "for i in ",
        "while ",
        "x=",
        "a=(",
    ),
    *("\r", "\v", "\f", "\u00a0", "\u3000", "2>", "{a,b}", "{fd}>", "coproc ", "select s in a; do ", "eval ", "é"),
)
MOVED = re.compile(r"^[^a-z]*[<>][^;&|\n]*[ \t](?:time|!)[ \t\n]", re.M)
MARK = re.compile(r"cny[0-9]")


def seeds() -> list[str]:
    """The lines that are mutated: ours, and those of the shared corpus where it is there."""
    lines = list(SEEDS)
    if CORPUS.exists():
        commands = (json.loads(line)["arguments"]["command"] for line in CORPUS.read_text("utf-8").splitlines())
        lines += [re.sub(r"\brm\b", "cny1", command) for command in commands if len(command) < 300]
    return lines


def mutated(seed: int) -> Iterator[str]:
    """Lines without end, always the same for one seed and folder of corpora."""
    chance, lines = random.Random(seed), seeds()
    while True:
        line = chance.choice(lines)
        if chance.random() < 0.15:
            line += chance.choice(["; ", "\n", " && ", " | ", ""]) + chance.choice(lines)
        for _ in range(chance.randint(1, 4)):
            at = chance.randint(0, len(line))
            match chance.randint(0, 3):
                case 0 | 1:
                    line = line[:at] + chance.choice(PIECES) + line[at:]
                case 2:
                    line = line[:at] + line[at + chance.randint(1, 3) :]
                case _:
                    line = line[:at] + chance.choice(PIECES) + line[at + 1 :]
        # bash prints the last two doubled, and a redirection before `!` or `time` after it
        if not {"\0", "\x01", "\x7f"} & set(line) and "$'\\x" not in line and not MOVED.search(line):
            yield line


def printed_by_bash(line: str, folder: Path) -> str | None:
    """The line as bash understands it, printed anew; None where bash does not accept it."""
    file = folder / "line"
    file.write_text(line, "utf-8", newline="")
    bash = ["bash", "--norc", "--noprofile", "--pretty-print", "-n", str(file)]
    done = subprocess.run(bash, capture_output=True, check=False, env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"})
    if done.returncode or done.stderr:
        return None
    return done.stdout.decode("utf-8", "surrogateescape")


def literal(word: Word) -> str:
    """A word without its quotes, UNKNOWN for what expands."""
    return "".join(part.value if isinstance(part, Text) else UNKNOWN for part in word.parts)


def commands(script: Script) -> Counter[tuple[str, ...]]:
    """The commands of a script at any depth, each as its words; what bash prints in another way is made alike."""

    def shape(command: Command) -> tuple[str, ...]:
        assigned = tuple(f"{a.name}={'(' * a.array}{' '.join(map(literal, a.values))}" for a in command.assignments)
        words = [literal(word) for word in command.words]
        if command.test:
            words = [word for word in words if word not in ("-n", "!")]
        elif words[:1] == ["COPROC"]:
            words = words[1:]
        targets = (f"{r.operator} {literal(r.target)}" for r in command.redirects)
        return (*assigned, *words, *(target for target in targets if target != ">& 1"))

    return Counter(shape(command) for one in scripts_under(script) for command in one.commands)


def marks(script: Script) -> set[str]:
    """The marked words that are commands."""
    names = (literal(c.words[0]) for one in scripts_under(script) for c in one.commands if c.words and not c.test)
    return {name for name in names if MARK.fullmatch(name)}


def _texts_with_newlines(script: Script) -> Iterator[str]:
    """Quoted texts that make a word of bash's output start a line without being a command."""
    for one in scripts_under(script):
        for word in words_of(one):
            yield from (part.value for part in word.parts if isinstance(part, Text) and "\n" in part.value)


def hidden(line: str, printed: str) -> str:
    """What our reader hides of a line that bash prints so; empty where nothing, or where it refuses the line."""
    try:
        ours = read(line)
    except UnreadableError:
        return ""
    seen = marks(ours) | set(MARK.findall(" ".join(_texts_with_newlines(ours))))
    for mark in MARK.findall(printed) if "$((" not in line else ():
        starts_line = re.search(
            rf"^ *(?:(?:!|time|then|do|else|if|while|until|elif|coproc|\(|\{{) +)*{mark}(?=[ \n;&|]|$)", printed, re.M
        )
        if starts_line and mark not in seen:
            return f"{mark} starts a line of bash's"
    try:
        theirs = read(printed)
    except UnreadableError:
        return ""
    missing = commands(theirs) - commands(ours)
    return f"bash has {missing}" if missing else ""


def main() -> None:
    """Count lines that bash accepts, ours accepts, and in which a command was hidden."""
    count, seed = [*map(int, sys.argv[1:]), *(10_000, 1)[len(sys.argv) - 1 :]]
    if shutil.which("bash") is None:
        raise SystemExit("bash is not on PATH")
    totals: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for line in mutated(seed):
            if totals["lines bash accepts"] >= count:
                break
            printed = printed_by_bash(line, Path(folder))
            if printed is None:
                totals["lines bash refuses"] += 1
                try:
                    read(line)
                    totals["of those, read by ours"] += 1
                    if "-v" in sys.argv:
                        print("REFUSED", repr(line))
                except UnreadableError:
                    pass
                continue
            totals["lines bash accepts"] += 1
            if why := hidden(line, printed):
                totals["hidden commands"] += 1
                print("HIDDEN", repr(line), repr(printed), why)
            try:
                script = read(line)
            except UnreadableError:
                continue
            totals["of those, read by ours"] += 1
            totals["and confirmed by tree-sitter"] += not disagreement(script)
    print(dict(totals))


if __name__ == "__main__":
    main()
