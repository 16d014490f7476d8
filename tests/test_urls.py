"""URL rules: the one strict reading that allow sees, every reading that deny sees, and the patterns that meet them."""

import json
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_gate.model import Effect
from mcp_gate.policy.urls import domain_matches, pattern_problem, read_url, url_matches

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
CORPUS = Path(__file__).parents[1] / "../shared/corpora/url.jsonl"
PYTHON = "https://docs.python.org/*"
REPO = "https://github.com/o/r/*"
SUBS = "https://*.example.com/*"
EVIL = "https://evil.com/*"


def decided(
    value: object, *, allow: tuple[str, ...] = (), deny: tuple[str, ...] = (), ask: tuple[str, ...] = ()
) -> Effect:
    """What rules about one argument come to: deny, then ask, then allow, else ask."""
    url = read_url(value)
    for effect, patterns in ((DENY, deny), (ASK, ask), (ALLOW, allow)):
        if any(url_matches(pattern, url, effect) for pattern in patterns):
            return effect
    return ASK


def cases() -> list[Any]:
    if not CORPUS.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason="../shared/corpora/url.jsonl is not here"))]
    lines = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
    return [pytest.param(case, id=case["id"]) for case in lines]


@pytest.mark.parametrize("case", cases())
def test_every_case_of_the_corpus_is_decided_as_expected(case: dict[str, Any]) -> None:
    rules = {
        effect: tuple(rule.partition("(url=")[2].removesuffix(")") for rule in case["rules"][effect])
        for effect in ("deny", "ask", "allow")
    }
    assert not any(pattern_problem(pattern) for patterns in rules.values() for pattern in patterns)
    assert decided(case["arguments"]["url"], **rules) == case["expected"], case["why"]


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (PYTHON, "https://docs.python.org/"),
        (PYTHON, "https://docs.python.org?q=1"),
        (PYTHON, "https://docs.python.org#top"),
        (PYTHON, "HTTPS://DOCS.Python.ORG/3/"),
        (PYTHON, "https://docs.python.org/a/@b?c=d@e"),
        (PYTHON, "https://docs.python.org/?next=https://evil.com/"),
        (PYTHON, "https://docs.python.org/a/../b"),
        (PYTHON, "https://docs.python.org/a//b"),
        (PYTHON, "https://docs.python.org/a%20b"),
        (PYTHON, "https://docs.python.org/\u00e4"),
        (PYTHON, "https://docs.python.org/3/?q=a%2fb%0a"),
        ("HTTPS://Docs.Python.org/*", "https://docs.python.org/3"),
        ("https://docs.python.org./*", "https://docs.python.org/3"),
        (REPO, "https://github.com/o/r/"),
        (REPO, "https://github.com/%6f/r/x"),
        (REPO, "https://github.com/o/x/../r/y"),
        (REPO, "https://github.com/../o/./r/x"),
        ("https://x.org/a%20b", "https://x.org/a%20b"),
        ("https://x.org/\u00e4", "https://x.org/%c3%A4"),
        ("https://x.org/%C3%A4", "https://x.org/\u00e4"),
        ("https://x.org/%7euser", "https://x.org/~user"),
        ("https://x.org/a{b}", "https://x.org/a%7Bb%7d"),
        ("https://x.org/a\\*", "https://x.org/a*"),
        ("https://x.org/*/c", "https://x.org/a/b/c"),
        ("https://x.org/**/c", "https://x.org/a/b/c"),
        ("https://x.org/*.pdf", "https://x.org/a/b.pdf"),
        ("https://x.org", "https://x.org"),
        ("https://x.org", "https://x.org/"),
        ("https://x.org", "https://x.org?"),
        ("https://x.org/s?q=*", "https://x.org/s?q=a&b#c"),
        ("https://x.org/s?q=1", "https://x.org/s?q=1"),
        ("https://x.org?q=1", "https://x.org/?q=1"),
        ("https://x.org/s#*", "https://x.org/s#top"),
        ("https://x.org/*#top", "https://x.org/s?q#top"),
        (SUBS, "https://a.example.com/"),
        (SUBS, "https://a.b.c.example.com/x"),
        ("https://**.example.com/*", "https://a.example.com/x"),
        ("https://api-*.example.com/*", "https://api-1.example.com/x"),
        ("https://api.*.example.com/*", "https://api.eu.example.com/x"),
        ("https://*.s3.*.aws.com/*", "https://a.b.s3.eu.aws.com/x"),
        ("https://*", "https://any.org/x?y#z"),
        ("https://*/*", "https://any.org/x?y#z"),
        ("https://*:*", "https://any.org:8443/x"),
        ("https://*:8443", "https://any.org:8443/x"),
        ("*", "http://any.org:8443/x?y#z"),
        ("*://x.org/*", "http://x.org/"),
        ("http*://x.org/*", "https://x.org/"),
        ("http://localhost:8080/*", "http://localhost:8080/health"),
        ("http://localhost:*/*", "http://localhost:65535/health"),
        ("http://localhost:*/*", "http://localhost/health"),
        ("http://x.org:80/*", "http://x.org/a"),
        ("http://x.org/*", "http://x.org:80/a"),
        ("ftp://x.org/*", "ftp://x.org:21/a"),
        ("git://x.org/*", "git://x.org/a"),
        ("http://127.0.0.1/*", "http://127.0.0.1/a"),
        ("http://10.0.0.*/*", "http://10.0.0.7/a"),
        ("http://[::1]/*", "http://[0:0:0:0:0:0:0:1]/a"),
        ("http://[0::0001]:8080/*", "http://[::1]:8080/a"),
        ("http://[::1]:*/*", "http://[::1]:8080/a"),
        ("https://b\u00fccher.de/*", "https://xn--bcher-kva.de/"),
        ("https://xn--bcher-kva.de/*", "https://XN--bcher-kva.de/"),
    ],
)
def test_an_allow_rule_matches_what_it_spells(pattern: str, value: str) -> None:
    assert pattern_problem(pattern) == ""
    assert read_url(value).doubt == ""
    assert decided(value, allow=(pattern,)) is ALLOW
    assert decided(value, allow=(pattern,), deny=(pattern,)) is DENY
    assert decided(value, allow=(pattern,), ask=(pattern,)) is ASK


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (PYTHON, "https://docs.python.org.evil.com/3/"),
        (PYTHON, "https://evil-docs.python.org/"),
        (PYTHON, "https://x.docs.python.org/"),
        (PYTHON, "https://python.org/docs"),
        (PYTHON, "https://docs-python.org/"),
        (PYTHON, "https://xn--docs-python.org/"),
        (PYTHON, "https://docs.python.org:80/"),
        (PYTHON, "https://docs.python.org:8443/"),
        ("http://docs.python.org/*", "http://docs.python.org:443/"),
        ("http://docs.python.org/*", "https://docs.python.org/"),
        ("https://x.org:8443/*", "https://x.org/"),
        ("https://*", "https://x.org:8443/"),
        (REPO, "https://github.com/o/r"),
        (REPO, "https://github.com/o/rx/y"),
        (REPO, "https://github.com/O/r/y"),
        (REPO, "https://github.com/o/r/../x"),
        (REPO, "https://github.com/o/r/.."),
        (REPO, "https://github.com/o/r/.%2e/x"),
        (REPO, "https://github.com//o/r/y"),
        (REPO, "https://github.com/x?/o/r/y"),
        (REPO, "https://github.com/x#/o/r/y"),
        ("https://x.org", "https://x.org/a"),
        ("https://x.org", "https://x.org/?q"),
        ("https://x.org/a", "https://x.org/a?q"),
        ("https://x.org/a", "https://x.org/a#f"),
        ("https://x.org/a", "https://x.org/a/"),
        ("https://x.org/*.pdf", "https://x.org/a?b.pdf"),
        ("https://x.org/*.pdf", "https://x.org/a.pdf?b"),
        ("https://x.org/s?q=*", "https://x.org/s"),
        ("https://x.org/s?q=1", "https://x.org/s?q=12"),
        ("https://x.org/s?q=1", "https://x.org/s?q=1#f"),
        ("https://x.org/s*?q=1", "https://x.org/st?q=1#f"),
        ("https://x.org/s*?q=1", "https://x.org/st"),
        ("https://x.org/a\\*", "https://x.org/ab"),
        ("https://x.org/a\\*", "https://x.org/a*?q"),
        (SUBS, "https://example.com/"),
        (SUBS, "https://evilexample.com/"),
        (SUBS, "https://a.example.com.evil.com/"),
        (SUBS, "https://evil.com#.example.com/"),
        (SUBS, "https://evil.com?.example.com/"),
        (SUBS, "https://evil.com:x.example.com/"),
        (SUBS, "https://.example.com/"),
        (SUBS, "https://a..example.com/"),
        ("https://docs.python.org*", "https://docs.python.org.evil.com/"),
        ("https://docs.python.org*", "https://docs.python.org/3"),
        ("https://api-*.example.com/*", "https://api-1.x.example.com/"),
        ("https://a*.com/*", "https://a.evil.com/"),
        ("https://api.*.example.com/*", "https://api.a.b.example.com/"),
        ("http://10.0.0.*/*", "http://10.0.0.evil/"),
        ("http://10.0.0.*/*", "http://10.0.0.com/"),
        ("http://10.*/*", "http://10.0.0.1/"),
        ("http://127.0.0.1/*", "http://[::ffff:127.0.0.1]/"),
        ("*", "ftp://x.org/"),
        ("*://x.org/*", "ftp://x.org/"),
        ("http*://x.org/*", "httpx://x.org/"),
        ("https://stra\u00dfe.de/*", "https://strasse.de/"),
        ("https://stra\u00dfe.de/*", "https://xn--strae-oqa.de/"),
        ("https://b*\u00fccher.de/*", "https://xn--b*cher-kva.de/"),
        ("file:///*", "https://x.org/"),
    ],
)
def test_an_allow_rule_leaves_the_rest_to_a_question(pattern: str, value: str) -> None:
    assert pattern_problem(pattern) == ""
    assert decided(value, allow=(pattern,)) is ASK


