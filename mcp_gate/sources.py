"""Where rules come from: the command line, the policy files that a configuration names, and the baseline that ships.

A policy file is TOML: lists of rules under `deny`, `ask` and `allow`, a `description`, and `[[tests]]` that say what
the file is meant to decide. A rule that cannot be read is never skipped: the whole policy is refused.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field

from mcp_gate.config import Config
from mcp_gate.documents import Model, parse_toml, read_bytes, validate
from mcp_gate.errors import ConfigError, Problem, RuleSyntaxError
from mcp_gate.model import ApprovalMode, Effect, Source, Tier
from mcp_gate.policy.rules import Policy, Rule, parse_rule

BASELINE = "default.toml"
Patterns = Annotated[tuple[str, ...], Field(strict=False)]


class PolicyTest(Model):
    """`[[tests]]`: a call of the tool `call`, the effect it is to have, and words that its first reason holds."""

    call: str
    expect: Annotated[Effect, Field(strict=False)]
    tier: Annotated[Tier, Field(strict=False)] = Tier.STANDARD
    approval: ApprovalMode = "session"
    reason: str = ""


class PolicyDocument(Model):
    """A whole policy file, its rules not yet read."""

    description: str = ""
    deny: Patterns = ()
    ask: Patterns = ()
    allow: Patterns = ()
    tests: Annotated[tuple[PolicyTest, ...], Field(strict=False)] = ()

    def rules(self, label: str, source: Source) -> tuple[Rule, ...]:
        """The rules, each with its place (`label: deny[2]`, counted from 0); raises ConfigError with every bad one."""
        lists = {Effect.DENY: self.deny, Effect.ASK: self.ask, Effect.ALLOW: self.allow}
        places = [
            (effect, text, f"{effect}[{number}]")
            for effect, texts in lists.items()
            for number, text in enumerate(texts)
        ]
        return _read_rules(places, label, source)


def parse_policy(content: bytes, label: str) -> PolicyDocument:
    """A policy file from its bytes; raises ConfigError with every unknown key and wrong value."""
    return validate(PolicyDocument, parse_toml(content, label), label)


def read_policy_file(path: Path, source: Source) -> tuple[Rule, ...]:
    """The rules of the policy file at `path`; raises ConfigError with every problem of the file."""
    return parse_policy(read_bytes(path, str(path)), str(path)).rules(str(path), source)


def load_policy(config: Config, cli: Mapping[Effect, Sequence[str]]) -> Policy:
    """All rules in force: those of the command line, of the files that `config` names, and of the baseline.

    The files' rules stand where the configuration does (`config.source`). Raises ConfigError with every problem of
    every source.
    """
    options = [(effect, text, f"--{effect}") for effect, texts in cli.items() for text in texts]
    baseline = shipped_policies() / BASELINE
    rules: list[Rule] = []
    problems: list[Problem] = []
    try:
        rules += _read_rules(options, "", Source.CLI)
    except ConfigError as error:
        problems += error.problems
    for policy in config.policies:
        try:
            rules += parse_policy(policy.content, policy.name).rules(policy.name, config.source)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    label = f"policies/{BASELINE}"
    rules += parse_policy(read_bytes(baseline, label), label).rules(label, Source.DEFAULT)
    return Policy(tuple(rules))


def shipped_policies() -> Path:
    """The folder of the policy files that ship: inside an installed package, beside it in a checkout."""
    package = Path(__file__).parent
    installed = package / "policies"
    return installed if installed.is_dir() else package.parent / "policies"


def _read_rules(places: Sequence[tuple[Effect, str, str]], label: str, source: Source) -> tuple[Rule, ...]:
    """Read (effect, text, key) triples; `label` is the file they stand in, empty for the command line."""
    rules: list[Rule] = []
    problems: list[Problem] = []
    for effect, text, key in places:
        try:
            rules.append(parse_rule(text, effect, source, f"{label}: {key}" if label else key))
        except RuleSyntaxError as error:
            problems.append(Problem(label, key, str(error)))
    if problems:
        raise ConfigError(problems)
    return tuple(rules)
