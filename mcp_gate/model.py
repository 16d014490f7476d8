"""The vocabulary: frozen values that every layer shares.

The words of a question are AuthZEN's: a *subject* wants an *action* on a *resource* in a *context*. The answer is a
`Decision`: an effect, its reasons, and what has to happen before an allow or ask may be carried out (obligations).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

ApprovalMode = Literal["session", "auto", "call"]
Dialect = Literal["bash", "sh", "cmd", "powershell", "unknown"]
Platform = Literal["posix", "windows"]


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


class Kind(StrEnum):
    """What the subject of a tool is: a shell line, a path, a URL, or text that has no structure to the gate."""

    SHELL = "shell"
    PATH = "path"
    URL = "url"
    PLAIN = "plain"


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
    """Who calls: one run of the gate, and the node (sub-agent) inside it, empty for the main one.

    `within` is the node that the whole run is, where that is another: both must be allowed what they do.
    """

    session: str
    node: str = ""
    within: str = ""

    @property
    def nodes(self) -> tuple[str, ...]:
        """Every node whose allowlist holds."""
        return tuple(dict.fromkeys(filter(None, (self.within, self.node))))


@dataclass(frozen=True, slots=True)
class Resource:
    """What is called: a tool, with the arguments of this call.

    name: the gate's name (`git__git_status`); tool: the server's own (`git_status`).
    tier, cost, kind, subject: what servers.toml says of the tool itself; cost is in US dollars, subject the name of
    the argument that a rule's parentheses speak of.
    shell: what the server's shell is, if a tool of it runs lines.
    parameters: the names of the arguments that the tool's schema knows.
    destructive, read_only: the server's hints about the tool; they may loosen only where `trusts_hints`.
    """

    name: str
    server: str
    tool: str
    arguments: Mapping[str, Any]
    tier: Tier | None = None
    approval: ApprovalMode = "session"
    cost: float | None = None
    kind: Kind | None = None
    subject: str = ""
    shell: Dialect = "unknown"
    parameters: frozenset[str] = frozenset()
    destructive: bool = False
    read_only: bool = False
    trusts_hints: bool = False


def no_link(_path: str) -> str:
    """No path is a link."""
    return ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a call happens. `home` and `cwd` are empty where they are not known.

    `link` gives the target of a symbolic link at an absolute path, as it is written there, or an empty string where
    there is none. It is handed in, so that deciding reads no disk.
    """

    home: str = ""
    cwd: str = ""
    platform: Platform = "posix"
    ignores_case: bool = False
    link: Callable[[str], str] = no_link


@dataclass(frozen=True, slots=True)
class Context:
    """The state a call is judged in.

    approved_servers: those that this subject has approved for the session.
    auto_approve: nobody is there to ask; standard tools need no session approval.
    budget: US dollars that calls may still cost without a question; None where there is no budget.
    """

    approved_servers: frozenset[str] = frozenset()
    mode: str = "full_pipeline"
    auto_approve: bool = False
    budget: float | None = None
    place: Place = field(default_factory=Place)


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
    or the place of the setting that decided; `source` is a `Source` value, or `chain`, `tier` or `approval`.
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
    """The one answer to a `Request`. `obligations` is empty unless `effect` is ask; `spends` is what an allow costs.

    `verdicts` are what each policy of the chain and each allowlist of the node said: (its name, whether it permits).
    """

    effect: Effect
    reasons: tuple[Reason, ...]
    obligations: tuple[Obligation, ...] = ()
    tier: Tier = Tier.STANDARD
    spends: float = 0.0
    verdicts: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class Attachment:
    """What goes along with a forwarded call besides its arguments.

    `meta` is the request's `_meta` without what belongs to the host's connection alone; `subject` is who calls;
    `on_progress` gets the params of each progress notification as the server sent them.
    """

    meta: Mapping[str, Any] = field(default_factory=dict)
    on_progress: Callable[[dict[str, Any]], None] | None = None
    subject: Subject | None = None
