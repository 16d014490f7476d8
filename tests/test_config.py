import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from mcp_gate.config import Config, find, load
from mcp_gate.errors import ConfigError
from mcp_gate.model import Source, Tier
from mcp_gate.places import config_dir, state_dir
from mcp_gate.snapshot import Snapshot, read_snapshot


def read(tmp_path: Path, text: str, environ: Mapping[str, str] | None = None, name: str = "servers.toml") -> Config:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load(read_snapshot(path, name), environ or {})


def refused(
    tmp_path: Path, text: str, environ: Mapping[str, str] | None = None, name: str = "servers.toml"
) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text, environ, name)
    return [*map(str, caught.value.problems)]


FULL = """
[gate]
list_timeout = 2
approval_timeout = 45.5
policies = ["policies/a.toml"]
log_level = "debug"
baseline = false
mode = "dry_run"
auto_approve = true
budget = 2.5

[exposure]
mode = "stub"
threshold = 0
always_load = ["time__*"]

[servers.time]
command = "mcp-server-time"
args = ["--local-timezone", "${TZ:-UTC}"]
env = { KEY = "${KEY}" }
cwd = "work"
approval = "auto"
timeout = 5
startup_timeout = 9.5
prefix = "t-"
shell = "sh"
trust_annotations = true

[servers.time.tools.convert_time]
tier = "safe"
category = "clock"
cost_tier = "cheap"
cost = 0.01
kind = "plain"
subject = "time"

[servers.git]
command = "mcp-server-git"
enabled = false
"""


def test_a_whole_file_is_read_in_order_with_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/a.toml").write_text("deny = []")
    config = read(tmp_path, FULL, {"KEY": "k"})
    assert (config.path, config.source, config.notes) == (tmp_path / "servers.toml", Source.USER, ())
    assert config.gate.model_dump() == {
        "list_timeout": 2.0,
        "approval_timeout": 45.5,
        "policies": ("policies/a.toml",),
        "log_level": "debug",
        "baseline": False,
        "mode": "dry_run",
        "auto_approve": True,
        "budget": 2.5,
    }
    assert [(policy.name, policy.content) for policy in config.policies] == [("policies/a.toml", b"deny = []")]
    assert config.exposure.model_dump() == {"mode": "stub", "threshold": 0, "always_load": ("time__*",)}
    assert list(config.servers) == ["time", "git"]
    time, git = config.servers.values()
    assert (time.command, time.args, time.env) == ("mcp-server-time", ("--local-timezone", "UTC"), {"KEY": "k"})
    assert (time.cwd, time.prefix, time.approval) == (tmp_path / "work", "t-", "auto")
    assert (time.timeout, time.startup_timeout, time.enabled) == (5.0, 9.5, True)
    tool = time.tools["convert_time"]
    assert (tool.tier, tool.category, tool.cost_tier, tool.cost) == (Tier.SAFE, "clock", "cheap", 0.01)
    assert (time.shell, time.trust_annotations) == ("sh", True)
    assert (git.shell, git.trust_annotations) == ("unknown", False)
    assert (tool.kind, tool.subject) == ("plain", "time")
    assert (git.args, git.env, git.cwd, git.enabled, git.approval) == ((), {}, None, False, "session")
    assert (git.timeout, git.startup_timeout, git.prefix, git.tools) == (60.0, 30.0, "git__", {})


def test_an_empty_file_has_defaults_and_a_note(tmp_path: Path) -> None:
    config = read(tmp_path, "")
    assert (config.gate.list_timeout, config.gate.approval_timeout, config.gate.policies) == (5.0, 300.0, ())
    assert (config.exposure.mode, config.exposure.threshold, config.servers) == ("auto", 15, {})
    assert config.notes == ("servers.toml: no server is configured; add a table `[servers.NAME]` with a `command`",)