DOUBTS: list[tuple[object, str]] = [
    ("https://evil.com/" + "a" * 8192, "is longer than 8192 characters"),
    (" https://evil.com/", "holds a blank"),
    ("https://evil.com/ ", "holds a blank"),
    ("https://evil.com/a b", "holds a blank"),
    ("https://evil.com /", "holds a blank"),
    ("\thttps://evil.com/", "holds a blank"),
    ("https://ev\til.com/", "holds a blank"),
    ("htt\nps://evil.com/", "holds a blank"),
    ("https://evil.com/\r\n", "holds a blank"),
    ("https://evil.com/\u00a0", "holds a blank"),
    ("\u2003https://evil.com/", "holds a blank"),
    ("https://good.org/ https://evil.com/", "holds a blank"),
    ("https://evil.com\n.good.org/", "holds a blank"),
    ("https://evil.com\x00.good.org/", "holds U+0000, a control character"),
    ("\x01https://evil.com/", "holds U+0001, a control character"),
    ("https://evil.com/\x7f", "holds U+007F, a control character"),
    ("https://ev\u200bil.com/", "holds U+200B, an invisible character"),
    ("\ufeffhttps://evil.com/", "holds U+FEFF, an invisible character"),
    ("https://evil.com/\u202e", "holds U+202E, an invisible character"),
    ("https://ev\u00adil.com/", "holds U+00AD, an invisible character"),
    ("https://evil.com/\ud800", "holds U+D800, half a character"),
    ("https://evil.com/\ue000", "holds U+E000, a private-use character"),
    ("https:\\\\evil.com\\x", "holds a backslash"),
    ("https://evil.com\\@good.org/", "holds a backslash"),
    ("https://good.org\\@evil.com/", "holds a backslash"),
    ("https:/\\evil.com/", "holds a backslash"),
    ("https://evil.com/a\\b", "holds a backslash"),
    ("evil.com", "does not start with a scheme and `://`"),
    ("evil.com/x", "does not start with a scheme and `://`"),
    ("evil.com:443/x", "does not start with a scheme and `://`"),
    ("evil.com:/x", "does not start with a scheme and `://`"),
    ("user:pw@evil.com/", "does not start with a scheme and `://`"),
    ("//evil.com/x", "does not start with a scheme and `://`"),
    ("https:evil.com/x", "does not start with a scheme and `://`"),
    ("https:/evil.com/x", "does not start with a scheme and `://`"),
    ("://evil.com", "does not start with a scheme and `://`"),
    ("<https://evil.com/>", "does not start with a scheme and `://`"),
    ("url:https://evil.com/", "does not start with a scheme and `://`"),
    ("blob:https://evil.com/x", "does not start with a scheme and `://`"),
    ("https%3A%2F%2Fevil.com%2Fx", "does not start with a scheme and `://`"),
    ("\uff48ttps://evil.com/", "does not start with a scheme and `://`"),
    ("https:///evil.com/x", "has no host"),
    ("https:////evil.com/x", "has no host"),
    ("https://u@evil.com/", "has user information"),
    ("https://u:p@evil.com:8443/", "has user information"),
    ("https://@evil.com/", "has user information"),
    ("https://good.org@evil.com/", "has user information"),
    ("https://good.org:443@evil.com/", "has user information"),
    ("https://u@evil.com@good.org/", "has user information"),
    ("https://u@good.org@evil.com/", "has user information"),
    ("https://good.org#@evil.com/", "has user information"),
    ("https://good.org?@evil.com/", "has user information"),
    ("https://good.org%40evil.com/", "has an encoded host"),
    ("https://evil%2ecom/", "has an encoded host"),
    ("https://%65vil.com/", "has an encoded host"),
    ("https://%2565vil.com/", "has an encoded host"),
    ("https://evil.com%2f.good.org/", "has an encoded host"),
    ("https://evil.com%00.good.org/", "has an encoded host"),
    ("https://evil.com%20/", "has an encoded host"),
    ("https://\uff45\uff56\uff49\uff4c.com/", "has a host that is not ASCII"),
    ("https://evil\u3002com/", "has a host that is not ASCII"),
    ("https://evil\uff0ecom/", "has a host that is not ASCII"),
    ("https://ev\u2170l.com/", "has a host that is not ASCII"),
    ("https://evil.com\uff0fx", "has a host that is not ASCII"),
    ("https://evil.com./", "has a host that ends with a dot"),
    ("https://evil.com../", "has a host that ends with a dot"),
    ("https://evil.com.:443/", "has a host that ends with a dot"),
    ("https://evil.com:/", "has a port that is no number to 65535"),
    ("https://evil.com:x/", "has a port that is no number to 65535"),
    ("https://evil.com:0443/", "has a port that is no number to 65535"),
    ("https://evil.com:65536/", "has a port that is no number to 65535"),
    ("https://evil.com:\uff14\uff14\uff13/", "has a port that is no number to 65535"),
    ("https://evil.com:443:80/", "has a port that is no number to 65535"),
    ("https://evil.com:-1/", "has a port that is no number to 65535"),
    ("https://evil.com:" + "9" * 5000 + "/", "has a port that is no number to 65535"),
    ("https://evil.com/a%2fb", "has an encoded slash in its path"),
    ("https://evil.com/a%2Fb", "has an encoded slash in its path"),
    ("https://evil.com/a%5cb", "has an encoded slash in its path"),
    ("https://evil.com/a%252fb", "has an encoded slash in its path"),
    ("https://evil.com/a%00", "has an encoded control character in its path"),
    ("https://evil.com/a%0a", "has an encoded control character in its path"),
    ("https://evil.com/a%0D%0Ab", "has an encoded control character in its path"),
    ("https://evil.com/a%7F", "has an encoded control character in its path"),
    ("https://evil.com/%252e%252E/", "has a dot that is encoded twice in its path"),
    ("https://evil.com/a%", "has a `%` that encodes nothing in its path"),
    ("https://evil.com/a%u002f", "has a `%` that encodes nothing in its path"),
    ("https://evil.com/a%c0%ae", "has U+DCC0, half a character, encoded in its path"),
    ("https://evil.com/a%e2%80%ae", "has U+202E, an invisible character, encoded in its path"),
    ("https://evil.com/a%c2%80", "has U+0080, a control character, encoded in its path"),
    ("https://evil.com/a/..;/b", "has a dot segment with a parameter in its path"),
    ("https://evil.com/a/%2e.;x/b", "has a dot segment with a parameter in its path"),
    ("https://evil.com/a//../b", "has `..` and `//` in its path"),
    ("https://evil.com/a//%2e%2e/b", "has `..` and `//` in its path"),
    (["https://evil.com/"], "is not a string"),
    (("https://good.org/", ["https://evil.com/"]), "is not a string"),
    ({"url": "https://evil.com/"}, "is not a string"),
]


