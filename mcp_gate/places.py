"""Where the gate keeps what is the user's own: its configuration, and the state it remembers between runs.

Two environment variables move them: `MCP_GATE_CONFIG_DIR` and `MCP_GATE_STATE_DIR`.
"""

from collections.abc import Mapping
from pathlib import Path

import platformdirs

NAME = "mcp-gate"


def config_dir(environ: Mapping[str, str]) -> Path:
    """The folder of the user's `servers.toml`; it need not exist."""
    named = environ.get("MCP_GATE_CONFIG_DIR")
    return Path(named).absolute() if named else platformdirs.user_config_path(NAME, appauthor=False)


def state_dir(environ: Mapping[str, str]) -> Path:
    """The folder of trusted files and the decision log; it need not exist."""
    named = environ.get("MCP_GATE_STATE_DIR")
    return Path(named).absolute() if named else platformdirs.user_state_path(NAME, appauthor=False)
