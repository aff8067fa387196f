"""Two facilitators with different fee payers: dead, dying, coming back, and lying or silent at each step."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from solders.keypair import Keypair
from solders.signature import Signature
from x402 import x402ResourceServer
from x402.schemas import (
    PaymentPayload,
    SettleResponse,
    SupportedResponse,
    VerifyResponse,
)
from x402.schemas.v1 import PaymentPayloadV1

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.exact.mechanism import ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import LocalFacilitator, make_facilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused
from mcpsol_py.x402.protocol.payment_ids import Payment
from mcpsol_py.x402.selling.facilitators import Facilitators, fee_payer_of
from mcpsol_py.x402.selling.payment_processor import witness_of
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.receipts import Receipts
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.support.x402_shop import RepeatedCalls, Shop
from tests.unit.x402.payments import keypair

DAMAGE: dict[str, Callable[[], Exception]] = {
    "refuses connections": lambda: httpx.ConnectError("no"),
    "times out": TimeoutError,
    "breaks off": lambda: httpx.RemoteProtocolError("half an answer"),
    "answers rubbish": lambda: ValueError("not JSON"),
}
STEPS = ("supported", "verify", "settle")


@dataclass
class Switched:
    """A facilitator of this chain with a sponsor of its own. `broken` names, for a step, what happens there instead."""

    shop: Shop
    sponsor: Keypair
    broken: dict[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shop.world.svm.airdrop(self.sponsor.pubkey(), 10**9)
        self.local = LocalFacilitator(
            make_facilitator(
                self.shop.world.chain,
                KeypairSponsor(self.sponsor),
                SqlSettlements(self.shop.database),
                timeout=0.2,
            )
        )

    @property
    def address(self) -> str:
        return str(self.sponsor.pubkey())

    def _step(self, step: str) -> None:
        self.asked.append(step)
        if step in self.broken:
            raise DAMAGE[self.broken[step]]()

    def die(self, how: str = "refuses connections") -> None:
        self.broken = dict.fromkeys(STEPS, how)

    def come_back(self) -> None:
        self.broken = {}

    def get_supported(self) -> SupportedResponse:
        self._step("supported")
        supported: SupportedResponse = self.local.get_supported()
        return supported

    async def verify(self, payload: Any, requirements: Any) -> VerifyResponse:
        self._step("verify")
        answer: VerifyResponse = await self.local.verify(payload, requirements)
        return answer

    async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
        self._step("settle")
        answer: SettleResponse = await self.local.settle(payload, requirements)
        return answer


class Market:
    """A seller with two facilitators, and a buyer that pays what a demand asks for."""

    def __init__(
        self,
        folder: Path,
        *,
        first_is_dead: bool = False,
        facilitator: type[Switched] = Switched,
        **options: Any,
    ) -> None:
        folder.mkdir(exist_ok=True)
        self.shop = Shop(folder / "shop.db")
        self.now, self.ids = 0.0, itertools.count()
        self.first = facilitator(self.shop, self.shop.world.sponsor)
        self.second = facilitator(self.shop, keypair(9))
        if first_is_dead:
            self.first.die()
        self.several = Facilitators(
            [self.first, self.second], backoff=(0.0, 0.0), clock=lambda: self.now
        )
        core = x402ResourceServer(self.several)
        core.register(DEVNET, ExactServer())
        core.initialize()
        self.calls = RepeatedCalls(
            core,
            Executions(self.shop.database),
            wait=0.0,
            facilitators=self.several,
            **{"witness": witness_of(self.shop.world.chain), **options},
        )
        self.calls.wallet = self.shop.world.payer
        self.offer = self.shop.offer()

    async def ask(self) -> str:
        """The fee payer of a new demand."""
        reply = await self.calls.call(self.offer, None, {}, self.shop.run)
        assert isinstance(reply, PaymentRequiredReply)
        return fee_payer_of(reply.required.accepts[0]) or ""

    async def time_passes(self) -> None:
        self.now += 31.0
        await self.several.refresh()

    def payment(self, fee_payer: str) -> PaymentPayload:
        terms = self.shop.world.requirements(feePayer=fee_payer)
        payment = self.shop.world.pay(terms)
        named = {"info": {"required": False, "id": f"pay_failover_{next(self.ids):04}"}}
        return payment.model_copy(update={"extensions": {"payment-identifier": named}})

    async def pay(self, payment: Payment) -> Any:
        return await self.calls.call(self.offer, payment, {}, self.shop.run)


@pytest.fixture
def market(tmp_path: Path) -> Market:
    return Market(tmp_path)


async def test_the_first_facilitator_is_preferred(market: Market) -> None:
    assert await market.ask() == market.first.address
    reply = await market.pay(market.payment(market.first.address))
    assert isinstance(reply, Answer)
    assert "verify" not in market.second.asked


async def test_one_that_is_dead_at_the_start_is_used_when_it_comes_back(
    tmp_path: Path,
) -> None:
    market = Market(tmp_path, first_is_dead=True)
    assert await market.ask() == market.second.address
    assert isinstance(await market.pay(market.payment(market.second.address)), Answer)
    market.first.come_back()
    await market.time_passes()
    assert await market.ask() == market.first.address
    assert isinstance(await market.pay(market.payment(market.first.address)), Answer)
    # a payment that was signed for the other one's demand is still good
    assert isinstance(await market.pay(market.payment(market.second.address)), Answer)


async def test_a_demand_starts_the_refresh_by_itself(tmp_path: Path) -> None:
    market = Market(tmp_path, first_is_dead=True)
    market.first.come_back()
    market.now += 31.0
    await market.ask()
    for _ in range(200):
        if await market.ask() == market.first.address:
            return
        await asyncio.sleep(0.01)
    pytest.fail("the first facilitator was not asked again")


@pytest.mark.parametrize("how", DAMAGE)
async def test_one_that_dies_before_it_verifies_is_left_for_the_other(
    market: Market, how: str
) -> None:
    payment = market.payment(await market.ask())
    market.first.die(how)
    reply = await market.pay(payment)
    assert isinstance(reply, PaymentRequiredReply)
    assert reply.reason == "unexpected_verify_error"
    # the answer itself names the other one's fee payer, and so does the next demand
    assert fee_payer_of(reply.required.accepts[0]) == market.second.address
    assert await market.ask() == market.second.address
    assert isinstance(await market.pay(market.payment(market.second.address)), Answer)
    assert (len(market.shop.runs), market.shop.paid) == (1, 10_000)
    market.first.come_back()
    await market.time_passes()
    assert await market.ask() == market.first.address


@pytest.mark.parametrize("how", DAMAGE)
async def test_one_whose_verify_is_broken_is_avoided_in_its_own_answer_only(
    market: Market, how: str
) -> None:
    """/supported works, so strangers' payments could be the cause: other buyers are still sent to it."""
    market.first.broken = {"verify": how}
    reply = await market.pay(market.payment(market.first.address))
    assert isinstance(reply, PaymentRequiredReply)
    assert fee_payer_of(reply.required.accepts[0]) == market.second.address
    if how != "refuses connections":
        assert await market.ask() == market.first.address


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("broadcasts", [False, True])
async def test_one_that_dies_before_it_settles_leaves_the_payment_pending(
    market: Market, how: str, broadcasts: bool
) -> None:
    """The payment may have been sent, so the other one is not asked, and the same payment is settled later."""
    market.offer = market.shop.offer(broadcasts=broadcasts)
    payment = market.payment(market.first.address)
    market.first.broken = {"settle": how, "supported": how}
    reply = await market.pay(payment)
    assert isinstance(reply, Refused)
    assert (reply.code, market.shop.paid) == ("settlement_pending", 0)
    assert "settle" not in market.second.asked
    assert await market.ask() == market.second.address
    market.first.come_back()
    again = await market.pay(payment)
    assert isinstance(again, Answer)
    assert (len(market.shop.runs), market.shop.paid) == (1, 10_000)


