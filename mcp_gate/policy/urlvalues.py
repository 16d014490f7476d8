r"""URL values of calls: the one strict reading that allow needs, and every reading that some client or server may make
of them, for deny and ask.

| value | allow | deny and ask also read |
| --- | --- | --- |
| `HTTPS://Host:443/a/%72/./..` | `https`, `host`, 443, `/a/` | as spelled; `//` as `/`; without `;x`; `/a`, `/a/` |
| `u:p@host`; `@` before the first `/` | never | what stands behind the first and the last `@` |
| host: encoded, not ASCII, `host.` | never | decoded, NFKC, as Unicode and as punycode, without the dot |
| host: `[::1]`; `[::ffff:1.2.3.4]` | compressed | also the IPv4 address that it carries |
| host: `2130706433`, `0x7f.1`, `127.1` | never | the address; a leading zero as octal and as nothing |
| port: empty, `0443`, `x`, over 65535 | never | the number; where there is none, any |
| `host/x`, `//host`, `https:host`, `https:///host` | never | any number of slashes; no scheme: http and https |
| `blob:https://host` | never | `https://host` |
| blanks, invisible characters, `\` | never | without them, cut at them; `\` as `/` |
| path: `%2f`, `%5c`, `%00`, `%252e`, `%zz`, not UTF-8 | never | decoded once and twice |
| path: `..;`, or `..` and `//` | never | without `;`, with one `/` |
| empty, over 8,192 characters, not a string | never | each string inside |
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from string import ascii_letters, digits

from mcp_gate.policy.characters import odd_character
from mcp_gate.policy.hosts import CUT, canonical, host_doubt, host_names

MOST_CHARACTERS = 8192
WEB = ("http", "https")
DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
QUOTES = "<>\"'`"
TAIL = r"([^?#]*)(?:\?([^#]*))?(?:#(.*))?"
STRICT = re.compile(r"([A-Za-z*][A-Za-z0-9+.*-]*)://([^/?#]*)" + TAIL, re.DOTALL)  # `*` only in a pattern
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
AUTHORITY = re.compile(r"([^/?#]*)" + TAIL, re.DOTALL)
OLD_AUTHORITY = re.compile(r"([^/]*)" + TAIL, re.DOTALL)  # some clients let only `/` end it
PLAIN = re.compile(r"[!-~]+")
PORT = re.compile(r"0|[1-9][0-9]{0,4}")
ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
TO_NORMALISE = re.compile(r"%[0-9A-Fa-f]{2}|\\\*?|[^\\A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+")
UNRESERVED = frozenset(ascii_letters + digits + "._~-")
PATH_DOUBTS = (
    (re.compile(r"%(?:25)*(?:2f|5c)", re.IGNORECASE), "an encoded slash"),
    (re.compile(r"%(?:25)*(?:[01][0-9a-f]|7f)", re.IGNORECASE), "an encoded control character"),
    (re.compile(r"%(?:25)+2e", re.IGNORECASE), "a dot that is encoded twice"),
    (re.compile(r"%(?![0-9a-f]{2})", re.IGNORECASE), "a `%` that encodes nothing"),
    (re.compile(r"/(?:\.|%2e){1,2};", re.IGNORECASE), "a dot segment with a parameter"),
)


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read a value. Host and path may be spelled in several ways; the strict reading has one of each.

    `hosts` are lower-case, addresses as `ipaddress` spells them, IPv6 in brackets. `port` is its number as text, empty
    where it is not known. `paths` start with a slash. `query` and `fragment` come without their sign.
    """

    scheme: str
    hosts: tuple[str, ...]
    port: str
    paths: tuple[str, ...]
    query: str
    fragment: str


@dataclass(frozen=True, slots=True)
class Url:
    """A value that was read. `strict` is what allow sees, None where in doubt; `readings` is what deny and ask see.
    `doubt` says why the value can never be allowed, to be read after "the URL"; empty: it can."""

    strict: Reading | None
    readings: tuple[Reading, ...]
    doubt: str = ""


def read_url(value: object) -> Url:
    """Read the value of an argument that is a URL; raises nothing of its own."""
    if isinstance(value, str):
        texts, strict = [value], _strict(value)
    else:
        texts, strict = [*_strings(value)], "is not a string"
    readings = [reading for text in texts or [""] for lax in _lax_texts(text) for reading in _lax(lax)]
    if isinstance(strict, str):
        return Url(None, tuple(dict.fromkeys(readings)), strict)
    return Url(strict, tuple(dict.fromkeys([strict, *readings])))


def _strict(text: str) -> Reading | str:
    if not text or len(text) > MOST_CHARACTERS:
        return f"is longer than {MOST_CHARACTERS} characters" if text else "is empty"
    if why := character_doubt(text):
        return why
    parts = STRICT.fullmatch(text)
    if not parts or "*" in parts[1]:
        return "does not start with a scheme and `://`"
    scheme, authority, path = parts[1].lower(), parts[2].lower(), parts[3]
    if "@" in text[parts.start(2) :].partition("/")[0]:
        return "has user information"
    host, port = host_and_port(authority)
    if why := host_doubt(host) or port_doubt(port) or _path_doubt(path):
        return f"has {why}"
    return Reading(
        scheme,
        (canonical(host),),
        DEFAULT_PORTS.get(scheme, "") if port is None else port,
        (resolved(normal(path or "/")),),
        normal(parts[4] or ""),
        normal(parts[5] or ""),
    )


def character_doubt(text: str) -> str:
    if text.split() != [text]:
        return "holds a blank"
    if what := odd_character(text):
        return f"holds {what}"
    return "holds a backslash" if "\\" in text else ""


