"""`mcp-gate trust`: consent to what a working directory's configuration starts and allows."""

import os
import shlex
from pathlib import Path

import click

from mcp_gate.config import load
from mcp_gate.display import shown
from mcp_gate.places import state_dir
from mcp_gate.snapshot import read_snapshot
from mcp_gate.trust import TrustStore


def trust(file: Path, *, remove: bool) -> None:
    """Remember or forget the file, and print what it stands for. Raises ConfigError."""
    store = TrustStore(state_dir(os.environ))
    if remove:
        known = store.untrust(file)
        click.echo(f"{file}: no longer trusted" if known else f"{file}: was not trusted")
        return
    snapshot = read_snapshot(file)
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
