"""The words of a question: whole, in the gate's own frame, in a form that cannot pretend to be something else.

Every line that shows what a model or server wrote starts with `│ `, which their text cannot produce, since line ends
and every other control, direction or invisible character in it is written as `\\u{…}`.
"""

import json
import unicodedata
from typing import Any

from mcp_gate.approval.approval import Approval
from mcp_gate.audit import shortened
from mcp_gate.model import Tier

MAX_ARGUMENT = 1_000  # characters of one argument
MAX_ARGUMENTS = 50

# Control, format (direction marks, zero width), surrogate, private use, unassigned, line and paragraph separator.
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def shown(text: str) -> str:
    """`text` with everything escaped that a screen would not show as itself; ` ` is the only blank left as it is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c == " " or (unicodedata.category(c) not in _UNSHOWN and not c.isspace()) else f"\\u{{{ord(c):x}}}"
        for c in text
    )


def as_json(value: Any) -> str:
    """A value as JSON on one line, shown."""
    return shown(json.dumps(value, ensure_ascii=False))


def question(approval: Approval) -> str:
    """The text that is put to a person."""
    resource, decision = approval.request.resource, approval.decision
    lines = [f"mcp-gate asks: may `{shown(resource.tool)}` of server `{shown(resource.server)}` be called?"]
    about = [] if resource.tier is Tier.STANDARD else [f"tier: {resource.tier}"]
    if resource.cost is not None:
        about.append(f"cost: about ${resource.cost:.2f}")
    lines += about
    items = list(resource.arguments.items())
    lines += [f"│ {shown(name)} = {shortened(as_json(value), MAX_ARGUMENT)}" for name, value in items[:MAX_ARGUMENTS]]
    if not items:
        lines.append("│ (no arguments)")
    if len(items) > MAX_ARGUMENTS:
        lines.append(f"│ … and {len(items) - MAX_ARGUMENTS} more arguments")
    lines += [f"because {shown(str(reason))}" for reason in decision.reasons[:1]]
    return "\n".join(lines)
