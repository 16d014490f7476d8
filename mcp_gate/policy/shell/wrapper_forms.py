"""How the options of wrappers are written: where the command that one runs begins can be told from that."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Form:
    """How the options of a wrapper are written.

    valued: options that take the next word; flags: those that take none; positionals: operands before the command;
    scripts: options whose value is a shell line; joined: all words after the operands make one shell line.
    assigns: `NAME=value` may stand before the command.
    """

    valued: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    positionals: int = 0
    scripts: frozenset[str] = frozenset()
    joined: bool = False
    assigns: bool = False


def _form(valued: str = "", flags: str = "", positionals: int = 0, scripts: str = "", **rest: bool) -> Form:
    return Form(frozenset(valued.split()), frozenset(flags.split()), positionals, frozenset(scripts.split()), **rest)


CLEAR: Mapping[str, Form] = {
    "timeout": _form("-k --kill-after -s --signal", "-v --verbose --preserve-status --foreground", 1),
    "nice": _form("-n --adjustment"),
    "nohup": _form(),
    "env": _form("-u --unset", "-i - --ignore-environment -v --debug", assigns=True),
    "stdbuf": _form("-i --input -o --output -e --error"),
    "time": _form("-f --format", "-p --portability -v --verbose"),
    "command": _form("", "-p"),
    "builtin": _form(),
    "exec": _form("", "-c -l"),
    "xargs": _form(
        "-n --max-args -L --max-lines -P --max-procs -s --max-chars -d --delimiter -E -I --replace",
        "-0 --null -r --no-run-if-empty -t --verbose -x --exit",
    ),
}

_NODE_RUN = _form(
    "-p --package --prefix -C --dir -F --filter", "-y --yes -q --quiet --no-install --silent", 0, "-c --call"
)
_CONTAINER = "-e --env -u --user -w --workdir --env-file --name -v --volume -p --publish --network --entrypoint -n -c"
_PYTHON_RUN = _form(
    "--with --with-editable --with-requirements -p --python --extra --group --env-file --directory --project --package "
    "--from --index --index-url --cache-dir --color -n --name --spec",
    "-q --quiet -v --verbose --no-sync --locked --frozen --isolated --all-extras --no-project --offline --no-dev --dev",
)
OPAQUE: Mapping[tuple[str, ...], Form] = {
    ("sudo",): _form("-u --user -g --group -h --host -p --prompt -C -r -t -T -U -D -R", assigns=True),
    ("doas",): _form("-u -C", assigns=True),
    ("pkexec",): _form("--user"),
    ("su",): _form("-s --shell -g -G -w", "-l - -m -p", 1, "-c --command"),
    ("runuser",): _form("-u --user -s -g -G -w", "-l -", 1, "-c --command"),
    ("ssh",): _form("-p -i -l -o -F -J -L -R -D -b -c -e -I -m -O -Q -S -W -w -E -B", positionals=1, joined=True),
    ("watch",): _form("-n --interval -q --equexit", "-d -t -b -e -g -c -x", joined=True),
    ("parallel",): _form("-j --jobs -a --arg-file -I -n -N -L --delay --timeout --retries", joined=True),
    ("npx",): _NODE_RUN,
    ("bunx",): _NODE_RUN,
    ("pnpx",): _NODE_RUN,
    ("npm", "exec"): _NODE_RUN,
    ("npm", "x"): _NODE_RUN,
    ("pnpm", "exec"): _NODE_RUN,
    ("pnpm", "dlx"): _NODE_RUN,
    ("yarn", "dlx"): _NODE_RUN,
    ("yarn", "exec"): _NODE_RUN,
    ("bun", "x"): _NODE_RUN,
    ("uvx",): _PYTHON_RUN,
    ("uv", "run"): _PYTHON_RUN,
    ("uv", "tool", "run"): _PYTHON_RUN,
    ("poetry", "run"): _PYTHON_RUN,
    ("pipenv", "run"): _PYTHON_RUN,
    ("pdm", "run"): _PYTHON_RUN,
    ("hatch", "run"): _PYTHON_RUN,
    ("rye", "run"): _PYTHON_RUN,
    ("pixi", "run"): _PYTHON_RUN,
    ("pipx", "run"): _PYTHON_RUN,
    ("conda", "run"): _PYTHON_RUN,
    ("mamba", "run"): _PYTHON_RUN,
    ("bundle", "exec"): _form(),
    ("mise", "exec"): _form("-C", scripts="-c --command"),
    ("mise", "x"): _form("-C", scripts="-c --command"),
    ("asdf", "exec"): _form(),
    ("direnv", "exec"): _form(positionals=1),
    ("devbox", "run"): _form("-c --config -e --env"),
    ("nix", "develop"): _form(scripts="-c --command"),
    ("nix-shell",): _form("-p", scripts="--run --command"),
    ("docker", "exec"): _form(_CONTAINER, "-i -t -it -d", 1),
    ("docker", "run"): _form(_CONTAINER, "-i -t -it -d --rm", 1),
    ("docker", "container", "exec"): _form(_CONTAINER, "-i -t -it -d", 1),
    ("docker", "container", "run"): _form(_CONTAINER, "-i -t -it -d --rm", 1),
    ("docker", "compose", "exec"): _form(_CONTAINER, "-T -d", 1),
    ("docker", "compose", "run"): _form(_CONTAINER, "-T -d --rm", 1),
    ("docker-compose", "exec"): _form(_CONTAINER, "-T -d", 1),
    ("docker-compose", "run"): _form(_CONTAINER, "-T -d --rm", 1),
    ("podman", "exec"): _form(_CONTAINER, "-i -t -it -d", 1),
    ("podman", "run"): _form(_CONTAINER, "-i -t -it -d --rm", 1),
    ("kubectl", "exec"): _form("-c --container -n --namespace --context", "-i -t -it", 1),
    ("kubectl", "run"): _form("--image -n --namespace", positionals=1),
    ("oc", "exec"): _form("-c --container -n --namespace", "-i -t -it", 1),
    ("flock",): _form("-w --timeout -E", "-s -x -e -n -u", 1, "-c --command"),
    ("strace",): _form("-o -e -p -s -a -u -E -P -O -S -b", "-f -ff -c -C -t -tt -T -v -q"),
    ("ltrace",): _form("-o -e -p -s -a -u -l -n", "-f -c -S"),
    ("gdb",): _form("-ex -x -p", "--args"),
    ("valgrind",): _form(),
    ("perf", "stat"): _form("-e -r -o"),
    ("perf", "record"): _form("-e -F -o"),
    ("chroot",): _form("--userspec --groups", positionals=1),
    ("nsenter",): _form("-t --target"),
    ("unshare",): _form(),
    ("setsid",): _form("", "-c -f -w"),
    ("ionice",): _form("-c -n -p -P -u"),
    ("chrt",): _form("-T -P -D", positionals=1),
    ("taskset",): _form("", "-c -p -a", 1),
    ("numactl",): _form("-N -m -C"),
    ("systemd-run",): _form("-p --property -u --unit -M"),
    ("systemd-inhibit",): _form(),
    ("dbus-run-session",): _form(),
    ("xvfb-run",): _form("-n -s -e -f -w"),
    ("script",): _form("-I -O -B -T", positionals=1, scripts="-c --command"),
    ("screen",): _form("-S -c -t"),
    ("tmux", "new-session"): _form("-s -n -c -t", joined=True),
    ("unbuffer",): _form(),
    ("entr",): _form("", "-c -d -n -p -r -s"),
    ("rlwrap",): _form("-f -H"),
    ("caffeinate",): _form("-t -w"),
    ("faketime",): _form("-f", positionals=1),
    ("proxychains",): _form("-f"),
    ("proxychains4",): _form("-f"),
    ("torify",): _form(),
    ("gosu",): _form(positionals=1),
    ("su-exec",): _form(positionals=1),
    ("busybox",): _form(),
    ("toybox",): _form(),
    ("wsl",): _form("-d -u", "-e"),
    ("cmd",): _form("", "/c /C /k", joined=True),
    ("cmd.exe",): _form("", "/c /C /k", joined=True),
    ("powershell",): _form(joined=True),
    ("pwsh",): _form(joined=True),
    ("dotenv",): _form("-f -e", "--"),
    ("cross-env",): _form(assigns=True),
    ("doppler", "run"): _form(scripts="--command"),
    ("op", "run"): _form("--env-file"),
    ("aws-vault", "exec"): _form("-d", positionals=1),
    ("git", "bisect", "run"): _form(),
    ("git", "submodule", "foreach"): _form("", "--recursive -q --quiet", joined=True),
    ("git", "rebase"): _form(scripts="-x --exec"),
    ("git", "filter-branch"): _form(scripts="--tree-filter --index-filter --msg-filter --env-filter --commit-filter"),
    ("source",): _form(),
    (".",): _form(),
    ("trap",): _form(joined=True),
    ("eval",): _form(joined=True),
}
LONGEST = max(map(len, OPAQUE))
