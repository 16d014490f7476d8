"""Path rules: every reading of a value, and the patterns that meet them."""

import json
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_gate.model import Effect
from mcp_gate.policy.paths import Place, Readings, path_matches, pattern_problem, read_path

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY
CORPUS = Path(__file__).parents[1] / "../shared/corpora/path.jsonl"
LINKS = {
    "/home/u/project/link": "/etc",
    "/home/u/project/in": "src",
    "/home/u/project/up": "../.ssh",
    "/home/u/p": "/home/u/project",
    "/home/u/project/loop": "loop",
    "/home/u/project/ping": "pong",
    "/home/u/project/pong": "./ping",
    "/home/u/project/f.txt": "/home/u/.ssh/id_rsa",
    "/home/u/project/twice": "in/../link",
    "/home/u/project/self": ".",
    "/home/u/project/root": "//",
    "/tmp": "private/tmp",
}
POSIX = Place("/home/u", "/home/u/project")
LINKED = Place("/home/u", "/home/u/project", link=lambda path: LINKS.get(path, ""))
NOWHERE = Place("/home/u")
CASELESS = Place("/home/u", "/home/u/project", ignores_case=True)
WINDOWS = Place("C:\\Users\\u", "C:/Users/u/project", "windows")
WINDOWS_LINKED = Place(
    "C:/Users/u",
    "C:/Users/u/project",
    "windows",
    link=lambda path: {
        "C:/Users/u/project/junction": "\\\\?\\D:\\data",
        "C:/Users/u/project/share": "\\\\?\\UNC\\host\\share",
        "C:/Users/u/project/up": "..\\.ssh",
        "C:/Users/u/project/root": "\\data",
    }.get(path, ""),
)
PROJECT = "/home/u/project/**"
WINDOWS_PROJECT = "C:/Users/u/project/**"
SECRETS = ("/home/u/.ssh/**", "/home/u/project/.env", "**/*.pem")
WINDOWS_SECRETS = ("~/.ssh/**", "C:/Users/u/project/.env", "**/*.pem", "//host/share/**", "D:/data/**")


def decided(
    value: object,
    place: Place,
    *,
    allow: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    uri: bool = False,
) -> Effect:
    """What rules about one argument come to: deny, then ask, then allow, else ask."""
    readings = read_path(value, place, uri=uri)
    for effect, patterns in ((DENY, deny), (ASK, ask), (ALLOW, allow)):
        if any(path_matches(pattern, readings, place, effect) for pattern in patterns):
            return effect
    return ASK


def cases() -> list[Any]:
    if not CORPUS.exists():
        return [pytest.param({}, marks=pytest.mark.skip(reason="../shared/corpora/path.jsonl is not here"))]
    lines = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
    return [pytest.param(case, id=case["id"]) for case in lines]


@pytest.mark.parametrize("case", cases())
def test_every_case_of_the_corpus_is_decided_as_expected(case: dict[str, Any]) -> None:
    fixture = case["fixture"]
    links: dict[str, str] = fixture.get("symlinks", {})
    place = Place(
        fixture.get("home", ""),
        fixture.get("cwd", ""),
        fixture["platform"],
        fixture.get("case_insensitive", False),
        lambda path: links.get(path, ""),
    )
    ((name, value),) = case["arguments"].items()
    rules = {
        effect: tuple(rule.partition(f"({name}=")[2].removesuffix(")") for rule in case["rules"][effect])
        for effect in ("deny", "ask", "allow")
    }
    assert all(all(patterns) for patterns in rules.values())
    assert decided(value, place, uri=name == "uri", **rules) == case["expected"], case["why"]