@pytest.mark.parametrize(("value", "doubt"), DOUBTS)
def test_a_value_in_doubt_is_never_allowed_and_deny_looks_through_it(value: object, doubt: str) -> None:
    assert read_url(value).doubt == doubt
    assert decided(value, allow=("*", "*://*:*", "https://*:*/*", "https://evil.com/*", "https://good.org/*")) is ASK
    assert decided(value, allow=("*",), deny=(EVIL,)) is DENY
    assert decided(value, deny=("https://other.org/*", "https://*.evil.com/*", "ftp://evil.com/*")) is ASK
    assert decided(value, deny=("*",)) is DENY


@pytest.mark.parametrize(
    ("value", "doubt"),
    [
        ("", "is empty"),
        ("*://docs.python.org/", "does not start with a scheme and `://`"),
        ("https://", "has no host"),
        ("https://:443/", "has no host"),
        ("file:///etc/passwd", "has no host"),
        ("https://-a-.org,b/", "has a host that is no name"),
        ("https://a..b/", "has a host that is no name"),
        ("https://.a.b/", "has a host that is no name"),
        ("https://*.a.b/", "has a host that is no name"),
        ("https://a[::1]/", "has a host that is no name"),
        ("https://" + "a" * 64 + ".org/", "has a host that is no name"),
        ("https://" + "a." * 127 + "org/", "has a host that is no name"),
        ("https://docs.p\u0443thon.org/", "has a host that is not ASCII"),
        ("https://[::1/", "has a host that is no IPv6 address"),
        ("https://[::1]x/", "has a host that is no IPv6 address"),
        ("https://[[::1]]/", "has a host that is no IPv6 address"),
        ("https://[127.0.0.1]/", "has a host that is no IPv6 address"),
        ("https://[v1.x]/", "has a host that is no IPv6 address"),
        ("https://[fe80::1%25eth0]/", "has an encoded host"),
        ("https://1.2.3.4.5/", "has a host that spells an address in an odd way"),
        ("https://256.0.0.1/", "has a host that spells an address in an odd way"),
        ("https://a.0x1/", "has a host that spells an address in an odd way"),
        ("https://a.7/", "has a host that spells an address in an odd way"),
        ("javascript:alert(1)", "does not start with a scheme and `://`"),
        ("data:text/html,x", "does not start with a scheme and `://`"),
        ("mailto:a@docs.python.org", "does not start with a scheme and `://`"),
        (None, "is not a string"),
        (5, "is not a string"),
        (True, "is not a string"),
        ([], "is not a string"),
        (b"https://x.org/", "is not a string"),
    ],
)
def test_a_value_that_is_no_url_is_never_allowed(value: object, doubt: str) -> None:
    assert read_url(value).doubt == doubt
    assert decided(value, allow=("*", "*://*:*", "https://*:*", PYTHON, "file:///*")) is ASK
    assert decided(value, allow=("*",), deny=("*",)) is DENY


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0X7F.1", "0x7f.0x0.0x0.0x1", "017700000001", "0177.0.0.1", "127.1", "127.0.1"),
        *("127.000.000.001", "0127.0.0.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
        *("[64:ff9b::7f00:1]", "[::ffff:127.0.0.1%25lo]", "\u2460\u2461\u2466.0.0.1", "127\u30020\u30020\u30021"),
        *("%3127.0.0.1", "u:p@127.0.0.1", "127.0.0.1:", "::ffff:127.0.0.1"),
    ],
)
def test_deny_reads_every_spelling_of_an_address_and_allow_none(host: str) -> None:
    value = f"http://{host}/x"
    for pattern in ("http://127.0.0.1/*", "http://127.*/*", "http://[::ffff:127.0.0.1]/*", "domain:127.0.0.1"):
        assert pattern_problem(pattern) == ""
        assert decided(value, deny=(pattern,)) is DENY
    assert decided(value, deny=("http://127.0.0.2/*", "http://10.0.0.1/*")) is ASK
    assert decided(value, allow=("http://127.0.0.1/*",)) is ASK


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (EVIL, "https://evil.com"),
        (EVIL, "https://evil.com:8443/x?y#z"),
        ("https://evil.com", "https://evil.com/any/path?query"),
        ("https://evil.com:8443/*", "https://evil.com:8443/"),
        ("https://evil.com:443/*", "https://evil.com/"),
        ("https://evil.com:443/*", "https://evil.com:/"),
        ("https://evil.com:443/*", "https://evil.com:00443/"),
        ("https://evil.com:443/*", "https://evil.com:x/"),
        ("https://evil.com:443/*", "https://evil.com:65979/"),
        ("https://*.evil.com/*", "https://a.b.evil.com/"),
        ("https://*.evil.com/*", "https://a.b.evil.com./"),
        ("https://a*.com/*", "https://a.evil.com/"),
        ("https://*evil*", "https://a.evil.com/x"),
        ("*://evil.com/*", "gopher://evil.com/x"),
        ("file:///*", "file:///etc/passwd"),
        ("file:///etc/*", "file:///etc/passwd"),
        ("file:///etc/*", "file:/etc/passwd"),
        ("file:///etc/*", "FILE:////etc//passwd"),
        ("file://*", "file:///etc/passwd"),
        ("https://x.org/admin", "https://x.org/admin?q#f"),
        ("https://x.org/admin", "https://x.org/admin/"),
        ("https://x.org/admin/*", "https://x.org/admin"),
        ("https://x.org/admin/*", "https://x.org/a/../admin/x"),
        ("https://x.org/admin/*", "https://x.org/admin/../a"),
        ("https://x.org/admin/*", "https://x.org/%61dmin/x"),
        ("https://x.org/admin/*", "https://x.org/%2561dmin/x"),
        ("https://x.org/admin/*", "https://x.org//admin/x"),
        ("https://x.org/admin/*", "https://x.org/a/..%2fadmin/x"),
        ("https://x.org/admin/*", "https://x.org/a/..%5Cadmin/x"),
        ("https://x.org/admin/*", "https://x.org\\admin\\x"),
        ("https://x.org/admin/*", "https://x.org/a/..;/admin;v=1/x"),
        ("https://x.org/admin/*", "https://x.org/./admin%2fx"),
        ("https://x.org/a%2fb", "https://x.org/a%2Fb"),
        ("https://x.org/a%2fb", "https://x.org/a/b"),
        ("https://x.org/a%3ab", "https://x.org/a:b"),
        ("https://x.org/a%20b", "https://x.org/a b"),
        ("https://x.org/s?admin=*", "https://x.org/s?%61dmin=1#f"),
        ("https://x.org/s#top", "https://x.org/s?q#top"),
        ("https://b\u00fccher.de/*", "https://xn--bcher-kva.de/"),
        ("https://xn--bcher-kva.de/*", "https://b\u00fccher.de/"),
        ("https://xn--bcher-kva.de/*", "https://B\u00dcCHER.de/"),
        ("https://b\u00fccher.de/*", "https://b%C3%BCcher.de/"),
        ("https://stra\u00dfe.de/*", "https://xn--strae-oqa.de/"),
        ("https://stra\u00dfe.de/*", "https://strasse.de/"),
        ("https://strasse.de/*", "https://stra\u00dfe.de/"),
        ("https://*.b\u00fccher.de/*", "https://a.xn--bcher-kva.de/"),
        ("https://*\u00fccher.de/*", "https://xn--bcher-kva.de/"),
        ("http://[::1]/*", "http://[0::0:1]/"),
        ("http://[::1]/*", "http://[::1%25lo]:8080/"),
        ("http://127.0.0.1/*", "127.0.0.1:8080/x"),
        ("https://localhost/*", "localhost:8080/x"),
    ],
)
def test_a_deny_rule_over_matches(pattern: str, value: str) -> None:
    assert pattern_problem(pattern) == ""
    assert decided(value, allow=("*",), deny=(pattern,)) is DENY
    assert decided(value, allow=("*",), ask=(pattern,)) is ASK


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (EVIL, "https://notevil.com/"),
        (EVIL, "https://evil.com.good.org/"),
        (EVIL, "https://good.org/evil.com/"),
        (EVIL, "https://good.org/?https://evil.com/"),
        (EVIL, "https://good.org/@evil.com/"),
        (EVIL, "http://evil.com/"),
        ("https://*.evil.com/*", "https://evil.com/"),
        ("https://*.evil.com/*", "https://evil.com./"),
        ("https://evil.com:443/*", "https://evil.com:8443/"),
        ("https://evil.com/", "https://evil.com/x"),
        ("https://x.org/admin/*", "https://x.org/administrator"),
        ("https://x.org/admin/*", "https://x.org/Admin/x"),
        ("https://x.org/s?admin=*", "https://x.org/s"),
        ("https://x.org/s#top", "https://x.org/s"),
        ("https://*", "file:///etc/passwd"),
        ("https://*", "ftp://x.org/"),
        ("https://*", "javascript:alert(1)"),
        ("https://*", ""),
        ("https://*", 5),
    ],
)
def test_a_deny_rule_leaves_out_what_it_does_not_spell(pattern: str, value: object) -> None:
    assert decided(value, deny=(pattern,), ask=(pattern,)) is ASK
    assert not url_matches(pattern, read_url(value), DENY)


