"""Removing old rows and those of one wallet: nothing is sold, paid or run again because of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, Refused
from mcpsol_py.x402.store.receipts import Receipts
from mcpsol_py.x402.store.retention import LEAST_AGE_MS, Retention
from mcpsol_py.x402.store.sales import Sales
from tests.support.x402_shop import Shop
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import USDC

DAY = 86_400_000


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    return Shop(tmp_path / "payments.db", storage=storage)


def retention(shop: Shop, later: int = 0) -> Retention:
    """As of *later* milliseconds from now."""
    made = Retention(shop.database)
    if later:
        now_ms = shop.database.now_ms
        made._db = _Later(shop.database, now_ms, later)  # type: ignore[assignment]  # the same database, later
    return made


class _Later:
    def __init__(self, database: Any, now_ms: Any, later: int) -> None:
        self._database, self._now_ms, self._later = database, now_ms, later

    def now_ms(self, connection: Any) -> int:
        return int(self._now_ms(connection)) + self._later

    def run(self, work: Any, tenant: Any) -> Any:
        return self._database.run(work, tenant)


async def sold(shop: Shop) -> Any:
    payment = shop.payment()
    reply = await shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
    assert isinstance(reply, Answer)
    return payment


@pytest.mark.parametrize("how", ["prune", "erase", "erase with receipts"])
async def test_a_payment_whose_call_is_gone_is_refused_and_not_sold_again(
    shop: Shop, how: str
) -> None:
    payment = await sold(shop)
    wallet = str(shop.world.payer.pubkey())
    if how == "prune":
        removed = retention(shop, later=9 * DAY).prune(8 * DAY)
    else:
        removed = retention(shop, later=9 * DAY).erase(
            wallet, receipts="receipts" in how
        )
    assert (removed["executions"], removed["settlements"]) == (1, 1)
    reply = await shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
    assert isinstance(reply, Refused)
    assert (reply.code, len(shop.runs), shop.paid) == ("payment_id_conflict", 1, 10_000)
    assert len(Receipts(shop.database).history()) == (0 if "receipts" in how else 1)


async def test_totals_outlive_the_calls(shop: Shop) -> None:
    await sold(shop)
    before = Sales(shop.database).totals(["tool"])
    retention(shop, later=9 * DAY).prune(8 * DAY)
    assert Sales(shop.database).totals(["tool"]) == before
    assert Sales(shop.database).calls() == []


async def test_what_is_young_or_unfinished_stays(shop: Shop) -> None:
    await sold(shop)
    assert set(retention(shop).prune(LEAST_AGE_MS).values()) == {0}
    # A wallet that is erased on the day of its payments would get the day's budget again.
    assert set(retention(shop).erase(str(shop.world.payer.pubkey())).values()) == {0}
    with pytest.raises(PaymentError, match="two days"):
        retention(shop).prune(LEAST_AGE_MS - 1)

    def stop(point: str) -> None:
        if point == "call.settled":
            raise RuntimeError(point)

    with pytest.raises(RuntimeError):
        await shop.paid_calls(fault=stop).call(
            shop.offer(), shop.payment("pay_unfinished_001"), {}, shop.run
        )
    removed = retention(shop, later=99 * DAY).prune(8 * DAY)
    assert removed["executions"] == 1
    kept = [call.payment_id for call in Sales(shop.database).calls()]
    assert kept == ["pay_unfinished_001"]
    assert retention(shop).kept(str(shop.world.payer.pubkey()))["executions"] == 1


async def test_only_the_wallet_that_is_named_is_erased(shop: Shop) -> None:
    await sold(shop)
    stranger = str(Keypair().pubkey())
    assert set(
        retention(shop, later=9 * DAY).erase(stranger, receipts=True).values()
    ) == {0}
    assert len(Sales(shop.database).calls()) == 1


async def test_a_payers_own_payments_are_erased_when_they_have_ended(
    shop: Shop,
) -> None:
    wallet = str(shop.world.payer.pubkey())
    limits = SpendingLimits({str(USDC): SpendingLimit()})
    budget = Budget(shop.database, wallet, limits, session="s")
    for payment_id in ("pay_that_has_ended", "pay_still_reserved"):
        budget.reserve(
            Spending(
                wallet=wallet,
                payment_id=payment_id,
                session="s",
                network=DEVNET,
                asset=str(USDC),
                amount=1_000,
                pay_to="payee",
                resource="mcp://tool/x",
                request="request",
            )
        )
    budget.release("pay_that_has_ended")
    assert retention(shop, later=9 * DAY).erase(wallet)["spendings"] == 1
    assert retention(shop).kept(wallet)["spendings"] == 1
