"""The conversation of a call made by hand: forms are asked on stderr and answered on stdin."""

import sys
from collections.abc import Mapping
from typing import Any

import anyio.to_thread


class TerminalConversation:
    """A host that is a terminal, or whatever is piped into the command."""

    can_elicit = True

    async def ask(self, _method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Show a form with one choice; the answer is a choice's number or value. End of input closes the form."""
        field = params["requestedSchema"]["properties"]["decision"]
        print(params["message"], file=sys.stderr)
        for number, title in enumerate(field["enumNames"], start=1):
            print(f"  {number}. {title}", file=sys.stderr)
        while sys.stdin is not None:
            print(f"answer 1 to {len(field['enum'])}: ", end="", file=sys.stderr, flush=True)
            line = await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True)
            if not line:
                print(file=sys.stderr)
                break
            answer = line.strip()
            if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= len(field["enum"]):
                answer = field["enum"][int(answer) - 1]
            if answer in field["enum"]:
                return {"action": "accept", "content": {"decision": answer}}
        return {"action": "cancel"}