def test_a_program_missing_on_path_is_no_error_of_the_file(tmp_path: Path) -> None:
    assert read(tmp_path, '[servers.x]\ncommand = "no-such-program-anywhere"').servers["x"].command


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = """
    gates = 1
    [gate]
    list_timeout = 0
    policies = ["gone.toml"]
    log_level = "loud"
    [exposure]
    threshold = -1
    [servers.git]
    comand = "x"
    args = "x"
    approval = "sometimes"
    timeout = inf
    [servers.git.tools.git_log]
    tier = "harmless"
    cost = "much"
    [servers.time]
    command = "${NO_SUCH}"
    [servers.TIME]
    command = "x"
    """
    assert refused(tmp_path, text) == [
        "servers.toml: gate.list_timeout: must be greater than 0, not `0`",
        'servers.toml: gate.log_level: must be `debug`, `info`, `warning` or `error`, not `"loud"`',
        "servers.toml: exposure.threshold: must be at least 0, not `-1`",
        "servers.toml: servers.git.command: is missing and has no default",
        'servers.toml: servers.git.args: must be a list, not `"x"`',
        'servers.toml: servers.git.approval: must be `session`, `auto` or `call`, not `"sometimes"`',
        "servers.toml: servers.git.timeout: must be a number, not `Infinity`",
        "servers.toml: servers.git.tools.git_log.tier: must be `safe`, `standard`, `write`, `expensive` or `dangerous`"
        ', not `"harmless"`',
        'servers.toml: servers.git.tools.git_log.cost: must be a number, not `"much"`',
        "servers.toml: servers.git.comand: is no key here; did you mean `command`?",
        "servers.toml: servers.time.command: `${NO_SUCH}` is not set in the gate's environment; "
        "set it or write `${NO_SUCH:-…}`",
        "servers.toml: gates: is no key here; did you mean `gate`?",
        "servers.toml: servers.TIME: differs from `time` only in upper and lower case; rename one",
        "servers.toml: gate.policies[0]: `gone.toml` does not exist",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[servers", "is not TOML: expected ']' at the end of a table declaration (at end of document)"),
        ("a = 1\nb = x", "is not TOML: invalid value (at line 2, column 5)"),
        ("x = " + "[" * 5000, "is nested too deeply"),
        ("servers = 5", "servers: must be a table, not `5`"),
        ("[servers]\ngit = 5", "servers.git: must be a table, not `5`"),
        ("[exposure]\nthreshold = 1.5", "exposure.threshold: must be a whole number, not `1.5`"),
        ("[exposure]\nthreshold = true", "exposure.threshold: must be a whole number, not `true`"),
        ('[gate]\nlist_timeout = "5"', 'gate.list_timeout: must be a number, not `"5"`'),
        ("[gate]\nlist_timeout = 86401", "gate.list_timeout: must be at most 86400, not `86401`"),
        ("[gate]\npolicies = [1]", "gate.policies[0]: must be a string, not `1`"),
        ('[gate]\npolicies = ["."]', "gate.policies[0]: `.` is not a regular file"),
        ('[gate]\npolicies = ["/dev/zero"]', "gate.policies[0]: `/dev/zero` is not a regular file"),
        (
            "[gate]\nzzz = 1",
            "gate.zzz: is no key here; the keys are `list_timeout`, `approval_timeout`, `policies`, `baseline`, "
            "`mode`, `auto_approve`, `budget`, `log_level`",
        ),
        ('[servers.x]\ncommand = ""', "servers.x.command: is empty; name the program that starts the server"),
        (
            '[servers.x]\ncommand = "a\\u0000b"',
            "servers.x.command: holds a NUL character, which no program can be given",
        ),
        ('[servers.x]\ncommand = "x"\ncwd = 5', "servers.x.cwd: must be a string, not `5`"),
        ('[servers.x]\ncommand = "x"\nenabled = "no"', 'servers.x.enabled: must be true or false, not `"no"`'),
        ('[servers.x]\ncommand = "x"\nenv.A = 5', "servers.x.env.A: must be a string, not a value of type int"),
        ('[servers.x]\ncommand = "x"\nenv."A=B" = "c"', 'servers.x.env."A=B": is no name of an environment variable'),
        (
            '[servers.x]\ncommand = "x"\nargs = ["ok", "${A"]',
            "servers.x.args[1]: `${` cannot be read; write `${VAR}` or `${VAR:-default}`",
        ),
        (
            '[servers.x]\ncommand = "x"\nenv.K = "${input:key}"',
            "servers.x.env.K: `${input:key}` cannot be read; write `${VAR}` or `${VAR:-default}`",
        ),
        (
            '[servers."a b"]\ncommand = "x"',
            'servers."a b": is no server name; use letters, digits, `-` and `_`, a letter or digit first',
        ),
        (
            "[servers.a__b]\ncommand = 'x'",
            "servers.a__b: is no server name; `__` parts server and tool, so no `__` inside and no `_` at the end",
        ),
        (
            "[servers.a_]\ncommand = 'x'",
            "servers.a_: is no server name; `__` parts server and tool, so no `__` inside and no `_` at the end",
        ),
        (
            "[servers.mcp]\ncommand = 'x'",
            "servers.mcp: is reserved: hosts write tool names as `mcp__server__tool`; choose another name",
        ),
        (
            '[servers.a]\ncommand = "x"\nprefix = "a.b"',
            "servers.a.prefix: may hold only letters, digits, `-` and `_`",
        ),
        (
            '[servers.a]\ncommand = "x"\nprefix = ""\n[servers.b]\ncommand = "x"',
            'servers.a.prefix: `""` is only for a single server, and there is also `b`; remove it',
        ),
        (
            '[servers.a]\ncommand = "x"\nprefix = "b_"\n[servers.b]\ncommand = "x"',
            "servers.a.prefix: `b_` begins the prefix `b__` of `b` too; choose another",
        ),
        (
            '[servers.x.tools.t]\nkind = "\\u001b[2J"\n[servers.x]\ncommand = "x"',
            'servers.x.tools.t.kind: must be `shell`, `path`, `url` or `plain`, not `"\\u001b[2J"`',
        ),
    ],
)
def test_a_problem_names_file_key_value_and_fix(tmp_path: Path, text: str, problem: str) -> None:
    assert refused(tmp_path, text) == [f"servers.toml: {problem}"]