@pytest.mark.parametrize(
    ("pattern", "value", "allowed", "denied"),
    [
        ("example.com", "https://example.com/any?q#f", True, True),
        ("example.com", "http://EXAMPLE.com", True, True),
        ("Example.COM.", "https://example.com/", True, True),
        ("example.com", "https://example.com:8443/", False, True),
        ("example.com", "ftp://example.com/", False, True),
        ("example.com", "https://example.com./", False, True),
        ("example.com", "https://u@example.com/", False, True),
        ("example.com", "example.com/x", False, True),
        ("example.com", "https://a.example.com/", False, False),
        ("example.com", "https://example.com.evil.com/", False, False),
        ("example.com", "https://evil.com/example.com", False, False),
        ("*.example.com", "https://a.b.example.com/", True, True),
        ("*.example.com", "https://example.com/", False, False),
        ("*.example.com", "https://notexample.com/", False, False),
        ("a*.example.com", "https://ab.example.com/", True, True),
        ("a*.example.com", "https://a.b.example.com/", False, True),
        ("example.*", "https://example.org/", True, True),
        ("example.*", "https://example.co.uk/", False, True),
        ("*", "https://any.org/x", True, True),
        ("*", "https://any.org:8443/x", False, True),
        ("[::1]", "http://[0::1]/", True, True),
        ("example.com/x", "https://example.com/x", False, False),
    ],
)
def test_a_domain_is_compared_with_the_host_alone(pattern: str, value: str, allowed: bool, denied: bool) -> None:
    url = read_url(value)
    for spelled in (pattern, f"domain:{pattern}"):
        matched = [domain_matches(spelled, url, effect) for effect in (ALLOW, ASK, DENY)]
        assert matched == [allowed, denied, denied]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "is empty"),
        (" https://x.org/*", "holds a blank"),
        ("https://x.org/a b", "holds a blank"),
        ("https://x.org/\n", "holds a blank"),
        ("https://x.org/\u200b", "holds U+200B, an invisible character"),
        ("https:\\\\x.org\\*a", "holds a backslash"),
        ("x.org/*", "does not start with a scheme and `://`; write `https://x.org/*`, or `*://x.org/*`"),
        ("//x.org/*", "does not start with a scheme and `://`; write `https://x.org/*`"),
        ("*.x.org", "does not start with a scheme and `://`; write `https://*.x.org`"),
        ("https:x.org", "does not start with a scheme and `://`; write `https://x.org`"),
        ("https://u@x.org/*", "has user information, which no URL may have"),
        ("https:///x.org/*", "has no host"),
        ("https://", "has no host"),
        ("https://%78.org/*", "has an encoded host"),
        ("https://x..org/*", "has a host that is no name"),
        ("https://x.org../*", "has a host that ends with a dot"),
        ("https://[::1/*", "has a host that is no IPv6 address"),
        ("https://127.1/*", "has a host that spells an address in an odd way"),
        ("https://*.1/*", "has a host that spells an address in an odd way"),
        ("https://x.org:/*", "has a port that is no number to 65535"),
        ("https://x.org:8*/*", "has a port that is no number to 65535"),
        ("https://x.org:65536/*", "has a port that is no number to 65535"),
        ("https://x.org/a/../b", "has `.` or `..` in its path"),
        ("https://x.org/*/%2e%2e/b", "has `.` or `..` in its path"),
        ("domain:", "has no host; write a domain alone"),
        ("domain:https://x.org", "has a host that is no name; write a domain alone"),
        ("domain:x.org/a", "has a host that is no name; write a domain alone"),
        ("domain:x.org:80", "has a host that is no name; write a domain alone"),
        ("domain:u@x.org", "has a host that is no name; write a domain alone"),
        ("domain:x org", "holds a blank"),
    ],
)
def test_a_pattern_that_cannot_match_says_why_and_matches_nothing(pattern: str, problem: str) -> None:
    assert pattern_problem(pattern).startswith(problem)
    for value in ("https://x.org/a", "https://x.org/b", "https://127.0.0.1/", "https://[::1]/", pattern):
        assert not any(url_matches(pattern, read_url(value), effect) for effect in Effect)


