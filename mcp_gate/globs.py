r"""Globs over names: only `*` is special.

| in the pattern | stands for                                       |
| -------------- | ------------------------------------------------ |
| `*`            | any run of characters, also none                 |
| `\*`           | a literal star                                   |
| anything else  | itself, case-sensitive: also `?`, `[`, `{`, `\`  |
"""


def star_match(pattern: str, text: str) -> bool:
    """Does the whole of `text` fit `pattern`?

    The literal pieces between the stars are looked for once each, from left to right, so the time is linear whatever
    the pattern is: patterns and texts come from files and models that nobody has vetted.
    """
    head, *pieces = _pieces(pattern)
    if not pieces:
        return text == head
    tail = pieces.pop()
    at, end = len(head), len(text) - len(tail)
    if at > end or not (text.startswith(head) and text.endswith(tail)):
        return False
    for piece in pieces:
        found = text.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True


def _pieces(pattern: str) -> list[str]:
    """The literal text before, between and after the stars: one piece more than there are stars."""
    first, *rest = pattern.split("*")
    pieces = [first]
    for part in rest:
        if pieces[-1].endswith("\\"):
            pieces[-1] = f"{pieces[-1][:-1]}*{part}"
        else:
            pieces.append(part)
    return pieces
