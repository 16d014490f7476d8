"""`python -m mcp_gate`."""

from mcp_gate.cli import main

if __name__ == "__main__":
    main()
