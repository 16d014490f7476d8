"""A configuration as it was at one moment: the bytes of the file and of every policy file it names, read once.

Trust is given to a snapshot, and a snapshot is what is parsed afterwards, so nothing can change between the two.
"""

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from mcp_gate.documents import parse_toml, read_bytes
from mcp_gate.errors import ConfigError, Problem
from mcp_gate.model import Source


@dataclass(frozen=True, slots=True)
class PolicyText:
    """A policy file by the name the configuration gives it; `fault` says why it could not be read, else it is empty."""

    name: str
    content: bytes
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`path` is absolute and free of links, `label` what messages call the file, `source` where its rules stand."""

    path: Path
    label: str
    content: bytes
    policies: tuple[PolicyText, ...] = ()
    source: Source = Source.USER

    @property
    def digest(self) -> str:
        """SHA-256, in hex, over the configuration and its policy files, their names and faults included."""
        parts = [("", _sha256(self.content), "")]
        parts += [(policy.name, _sha256(policy.content), policy.fault) for policy in self.policies]
        return _sha256(json.dumps(parts).encode())


def read_snapshot(path: Path, label: str = "", source: Source = Source.USER) -> Snapshot:
    """Read the configuration at `path` and what it names; raises ConfigError where the configuration cannot be read.

    A link is followed first: relative names inside the file then mean the same however the file was reached.
    """
    label = label or str(path)
    real = Path(os.path.realpath(path))  # unlike `Path.resolve` it bears links that run in a circle
    content = read_bytes(real, label)
    policies = tuple(_read_policy(real.parent, name) for name in _policy_names(content))
    return Snapshot(real, label, content, policies, source)


def _policy_names(content: bytes) -> list[str]:
    """The policy files named; what is not in order here is for the loader to report."""
    try:
        gate = parse_toml(content, "").get("gate")
    except ConfigError:
        return []
    names = gate.get("policies") if isinstance(gate, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def shipped_policies() -> Path:
    """The folder of the policy files that ship: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "policies"
    return installed if installed.is_dir() else package.parent / "policies"


def read_policy_text(path: Path, label: str, others: int = stat.S_IWOTH) -> bytes:
    """The bytes of a policy file; raises ConfigError, also where others than its owner may write it.

    `others` are the permissions that nobody but the owner may have.
    """
    content = read_bytes(path, label)
    mode = path.stat().st_mode & others
    if mode and os.name == "posix":
        who = "anyone" if mode & stat.S_IWOTH else "its group"
        raise ConfigError([Problem(label, "", f"can be written by {who}, so it is not used; run `chmod go-w` on it")])
    return content


def _read_policy(folder: Path, name: str) -> PolicyText:
    if "\0" in name:
        return PolicyText(name, b"", "is no file name")
    shipped = name.startswith("@")
    path = shipped_policies() / f"{name[1:]}.toml" if shipped else folder / Path(name).expanduser()
    if shipped and ("/" in name or not path.is_file()):
        known = ", ".join(sorted(f"`@{file.stem}`" for file in shipped_policies().glob("*.toml")))
        return PolicyText(name, b"", f"is none of the policies that ship; those are {known}")
    try:
        return PolicyText(name, read_policy_text(path, name))
    except ConfigError as error:
        return PolicyText(name, b"", error.problems[0].message)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
