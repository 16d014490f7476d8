r"""What the path value of a call may mean: a value is read in every way a server may read it. Deny and ask match if any
reading does, allow only if all do and nothing about the value is in doubt.

| value | readings, each with links resolved and as spelled |
| --- | --- |
| `/a//b/./c/`, `/a/link/../b` | `/a/b/c`; `..` by the letter and through the link; over 40 links in doubt |
| `x/y` | below the working directory; in doubt where that is not known |
| `~/x`, `$HOME/x`, `${HOME}/x` | below the home directory, and by the letter |
| `~root/x`, `$FOO/x`; `a$FOO/x` | in doubt; by the letter, and with the variable as empty |
| ` x `, `a\b` on posix | as written, and without blanks at the ends; one name, and `a/b` |
| `file:///a%20b` | a `uri`: `/a b`, and by the letter; with a host, a query or `%2f`, or as a path: in doubt |
| blank, over 4,096 characters, with invisible characters, not a string | in doubt |
| Windows: `C:\a`, `/c/a`, `a. ` | `C:/a`, also as a name; also without what Windows drops |
| Windows: `C:a`, `\\?\C:\a`, `\\host\share`, `a:stream`, `NAME~1`, `NUL` | in doubt |

Deny looks through every doubt, a list and a table included.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial

from mcp_gate.model import Place, no_link

MOST_CHARACTERS = 4096
MOST_LINKS = 40
HOMES = ("~", "$HOME", "${HOME}")
UNSEEN = ("FILLER", "VARIATION SELECTOR", "GRAPHEME JOINER", "PATTERN BLANK")  # in names of letters, marks and symbols
SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:(?=[/\\]{2})|file:", re.ASCII | re.IGNORECASE)
ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")
VARIABLE = re.compile(r"\$(?:(\w+)|\{([^}/\\]*)\})", re.ASCII)
DRIVE = re.compile(r"[A-Za-z]:")
MOUNT = re.compile(r"/(?:mnt/|cygdrive/)?([A-Za-z])(?=/|$)")
DEVICE_PREFIX = re.compile(r"(?:/[/?][?.]/(?:UNC(?=/))?)+", re.IGNORECASE)
WINDOWS_DOUBTS = (
    (re.compile(r":"), "names a stream of a file"),
    (re.compile(r"~[0-9]"), "holds what may be a short name"),
    (re.compile(r"[<>\"|?*]|/[. ]{3,}(?:/|$)"), "holds a name that Windows does not have"),
    (re.compile(r"/(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:[.:/]|$)", re.I), "names a device"),
)
Reader = Callable[[str, Place], Iterator[tuple[str, str]]]  # the texts that one may stand for, each with a doubt or ""
Segments = tuple[str, ...]  # a root ("" on posix, `C:` or `//host` on Windows), then names; in a pattern, globs


@dataclass(frozen=True, slots=True)
class Readings:
    """Every path a value may mean: absolute, normalised, `/`-separated; on Windows `C:/a` and `//host/share/a`.
    `doubt` says why the value can never be allowed, to be read after "the path"; empty: it can."""

    paths: tuple[str, ...]
    doubt: str = ""


def read_path(value: object, place: Place, *, uri: bool = False) -> Readings:
    """Read the value of an argument that names a file, or with `uri` a file's URI; raises nothing of its own."""
    if not isinstance(value, str):
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
        texts = [item for item in items if isinstance(item, str)]
        inner = (path for text in texts for path in read_path(text, place, uri=uri).paths)
        return Readings(tuple(dict.fromkeys(inner)), "is not a string")
    doubts = ["" if value.strip() else "is empty"]
    doubts.append(f"is longer than {MOST_CHARACTERS} characters" if len(value) > MOST_CHARACTERS else "")
    texts = [value]
    for reader in _readers(place, uri=uri):
        readings = [reading for text in texts for reading in reader(text, place)]
        texts = list(dict.fromkeys(text for text, _ in readings))
        doubts.extend(doubt for _, doubt in readings)
    paths, link = [], links(place)
    for text in texts:
        lexical, _ = resolved(text, no_link)
        paths.append(lexical)
        # No system opens a longer text as it stands, only what a server may have made of it before.
        for spelled in dict.fromkeys(path for path in (lexical, text) if len(path) <= MOST_CHARACTERS):
            physical, doubt = resolved(spelled, link)
            paths.append(physical)
            doubts.append(doubt)
    return Readings(tuple(dict.fromkeys(paths)), next(filter(None, doubts), ""))