def test_a_file_that_is_no_utf8_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_bytes(b"# \xc3\xa9\n# \xff\n")
    with pytest.raises(ConfigError, match=r"is not UTF-8 \(at line 2\); save it as UTF-8"):
        load(path, {})


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "servers.toml"
    path.write_bytes(b"\xef\xbb\xbf[servers.x]\ncommand = 'x'\n")
    assert list(load(path, {}).servers) == ["x"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "1"),
        ("x${A}y${B:-2}z", "x1y2z"),
        ("${EMPTY}", ""),
        ("${EMPTY:-d}", "d"),
        ("${B:-}", ""),
        ("${B:-a:-b}", "a:-b"),
        ("$A $$ ${A}", "$A $$ 1"),
        ("${NESTED}", "${A}"),
    ],
)
def test_variables_are_filled_in_once_from_the_gates_environment(tmp_path: Path, text: str, expected: str) -> None:
    environ = {"A": "1", "EMPTY": "", "NESTED": "${A}"}
    config = read(tmp_path, f"[servers.x]\ncommand = 'x'\nargs = ['{text}']\nenv = {{ K = '{text}' }}", environ)
    assert (config.servers["x"].args, config.servers["x"].env) == ((expected,), {"K": expected})


def test_what_a_disabled_server_lacks_is_no_problem(tmp_path: Path) -> None:
    config = read(tmp_path, '[servers.x]\nargs = ["${NO}"]\ncwd = "${NO}"\ncommand = "x"\nenabled = false')
    assert config.servers["x"].args == ("${NO}",)


@pytest.mark.parametrize(
    ("lines", "command", "cwd"),
    [
        ("command = 'uvx'", "uvx", None),
        ("command = '/bin/x'", "/bin/x", None),
        ("command = 'bin/x'", "{here}/bin/x", None),
        ("command = 'bin/x'\ncwd = 'sub'", "{here}/sub/bin/x", "{here}/sub"),
        ("command = '~/x'\ncwd = '~/w'", "{home}/x", "{home}/w"),
        ("command = '${D}/x'\ncwd = '/${D}'", "{here}/d/x", "/d"),
    ],
)
def test_paths_stand_in_the_files_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str, command: str, cwd: str | None
) -> None:
    home = str(tmp_path / "home")
    monkeypatch.setenv("HOME", home)
    server = read(tmp_path, f"[servers.x]\n{lines}", {"D": "d"}).servers["x"]
    expected = command.format(here=tmp_path, home=home)
    if "${D}" in lines:
        expected = "/d/d/x"
    assert server.command == expected
    assert server.cwd == (Path(cwd.format(here=tmp_path, home=home)) if cwd else None)


def test_a_single_server_may_go_without_a_prefix(tmp_path: Path) -> None:
    text = "[servers.a]\ncommand = 'x'\nprefix = ''\n[servers.b]\ncommand = 'x'\nenabled = false"
    assert read(tmp_path, text).servers["a"].prefix == ""


