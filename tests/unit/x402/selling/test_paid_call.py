"""Paid calls: one execution and one payment for each payment id, over crashes, replicas and repeats."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import pytest
from solders.message import MessageV0
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from x402.schemas.v1 import PaymentPayloadV1

from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, SignatureStatus
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused
from mcpsol_py.x402.selling.tool_run import Run, Unfinished, current_run
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.merchant_log import MerchantLog
from tests.support.x402_shop import ID, Crash, Shop
from tests.unit.x402.conftest import Storage


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    return Shop(tmp_path / "payments.db", storage=storage)


async def test_unpaid_says_what_to_pay(shop: Shop) -> None:
    reply = await shop.paid_calls().call(shop.offer(), None, {}, shop.run)
    assert isinstance(reply, PaymentRequiredReply)
    body = reply.required.model_dump(by_alias=True, exclude_none=True)
    assert body["accepts"][0]["amount"] == "10000"
    assert body["resource"]["url"] == "mcp://tool/quote"
    assert body["extensions"]["payment-identifier"]["info"] == {"required": False}
    assert not shop.runs


@pytest.mark.parametrize("broadcasts", [False, True])
async def test_paid_once_and_a_repeat_gets_the_stored_answer(
    shop: Shop, broadcasts: bool
) -> None:
    paid_calls, offer, payment = (
        shop.paid_calls(),
        shop.offer(broadcasts=broadcasts),
        shop.payment(),
    )
    first = await paid_calls.call(offer, payment, {"city": "Bern"}, shop.run)
    again = await shop.paid_calls().call(offer, payment, {"city": "Bern"}, shop.run)
    newly_signed = await shop.paid_calls().call(
        offer, shop.payment(), {"city": "Bern"}, shop.run
    )
    assert isinstance(first, Answer)
    assert not first.repeated
    assert first.receipt is not None
    assert first.receipt.success
    for repeat in (again, newly_signed):
        assert isinstance(repeat, Answer)
        assert repeat.repeated
        assert (repeat.result, repeat.receipt) == (first.result, first.receipt)
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_an_id_stands_for_one_request_and_a_payment_for_one_call(
    shop: Shop,
) -> None:
    paid_calls, offer, payment = shop.paid_calls(), shop.offer(), shop.payment()
    await paid_calls.call(offer, payment, {"city": "Bern"}, shop.run)
    other_arguments = await paid_calls.call(
        offer, shop.payment(), {"city": "Basel"}, shop.run
    )
    moved = payment.model_copy(deep=True)
    moved.extensions = {
        "payment-identifier": {
            "info": {"required": False, "id": "pay_another_id_0001"},
            "schema": {},
        }
    }
    same_payment = await paid_calls.call(offer, moved, {"city": "Bern"}, shop.run)
    for reply in (other_arguments, same_payment):
        assert isinstance(reply, Refused)
        assert reply.code == "payment_id_conflict"
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_terms_that_are_not_offered_are_refused(shop: Shop) -> None:
    cheap = await shop.paid_calls().call(
        shop.offer(), shop.payment(amount=1), {}, shop.run
    )
    missing = await shop.paid_calls().call(
        shop.offer(payment_id_required=True), shop.payment(None), {}, shop.run
    )
    bad_id = await shop.paid_calls().call(
        shop.offer(), shop.payment("short"), {}, shop.run
    )
    codes = [
        r.reason
        for r in (cheap, missing, bad_id)
        if isinstance(r, PaymentRequiredReply)
    ]
    assert codes == [
        "no_matching_requirements",
        "payment_id_required",
        "payment_id_invalid",
    ]
    assert (shop.runs, shop.paid) == ([], 0)


async def test_a_failed_read_is_not_charged(shop: Shop) -> None:
    async def fails(run: Run) -> tuple[dict[str, Any], bool]:
        return {"isError": True}, True

    reply = await shop.paid_calls().call(shop.offer(), shop.payment(), {}, fails)
    assert isinstance(reply, Answer)
    assert reply.receipt is None
    assert shop.paid == 0


async def test_a_result_whose_payment_fails_is_withheld_and_a_new_payment_is_a_new_try(
    shop: Shop,
) -> None:
    payment = shop.payment()

    async def drains(run: Run) -> tuple[dict[str, Any], bool]:
        shop.world.give(shop.world.payer.pubkey(), 0)
        return {"secret": "the answer"}, False

    reply = await shop.paid_calls().call(shop.offer(), payment, {}, drains)
    assert isinstance(reply, PaymentRequiredReply)
    assert reply.failed is not None
    assert "the answer" not in str(reply)
    again = await shop.paid_calls().call(shop.offer(), payment, {}, shop.run)
    assert isinstance(again, PaymentRequiredReply)
    shop.world.give(shop.world.payer.pubkey(), 50_000)
    paid = await shop.paid_calls().call(shop.offer(), shop.payment(), {}, shop.run)
    assert isinstance(paid, Answer)
    assert (len(shop.runs), shop.paid) == (1, 10_000)


POINTS = [
    "call.claimed",
    "call.verified",
    "call.running",
    "call.ran",
    "call.executed",
    "call.settled",
    "call.paid",
]


@pytest.mark.parametrize("broadcasts", [False, True])
@pytest.mark.parametrize("point", POINTS)
async def test_killed_at_any_step(shop: Shop, point: str, broadcasts: bool) -> None:
    """After a kill and a restart: at most one execution, at most one payment, and a receipt wherever money moved."""
    offer, payment = shop.offer(broadcasts=broadcasts), shop.payment()
    reached = False

    def crash(at: str) -> None:
        nonlocal reached
        if at == point:
            reached = True
            raise Crash(at)

    dying = shop.paid_calls(fault=crash)

    with pytest.raises(Crash) if _reaches(point, broadcasts) else _nothing():
        await dying.call(offer, payment, {}, shop.run)
    assert reached == _reaches(point, broadcasts)
    await asyncio.sleep(0.06)  # the dead replica's lease ends
    reply = await shop.paid_calls().call(offer, payment, {}, shop.run)
    assert len(shop.runs) <= 1
    assert shop.paid <= 10_000
    if point in ("call.running", "call.ran"):
        assert isinstance(reply, Refused)
        assert reply.code == "outcome_unknown"
        assert (reply.receipt is not None) == broadcasts == (shop.paid == 10_000)
        await asyncio.sleep(0.06)
        third = await shop.paid_calls().call(offer, payment, {}, shop.run)
        assert isinstance(third, Refused)
    else:
        assert isinstance(reply, Answer)
        assert reply.receipt is not None
        assert reply.receipt.success
        assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_a_call_taken_over_while_the_node_is_away_is_pending(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer, payment, chain = shop.offer(), shop.payment(), shop.world.chain

    def crash(at: str) -> None:
        if at == "call.settled":
            raise Crash(at)

    def no_answer(_signature: str) -> SignatureStatus:
        raise ChainUnavailable("no answer")

    with pytest.raises(Crash):
        await shop.paid_calls(fault=crash).call(offer, payment, {}, shop.run)
    await asyncio.sleep(0.06)
    monkeypatch.setattr(chain, "status", no_answer)
    pending = await shop.paid_calls().call(offer, payment, {}, shop.run)
    assert isinstance(pending, Refused)
    assert pending.code == "settlement_pending"
    monkeypatch.undo()
    assert isinstance(
        await shop.paid_calls().call(offer, payment, {}, shop.run), Answer
    )
    assert (len(shop.runs), shop.paid) == (1, 10_000)


def _reaches(point: str, broadcasts: bool) -> bool:
    return point not in ({"call.executed"} if broadcasts else {"call.paid"})


class _nothing:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


@pytest.mark.parametrize("landed", [True, False])
async def test_a_tool_that_broadcasts_is_decided_by_its_recorded_signature(
    shop: Shop, landed: bool
) -> None:
    offer, payment = shop.offer(broadcasts=True), shop.payment()
    chain, sponsor = shop.world.chain, shop.world.sponsor
    lamports = 1 if landed else 2**63
    move = transfer(
        TransferParams(
            from_pubkey=sponsor.pubkey(), to_pubkey=sponsor.pubkey(), lamports=lamports
        )
    )
    message = MessageV0.try_compile(
        sponsor.pubkey(), [move], [], chain.latest_blockhash()
    )
    transaction = VersionedTransaction(message, [sponsor])
    signature = str(transaction.signatures[0])

    async def dies(run: Run) -> tuple[dict[str, Any], bool]:
        await run.will_send(signature)
        return {}, False

    def crash(at: str) -> None:
        if at == "call.ran":
            raise Crash(at)

    with pytest.raises(Crash):
        await shop.paid_calls(fault=crash).call(offer, payment, {}, dies)
    assert chain.send(bytes(transaction)) == signature
    assert chain.status(signature).state == ("landed" if landed else "failed")
    await asyncio.sleep(0.06)
    reply = await shop.paid_calls().call(offer, payment, {}, shop.run)
    if landed:
        assert isinstance(reply, Answer)
        assert reply.result["signature"] == signature
        assert reply.receipt is not None
    else:
        assert isinstance(reply, Refused)
        assert reply.code == "outcome_unknown"
    assert shop.runs == []


async def test_pending_is_finished_by_a_repeat_and_pays_once(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer, payment = shop.offer(), shop.payment()
    chain = shop.world.chain
    monkeypatch.setattr(chain, "status", lambda signature: SignatureStatus("unknown"))
    pending = await shop.paid_calls().call(offer, payment, {}, shop.run)
    assert isinstance(pending, Refused)
    assert pending.code == "settlement_pending"
    assert pending.receipt is not None
    monkeypatch.undo()
    reply = await shop.paid_calls().call(offer, payment, {}, shop.run)
    assert isinstance(reply, Answer)
    assert reply.receipt is not None
    assert reply.receipt.transaction == pending.receipt.transaction
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_replicas_that_get_the_same_call_at_once_serve_it_once(
    shop: Shop,
) -> None:
    offer, payment = shop.offer(), shop.payment()
    replicas = [shop.paid_calls(wait=5.0, lease=30.0) for _ in range(6)]
    replies = await asyncio.gather(
        *(g.call(offer, payment, {}, shop.run) for g in replicas)
    )
    assert all(isinstance(r, Answer) for r in replies)
    assert len({str(r.result) for r in replies if isinstance(r, Answer)}) == 1
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_a_payment_spent_at_another_merchant_buys_nothing_here(
    shop: Shop, tmp_path: Path
) -> None:
    """Same payee, other database: one payment must not pay for two requests."""
    other = Shop(tmp_path / "other.db", world=shop.world)
    payment = shop.payment()
    assert isinstance(
        await shop.paid_calls().call(shop.offer(), payment, {}, shop.run), Answer
    )
    reply = await other.paid_calls().call(other.offer(), payment, {}, other.run)
    assert isinstance(reply, PaymentRequiredReply)
    assert shop.paid == 10_000


async def test_a_cancelled_read_leaves_the_id_free(shop: Shop) -> None:
    started = asyncio.Event()

    async def slow(run: Run) -> tuple[dict[str, Any], bool]:
        started.set()
        await asyncio.sleep(30)
        raise AssertionError("unreachable")

    task = asyncio.create_task(
        shop.paid_calls().call(shop.offer(), shop.payment(), {}, slow)
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert isinstance(
        await shop.paid_calls().call(shop.offer(), shop.payment(), {}, shop.run), Answer
    )
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_version_1_pays_too(shop: Shop) -> None:
    v2 = shop.payment(None)
    paid = PaymentPayloadV1(scheme="exact", network="solana-devnet", payload=v2.payload)
    reply = await shop.paid_calls().call(shop.offer(), paid, {}, shop.run)
    assert isinstance(reply, Answer)
    assert shop.paid == 10_000


async def test_verify_only_never_settles(shop: Shop) -> None:
    reply = await shop.paid_calls(verify_only=True).call(
        shop.offer(broadcasts=True), shop.payment(), {}, shop.run
    )
    assert isinstance(reply, Answer)
    assert (reply.receipt, shop.paid, len(shop.runs)) == (None, 0, 1)


async def test_states_are_told_in_order(shop: Shop) -> None:
    seen: list[str] = []

    def on_state(_id: str, state: str, _url: str) -> None:
        seen.append(state)

    await shop.paid_calls(on_state=on_state).call(
        shop.offer(), shop.payment(), {}, shop.run
    )
    assert seen == ["created", "validated", "verified", "settled", "complete"]


@pytest.mark.parametrize("broadcasts", [False, True])
async def test_what_asks_a_person_first_is_run_by_the_next_request(
    shop: Shop, broadcasts: bool
) -> None:
    offer, payment = shop.offer(broadcasts=broadcasts), shop.payment()

    async def asks(run: Run) -> tuple[dict[str, Any], bool]:
        assert current_run() is run
        raise Unfinished({"question": "really?"})

    for _ in range(2):
        with pytest.raises(Unfinished):
            await shop.paid_calls(lease=60).call(offer, payment, {}, asks)
    assert current_run() is None
    assert shop.paid == (10_000 if broadcasts else 0)
    assert await shop.paid_calls().knows(offer, payment) is broadcasts
    reply = await shop.paid_calls(lease=60).call(offer, payment, {}, shop.run)
    assert isinstance(reply, Answer)
    assert not reply.repeated
    assert (len(shop.runs), shop.paid) == (1, 10_000)


@pytest.mark.parametrize("broadcasts", [False, True])
@pytest.mark.parametrize("outcome", ["done", "again"])
async def test_an_operator_decides_what_nobody_can_know(
    shop: Shop, broadcasts: bool, outcome: Literal["done", "again"]
) -> None:
    offer, payment = shop.offer(broadcasts=broadcasts), shop.payment()

    def crash(at: str) -> None:
        if at == "call.ran":
            raise Crash(at)

    with pytest.raises(Crash):
        await shop.paid_calls(fault=crash).call(offer, payment, {}, shop.run)
    await asyncio.sleep(0.06)
    executions = Executions(shop.database)
    # Nobody has asked yet: it may still be running.
    assert not executions.decide(ID, outcome)
    assert isinstance(
        await shop.paid_calls().call(offer, payment, {}, shop.run), Refused
    )
    assert executions.decide(ID, outcome)
    assert not executions.decide(ID, outcome)
    (told,) = MerchantLog(shop.database).history(subject=ID)
    assert (told.actor, told.action, told.details) == (
        "operator",
        "call.decided",
        {"outcome": outcome},
    )
    reply = await shop.paid_calls(lease=60).call(offer, payment, {}, shop.run)
    assert isinstance(reply, Answer)
    assert len(shop.runs) == (1 if outcome == "done" else 2)
    assert shop.paid == (0 if outcome == "done" and not broadcasts else 10_000)