def _readers(place: Place, *, uri: bool) -> tuple[Reader, ...]:
    told = (_cleaned, partial(_from_uri, declared=uri), _cleaned)
    if place.platform == "windows":
        return (*told, _from_home, _on_windows, _with_windows_names)
    return (*told, _from_home, _on_posix)


def _cleaned(text: str, _place: Place) -> Iterator[tuple[str, str]]:
    yield text, ""
    yield text.strip(), ""
    if unseen := first_unseen(text):
        why = f"holds the invisible character U+{ord(unseen):04X}"
        yield "".join(character for character in text if not first_unseen(character)), why
        yield text.partition(unseen)[0], why  # a NUL or a line break may end a name


def first_unseen(text: str) -> str:
    """The first character that is not drawn, or as a blank, though it is none; empty if there is none."""
    if text.isascii() and text.isprintable():
        return ""
    for character in text:
        category = unicodedata.category(character)
        if category[0] == "C" or (category[0] == "Z" and character != " "):
            return character
        if not character.isascii() and any(word in unicodedata.name(character, "") for word in UNSEEN):
            return character
    return ""


def _from_uri(text: str, _place: Place, *, declared: bool) -> Iterator[tuple[str, str]]:
    scheme = SCHEME.match(text)
    if not (declared and scheme):
        yield text, "is not a file URI" if declared else ""
    if not (declared or scheme):
        return
    rest = text[scheme.end() :] if scheme else text
    bare = rest.lstrip("/\\")
    is_local = scheme is not None and scheme[0].lower() == "file:" and rest == f"///{bare}"
    why = "" if is_local else "is a URI that is not of the form `file:///…`"
    if "?" in bare or "#" in bare:
        why = "is a URI with a query or a fragment"
    forms = [f"/{bare}"] if is_local else [f"/{bare}", bare, f"//{bare}", "/" + bare.partition("/")[2]]
    for form in (*forms, *(re.split("[?#]", form, maxsplit=1)[0] for form in forms)):
        once = _decoded(form)
        twice = _decoded(once)
        hides_slash = len(re.findall(r"[/\\]", once)) > len(re.findall(r"[/\\]", form))
        yield form, why if declared else "is a URI where a path is expected"
        yield once, "is a URI with an encoded slash" if hides_slash else ""
        yield twice, "is a URI that is encoded twice" if twice != once else ""


def _decoded(text: str) -> str:
    """Percent-decoded; what is not UTF-8 becomes lone surrogates, which are unseen."""
    if "%" not in text:
        return text
    data = ESCAPE.sub(lambda escape: bytes([int(escape[1], 16)]), text.encode(errors="surrogatepass"))
    return data.decode(errors="surrogateescape")


def _from_home(text: str, place: Place) -> Iterator[tuple[str, str]]:
    yield text, ""
    first, slash, rest = text.replace("\\", "/").partition("/")
    in_doubt = "starts at a place that is not known" if first not in HOMES or not place.home else ""
    if first == "~":
        yield (place.home or text) + slash + rest, in_doubt
    elif first.startswith("~"):
        # Homes lie side by side as a rule: deny has to see that `~me` is `/home/me`.
        for home in (f"{place.home}/../{first[1:]}", f"/{first[1:]}"):
            yield home + slash + rest, in_doubt
    known = {"HOME": place.home, "USERPROFILE": place.home, "PWD": place.cwd}
    if "$" in text:
        expanded = VARIABLE.sub(lambda variable: known.get(variable[1] or variable[2], ""), text)
        yield expanded, in_doubt if text.startswith("$") else ""
    if place.platform == "windows" and text.count("%") > 1:
        before, name, after = text.split("%", 2)
        yield before + known.get(name.upper(), "") + after, "" if before else in_doubt


