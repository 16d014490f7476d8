r"""URL globs of rules against url values of calls, part by part. Allow needs the one strict reading of a value; deny
and ask match if any reading does that some client or server may make of it. `urlvalues` reads the values.

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
from dataclasses import dataclass
from functools import lru_cache

from mcp_gate.globs import Glob, star_match
from mcp_gate.model import Effect
from mcp_gate.policy.hosts import canonical, host_doubt, host_names, idna_direct, idna_mapped, relabelled
from mcp_gate.policy.urlvalues import (
    DEFAULT_PORTS,
    STRICT,
    WEB,
    Reading,
    Url,
    character_doubt,
    decoded,
    host_and_port,
    normal,
    port_doubt,
    read_url,
    resolved,
)

__all__ = ["Url", "domain_matches", "pattern_problem", "read_url", "url_matches"]


DOMAIN = "domain:"


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


@lru_cache(maxsize=4096)
def _read_pattern(pattern: str) -> Pattern | str:
    """The pattern, or what is wrong with it."""
    if not pattern:
        return "is empty"
    if why := character_doubt(pattern.replace("\\*", "*")):
        return why
    if not pattern.strip("*"):
        return Pattern(ANY, "*", (ANY,), "*", (ANY,))
    if pattern.startswith(DOMAIN):
        host, why = _pattern_host(pattern.removeprefix(DOMAIN))
        if why:
            return f"has {why}; write a domain alone, as in `domain:example.com` or `domain:*.example.com`"
        return Pattern(ANY, _allowed_spelling(host), tuple(map(Glob, host_names(host))), "", (ANY,))
    parts = STRICT.fullmatch(pattern)
    if not parts:
        bare = pattern.removeprefix("http:").removeprefix("https:").lstrip("/")
        return f"does not start with a scheme and `://`; write `https://{bare}`, or `*://{bare}` for any scheme"
    scheme, authority = parts[1].lower(), parts[2]
    if "@" in authority:
        return "has user information, which no URL may have; a deny rule without it looks through it"
    host, port = (authority[:-2], "*") if authority.endswith(":*") else host_and_port(authority)
    host, why = _pattern_host(host)
    if scheme == "file" and not host:
        why = ""
    if why := why or ("" if port == "*" else port_doubt(port)):
        return f"has {why}"
    path = "/*" if host == "*" and not parts[3] else parts[3] or ("/" if parts.end(3) < len(pattern) else "")
    if resolved(normal(path)) != normal(path):
        return "has `.` or `..` in its path; no path has them once it is read"
    return Pattern(
        Glob(scheme),
        _allowed_spelling(host),
        tuple(map(Glob, host_names(host))),
        port or "",
        _globs(path or None),
        _globs(parts[4]),
        _globs(parts[5]),
    )


def _pattern_host(host: str) -> tuple[str, str]:
    """The host of a pattern in lower case, each run of stars as one, and what is wrong with it or ""."""
    host = re.sub(r"\*+", "*", host.lower().removesuffix("."))
    return host, host_doubt(relabelled(host, idna_direct).replace("*", "x"))


def _allowed_spelling(host: str) -> str:
    """The host as the strict reading spells it; empty where it is not clear which name it stands for."""
    if host.isascii():
        return canonical(host)
    mapped = relabelled(host, idna_mapped)
    return mapped if mapped == relabelled(host, idna_direct) and "*" not in host else ""


def _globs(text: str | None) -> tuple[Glob, ...]:
    return () if text is None else tuple(map(Glob, dict.fromkeys((normal(text), normal(decoded(text))))))


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