@pytest.mark.parametrize(
    ("value", "place", "paths"),
    [
        ("/a//b/./c/", POSIX, ["/a/b/c"]),
        ("//a", POSIX, ["/a"]),
        ("/", POSIX, ["/"]),
        ("/../..", POSIX, ["/"]),
        ("/a/..", POSIX, ["/"]),
        ("/a/.../b", POSIX, ["/a/.../b"]),
        (".", POSIX, ["/home/u/project"]),
        ("..", POSIX, ["/home/u"]),
        ("x", POSIX, ["/home/u/project/x"]),
        ("x", Place(cwd="/"), ["/x"]),
        ("~", POSIX, ["/home/u/project/~", "/home/u"]),
        ("~/a", POSIX, ["/home/u/project/~/a", "/home/u/a"]),
        ("~/a", Place("/", "/w"), ["/w/~/a", "/a"]),
        ("~", Place("/", "/w"), ["/w/~", "/"]),
        ("$HOME/a", POSIX, ["/home/u/project/$HOME/a", "/home/u/a"]),
        ("${HOME}", POSIX, ["/home/u/project/${HOME}", "/home/u"]),
        ("/a$HOME/b", POSIX, ["/a$HOME/b", "/a/home/u/b"]),
        ("/r/$id.tsx", POSIX, ["/r/$id.tsx", "/r/.tsx"]),
        ("/a/$/b", POSIX, ["/a/$/b"]),
        ("/a/x~/~", POSIX, ["/a/x~/~"]),
        ("a\\..\\b", POSIX, ["/home/u/project/a\\..\\b", "/home/u/project/b"]),
        ("/a b ", POSIX, ["/a b ", "/a b"]),
        ("/home/u/project/link/../x", LINKED, ["/home/u/project/x", "/x"]),
        ("/home/u/project/twice/x", LINKED, ["/home/u/project/twice/x", "/etc/x"]),
        ("root/x", LINKED, ["/home/u/project/root/x", "/x"]),
        ("self/self/x", LINKED, ["/home/u/project/self/self/x", "/home/u/project/x"]),
        ("c:/users/u", WINDOWS, ["C:/users/u"]),
        ("D:\\", WINDOWS, ["D:/"]),
        ("~\\x", WINDOWS, ["C:/Users/u/project/~/x", "C:/Users/u/x"]),
        ("\\xy", WINDOWS, ["C:/xy"]),
        ("/d/x", WINDOWS, ["C:/d/x", "D:/x"]),
        ("/mnt/d", WINDOWS, ["C:/mnt/d", "D:/"]),
        ("/C:/x", WINDOWS, ["C:/x"]),
        ("a.txt. .", WINDOWS, ["C:/Users/u/project/a.txt. .", "C:/Users/u/project/a.txt"]),
        ("a\\.. \\b", WINDOWS, ["C:/Users/u/project/a/.. /b", "C:/Users/u/project/b"]),
        ("junction\\x", WINDOWS_LINKED, ["C:/Users/u/project/junction/x", "D:/data/x"]),
        ("share/x", WINDOWS_LINKED, ["C:/Users/u/project/share/x", "//host/share/x"]),
        ("up/x", WINDOWS_LINKED, ["C:/Users/u/project/up/x", "C:/Users/u/.ssh/x"]),
        ("root/x", WINDOWS_LINKED, ["C:/Users/u/project/root/x", "C:/data/x"]),
    ],
)
def test_a_value_means_these_paths(value: str, place: Place, paths: list[str]) -> None:
    assert list(read_path(value, place).paths) == paths


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        ("file:///a/b", ["/a/b"]),
        ("FILE:///a/b", ["/a/b"]),
        ("file:///a%20b", ["/a%20b", "/a b"]),
        ("file:///a/%2E./b", ["/a/%2E./b", "/b"]),
        ("file:///a/100%", ["/a/100%"]),
        ("file:///a/%zz%4", ["/a/%zz%4"]),
        ("file:///a/%C3%A9", ["/a/%C3%A9", "/a/é"]),
    ],
)
def test_a_file_uri_means_these_paths(value: str, paths: list[str]) -> None:
    assert read_path(value, POSIX, uri=True) == Readings(tuple(paths))


