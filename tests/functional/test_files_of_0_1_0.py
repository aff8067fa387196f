"""Files that version 0.1.0 wrote still open: configurations, a lock, a keystore, an audit log."""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from idl2mcp import inputs
from idl2mcp.config.agent_wallet import open_agent_wallet
from idl2mcp.config.bridge import BridgeConfig, http_settings, read_config
from mcpsol_py.bridge.policy.audit_log import AuditLog, verify_log
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy
from mcpsol_py.client.keys import open_keystore
from mcpsol_py.errors import SourceError
from mcpsol_py.x402.chain.payment_chain import svm_chain
from mcpsol_py.x402.protocol.networks import DEVNET
from tests.functional.cli import Cli
from tests.unit.x402.payments import keypair

PASSPHRASE = "correct horse battery"


@pytest.fixture
def files(repo: Path, tmp_path: Path) -> Path:
    """A copy of the files, with the access rights that 0.1.0 gave them."""
    folder = tmp_path / "v0_1_0"
    shutil.copytree(repo / "tests/fixtures/v0_1_0", folder)
    for name in ("alice.keystore.json", "audit.jsonl"):
        (folder / name).chmod(0o600)
    return folder


@pytest.fixture
def config(files: Path) -> BridgeConfig:
    return read_config(files / "bridge.toml", inputs.Chain())


def test_a_keystore_opens(files: Path) -> None:
    signer = open_keystore(files / "alice.keystore.json", PASSPHRASE)
    assert signer.address == keypair(1).pubkey()


def test_a_keystore_refuses_another_passphrase(files: Path) -> None:
    with pytest.raises(SourceError):
        open_keystore(files / "alice.keystore.json", "another passphrase")


def test_a_lock_says_how_to_renew_it(files: Path, cli: Cli) -> None:
    lock = files / "vault.lock.json"
    ran = cli("verify", "vault", "--lock", lock)
    assert ran.code == 1
    assert "is an old format" in ran.err
    assert "idl2mcp lock SOURCE --out FILE --accept" in ran.err
    assert cli("lock", "vault", "--out", lock).code == 1
    assert cli("lock", "vault", "--out", lock, "--accept").code == 0
    assert cli("verify", "vault", "--lock", lock).code == 0


def test_an_old_lock_serves_nothing(files: Path, cli: Cli) -> None:
    config = cli.write(
        "b.toml", f'[[program]]\nsource = "vault"\nlock = "{files}/vault.lock.json"\n'
    )
    ran = cli("serve", "--config", config)
    assert ran.code == 1
    assert "is an old format" in ran.err


def test_an_audit_log_is_whole(files: Path) -> None:
    assert verify_log(files / "audit.jsonl")[0] == len(
        (files / "audit.jsonl").read_text().splitlines()
    )


def test_an_audit_log_is_continued(files: Path) -> None:
    before, _ = verify_log(files / "audit.jsonl")
    AuditLog(files / "audit.jsonl").append("refused")
    assert verify_log(files / "audit.jsonl")[0] == before + 1


def test_the_programs_of_a_configuration(config: BridgeConfig, files: Path) -> None:
    counter, vault = config.programs
    assert (counter.source, counter.chain.url) == ("counter", "http://127.0.0.1:8899")
    assert (vault.source, vault.chain.url) == ("vault", "https://api.devnet.solana.com")
    assert vault.lock == files / "vault.lock.json"


def test_the_files_of_a_configuration_lie_beside_it(
    config: BridgeConfig, files: Path
) -> None:
    assert config.keystore == files / "alice.keystore.json"
    assert config.audit == files / "audit.jsonl"


def test_the_policy_of_a_configuration(config: BridgeConfig) -> None:
    assert config.policy is not None
    policy = Policy.read(config.policy)
    assert policy.clusters == {"devnet", "local"}
    assert policy.programs[0].instructions == {"deposit", "withdraw"}
    assert dict(policy.limits)["SOL"] == OutflowLimit(
        10_000_000, 100_000_000, 5_000_000
    )


def test_the_http_settings_of_a_configuration(config: BridgeConfig) -> None:
    settings = http_settings(config)
    assert (settings.path, settings.hosts) == ("/mcp", ("bridge.example",))
    assert settings.oauth is not None
    assert settings.oauth.audience == "bridge"


def test_the_payments_of_a_configuration(config: BridgeConfig) -> None:
    payments = config.payments
    assert payments is not None
    assert (payments.merchant, payments.domain) == ("shop", "bridge.example")
    assert [plan.plan(payments.pay_to, DEVNET).id for plan in payments.plans] == ["pro"]


def test_the_configuration_of_an_agents_wallet(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_WEBHOOK_SECRET", "whsec_" + "A" * 32)
    monkeypatch.setattr(inputs, "payment_chain", lambda url: svm_chain())
    with ExitStack() as resources:
        tools = open_agent_wallet(files / "agent.toml", resources)
        (limit,) = tools.wallet.settings.limits.assets.values()
    assert (limit.per_payment, limit.per_session, limit.per_day) == (
        50_000,
        500_000,
        1_000_000,
    )
