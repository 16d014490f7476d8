"""Which files found in a working directory the user has trusted: by place and by content.

A repository must not be able to start programs or allow calls, so its `servers.toml` counts only once its user has read
it and run `mcp-gate trust`. Trust is for the file and every policy file it names: when one of them changes, it ends.
What is trusted is a `Snapshot`; whoever goes on with the same snapshot parses the bytes that were checked.

Programs that the file starts are not covered: a script of the repository may change under a trusted `servers.toml`.
"""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mcp_gate.documents import parse_json, read_bytes
from mcp_gate.errors import ConfigError, Problem
from mcp_gate.snapshot import Snapshot, read_snapshot

FILE_NAME = "trusted.json"


@dataclass(frozen=True, slots=True)
class TrustStore:
    """The trusted files, kept in `trusted.json` in `folder` (`places.state_dir`): digests by absolute path."""

    folder: Path

    @property
    def file(self) -> Path:
        """Where the digests are kept; it need not exist."""
        return self.folder / FILE_NAME

    def trust(self, file: Path | Snapshot) -> str:
        """Trust the file as it is now or was read, with the policy files it names; the digest. Raises ConfigError."""
        snapshot = read_snapshot(file) if isinstance(file, Path) else file
        faults = [
            Problem(snapshot.label, f"`{policy.name}`", policy.fault) for policy in snapshot.policies if policy.fault
        ]
        if faults:
            raise ConfigError(faults)
        self._write(self._read() | {str(snapshot.path): snapshot.digest})
        return snapshot.digest

    def is_trusted(self, file: Path | Snapshot) -> bool:
        """Whether exactly these bytes at this place were trusted; whatever cannot be read is not."""
        try:
            snapshot = read_snapshot(file) if isinstance(file, Path) else file
            return self._read().get(str(snapshot.path)) == snapshot.digest
        except ConfigError:
            return False

    def untrust(self, path: Path) -> bool:
        """Forget the file; whether it had been trusted. Raises ConfigError."""
        trusted = self._read()
        known = trusted.pop(os.path.realpath(path), None) is not None
        if known:
            self._write(trusted)
        return known

    def _read(self) -> dict[str, str]:
        label = str(self.file)
        if not self.file.exists():
            return {}
        trusted = parse_json(read_bytes(self.file, label), label)
        if not all(isinstance(digest, str) for digest in trusted.values()):
            raise ConfigError([Problem(label, "", "is damaged; delete it and trust your files again")])
        return trusted

    def _write(self, trusted: dict[str, str]) -> None:
        """Replace the file in one step, so that no reader ever sees half of it; `mkstemp` makes it private (0600)."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=FILE_NAME)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(trusted, file, indent=2, sort_keys=True)
            os.replace(name, self.file)
        except OSError as error:
            why = f"cannot be written: {(error.strerror or str(error)).lower()}"
            raise ConfigError([Problem(str(self.file), "", why)]) from None