# A value, its place, what deny rules about secrets say where the whole project is allowed, and a word of the doubt.
@pytest.mark.parametrize(
    ("value", "place", "effect", "doubt"),
    [
        ("", POSIX, ASK, "is empty"),
        ("  ", POSIX, ASK, "is empty"),
        ("\t", POSIX, ASK, "is empty"),
        (None, POSIX, ASK, "is not a string"),
        (7, POSIX, ASK, "is not a string"),
        (True, POSIX, ASK, "is not a string"),
        ([], POSIX, ASK, "is not a string"),
        (["/home/u/project/a"], POSIX, ASK, "is not a string"),
        (["/home/u/project/a", "~/.ssh/id_rsa"], POSIX, DENY, "is not a string"),
        ({"path": "src/key.pem"}, POSIX, DENY, "is not a string"),
        ([["src/key.pem"], 3], POSIX, ASK, "is not a string"),
        ("/home/u/project/a\0", POSIX, ASK, "U+0000"),
        ("/home/u/.ssh/id_rsa\0.txt", POSIX, DENY, "U+0000"),
        ("/home/u/project/.env\0.txt", POSIX, DENY, "U+0000"),
        ("/home/u/project/.env\n", POSIX, DENY, "U+000A"),
        ("/home/u/.s\u200bsh/id_rsa", POSIX, DENY, "U+200B"),
        ("/home/u/project/\u2066a", POSIX, ASK, "U+2066"),
        ("/home/u/project/\ufeffa", POSIX, ASK, "U+FEFF"),
        ("/home/u/project/\u00ada", POSIX, ASK, "U+00AD"),
        ("/home/u/project/\ue000", POSIX, ASK, "U+E000"),
        ("/home/u/project/\U000e0041", POSIX, ASK, "U+E0041"),
        ("/home/u/project/\ud800", POSIX, ASK, "U+D800"),
        ("/home/u/project/a\u00a0b", POSIX, ASK, "U+00A0"),
        ("/home/u/project/a\u3000b", POSIX, ASK, "U+3000"),
        ("/home/u/project/a\u2028b", POSIX, ASK, "U+2028"),
        ("/home/u/project/a\ufe0f", POSIX, ASK, "U+FE0F"),
        ("/home/u/project/\u3164", POSIX, ASK, "U+3164"),
        ("/home/u/project/" + "a" * 5000, POSIX, ASK, "longer than 4096"),
        ("/home/u/project/" + "./" * 5000 + "../.ssh/x", POSIX, DENY, "longer than 4096"),
        ("/home/u/project/" + "./" * 5000 + "up/x", LINKED, DENY, "longer than 4096"),
        ("/home/u/project/" + "a/" * 50_000 + "key.pem", LINKED, DENY, "longer than 4096"),
        ("~root/.profile", POSIX, ASK, "not known"),
        ("~u/.ssh/id_rsa", POSIX, DENY, "not known"),
        ("~+/a", POSIX, ASK, "not known"),
        ("~/a", Place(cwd="/home/u/project"), ASK, "not known"),
        ("$FOO/a", POSIX, ASK, "not known"),
        ("${FOO}/a", POSIX, ASK, "not known"),
        ("${HOME:-/}/a", POSIX, ASK, "not known"),
        ("$HOMEX/a", POSIX, ASK, "not known"),
        ("$PWD/../.ssh/x", POSIX, DENY, "not known"),
        ("$HOME/a", Place(cwd="/home/u/project"), ASK, "not known"),
        ("src/a.py", NOWHERE, ASK, "is relative"),
        ("src/key.pem", NOWHERE, DENY, "is relative"),
        ("./../key.pem", NOWHERE, DENY, "is relative"),
        ("loop", LINKED, ASK, "too many links"),
        ("loop/a", LINKED, ASK, "too many links"),
        ("ping", LINKED, ASK, "too many links"),
        ("self/" * 41 + "a", LINKED, ASK, "too many links"),
        ("file:///home/u/project/a", POSIX, ASK, "URI"),
        ("file:///home/u/.ssh/id_rsa", POSIX, DENY, "URI"),
        ("FILE:///home/u/%2essh/id_rsa", POSIX, DENY, "URI"),
        (" file:///home/u/.ssh/id_rsa", POSIX, DENY, "URI"),
        ("fi\nle:///home/u/.ssh/id_rsa", POSIX, DENY, "U+000A"),
        ("file:/home/u/.ssh/id_rsa", POSIX, DENY, "URI"),
        ("file:\\\\\\home\\u\\.ssh\\id_rsa", POSIX, DENY, "URI"),
        ("https://example.com/a", POSIX, ASK, "URI"),
    ],
)
def test_a_value_in_doubt_is_never_allowed_but_denied_if_need_be(
    value: object, place: Place, effect: Effect, doubt: str
) -> None:
    assert doubt in read_path(value, place).doubt
    assert decided(value, place, allow=("/**", PROJECT), deny=SECRETS) is effect


