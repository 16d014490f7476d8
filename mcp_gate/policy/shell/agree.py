"""A second opinion on what commands a line holds, from tree-sitter-bash, before the line is allowed.

Neither parser is trusted alone: each has hidden commands in lines that bash runs. Where they see other commands, or
other words of one, the line is not allowed. tree-sitter is loaded when first needed.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from mcp_gate.policy.shell.syntax import Command, Redirect, Script, Text, redirects_of, scripts_under

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

HARMLESS = re.compile(r"[0-9]*(?:[<>]&[ \t]*(?:[0-9]+|-)|(?:&>>?|>>?)[ \t]*/dev/null)")
Seen = list[tuple[int, ...]]  # for each command, where its words start; sorted
OUTSIDE = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect", "variable_assignment"})
WHOLE = frozenset({"test_command", "variable_assignment", "variable_assignments"})


def disagreement(script: Script) -> str:
    """Why the second parser does not confirm this reading of `script.text`, empty where it does."""
    text = _simplified(script)
    tree = _parser().parse(text.encode(errors="surrogatepass"))
    if tree.root_node.has_error:
        return "a second parser cannot read it"
    if _seen_by_other(tree.root_node, text) != _seen_by_us(script):
        return "two parsers see different commands in it"
    return ""


def _simplified(script: Script) -> str:
    """The text without three things that tree-sitter-bash 0.25 misreads, none of which can hold a command.

    `>&-`; words after a redirection, which it takes for further targets (so what only throws output away, or copies
    a descriptor, is blanked); and lines of a here-document that are its delimiter but for blanks around it.
    """
    text = script.text
    for one in scripts_under(script):
        if one.text != script.text:  # inside backticks
            continue
        for redirect in redirects_of(one):
            start, end = redirect.start, redirect.target.end
            if redirect.body is not None:
                text = _without_false_ends(text, redirect)
            elif HARMLESS.fullmatch(text, start, end):
                text = text[:start] + " " * (end - start) + text[end:]
    return text


def _without_false_ends(text: str, redirect: Redirect) -> str:
    body, delimiter = redirect.body, "".join(p.value for p in redirect.target.parts if isinstance(p, Text))
    if body is None or delimiter not in text[body.start : body.end]:
        return text
    lines = [
        re.sub(r"\S", "x", line) if line.strip() == delimiter else line
        for line in text[body.start : body.end].split("\n")
    ]
    return text[: body.start] + "\n".join(lines) + text[body.end :]


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def _seen_by_us(script: Script) -> Seen:
    return sorted(filter(None, (_starts(command) for one in scripts_under(script) for command in one.commands)))


def _starts(command: Command) -> tuple[int, ...]:
    if command.test or _is_bracket(command):
        return (command.words[0].start if not command.test else command.start,)
    if not command.words:
        return (command.start,) if command.assignments else ()
    return tuple(word.start for word in command.words)


def _is_bracket(command: Command) -> bool:
    """Whether a command is `[ … ]`, which is a test to tree-sitter and a command like others to us."""
    return bool(command.words) and command.words[0].parts == (Text("["),)


def _seen_by_other(root: "Node", text: str) -> Seen:
    place = None if text.isascii() else _characters(text)
    found = (starts for node in _nodes(root) if (starts := _starts_of(node)))
    return sorted(tuple(place[at] for at in starts) if place else starts for starts in found)


def _characters(text: str) -> dict[int, int]:
    """The character that begins at each byte."""
    places, at = {}, 0
    for number, character in enumerate(text):
        places[at] = number
        at += len(character.encode(errors="surrogatepass"))
    return places


def _nodes(root: "Node") -> Iterator["Node"]:
    """The nodes that are commands, at any depth; an assignment only where it is none before a command."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in ("command", "declaration_command", "unset_command") or node.type in WHOLE:
            yield node
        inside = node.type in ("command", "declaration_command", "variable_assignments")
        for child in node.named_children:
            if inside and child.type == "variable_assignment":
                waiting += child.named_children
            else:
                waiting.append(child)


def _starts_of(node: "Node") -> tuple[int, ...]:
    if node.type in WHOLE:
        return (node.start_byte,)
    words = [
        child.start_byte for child in node.children if child.type not in OUTSIDE or node.type == "declaration_command"
    ]
    texts = [child.text for child in node.children if child.type not in OUTSIDE]
    while texts and texts[0] in (b"time", b"-p"):  # a reserved word to us
        texts, words = texts[1:], words[1:]
    return tuple(words)
