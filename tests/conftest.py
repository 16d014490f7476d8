"""What the tests share: a state of their own, configurations, and ways to launch the gate as a host does."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from mcp.client.stdio import StdioServerParameters


@pytest.fixture
def anyio_backend() -> str:
    """The gate runs on asyncio alone."""
    return "asyncio"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Environment variables that keep a gate away from the user's own files; set for this process too."""
    places = {"MCP_GATE_STATE_DIR": str(tmp_path / "state"), "MCP_GATE_CONFIG_DIR": str(tmp_path / "config")}
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    return places


@pytest.fixture
def write_config(tmp_path: Path) -> Callable[..., Path]:
    """Write a servers.toml from keyword arguments: `write_config(gate={...}, servers={...})`."""

    def write(**tables: Any) -> Path:
        file = tmp_path / "servers.toml"
        file.write_text(tomli_w.dumps(tables))
        return file

    return write


@pytest.fixture
def argv() -> Callable[..., list[str]]:
    """The command that launches a gate for a configuration, with further options."""

    def command(config: Path, *options: str) -> list[str]:
        return [sys.executable, "-m", "mcp_gate", "run", "--config", str(config), *options]

    return command


@pytest.fixture
def gate(argv: Callable[..., list[str]], state: dict[str, str]) -> Callable[..., StdioServerParameters]:
    """The same for the SDK's client."""

    def parameters(config: Path, *options: str) -> StdioServerParameters:
        command, *args = argv(config, *options)
        return StdioServerParameters(command=command, args=args, env={**os.environ, **state})

    return parameters


@pytest.fixture
def run(tmp_path: Path, state: dict[str, str]) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run `mcp-gate` in a folder of its own."""

    def command(*arguments: str, answers: str = "", **environ: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "mcp_gate", *arguments],
            input=answers,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, **state, **environ},
            timeout=60,
            check=False,
        )

    return command