@pytest.mark.parametrize(
    ("value", "effect", "doubt"),
    [
        ("/home/u/project/a", ASK, "not a file URI"),
        ("/home/u/.ssh/a", DENY, "not a file URI"),
        ("/home/u/%2essh/a", DENY, "not a file URI"),
        ("", ASK, "is empty"),
        ("https://example.com/a", ASK, "not of the form"),
        ("vscode://file/home/u/.ssh/a", DENY, "not of the form"),
        ("file:/home/u/project/a", ASK, "not of the form"),
        ("file:home/u/project/a", ASK, "not of the form"),
        ("file:////home/u/project/a", ASK, "not of the form"),
        ("file://localhost/home/u/project/a", ASK, "not of the form"),
        ("file://localhost/home/u/.ssh/a", DENY, "not of the form"),
        ("file:/home/u/.ssh/a", DENY, "not of the form"),
        ("file://home/u/.ssh/a", DENY, "not of the form"),
        ("file://~/.ssh/a", DENY, "not of the form"),
        ("file:\\\\\\home\\u\\.ssh\\a", DENY, "not of the form"),
        ("file:///home/u/project/a?x=1", ASK, "query"),
        ("file:///home/u/project/a#x", ASK, "query"),
        ("file:///home/u/project/.env?x=1", DENY, "query"),
        ("file:///home/u/project/.env#x", DENY, "query"),
        ("file:///home/u/project/a%2fb", ASK, "encoded slash"),
        ("file:///home/u/project%2f..%2F.ssh/a", DENY, "encoded slash"),
        ("file:///home/u/project/..%5c.ssh/a", DENY, "encoded slash"),
        ("file:///home/u/project/%252e%252e/.ssh/a", DENY, "encoded twice"),
        ("file:///home/u/project/a%00", ASK, "U+0000"),
        ("file:///home/u/project/.env%00.txt", DENY, "U+0000"),
        ("file:///home/u/project/a%0a", ASK, "U+000A"),
        ("file:///home/u/project/%ff", ASK, "U+DCFF"),
        ("file:///home/u/project/%E2%80%8b", ASK, "U+200B"),
        ("file:///home/u/project/a b", ALLOW, ""),
        ("file:///home/u/project/%61", ALLOW, ""),
        ("file:///home/u/project/%2e%2e/project/a", ALLOW, ""),
        ("file:///home/u/project/%2e%2e/other", ASK, ""),
        ("file:///home/u//project/./a", ALLOW, ""),
        ("file:///home/u/PROJECT/a", ASK, ""),
    ],
)
def test_a_uri_is_decoded_and_odd_ones_are_in_doubt(value: str, effect: Effect, doubt: str) -> None:
    readings = read_path(value, POSIX, uri=True)
    assert doubt in readings.doubt
    assert bool(doubt) is bool(readings.doubt)
    assert decided(value, POSIX, allow=(PROJECT,), deny=SECRETS, uri=True) is effect


@pytest.mark.parametrize(
    ("value", "effect", "doubt"),
    [
        ("a.txt", ALLOW, ""),
        (".\\src\\A.TXT", ALLOW, ""),
        ("~/project/a", ALLOW, ""),
        ("\\users\\u\\project\\a", ALLOW, ""),
        ("a.txt.", ALLOW, ""),
        ("a~.txt", ALLOW, ""),
        ("console.log", ALLOW, ""),
        ("nul-bytes.txt", ALLOW, ""),
        ("com10", ALLOW, ""),
        ("C:/Users/u/project-old/a", ASK, ""),
        ("D:/Users/u/project/a", ASK, ""),
        ("C:/Users/u/project", ASK, ""),
        ("/c/Users/u/project/a", ASK, ""),
        ("C:/Users/u/pro\u212aect/a", ASK, ""),
        ("/c/Users/u/.ssh/a", DENY, ""),
        ("/mnt/c/Users/u/.ssh/a", DENY, ""),
        ("..\\.SSH\\a", DENY, ""),
        ("..\\.ssh. \\a", DENY, ""),
        (".. \\.ssh\\a", DENY, "does not have"),
        ("$HOME\\.ssh\\a", DENY, ""),
        (".ENV ", DENY, ""),
        ("KEY.PEM", DENY, ""),
        ("D:\\data\\x", DENY, ""),
        ("C:a.txt", ASK, "current directory of a drive"),
        ("C:", ASK, "current directory of a drive"),
        ("c:.env", DENY, "current directory of a drive"),
        ("D:data\\x", DENY, "current directory of a drive"),
        ("\\\\?\\C:\\Users\\u\\project\\a", ASK, "device path"),
        ("\\\\.\\C:\\Users\\u\\.ssh\\a", DENY, "device path"),
        ("\\??\\C:\\Users\\u\\.ssh\\a", DENY, "device path"),
        ("//?/C:/Users/u/.ssh/a", DENY, "device path"),
        ("\\\\?\\\\\\?\\C:\\Users\\u\\.ssh\\a", DENY, "device path"),
        ("\\\\?\\UNC\\host\\share\\a", DENY, "device path"),
        ("\\\\.\\pipe\\a", ASK, "device path"),
        ("\\\\other\\share\\a", ASK, "network path"),
        ("\\\\HOST\\share\\a", DENY, "network path"),
        ("//host/share/a", DENY, "network path"),
        ("\\\\localhost\\c$\\Users\\u\\.ssh\\a", DENY, "network path"),
        ("\\\\host", ASK, "network path"),
        ("a.txt:x", ASK, "stream"),
        (".env::$DATA", DENY, "stream"),
        ("..\\.ssh:$I30:$INDEX_ALLOCATION\\a", DENY, "stream"),
        ("LONGNA~1.TXT", ASK, "short name"),
        ("NUL", ASK, "device"),
        ("src\\con.txt", ASK, "device"),
        ("com1 .log", ASK, "device"),
        ("LPT\u00b9", ASK, "device"),
        ("aux\\a", ASK, "device"),
        ("a?b", ASK, "does not have"),
        ("...\\a", ASK, "does not have"),
        ("%USERPROFILE%\\.ssh\\a", DENY, "not known"),
        ("%TEMP%\\a", ASK, "not known"),
        ("file:///C:/Users/u/.ssh/a", DENY, "URI"),
    ],
)
def test_windows_paths(value: str, effect: Effect, doubt: str) -> None:
    readings = read_path(value, WINDOWS)
    assert doubt in readings.doubt
    assert bool(doubt) is bool(readings.doubt)
    assert decided(value, WINDOWS, allow=(WINDOWS_PROJECT,), deny=WINDOWS_SECRETS) is effect


