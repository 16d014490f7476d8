"""servers.toml: which servers there are, how they start, how their tools are shown. Read whole, or refused whole.

| where a configuration is looked for, first to last | what it needs |
| --- | --- |
| `--config FILE` | nothing: naming a file is consent |
| `MCP_GATE_CONFIG` | nothing, likewise |
| `servers.toml` in the working directory | trust (`mcp-gate trust`), and to be no link: else passed over with a note |
| `servers.toml` in the user's configuration directory | nothing: it is the user's own |
"""

import os.path
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from mcp_gate.display import shown
from mcp_gate.documents import Model, dotted, parse_toml, validate
from mcp_gate.errors import ConfigError, Problem
from mcp_gate.hostfile import is_hostfile, read_hostfile
from mcp_gate.model import ApprovalMode, Dialect, Kind, Source, Tier
from mcp_gate.snapshot import PolicyText, Snapshot, read_snapshot

FILE_NAME = "servers.toml"
THRESHOLD_VARIABLE = "MCP_GATE_DEFER_THRESHOLD"
CONFIG_VARIABLE = "MCP_GATE_CONFIG"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the values of a configuration refer to: the gate's environment, and the folder the file is in."""

    environ: Mapping[str, str]
    folder: Path


def _expand(text: str, info: ValidationInfo[Surroundings]) -> str:
    """Replace `${VAR}` and `${VAR:-default}` (the default also where VAR is empty); nothing else is special."""
    if "\0" in text:
        raise ValueError("holds a NUL character, which no program can be given")
    if info.data.get("enabled") is False:
        return text  # what a disabled server lacks is no error

    def value(match: re.Match[str]) -> str:
        variable = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?", match[1] or "", re.DOTALL)
        if variable is None:
            raise ValueError(f"`{match[0]}` cannot be read; write `${{VAR}}` or `${{VAR:-default}}`")
        name, default = variable.groups()
        found = info.context.environ.get(name)
        if default is not None:
            return found or default
        if found is None:
            raise ValueError(f"`${{{name}}}` is not set in the gate's environment; set it or write `${{{name}:-…}}`")
        return found

    return re.sub(r"\$\{(?:([^}]*)\})?", value, text)


def _directory(text: object, info: ValidationInfo[Surroundings]) -> object:
    """An absolute path; what is no string is left for pydantic to refuse."""
    if not isinstance(text, str):
        return text
    return info.context.folder / os.path.expanduser(_expand(text, info))


def _program(text: str, info: ValidationInfo[Surroundings]) -> str:
    """A bare name is looked up on PATH at the start; a path is made absolute, from `cwd` or else the file's folder."""
    command = os.path.expanduser(_expand(text, info))
    if not command:
        raise ValueError("is empty; name the program that starts the server")
    if os.path.basename(command) == command:
        return command
    return str((info.data.get("cwd") or info.context.folder) / command)


def _server_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ValueError("is no server name; use letters, digits, `-` and `_`, a letter or digit first")
    if "__" in name or name.endswith("_"):
        raise ValueError("is no server name; `__` parts server and tool, so no `__` inside and no `_` at the end")
    if name.lower() == "mcp":
        raise ValueError("is reserved: hosts write tool names as `mcp__server__tool`; choose another name")
    return name


def _prefix(prefix: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]*", prefix):
        raise ValueError("may hold only letters, digits, `-` and `_`")
    return prefix


def _variable_name(name: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise ValueError("is no name of an environment variable")
    return name


Expanded = Annotated[str, AfterValidator(_expand)]
Names = Annotated[tuple[str, ...], Field(strict=False)]
Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]


class Gate(Model):
    """`[gate]`. `list_timeout`: how long the first tools/list waits for servers; times are in seconds.

    `baseline`: the rules of `policies/default.toml` are in force. `mode`: which policies of the chain apply.
    `auto_approve`: standard tools need no session approval. `budget`: US dollars that expensive calls may cost in one
    session without a question.
    """

    list_timeout: Seconds = 5.0
    approval_timeout: Seconds = 300.0
    policies: Names = ()
    baseline: bool = True
    mode: str = "full_pipeline"
    auto_approve: bool = False
    budget: Annotated[float | None, Field(ge=0, le=1_000_000, allow_inf_nan=False)] = None
    log_level: Literal["debug", "info", "warning", "error"] = "warning"


