"""The words of a question: whole, in the gate's own frame, in a form that cannot pretend to be something else.

Every line that shows arguments starts with `│ `, which their text cannot produce: it is shown as `mcp_gate.display`
says, on one line.

| part | is shown |
| --- | --- |
| a name of other characters than `A-Z a-z 0-9 _ . / : -`, of an argument or a tool | as JSON, without backticks |
| the value of an argument | as JSON |
| a long name or value, arguments after the first `MAX_ARGUMENTS` | the beginning, the whole length and a digest |

So no two calls are asked about in the same words.
"""

import json
import re
from typing import Any

from mcp_gate.approval.approval import Approval
from mcp_gate.display import shortened, shown
from mcp_gate.model import Tier

MAX_NAME = 200  # characters of the name of a tool or an argument
MAX_ARGUMENT = 1_000  # characters of one argument
MAX_ARGUMENTS = 50

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_./:-]+")


def as_json(value: Any) -> str:
    """A value as JSON on one line, shown."""
    return shown(json.dumps(value, ensure_ascii=False))


def _label(name: str) -> str:
    """A name that others chose; quoted where it is no plain word, since it could hold anything, our own frame too."""
    plain = name if _PLAIN_NAME.fullmatch(name) else as_json(name).replace("`", "\\u{60}")
    return shortened(plain, MAX_NAME)


def question(approval: Approval) -> str:
    """The text that is put to a person."""
    resource, decision = approval.request.resource, approval.decision
    lines = [f"mcp-gate asks: may `{_label(resource.tool)}` of server `{_label(resource.server)}` be called?"]
    about = [] if decision.tier is Tier.STANDARD else [f"tier: {decision.tier}"]
    cost = next((o.cost for o in decision.obligations if o.cost is not None), resource.cost)
    if cost is not None:
        about.append(f"cost: about ${cost:,.2f}" if cost >= 0.01 else f"cost: ${cost:.1g}")
    lines += about
    items = list(resource.arguments.items())
    lines += [f"│ {_label(name)} = {shortened(as_json(value), MAX_ARGUMENT)}" for name, value in items[:MAX_ARGUMENTS]]
    if not items:
        lines.append("│ (no arguments)")
    if len(items) > MAX_ARGUMENTS:
        rest = dict(items[MAX_ARGUMENTS:])
        lines.append(f"│ … and {len(rest)} more arguments: {shortened(as_json(rest), MAX_ARGUMENT)}")
    lines += [f"because {shown(str(reason))}" for reason in decision.reasons[:1]]
    return "\n".join(lines)