LABELS = st.text("abz09-_", min_size=1, max_size=6)
HOSTS = st.lists(LABELS, min_size=1, max_size=4).map(lambda labels: ".".join([*labels, "org"]))
TAILS = st.sampled_from(("", "/", "/a/b", "/a/../b", "/%61", "/a%2fb", "/?q=1", "?q=@", "#f", "/a//../b", "/\u00e4"))
SIGNS = [*"/:@?#.\\%*[]", "//", "://", "https", "http", "evil", "com", "%2e", "%2f", "%25", "127", "0x", "::1", "xn--"]
ODD = ["\u00fc", "\u200b", "\u3002", "\t", " ", "\x00", "\ud800", "99999"]
PIECES = st.lists(st.sampled_from(SIGNS + ODD), max_size=14)
TEXTS = PIECES.map("".join) | st.text(max_size=40) | PIECES.map(lambda pieces: "https://" + "".join(pieces))
NESTED: st.SearchStrategy[Any] = st.recursive(
    TEXTS | st.none() | st.integers() | st.floats(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@given(value=NESTED, pattern=TEXTS)
def test_nothing_raises_and_what_is_allowed_is_also_denied(value: object, pattern: str) -> None:
    url = read_url(value)
    assert (url.strict is None) == bool(url.doubt)
    for matches in (url_matches, domain_matches):
        if matches(pattern, url, ALLOW):
            assert not url.doubt
            assert matches(pattern, url, DENY)
            assert matches(pattern, url, ASK)
    if pattern_problem(pattern):
        assert not any(url_matches(pattern, url, effect) for effect in Effect)


@given(host=HOSTS, tail=TAILS)
def test_disguises_of_a_host_never_turn_deny_into_allow(host: str, tail: str) -> None:
    deny, allow = (f"https://{host}",), ("*", "https://*:*/*", f"https://{host}/*")
    disguises = (f"u@{host}", f"u:p@{host}", f"{host}.", host.upper(), f"{host}:443", f"{host}:", f"x@y@{host}")
    wide = host.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)})
    for spelled in (host, *disguises, wide, host.replace("o", "%6f"), f"{host}\\"):
        for start in ("https://", "HTTPS://", "https:/", "https:", "https:///", "//", "https:\\\\", " https://", ""):
            assert decided(start + spelled + tail, deny=deny, allow=allow) is DENY


