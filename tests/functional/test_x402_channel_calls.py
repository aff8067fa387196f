"""Tools sold by both channel schemes, over MCP and through PaidCalls: charged once, also over crashes and replicas."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from x402.schemas import PaymentPayload

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.outcomes import AskOutcome
from mcpsol_py.x402.buying.paying import CallPayer, reconcile
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused
from tests.support.x402_channel_store import Store
from tests.support.x402_shop import Crash
from tests.unit.x402.payments import USDC

SCHEMES = ["upto", "batch-settlement"]


@pytest.fixture(params=SCHEMES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return Store(tmp_path, request.param)


async def test_calls_over_mcp_are_paid_and_booked(store: Store) -> None:
    budget = store.budget(SpendingLimit(per_day=50_000))
    async with Client(store.serve()) as client:
        buyer = Buyer(client, store.payer(budget))
        bought = [await buyer.call_tool("quote", {"n": n}) for n in range(3)]
    assert [b.amount for b in bought] == [1_000] * 3
    assert all(b.receipt is not None and b.receipt.success for b in bought)
    assert [r.state for r in budget.history()] == ["spent"] * 3
    assert budget.remaining(str(USDC)).day == 47_000
    assert (len(store.runs), store.charged) == (3, 3_000)


async def test_parallel_calls_of_one_wallet_take_turns(store: Store) -> None:
    budget = store.budget(SpendingLimit(per_day=5_000))
    async with Client(store.serve()) as client:
        buyer = Buyer(client, store.payer(budget))
        outcomes = await asyncio.gather(
            *(buyer.call_tool("quote", {"n": n}) for n in range(8)),
            return_exceptions=True,
        )
    paid = [o for o in outcomes if not isinstance(o, BaseException)]
    assert [o.code for o in outcomes if isinstance(o, PaymentError)] == [
        "BUDGET_EXCEEDED"
    ] * 3
    assert (len(paid), len(store.runs), store.charged) == (5, 5, 5_000)


async def test_two_processes_of_one_wallet_put_each_other_right(tmp_path: Path) -> None:
    store = Store(tmp_path, "batch-settlement")
    server = store.serve()
    async with Client(server) as one, Client(server) as two:
        first, second = (Buyer(c, store.payer(store.budget())) for c in (one, two))
        for n in range(4):
            await first.call_tool("quote", {"n": n})
            await second.call_tool("quote", {"n": -n - 1})
    assert (len(store.runs), store.charged) == (8, 8_000)


async def test_a_wallet_that_lost_an_answer_goes_on(tmp_path: Path) -> None:
    """The seller charged a call whose answer was lost; the next call is put right by the demand that corrects it."""
    store = Store(tmp_path, "batch-settlement")
    paid_calls, offer = store.paid_calls(), store.offer()
    assert isinstance(
        await paid_calls.call(
            offer, await store.payment("pay_lost_000000001"), {}, store.run
        ),
        Answer,
    )
    budget = store.budget()
    async with Client(store.serve()) as client:
        bought = await Buyer(client, store.payer(budget)).call_tool("quote", {})
    assert bought.receipt is not None
    assert store.charged == 2_000
    (channel,) = store.client.channels.all()
    assert (channel.charged, channel.signed) == (2_000, 2_000)


async def test_paid_once_and_a_repeat_gets_the_stored_answer(store: Store) -> None:
    offer, payment = store.offer(), await store.payment()
    first = await store.paid_calls().call(offer, payment, {"a": 1}, store.run)
    again = await store.paid_calls().call(offer, payment, {"a": 1}, store.run)
    other = await store.paid_calls().call(offer, payment, {"a": 2}, store.run)
    moved = payment.model_copy(deep=True)
    moved.extensions = {
        "payment-identifier": {
            "info": {"required": False, "id": "pay_another_id_0001"},
            "schema": {},
        }
    }
    elsewhere = await store.paid_calls().call(offer, moved, {"a": 1}, store.run)
    assert isinstance(first, Answer)
    assert isinstance(again, Answer)
    assert (again.repeated, again.result, again.receipt) == (
        True,
        first.result,
        first.receipt,
    )
    assert isinstance(other, Refused)
    assert not isinstance(elsewhere, Answer)
    assert (len(store.runs), store.charged) == (1, 1_000)


async def test_replicas_that_get_one_call_at_once_serve_it_once(store: Store) -> None:
    offer, payment = store.offer(), await store.payment()
    gates = [store.paid_calls(wait=5.0, lease=30.0) for _ in range(6)]
    replies = await asyncio.gather(
        *(g.call(offer, payment, {}, store.run) for g in gates)
    )
    assert all(isinstance(r, Answer) for r in replies)
    assert (len(store.runs), store.charged) == (1, 1_000)


async def test_one_voucher_for_two_calls_at_once_pays_for_one(tmp_path: Path) -> None:
    store = Store(tmp_path, "batch-settlement")
    await store.paid_calls().call(
        store.offer(), await store.payment(None), {}, store.run
    )
    store.client.channels.confirmed(store.client.channels.all()[0].channel_id, 1_000)
    payments = []
    for n in range(4):
        payment = await store.payment(f"pay_same_voucher_{n:04}")
        payments.append(payment)
    assert len({str(p.payload["voucher"]) for p in payments}) == 1
    replies = await asyncio.gather(
        *(store.paid_calls().call(store.offer(), p, {}, store.run) for p in payments)
    )
    assert sum(isinstance(r, Answer) for r in replies) == 1
    assert (len(store.runs), store.charged) == (2, 2_000)


@pytest.mark.parametrize("how", ["fails", "raises"])
async def test_a_tool_that_fails_is_not_charged(store: Store, how: str) -> None:
    setattr(store, how, True)
    offer, payment = store.offer(), await store.payment()
    if how == "raises":
        with pytest.raises(RuntimeError):
            await store.paid_calls().call(offer, payment, {}, store.run)
    else:
        reply = await store.paid_calls().call(offer, payment, {}, store.run)
        assert isinstance(reply, Answer)
        assert reply.receipt is None or reply.receipt.amount == "0"
    assert store.charged == 0
    assert store.world.held[0] == store.world.balance  # also what was escrowed is back
    store.fails = store.raises = False
    paid = await store.paid_calls().call(
        offer, await store.payment("pay_second_try_0001"), {}, store.run
    )
    assert isinstance(paid, Answer)
    assert store.charged == 1_000


@pytest.mark.parametrize(
    ("used", "charged"), [(0, 0), (1, 1), (640, 640), (1_000, 1_000), (None, 1_000)]
)
async def test_the_used_part_of_a_ceiling_is_charged(
    tmp_path: Path, used: int | None, charged: int
) -> None:
    store = Store(tmp_path, "upto", used=used)
    budget = store.budget(SpendingLimit(per_day=5_000))
    async with Client(store.serve()) as client:
        bought = await Buyer(client, store.payer(budget)).call_tool("quote", {})
    assert bought.receipt is not None
    assert (bought.receipt.amount, bought.amount) == (str(charged), charged)
    assert store.world.held == (store.world.balance - charged, charged)
    assert budget.remaining(str(USDC)).day == 5_000 - charged


# --- ceilings in the wallet -------------------------------------------------------------------------


def wallet(store: Store, budget: Budget, patience: float = 2.0) -> CallPayer:
    # The wallet has this machine's clock.
    store.world.later(int(time.time()) - store.world.now)
    return wallet_payer(
        store.world.payer, store.world.chain, budget, store.wallet, patience=patience
    )


async def test_a_wallet_pays_a_ceiling_and_books_what_was_used(tmp_path: Path) -> None:
    store = Store(tmp_path, "upto", used=300)
    budget = store.budget(SpendingLimit(per_payment=1_000, per_day=1_500))
    async with Client(store.serve()) as client:
        buyer = Buyer(client, wallet(store, budget))
        for n in range(2):
            bought = await buyer.call_tool("quote", {"n": n})
            assert bought.amount == 300
        with pytest.raises(
            PaymentError
        ) as caught:  # 600 are spent, and the ceiling is 1,000
            await buyer.call_tool("quote", {"n": 2})
    assert caught.value.code == "BUDGET_EXCEEDED"
    assert [(row.state, row.amount) for row in budget.history()] == [("spent", 300)] * 2
    assert store.world.held == (store.world.balance - 600, 600)


@pytest.mark.parametrize(
    ("limit", "code"),
    [
        (SpendingLimit(per_payment=999), "AMOUNT_EXCEEDS_MAX"),
        (SpendingLimit(per_session=999), "BUDGET_EXCEEDED"),
        (SpendingLimit(), "INSUFFICIENT_FUNDS"),
    ],
)
async def test_a_ceiling_that_may_not_be_paid_in_full_is_not_signed(
    tmp_path: Path, limit: SpendingLimit, code: str
) -> None:
    store = Store(tmp_path, "upto", used=1)
    if code == "INSUFFICIENT_FUNDS":
        store.world.give(store.world.payer.pubkey(), 999)
    budget = store.budget(limit)
    async with Client(store.serve()) as client:
        with pytest.raises(PaymentError) as caught:
            await Buyer(client, wallet(store, budget)).call_tool("quote", {})
    assert caught.value.code == code
    assert [row.state for row in budget.history()] in ([], ["released"])
    assert store.runs == []


async def test_ceilings_at_once_stay_within_the_balance(tmp_path: Path) -> None:
    store = Store(tmp_path, "upto", used=1_000)
    store.world.give(store.world.payer.pubkey(), 2_500)
    async with Client(store.serve()) as client:
        buyer = Buyer(client, wallet(store, store.budget()))
        outcomes = await asyncio.gather(
            *(buyer.call_tool("quote", {"n": n}) for n in range(4)),
            return_exceptions=True,
        )
    refused = [one.code for one in outcomes if isinstance(one, PaymentError)]
    assert set(refused) <= {"INSUFFICIENT_FUNDS"}
    assert store.world.held[1] == 1_000 * (4 - len(refused)) <= 2_500


async def test_a_ceiling_counts_in_full_until_its_channel_is_closed(
    tmp_path: Path,
) -> None:
    """The seller stops while its tool runs. What it may still take stays reserved, and its close is booked."""
    store = Store(tmp_path, "upto", used=400)
    budget, offer = store.budget(SpendingLimit(per_day=5_000)), store.offer()

    def crash(at: str) -> None:
        if at == "call.executed":
            raise Crash(at)

    calls = store.paid_calls(fault=crash)
    payments: list[PaymentPayload] = []

    async def ask(payment: Any, _dialect: Any) -> AskOutcome[str]:
        if payment is None:
            return AskOutcome(demand=Demand(offer.payment_required("pay")))
        payments.append(payment)
        with suppress(Crash):
            await calls.call(offer, payment, {}, store.run)
        return AskOutcome(lost=TimeoutError())

    payer = wallet(store, budget, patience=0.0)
    with pytest.raises(PaymentError) as caught:
        await payer.call(ask, {}, "mcp://tool/quote")
    assert caught.value.code == "OUTCOME_UNKNOWN"
    # It landed, and may take 1,000.
    assert await reconcile(budget, store.world.chain) == 0
    assert budget.remaining(str(USDC)).day == 4_000
    await asyncio.sleep(0.06)
    assert isinstance(
        await store.paid_calls().call(offer, payments[0], {}, store.run), Answer
    )
    assert await reconcile(budget, store.world.chain) == 1
    assert budget.remaining(str(USDC)).day == 4_600


async def test_more_than_the_ceiling_is_never_charged(tmp_path: Path) -> None:
    store = Store(tmp_path, "upto", used=1_001)
    with pytest.raises(PaymentError) as caught:
        await store.paid_calls().call(
            store.offer(), await store.payment(), {}, store.run
        )
    assert caught.value.code == "charge_over_ceiling"
    assert store.world.held == (store.world.balance, 0)


async def test_a_seller_that_says_it_took_less_is_not_believed(tmp_path: Path) -> None:
    """Its receipt says 1; the chain is asked, and until it proves less the ceiling counts."""
    store = Store(tmp_path, "upto", used=900)
    budget = store.budget(SpendingLimit(per_day=5_000))
    payer = CallPayer(store.signer(), budget, patience=2.0)
    async with Client(store.serve()) as client:
        bought = await Buyer(client, payer).call_tool("quote", {})
    assert bought.receipt is not None
    assert bought.receipt.amount == "900"
    assert budget.remaining(str(USDC)).day == 4_000


POINTS = [
    "call.claimed",
    "call.verified",
    "call.running",
    "call.ran",
    "call.executed",
    "call.settled",
    "call.paid",
]


@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_any_step(store: Store, point: str) -> None:
    """After a kill and a restart: at most one execution and one charge, and nothing is charged without an answer."""
    store.used = 700
    offer, payment = store.offer(), await store.payment()
    escrow = store.scheme == "upto"

    def crash(at: str) -> None:
        if at == point:
            raise Crash(at)

    reached = escrow or point != "call.paid"
    if reached:
        with pytest.raises(Crash):
            await store.paid_calls(fault=crash).call(offer, payment, {}, store.run)
    await asyncio.sleep(0.06)  # the dead replica's lease ends
    reply = await store.paid_calls().call(offer, payment, {}, store.run)
    price = 700 if escrow else 1_000
    assert len(store.runs) <= 1
    if point in ("call.running", "call.ran"):
        assert isinstance(reply, Refused)
        assert reply.code == "outcome_unknown"
        assert store.charged == 0
    else:
        assert isinstance(reply, Answer)
        assert reply.receipt is not None
        assert (len(store.runs), store.charged) == (1, price)
        third = await store.paid_calls().call(offer, payment, {}, store.run)
        assert isinstance(third, Answer)
        assert third.repeated
        assert (len(store.runs), store.charged) == (1, price)


async def test_a_tool_that_broadcasts_is_charged_first(tmp_path: Path) -> None:
    """Vouchers too: charged, then run; a crash in between runs it after the restart, and charges it no more."""
    store = Store(tmp_path, "batch-settlement")
    offer, payment = store.offer(broadcasts=True), await store.payment()

    def crash(at: str) -> None:
        if at == "call.paid":
            raise Crash(at)

    with pytest.raises(Crash):
        await store.paid_calls(fault=crash).call(offer, payment, {}, store.run)
    assert (len(store.runs), store.charged) == (0, 1_000)
    await asyncio.sleep(0.06)
    reply = await store.paid_calls().call(offer, payment, {}, store.run)
    assert isinstance(reply, Answer)
    assert (len(store.runs), store.charged) == (1, 1_000)


async def test_a_refund_is_no_call(tmp_path: Path) -> None:
    store = Store(tmp_path, "batch-settlement")
    budget = store.budget()
    async with Client(store.serve()) as client:
        await Buyer(client, store.payer(budget)).call_tool("quote", {})
    (channel,) = store.client.channels.all()
    refund = PaymentPayload(
        payload=store.client.refund_payload(channel), accepted=store.shop.terms()
    )
    reply = await store.paid_calls().call(store.offer(), refund, {}, store.run)
    assert isinstance(reply, Answer)
    assert reply.receipt is not None
    assert reply.receipt.amount == "9000"
    assert (len(store.runs), store.world.held) == (
        1,
        (store.world.balance - 1_000, 1_000),
    )
    late = await store.payment("pay_after_closing_1")
    assert late.payload["type"] == "voucher"  # this wallet was not told yet
    refused = await store.paid_calls().call(store.offer(), late, {}, store.run)
    assert isinstance(refused, PaymentRequiredReply)
    assert refused.reason == "invalid_batch_settlement_svm_channel_closing"