def test_the_environment_overrides_the_threshold(tmp_path: Path) -> None:
    text = "[exposure]\nthreshold = 3"
    assert read(tmp_path, text, {"MCP_GATE_DEFER_THRESHOLD": "0"}).exposure.threshold == 0
    assert read(tmp_path, text, {"MCP_GATE_DEFER_THRESHOLD": ""}).exposure.threshold == 3
    for bad in ("-1", "x", "1.5", "²"):
        (problem,) = refused(tmp_path, text, {"MCP_GATE_DEFER_THRESHOLD": bad})
        assert problem == (
            f"MCP_GATE_DEFER_THRESHOLD: must be a whole number of at least 0, not `{bad}`; "
            "unset it to use `exposure.threshold`"
        )


HOST = {
    "theme": "dark",
    "mcpServers": {
        "git": {"command": "uvx", "args": ["mcp-server-git"], "env": {"K": "${V}"}, "type": "stdio", "alwaysAllow": []},
        "off": {"command": "x", "disabled": True},
        "slow": {"command": "x", "timeout": 90000},
        "odd": {"command": "x", "timeout": 10},
        "endless": {"command": "x", "timeout": 100_000_000},
        "my server": {"command": "x"},
        "my_server": {"command": "x"},
        "__a__b__": {"command": "x"},
        "mcp": {"command": "x"},
        "web": {"url": "https://example.com/mcp"},
        "sse": {"type": "sse", "command": "x"},
        "gate": {"command": "/opt/bin/mcp-gate", "args": ["run"]},
        "gate2": {"command": "uvx", "args": ["mcp-gate", "run"]},
        "gate3": {"command": "python", "args": ["-m", "mcp_gate", "run"]},
    },
}


@pytest.mark.parametrize("name", ["host.json", "host.conf"])
def test_a_hosts_own_json_is_taken_as_it_is(tmp_path: Path, name: str) -> None:
    config = read(tmp_path, json.dumps(HOST), {"V": "v"}, name)
    names = ["git", "off", "slow", "odd", "endless", "my_server", "my_server-2", "a_b", "mcp-server"]
    assert list(config.servers) == names
    git = config.servers["git"]
    assert (git.command, git.args, git.env, git.prefix) == ("uvx", ("mcp-server-git",), {"K": "v"}, "git__")
    assert not config.servers["off"].enabled
    assert [config.servers[key].timeout for key in ("slow", "odd", "endless")] == [90.0, 60.0, 86400.0]
    assert config.notes == (
        f'{name}: mcpServers."my server": is called `my_server` here; names are letters, digits, `-` and `_`',
        f"{name}: mcpServers.my_server: is called `my_server-2` here; names are letters, digits, `-` and `_`",
        f"{name}: mcpServers.__a__b__: is called `a_b` here; names are letters, digits, `-` and `_`",
        f"{name}: mcpServers.mcp: is called `mcp-server` here; names are letters, digits, `-` and `_`",
        f"{name}: mcpServers.web: remote servers are not supported yet, passed over",
        f"{name}: mcpServers.sse: remote servers are not supported yet, passed over",
        f"{name}: mcpServers.gate: is the gate itself, passed over",
        f"{name}: mcpServers.gate2: is the gate itself, passed over",
        f"{name}: mcpServers.gate3: is the gate itself, passed over",
    )


def test_vs_codes_json_is_taken_too(tmp_path: Path) -> None:
    config = read(tmp_path, '{"inputs": [], "servers": {"x": {"command": "y"}}}', name="mcp.json")
    assert config.servers["x"].command == "y"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON: expecting property name enclosed in double quotes (at line 1, column 2)"),
        ("[]", "must be a JSON object"),
        ("{}", "holds no servers; expected an object `mcpServers`"),
        ('{"mcpServers": []}', "mcpServers: must be an object"),
        ('{"mcpServers": {"x": 1}}', "mcpServers.x: must be a table, not `1`"),
        ('{"mcpServers": {"x": {}}}', "mcpServers.x.command: is missing and has no default"),
        ('{"mcpServers": {"x": {"command": "y", "args": [1]}}}', "mcpServers.x.args[0]: must be a string, not `1`"),
    ],
)
def test_a_problem_of_a_hosts_json_names_its_own_key(tmp_path: Path, text: str, problem: str) -> None:
    assert refused(tmp_path, text, name="host.json") == [f"host.json: {problem}"]