class Exposure(Model):
    """`[exposure]`. More tools than `threshold` make stubs of those that no glob of `always_load` matches."""

    mode: Literal["auto", "full", "stub"] = "auto"
    threshold: Annotated[int, Field(ge=0)] = 15
    always_load: Names = ()


class ToolSettings(Model):
    """`[servers.NAME.tools.TOOL]`: what the person knows better about a tool. `cost` is US dollars for one call."""

    tier: Annotated[Tier | None, Field(strict=False)] = None
    category: str | None = None
    cost_tier: Literal["free", "cheap", "expensive"] | None = None
    cost: Annotated[float | None, Field(ge=0, le=1_000_000, allow_inf_nan=False)] = None
    kind: Annotated[Kind | None, Field(strict=False)] = None
    subject: str = ""


class Server(Model):
    """`[servers.NAME]`. `cwd` is absolute, `command` a bare name or absolute; `timeout` bounds one call, in seconds.

    The order of the fields matters: `enabled` and `cwd` are read before the values that depend on them.
    """

    enabled: bool = True
    cwd: Annotated[Path | None, BeforeValidator(_directory)] = None
    command: Annotated[str, AfterValidator(_program)]
    args: Annotated[tuple[Expanded, ...], Field(strict=False)] = ()
    env: dict[Annotated[str, AfterValidator(_variable_name)], Expanded] = Field(default_factory=dict)
    approval: ApprovalMode = "session"
    timeout: Seconds = 60.0
    startup_timeout: Seconds = 30.0
    prefix: Annotated[str, AfterValidator(_prefix)]
    shell: Dialect = "unknown"
    trust_annotations: bool = False
    tools: dict[str, ToolSettings] = Field(default_factory=dict)


class Document(Model):
    """The whole of servers.toml."""

    gate: Gate = Gate()
    exposure: Exposure = Exposure()
    servers: dict[Annotated[str, AfterValidator(_server_name)], Server] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration in force. `servers` is in the order of the file, disabled ones included; `notes` are warnings."""

    path: Path
    gate: Gate
    exposure: Exposure
    servers: dict[str, Server]
    policies: tuple[PolicyText, ...]
    source: Source
    notes: tuple[str, ...]


def load(file: Path | Snapshot, environ: Mapping[str, str]) -> Config:
    """Read a servers.toml or a host's own JSON; raises ConfigError with every problem of the file."""
    snapshot = read_snapshot(file) if isinstance(file, Path) else file
    label, root, notes = snapshot.label, "servers", list[str]()
    if is_hostfile(snapshot.path, snapshot.content):
        raw, root, notes = read_hostfile(snapshot.content, label)
    else:
        raw = parse_toml(snapshot.content, label)
    raw = _with_prefixes(raw)
    problems = [*_clashes(raw, label), *_unreadable_policies(snapshot)]
    try:
        document = validate(Document, raw, label, Surroundings(environ, snapshot.path.parent))
        exposure = _with_threshold(document.exposure, environ)
    except ConfigError as error:
        raise ConfigError([_under(root, problem) for problem in (*error.problems, *problems)]) from None
    if problems:
        raise ConfigError([_under(root, problem) for problem in problems])
    if not document.servers:
        notes.append(f"{label}: no server is configured; add a table `[servers.NAME]` with a `command`")
    policies, source = snapshot.policies, snapshot.source
    return Config(snapshot.path, document.gate, exposure, document.servers, policies, source, tuple(map(shown, notes)))