@pytest.mark.parametrize(
    ("value", "effect"),
    [
        ("file:///C:/Users/u/project/a", ALLOW),
        ("file:///c%3A/Users/u/project/a", ASK),
        ("file:///C:/Users/u/.ssh/a", DENY),
        ("file:///C|/Users/u/project/a", ASK),
        ("file:///c%3A/Users/u/.ssh/a", DENY),
        ("file://host/share/a", DENY),
        ("file:////host/share/a", DENY),
        ("file://C:/Users/u/.ssh/a", DENY),
    ],
)
def test_uris_on_windows(value: str, effect: Effect) -> None:
    assert decided(value, WINDOWS, allow=(WINDOWS_PROJECT,), deny=WINDOWS_SECRETS, uri=True) is effect


def test_on_windows_without_a_working_directory_only_a_drive_says_where() -> None:
    place = Place("C:/Users/u", platform="windows")
    assert read_path("C:/a", place).doubt == ""
    assert "not known" in read_path("/a", place).doubt
    assert "not known" in read_path("a", place).doubt
    assert decided("\\Users\\u\\.ssh\\a", place, deny=("~/.ssh/**",)) is DENY


# A pattern, a value, and whether the pattern speaks about it in allow and in deny.
@pytest.mark.parametrize(
    ("pattern", "value", "allows", "denies"),
    [
        ("/a/*", "/a/b", True, True),
        ("/a/*", "/a/b/c", False, False),
        ("/a/*", "/a", False, False),
        ("/a/*", "/a/.b", True, True),
        ("/a/*.py", "/a/.py", True, True),
        ("/a/b*d", "/a/bcd", True, True),
        ("/a/b*d", "/a/b/d", False, False),
        ("/a/**", "/a", False, True),
        ("/a/**", "/a/", False, True),
        ("/a/**", "/a/b/c", True, True),
        ("/a/**", "/ab", False, False),
        ("/a/", "/a", True, True),
        ("/a/", "/a/b", False, True),
        ("/a", "/a/b", False, False),
        ("/a/**/b", "/a/b", True, True),
        ("/a/**/b", "/a/x/y/b", True, True),
        ("/a/**/b", "/a/x/y/b/c", False, False),
        ("/a/**/b/**", "/a/x/b", False, True),
        ("/a/**/b/**", "/a/b/b", True, True),
        ("/a/**/**/b", "/a/b", True, True),
        ("/a/**/b/**/c", "/a/c/b/c", True, True),
        ("/a/**/b/**/c", "/a/b", False, False),
        ("/a/**/x/b/**/b/c", "/a/x/x/b/b/c", True, True),
        ("/a/**/*/b", "/a/b", False, False),
        ("/a/**/*/b", "/a/x/b", True, True),
        ("/**", "/", False, True),
        ("/**", "/a", True, True),
        ("/", "/", True, True),
        ("/", "/a", False, True),
        ("/a/x**z", "/a/xyz", True, True),
        ("/a/x**z", "/a/x/y/z", False, True),
        ("/a/**x", "/a/b/cx", False, True),
        ("/a/**/b**", "/a/b", True, True),
        ("/a/**/b**", "/ax/b", False, False),
        ("/a/***", "/a/b", True, True),
        ("/a/***", "/a/b/c", False, True),
        ("/a/\\*", "/a/*", True, True),
        ("/a/\\*", "/a/b", False, False),
        ("/a/\\*\\*", "/a/**", True, True),
        ("/a/\\*\\*", "/a/b/c", False, False),
        ("/a/?", "/a/b", False, False),
        ("/a/?", "/a/?", True, True),
        ("/a/{b,c}", "/a/b", False, False),
        ("/a/{b,c}", "/a/{b,c}", True, True),
        ("/a/[b]", "/a/b", False, False),
        ("//a/b", "/a/b", True, True),
        ("/a//./b", "/a/b", True, True),
        ("/a/../b", "/b", True, True),
        ("/a/*/../b", "/a/b", True, True),
        ("/a/**/../b", "/a/b", False, True),
        ("file:///a/b", "/a/b", True, True),
        ("~/x", "/home/u/x", True, True),
        ("~", "/home/u", True, True),
        ("$HOME/x", "/home/u/x", True, True),
        ("${HOME}/x/**", "/home/u/x/y", True, True),
        ("~root/x", "/home/u/x", False, False),
        ("src/**", "/home/u/project/src/a", True, True),
        ("src/**", "src/a", True, True),
        ("src/**", "/other/src/a", False, False),
        ("src/**", "/home/u/project/src", False, True),
        ("./src/x", "src/x", True, True),
        ("../x", "/home/u/x", True, True),
        ("**", "a", True, True),
        ("**", "/etc/a", False, True),
        ("*", "a", True, True),
        ("*", "a/b", False, True),
        ("**/x.py", "/home/u/project/x.py", True, True),
        ("**/x.py", "/etc/x.py", False, True),
        (".env", ".env", True, True),
        (".env", "src/.env", False, True),
        (".env", "/etc/.env", False, True),
        (".env", "/etc/.env.d", False, False),
        ("./.env", "/etc/.env", False, False),
        ("*.pem", "/etc/a/b.pem", False, True),
        ("secrets/", "/srv/secrets/a", False, True),
        ("secrets/**", "/srv/secrets/a", False, False),
        ("**/.env**", "/etc/.env.d/a", False, True),
        ("", "/a", False, False),
        ("/caf\u00e9", "/cafe\u0301", False, True),
        ("/cafe\u0301", "/caf\u00e9", False, True),
        ("/\u212b*", "/A\u030arhus", False, True),
        ("/A", "/a", False, False),
    ],
)
def test_a_pattern_speaks_about_a_value(pattern: str, value: str, allows: bool, denies: bool) -> None:
    readings = read_path(value, POSIX)
    assert readings.doubt == ""
    assert path_matches(pattern, readings, POSIX, ALLOW) is allows
    assert path_matches(pattern, readings, POSIX, DENY) is denies
    assert path_matches(pattern, readings, POSIX, ASK) is denies


