r"""URL globs of rules against url values of calls, part by part. Allow needs the one strict reading of a value; deny
and ask match if any reading does that some client or server may make of it.

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

| pattern | allow | deny and ask |
| --- | --- | --- |
| `*` | any http(s) URL, any port | everything |
| `*://`, `http*://` | http and https only | any scheme that fits |
| host `*`; `*.x.org` | any; any depth below, not `x.org` | the same |
| host `a*.x.org`, `10.0.0.*` | the star stops at a dot; beside numbers it is one | the star crosses dots |
| no port; `:*` | the default port; any | any; any |
| no path (host `*`: any path) | `/` alone | any path |
| path `*`, `**` | any characters, also `/` | the same |
| no `?`, path ends with `*`; else | any query and fragment; as spelled, else none | any; as spelled, else any |
| `domain:x.org` | http(s), default port, any path | any scheme, any port |
| case | host and scheme ignore it, the rest does not | the same |
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address
from string import ascii_letters, digits

from mcp_gate.globs import Glob, star_match
from mcp_gate.model import Effect
from mcp_gate.policy.characters import odd_character

MOST_CHARACTERS = 8192
LONGEST_HOST = 253
WEB = ("http", "https")
DEFAULT_PORTS = {"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}
DOMAIN = "domain:"
QUOTES = "<>\"'`"
# IPv6 prefixes whose last four bytes are an IPv4 address: mapped, compatible, NAT64.
CARRIES_IPV4 = (bytes(10) + b"\xff\xff", bytes(12), bytes.fromhex("0064ff9b") + bytes(8))

TAIL = r"([^?#]*)(?:\?([^#]*))?(?:#(.*))?"
STRICT = re.compile(r"([A-Za-z*][A-Za-z0-9+.*-]*)://([^/?#]*)" + TAIL, re.DOTALL)  # `*` only in a pattern
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)
AUTHORITY = re.compile(r"([^/?#]*)" + TAIL, re.DOTALL)
OLD_AUTHORITY = re.compile(r"([^/]*)" + TAIL, re.DOTALL)  # some clients let only `/` end it
HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
CUT = re.compile(r"[\s\x00]+")
PLAIN = re.compile(r"[!-~]+")
PORT = re.compile(r"0|[1-9][0-9]{0,4}")
NUMBER = re.compile(r"0x[0-9a-f]*|[0-9]+")
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


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern that was read. `host` is empty where allow can never match it; `hosts` are its spellings for deny.
    Of `paths`, `query` and `fragment` the first glob is as spelled, others are decoded; no glob: not spelled."""

    scheme: Glob
    host: str
    hosts: tuple[Glob, ...]
    port: str
    paths: tuple[Glob, ...]
    query: tuple[Glob, ...] = ()
    fragment: tuple[Glob, ...] = ()


ROOT, ANY = Glob("/"), Glob("*")


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


def url_matches(pattern: str, url: Url, effect: Effect) -> bool:
    """Whether a rule of `effect` with this pattern speaks about the value; never where the pattern has a problem."""
    read = _read_pattern(pattern)
    if isinstance(read, str):
        return False
    if effect is Effect.ALLOW:
        return url.strict is not None and _allows(read, url.strict)
    return any(_denies(read, reading) for reading in url.readings)


def domain_matches(pattern: str, url: Url, effect: Effect) -> bool:
    """The same for the pattern of `WebFetch(domain:…)`, given with or without its `domain:`."""
    return url_matches(DOMAIN + pattern.removeprefix(DOMAIN), url, effect)


def pattern_problem(pattern: str) -> str:
    """Why the pattern can never match what its author means, to be read after "the pattern"; empty: it can. A domain's
    pattern is given with its `domain:`."""
    read = _read_pattern(pattern)
    return read if isinstance(read, str) else ""


# What allow sees: one reading, or a doubt.