@pytest.mark.parametrize("broadcasts", [False, True])
@pytest.mark.parametrize("lands", [False, True])
async def test_a_refusal_after_the_lost_answer_of_an_earlier_request_is_open(
    market: Market, broadcasts: bool, lands: bool
) -> None:
    """The facilitator is slow with the first request, and another instance of it refuses the second."""
    market.offer = market.shop.offer(broadcasts=broadcasts)
    payment, honest = market.payment(market.first.address), market.first.settle
    market.first.broken = {"settle": "times out"}
    assert isinstance(await market.pay(payment), Refused)

    async def refuse(payload: Any, requirements: Any) -> SettleResponse:
        why = "insufficient_funds"
        return SettleResponse(
            success=False, error_reason=why, transaction="", network=DEVNET
        )

    market.first.broken, market.first.settle = {}, refuse  # type: ignore[method-assign]
    pending = await market.pay(payment)
    assert isinstance(pending, Refused)
    assert pending.code == "settlement_pending"
    if lands:  # the slow one gets there
        await honest(payment, payment.accepted)
    else:
        market.shop.world.svm.expire_blockhash()
    again = await market.pay(payment)
    assert isinstance(again, Answer if lands else PaymentRequiredReply)
    assert (len(market.shop.runs), market.shop.paid) == (
        (1, 10_000) if lands else (not broadcasts, 0)
    )


