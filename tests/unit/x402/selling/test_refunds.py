"""Refunds: at most what was paid, once, also over crashes, lost answers and two commands at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import (
    ChainUnavailable,
    PaymentChain,
    SignatureStatus,
)
from mcpsol_py.x402.protocol.offer import Answer
from mcpsol_py.x402.selling.refunds import Refunds
from mcpsol_py.x402.store.merchant_log import MerchantLog
from mcpsol_py.x402.store.receipts import Receipts
from mcpsol_py.x402.store.refund_log import Refund, RefundLog
from tests.support.x402_shop import ID, Shop
from tests.unit.x402.conftest import Storage

PRICE = 10_000
BALANCE = 1_000_000


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    shop = Shop(tmp_path / "payments.db", storage=storage)
    shop.world.svm.airdrop(shop.world.payee.pubkey(), 10**9)
    return shop


def refunds_of(shop: Shop, **options: Any) -> Refunds:
    database = shop.database
    options.setdefault("timeout", 2.0)
    return Refunds(
        Receipts(database),
        RefundLog(database),
        shop.world.chain,
        shop.world.payee,
        **options,
    )


async def sold(shop: Shop) -> None:
    reply = await shop.paid_calls().call(shop.offer(), shop.payment(), {}, shop.run)
    assert isinstance(reply, Answer)


def held(shop: Shop) -> int:
    return shop.world.tokens(shop.world.payer.pubkey())


async def code_of(refund: Any) -> str:
    with pytest.raises(PaymentError) as caught:
        await refund
    return caught.value.code


async def test_all_is_sent_back_once_and_logged(shop: Shop) -> None:
    await sold(shop)
    made = await refunds_of(shop).refund(ID, reason="the answer was wrong")
    assert (made.state, made.amount, held(shop), shop.paid) == (
        "landed",
        PRICE,
        BALANCE,
        0,
    )
    assert await code_of(refunds_of(shop).refund(ID)) == "refund_too_large"
    entries = MerchantLog(shop.database).history(subject=ID)
    assert sorted(entry.action for entry in entries) == ["refund.landed", "refund.sent"]
    (sent,) = [entry for entry in entries if entry.action == "refund.sent"]
    assert (sent.actor, sent.details["amount"], sent.details["reason"]) == (
        "operator",
        str(PRICE),
        "the answer was wrong",
    )


async def test_parts_add_up_to_at_most_what_was_paid(shop: Shop) -> None:
    await sold(shop)
    await refunds_of(shop).refund(ID, 3_000)
    assert await code_of(refunds_of(shop).refund(ID, 7_001)) == "refund_too_large"
    await refunds_of(shop).refund(ID, 3_000)
    await refunds_of(shop).refund(ID, 4_000)
    assert (held(shop), shop.paid) == (BALANCE, 0)


@pytest.mark.parametrize("amount", [0, -1, PRICE + 1])
async def test_amounts_that_cannot_be_refunded(shop: Shop, amount: int) -> None:
    await sold(shop)
    assert await code_of(refunds_of(shop).refund(ID, amount)) == "refund_too_large"
    assert RefundLog(shop.database).of(ID) == []


async def test_what_was_not_paid_is_not_refunded(shop: Shop) -> None:
    assert await code_of(refunds_of(shop).refund("pay_nobody_knows_it")) == "no_receipt"


async def test_two_commands_at_once_refund_once(shop: Shop) -> None:
    await sold(shop)
    shop.world.give(shop.world.payee.pubkey(), 5 * PRICE)  # enough for more than one
    both = await asyncio.gather(
        refunds_of(shop).refund(ID), refunds_of(shop).refund(ID), return_exceptions=True
    )
    assert sum(not isinstance(one, PaymentError) for one in both) == 1, both
    assert (held(shop), shop.paid) == (BALANCE, 4 * PRICE)


async def test_a_refund_begins_only_if_no_other_began_meanwhile(shop: Shop) -> None:
    """Two commands read the log before either of them wrote to it."""
    await sold(shop)
    log = RefundLog(shop.database)
    one = Refund(
        ID, "signature one", PRICE, str(shop.world.payer.pubkey()), "blockhash"
    )
    assert log.begin(one, [])
    assert not log.begin(replace(one, signature="signature two"), [])
    assert [begun.signature for begun in log.of(ID)] == ["signature one"]


async def test_a_refund_that_begins_while_the_log_is_read_counts(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another command begins its refund right after this one has seen none."""
    await sold(shop)
    shop.world.give(shop.world.payee.pubkey(), 5 * PRICE)
    log, theirs = RefundLog(shop.database), refunds_of(shop)
    receipt = Receipts(shop.database).get(ID)
    assert receipt is not None
    transaction = theirs._signed(receipt, PRICE)
    other = Refund(
        ID,
        str(transaction.signatures[0]),
        PRICE,
        str(receipt.payer),
        str(transaction.message.recent_blockhash),
    )
    read = RefundLog.of

    def begin_after(self: RefundLog, payment_id: str) -> list[Refund]:
        found = read(self, payment_id)
        if not found:
            assert log.begin(other, [])
        return found

    monkeypatch.setattr(RefundLog, "of", begin_after)
    assert await code_of(refunds_of(shop).refund(ID)) == "refund_pending"
    assert [begun.signature for begun in read(log, ID)] == [other.signature]