def _strict(text: str) -> Reading | str:
    if not text or len(text) > MOST_CHARACTERS:
        return f"is longer than {MOST_CHARACTERS} characters" if text else "is empty"
    if why := _character_doubt(text):
        return why
    parts = STRICT.fullmatch(text)
    if not parts or "*" in parts[1]:
        return "does not start with a scheme and `://`"
    scheme, authority, path = parts[1].lower(), parts[2].lower(), parts[3]
    if "@" in text[parts.start(2) :].partition("/")[0]:
        return "has user information"
    host, port = _host_and_port(authority)
    if why := _host_doubt(host) or _port_doubt(port) or _path_doubt(path):
        return f"has {why}"
    return Reading(
        scheme,
        (_canonical(host),),
        DEFAULT_PORTS.get(scheme, "") if port is None else port,
        (_resolved(_normal(path or "/")),),
        _normal(parts[4] or ""),
        _normal(parts[5] or ""),
    )


def _character_doubt(text: str) -> str:
    if text.split() != [text]:
        return "holds a blank"
    if what := odd_character(text):
        return f"holds {what}"
    return "holds a backslash" if "\\" in text else ""


def _host_and_port(authority: str) -> tuple[str, str | None]:
    """Cut at the first colon that is not between brackets; without one there is no port."""
    bracket = authority.rfind("]") + 1
    name, colon, port = authority[bracket:].partition(":")
    return authority[:bracket] + name, port if colon else None


def _port_doubt(port: str | None) -> str:
    return "" if port is None or (PORT.fullmatch(port) and int(port) <= 65535) else "a port that is no number to 65535"


def _host_doubt(host: str) -> str:
    """What keeps a lower-case host from being allowed."""
    if not host:
        return "no host"
    if not host.isascii():
        return "a host that is not ASCII"
    if "%" in host:
        return "an encoded host"
    if host.endswith("."):
        return "a host that ends with a dot"
    if host.startswith("["):
        return "" if host.endswith("]") and _ipv6(host) else "a host that is no IPv6 address"
    if not HOST.fullmatch(host) or len(host) > LONGEST_HOST:
        return "a host that is no name"
    if NUMBER.fullmatch(host.rpartition(".")[2]) and list(_ipv4s(host)) != [host]:
        return "a host that spells an address in an odd way"
    return ""


def _path_doubt(path: str) -> str:
    for sign, what in PATH_DOUBTS:
        if sign.search(path):
            return f"{what} in its path"
    if what := odd_character(_decoded(path)):
        return f"{what}, encoded in its path"
    # Whether an empty segment is one that `..` leads out of is for each server to say.
    return "`..` and `//` in its path" if "//" in path and ".." in _normal(path).split("/") else ""


# What deny sees: every reading.


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
        once = _decoded(spelled)
        for lax in dict.fromkeys((spelled, once, _decoded(once))):
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
                yield Reading(scheme, hosts, port, paths, _normal(query), _normal(fragment))


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
    host, port = _host_and_port(authority)
    names = _names(host)
    if not port:
        return names, DEFAULT_PORTS.get(scheme, "")
    if ":" in port:
        names += _names(authority)  # IPv6 without brackets
    number = port.lstrip("0")
    return names, "" if _port_doubt(number) else number


def _lax_paths(path: str) -> tuple[str, ...]:
    spelled = _normal(path)
    plain = re.sub("/+", "/", re.sub(";[^/]*", "", spelled))
    forms = dict.fromkeys((spelled, _resolved(spelled), _resolved(plain)))
    ends = ((form or "/", f"{form.rstrip('/')}/", form.rstrip("/") or "/") for form in forms)
    return tuple(dict.fromkeys(form for three in ends for form in three))


# Hosts.


def _names(host: str) -> tuple[str, ...]:
    """Every lower-case name and address that a host, or the host of a pattern, may be taken for."""
    plain = host if host.isascii() else unicodedata.normalize("NFKC", host).replace("\u3002", ".")
    plain = plain.lower().strip()
    names = [name.rstrip(".") for name in dict.fromkeys((plain, CUT.split(plain, maxsplit=1)[0]))]
    if not plain.isascii() or "xn--" in plain:
        names += [_relabelled(name, codec) for name in names for codec in (_mapped, _direct, _shown)]
    return tuple(dict.fromkeys([*names, *(address for name in names for address in _addresses(name))]))


