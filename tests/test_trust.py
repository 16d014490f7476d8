import stat
from pathlib import Path

import pytest

from mcp_gate.config import find, load
from mcp_gate.errors import ConfigError
from mcp_gate.model import Source
from mcp_gate.snapshot import read_snapshot
from mcp_gate.trust import TrustStore


@pytest.fixture
def store(tmp_path: Path) -> TrustStore:
    return TrustStore(tmp_path / "state" / "deep")


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo/p.toml").write_text("deny = ['a__*']")
    path = tmp_path / "repo/servers.toml"
    path.write_text("[gate]\npolicies = ['p.toml']\n")
    return path


def test_nothing_is_trusted_until_it_is(store: TrustStore, servers: Path) -> None:
    assert not store.is_trusted(servers)
    assert store.trust(servers) == read_snapshot(servers).digest
    assert store.is_trusted(servers)
    assert TrustStore(store.folder).is_trusted(servers)


def test_trust_ends_when_the_file_changes_and_returns_with_its_content(store: TrustStore, servers: Path) -> None:
    before = servers.read_text()
    store.trust(servers)
    servers.write_text(before + "# more")
    assert not store.is_trusted(servers)
    servers.write_text(before)
    assert store.is_trusted(servers)


@pytest.mark.parametrize("change", ["edit", "remove"])
def test_trust_covers_the_policy_files_that_the_file_names(store: TrustStore, servers: Path, change: str) -> None:
    store.trust(servers)
    policy = servers.parent / "p.toml"
    if change == "edit":
        policy.write_text("allow = ['*']")
    else:
        policy.unlink()
    assert not store.is_trusted(servers)


def test_content_cannot_move_between_the_files_that_one_digest_covers(servers: Path) -> None:
    digest = read_snapshot(servers).digest
    (servers.parent / "q.toml").write_bytes((servers.parent / "p.toml").read_bytes())
    servers.write_text("[gate]\npolicies = ['q.toml']\n")
    assert read_snapshot(servers).digest != digest


def test_the_same_content_elsewhere_is_not_trusted(store: TrustStore, servers: Path, tmp_path: Path) -> None:
    store.trust(servers)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("servers.toml", "p.toml"):
        (copy / name).write_bytes((servers.parent / name).read_bytes())
    assert not store.is_trusted(copy / "servers.toml")


def test_a_way_through_a_link_leads_to_the_same_trust(store: TrustStore, servers: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(servers.parent)
    store.trust(tmp_path / "link" / "servers.toml")
    assert store.is_trusted(servers)


def test_untrust_forgets_one_file_and_says_whether_it_was_known(store: TrustStore, servers: Path) -> None:
    other = servers.with_name("other.toml")
    other.write_text("")
    store.trust(servers)
    store.trust(other)
    assert store.untrust(servers)
    assert not store.untrust(servers)
    assert (store.is_trusted(servers), store.is_trusted(other)) == (False, True)


def test_a_file_that_is_gone_can_be_untrusted(store: TrustStore, servers: Path) -> None:
    store.trust(servers)
    servers.unlink()
    assert not store.is_trusted(servers)
    assert store.untrust(servers)


def test_a_snapshot_is_trusted_as_it_was_read_and_not_as_the_file_is_by_then(store: TrustStore, servers: Path) -> None:
    shown = read_snapshot(servers)
    servers.write_text("[servers.evil]\ncommand = 'evil'")
    store.trust(shown)
    assert (store.is_trusted(shown), store.is_trusted(servers)) == (True, False)


def test_what_cannot_be_read_cannot_be_trusted(store: TrustStore, servers: Path) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        store.trust(servers.with_name("gone.toml"))
    (servers.parent / "p.toml").unlink()
    with pytest.raises(ConfigError, match=r"`p.toml`: does not exist"):
        store.trust(servers)
    assert not store.file.exists()


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"/x": 5}', "\udcff"])
def test_a_damaged_record_trusts_nothing_and_is_not_overwritten(store: TrustStore, servers: Path, damage: str) -> None:
    store.trust(servers)
    store.file.write_bytes(damage.encode(errors="surrogateescape"))
    assert not store.is_trusted(servers)
    with pytest.raises(ConfigError, match=r"trusted\.json"):
        store.trust(servers)
    assert store.file.read_bytes() == damage.encode(errors="surrogateescape")


def test_the_record_is_private_and_leaves_nothing_beside_it(store: TrustStore, servers: Path) -> None:
    store.trust(servers)
    assert stat.S_IMODE(store.file.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.folder.stat().st_mode) == 0o700
    assert list(store.folder.iterdir()) == [store.file]


def test_a_record_that_cannot_be_written_is_an_error(servers: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        TrustStore(tmp_path / "file" / "x").trust(servers)


def test_the_bytes_that_were_checked_are_the_bytes_that_are_loaded(
    store: TrustStore, servers: Path, tmp_path: Path
) -> None:
    store.trust(servers)
    snapshot, _ = find(None, {}, servers.parent, tmp_path / "own", store.is_trusted)
    servers.write_text("[servers.evil]\ncommand = 'evil'")
    (servers.parent / "p.toml").write_text("allow = ['*']")
    config = load(snapshot, {})
    assert (config.servers, config.source) == ({}, Source.PROJECT)
    assert [policy.content for policy in config.policies] == [b"deny = ['a__*']"]