class Places:
    """A working directory and a configuration directory, each with or without a servers.toml."""

    def __init__(self, root: Path) -> None:
        self.cwd, self.own = root / "cwd", root / "own"
        self.cwd.mkdir()
        self.own.mkdir()

    def write(self, folder: Path, name: str = "servers.toml") -> Path:
        path = folder / name
        path.write_text(f"# {path}")
        return path

    def find(self, explicit: str = "", *, environ: dict[str, str] | None = None, trusted: bool = False) -> Snapshot:
        snapshot, self.notes = find(
            Path(explicit) if explicit else None, environ or {}, self.cwd, self.own, lambda _: trusted
        )
        assert snapshot.content == snapshot.path.read_bytes()
        return snapshot


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_the_file_named_goes_first_then_the_variable_then_here_then_the_users_own(places: Places) -> None:
    named, variable = places.write(places.cwd, "a.toml"), places.write(places.cwd, "b.toml")
    here, own = places.write(places.cwd), places.write(places.own)
    environ = {"MCP_GATE_CONFIG": "b.toml"}
    assert places.find("a.toml", environ=environ, trusted=True).path == named
    assert places.find(str(named)).path == named
    assert places.find(environ=environ, trusted=True).path == variable
    assert places.find(trusted=True).path == here
    assert places.find().path == own


def test_only_the_file_found_here_is_the_projects(places: Places) -> None:
    places.write(places.cwd)
    assert places.find(trusted=True).source is Source.PROJECT
    assert places.find("servers.toml").source is Source.USER
    assert load(places.find(trusted=True), {}).source is Source.PROJECT


def test_an_untrusted_file_here_is_passed_over_by_name(places: Places) -> None:
    here = places.write(places.cwd)
    places.write(places.own)
    places.find()
    assert places.notes == [
        f"{here}: is not trusted, or was changed since, and was passed over; read it, then run `mcp-gate trust`"
    ]


def test_a_link_here_is_passed_over_even_if_its_target_is_trusted(places: Places) -> None:
    (places.cwd / "servers.toml").symlink_to(places.write(places.own, "elsewhere.toml"))
    own = places.write(places.own)
    assert places.find(trusted=True).path == own
    assert "is a link" in places.notes[0]


def test_a_link_in_a_circle_or_a_pipe_here_stops_nothing(places: Places) -> None:
    own, here = places.write(places.own), places.cwd / "servers.toml"
    here.symlink_to(here)
    assert places.find(trusted=True).path == own
    here.unlink()
    os.mkfifo(here)
    assert places.find(trusted=True).path == own
    assert places.notes == [f"{here}: is not a regular file; passed over"]


def test_the_users_own_file_needs_no_trust_when_it_is_also_the_one_here(places: Places) -> None:
    own = places.write(places.own)
    places.cwd = places.own
    assert places.find().path == own
    assert places.notes == []


@pytest.mark.parametrize("environ", [{}, {"MCP_GATE_CONFIG": "gone.toml"}])
def test_a_named_file_that_is_missing_is_an_error(places: Places, environ: dict[str, str]) -> None:
    places.write(places.own)
    with pytest.raises(ConfigError, match=r"^gone.toml: does not exist$"):
        places.find("" if environ else "gone.toml", environ=environ)


def test_nothing_found_says_where_it_was_looked_for_and_what_to_do(places: Places) -> None:
    here = places.write(places.cwd)
    with pytest.raises(ConfigError) as caught:
        places.find()
    first, second = map(str, caught.value.problems)
    assert first == (
        f"no configuration: there is no `--config`, no `MCP_GATE_CONFIG`, no trusted `servers.toml` in `{places.cwd}` "
        f"and no `{places.own}/servers.toml`; write one, or pass your host's own file with `--config`"
    )
    assert second.startswith(f"{here}: is not trusted")


def test_two_variables_move_the_users_folders() -> None:
    assert config_dir({"MCP_GATE_CONFIG_DIR": "/c"}) == Path("/c")
    assert state_dir({"MCP_GATE_STATE_DIR": "/s"}) == Path("/s")
    assert config_dir({}).name == state_dir({}).name == "mcp-gate"
    assert state_dir({"MCP_GATE_STATE_DIR": "s"}).is_absolute()