def _relabelled(host: str, codec: Callable[[str], str]) -> str:
    """The host with each label recoded where it can be. The codecs are slow, so that what is too long stays."""

    def recoded(label: str) -> str:
        try:
            return codec(label)
        except UnicodeError:
            return label

    return ".".join(map(recoded, host.split("."))) if len(host) <= LONGEST_HOST else host


def _mapped(label: str) -> str:
    """As IDNA 2003 has it, which takes `ß` for `ss`."""
    return label if label.isascii() else label.encode("idna").decode("ascii")


def _direct(label: str) -> str:
    """As IDNA 2008 has it."""
    return label if label.isascii() else "xn--" + label.encode("punycode").decode("ascii")


def _shown(label: str) -> str:
    return label.encode("ascii").decode("idna") if label.startswith("xn--") else label


def _addresses(name: str) -> Iterator[str]:
    if ":" not in name:
        yield from _ipv4s(name)
    elif address := _ipv6(name):
        yield f"[{address.compressed}]"
        if address.packed[:12] in CARRIES_IPV4:
            yield str(IPv4Address(address.packed[12:]))


def _ipv6(host: str) -> IPv6Address | None:
    try:
        return IPv6Address(host.removeprefix("[").removesuffix("]").partition("%")[0])
    except ValueError:
        return None


def _ipv4s(host: str) -> Iterator[str]:
    """The addresses that one to four numbers stand for, the last filling what is left of four bytes."""
    parts = host.split(".")
    if len(parts) > 4 or not all(map(NUMBER.fullmatch, parts)) or len(host) > LONGEST_HOST:
        return
    found = set()
    for octal in (True, False):
        *high, low = (_number(part, octal=octal) for part in parts)
        if all(number < 256 for number in high) and low < 256 ** (4 - len(high)):
            found.add(str(IPv4Address(int.from_bytes(bytes(high).ljust(4, b"\0")) + low)))
    yield from sorted(found)


def _number(text: str, *, octal: bool) -> int:
    if text.startswith("0x"):
        return int(text[2:] or "0", 16)
    return int(text, 8) if octal and text.startswith("0") and not set(text) & set("89") else int(text)


# Paths.


def _normal(text: str) -> str:
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


def _decoded(text: str) -> str:
    """Percent-decoded; what is not UTF-8 becomes half characters, which are odd."""
    if "%" not in text:
        return text
    data = ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), text.encode(errors="surrogatepass"))
    return data.decode(errors="surrogateescape")


def _resolved(path: str) -> str:
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


# Patterns.


@lru_cache(maxsize=4096)
def _read_pattern(pattern: str) -> Pattern | str:
    """The pattern, or what is wrong with it."""
    if not pattern:
        return "is empty"
    if why := _character_doubt(pattern.replace("\\*", "*")):
        return why
    if not pattern.strip("*"):
        return Pattern(ANY, "*", (ANY,), "*", (ANY,))
    if pattern.startswith(DOMAIN):
        host, why = _pattern_host(pattern.removeprefix(DOMAIN))
        if why:
            return f"has {why}; write a domain alone, as in `domain:example.com` or `domain:*.example.com`"
        return Pattern(ANY, _allowed_spelling(host), tuple(map(Glob, _names(host))), "", (ANY,))
    parts = STRICT.fullmatch(pattern)
    if not parts:
        bare = pattern.removeprefix("http:").removeprefix("https:").lstrip("/")
        return f"does not start with a scheme and `://`; write `https://{bare}`, or `*://{bare}` for any scheme"
    scheme, authority = parts[1].lower(), parts[2]
    if "@" in authority:
        return "has user information, which no URL may have; a deny rule without it looks through it"
    host, port = (authority[:-2], "*") if authority.endswith(":*") else _host_and_port(authority)
    host, why = _pattern_host(host)
    if scheme == "file" and not host:
        why = ""
    if why := why or ("" if port == "*" else _port_doubt(port)):
        return f"has {why}"
    path = "/*" if host == "*" and not parts[3] else parts[3] or ("/" if parts.end(3) < len(pattern) else "")
    if _resolved(_normal(path)) != _normal(path):
        return "has `.` or `..` in its path; no path has them once it is read"
    return Pattern(
        Glob(scheme),
        _allowed_spelling(host),
        tuple(map(Glob, _names(host))),
        port or "",
        _globs(path or None),
        _globs(parts[4]),
        _globs(parts[5]),
    )


