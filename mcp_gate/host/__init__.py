"""The MCP server that the host sees."""
