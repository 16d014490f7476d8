"""The decision log: what is written, what is masked, and that nothing can happen unwritten."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_gate.audit import AuditError, AuditLog, is_secret, mask
from mcp_gate.display import shortened
from mcp_gate.model import Decision, Effect, Reason, Request, Resource, Subject

SECRET = (
    "password Password PASSWORD db_password dbPassword userpassword passwd pwd passphrase token accessToken "
    "access_token X-Auth-Token GITHUB_TOKEN githubtoken secret clientSecret client_secret authorization Authorization "
    "auth api_key apiKey API-KEY apikey OPENAI_APIKEY private_key privateKey access_key credentials cookie Set-Cookie "
    "bearer pin cvv otp passcode pass DB_PASS smtpPass passwords api_keys apiKeys APIKey PGPASSWORD refreshTokens "
    "access_tokens sshKey privatekey connection_string AWS_SECRET_ACCESS_KEY user-credentials mnemonic"
)
PLAIN = (
    "author authority path text query monkey keyboard key keys tokenize tokenizer max_tokens maxTokens tokens "
    "primary_key foreign_key passenger compass spin pinned secretary token_count max_token tokenLimit total_tokens "
    "authenticated passes bypass_count ids session_id"
)


@pytest.mark.parametrize("key", SECRET.split())
def test_a_value_under_a_key_that_names_a_secret_is_masked(key: str) -> None:
    assert is_secret(key)
    assert mask({key: "hunter2"}) == ({key: "***"}, [key])


@pytest.mark.parametrize("key", PLAIN.split())
def test_a_value_under_a_key_that_only_sounds_like_one_is_kept(key: str) -> None:
    assert mask({key: "v"}) == ({key: "v"}, [])


def test_secrets_are_found_at_any_depth_and_named_by_their_paths() -> None:
    arguments: dict[str, Any] = {
        "login": {"user": "u", "password": {"old": "a", "new": ["b"]}},
        "headers": [{"Authorization": "c"}, {"Accept": "d"}],
        "token": None,
        "secret": "",
        "auth": True,
        "pin": 0,
        "otp": 1.0,
    }
    shown, masked = mask(arguments)
    assert masked == ["login.password", "headers.0.Authorization", "pin", "otp"]
    assert (shown["token"], shown["secret"], shown["auth"]) == (None, "", True)
    assert shown["login"] == {"user": "u", "password": "***"}
    assert shown["headers"] == [{"Authorization": "***"}, {"Accept": "d"}]


def test_long_wide_and_deep_values_are_bounded_and_say_what_is_missing() -> None:
    deep: Any = "x"
    for _ in range(500):
        deep = [deep]
    many = {f"k{n}": n for n in range(150)}
    shown, masked = mask({"long": "y" * 5_000, "wide": list(range(1_000)), "deep": deep, "many": many, "n" * 5_000: 1})
    assert len(json.dumps(shown)) < 5_000
    assert "5,000 characters" in shown["long"]
    assert (len(shown["wide"]), shown["wide"][-1]) == (101, "… 900 more")
    assert (len(shown["many"]), shown["many"]["…"]) == (101, "50 more")
    assert any("5,000 characters" in key for key in shown)
    assert masked == []
    assert mask(many)[0]["…"] == "50 more"
    assert mask({"password" + "x" * 500 + "Password": "v"})[1][0].startswith("password")
    assert shortened("a" * 2_000, 100) != shortened("a" * 1_999 + "b", 100)


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return AuditLog(tmp_path / "new" / "folder" / "audit.jsonl", "session-1")


def request(**arguments: Any) -> Request:
    return Request(Subject("session-1", "analyst"), "tools/call", Resource("s__t", "s", "t", arguments))


DENY = Decision(Effect.DENY, (Reason("cli", "s__*", "--deny", "denies this tool"),), verdicts=(("dry", True),))


def test_a_call_leaves_one_line_for_each_event(log: AuditLog) -> None:
    log.decision("c1", request(text="grüße\n", token="t"), DENY)
    log.approval("c1", "allow", "elicitation", "allow this call")
    log.outcome("c1", "s__t", "ok", 1.23456)
    decision, approval, outcome = map(json.loads, log.path.read_text().splitlines())
    assert decision.pop("time").endswith("Z")
    assert decision == {
        "session": "session-1",
        "id": "c1",
        "event": "decision",
        "node": "analyst",
        "tool": "s__t",
        "server": "s",
        "arguments": {"text": "grüße\n", "token": "***"},
        "masked": ["token"],
        "effect": "deny",
        "tier": "standard",
        "chain": {"dry": True},
        "reasons": [{"source": "cli", "rule": "s__*", "where": "--deny", "why": "denies this tool"}],
    }
    assert (approval["event"], approval["verdict"], approval["by"]) == ("approval", "allow", "elicitation")
    assert (outcome["event"], outcome["status"], outcome["ms"]) == ("outcome", "ok", 1.235)


def test_the_log_is_the_users_alone(log: AuditLog) -> None:
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700


def test_two_gates_write_to_one_log_line_by_line(log: AuditLog) -> None:
    other = AuditLog(log.path, "session-2")
    for n in range(100):
        (log, other)[n % 2].outcome(f"c{n}", "s__t", "ok", n)
    assert [json.loads(line)["id"] for line in log.path.read_text().splitlines()] == [f"c{n}" for n in range(100)]


def test_a_log_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AuditError, match="it is a symbolic link"):
        AuditLog(tmp_path / "audit.jsonl", "s")


def test_a_log_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_text("{}\n")
    path.chmod(0o644)
    AuditLog(path, "s").outcome("c", "t", "ok", 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().splitlines()) == 2


def test_a_pipe_that_nobody_reads_is_an_error_and_no_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "audit.jsonl")
    with pytest.raises(AuditError, match="cannot be opened"):
        AuditLog(tmp_path / "audit.jsonl", "s")


def test_a_log_whose_folder_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(AuditError, match=r"audit\.jsonl` cannot be opened"):
        AuditLog(tmp_path / "file" / "audit.jsonl", "s")


def test_a_record_that_cannot_be_written_is_an_error(log: AuditLog) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, log._fd)
    os.close(full)
    with pytest.raises(AuditError, match="cannot be written"):
        log.decision("c1", request(), DENY)


def test_a_record_that_a_full_disk_cuts_short_is_an_error_and_spoils_no_other(log: AuditLog) -> None:
    """A process may not write beyond 1,000 bytes here, which stands for a disk with no more room."""
    script = f"""