def _pattern_host(host: str) -> tuple[str, str]:
    """The host of a pattern in lower case, each run of stars as one, and what is wrong with it or ""."""
    host = re.sub(r"\*+", "*", host.lower().removesuffix("."))
    return host, _host_doubt(_relabelled(host, _direct).replace("*", "x"))


def _allowed_spelling(host: str) -> str:
    """The host as the strict reading spells it; empty where it is not clear which name it stands for."""
    if host.isascii():
        return _canonical(host)
    mapped = _relabelled(host, _mapped)
    return mapped if mapped == _relabelled(host, _direct) and "*" not in host else ""


def _canonical(host: str) -> str:
    address = _ipv6(host) if host.startswith("[") else None
    return f"[{address.compressed}]" if address else host


def _globs(text: str | None) -> tuple[Glob, ...]:
    return () if text is None else tuple(map(Glob, dict.fromkeys((_normal(text), _normal(_decoded(text))))))


# Matching.


def _allows(pattern: Pattern, reading: Reading) -> bool:
    (host,), (path,) = reading.hosts, reading.paths
    return (
        pattern.scheme.matches(reading.scheme)
        and (len(pattern.scheme.pieces) == 1 or reading.scheme in WEB)
        and _host_fits(pattern.host, host)
        and (pattern.port or DEFAULT_PORTS.get(reading.scheme, "")) in ("*", reading.port)
        and (pattern.paths or (ROOT,))[0].matches(path)
        and _rest_fits(pattern, reading, allows=True)
    )


def _denies(pattern: Pattern, reading: Reading) -> bool:
    return (
        pattern.scheme.matches(reading.scheme)
        and any(glob.matches(host) for glob in pattern.hosts for host in reading.hosts)
        and (pattern.port in ("", "*", reading.port) or not reading.port)
        and (not pattern.paths or any(glob.matches(path) for glob in pattern.paths for path in reading.paths))
        and _rest_fits(pattern, reading, allows=False)
    )


def _host_fits(glob: str, host: str) -> bool:
    """A host for allow: label by label, but for a `*` in front, which is one or more."""
    if "*" not in glob or glob == "*":
        return glob in ("*", host)
    # The `*` of `10.0.0.*` is a number: there may be a name that ends so.
    if glob.replace("*", "").replace(".", "").isdigit() and not host.replace(".", "").isdigit():
        return False
    first, *labels = glob.split(".")
    names = host.split(".")
    if first == "*":
        return len(names) > len(labels) and all(map(star_match, labels, names[-len(labels) :]))
    return len(names) == len(labels) + 1 and all(map(star_match, [first, *labels], names))


def _rest_fits(pattern: Pattern, reading: Reading, *, allows: bool) -> bool:
    """Whether query and fragment fit. To allow, what is not spelled needs a star at the end of what comes before."""
    covered = not allows or any(map(_is_open, pattern.paths[:1]))
    for globs, text in ((pattern.query, reading.query), (pattern.fragment, reading.fragment)):
        if globs:
            if not any(glob.matches(text) for glob in (globs[:1] if allows else globs)):
                return False
            covered = not allows or _is_open(globs[0])
        elif text and not covered:
            return False
    return True


def _is_open(glob: Glob) -> bool:
    return len(glob.pieces) > 1 and not glob.tail