def _on_posix(text: str, place: Place) -> Iterator[tuple[str, str]]:
    for spelled in (text, text.replace("\\", "/")):  # a server may take a backslash for a slash here too
        if spelled.startswith("/"):
            yield "/" + spelled.lstrip("/"), ""
        else:
            base = "/" + f"{place.cwd}/".lstrip("/")
            yield base + spelled, "" if place.cwd else "is relative to a directory that is not known"


def _on_windows(text: str, place: Place) -> Iterator[tuple[str, str]]:
    """From a drive or a host on. Where the drive is not known it is `C:`, so that deny has something to look at."""
    cwd = slashed(place.cwd)
    bare = slashed(text)
    device = "is a device path" if DEVICE_PREFIX.match(text.replace("\\", "/")) else ""
    if bare.startswith("/") and DRIVE.match(bare, 1):
        bare = bare[1:]
    relative = device or ("" if cwd else "is relative to a directory that is not known")
    if bare.startswith("//"):
        yield bare, device or "is a network path"
        _, share, *rest = [*bare.lstrip("/").split("/", 2), ""]
        if share.endswith("$") and DRIVE.fullmatch(f"{share[:-1]}:"):
            yield f"{share[:-1]}:/" + "/".join(rest), ""
    elif bare.startswith("/"):
        yield (cwd[:2] if DRIVE.match(cwd) else "C:") + bare, relative
        if mount := MOUNT.match(bare):
            yield f"{mount[1]}:/{bare[mount.end() :]}", ""
    elif not DRIVE.match(bare):
        yield f"{cwd or 'C:'}/{bare}", relative
    elif bare[2:3] == "/":
        yield bare, device
    else:
        yield f"{bare[:2]}/{bare[2:]}", "is relative to the current directory of a drive"
        if bare[:2].lower() == cwd[:2].lower():
            yield f"{cwd}/{bare[2:]}", ""


def slashed(text: str) -> str:
    """A Windows path with slashes, and without `\\\\?\\` and its like, so that what it leads to is seen."""
    prefix = DEVICE_PREFIX.match(text := text.replace("\\", "/"))
    if not prefix:
        return text
    return ("/" if prefix[0].upper().endswith("UNC") else "") + text[prefix.end() :]


def _with_windows_names(text: str, _place: Place) -> Iterator[tuple[str, str]]:
    """The names as written, and without the streams, dots and blanks that Windows drops."""
    root, *names = split_path(text)
    below = "/" + "/".join(names)
    yield text, next((why for sign, why in WINDOWS_DOUBTS if sign.search(below)), "")
    plain = [name.partition(":")[0] for name in names]
    yield "/".join([root, *(name.rstrip(" .") or (".." if name.strip() == ".." else "") for name in plain)]), ""


def split_path(path: str) -> list[str]:
    if path.startswith("//"):
        host, *names = path.lstrip("/").split("/")
        return [f"//{host}", *names]
    return path.split("/")


def joined(segments: Sequence[str]) -> str:
    return "/".join(segments) if len(segments) > 1 else f"{segments[0]}/"


def links(place: Place) -> Callable[[str], str]:
    if place.link is no_link:
        return no_link
    return cache((lambda path: slashed(place.link(path))) if place.platform == "windows" else place.link)


def resolved(path: str, link: Callable[[str], str]) -> tuple[str, str]:
    """The path with `.`, `..` and every link resolved in turn, and a doubt or ""."""
    root, *names = split_path(path)
    done, todo, followed = [root.upper() if DRIVE.match(root) else root], names[::-1], 0
    while todo:
        name = todo.pop()
        if name == "..":
            del done[max(len(done) - 1, 1) :]
        elif name not in ("", "."):
            done.append(name)
            if link is no_link or not (target := link(joined(done))):
                continue
            followed += 1
            if followed > MOST_LINKS:
                return joined(done), "leads through too many links"
            del done[-1]
            if root and (DRIVE.match(target) or target.startswith("//")):
                done[:], target = split_path(target)[:1], "/".join(split_path(target)[1:])
            elif target.startswith("/"):
                del done[1:]
            todo.extend(reversed(target.split("/")))
    return joined(done), ""
