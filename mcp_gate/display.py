"""Text from others as it may be shown: on one line, unable to pretend, and bounded.

| a character | is shown as |
| --- | --- |
| control, direction mark, zero width, private use, half a surrogate pair, a blank that is not a space | `\\u{…}` |
| one that counts as printable and shows nothing: fillers, variation selectors | `\\u{…}` |
| any other | itself |
"""

import hashlib

_INVISIBLE = frozenset(
    {0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180C, 0x180D, 0x180F, 0x2800, 0x3164, 0xFFA0}
    | {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}
)


def shown(text: str) -> str:
    """`text` with every character escaped that a screen would not show as itself."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() and ord(c) not in _INVISIBLE else f"\\u{{{ord(c):x}}}" for c in text)


def shortened(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters with the whole length and a digest where it has more."""
    if len(text) <= limit:
        return text
    digest = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:16]
    return f"{text[:limit]}… [{len(text):,} characters, sha256 {digest}]"
