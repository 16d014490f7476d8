"""Redirections: which an allow rule has to spell."""

from mcp_gate.policy.shell.arguments import Surroundings, argument
from mcp_gate.policy.shell.syntax import UNKNOWN, Redirect, Substitution
from mcp_gate.policy.shell.units import Write

HARMLESS = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})


def written(redirect: Redirect, surroundings: Surroundings) -> tuple[Write | None, str]:
    """What a rule has to spell, None where the redirection does no harm; and why it is never allowed, else empty."""
    if redirect.operator in ("<<", "<<-", "<<<"):
        return None, ""
    target, parts = argument(redirect.target, surroundings), redirect.target.parts
    if len(parts) == 1 and isinstance(parts[0], Substitution) and parts[0].kind != "$":
        return None, ""
    text = target.written
    if redirect.operator in (">&", "<&") and (text.isdigit() or text == "-"):
        return None, ""
    if text in HARMLESS and redirect.operator != "<>":
        return None, ""
    if redirect.operator == "<":
        odd = UNKNOWN in target.wild or text.startswith(("/dev/tcp", "/dev/udp"))
        return None, "`<` reads what is not known, or the network" if odd else ""
    fd = "" if redirect.fd == "1" and redirect.operator.startswith(">") else redirect.fd
    return Write(f"{fd}{redirect.operator}", target), ""


def shown(redirect: Redirect, surroundings: Surroundings) -> str:
    """The redirection as a deny or ask rule sees it."""
    return f"{redirect.fd}{redirect.operator} {argument(redirect.target, surroundings).wild}"
