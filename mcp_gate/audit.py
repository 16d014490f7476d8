"""The decision log: one JSON line per decision before anything happens, and one per outcome, append-only.

| event | written | members besides `time`, `session`, `id`, `event` |
| --- | --- | --- |
| `decision` | before anything is asked or forwarded | the call, `masked`, `effect`, `tier`, `chain`, `reasons` |
| `approval` | when a question has been settled, or was not answered | `verdict`, `by`, `why` |
| `outcome` | when the call is over | `tool`, `status`, `ms`, `why` |

A status is ok, error (the server's own), denied, invalid (arguments), unavailable, unknown, refused or cancelled.

A call is `node`, `tool`, `server` and `arguments`; `chain` says of each policy of the chain whether it permits.

`masked` names the arguments whose values are not kept, as dotted paths. Lines are written by one system call each to a
descriptor in append mode, so that several gates can share a file. A record that a full disk cut short keeps a line of
its own, which is no JSON.
"""

import errno
import json
import os
import re
import stat
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
MAX_KEY = 100
MAX_ITEMS = 100
MAX_DEPTH = 12

# A key is secret if one of its words is, or two that follow each other, or if it ends in one of the endings; words are
# split at case changes, digits and punctuation, and a plural counts as its singular.
_SECRET_WORDS = frozenset(
    {"password", "passwd", "passphrase", "passcode", "pwd", "pw", "secret", "authorization", "auth", "credential"}
    | {"cookie", "apikey", "bearer", "pin", "cvv", "otp", "jwt", "signature", "mnemonic"}
)
_SECRET_PAIRS = frozenset(
    {(word, "key") for word in ("api", "private", "access", "signing", "client", "ssh", "encryption", "master")}
    | {(word, "token") for word in ("access", "refresh", "api", "session", "id")}
    | {("connection", "string"), ("seed", "phrase")}
)
_SECRET_ENDS = ("password", "token", "secret", "apikey", "privatekey", "accesskey")
# `token` is also what models count: with one of these words beside it, it is no secret
_COUNTS = frozenset({"max", "min", "count", "limit", "budget", "usage", "total"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_write = json.JSONEncoder(separators=(",", ":")).encode


def is_secret(key: str) -> bool:
    """Whether the value under this key must not be written down: `api_key`, `apiKey`, `X-Auth-Token`, `dbPasswords`.

    `max_tokens`, `token_count`, `author` and `monkey` are not; `tokens` alone is taken for a number of them.
    """
    words = [word.lower() for word in _WORD.findall(key)]
    if any(word in _SECRET_WORDS or word.removesuffix("s") in _SECRET_WORDS for word in words):
        return True
    if any((first, second.removesuffix("s")) in _SECRET_PAIRS for first, second in pairwise(words)):
        return True
    if words[-1:] == ["pass"]:
        return True
    return _COUNTS.isdisjoint(words) and ("token" in words or key.lower().endswith(_SECRET_ENDS))


def mask(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments as they may be written down, and the dotted paths of what was masked.

    What is left out of a long text, list or object is said in its place.
    """
    masked: list[str] = []
    return _members(arguments, "", masked, 1), masked


def _members(values: Mapping[str, Any], path: str, masked: list[str], depth: int) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for key, value in list(values.items())[:MAX_ITEMS]:
        name = shortened(key, MAX_KEY)
        shown[name] = _shown(value, key, f"{path}{name}", masked, depth)
    return shown | ({"…": f"{len(values) - MAX_ITEMS} more"} if len(values) > MAX_ITEMS else {})


def _shown(value: Any, key: str, path: str, masked: list[str], depth: int) -> Any:
    if value is None or isinstance(value, bool) or value == "":
        return value
    if is_secret(key):
        masked.append(path)
        return MASK
    if isinstance(value, str):
        return shortened(value, MAX_TEXT)
    if not isinstance(value, Mapping | list):
        return value
    if depth == MAX_DEPTH:
        return "…"
    if isinstance(value, Mapping):
        return _members(value, f"{path}.", masked, depth + 1)
    items = [_shown(item, "", f"{path}.{i}", masked, depth + 1) for i, item in enumerate(value[:MAX_ITEMS])]
    return [*items, f"… {len(value) - MAX_ITEMS} more"] if len(value) > MAX_ITEMS else items


class AuditError(GateError):
    """A record could not be written: what it was to record must not happen."""


class AuditLog:
    """Appends records to one file of one person, mode 0600; its folder is made, mode 0700, where it is missing."""

    def __init__(self, path: Path, session: str) -> None:
        self.path, self._session, self._is_torn = path, session, False
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(path, flags | os.O_NONBLOCK, 0o600)  # a FIFO that nobody reads must not hold the gate up
        except OSError as error:
            why = "it is a symbolic link" if error.errno == errno.ELOOP else error.strerror
            raise AuditError(f"the audit log `{path}` cannot be opened: {why}") from None
        self._keep_private()

    def _keep_private(self) -> None:
        """Take others' rights to a file that was there before."""
        mode = os.fstat(self._fd).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            try:
                os.fchmod(self._fd, 0o600)
            except OSError as error:
                os.close(self._fd)
                text = f"the audit log `{self.path}` can be read by others, and its mode cannot be changed"
                raise AuditError(f"{text}: {error.strerror}") from None

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
            tier=decision.tier,
            chain=dict(decision.verdicts),
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
        line = b"\n" * self._is_torn + _write(record).encode() + b"\n"
        try:
            written = os.write(self._fd, line)
        except OSError as error:
            raise AuditError(f"the audit log `{self.path}` cannot be written: {error.strerror}") from None
        self._is_torn = written != len(line)
        if self._is_torn:
            raise AuditError(f"the audit log `{self.path}` took only part of a record")
