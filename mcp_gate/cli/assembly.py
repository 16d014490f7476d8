"""Putting a gate together from its configuration, for the verbs that need one."""

import os
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio

from mcp_gate.audit import AuditLog
from mcp_gate.catalog.exposure import Exposure
from mcp_gate.catalog.registry import Registry
from mcp_gate.catalog.search import ToolSearch
from mcp_gate.cli import Options, logs
from mcp_gate.config import Config, find, load
from mcp_gate.errors import GateError
from mcp_gate.gate import Gate
from mcp_gate.model import Attachment, Context, Effect, Place, Subject
from mcp_gate.places import config_dir, state_dir
from mcp_gate.policy.policy import Policy
from mcp_gate.servers.pool import Servers
from mcp_gate.sources import check_mode, load_policy, places
from mcp_gate.trust import TrustStore

AUDIT_FILE = "audit.jsonl"
MODE_VARIABLE = "MCP_GATE_MODE"


@dataclass(frozen=True, slots=True)
class Assembly:
    """A gate and its parts; nothing of it runs yet."""

    config: Config
    exposure: Exposure
    subject: Subject
    registry: Registry
    servers: Servers
    gate: Gate


@dataclass(frozen=True, slots=True)
class Setting:
    """What was read before anything is put together: the configuration, the policy, and what each call is judged in."""

    config: Config
    policy: Policy
    context: Context
    node: str = ""


def find_config(options: Options) -> tuple[Config, list[str]]:
    """The configuration in force, and notes on what was passed over. Raises ConfigError."""
    environ = os.environ
    trusted = TrustStore(state_dir(environ)).is_trusted
    snapshot, notes = find(options.config, environ, _working_directory(), config_dir(environ), trusted)
    return load(snapshot, environ), notes


def read(options: Options) -> Setting:
    """The configuration and policy in force; what was passed over is said on stderr. Raises ConfigError."""
    environ, cwd = os.environ, _working_directory()
    trusted = TrustStore(state_dir(environ)).is_trusted
    config, notes = find_config(options)
    rules = {Effect.DENY: options.deny, Effect.ASK: options.ask, Effect.ALLOW: options.allow}
    where = places(environ, config_dir(environ), cwd, trusted)
    policy, passed = load_policy(config, rules, where)
    mode, said = _mode(options.mode, environ, config)
    check_mode(policy, mode, said)
    for note in (*notes, *config.notes, *passed):
        print(f"mcp-gate: {note}", file=sys.stderr)
    logs.configure(config.gate.log_level)
    gate = config.gate
    context = Context(mode=mode, auto_approve=gate.auto_approve, budget=gate.budget, place=place(where.project))
    return Setting(config, policy, context, options.node)


def place(project: Path) -> Place:
    """Where calls happen whose server has no directory of its own. The links of this machine's disk are looked up."""
    return Place(
        home=os.path.expanduser("~").removeprefix("~"),
        cwd=str(project),
        platform="windows" if os.name == "nt" else "posix",
        ignores_case=sys.platform in ("darwin", "win32"),
        link=_link,
    )


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except (OSError, ValueError):
        return ""


def _mode(option: str, environ: Mapping[str, str], config: Config) -> tuple[str, str]:
    """The mode, and who said it."""
    if option:
        return option, "--mode"
    if named := environ.get(MODE_VARIABLE):
        return named, MODE_VARIABLE
    return config.gate.mode, "gate.mode"


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise GateError("the working directory is gone; change to one that exists") from None


def assemble(setting: Setting, *, tool: str | None = None) -> Assembly:
    """A gate for this setting; with `tool`, only with the servers that a tool of this name may belong to."""
    config, policy = setting.config, setting.policy
    subject = Subject(uuid.uuid4().hex, setting.node)
    registry = Registry(list(config.servers))
    only = None if tool is None else frozenset(n for n, s in config.servers.items() if tool.startswith(s.prefix))
    servers = Servers(config, registry, os.environ, only=only)
    audit = AuditLog(state_dir(os.environ) / AUDIT_FILE, subject.session)
    timeout = config.gate.approval_timeout
    gate = Gate(registry, servers, policy, audit, approval_timeout=timeout, context=setting.context)

    def is_permitted(name: str, call: Attachment | None) -> bool:
        who = call.subject if call is not None and call.subject is not None else subject
        return gate.is_permitted(registry.get(name), who)

    registry.register(ToolSearch(registry, is_permitted))
    shown = config.exposure
    exposure = Exposure(shown.mode, shown.threshold, shown.always_load)
    return Assembly(config, exposure, subject, registry, servers, gate)


@asynccontextmanager
async def started(assembly: Assembly) -> AsyncIterator[None]:
    """Run the servers until each is ready or has failed, then the body, then stop them."""
    failure: GateError | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(assembly.servers.run)
        await assembly.servers.settled()
        try:
            yield
        except GateError as error:  # raised below: a task group would wrap it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure
