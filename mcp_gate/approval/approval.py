"""One approval: the question that a decision made necessary, its choices, and its verdict.

| choice | verdict | reaches |
| --- | --- | --- |
| once | allow | this call |
| session | allow | every standard tool of the server, until the gate ends; offered only where the decision allows it |
| deny | deny | this call |

An answer that is none of these, a closed form, an error or a timeout is no verdict: nothing has been allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from mcp_gate.model import Decision, Effect, Request, Scope


class Choice(StrEnum):
    """What a person can answer."""

    ONCE = "once"
    SESSION = "session"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Approval:
    """A question about one exact call. `decision.effect` is ask."""

    request: Request
    decision: Decision

    @property
    def scope(self) -> Scope:
        """How far an answer may reach."""
        return self.decision.obligations[0].scope if self.decision.obligations else Scope.CALL

    @property
    def choices(self) -> tuple[Choice, ...]:
        """What may be answered, the narrowest first."""
        if self.scope is Scope.SESSION:
            return (Choice.ONCE, Choice.SESSION, Choice.DENY)
        return (Choice.ONCE, Choice.DENY)

    def title(self, choice: Choice) -> str:
        """The choice in words that say what it will do."""
        if choice is Choice.ONCE:
            return "Allow this call"
        if choice is Choice.SESSION:
            return f"Allow server {self.request.resource.server} for this session"
        return "Deny"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The settled answer. `effect` is allow or deny, or None where nobody answered; `by` names who, `why` says more."""

    effect: Effect | None
    scope: Scope
    by: str
    why: str


class Conversation(Protocol):
    """The way to the person behind one call: a live request, a suspended call, or a terminal."""

    @property
    def can_elicit(self) -> bool:
        """Whether forms can be shown there."""
        ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the host and wait for its result.

        Raises:
            RpcError: the host's error, or the host is gone.
        """
        ...
