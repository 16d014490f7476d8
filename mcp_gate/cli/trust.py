"""`mcp-gate trust`: consent to what a working directory's configuration starts, and its policy file allows."""

import os
import shlex
from pathlib import Path

import click

from mcp_gate.config import load
from mcp_gate.display import shown
from mcp_gate.model import Source
from mcp_gate.places import state_dir
from mcp_gate.policyfile import parse_policy
from mcp_gate.snapshot import Snapshot, read_snapshot
from mcp_gate.sources import PROJECT_FOLDER
from mcp_gate.trust import TrustStore


def trust(file: Path, *, remove: bool) -> None:
    """Remember or forget the file, and print what it stands for. Raises ConfigError."""
    store = TrustStore(state_dir(os.environ))
    if remove:
        known = store.untrust(file)
        click.echo(f"{file}: no longer trusted" if known else f"{file}: was not trusted")
        return
    snapshot = read_snapshot(file)
    if snapshot.path.parent.name == PROJECT_FOLDER:
        _trust_policy(store, snapshot)
        return
    config = load(snapshot, os.environ)
    digest = store.trust(snapshot)
    click.echo(f"{file}: trusted as it is now (sha256 {digest[:16]}); it starts")
    for name, server in config.servers.items():
        if server.enabled:
            click.echo(f"  {name}: {shown(shlex.join([server.command, *server.args]))}")
            for variable in server.env:
                click.echo(f"    with {variable} set")
    for policy in config.policies:
        click.echo(f"  rules: {policy.name}")


def _trust_policy(store: TrustStore, snapshot: Snapshot) -> None:
    """Trust a project's policy file: what it allows counts from now on."""
    document = parse_policy(snapshot.content, snapshot.label)
    document.policy(snapshot.label, Source.PROJECT)
    digest = store.trust(snapshot)
    click.echo(f"{snapshot.label}: trusted as it is now (sha256 {digest[:16]}); it allows")
    for rule in (*document.allow, *document.read_only):
        click.echo(f"  {shown(rule)}")
    for tool in document.tools:
        click.echo(
            f"  tools: {shown(tool.match)}: {shown(tool.model_dump_json(exclude_defaults=True, exclude={'match'}))}"
        )
