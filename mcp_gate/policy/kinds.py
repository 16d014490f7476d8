"""What the arguments of a tool are, where nobody has said so: told from their names, and only so far as is safe.

A kind that is told from names makes rules over that kind deny and ask (`Bash(rm *)`), and makes the subject of a rule
that names the tool be read as what it looks like. It never makes a rule over a kind allow: that takes a declaration.

| kind | the tool's name has a word such as | and an argument is called |
| --- | --- | --- |
| shell | shell, bash, exec, run, terminal, command, process | command, cmd, command_line |
| url | (any) | url, urls, href |
| path | file, directory, read, write, edit, move, tree | path, file_path, directory, source, destination, uri |
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from mcp_gate.model import Kind

SHELL_WORDS = frozenset(
    {"shell", "bash", "zsh", "sh", "exec", "execute", "run", "runner", "terminal", "console", "command", "commands"}
    | {"cmd", "process", "subprocess", "spawn", "ssh", "system", "powershell"}
)
PATH_WORDS = frozenset(
    {
        "file",
        "files",
        "filesystem",
        "fs",
        "directory",
        "directories",
        "dir",
        "folder",
        "path",
        "tree",
        "notebook",
        "media",
    }
    | {
        "read",
        "write",
        "edit",
        "create",
        "append",
        "insert",
        "move",
        "copy",
        "delete",
        "remove",
        "rename",
        "list",
        "view",
    }
    | {"search", "find", "grep", "glob", "save", "open", "upload", "download", "patch", "replace", "editor", "resource"}
)
SHELL_ARGUMENTS = ("command", "cmd", "command_line", "commandline", "shell_command", "bash_command")
URL_ARGUMENTS = ("url", "urls", "href")
PATH_ARGUMENTS = (
    *("path", "paths", "file_path", "file_paths", "filepath", "filename", "file_name", "file", "files"),
    *("directory", "dir", "folder", "root", "repo_path", "notebook_path", "project_path", "cwd", "working_directory"),
    *("source", "destination", "src", "dst", "source_path", "destination_path", "old_path", "new_path", "from_path"),
    *("to_path", "target", "output_path", "output", "input_path", "uri", "uris"),
)
LISTS = frozenset({"paths", "file_paths", "files", "uris"})  # the names of which say that they are lists of paths
URI_ARGUMENTS = frozenset({"uri", "uris"})
OF_KIND = {Kind.SHELL: SHELL_ARGUMENTS, Kind.URL: URL_ARGUMENTS, Kind.PATH: PATH_ARGUMENTS}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """The name of an argument in the one spelling that the tables have: `filePath` is `file_path`."""
    return "_".join(WORD.findall(name)).lower() or name.lower()


@lru_cache(maxsize=4096)
def recognised(tool: str, names: tuple[str, ...]) -> frozenset[Kind]:
    """The kinds that a tool with arguments of these names may have, as far as names tell."""
    spelled = {plain(name) for name in names}
    words = {word.lower() for word in WORD.findall(tool)}
    found = set()
    if words & SHELL_WORDS and not spelled.isdisjoint(SHELL_ARGUMENTS):
        found.add(Kind.SHELL)
    if not spelled.isdisjoint(URL_ARGUMENTS):
        found.add(Kind.URL)
    if words & PATH_WORDS and not spelled.isdisjoint(PATH_ARGUMENTS):
        found.add(Kind.PATH)
    return frozenset(found)


def fitting(kind: Kind, names: Iterable[str]) -> tuple[str, ...]:
    """The arguments whose names fit the kind; none fits plain text."""
    order = OF_KIND.get(kind, ())
    return tuple(name for name in names if plain(name) in order)


def kind_of_argument(name: str, declared: Kind | None, subject: str) -> Kind:
    """What a single argument is, by its name, unless it is the subject that was `declared`."""
    if declared is not None and name == subject:
        return declared
    spelled = plain(name)
    if spelled in URL_ARGUMENTS:
        return Kind.URL
    return Kind.PATH if spelled in PATH_ARGUMENTS else Kind.PLAIN
