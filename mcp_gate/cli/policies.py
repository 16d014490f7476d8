"""`mcp-gate test`, `lint` and `import-rules`: policy files, looked at for themselves."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio
import click
import tomli_w

from mcp_gate.catalog.registry import ServerTool
from mcp_gate.claude import as_policy, import_settings
from mcp_gate.cli import FAILURE, Options
from mcp_gate.cli.assembly import Assembly, assemble, find_config, read, started
from mcp_gate.display import shown
from mcp_gate.gate import resource_of
from mcp_gate.model import Source
from mcp_gate.policy.lint import Finding
from mcp_gate.policy.lint import lint as linted
from mcp_gate.policy.policy import Policy
from mcp_gate.policyfile import PolicyDocument, parse_policy
from mcp_gate.policytest import Outcome, run_tests
from mcp_gate.snapshot import read_policy_text, shipped_policies
from mcp_gate.sources import BASELINE, READ_ONLY, merged


def test(options: Options, files: Sequence[Path], *, as_json: bool) -> int:
    """Run the tests of each file; 1 if one fails. Raises ConfigError."""
    documents = _named(files) if files else _in_force(options)
    outcomes = [(label, outcome) for label, document in documents for outcome in _outcomes(label, document)]
    failed = sum(bool(outcome.fault) for _, outcome in outcomes)
    if as_json:
        click.echo(json.dumps([_as_dict(label, outcome) for label, outcome in outcomes], indent=2))
    else:
        for label, outcome in outcomes:
            if outcome.fault:
                click.echo(shown(f"{label}: tests[{outcome.number}]: `{outcome.test.call}`: {outcome.fault}"))
        for label, document in documents:
            if not document.tests:
                click.echo(f"{label}: has no [[tests]]")
        click.echo(f"{len(outcomes) - failed} passed, {failed} failed")
    return FAILURE if failed else 0


def _named(files: Sequence[Path]) -> list[tuple[str, PolicyDocument]]:
    return [(str(file), parse_policy(read_policy_text(file, str(file)), str(file))) for file in files]


def _in_force(options: Options) -> list[tuple[str, PolicyDocument]]:
    return [(policy.name, parse_policy(policy.content, policy.name)) for policy in find_config(options)[0].policies]


def _outcomes(label: str, document: PolicyDocument) -> list[Outcome]:
    """A file's tests, decided by it and what ships below it."""
    below = [name for name in (BASELINE, READ_ONLY) if Path(label).name != name]
    shipped = [parse_policy(read_policy_text(shipped_policies() / name, name), name) for name in below]
    policies = [
        document.policy(label, Source.USER),
        *(one.policy(f"policies/{n}", Source.DEFAULT) for n, one in zip(below, shipped, strict=True)),
    ]
    return list(run_tests(document.tests, merged(policies)))


def _as_dict(label: str, outcome: Outcome) -> dict[str, object]:
    return {
        "file": label,
        "test": outcome.number,
        "call": outcome.test.call,
        "expected": outcome.test.expect,
        "effect": outcome.decision.effect,
        "passed": not outcome.fault,
        "fault": outcome.fault,
    }


def lint(options: Options, *, as_json: bool) -> int:
    """Print what is wrong with the rules in force; 1 if anything is. Raises ConfigError."""
    setting = read(options)
    findings = anyio.run(partial(_findings, assemble(setting), setting.policy))
    if as_json:
        rows = [{"kind": f.kind, "where": f.rule.where, "rule": f.rule.pattern, "why": f.why} for f in findings]
        click.echo(json.dumps(rows, indent=2))
    else:
        for finding in findings:
            click.echo(shown(str(finding)))
        click.echo(f"{len(findings)} findings")
    return FAILURE if findings else 0


async def _findings(assembly: Assembly, policy: Policy) -> list[Finding]:
    """What is wrong with the rules that are not the baseline's."""
    async with started(assembly):
        tools = [resource_of(tool, {}) for tool in assembly.registry.tools() if isinstance(tool, ServerTool)]
        return [finding for finding in linted(policy, tools) if finding.rule.source is not Source.DEFAULT]


def import_rules(file: Path) -> int:
    """Print a policy file on stdout and what is left on stderr; 1 if anything is left. Raises ConfigError."""
    imported = import_settings(file)
    click.echo(tomli_w.dumps(as_policy(imported, file), multiline_strings=False), nl=False)
    for line in imported.left:
        click.echo(f"mcp-gate: not translated: {shown(line)}", err=True)
    return FAILURE if imported.left else 0
