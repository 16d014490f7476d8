"""The command line: one module a verb, imported when the verb is run.

| exit code | means |
| --- | --- |
| 0 | ok, or allow |
| 1 | failure |
| 2 | deny; also a wrong command line |
| 3 | ask, or an approval that nobody gave |
| 4 | invalid configuration |
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click

from mcp_gate import __version__
from mcp_gate.errors import ConfigError, GateError

FAILURE, DENY, ASK, INVALID = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Options:
    """What every verb that loads a configuration takes."""

    config: Path | None
    allow: Sequence[str]
    ask: Sequence[str]
    deny: Sequence[str]
    mode: str = ""
    node: str = ""


def _with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--config`, `--allow`, `--ask`, `--deny`, `--mode` and `--node`, passed to it as one `Options`."""

    def with_options(
        config: Path | None,
        allow: tuple[str, ...],
        ask: tuple[str, ...],
        deny: tuple[str, ...],
        mode: str,
        node: str,
        **rest: Any,
    ) -> None:
        command(Options(config, allow, ask, deny, mode, node), **rest)

    with_options.__name__, with_options.__doc__ = command.__name__, command.__doc__
    rule = "a rule for this run alone, such as `git__*`; may be repeated"
    for option in (
        click.option("--node", default="", metavar="NAME", help="The node (sub-agent) that this gate is for."),
        click.option("--mode", default="", metavar="NAME", help="The mode; without it MCP_GATE_MODE, `gate.mode`."),
        click.option("--deny", multiple=True, metavar="RULE", help=f"Deny: {rule}."),
        click.option("--ask", multiple=True, metavar="RULE", help=f"Ask: {rule}."),
        click.option("--allow", multiple=True, metavar="RULE", help=f"Allow: {rule}."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="servers.toml, or a host's own JSON with `mcpServers`. Without it: MCP_GATE_CONFIG, a trusted "
            "./servers.toml, the user's own.",
        ),
    ):
        with_options = option(with_options)
    return with_options


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="mcp-gate")
def commands() -> None:
    """One MCP server in front of all of yours: it decides every call before a server sees it."""


@commands.command()
@_with_options
def run(options: Options) -> None:
    """Serve a host over stdin and stdout. This is what hosts launch."""
    from mcp_gate.cli.run import run

    run(options)


@commands.command()
@_with_options
def check(options: Options) -> None:
    """Load everything, start every server, and say what is wrong."""
    from mcp_gate.cli.check import check

    raise SystemExit(check(options))


@commands.command()
@click.option("--format", "form", type=click.Choice(["mcp", "anthropic", "openai"]), help="Print JSON in this form.")
@click.option("--category", help="Only tools of this category.")
@click.option("--cost-tier", type=click.Choice(["free", "cheap", "expensive"]), help="Only tools of this cost tier.")
@_with_options
def tools(
    options: Options, form: Literal["mcp", "anthropic", "openai"] | None, category: str | None, cost_tier: str | None
) -> None:
    """List the tools of all servers."""
    from mcp_gate.cli.tools import tools

    raise SystemExit(tools(options, form, category, cost_tier))


@commands.command()
@click.argument("tool")
@click.argument("arguments", default="{}")
@click.option("--json", "as_json", is_flag=True, help="Print the decision as JSON.")
@_with_options
def explain(options: Options, tool: str, arguments: str, as_json: bool) -> None:
    """Say what would be decided of a call, and why: explain git__git_status '{"repo_path": "."}'"""
    from mcp_gate.cli.call import explain

    raise SystemExit(explain(options, tool, arguments, as_json=as_json))


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="Print whole decisions as JSON.")
@_with_options
def decide(options: Options, as_json: bool) -> None:
    """Decide many calls: a JSON case a line on stdin, `effect<TAB>reason` a line on stdout.

    A case is {"tool": "shell__run", "arguments": {"command": "git status"}}; with "rules": {"deny": [], "ask": [],
    "allow": []} it is judged by those alone, else by the policy in force. Also "mode", "node", "shell", "fixture".
    """
    from mcp_gate.cli.decide import decide

    raise SystemExit(decide(options, as_json=as_json))


@commands.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the outcomes as JSON.")
@_with_options
def test(options: Options, files: Sequence[Path], as_json: bool) -> None:
    """Run the [[tests]] of policy files, each over the baseline; without FILES those of the files in force."""
    from mcp_gate.cli.policies import test

    raise SystemExit(test(options, files, as_json=as_json))


@commands.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@_with_options
def lint(options: Options, as_json: bool) -> None:
    """Start the servers, and report rules that never match, cannot be reached, repeat or contradict others."""
    from mcp_gate.cli.policies import lint

    raise SystemExit(lint(options, as_json=as_json))


@commands.command("import-rules")
@click.argument("file", type=click.Path(path_type=Path))
def import_rules(file: Path) -> None:
    """Print the permissions of a Claude Code settings.json as a policy file; what has no translation goes to stderr."""
    from mcp_gate.cli.policies import import_rules

    raise SystemExit(import_rules(file))


@commands.command()
@click.argument("tool")
@click.argument("arguments", default="{}")
@_with_options
def call(options: Options, tool: str, arguments: str) -> None:
    """Make one call through the whole gate, asking here: call time__get_current_time '{"timezone": "UTC"}'"""
    from mcp_gate.cli.call import call

    raise SystemExit(call(options, tool, arguments))


@commands.command()
@click.argument("file", type=click.Path(path_type=Path), default="servers.toml")
@click.option("--remove", is_flag=True, help="Trust the file no longer.")
def trust(file: Path, remove: bool) -> None:
    """Trust a servers.toml of a working directory, as it is now, with the policy files that it names."""
    from mcp_gate.cli.trust import trust

    trust(file, remove=remove)


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script: run a verb, and turn what went wrong into a message and an exit code."""
    try:
        commands(arguments, prog_name="mcp-gate")
    except ConfigError as error:
        for problem in error.problems:
            print(f"mcp-gate: {problem}", file=sys.stderr)
        raise SystemExit(INVALID) from None
    except GateError as error:
        print(f"mcp-gate: {error}", file=sys.stderr)
        raise SystemExit(FAILURE) from None