async def test_an_answer_is_found_after_its_facilitator_is_gone(tmp_path: Path) -> None:
    """A restarted seller that has never seen the first facilitator still knows the payment."""
    market = Market(tmp_path)
    payment = market.payment(market.first.address)
    first = await market.pay(payment)
    assert isinstance(first, Answer)
    restarted = Market(tmp_path, first_is_dead=True)
    restarted.offer = restarted.shop.offer(terms={"feePayer": restarted.second.address})
    again = await restarted.pay(payment)
    assert isinstance(again, Answer)
    assert (again.repeated, again.result) == (True, first.result)


async def test_neither_of_two_that_are_dead_sells_anything(market: Market) -> None:
    market.first.die()
    market.second.die()
    await market.time_passes()
    reply = await market.pay(market.payment(market.first.address))
    assert isinstance(reply, PaymentRequiredReply)
    assert (reply.reason, market.shop.runs, market.shop.paid) == (
        "unexpected_verify_error",
        [],
        0,
    )


@pytest.mark.parametrize("fee_payer", [None, "", "x", 7, ["a"], "0" * 44, {"a": 1}])
def test_a_facilitator_without_a_real_fee_payer_is_not_used(
    market: Market, fee_payer: Any
) -> None:
    class Liar(Switched):
        def get_supported(self) -> SupportedResponse:
            kind = {"x402Version": 2, "scheme": "exact", "network": DEVNET}
            extra = {"extra": {"feePayer": fee_payer}}
            return SupportedResponse.model_validate(
                {
                    "kinds": [{**kind, **extra}],
                    "signers": {"solana:*": [str(fee_payer)]},
                }
            )

    with pytest.raises(PaymentError, match="no kind of payment with a fee payer"):
        Facilitators([Liar(market.shop, keypair(11))]).get_supported()


# --- lies -----------------------------------------------------------------------------------------