@pytest.mark.parametrize(
    ("pattern", "value", "allows", "denies"),
    [
        ("C:\\Users\\**", "c:/users/a", True, True),
        ("c:/users/*", "C:\\Users\\a", True, True),
        ("//c/Users/**", "C:/Users/a", True, True),
        ("/c/Users/**", "C:/Users/a", True, True),
        ("/Users/**", "C:/Users/a", True, True),
        ("/Users/**", "D:/Users/a", False, True),
        ("file:///C:/Users/**", "C:/Users/a", True, True),
        ("~\\x", "C:/Users/u/x", True, True),
        ("src\\**", "SRC/a", True, True),
        ("*.pem", "D:/a/b.PEM", False, True),
        ("/**", "D:/a", False, True),
        ("C:/**", "C:\\", False, True),
        ("C:/\u00c4", "C:/\u00e4", False, True),
    ],
)
def test_a_pattern_speaks_about_a_windows_path(pattern: str, value: str, allows: bool, denies: bool) -> None:
    readings = read_path(value, WINDOWS)
    assert path_matches(pattern, readings, WINDOWS, ALLOW) is allows
    assert path_matches(pattern, readings, WINDOWS, DENY) is denies


@pytest.mark.parametrize(
    ("pattern", "value", "place", "allows", "denies"),
    [
        ("src/**", "/x/src/a", NOWHERE, False, True),
        ("src/**", "src/a", NOWHERE, False, True),
        ("**/*.pem", "a.pem", NOWHERE, False, True),
        ("~/.ssh/**", "/home/u/.ssh/a", Place(cwd="/w"), False, True),
        ("~/.ssh/**", "~/.ssh/a", Place(cwd="/w"), False, True),
        ("/home/u/.SSH/**", "/home/u/.ssh/a", CASELESS, False, True),
        ("/home/u/stra\u00dfe", "/home/u/STRASSE", CASELESS, False, True),
        ("/home/u/Project/**", "/home/u/Project/a", CASELESS, True, True),
        ("~/x", "/ho*e/x", Place("/ho*e", "/w"), True, True),
        ("~/x", "/home/x", Place("/ho*e", "/w"), False, False),
        ("x", "/w*/x", Place(cwd="/w*"), True, True),
        ("/home/u/p/**", "/home/u/p/a", LINKED, False, True),
        ("/home/u/p/**", "/home/u/project/a", LINKED, False, True),
        ("/tmp/**", "/private/tmp/a", LINKED, False, True),
        ("/tmp/*.txt", "/private/tmp/a.txt", LINKED, False, True),
        ("/tmp/*.txt", "/private/tmp/a.md", LINKED, False, False),
        ("/home/u/.ssh/**", "up/a", LINKED, False, True),
        ("/etc/**", "/home/u/project/in/../link/x", LINKED, False, True),
        (PROJECT, "in/a", LINKED, True, True),
        (PROJECT, "/home/u/p/a", LINKED, False, True),
    ],
)
def test_a_pattern_speaks_about_a_value_in_its_place(
    pattern: str, value: str, place: Place, allows: bool, denies: bool
) -> None:
    readings = read_path(value, place)
    assert path_matches(pattern, readings, place, ALLOW) is allows
    assert path_matches(pattern, readings, place, DENY) is denies


