"""Copies of a SQLite database of payments: made in use, restored, and safe for budgets and sales."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from mcpsol_py.errors import PaymentError, SourceError
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply
from mcpsol_py.x402.store.backup import back_up, restore
from mcpsol_py.x402.store.database import Database
from tests.support.x402_shop import Shop

LIMIT = 10_000
NOON = 20_000 * 86_400_000 + 43_200_000


def restored(copy: Path, to: Path) -> Database:
    database = Database(f"sqlite:///{to}", migrate=False)
    restore(copy, database)
    return database


async def test_a_copy_is_made_while_calls_are_served_and_answers_repeats(
    tmp_path: Path,
) -> None:
    shop = Shop(tmp_path / "sales.db")
    payment, later = shop.payment(), shop.payment("pay_after_the_copy_1")
    first = await shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
    busy = [
        shop.paid_calls().call(
            shop.offer(), shop.payment(f"pay_busy_{n:08}"), {}, shop.run
        )
        for n in range(4)
    ]
    copying = asyncio.to_thread(back_up, shop.database, tmp_path / "copy.db")
    await asyncio.gather(copying, *busy)
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600
    assert isinstance(
        await shop.paid_calls().call(shop.offer(), later, {}, shop.run), Answer
    )
    runs, paid = len(shop.runs), shop.paid

    shop.database.close()
    shop.database = restored(tmp_path / "copy.db", tmp_path / "new.db")
    again = await shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
    assert isinstance(first, Answer)
    assert isinstance(again, Answer)
    assert again.result == first.result
    # A payment that was made after the copy is on the chain, and its blockhash is past: it is not sold twice.
    shop.world.svm.expire_blockhash()
    reply = await shop.paid_calls().call(shop.offer(), later, {}, shop.run)
    assert isinstance(reply, PaymentRequiredReply)
    assert (len(shop.runs), shop.paid) == (runs, paid)
    shop.database.close()


def budget_over(database: Database, now_ms: int = NOON) -> Budget:
    limits = SpendingLimits({"mint": SpendingLimit(per_day=LIMIT)})
    return Budget(database, "wallet", limits, session="s", clock_ms=lambda: now_ms)


def spending(payment_id: str, amount: int) -> Spending:
    return Spending(
        wallet="wallet",
        payment_id=payment_id,
        session="s",
        network="solana:x",
        asset="mint",
        amount=amount,
        pay_to="payee",
        resource="mcp://tool/x",
        request="request",
    )


def test_a_restored_wallet_does_not_spend_a_day_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'wallet.db'}")
    monkeypatch.setattr(Database, "now_ms", lambda *_: NOON)
    budget = budget_over(database)
    budget.reserve(spending("pay_before_the_copy", 1_000))
    back_up(database, tmp_path / "copy.db")
    budget.reserve(spending("pay_after_the_copy", LIMIT - 1_000))
    database.close()

    fresh = restored(tmp_path / "copy.db", tmp_path / "new.db")
    budget_over(fresh).reserve(spending("pay_from_tomorrows", LIMIT))
    budget_over(fresh).spent("pay_from_tomorrows", "signature")
    for hours in (0, 12, 35):  # the rest of the day, and the next one
        with pytest.raises(PaymentError, match=r"0 are left|BUDGET"):
            budget_over(fresh, NOON + hours * 3_600_000).reserve(
                spending("pay_too_much", 1)
            )
    budget_over(fresh, NOON + 36 * 3_600_000).reserve(
        spending("pay_of_another_day", LIMIT)
    )
    fresh.close()


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'sales.db'}")
    (tmp_path / "copy.db").write_text("mine")
    with pytest.raises(SourceError, match="new file"):
        back_up(database, tmp_path / "copy.db")
    back_up(database, tmp_path / "other.db")
    with pytest.raises(SourceError, match="new file"):
        restore(tmp_path / "other.db", database)
    assert (tmp_path / "copy.db").read_text() == "mine"
    database.close()


@pytest.mark.parametrize(
    "content", [b"", b"not a database", b"SQLite format 3\0" + bytes(4000)]
)
def test_what_is_no_copy_is_refused_and_nothing_is_left(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "copy.db").write_bytes(content)
    target = Database(f"sqlite:///{tmp_path / 'new.db'}", migrate=False)
    with pytest.raises(SourceError, match="not a database of payments"):
        restore(tmp_path / "copy.db", target)
    assert not (tmp_path / "new.db").exists()
    target.close()


@pytest.mark.parametrize("url", ["sqlite://", "postgresql+psycopg://localhost/none"])
def test_only_sqlite_files_are_copied_here(tmp_path: Path, url: str) -> None:
    database = Database(url, migrate=False)
    with pytest.raises(SourceError, match="pg_dump"):
        back_up(database, tmp_path / "copy.db")
    database.close()
