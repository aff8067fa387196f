"""Databases that version 0.1.0 made still open, on SQLite and PostgreSQL, and their rows mean the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, select, text

from mcpsol_py.x402.buying.budget import Budget, SpendingLimits
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.bazaar import ServiceCatalog
from mcpsol_py.x402.store.channels import PaidChannels, SponsoredChannels
from mcpsol_py.x402.store.database import MIGRATIONS, Database
from mcpsol_py.x402.store.executions import Executions, PaymentTaken
from mcpsol_py.x402.store.receipts import Receipts
from mcpsol_py.x402.store.schema import metadata, payment_owners
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.wallet_channels import WalletChannels
from mcpsol_py.x402.store.webhooks import Webhooks
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from tests.postgres import Cluster
from tests.unit.x402.payments import USDC, keypair

ID = "pay_0123456789abcdef"
PAYER, CHANNEL = str(keypair(1).pubkey()), str(keypair(50).pubkey())
REVISIONS = ["0001", "0002", "0003", "0010", "0011"]


def database_url(request: pytest.FixtureRequest) -> str:
    """An empty database of the kind that the fixture's parameter names."""
    if request.param == "sqlite":
        tmp_path: Path = request.getfixturevalue("tmp_path")
        return f"sqlite:///{tmp_path / 'old.db'}"
    cluster: Cluster = request.getfixturevalue("postgres")
    name = cluster.database(migrated=False)
    request.addfinalizer(lambda: cluster.drop([name]))
    return cluster.url(name, "superuser")


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest) -> str:
    return database_url(request)


@pytest.fixture(params=["sqlite", "postgresql"])
def dump(request: pytest.FixtureRequest, repo: Path) -> tuple[str, str]:
    """The address of an empty database, and the SQL that fills it with what 0.1.0 kept."""
    file = repo / f"tests/fixtures/v0_1_0/payments.{request.param}.sql"
    return database_url(request), file.read_text(encoding="utf-8")


@pytest.fixture
def old(dump: tuple[str, str]) -> Iterator[Database]:
    """A database of 0.1.0, opened as today's processes do."""
    url, script = dump
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            file.executescript(script)
    else:
        with psycopg.connect(url.replace("+psycopg", "")) as server:
            server.execute(script.encode())
    database = Database(url)
    yield database
    database.close()


def test_it_has_todays_schema(old: Database) -> None:
    with old.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []


def test_the_paid_call_is_known(old: Database) -> None:
    call = Executions(old).get(ID)
    assert call is not None
    assert call.state == "done"


def test_the_settlement_is_known(old: Database) -> None:
    call = Executions(old).get(ID)
    assert call is not None
    settlement = SqlSettlements(old).get(call.payment_key.removeprefix("tx:"))
    assert settlement is not None
    assert settlement.state == "landed"


def test_the_receipt_is_known(old: Database) -> None:
    receipt = Receipts(old).get(ID)
    assert receipt is not None
    assert (receipt.payer, receipt.amount) == (PAYER, 10_000)


def test_its_payments_and_channels_have_their_merchant(old: Database) -> None:
    call = Executions(old).get(ID)
    assert call is not None
    with pytest.raises(PaymentTaken):
        Executions(old, "another-shop").claim(replace(call, tenant="another-shop"))
    with old.begin("default") as connection:
        rows = connection.execute(select(payment_owners)).all()
    owned = {str(key): str(tenant) for key, tenant in rows}
    assert owned == {call.payment_key: "default", CHANNEL: "default"}


def test_the_subscription_is_known(old: Database) -> None:
    store = SubscriptionStore(old)
    assert [plan.id for plan in store.plans()] == ["pro"]
    (subscription,) = store.of(PAYER)
    assert subscription.plan_id == "pro"
    assert [charge["amount"] for charge in store.charges_of(subscription.id)] == [
        10_000
    ]


def test_the_webhook_and_its_delivery_are_known(old: Database) -> None:
    hooks = Webhooks(old)
    assert [hook.url for hook in hooks.all()] == ["https://shop.example/hook"]
    assert len(hooks.deliveries()) == 1


def test_the_channel_of_the_merchant_is_known(old: Database) -> None:
    channel = PaidChannels(old).get(CHANNEL)
    assert channel is not None
    assert (channel.state, channel.deposit, channel.payer) == (
        "opening",
        100_000,
        PAYER,
    )


def test_the_channel_of_the_sponsor_is_known(old: Database) -> None:
    assert SponsoredChannels(old).bound(DEVNET, CHANNEL) == str(keypair(3).pubkey())


def test_the_channel_of_the_wallet_is_known(old: Database) -> None:
    channel = WalletChannels(old, PAYER).get(CHANNEL)
    assert channel is not None
    assert (channel.state, channel.deposit) == ("opening", 100_000)


def test_the_reserved_spending_is_known(old: Database) -> None:
    budget = Budget(old, PAYER, SpendingLimits({}), session="s2")
    (spending,) = budget.history()
    assert (spending.payment_id, spending.asset, spending.amount) == (
        ID,
        str(USDC),
        10_000,
    )


def test_the_listed_service_is_known(old: Database) -> None:
    (service,) = ServiceCatalog(old).search("quote", {}, 10)
    assert service["toolName"] == "quote"


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_older_schema_is_upgraded(empty: str, revision: str) -> None:
    """A wallet is entered at the older revision, where it exists, and is there afterwards."""
    older = Database(empty, migrate=False)
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with older.engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        has_wallets = "wallets" in inspect(connection).get_table_names()
        if has_wallets:
            connection.execute(text("INSERT INTO wallets VALUES ('w', 1)"))
    older.close()
    database = Database(empty)
    try:
        with database.engine.connect() as connection:
            context = MigrationContext.configure(connection)
            assert (
                context.get_current_revision()
                == ScriptDirectory.from_config(config).get_current_head()
            )
            wallets = (
                connection.execute(text("SELECT address FROM wallets")).scalars().all()
            )
        assert wallets == (["w"] if has_wallets else [])
    finally:
        database.close()
