"""Putting a gate together from its configuration, for the verbs that need one."""

import os
import sys
import uuid
from collections.abc import AsyncIterator
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
from mcp_gate.model import Effect, Subject
from mcp_gate.places import config_dir, state_dir
from mcp_gate.policy.rules import Policy
from mcp_gate.servers.pool import Servers
from mcp_gate.sources import load_policy
from mcp_gate.trust import TrustStore

AUDIT_FILE = "audit.jsonl"


@dataclass(frozen=True, slots=True)
class Assembly:
    """A gate and its parts; nothing of it runs yet."""

    config: Config
    exposure: Exposure
    subject: Subject
    registry: Registry
    servers: Servers
    gate: Gate


def read(options: Options) -> tuple[Config, Policy]:
    """The configuration and policy in force; what was passed over is said on stderr. Raises ConfigError."""
    environ = os.environ
    trusted = TrustStore(state_dir(environ)).is_trusted
    snapshot, notes = find(options.config, environ, _working_directory(), config_dir(environ), trusted)
    config = load(snapshot, environ)
    for note in (*notes, *config.notes):
        print(f"mcp-gate: {note}", file=sys.stderr)
    logs.configure(config.gate.log_level)
    rules = {Effect.DENY: options.deny, Effect.ASK: options.ask, Effect.ALLOW: options.allow}
    return config, load_policy(config, rules)


def _working_directory() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise GateError("the working directory is gone; change to one that exists") from None


def assemble(config: Config, policy: Policy, *, tool: str | None = None) -> Assembly:
    """A gate for this configuration; with `tool`, only with the servers that a tool of this name may belong to."""
    session = uuid.uuid4().hex
    registry = Registry(list(config.servers))
    only = None if tool is None else frozenset(n for n, s in config.servers.items() if tool.startswith(s.prefix))
    servers = Servers(config, registry, os.environ, only=only)
    audit = AuditLog(state_dir(os.environ) / AUDIT_FILE, session)
    gate = Gate(registry, servers, policy, audit, approval_timeout=config.gate.approval_timeout)
    registry.register(ToolSearch(registry, lambda name: gate.is_permitted(registry.get(name))))
    shown = config.exposure
    exposure = Exposure(shown.mode, shown.threshold, shown.always_load)
    return Assembly(config, exposure, Subject(session), registry, servers, gate)


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
