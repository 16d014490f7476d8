"""The decision log: one JSON line per decision before anything happens, and one per outcome, append-only.

| event | written | members besides `time`, `session`, `id`, `event` |
| --- | --- | --- |
| `decision` | before anything is asked or forwarded | `tool`, `server`, `arguments`, `masked`, `effect`, `reasons` |
| `approval` | when a question has been settled, or was not answered | `verdict`, `by`, `why` |
| `outcome` | when the call is over | `tool`, `status`, `ms`, `why` |

A status is ok, error (the server's own), denied, invalid (arguments), unavailable, unknown, refused or cancelled.

`masked` names the arguments whose values are not kept, as dotted paths. Lines are written by one system call each to a
descriptor in append mode, so that several gates can share a file.
"""

import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from mcp_gate.display import shortened
from mcp_gate.errors import GateError
from mcp_gate.model import Decision, Request

MASK = "***"
MAX_TEXT = 1_000  # characters of one value; what is cut is given by length and digest
MAX_ITEMS = 100
MAX_DEPTH = 12

# A key is secret if one of its words is; words are split at case changes, digits and punctuation.
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "pwd", "pw", "token", "secret", "secrets", "authorization", "auth"}
    | {"credential", "credentials", "cookie", "cookies", "apikey", "bearer", "pin", "cvv", "otp", "jwt", "signature"}
)
_SECRET_PAIRS = frozenset(
    {("api", "key"), ("private", "key"), ("access", "key"), ("signing", "key"), ("client", "key")}
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


_write = json.JSONEncoder(separators=(",", ":")).encode


def is_secret(key: str) -> bool:
    """Whether the value under this key must not be written down: `api_key`, `apiKey`, `X-Auth-Token`, `dbPassword`."""
    words = [word.lower() for word in _WORD.findall(key)]
    return (
        not _SECRET_WORDS.isdisjoint(words)
        or any(pair in _SECRET_PAIRS for pair in pairwise(words))
        or any(key.lower().endswith(end) for end in ("password", "token", "secret", "apikey"))
    )


def mask(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments as they may be written down, and the dotted paths of what was masked."""
    masked: list[str] = []
    return {key: _shown(value, key, key, masked, 1) for key, value in arguments.items()}, masked


def _shown(value: Any, key: str, path: str, masked: list[str], depth: int) -> Any:
    if is_secret(key) and value not in (None, "", True, False):
        masked.append(path)
        return MASK
    if depth > MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        kept = list(value.items())[:MAX_ITEMS]
        return {k: _shown(v, str(k), f"{path}.{k}", masked, depth + 1) for k, v in kept}
    if isinstance(value, list):
        return [_shown(v, "", f"{path}.{i}", masked, depth + 1) for i, v in enumerate(value[:MAX_ITEMS])]
    return shortened(value, MAX_TEXT) if isinstance(value, str) else value


class AuditError(GateError):
    """A record could not be written: what it was to record must not happen."""


class AuditLog:
    """Appends records to one file of one person, mode 0600; its folder is made, mode 0700, where it is missing."""

    def __init__(self, path: Path, session: str) -> None:
        self.path, self._session = path, session
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise AuditError(f"the audit log `{path}` cannot be opened: {error.strerror}") from None

    def decision(self, call_id: str, request: Request, decision: Decision) -> None:
        """Record what was decided, before it is carried out.

        Raises:
            AuditError: it could not be recorded.
        """
        arguments, masked = mask(request.resource.arguments)
        self._write(
            call_id,
            "decision",
            node=request.subject.node,
            tool=request.resource.name,
            server=request.resource.server,
            arguments=arguments,
            masked=masked,
            effect=decision.effect,
            reasons=[{"source": r.source, "rule": r.rule, "where": r.where, "why": r.why} for r in decision.reasons],
        )

    def approval(self, call_id: str, verdict: str, by: str, why: str) -> None:
        """Record how a question was settled.

        Raises:
            AuditError: it could not be recorded.
        """
        self._write(call_id, "approval", verdict=verdict, by=by, why=shortened(why, MAX_TEXT))

    def outcome(self, call_id: str, tool: str, status: str, milliseconds: float, why: str = "") -> None:
        """Record how a call ended.

        Raises:
            AuditError: it could not be recorded.
        """
        self._write(
            call_id,
            "outcome",
            tool=shortened(tool, 100),
            status=status,
            ms=round(milliseconds, 3),
            why=shortened(why, MAX_TEXT),
        )

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _write(self, call_id: str, event: str, **members: Any) -> None:
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        record = {"time": now, "session": self._session, "id": call_id, "event": event, **members}
        line = _write(record).encode() + b"\n"
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise AuditError(f"the audit log `{self.path}` cannot be written: {error.strerror}") from None
        if written != len(line):
            raise AuditError(f"the audit log `{self.path}` took only part of a record")