def test_allow_needs_a_reading_at_all() -> None:
    assert not path_matches("/**", Readings(()), POSIX, ALLOW)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        ("/a\u200b", "U+200B"),
        ("/a\n", "U+000A"),
        ("~root/a", "`~root`"),
        ("$FOO/a", "`$FOO`"),
        ("${FOO}/a", "`${FOO}`"),
        ("https://a/b", "is a URL"),
        ("/a/**/../b", "`..` after `**`"),
        ("**/../b", "`..` after `**`"),
    ],
)
def test_a_pattern_that_cannot_match_is_told(pattern: str, problem: str) -> None:
    assert problem in pattern_problem(pattern)
    assert pattern_problem(pattern).isprintable()


@pytest.mark.parametrize(
    "pattern",
    ["/a/**b", "**", "*", "~", "~/a", "~\\a", "$HOME/a", "${HOME}", "/a/../b", "file:///a", "C:\\a", "a:b", "/\u00e9"],
)
def test_a_pattern_that_can_match_has_no_problem(pattern: str) -> None:
    assert pattern_problem(pattern) == ""


PLACES = st.sampled_from([POSIX, LINKED, NOWHERE, CASELESS, WINDOWS, WINDOWS_LINKED, Place(), Place("", "", "windows")])
NAMES = st.sampled_from(
    ["a", "b", "ab", "..", ".", "...", "*", "**", "a*", "a**b", "in", "link", "up", "~", "$HOME", ".env"]
)
ODD = st.text(st.sampled_from("/\\.:*~$%{}? acC2efiles\0\n\u200b\ud800\u00e9"), max_size=24)
TEXTS = st.one_of(
    st.text(), ODD, st.tuples(st.sampled_from(["", "/", "~/", "C:\\", "file:///", "\\\\?\\"]), ODD).map("".join)
)
POSIX_VALUES = st.tuples(
    st.sampled_from(["", "/", "~/", "$HOME/", "/home/u/project/"]),
    st.lists(NAMES, min_size=1, max_size=6).map("/".join),
).map("".join)
PATTERNS = st.tuples(
    st.sampled_from(["/", "/home/u/project/", "~/", ""]), st.lists(NAMES, min_size=1, max_size=6).map("/".join)
).map("".join)
JSON = st.recursive(st.none() | st.booleans() | st.integers() | TEXTS, lambda inner: st.lists(inner, max_size=3))