class Flaky:
    """A chain on which some calls do something else."""

    def __init__(self, chain: PaymentChain, **instead: Callable[..., Any]) -> None:
        self._chain, self._instead = chain, instead

    def __getattr__(self, name: str) -> Any:
        return self._instead.get(name) or getattr(self._chain, name)


def over(
    shop: Shop, clock: float | None = None, **instead: Callable[..., Any]
) -> Refunds:
    chain: Any = Flaky(shop.world.chain, **instead)
    options: dict[str, Any] = {} if clock is None else {"clock": lambda: clock}
    database = shop.database
    return Refunds(
        Receipts(database),
        RefundLog(database),
        chain,
        shop.world.payee,
        timeout=0.2,
        **options,
    )


def away(*_: Any) -> Any:
    raise ChainUnavailable("no answer")


async def test_a_lost_answer_leaves_it_open_and_the_chain_decides(shop: Shop) -> None:
    """It landed, and nobody heard of it: the next command finds it, and sends nothing."""
    await sold(shop)

    def lost(wire: bytes) -> str:
        shop.world.chain.send(wire)
        raise ChainUnavailable("no answer")

    refund = over(shop, send=lost, status=away).refund(ID)
    assert await code_of(refund) == "refund_pending"
    assert held(shop) == BALANCE
    assert await code_of(refunds_of(shop).refund(ID)) == "refund_too_large"
    (known,) = RefundLog(shop.database).of(ID)
    assert (known.state, held(shop)) == ("landed", BALANCE)


async def test_one_that_may_still_land_allows_no_other(shop: Shop) -> None:
    await sold(shop)

    def unknown(_: str) -> SignatureStatus:
        return SignatureStatus("unknown")

    def young(*_: Any) -> bool:
        return False

    first = over(shop, send=away, status=unknown, can_no_longer_land=young)
    assert await code_of(first.refund(ID)) == "refund_pending"
    second = over(shop, status=unknown, can_no_longer_land=young)
    assert await code_of(second.refund(ID)) == "refund_pending"
    assert (len(RefundLog(shop.database).of(ID)), held(shop)) == (1, BALANCE - PRICE)
    shop.world.svm.expire_blockhash()
    assert (await refunds_of(shop).refund(ID)).state == "landed"
    assert [r.state for r in RefundLog(shop.database).of(ID)] == ["failed", "landed"]
    assert held(shop) == BALANCE


async def test_a_payer_without_a_token_account_is_told_before_anything_is_signed(
    shop: Shop,
) -> None:
    await sold(shop)

    def missing(addresses: list[str]) -> list[Any]:
        found: list[Any] = shop.world.chain.get_accounts(addresses)
        return (
            [None]
            if len(addresses) == 1 and found[0] and len(found[0].data) == 165
            else found
        )

    assert (
        await code_of(over(shop, get_accounts=missing).refund(ID)) == "not_refundable"
    )
    assert RefundLog(shop.database).of(ID) == []


async def test_a_wallet_without_the_tokens_is_told_before_anything_is_sent(
    shop: Shop,
) -> None:
    await sold(shop)
    poor = Keypair()
    shop.world.svm.airdrop(poor.pubkey(), 10**9)
    database = shop.database
    refunds = Refunds(Receipts(database), RefundLog(database), shop.world.chain, poor)
    assert await code_of(refunds.refund(ID)) == "refund_failed"
    assert RefundLog(shop.database).of(ID) == []
