"""What a shell line does, as far as rules can speak of it. Knows no rules, so its answer can be kept.

| of a line | what comes of it |
| --- | --- |
| each simple command, at any depth, and what it runs (`env x`, `sh -c 'x'`) | texts for deny and ask rules |
| each of them but clear wrappers and harmless built-ins | a `Unit` that an allow rule must cover |
| a write of a group or loop, an unknown variable, a function, an odd character … | a doubt: never allowed |
| a line that cannot be read | its pieces between operators, quotes ignored, as texts; and a doubt |
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

from mcp_gate.model import Dialect
from mcp_gate.policy.characters import odd_character
from mcp_gate.policy.shell.agree import disagreement
from mcp_gate.policy.shell.arguments import Surroundings
from mcp_gate.policy.shell.study import Study
from mcp_gate.policy.shell.syntax import UNKNOWN, Script
from mcp_gate.policy.shell.units import Unit

LONGEST = 10_000


@dataclass(frozen=True)
class Analysis:
    """What a line does.

    texts: for deny and ask rules, each between two blanks; open_texts: those of them that are not known in full.
    units: for allow rules.
    doubt: why the line is never allowed, empty if it may be.
    unclear: why not even a rule for the whole tool, or for this very line, allows it.
    scripts: every text that was read, with what it was read as, for the second parser.
    """

    texts: tuple[str, ...]
    units: tuple[Unit, ...]
    doubt: str
    unclear: str = ""
    scripts: tuple[Script, ...] = ()

    @cached_property
    def open_texts(self) -> tuple[str, ...]:
        return tuple(text for text in self.texts if UNKNOWN in text)

    @cached_property
    def disagreement(self) -> str:
        """Why a second parser does not confirm the reading, empty where it does."""
        return next(filter(None, map(disagreement, self.scripts)), "")


@lru_cache(maxsize=512)
def analyse(line: str, dialect: Dialect, home: str, cwd: str) -> Analysis:
    """Take a line apart. Never raises; what goes wrong is a doubt."""
    study = Study(Surroundings(home, cwd))
    study.texts[line] = None
    study.texts[line.strip()] = None
    if dialect in ("bash", "sh"):
        study.line(line, dialect)
    else:
        study.doubts.append(_unread(dialect))
        study.line(line, "sh")
    if dialect != "bash":
        study.doubts += study.bashisms
        study.as_sh(line)
    unclear = study.unread
    if odd := odd_character(line):
        unclear = f"it holds {odd}"
    elif len(line) > LONGEST:
        unclear = f"it is longer than {LONGEST:,} characters"
    elif not line.strip():
        unclear = "it holds no command"
    doubt = unclear or (study.doubts or [""])[0]
    texts = tuple(f" {text} " for text in study.texts)
    return Analysis(texts, tuple(study.units), doubt, unclear, tuple(study.scripts))


def _unread(dialect: Dialect) -> str:
    if dialect == "unknown":
        return 'the shell of its server is not known: say `shell = "bash"` or `"sh"` under the server in servers.toml'
    return f"lines of {dialect} are not read"
