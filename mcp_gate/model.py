"""The vocabulary: frozen values that every layer shares.

The words of a question are AuthZEN's: a *subject* wants an *action* on a *resource* in a *context*. The answer is a
`Decision`: an effect, its reasons, and what has to happen before an allow or ask may be carried out (obligations).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

ApprovalMode = Literal["session", "auto", "call"]


class Effect(StrEnum):
    """What a rule or a decision says."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Tier(StrEnum):
    """How much harm a tool can do, from none to most."""

    SAFE = "safe"
    STANDARD = "standard"
    WRITE = "write"
    EXPENSIVE = "expensive"
    DANGEROUS = "dangerous"


class Source(StrEnum):
    """Where a rule stands. The order of definition is the order of precedence, highest first."""

    MANAGED = "managed"
    CLI = "cli"
    SESSION = "session"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    DEFAULT = "default"


class Scope(StrEnum):
    """How far an approval reaches: this one call, or the server for the rest of the session."""

    CALL = "call"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Subject:
    """Who calls: one run of the gate, and the node (sub-agent) inside it, empty for the main one."""

    session: str
    node: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """What is called: a tool, with the arguments of this call.

    `name` is the gate's name (`git__git_status`), `tool` the server's own (`git_status`). `cost` is in US dollars.
    """

    name: str
    server: str
    tool: str
    arguments: Mapping[str, Any]
    tier: Tier = Tier.STANDARD
    approval: ApprovalMode = "session"
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """The state a call is judged in: the servers this subject has approved for the session."""

    approved_servers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the policy: may `subject` do `action` (an MCP method) on `resource`, in `context`."""

    subject: Subject
    action: str
    resource: Resource
    context: Context = field(default_factory=Context)


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a decision is what it is.

    `rule` is the text of the rule, empty where no rule spoke; `where` is its place (`policies/starter.toml: deny[2]`)
    or the place of the setting that decided; `source` is a `Source` value, or `tier` or `approval`.
    """

    source: str
    rule: str
    where: str
    why: str

    def __str__(self) -> str:
        place = f"{self.source}, {self.where}" if self.where else self.source
        return f"rule `{self.rule}` ({place}) {self.why}" if self.rule else f"{self.why} ({place})"


@dataclass(frozen=True, slots=True)
class Obligation:
    """What the gate must do before it carries a decision out: get an approval that may reach as far as `scope`."""

    scope: Scope
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """The one answer to a `Request`. `obligations` is empty unless `effect` is ask."""

    effect: Effect
    reasons: tuple[Reason, ...]
    obligations: tuple[Obligation, ...] = ()


@dataclass(frozen=True, slots=True)
class Attachment:
    """What goes along with a forwarded call besides its arguments.

    `meta` is the request's `_meta` without what belongs to the host's connection alone; `on_progress` gets the params
    of each progress notification as the server sent them.
    """

    meta: Mapping[str, Any] = field(default_factory=dict)
    on_progress: Callable[[dict[str, Any]], None] | None = None
