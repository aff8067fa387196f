"""Row-level security on PostgreSQL: a login sees the rows of the merchants and wallets that it is entered for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import ProgrammingError

from mcpsol_py.errors import StorageError
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.schema import metadata
from mcpsol_py.x402.store.webhooks import Webhooks
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
from tests.postgres import Cluster
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import USDC, keypair


def test_a_merchant_sees_its_own_rows_only(postgres_storage: Storage) -> None:
    """By the database's policies: also a statement that names no merchant, or another's."""
    database = postgres_storage.open()
    for tenant in ("mine", "theirs"):
        Webhooks(database, tenant).add("https://shop.example/hook")
    for tenant in ("mine", "theirs"):
        with database.begin(tenant) as connection:
            found = (
                connection.execute(text("SELECT tenant FROM webhooks")).scalars().all()
            )
        assert found == [tenant]
    with database.begin() as connection:
        assert (
            connection.execute(text("SELECT count(*) FROM webhooks")).scalar_one() == 0
        )
    with database.begin("mine") as connection:
        moved = connection.execute(
            text("UPDATE webhooks SET url = 'x' WHERE tenant = 'theirs'")
        )
        assert moved.rowcount == 0
        assert (
            connection.execute(
                text("DELETE FROM webhooks WHERE tenant = 'theirs'")
            ).rowcount
            == 0
        )


def test_nobody_writes_rows_of_another_merchant_or_changes_the_audit_log(
    postgres_storage: Storage,
) -> None:
    database = postgres_storage.open()
    row = "('theirs', 'n', 'o', 0, 0)"
    for statement in (
        f"INSERT INTO leases (tenant, name, owner, until_ms, ran_ms) VALUES {row}",
        "UPDATE audit_log SET actor = 'x'",
        "DELETE FROM audit_log",
        "ALTER TABLE webhooks DISABLE ROW LEVEL SECURITY",
        "DROP POLICY webhooks_merchant ON webhooks",
        "CREATE TABLE mine (x int)",
    ):
        with pytest.raises(ProgrammingError), database.begin("mine") as connection:
            connection.execute(text(statement))


def test_every_table_of_merchants_has_its_policy(
    postgres: Cluster, postgres_storage: Storage
) -> None:
    with postgres_storage.open().begin() as connection:
        held = connection.execute(
            text(
                "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity"
            )
        ).scalars()
        assert {t.name for t in metadata.sorted_tables if "tenant" in t.c} == set(held)


def test_a_customer_reads_own_subscriptions_only(
    postgres: Cluster, postgres_storage: Storage
) -> None:

    book = SubscriptionStore(postgres_storage.open())
    payee, asset = str(keypair(3).pubkey()), str(USDC)
    book.add_plan(SubscriptionPlan("p", "P", DEVNET, asset, payee, 5, "monthly"))
    wallets = [str(keypair(n).pubkey()) for n in (1, 2, 3)]
    for wallet in wallets:
        book.pay("p", wallet, f"pay {wallet}", "sig")
    for wallet in wallets[:2]:
        postgres.bind(postgres_storage.name, "customer", "subscriber", wallet)
    database = postgres_storage.login("customer")
    for wallet, seen in zip(wallets, (True, True, False), strict=True):
        with database.begin() as connection:
            _set(connection, "app.user_id", wallet)
            _set(connection, "app.merchant", "default")
            assert (
                connection.execute(text("SELECT subscriber FROM subscriptions"))
                .scalars()
                .all()
                == [wallet] * seen
            )
            assert (
                connection.execute(text("SELECT count(*) FROM charges")).scalar_one()
                == seen
            )


TENANT_TABLES = sorted(t.name for t in metadata.sorted_tables if "tenant" in t.c)


@pytest.mark.parametrize("table", TENANT_TABLES)
def test_a_login_cannot_choose_another_merchant(
    postgres_storage: Storage, table: str
) -> None:
    """Whatever it sets in its session, and whichever role it takes, its rows are those that it is entered for."""
    with postgres_storage.login("superuser").engine.begin() as connection:
        columns = metadata.tables[table].columns
        needed = {c.name: _some_value(c) for c in columns if not c.nullable} | {
            "tenant": "mine"
        }
        connection.execute(metadata.tables[table].insert().values(**needed))
    found = {}
    for login in ("replica", "stranger"):
        with postgres_storage.login(login).engine.begin() as connection:
            _set(connection, "app.merchant", "mine")
            _set(connection, "role", "mcpsol_merchant")
            found[login] = connection.execute(
                text(f"SELECT count(*) FROM {table}")
            ).scalar_one()
            if login == "stranger":
                with pytest.raises(ProgrammingError, match="row-level security"):
                    connection.execute(metadata.tables[table].insert().values(**needed))
    assert found == {"replica": 1, "stranger": 0}


def _some_value(column: Any) -> object:
    return {str: "x", int: 1, bool: True, bytes: b"x"}[column.type.python_type]


def _set(connection: Connection, name: str, value: str) -> None:
    connection.execute(text("SELECT set_config(:n, :v, true)"), {"n": name, "v": value})


@pytest.mark.parametrize("login", ["replica", "stranger", "customer"])
def test_no_login_enters_itself_for_a_merchant(
    postgres_storage: Storage, login: str
) -> None:
    database = postgres_storage.login(login)
    for statement in (
        f"INSERT INTO logins VALUES ('{login}', 'merchant', 'other')",
        "UPDATE logins SET subject = 'other'",
        "SELECT * FROM logins",
        "SET SESSION AUTHORIZATION mcpsol",
        "SET ROLE mcpsol",
        "CREATE OR REPLACE FUNCTION may_act_as(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
        "ALTER POLICY webhooks_merchant ON webhooks USING (true)",
    ):
        with pytest.raises(ProgrammingError), database.engine.begin() as connection:
            connection.execute(text(statement))


def test_a_merchant_that_its_login_may_not_act_for_is_an_error_and_no_empty_answer(
    postgres_storage: Storage,
) -> None:
    stranger = Webhooks(postgres_storage.login("stranger"), "mine")
    with pytest.raises(
        StorageError, match="login 'stranger' may not act for the merchant 'mine'"
    ):
        stranger.all()
    assert Webhooks(postgres_storage.login("mcpsol"), "mine").all() == []  # the owner


def test_a_replica_that_owns_nothing_opens_the_database_as_it_is(
    postgres_storage: Storage,
) -> None:
    database = postgres_storage.open(migrate=True)
    assert Webhooks(database).all() == []


def test_the_logins_of_the_documentation_work(
    postgres: Cluster, postgres_storage: Storage, repo: Path
) -> None:
    page = (repo / "docs/x402-storage.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```sql\n(.*?)```", page, re.S)
    superuser, owner = (
        postgres_storage.login("superuser"),
        postgres_storage.login("mcpsol"),
    )
    for statement in filter(None, (part.strip() for part in block.split(";"))):
        user = superuser if statement.startswith("CREATE ROLE") else owner
        with user.engine.begin() as connection:
            connection.exec_driver_sql(statement)
    try:
        shop = postgres_storage.login("shop")
        assert Webhooks(shop).all() == []
        with pytest.raises(StorageError):
            Webhooks(shop, "mine").all()
        shop.close()
    finally:
        with superuser.engine.begin() as connection:
            connection.exec_driver_sql("DROP ROLE shop, visitor")