import resource
from pathlib import Path
from mcp_gate.audit import AuditError, AuditLog
log = AuditLog(Path({str(log.path)!r}), "s")
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, resource.RLIM_INFINITY))
for n in range(100):
    try:
        log.outcome(f"c{{n}}", "s__t", "ok", 1)
    except AuditError as error:
        print(error)
        if "cannot be written" in str(error):
            break
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
log.outcome("after", "s__t", "ok", 1)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert "took only part of a record" in done.stdout
    assert "cannot be written: File too large" in done.stdout
    lines = log.path.read_text().splitlines()
    assert json.loads(lines[-1])["id"] == "after"
    assert [json.loads(line)["id"] for line in lines[:-2]] == [f"c{n}" for n in range(len(lines) - 2)]


def test_processes_that_write_at_once_keep_every_record_on_a_line_of_its_own(log: AuditLog) -> None:
    script = f"""
import sys
from pathlib import Path
from mcp_gate.audit import AuditLog
log = AuditLog(Path({str(log.path)!r}), sys.argv[1])
sys.stdin.readline()
for n in range(500):
    log.outcome(f"c{{n}}", "s__t", "ok", 1, "x" * 900)
"""
    writers = [
        subprocess.Popen([sys.executable, "-c", script, name], stdin=subprocess.PIPE, text=True) for name in "ab"
    ]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.close()
    assert [writer.wait(60) for writer in writers] == [0, 0]
    records = [json.loads(line) for line in log.path.read_text().splitlines()]
    for name in "ab":
        assert [record["id"] for record in records if record["session"] == name] == [f"c{n}" for n in range(500)]
