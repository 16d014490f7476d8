"""The words of a question: whole, in the gate's own frame, in a form that cannot pretend to be something else.

Every line that shows what a model or server wrote starts with `│ `, which their text cannot produce, since line ends
and every other control, direction or invisible character in it is written as `\\u{…}`.
"""

import json
from typing import Any

from mcp_gate.approval.approval import Approval
from mcp_gate.display import shortened, shown
from mcp_gate.model import Tier

MAX_ARGUMENT = 1_000  # characters of one argument
MAX_ARGUMENTS = 50


def as_json(value: Any) -> str:
    """A value as JSON on one line, shown."""
    return shown(json.dumps(value, ensure_ascii=False))


def _label(name: str) -> str:
    """The name of an argument; quoted where it is no plain word, since it could hold anything."""
    return name if name.isascii() and name.isidentifier() else shortened(as_json(name), MAX_ARGUMENT)


def question(approval: Approval) -> str:
    """The text that is put to a person."""
    resource, decision = approval.request.resource, approval.decision
    lines = [f"mcp-gate asks: may `{shown(resource.tool)}` of server `{shown(resource.server)}` be called?"]
    about = [] if resource.tier is Tier.STANDARD else [f"tier: {resource.tier}"]
    if resource.cost is not None:
        about.append(f"cost: about ${resource.cost:.2f}")
    lines += about
    items = list(resource.arguments.items())
    lines += [f"│ {_label(name)} = {shortened(as_json(value), MAX_ARGUMENT)}" for name, value in items[:MAX_ARGUMENTS]]
    if not items:
        lines.append("│ (no arguments)")
    if len(items) > MAX_ARGUMENTS:
        lines.append(f"│ … and {len(items) - MAX_ARGUMENTS} more arguments")
    lines += [f"because {shown(str(reason))}" for reason in decision.reasons[:1]]
    return "\n".join(lines)
