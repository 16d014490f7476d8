"""The texts that a deny or ask rule may be written for: of commands, of several, of lines that cannot be read."""

import re
from collections.abc import Iterator, Sequence

from mcp_gate.policy.shell.arguments import Argument, Surroundings, arguments
from mcp_gate.policy.shell.syntax import Script
from mcp_gate.policy.shell.wrappers import after_git_options, base_name

CUT = re.compile(r"&&|\|\||[;&|\n(){}`<>]|\$\(")
QUOTES = re.compile(r"[\\'\"]")
LEADING = frozenset({"if", "then", "elif", "else", "while", "until", "do", "time", "!", "coproc", "exec"})
LONGEST_JOINED = 12


def pieces(line: str) -> Iterator[tuple[str, list[str]]]:
    """The pieces of a line between operators, quotes ignored, each as it is written and as its words."""
    for piece in CUT.split(line):
        words = QUOTES.sub("", piece).split()
        while words and words[0] in LEADING:
            words = words[1:]
        if words:
            yield piece.strip(), words


def joined(script: Script, surroundings: Surroundings) -> Iterator[str]:
    """Texts of commands with the operators between them, from each command on, so that a rule can speak of `a | b`.

    Of a longer line only neighbours are joined: the texts would grow with its square.
    """
    texts: list[str] = []
    for command in script.commands:
        words = [word.value for word in arguments(command.words, surroundings)]
        texts.append(" ".join([base_name(words[0]), *words[1:]] if words else []))
    joiners = [command.joiner.replace("|&", "|") for command in script.commands]
    short = len(texts) <= LONGEST_JOINED
    for start in range(len(texts) - 1):
        text = texts[start]
        for at in range(start + 1, len(texts) if short else start + 2):
            text += (f" {joiners[at]} " if joiners[at] != ";" else "; ") + texts[at]
            yield text


def spellings(words: Sequence[Argument]) -> dict[str, None]:
    """The texts of the words of one command: as written, with values, by base name, without git's options."""
    texts: dict[str, None] = {}
    for way in ("written", "value", "wild"):
        plain = [getattr(word, way) for word in words]
        forms = [plain]
        if plain and "/" in plain[0]:
            forms.append([base_name(plain[0]), *plain[1:]])
        for form in forms[:]:
            if form and form[0] == "git" and (after := after_git_options(form)) > 1:
                forms.append(["git", *form[after:]])
        for form in forms:
            texts[" ".join(form)] = None
    return texts
