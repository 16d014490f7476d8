"""The bodies of here-documents."""

from mcp_gate.policy.shell.syntax import Redirect, Text, Word
from mcp_gate.policy.shell.words import WordReader


def read_bodies(reader: WordReader) -> None:
    """Read the bodies of the here-documents that wait, right after the newline that ends their line."""
    waiting, reader.waiting = reader.waiting, []
    for redirect in waiting:
        _read_body(reader, redirect)


def _read_body(reader: WordReader, redirect: Redirect) -> None:
    literal = any(isinstance(part, Text) and part.quoted for part in redirect.target.parts)
    start, end, after = _find(reader, redirect, literal=literal)
    text = reader.text[start:end]
    inner = reader.inside(text, start)
    if literal and "\0" in text:
        raise reader.fail("a NUL character")
    if literal:
        redirect.body = Word((Text(text, quoted=True),), inner.base, inner.base + len(text))
    else:
        redirect.body = inner.body()
    reader.bashisms += inner.bashisms
    reader.oddities += inner.oddities
    reader.at = after


def _find(reader: WordReader, redirect: Redirect, *, literal: bool) -> tuple[int, int, int]:
    """Where a body starts and ends, and where the line after its delimiter starts."""
    delimiter = "".join(part.value for part in redirect.target.parts if isinstance(part, Text))
    start = at = reader.at
    while at < len(reader.text):
        newline = reader.text.find("\n", at)
        end = len(reader.text) if newline < 0 else newline
        line = reader.text[at:end]
        if redirect.operator == "<<-":
            line = line.lstrip("\t")
        if line == delimiter:
            return start, at, min(end + 1, len(reader.text))
        if reader.depth and line.startswith(delimiter):
            raise reader.fail("a here-document that shells end differently")
        if not literal and line.endswith("\\"):
            raise reader.fail("a here-document with a joined line")
        at = end + 1
    raise reader.fail(f"a here-document without its `{delimiter}`")