def host_and_port(authority: str) -> tuple[str, str | None]:
    """Cut at the first colon that is not between brackets; without one there is no port."""
    bracket = authority.rfind("]") + 1
    name, colon, port = authority[bracket:].partition(":")
    return authority[:bracket] + name, port if colon else None


def port_doubt(port: str | None) -> str:
    return "" if port is None or (PORT.fullmatch(port) and int(port) <= 65535) else "a port that is no number to 65535"


def _path_doubt(path: str) -> str:
    for sign, what in PATH_DOUBTS:
        if sign.search(path):
            return f"{what} in its path"
    if what := odd_character(decoded(path)):
        return f"{what}, encoded in its path"
    # Whether an empty segment is one that `..` leads out of is for each server to say.
    return "`..` and `//` in its path" if "//" in path and ".." in normal(path).split("/") else ""


def _strings(value: object) -> Iterator[str]:
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, list | tuple):
            todo.extend(item)
        elif isinstance(item, dict):
            todo.extend(item.values())


def _lax_texts(text: str) -> Iterator[str]:
    """Each spelling as it is, decoded once and twice, and each of these with slashes for backslashes."""
    for spelled in dict.fromkeys(_spellings(text)):
        once = decoded(spelled)
        for lax in dict.fromkeys((spelled, once, decoded(once))):
            yield lax
            if "\\" in lax:
                yield lax.replace("\\", "/")


def _spellings(text: str) -> list[str]:
    """The text without quotes and blanks around it; also without any, its words, and with compatible letters."""
    if PLAIN.fullmatch(text):
        return [text.strip(QUOTES)]
    seen = [n for n, character in enumerate(text) if not _unseen(character) and character not in QUOTES]
    core = text[seen[0] : seen[-1] + 1] if seen else ""
    joined = "".join(character for character in core if not _unseen(character))
    words = [word for n, word in enumerate(CUT.split(core)) if n == 0 or "://" in word]
    return [core, joined, *words, *(unicodedata.normalize("NFKC", form) for form in (core, joined))]


def _unseen(character: str) -> bool:
    return character.isspace() or (not "!" <= character <= "~" and odd_character(character) != "")


def _lax(text: str) -> Iterator[Reading]:
    for scheme, rest in _schemes(text):
        bare = rest.lstrip("/")
        forms = [AUTHORITY.fullmatch(bare)]
        if "@" in bare.partition("/")[0]:
            forms.append(OLD_AUTHORITY.fullmatch(bare))
        if scheme not in WEB:
            forms.append(AUTHORITY.fullmatch(f"/{bare}"))  # `file:/etc/passwd` has no host
        for parts in filter(None, forms):
            authority, path, query, fragment = parts.groups("")
            paths = _lax_paths(path)
            for name in _behind_user(authority):
                hosts, port = _lax_host_and_port(name, scheme)
                yield Reading(scheme, hosts, port, paths, normal(query), normal(fragment))


def _schemes(text: str) -> Iterator[tuple[str, str]]:
    """Each scheme and what follows it: of the text, of a URL inside it, and http(s) where a host may come first."""
    found = SCHEME.fullmatch(text)
    if found:
        scheme, rest = found[1].lower(), found[2]
        yield scheme, rest
        if inner := SCHEME.fullmatch(rest):
            yield inner[1].lower(), inner[2]
        if "." not in scheme and not rest[:1].isdigit() and "@" not in rest.partition("/")[0]:
            return
    if text:
        yield from ((scheme, text.lstrip(":")) for scheme in WEB)
    else:
        yield "", ""


def _behind_user(authority: str) -> tuple[str, ...]:
    """What stands behind the first and behind the last `@`, both of which clients take."""
    _, at, behind = authority.partition("@")
    return tuple(dict.fromkeys((behind.partition("@")[0], behind.rpartition("@")[2]))) if at else (authority,)


def _lax_host_and_port(authority: str, scheme: str) -> tuple[tuple[str, ...], str]:
    host, port = host_and_port(authority)
    names = host_names(host)
    if not port:
        return names, DEFAULT_PORTS.get(scheme, "")
    if ":" in port:
        names += host_names(authority)  # IPv6 without brackets
    number = port.lstrip("0")
    return names, "" if port_doubt(number) else number


def _lax_paths(path: str) -> tuple[str, ...]:
    spelled = normal(path)
    plain = re.sub("/+", "/", re.sub(";[^/]*", "", spelled))
    forms = dict.fromkeys((spelled, resolved(spelled), resolved(plain)))
    ends = ((form or "/", f"{form.rstrip('/')}/", form.rstrip("/") or "/") for form in forms)
    return tuple(dict.fromkeys(form for three in ends for form in three))


def normal(text: str) -> str:
    """Escapes only where they are needed, in upper case. `\\*` stays: it is a star of a pattern."""
    return TO_NORMALISE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    if text == "\\*":
        return text
    if text[0] == "%":
        plain = chr(int(text[1:], 16))
        return plain if plain in UNRESERVED else text.upper()
    return "%" + text.encode(errors="surrogatepass").hex("%").upper()


def decoded(text: str) -> str:
    """Percent-decoded; what is not UTF-8 becomes half characters, which are odd."""
    if "%" not in text:
        return text
    data = ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), text.encode(errors="surrogatepass"))
    return data.decode(errors="surrogateescape")


def resolved(path: str) -> str:
    """Without `.` and `..`, as RFC 3986 removes them; an empty segment is one."""
    if "/." not in path:
        return path
    first, *names = path.split("/")
    done = [first]
    for name in names:
        if name == "..":
            del done[max(len(done) - 1, 1) :]
        elif name != ".":
            done.append(name)
    return "/".join(done) + ("/" if names[-1] in (".", "..") else "")
