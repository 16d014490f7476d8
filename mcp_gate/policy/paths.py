r"""Path globs of rules against path values of calls, which `readings` reads.

| pattern | allow | deny and ask |
| --- | --- | --- |
| `*`, `\*`; `**` as a segment | any characters of one name, a star; any number of segments | the same |
| `a**b`; `dir/**`; `dir/` | `a*b`; inside; `dir` | may cross `/`; inside, and `dir`; the same |
| `~/x`, `$HOME/x`, `//x`, `file:///x` | expanded, `/x` | the same; `~` is anywhere where it is not known |
| `src/x` | below the working directory | the same; anywhere where that is not known |
| `**/x`, `.env`, `*.pem` | below the working directory | at any depth anywhere |
| `/a/link/x` | as written | also what it leads to |
| case; composed letters | exact (Windows: but for ASCII case); exact | as the file system has it; all the same |
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase

from mcp_gate.globs import star_match
from mcp_gate.model import Effect, Place, no_link
from mcp_gate.policy.readings import (
    DRIVE,
    HOMES,
    SCHEME,
    Readings,
    Segments,
    first_unseen,
    joined,
    links,
    read_path,
    resolved,
    slashed,
    split_path,
)

__all__ = ["Place", "Readings", "path_matches", "pattern_problem", "read_path"]

# A pattern cut at its `**` segments, or as one text whose stars also match `/`.
Glob = tuple[Segments, ...] | str
ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

Fold = Callable[[str], str]
_decomposed: Fold = partial(unicodedata.normalize, "NFD")
FOLDS: dict[tuple[bool, bool], Fold] = {  # by whether the rule allows, and whether it ignores case
    (True, False): str,
    # Beyond ASCII, Unicode folds letters that a file system may tell apart.
    (True, True): lambda name: name.translate(ASCII_LOWER),
    (False, False): _decomposed,
    (False, True): lambda name: _decomposed(_decomposed(name).casefold()),
}


def path_matches(pattern: str, readings: Readings, place: Place, effect: Effect) -> bool:
    """Whether a rule of `effect` with this pattern speaks about a value that was read in the same `place`."""
    allows = effect is Effect.ALLOW
    windows = place.platform == "windows"
    fold = FOLDS[allows, windows or (place.ignores_case and not allows)]
    meanings = _meanings(pattern, place.home, place.cwd, windows, allows)
    paths = [_folded(path, fold) for path in readings.paths]
    if allows:
        globs = [_glob(meaning, fold, crosses=False) for meaning in meanings]
        return bool(paths) and not readings.doubt and all(any(_fits(glob, path) for glob in globs) for path in paths)
    return any(
        _fits(_glob(meaning, fold, crosses=True), path)
        for spelled in (meanings, _led_on(meanings, links(place)))
        for meaning in spelled
        for path in paths
    )


def pattern_problem(pattern: str) -> str:
    """Why the pattern can never match what its author means, to be read after "the pattern"; empty: it can."""
    first, *_ = names = pattern.split("/")
    if not pattern.strip():
        return "is empty"
    if unseen := first_unseen(pattern):
        return f"holds the invisible character U+{ord(unseen):04X}"
    if first[:1] in ("~", "$") and first.partition("\\")[0] not in HOMES:
        return f"starts with `{first}`; only `~` and `$HOME` are expanded, so write the directory out"
    if (scheme := SCHEME.match(pattern)) and scheme[0].lower() != "file:":
        return "is a URL; no path has a scheme"
    if "**" in names and ".." in names[names.index("**") :]:
        return "has `..` after `**`; no path has `..` once it is read"
    return ""


@lru_cache(maxsize=4096)
def _meanings(pattern: str, home: str, cwd: str, windows: bool, allows: bool) -> tuple[Segments, ...]:
    """The absolute patterns that a pattern stands for; none where it can never match."""
    text = pattern.replace("\\", "/") if windows else pattern
    home, cwd = (slashed(path) if windows else path.replace("*", "\\*") for path in (home, cwd))
    if text[:5].lower() == "file:":
        text = "/" + text[5:].lstrip("/")
    first, slash, rest = text.partition("/")
    if not pattern or (first in HOMES and allows and not home):
        return ()
    if first in HOMES:
        text = (home or "**") + slash + rest
    if windows and text.startswith("/") and DRIVE.match(text, 1):
        text = text[1:]
    settled = (_settled(segments, allows) for segments in _absolute(text, cwd, windows, allows))
    return tuple(filter(None, settled))


def _absolute(text: str, cwd: str, windows: bool, allows: bool) -> Iterator[list[str]]:
    names = text.split("/")
    if DRIVE.match(text) if windows else text.startswith("/"):
        yield names
    elif text.startswith("/"):
        first, *others = text.lstrip("/").split("/")
        if DRIVE.fullmatch(f"{first}:"):
            yield [f"{first}:", *others]
        if not allows:
            yield ["*", first, *others]
            yield [f"//{first}", *others]
        elif DRIVE.match(cwd):
            yield [cwd[:2], first, *others]
    else:
        if cwd:
            yield [*split_path(cwd), *names]
        if not allows and (not cwd or names[0] == "**" or "/" not in text.rstrip("/")):
            yield ["**", *names]


def _settled(segments: list[str], allows: bool) -> Segments:
    """Without `.`, `..` and doubled `**`; empty: it can never match. `dir/**` is what is inside for allow, and `dir/`
    is `dir/**` for deny."""
    done = segments[:1]
    for name in segments[1:] if allows or segments[-1] else [*segments[1:], "**"]:
        if name == ".." and done[-1] == "**" and allows:
            return ()
        if name == ".." and done[-1] != "**":
            del done[max(len(done) - 1, 1) :]
        elif name not in ("", ".", "..") and not name == done[-1] == "**":
            done.append(name)
    return (*done, "*") if allows and done[-1] == "**" else tuple(done)


def _led_on(meanings: tuple[Segments, ...], link: Callable[[str], str]) -> Iterator[Segments]:
    """The patterns whose part before the first star leads through a link, with that part resolved."""
    for meaning in meanings if link is not no_link else ():
        plain = next((n for n, name in enumerate(meaning) if "*" in name), len(meaning))
        if plain and (target := resolved(spelled := joined(meaning[:plain]), link)[0]) != spelled:
            yield (*split_path(target.rstrip("/")), *meaning[plain:])


def _fits(glob: Glob, path: Segments) -> bool:
    """Whether all of the path fits: each group is looked for once, leftmost first, as pieces of text in `globs`."""
    if isinstance(glob, str):
        return star_match(glob, _bracketed(path))
    head, *groups = glob
    if not groups:
        return len(head) == len(path) and _same(head, path)
    tail = groups.pop()
    at, end = len(head), len(path) - len(tail)
    if at > end or not (_same(head, path) and _same(tail, path[end:])):
        return False
    for group in groups:
        starts = range(at, end - len(group) + 1)
        found = next((start for start in starts if _same(group, path[start : start + len(group)])), -1)
        if found < 0:
            return False
        at = found + len(group)
    return True


def _same(globs: Segments, names: Segments) -> bool:
    pairs = zip(globs, names, strict=False)
    return all(star_match(glob, name) if "*" in glob else glob == name for glob, name in pairs)


def _bracketed(names: Iterable[str]) -> str:
    """Each name between slashes of its own, so that a star between two names may also stand for none."""
    return "".join("*" if name == "**" else f"/{name}/" for name in names)


@lru_cache(maxsize=4096)
def _glob(segments: Segments, fold: Fold, *, crosses: bool) -> Glob:
    names = tuple(map(fold, segments))
    if crosses and any("**" in name.replace("\\*", "") for name in names if name != "**"):
        return _bracketed(names)
    cuts = [-1, *(n for n, name in enumerate(names) if name == "**"), len(names)]
    return tuple(names[start + 1 : end] for start, end in pairwise(cuts))


@lru_cache(maxsize=1024)
def _folded(path: str, fold: Fold) -> Segments:
    return tuple(map(fold, split_path(path.rstrip("/"))))