#: What a facilitator writes into the answer of a settlement that landed.
LIES: dict[str, dict[str, Any]] = {
    "another signature": {"transaction": str(Signature.new_unique())},
    "no signature": {"transaction": ""},
    "a page as signature": {"transaction": "<script>" * 100},
    "another network": {"network": "eip155:1"},
    "another payer": {"payer": str(Keypair().pubkey())},
    "a payer that is no address": {"payer": "x" * 100_000},
    "a larger amount": {"amount": "9" * 60},
    "a smaller amount": {"amount": "1"},
    "an amount that is no number": {"amount": "-1e9"},
    "an amount in other digits": {"amount": "²"},
    "an amount of thousands of digits": {"amount": "1" * 5_000},
    "long extensions": {"extensions": {"a": "A" * 1_000_000}},
    "deep extensions": {"extensions": {"a": json.loads("[" * 500 + "]" * 500)}},
    "a long reason": {"error_message": "\x1b[31m" + "A" * 100_000},
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("broadcasts", [False, True])
async def test_a_lie_in_the_answer_of_a_settlement_is_not_believed(
    market: Market, lie: str, broadcasts: bool
) -> None:
    honest = market.first.settle

    async def settle(payload: Any, requirements: Any) -> SettleResponse:
        return (await honest(payload, requirements)).model_copy(update=LIES[lie])

    market.first.settle = settle  # type: ignore[method-assign]
    market.offer = market.shop.offer(broadcasts=broadcasts)
    payment = market.payment(market.first.address)
    reply = await market.pay(payment)
    assert isinstance(reply, Answer)
    assert reply.receipt is not None
    seen = witness_of(market.shop.world.chain)(payment)
    assert seen is not None
    payer = str(market.shop.world.payer.pubkey())
    assert (reply.receipt.transaction, reply.receipt.network) == (
        seen.signature,
        DEVNET,
    )
    assert (reply.receipt.payer, reply.receipt.amount) == (payer, None)
    assert len(reply.receipt.model_dump_json()) < 20_000
    kept = Receipts(market.shop.database).history()
    assert [(r.amount, r.payer, r.signature) for r in kept] == [
        (10_000, payer, seen.signature)
    ]


async def test_without_a_witness_a_success_without_a_transaction_is_not_known(
    tmp_path: Path,
) -> None:
    market = Market(tmp_path, witness=None)

    async def settle(payload: Any, requirements: Any) -> SettleResponse:
        return SettleResponse(success=True, transaction="", network=DEVNET)

    market.first.settle = settle  # type: ignore[method-assign]
    reply = await market.pay(market.payment(market.first.address))
    assert isinstance(reply, Refused)
    assert reply.code == "settlement_pending"


async def test_a_payer_that_a_facilitator_makes_up_gets_no_stored_answer(
    market: Market,
) -> None:
    thief = Keypair()
    honest = market.first.verify

    async def verify(payload: Any, requirements: Any) -> VerifyResponse:
        answer = await honest(payload, requirements)
        return answer.model_copy(update={"payer": str(thief.pubkey())})

    market.first.verify = verify  # type: ignore[method-assign]
    payment = market.payment(market.first.address)
    assert isinstance(await market.pay(payment), Answer)
    market.calls.wallet = thief
    stolen = await market.pay(payment)
    assert isinstance(stolen, Refused)
    assert stolen.code == "proof_required"


# --- payments of version 1 ------------------------------------------------------------------------


def old_form(payment: PaymentPayload) -> PaymentPayloadV1:
    return PaymentPayloadV1(
        scheme="exact", network="solana-devnet", payload=payment.payload
    )


async def test_a_payment_of_version_1_goes_to_the_facilitator_that_it_was_signed_for(
    market: Market,
) -> None:
    reply = await market.pay(old_form(market.payment(market.second.address)))
    assert isinstance(reply, Answer)
    assert "verify" not in market.first.asked


async def test_a_version_that_no_facilitator_supports_is_refused(
    market: Market,
) -> None:
    class Newer(Switched):
        def get_supported(self) -> SupportedResponse:
            supported = super().get_supported()
            kinds = [kind for kind in supported.kinds if kind.x402_version == 2]
            return supported.model_copy(update={"kinds": kinds})

    newer = Market(market.shop.path.parent / "newer", facilitator=Newer)
    reply = await newer.pay(old_form(newer.payment(newer.first.address)))
    assert isinstance(reply, PaymentRequiredReply)
    assert (reply.reason, newer.shop.runs) == ("unexpected_verify_error", [])
