"""Commands that run another command: where the other one begins.

A *clear* wrapper (`timeout`, `env`, `xargs` …) changes nothing that a rule could care about: the inner command decides.
An *opaque* one (`sudo`, `ssh`, `npx` …) changes who runs it, where, or what its name means: an allow rule must spell
every word up to the inner command. For deny and ask both are looked through, at every place where the inner command
could begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_gate.policy.shell.syntax import UNKNOWN
from mcp_gate.policy.shell.wrapper_forms import CLEAR, LONGEST, OPAQUE, Form

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "mksh"})
BASH_OPTIONS = frozenset("eux")


# builtins that run their arguments as a line of this very shell; what they run must be allowed besides
EVALUATES = frozenset({"eval", "trap"})
GIT_VALUED = frozenset(
    {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env", "--super-prefix"}
)


@dataclass(frozen=True, slots=True)
class Wrapping:
    """What a command runs besides itself.

    inner: where the inner command begins, if that is certain (a clear wrapper). spelled: how many words an allow rule
    must spell. starts: every place where an inner command could begin. scripts: shell lines among the words.
    doubt: why a clear wrapper's command cannot be told. adds: unknown words follow the inner command (`xargs`).
    """

    inner: int = 0
    spelled: int = 0
    starts: tuple[int, ...] = ()
    scripts: tuple[str, ...] = ()
    doubt: str = ""
    adds: bool = False
    replaces: str = ""


def base_name(word: str) -> str:
    """The name of a program without its folder."""
    return word.rsplit("/", 1)[-1]


def unwrap(words: Sequence[str]) -> Wrapping:
    """What the command `words` runs; an empty `Wrapping` where it is no wrapper."""
    name = base_name(words[0])
    if name in CLEAR:
        return _clear(name, words)
    if name == "git":
        words = [words[0], *_plain_git(words)]
    for length in range(min(LONGEST, len(words)), 0, -1):
        form = OPAQUE.get((name, *words[1:length]))
        if form is not None:
            return _opaque(form, words, length)
    return Wrapping()


def _plain_git(words: Sequence[str]) -> list[str]:
    """The words of a git command without its global options."""
    return list(words[after_git_options(words) :])


def after_git_options(words: Sequence[str]) -> int:
    """Where the subcommand of git stands."""
    at = 1
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in GIT_VALUED else 1
    return min(at, len(words))


def aliases(words: Sequence[str]) -> tuple[str, ...]:
    """Shell lines that `alias x='…'`, `git -c alias.x='!…'` and the like define."""
    marks = {"git": "=!", "alias": "="}
    mark = marks.get(base_name(words[0]))
    cut = [word.partition(mark) for word in words[1:]] if mark else []
    return tuple(value for _, found, value in cut if found)


def _clear(name: str, words: Sequence[str]) -> Wrapping:
    if name == "command" and len(words) > 1 and words[1][:1] == "-" and set(words[1]) & {"v", "V"}:
        return Wrapping()  # looks a name up, runs nothing
    form, at, left, replaces = CLEAR[name], 1, CLEAR[name].positionals, ""
    while at < len(words):
        word = words[at]
        option, equals, _ = word.partition("=") if word.startswith("--") else (word, "", "")
        if word == "--":
            at += 1
            form = Form(assigns=form.assigns)
        elif word in form.flags:
            at += 1
        elif option in form.valued:
            replaces = replaces or (words[at + 1 : at + 2] or ["{}"])[0] if option == "-I" else replaces
            at += 1 if equals else 2
        elif _attached(word, form):
            replaces = word[2:] if word.startswith("-I") else replaces
            at += 1
        elif form.assigns and "=" in word and not word.startswith("-"):
            at += 1
        elif word.startswith("-") and len(word) > 1 and not (name == "nice" and word[1:].lstrip("-+").isdigit()):
            starts = tuple(range(at + 1, min(at + 4, len(words))))
            return Wrapping(starts=starts, doubt=f"`{word}` of `{name}` is not known here")
        elif word.startswith("-") and len(word) > 1:
            at += 1
        elif left:
            left -= 1
            at += 1
        else:
            break
    xargs = name == "xargs"
    if at >= len(words):
        return Wrapping()
    return Wrapping(inner=at, starts=(at,), adds=xargs and not replaces, replaces=replaces if xargs else "")


def _attached(word: str, form: Form) -> bool:
    """Whether a word is a short option with its value, or several short flags: `-n1`, `-0r`, `-k5s`."""
    if len(word) < 3 or word[0] != "-" or word[1] == "-":
        return False
    if word[:2] in form.valued:
        return True
    flags = [f"-{letter}" for letter in word[1:]]
    return all(flag in form.flags for flag in flags)


def _opaque(form: Form, words: Sequence[str], length: int) -> Wrapping:
    starts = _starts(form, words, length)
    scripts = [words[at + 1] for at in range(length, len(words) - 1) if words[at] in form.scripts]
    attached = [word.partition("=") for word in words[length:]]
    scripts += [script for option, equals, script in attached if equals and option in form.scripts]
    if form.joined:
        scripts += [" ".join(words[start:]) for start in starts]
    at = max(starts, default=len(words) - 1) if not form.scripts & set(words) else len(words) - 1
    return Wrapping(spelled=min(at + 1, len(words)), starts=tuple(sorted(starts)), scripts=tuple(scripts))


def _starts(form: Form, words: Sequence[str], length: int) -> set[int]:
    """Every place where the inner command could begin: an option that is not known may take a value or none."""
    starts: set[int] = set()
    waiting, seen = {(length, form.positionals)}, set[tuple[int, int]]()
    while waiting:
        at, left = place = waiting.pop()
        if place in seen or at >= len(words):
            continue
        seen.add(place)
        word = words[at]
        if word == "--":
            waiting |= {(at + 1, 0), (at + 1, left)}
        elif word.startswith(("-", "/")) and (len(word) > 1 or word in form.flags) and not _is_path(word):
            takes = word in form.valued or word in form.scripts
            if not takes or word in form.flags:
                waiting.add((at + 1, left))
            if takes or not (word in form.flags or "=" in word):
                waiting.add((at + 2, left))
        elif form.assigns and "=" in word:
            waiting.add((at + 1, left))
        elif left:
            waiting.add((at + 1, left - 1))
        else:
            starts.add(at)
    return starts


def _is_path(word: str) -> bool:
    return word.startswith("/") and word not in ("/c", "/C", "/k")


def find_runs(words: Sequence[str]) -> list[tuple[int, int]]:
    """The commands that `find -exec` and its like run, as (first word, end); `{}` in them is not known."""
    runs, at = [], 1
    while at < len(words):
        if words[at] in ("-exec", "-execdir", "-ok", "-okdir"):
            end = next((n for n in range(at + 1, len(words)) if words[n] in (";", "+")), len(words))
            runs.append((at + 1, end))
            at = end
        at += 1
    return runs


@dataclass(frozen=True, slots=True)
class Invoked:
    """What a shell is told to run: a line (`script`), or with neither that nor `is_input` a file.

    `doubt`: why that is not certain. `others` are the words that could be the line if it is not.
    """

    script: str | None = None
    is_input: bool = False
    doubt: str = ""
    others: tuple[str, ...] = ()


def invoked(words: Sequence[str]) -> Invoked | None:
    """What the shell that `words` start runs; None where they start no shell."""
    if base_name(words[0]) not in SHELLS:
        return None
    at, doubt, is_line, is_input = 1, "", False, False
    while at < len(words) and words[at].startswith(("-", "+")) and words[at] != "-":
        word, letters = words[at], set(words[at][1:])
        at += 1
        if word == "--":
            break
        if not word.startswith("--"):
            is_line, is_input = is_line or "c" in letters, is_input or "s" in letters
        if letters & {"o", "O"} and not word.startswith("--"):  # takes the next word
            doubt = doubt or ("" if (word, *words[at : at + 1]) == ("-o", "pipefail") else f"`{word}` of a shell")
            at += 1
        elif not letters <= BASH_OPTIONS | {"c", "s"}:
            doubt = doubt or f"`{word}` of `{words[0]}` is not known here"
            at += word in ("--rcfile", "--init-file")
    if is_line:
        script = words[at] if at < len(words) else ""
        return Invoked(script, doubt=doubt, others=tuple(words[1:at]))
    return Invoked(is_input=is_input or at >= len(words) or words[at] == "-", doubt=doubt)


def has_unknown(words: Sequence[str]) -> bool:
    """Whether a word of these is not known in full."""
    return any(UNKNOWN in word for word in words)
