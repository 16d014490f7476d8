"""Gate names and the globs over them."""

import re

import pytest

from mcp_gate.catalog.names import MAX_NAME, gate_name
from mcp_gate.globs import star_match


@pytest.mark.parametrize(
    ("prefix", "tool", "name"),
    [
        ("git__", "git_status", "git__git_status"),
        ("", "read_file", "read_file"),
        ("notion__", "API-post-search", "notion__API-post-search"),
        ("a.b__", "do it/now", "a_b__do_it_now"),
        ("s__", "größe", "s__gr__e"),
        ("s__", "x" * 50, "s__" + "x" * 50),
    ],
)
def test_a_gate_name_is_the_prefix_and_the_tool_with_foreign_characters_replaced(
    prefix: str, tool: str, name: str
) -> None:
    assert gate_name(prefix, tool) == name


def test_a_name_that_is_too_long_is_cut_and_still_tells_its_tool_from_others() -> None:
    names = {gate_name("server__", "x" * 60 + end) for end in ("a", "b", "ä", "ö")}
    assert len(names) == 4
    for name in names:
        assert len(name) == MAX_NAME
        assert name.startswith("server__xxx")


def test_a_cut_name_is_the_same_in_every_run() -> None:
    assert gate_name("server__", "y" * 60) == "server__" + "y" * 36 + "_d5fc42a1"


def test_a_name_of_half_characters_is_still_a_name() -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{53}", gate_name("s__", "\ud800" * 60))


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("git__*", "git__git_status", True),
        ("git__*", "git__", True),
        ("git__*", "github__x", False),
        ("*", "", True),
        ("", "", True),
        ("", "x", False),
        ("*_status", "git__git_status", True),
        ("*_status", "git__git_status_2", False),
        ("a*b*c", "aXbYc", True),
        ("a*b*c", "abc", True),
        ("a*b*c", "acb", False),
        ("a*b*b*c", "abc", False),
        ("*ab*ab*", "xaby", False),
        ("aa*aa", "aaa", False),
        ("a*ba*a", "aba", False),
        ("**", "anything", True),
        ("git", "Git", False),
        ("g?t", "git", False),
        ("[a-z]*", "b", False),
        ("[a-z]*", "[a-z]b", True),
        (r"a\*b", "a*b", True),
        (r"a\*b", "axb", False),
        (r"a\**", "a*bc", True),
        (r"a\**", "abc", False),
        (r"a\b*", r"a\bc", True),
        ("a\n*", "a\nb", True),
    ],
)
def test_only_the_star_is_special_in_a_glob(pattern: str, text: str, fits: bool) -> None:
    assert star_match(pattern, text) is fits


def test_a_glob_full_of_stars_is_answered_without_backtracking() -> None:
    assert not star_match("*a" * 1000 + "*b", "a" * 100_000)
