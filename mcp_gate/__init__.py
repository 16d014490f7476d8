"""mcp-gate: one MCP server in front of all of a person's MCP servers."""

__version__ = "0.1.0"
