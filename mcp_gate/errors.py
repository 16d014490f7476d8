"""What can go wrong, in the gate's own words. A library's errors are mapped in the module that talks to the library."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_gate.display import shown


class GateError(Exception):
    """Everything the gate raises on purpose; its text is one lower-case line that says what to do."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file: `servers.toml: servers.git.command: `uvx` is not on PATH`."""

    file: str
    key: str
    message: str

    def __str__(self) -> str:
        return shown(": ".join(part for part in (self.file, self.key, self.message) if part))


class ConfigError(GateError):
    """A configuration or policy file that cannot be used, with every problem found in it (at least one)."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class RuleSyntaxError(GateError):
    """A rule that cannot be read. `column` counts characters from 1."""

    def __init__(self, text: str, column: int, why: str) -> None:
        self.text, self.column, self.why = text, column, why
        super().__init__(f"rule `{shown(text)}`, column {column}: {why}")


class ServerUnavailableError(GateError):
    """A configured server that cannot be used now."""

    def __init__(self, server: str, why: str) -> None:
        self.server, self.why = server, why
        super().__init__(f"server `{server}` is unavailable: {why}")


class UnknownToolError(GateError):
    """A tool name that no running server has; `near` holds the closest names that exist."""

    def __init__(self, name: str, near: Sequence[str] = ()) -> None:
        self.name, self.near = name, tuple(near)
        hint = "closest: " + ", ".join(f"`{n}`" for n in self.near) if self.near else "find tools with `tool_search`"
        super().__init__(f"there is no tool `{name}`; {hint}")
