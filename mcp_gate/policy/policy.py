"""Everything that is in force at one time: rules, chain, nodes, what tools are, which shell lines only read."""

from dataclasses import dataclass, field

from mcp_gate.globs import star_match
from mcp_gate.model import Effect, Kind, Source, Tier
from mcp_gate.policy.rules import EDITS, READS, Rule
from mcp_gate.policy.shell.patterns import CommandPattern

RANK = {source: rank for rank, source in enumerate(Source)}


@dataclass(frozen=True, slots=True)
class ChainPolicy:
    """A named policy of the chain: which tools a mode has. A whitelist goes before a blacklist.

    `priority`: the lowest number is asked first; the order changes what is told, not what is decided.
    """

    name: str
    mode: str = "*"
    priority: int = 100
    allowed_tools: tuple[str, ...] = ()
    denied_tools: tuple[str, ...] = ()
    where: str = ""
    source: Source = Source.USER

    def permits(self, name: str) -> bool:
        """Whether the tool (`server__tool`) may be used under this policy."""
        if self.allowed_tools:
            return any(star_match(glob, name) for glob in self.allowed_tools)
        return not any(star_match(glob, name) for glob in self.denied_tools)


@dataclass(frozen=True, slots=True)
class NodeScope:
    """The tools of a node and of those whose names go on after it: `analyst` also holds for `analyst_x`."""

    node: str
    allowed_tools: tuple[str, ...]
    where: str = ""
    source: Source = Source.USER

    def holds_for(self, node: str) -> bool:
        """Whether this is the allowlist of the node."""
        return node == self.node or node.startswith(f"{self.node}_")

    def permits(self, name: str) -> bool:
        """Whether the tool (`server__tool`) may be used by the node."""
        return any(star_match(glob, name) for glob in self.allowed_tools)


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """What a policy file says of the tools that `match` speaks of. `counts`: it may loosen as well as tighten."""

    match: str
    tier: Tier | None = None
    kind: Kind | None = None
    subject: str = ""
    cost: float | None = None
    where: str = ""
    source: Source = Source.USER
    counts: bool = True


@dataclass(frozen=True, slots=True)
class ReadOnly:
    """A shell command that only reads, unless options make it write: these are seen to apart."""

    text: str
    where: str
    source: Source
    command: CommandPattern = field(compare=False)


@dataclass(frozen=True, slots=True)
class Policy:
    """All of it, from every source, in no particular order."""

    rules: tuple[Rule, ...] = ()
    chain: tuple[ChainPolicy, ...] = ()
    nodes: tuple[NodeScope, ...] = ()
    tools: tuple[ToolFacts, ...] = ()
    read_only: tuple[ReadOnly, ...] = ()
    _about: dict[tuple[object, ...], tuple[Rule, ...]] = field(default_factory=dict, compare=False, repr=False)
    _said: dict[str, tuple[ToolFacts, ...]] = field(default_factory=dict, compare=False, repr=False)

    def about(
        self, name: str, full_name: str, kinds: frozenset[Kind], declared: Kind | None, only_reads: bool
    ) -> tuple[Rule, ...]:
        """The rules that speak of a tool, highest source first.

        `name` is the gate's, `full_name` is `server__tool`; an allow rule must match the latter. `kinds` is what the
        tool may be; an allow rule over a kind wants it `declared`.
        """
        key = (name, full_name, kinds, declared, only_reads)
        if key not in self._about:
            found = [
                rule
                for rule in self.rules
                if (_speaks(rule, kinds, declared, only_reads) if rule.word else _names(rule, name, full_name))
            ]
            self._about[key] = tuple(sorted(found, key=lambda rule: RANK[rule.source]))
        return self._about[key]

    def facts(self, full_name: str) -> tuple[ToolFacts, ...]:
        """What is said of a tool, highest source first."""
        if full_name not in self._said:
            found = [facts for facts in self.tools if star_match(facts.match, full_name)]
            self._said[full_name] = tuple(sorted(found, key=lambda facts: RANK[facts.source]))
        return self._said[full_name]


def _names(rule: Rule, name: str, full_name: str) -> bool:
    return rule.names(full_name) or (rule.effect is not Effect.ALLOW and rule.names(name))


def _speaks(rule: Rule, kinds: frozenset[Kind], declared: Kind | None, only_reads: bool) -> bool:
    """Whether a rule over a kind speaks of a tool: of reading, allow only what is known to do no more; of editing, all
    but what is known to only read."""
    allows = rule.effect is Effect.ALLOW
    if (declared is not rule.kind) if allows else (rule.kind not in kinds):
        return False
    if rule.word in READS:
        return only_reads or not allows
    return not (rule.word in EDITS and only_reads and not allows)
