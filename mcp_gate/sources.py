"""Where policy comes from: six sources, and the baseline that ships below them.

| source, highest first | read from | what it needs |
| --- | --- | --- |
| managed | `/etc/mcp-gate/policy.toml`, and its macOS and Windows places | writable by its owner alone |
| cli | `--deny`, `--ask`, `--allow` | nothing |
| session | approvals given | nothing |
| local | `projects/DIGEST.toml` in the user's configuration directory | nothing: no repository can bring one |
| project | `.mcp-gate/policy.toml` at the project's root; a `servers.toml` found there | trust, for what loosens |
| user | `policy.toml` in the user's configuration directory; the files that a configuration names | nothing |
| default | `policies/default.toml` but where `gate.baseline` is false, `policies/read-only.toml` | nothing |

No file that anyone may write is used. The project's root is `CLAUDE_PROJECT_DIR`, or else the working directory.
"""

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_gate.config import Config
from mcp_gate.errors import ConfigError, Problem
from mcp_gate.model import Effect, Source
from mcp_gate.policy.policy import Policy
from mcp_gate.policyfile import PolicyDocument, parse_policy, read_rules
from mcp_gate.snapshot import Snapshot, read_policy_text, shipped_policies

BASELINE = "default.toml"
READ_ONLY = "read-only.toml"
FILE_NAME = "policy.toml"
PROJECT_FOLDER = ".mcp-gate"
PROJECT_VARIABLE = "CLAUDE_PROJECT_DIR"
DEFAULT_MODE = "full_pipeline"


@dataclass(frozen=True, slots=True)
class Places:
    """Where policy files are looked for; any may be missing. `project` is a project's root."""

    managed: Path
    user: Path
    project: Path
    is_trusted: Callable[[Snapshot], bool]

    @property
    def local(self) -> Path:
        """The user's own file for the project."""
        return self.user / "projects" / f"{hashlib.sha256(str(self.project).encode()).hexdigest()[:16]}.toml"


def places(environ: Mapping[str, str], config_dir: Path, cwd: Path, is_trusted: Callable[[Snapshot], bool]) -> Places:
    """The places on this machine, for this environment."""
    named = environ.get(PROJECT_VARIABLE)
    root = Path(os.path.realpath(named)) if named and Path(named).is_dir() else cwd
    return Places(managed_file(environ), config_dir, root, is_trusted)


def managed_file(environ: Mapping[str, str], platform: str = sys.platform) -> Path:
    """An organisation's policy file. No variable moves it but Windows' own."""
    if platform == "darwin":
        return Path("/Library/Application Support/mcp-gate/policy.toml")
    if platform == "win32":
        return Path(environ.get("ProgramData", "C:/ProgramData")) / "mcp-gate" / FILE_NAME
    return Path("/etc/mcp-gate/policy.toml")


def load_policy(config: Config, cli: Mapping[Effect, Sequence[str]], where: Places) -> tuple[Policy, list[str]]:
    """All that is in force, and notes on what was passed over; raises ConfigError with every problem of them all."""
    loading = _Loading()
    managed = loading.file(where.managed, Source.MANAGED, others=stat.S_IWGRP | stat.S_IWOTH)
    loading.options(cli)
    loading.file(where.local, Source.LOCAL)
    loading.project(where)
    loading.file(where.user / FILE_NAME, Source.USER)
    for policy in config.policies:
        loading.content(policy.content, policy.name, config.source)
    if loading.problems:
        raise ConfigError(loading.problems)
    for name in (BASELINE, READ_ONLY) if config.gate.baseline else (READ_ONLY,):
        label = f"policies/{name}"
        loading.content(read_policy_text(shipped_policies() / name, label), label, Source.DEFAULT)
    policies = loading.policies
    if managed is not None and managed.only_managed:
        policies = [policies[0], *map(_without_loosening, policies[1:])]
    return merged(policies), loading.notes


def merged(policies: Sequence[Policy]) -> Policy:
    """Several policies as one."""
    return Policy(
        tuple(rule for policy in policies for rule in policy.rules),
        tuple(one for policy in policies for one in policy.chain),
        tuple(one for policy in policies for one in policy.nodes),
        tuple(one for policy in policies for one in policy.tools),
        tuple(one for policy in policies for one in policy.read_only),
    )


def check_mode(policy: Policy, mode: str, where: str) -> None:
    """Raises ConfigError for a mode that no policy of the chain names: a wrong letter would lift every restriction."""
    known = sorted({DEFAULT_MODE, *(one.mode for one in policy.chain if one.mode != "*")})
    if mode not in known:
        names = ", ".join(f"`{name}`" for name in known)
        why = f"no policy names the mode `{mode}`; known are {names}; `@modes` under `gate.policies` brings more"
        raise ConfigError([Problem("", where, why)])


def _without_loosening(policy: Policy) -> Policy:
    """What is left of another source where an organisation's file says `only_managed`."""
    return Policy(tuple(r for r in policy.rules if r.effect is not Effect.ALLOW), policy.chain, policy.nodes)


class _Loading:
    """Collects policies, problems and notes."""

    def __init__(self) -> None:
        self.policies: list[Policy] = []
        self.problems: list[Problem] = []
        self.notes: list[str] = []

    def options(self, cli: Mapping[Effect, Sequence[str]]) -> None:
        options = [(effect, text, f"--{effect}") for effect, texts in cli.items() for text in texts]
        try:
            self.policies.append(Policy(read_rules(options, "", Source.CLI)))
        except ConfigError as error:
            self.problems += error.problems

    def content(self, content: bytes, label: str, source: Source, *, trusted: bool = True) -> PolicyDocument | None:
        try:
            document = parse_policy(content, label)
            self.policies.append(document.policy(label, source, trusted=trusted))
        except ConfigError as error:
            self.problems += error.problems
            return None
        if document.only_managed and source is not Source.MANAGED:
            self.problems.append(Problem(label, "only_managed", "is for an organisation's file alone; remove it"))
        return document

    def file(self, path: Path, source: Source, *, others: int = stat.S_IWOTH) -> PolicyDocument | None:
        """Load a file if it is there."""
        if not path.exists():
            return None
        try:
            content = read_policy_text(path, str(path), others)
        except ConfigError as error:
            self.problems += error.problems
            return None
        return self.content(content, str(path), source)

    def project(self, where: Places) -> None:
        """A project's file counts untrusted too, but only as far as it tightens."""
        path = where.project / PROJECT_FOLDER / FILE_NAME
        if not path.exists():
            return
        label = f"{PROJECT_FOLDER}/{FILE_NAME}"
        try:
            content = read_policy_text(path, label)
        except ConfigError as error:
            self.problems += error.problems
            return
        real = Path(os.path.realpath(path))
        trusted = not path.is_symlink() and where.is_trusted(Snapshot(real, label, content))
        document = self.content(content, label, Source.PROJECT, trusted=trusted)
        if not trusted and document is not None and (document.allow or document.read_only or document.tools):
            self.notes.append(
                f"{path}: is not trusted, or was changed since, so what it allows does not count; "
                f"read it, then run `mcp-gate trust {path}`"
            )