@given(host=HOSTS, other=TEXTS)
def test_what_is_allowed_has_the_host_that_the_rule_spells(host: str, other: str) -> None:
    for value in (f"https://{host}{other}", f"https://{other}{host}/", f"https://{other}@{host}", other):
        if decided(value, allow=(f"https://{host}/*",)) is ALLOW:
            parts = urlsplit(value)
            assert (parts.scheme, parts.hostname, parts.port or 443) == ("https", host, 443)
            assert parts.username is None


@given(segments=st.lists(st.sampled_from(("a", "b", "..", ".", "%2e%2e", "%2E.", "%61", "x")), max_size=8))
def test_a_path_is_allowed_only_where_it_ends_up_inside(segments: list[str]) -> None:
    path = ["a", *segments, "f"]
    done: list[str] = []
    for segment in (part.replace("%2e", ".").replace("%2E", ".").replace("%61", "a") for part in path):
        if segment == "..":
            del done[-1:]
        elif segment != ".":
            done.append(segment)
    inside = done[0] == "a" and len(done) > 1
    spelled = "https://x.org/" + "/".join(path)
    assert (decided(spelled, allow=("https://x.org/a/*",)) is ALLOW) == inside
    if inside:
        assert decided(spelled, deny=("https://x.org/a/*",)) is DENY


@pytest.mark.parametrize(
    "piece",
    [
        *("a.", "a:", "@a", "a://b ", "../", "/;", "%25", "\\", '"', "0.", "0", "\u00e9", "\u00e9.", "xn--a."),
        *("\u200b", "\ufdfa", "[::", "]:", "a=b&", "*", " a"),
    ],
)
def test_hostile_patterns_and_values_take_no_time_to_speak_of(piece: str) -> None:
    before = perf_counter()
    for start in ("", "https://", "https://x/"):
        url = read_url(start + piece * 30_000)
        assert url.doubt.startswith(("is longer than", "holds"))
        assert not url_matches("https://" + "*a" * 60 + "b/" + "*c" * 1000 + "d", url, DENY)
    assert perf_counter() - before < 3
