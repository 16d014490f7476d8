"""The escapes of `$'…'`."""

import re

ESCAPE = re.compile(r"\\(?:x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|[abeEfnrtv\\'\"?])")
LETTERS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


def escaped(escape: str) -> str:
    """The character of an escape, given without its backslash; empty where it makes none, or only a part of one."""
    if escape[0] in LETTERS:
        return LETTERS[escape[0]]
    code = int(escape[1:], 16) if escape[0] in "xuU" else int(escape, 8)
    is_byte = escape[0] not in "uU"
    if code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000 or (is_byte and code > 0x7F):
        return ""
    return chr(code)