@given(JSON, TEXTS | PATTERNS, PLACES, st.sampled_from(Effect), st.booleans())
@settings(max_examples=166)
def test_nothing_is_raised_and_doubt_never_allows(
    value: object, pattern: str, place: Place, effect: Effect, uri: bool
) -> None:
    readings = read_path(value, place, uri=uri)
    matches = path_matches(pattern, readings, place, effect)
    assert not (effect is ALLOW and readings.doubt and matches)
    assert pattern_problem(pattern).isprintable()


@given(TEXTS | POSIX_VALUES, PLACES, st.booleans())
@settings(max_examples=166)
def test_readings_are_absolute_and_normal(value: str, place: Place, uri: bool) -> None:
    for path in read_path(value, place, uri=uri).paths:
        root, *names = path.removeprefix("//").split("/")
        assert (path.startswith("//") or root[1:] == ":") if place.platform == "windows" else root == ""
        assert names == [""] or not {"", ".", ".."} & set(names)


@given(POSIX_VALUES, PATTERNS, st.sampled_from([POSIX, LINKED, NOWHERE, CASELESS]), st.sampled_from(Effect), st.data())
@settings(max_examples=166)
def test_a_slash_or_a_dot_more_never_changes_a_decision(
    value: str, pattern: str, place: Place, effect: Effect, data: st.DataObject
) -> None:
    slashes = [at for at, character in enumerate(value) if character == "/"]
    at = data.draw(st.sampled_from([*slashes, len(value)])) if slashes else len(value)
    longer = value[:at] + data.draw(st.sampled_from(["//", "/./"])) + value[at + 1 :]
    before, after = read_path(value, place), read_path(longer, place)
    assert set(before.paths) == set(after.paths)
    assert bool(before.doubt) is bool(after.doubt)
    assert path_matches(pattern, before, place, effect) is path_matches(pattern, after, place, effect)


@given(TEXTS | POSIX_VALUES, TEXTS | PATTERNS, PLACES)
@settings(max_examples=166)
def test_what_allow_matches_deny_matches_too(value: str, pattern: str, place: Place) -> None:
    readings = read_path(value, place)
    if path_matches(pattern, readings, place, ALLOW):
        assert path_matches(pattern, readings, place, DENY)


@given(TEXTS | POSIX_VALUES, st.sampled_from([POSIX, LINKED, CASELESS]))
@settings(max_examples=166)
def test_what_is_allowed_lies_inside_in_every_reading(value: str, place: Place) -> None:
    readings = read_path(value, place)
    inside = all(path.startswith("/home/u/project/") for path in readings.paths)
    assert path_matches(PROJECT, readings, place, ALLOW) is (inside and not readings.doubt)


def naive(globs: list[str], names: list[str]) -> bool:
    """The definition of `**`, tried in every way."""
    if not globs:
        return not names
    if globs[0] == "**":
        return naive(globs[1:], names) or (bool(names) and naive(globs, names[1:]))
    return bool(names) and globs[0] in ("*", names[0]) and naive(globs[1:], names[1:])


@given(st.lists(st.sampled_from(["a", "b", "*", "**"]), max_size=7), st.lists(st.sampled_from("ab"), max_size=9))
@settings(max_examples=166)
def test_the_search_from_left_to_right_finds_what_trying_everything_finds(globs: list[str], names: list[str]) -> None:
    readings = read_path("/" + "/".join(names), POSIX)
    if globs:
        assert path_matches("/" + "/".join(globs), readings, POSIX, DENY) is naive(globs, names)
    inside = [*globs, "*"] if globs[-1:] == ["**"] else globs
    assert path_matches("/" + "/".join(globs), readings, POSIX, ALLOW) is naive(inside, names)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        ("/" + "**/a/" * 50 + "b", "/" + "a/" * 2000),
        ("/" + "**/a*a/" * 50 + "b", "/" + "aaa/" * 1000),
        ("/" + "*a" * 200 + "b", "/" + "a" * 4000),
        ("/x**" + "/a**" * 200 + "b", "/x/" + "a/" * 2000),
        ("/**/b", "/" + "a/" * 50_000 + "c"),
        ("/**/b", "~$\\ \u200b" * 20_000),
        ("/**/b", "file:///" + "%25" * 20_000),
        ("/**/b", "[. ]" + ". " * 20_000 + "x"),
    ],
)
@pytest.mark.parametrize("place", [POSIX, LINKED, WINDOWS])
def test_hostile_patterns_and_values_take_no_time_to_speak_of(pattern: str, value: str, place: Place) -> None:
    before = perf_counter()
    assert not path_matches(pattern, read_path(value, place, uri=value.startswith("file:")), place, DENY)
    assert perf_counter() - before < 2
