"""`idl2mcp audit` on a signed log: whose signatures it has, and what needs the key."""

from __future__ import annotations

from pathlib import Path

import pytest
from solders.keypair import Keypair

from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.client.keys import create_keystore, open_keystore
from tests.functional.cli import Cli

PASSPHRASE = "correct horse"


@pytest.fixture
def log(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> AuditLog:
    """A log with a stopped wallet, that the keystore agent.json signs."""
    create_keystore(cli.folder / "agent.json", Keypair(), PASSPHRASE)
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", PASSPHRASE)
    signer = open_keystore(cli.folder / "agent.json", PASSPHRASE)
    log = AuditLog(cli.folder / "audit.jsonl", signer=signer)
    log.append("intent", wallet="w", outflow={})
    log.append("landed", intent=1, outflow={}, stopped="it took more")
    return log


def test_the_signatures_of_a_keystore_are_verified_without_its_passphrase(
    cli: Cli, log: AuditLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("IDL2MCP_PASSPHRASE")
    found = cli("audit", "audit.jsonl", "--keystore", "agent.json", "--json").json
    assert (found["signed_by"], found["unsigned_lines"]) == (log.signed_by, 0)
    assert f"signed by {log.signed_by}" in cli("audit", "audit.jsonl").out


def test_a_log_without_the_signatures_of_the_keystore_is_refused(
    cli: Cli, log: AuditLog
) -> None:
    create_keystore(cli.folder / "other.json", Keypair(), PASSPHRASE)
    refused = cli("audit", "audit.jsonl", "--keystore", "other.json")
    assert (refused.code, f"got one that {log.signed_by} signed" in refused.err) == (
        1,
        True,
    )
    AuditLog(cli.folder / "plain.jsonl").append("intent", wallet="w", outflow={})
    refused = cli("audit", "plain.jsonl", "--keystore", "agent.json")
    assert (refused.code, "got one without signatures" in refused.err) == (1, True)
    assert "no line is signed" in cli("audit", "plain.jsonl").out


def test_a_boundary_is_shown(cli: Cli, log: AuditLog) -> None:
    path = cli.folder / "old.jsonl"
    AuditLog(path).append("intent", wallet="w", outflow={})
    signer = open_keystore(cli.folder / "agent.json", PASSPHRASE)
    AuditLog(path, signer=signer).append("sent", intent=1)
    ran = cli("audit", "old.jsonl", "--keystore", "agent.json")
    assert f"lines 1 to 1 are not signed; line 2 on by {signer.address}" in ran.out


def test_a_stop_is_cleared_with_the_key_only(cli: Cli, log: AuditLog) -> None:
    refused = cli("audit", "audit.jsonl", "--clear-stop")
    assert (refused.code, "give its --keystore" in refused.err) == (2, True)
    assert (
        "has run `idl2mcp audit audit.jsonl --clear-stop --keystore KEY`"
        in log.how_to_clear
    )
    cleared = cli(
        "audit", "audit.jsonl", "--clear-stop", "--keystore", "agent.json", "--json"
    )
    assert list(cleared.json["cleared"]) == ["w"]
    assert log.stopped() == {}


def test_a_head_elsewhere_is_named(cli: Cli, log: AuditLog) -> None:
    head = Path(cli.folder / "audit.jsonl.head").rename(cli.folder / "kept.head")
    refused = cli("audit", "audit.jsonl")
    assert (refused.code, "its head audit.jsonl.head is missing" in refused.err) == (
        1,
        True,
    )
    assert cli("audit", "audit.jsonl", "--head", str(head)).code == 0
    assert cli("audit", "nowhere.jsonl").code == 1
