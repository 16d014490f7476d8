r"""Globs over names: only `*` is special.

| in the pattern | stands for                                       |
| -------------- | ------------------------------------------------ |
| `*`            | any run of characters, also none                 |
| `\*`           | a literal star                                   |
| anything else  | itself, case-sensitive: also `?`, `[`, `{`, `\`  |
"""


class Glob:
    """A pattern, ready to match. `pieces` are the literal texts before, between and after its stars."""

    __slots__ = ("_inner", "_least", "head", "pieces", "tail")

    def __init__(self, pattern: str) -> None:
        self.pieces = tuple(_pieces(pattern))
        self.head, self.tail = self.pieces[0], self.pieces[-1]
        self._inner = self.pieces[1:-1]
        self._least = len(self.head) + len(self.tail)

    def matches(self, text: str) -> bool:
        """Does the whole of `text` fit?

        The pieces are looked for once each, from left to right, so the time is linear whatever the pattern is:
        patterns and texts come from files and models that nobody has vetted.
        """
        if not text.startswith(self.head):
            return False
        if len(self.pieces) == 1:
            return len(text) == len(self.head)
        if len(text) < self._least or not text.endswith(self.tail):
            return False
        if not self._inner:
            return True
        at, end = len(self.head), len(text) - len(self.tail)
        for piece in self._inner:
            found = text.find(piece, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True


def star_match(pattern: str, text: str) -> bool:
    """Does the whole of `text` fit `pattern`? For a pattern that is used once; else keep a `Glob`."""
    return Glob(pattern).matches(text)


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