def find(
    explicit: Path | None,
    environ: Mapping[str, str],
    cwd: Path,
    config_dir: Path,
    is_trusted: Callable[[Snapshot], bool],
) -> tuple[Snapshot, list[str]]:
    """The configuration to load, and notes on what was passed over; raises ConfigError where there is none."""
    if explicit is not None:
        return read_snapshot(cwd / explicit.expanduser(), str(explicit)), []
    if named := environ.get(CONFIG_VARIABLE):
        return read_snapshot(cwd / Path(named).expanduser(), named), []
    own, notes = config_dir / FILE_NAME, list[str]()
    if os.path.realpath(cwd / FILE_NAME) != os.path.realpath(own):
        found = _find_local(cwd / FILE_NAME, is_trusted)
        if isinstance(found, Snapshot):
            return found, []
        notes = [*map(shown, found)]
    if own.exists():
        return read_snapshot(own), notes
    wanted = f"no configuration: there is no `--config`, no `{CONFIG_VARIABLE}`, no trusted `{FILE_NAME}` in `{cwd}`"
    fix = "write one, or pass your host's own file with `--config`"
    raise ConfigError([Problem("", "", f"{wanted} and no `{own}`; {fix}"), *(Problem("", "", note) for note in notes)])


def _find_local(path: Path, is_trusted: Callable[[Snapshot], bool]) -> Snapshot | list[str]:
    """The working directory's own file if it may be used, else why it may not."""
    if path.is_symlink():  # a repository could link to a file that was trusted for another folder
        return [f"{path}: is a link and was passed over; name it with `--config` to use it"]
    if not path.exists():
        return []
    try:
        snapshot = read_snapshot(path, FILE_NAME, Source.PROJECT)
    except ConfigError as error:
        return [f"{path}: {error.problems[0].message}; passed over"]
    if is_trusted(snapshot):
        return snapshot
    return [f"{path}: is not trusted, or was changed since, and was passed over; read it, then run `mcp-gate trust`"]


def _server_tables(raw: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    servers = raw.get("servers")
    if isinstance(servers, dict):
        yield from ((name, table) for name, table in servers.items() if isinstance(table, dict))


def _with_prefixes(raw: dict[str, Any]) -> dict[str, Any]:
    """The default prefix depends on a server's name, which its own table does not hold."""
    tables = {
        name: {"prefix": re.sub(r"[^A-Za-z0-9_-]", "_", name) + "__"} | table for name, table in _server_tables(raw)
    }
    return raw | {"servers": raw["servers"] | tables} if tables else raw


def _clashes(raw: Mapping[str, Any], label: str) -> list[Problem]:
    """Names and prefixes by which a tool's server could be mistaken."""
    problems = []
    first: dict[str, str] = {}
    for name, _ in _server_tables(raw):
        if (other := first.setdefault(name.lower(), name)) != name:
            why = f"differs from `{other}` only in upper and lower case; rename one"
            problems.append(Problem(label, dotted(("servers", name)), why))
    prefixes = {name: table["prefix"] for name, table in _server_tables(raw) if table.get("enabled") is not False}
    for (name, prefix), (other, longer) in permutations(prefixes.items(), 2):
        if not (isinstance(prefix, str) and isinstance(longer, str) and longer.startswith(prefix)):
            continue
        if prefix == "":
            why = f'`""` is only for a single server, and there is also `{other}`; remove it'
        else:
            why = f"`{prefix}` begins the prefix `{longer}` of `{other}` too; choose another"
        problems.append(Problem(label, dotted(("servers", name, "prefix")), why))
    return problems


def _unreadable_policies(snapshot: Snapshot) -> list[Problem]:
    faults = [(number, policy) for number, policy in enumerate(snapshot.policies) if policy.fault]
    return [Problem(snapshot.label, f"gate.policies[{n}]", f"`{policy.name}` {policy.fault}") for n, policy in faults]


def _with_threshold(exposure: Exposure, environ: Mapping[str, str]) -> Exposure:
    text = environ.get(THRESHOLD_VARIABLE)
    if not text:
        return exposure
    if not re.fullmatch(r"[0-9]{1,9}", text):
        why = f"must be a whole number of at least 0, not `{text}`; unset it to use `exposure.threshold`"
        raise ConfigError([Problem("", THRESHOLD_VARIABLE, why)])
    return exposure.model_copy(update={"threshold": int(text)})


def _under(root: str, problem: Problem) -> Problem:
    """The problem under the key that the file itself uses for its servers."""
    if not problem.key.startswith("servers"):
        return problem
    return Problem(problem.file, root + problem.key.removeprefix("servers"), problem.message)
