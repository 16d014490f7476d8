"""The layout holds: imports point one way, and what is to be pure does no I/O (design, section 2)."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Highest first. A module may import from layers below its own and from its own package, never from a neighbour.
LAYERS = (
    ("cli",),
    ("host",),
    ("gate",),
    ("approval", "servers", "audit"),
    ("sources", "trust", "wire", "policytest"),
    ("config", "policyfile", "claude"),
    ("hostfile", "snapshot", "places"),
    ("documents",),
    ("policy", "catalog"),
    ("globs",),
    ("model",),
    ("errors",),
    ("display",),
)
ABOVE_ALL = frozenset({"__main__"})
PURE = frozenset({"policy", "catalog"})
IMPURE = frozenset(
    {"anyio", "asyncio", "concurrent", "ctypes", "fcntl", "glob", "http", "io", "logging", "multiprocessing", "os"}
    | {"pathlib", "platform", "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "ssl", "sys"}
    | {"structlog", "subprocess", "tempfile", "threading", "time", "urllib", "uuid"}
)
# `import mcp` takes a second: whatever needs it imports it when it is first needed.
HEAVY = frozenset({"mcp", "mcp_types", "starlette", "uvicorn", "httpx", "httpx2", "cryptography", "jsonschema"})
HEAVY_WHERE_IT_IS_IMPORTED_LATE = {"catalog.arguments": frozenset({"jsonschema"})}


def part_of(module: str) -> str:
    """The part of the layout that a module below `mcp_gate` belongs to."""
    return module.split(".")[0]


def rank(part: str) -> int:
    """The layer of a part, 0 the highest; an unknown part has none."""
    return next(n for n, layer in enumerate(LAYERS) if part in layer)


def imports(source: str, *, only_top: bool = False) -> Iterator[str]:
    """The absolute names that a module imports, anywhere in it or only where it is loaded."""
    tree = ast.parse(source)
    for node in tree.body if only_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")
            yield from (f"{node.module}.{alias.name}" for alias in node.names if node.module)


def violations(sources: Mapping[str, str]) -> list[str]:
    """What is wrong with modules given as `dotted name below mcp_gate` to source."""
    found = []
    for module, source in sources.items():
        part = part_of(module)
        if part not in ABOVE_ALL and not any(part in layer for layer in LAYERS):
            found.append(f"{module} is in no layer")
            continue
        for name in set(imports(source)):
            top = name.split(".")[0]
            if name.startswith("."):
                found.append(f"{module} imports relatively")
            elif top == "mcp_gate":
                other = part_of(name.removeprefix("mcp_gate.")) if "." in name else ""
                if any(other in layer for layer in LAYERS) and not may_import(part, other):
                    found.append(f"{module} imports {other}")
            elif part in PURE and (top in IMPURE or (top == "mcp" and not name.startswith("mcp.types"))):
                found.append(f"{module} imports {name}")
        allowed = HEAVY_WHERE_IT_IS_IMPORTED_LATE.get(module, frozenset())
        for name in set(imports(source, only_top=True)):
            if (top := name.split(".")[0]) in HEAVY - allowed:
                found.append(f"{module} loads {top} at once")
    return sorted(set(found))


def may_import(part: str, other: str) -> bool:
    """Whether a module of one part may import another part."""
    return part in ABOVE_ALL or part == other or rank(part) < rank(other)


def project() -> dict[str, str]:
    """Every module of the package."""
    package = ROOT / "mcp_gate"
    return {
        ".".join(path.relative_to(package).with_suffix("").parts).removesuffix(".__init__"): path.read_text()
        for path in package.rglob("*.py")
        if path != package / "__init__.py"
    }


def test_imports_point_one_way_and_pure_packages_do_no_io() -> None:
    modules = project()
    assert len(modules) > 20
    assert violations(modules) == []


@pytest.mark.parametrize(
    ("module", "source", "violation"),
    [
        ("model", "from mcp_gate.policy.rules import Rule", "model imports policy"),
        ("policy.rules", "import mcp_gate.catalog.names", "policy.rules imports catalog"),
        ("policy.decide", "import time", "policy.decide imports time"),
        ("policy.decide", "def f():\n    from os import path", "policy.decide imports os"),
        ("catalog.names", "import anyio.abc", "catalog.names imports anyio.abc"),
        ("catalog.names", "def f():\n    import mcp.client", "catalog.names imports mcp.client"),
        ("servers.pool", "from mcp_gate.approval import elicitation", "servers.pool imports approval"),
        ("audit", "from mcp_gate.approval.question import shown", "audit imports approval"),
        ("wire.pipes", "from mcp_gate.config import Config", None),
        ("gate", "from mcp_gate.host.server import Host", "gate imports host"),
        ("gate", "from mcp_gate import host", "gate imports host"),
        ("host.server", "from . import conversation", "host.server imports relatively"),
        ("host.server", "import mcp.types", "host.server loads mcp at once"),
        ("host.server", "def f():\n    import mcp.types", None),
        ("surprise", "", "surprise is in no layer"),
    ],
)
def test_a_violation_is_found(module: str, source: str, violation: str | None) -> None:
    found = violations({module: source})
    assert found == [] if violation is None else violation in found


def test_only_the_gate_has_a_tool_executed() -> None:
    """One path: nothing else may call a server's tool (design, section 2)."""
    callers = [
        module
        for module, source in project().items()
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("tool.execute", "server.call", "self.forward")
    ]
    assert sorted(callers) == ["catalog.registry", "gate"]  # `Tool.execute` itself, and its one caller


def test_modules_stay_one_idea() -> None:
    long = {module: n for module, source in project().items() if (n := len(source.splitlines())) > 350}
    assert long == {}
