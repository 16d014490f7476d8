"""Characters that a text may not hold where it is to be allowed: they show something else than they are."""

import unicodedata

FORBIDDEN = {
    "Cc": "a control character",
    "Cf": "an invisible character",
    "Cs": "half a character",
    "Co": "a private-use character",
    "Cn": "an unassigned character",
    "Zs": "a blank that is not a space",
    "Zl": "a line separator",
    "Zp": "a paragraph separator",
}
ORDINARY = frozenset("\t\n ")
INVISIBLE = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}


def odd_character(text: str) -> str:
    """The first character of `text` that shows something else than it is, described; empty where there is none."""
    if text.isascii() and text.isprintable():
        return ""
    for character in text:
        if character in ORDINARY:
            continue
        kind = FORBIDDEN.get(unicodedata.category(character))
        if kind or character in INVISIBLE:
            return f"U+{ord(character):04X}, {kind or 'an invisible character'}"
    return ""
