"""The rules of docs/x402-safety.md that hold for a buyer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from solders.hash import Hash
from x402 import x402Client
from x402.schemas import PaymentRequired

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.outcomes import AskOutcome
from mcpsol_py.x402.buying.paying import CallPayer, reconcile
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.wallet_channels import WalletChannels
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import USDC, World

MINUTE = 60_000
HOUR = 60 * MINUTE


@dataclass
class Clock:
    """Milliseconds since 1970, as the test sets them."""

    ms: int = 1_800_000_000_000

    def __call__(self) -> int:
        return self.ms


def spend(
    budget: Budget, payment_id: str, amount: int, pay_to: str = "payee"
) -> Spending:
    request = f"req-{payment_id}"
    return Spending(
        budget.wallet,
        payment_id,
        budget.session,
        DEVNET,
        str(USDC),
        amount,
        pay_to,
        "r",
        request,
    )


def budget_of(
    clock: Clock, database: Database | None = None, *, session: str = "s", **limit: int
) -> Budget:
    limits = SpendingLimits({str(USDC): SpendingLimit(**limit)})
    return Budget(database or Database(), "w", limits, session=session, clock_ms=clock)


# --- "unknown" is not "cannot land" ---------------------------------------------------------------


class Behind(SvmTransport):
    """A node that does not know the newest blockhash yet, or has dropped it."""

    async def blockhash_valid(self, blockhash: Hash) -> bool:
        return False


def test_a_sellers_blockhash_is_not_signed() -> None:
    world, hint = ChannelWorld(), str(Hash(b"\7" * 32))
    exact = world.client.create_payment_payload(
        world.requirements(recentBlockhash=hint)
    )
    upto = world.upto_client().create_payment_payload(
        world.ceiling(recentBlockhash=hint)
    )
    terms = BatchShop(world, Database()).terms()
    hinted = terms.model_copy(
        update={"extra": {**terms.extra, "recentBlockhash": hint}}
    )
    batch = batch_client(world).create_payment_payload(hinted)
    texts = (
        exact["transaction"],
        upto["openTransaction"],
        batch["deposit"]["transaction"],
    )
    signed = {read_transaction(text).message.recent_blockhash for text in texts}
    assert signed == {world.svm.latest_blockhash()}


async def test_a_payment_is_given_back_only_at_an_age_at_which_it_cannot_land() -> None:
    world, clock = World(), Clock()
    chain = PaymentChain(Behind(world.svm), network=DEVNET)
    budget = budget_of(clock, per_day=10_000)
    payment = world.pay(world.requirements())
    budget.reserve(spend(budget, "pay_1", 10_000))
    body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
    budget.signed("pay_1", body, "tx:1")
    for later in (0, MINUTE, MINUTE, -3 * HOUR):  # a clock set back makes nothing older
        clock.ms += later
        assert await reconcile(budget, chain) == 0
        assert [row.state for row in budget.history()] == ["signed"]
    clock.ms += 3 * HOUR + MINUTE
    assert await reconcile(budget, chain) == 1
    assert [row.state for row in budget.history()] == ["released"]


async def test_a_payment_that_landed_after_its_blockhash_seemed_gone_is_found() -> None:
    world, clock = World(), Clock()
    transport = Behind(world.svm)
    chain, budget = PaymentChain(transport, network=DEVNET), budget_of(clock)
    payment = world.pay(world.requirements())
    budget.reserve(spend(budget, "pay_1", 10_000))
    body = payment.model_dump(by_alias=True, exclude_none=True, mode="json")
    budget.signed("pay_1", body, "tx:1")
    assert await reconcile(budget, chain) == 0
    assert world.facilitator.settle(payment, payment.accepted).success
    transport._executed |= world.transport.executed()
    transport._landed |= world.transport._landed
    assert await reconcile(budget, chain) == 1
    assert [row.state for row in budget.history()] == ["spent"]


# --- a reservation has an owner and an end --------------------------------------------------------


def left(budget: Budget) -> int:
    day = budget.remaining(str(USDC)).day
    assert day is not None
    return day


def test_a_reservation_that_nobody_signed_for_ends() -> None:
    """Its process was killed between reserving and signing."""
    clock, database = Clock(), Database()
    killed = budget_of(clock, database, per_day=100)
    held = killed.reserve(spend(killed, "pay_1", 100))
    clock.ms += MINUTE
    again = budget_of(clock, database, per_day=100)
    assert left(again) == 0
    with pytest.raises(PaymentError, match="0 are left"):
        again.reserve(spend(again, "pay_2", 1))
    clock.ms += 2 * MINUTE
    assert left(again) == 100
    assert again.reserve(spend(again, "pay_2", 100)).state == "reserved"
    with pytest.raises(PaymentError) as caught:  # it was only slow
        killed.signed("pay_1", {"x": 1}, "tx:1", held=held)
    assert caught.value.code == "RESERVATION_LOST"


@pytest.mark.parametrize("how", ["reserve", "remaining", "release_left"])
def test_each_use_of_the_budget_ends_what_nobody_signed_for(how: str) -> None:
    clock = Clock()
    budget = budget_of(clock, per_day=100)
    budget.reserve(spend(budget, "pay_1", 60))
    clock.ms -= 24 * HOUR  # the clock was ahead
    if how == "reserve":
        budget.reserve(spend(budget, "pay_2", 60))
    elif how == "remaining":
        assert left(budget) == 100
    else:
        budget.release_left()
    row = budget.get("pay_1")
    assert row is not None
    assert row.state == "released"


def test_a_signed_payment_does_not_end_with_time() -> None:
    clock = Clock()
    budget = budget_of(clock, per_session=100)
    held = budget.reserve(spend(budget, "pay_1", 100))
    budget.signed("pay_1", {"x": 1}, "tx:1", held=held)
    clock.ms += 1_000 * HOUR
    assert budget.remaining(str(USDC)).session == 0


def test_nothing_is_signed_for_what_another_call_reserved_on_other_terms() -> None:
    clock = Clock()
    budget = budget_of(clock)
    held = budget.reserve(spend(budget, "pay_1", 100))
    clock.ms += HOUR
    budget.reserve(spend(budget, "pay_1", 40))
    with pytest.raises(PaymentError) as caught:
        budget.signed("pay_1", {"x": 1}, "tx:1", held=held)
    assert caught.value.code == "RESERVATION_LOST"


def test_a_batch_with_a_payment_made_before_reserves_nothing() -> None:
    clock = Clock()
    budget = budget_of(clock, per_day=100)
    held = budget.reserve(spend(budget, "pay_1", 10))
    budget.signed("pay_1", {"x": 1}, "tx:1", held=held)
    for n in range(9):
        with pytest.raises(PaymentError) as caught:
            budget.reserve_all(
                [spend(budget, f"new_{n}", 10), spend(budget, "pay_1", 10)]
            )
        assert caught.value.code == "PAYMENT_ID_CONFLICT"
    with pytest.raises(PaymentError, match="made before"):
        budget.reserve_all([spend(budget, "pay_1", 10)])
    assert left(budget) == 90


class Signing:
    """A scheme whose payment takes until the test says so, or fails."""

    scheme = "exact"

    def __init__(self, world: World) -> None:
        self.world, self.started, self.error = (
            world,
            asyncio.Event(),
            ValueError("broken"),
        )

    async def create_payment_payload(self, required: PaymentRequired) -> Any:
        self.started.set()
        await asyncio.sleep(0.05)
        raise self.error


@pytest.mark.parametrize("ending", ["error", "cancelled", "scope"])
async def test_a_call_that_ends_before_it_signed_gives_its_reservation_back(
    ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, budget = World(), budget_of(Clock(), per_day=10_000)
    signing, signer = Signing(world), x402Client()
    signer.register(DEVNET, world.client)
    monkeypatch.setattr(
        signer, "create_payment_payload", signing.create_payment_payload
    )
    payer = CallPayer(signer, budget)
    required = PaymentRequired(accepts=[world.requirements()])

    async def ask(payment: Any, dialect: Any) -> AskOutcome[str]:
        assert payment is None
        return AskOutcome(demand=Demand(required))

    async def call() -> None:
        await payer.call(ask, {}, "https://seller.test/x")

    if ending == "error":
        with pytest.raises(ValueError, match="broken"):
            await call()
    elif ending == "cancelled":
        task = asyncio.create_task(call())
        await signing.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with anyio.move_on_after(0.03):
            await call()
    assert [row.state for row in budget.history()] == ["released"]
    assert left(budget) == 10_000


# --- time -----------------------------------------------------------------------------------------


def test_a_day_does_not_begin_again_when_the_clock_is_set_back() -> None:
    clock, database = Clock(), Database()
    budget = budget_of(clock, database, per_day=100)

    def pay(payment_id: str, amount: int) -> None:
        held = budget.reserve(spend(budget, payment_id, amount))
        budget.signed(payment_id, {"x": 1}, f"tx:{payment_id}", held=held)

    pay("pay_1", 100)
    clock.ms += 24 * HOUR
    pay("pay_2", 70)
    clock.ms -= 24 * HOUR * 365
    for one in (budget, budget_of(clock, database, per_day=100)):
        assert left(one) == 30
    with pytest.raises(PaymentError, match="30 are left"):
        pay("pay_3", 31)
    pay("pay_4", 30)
    clock.ms += 24 * HOUR * 365
    assert left(budget) == 0
    clock.ms += 24 * HOUR
    assert left(budget) == 100


# --- signed never exceeds reserved ----------------------------------------------------------------


class GreedySeller:
    """It lands the deposit, says that each voucher was charged, and asks for the next. *proved*: with proof."""

    def __init__(self, proved: bool) -> None:
        self.world, self.proved, self.sums = ChannelWorld(), proved, [0]
        self.shop = BatchShop(self.world, Database())
        self.terms = self.shop.terms(1_000)

    def payer(self, database: Database) -> CallPayer:
        limits = SpendingLimits(
            {str(USDC): SpendingLimit(per_payment=1_000, per_day=3_000)}
        )
        budget = Budget(database, str(self.world.payer.pubkey()), limits, session="s")
        signer = x402Client()
        signer.register(DEVNET, batch_client(self.world, database))
        return CallPayer(signer, budget, patience=0.1)

    async def ask(self, payment: Any, dialect: Any) -> AskOutcome[str]:
        extra = dict(self.terms.extra)
        if payment is not None:
            voucher = payment.payload["voucher"]
            self.sums.append(int(voucher["maxClaimableAmount"]))
            if payment.payload["type"] == "deposit":
                self.shop.desk.settle(payment, payment.accepted)
            charged = {"chargedCumulativeAmount": voucher["maxClaimableAmount"]}
            extra["channelState"] = {"channelId": voucher["channelId"], **charged}
            signed = {
                "signedMaxClaimable": voucher["maxClaimableAmount"],
                "expiresAt": 0,
            }
            if self.proved:
                extra["voucherState"] = {**signed, "signature": voucher["signature"]}
        terms = self.terms.model_copy(update={"extra": extra})
        return AskOutcome(demand=Demand(PaymentRequired(accepts=[terms], error="no")))


@pytest.mark.parametrize("proved", [True, False])
async def test_corrections_of_a_seller_never_get_vouchers_beyond_the_budget(
    proved: bool,
) -> None:
    seller, database = GreedySeller(proved), Database()
    payer = seller.payer(database)
    for n in range(5):
        with pytest.raises(PaymentError):
            await payer.call(seller.ask, {"q": n}, "mcp://tool/quote")
        booked = sum(
            row.amount for row in payer.budget.history() if row.state != "released"
        )
        assert max(seller.sums) <= booked <= 3_000
        recorded = WalletChannels(database, payer.budget.wallet).all()
        assert sum(channel.signed for channel in recorded) <= booked


async def test_a_voucher_beyond_what_was_reserved_is_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The seller's claim seemed covered, and the voucher that was signed is not."""
    seller = GreedySeller(proved=True)
    payer = seller.payer(Database())
    covers, asked = payer.budget.covers, list[int]()

    def covers_the_claim(
        payment_id: str, channel: str, total: int, *, first: bool = False
    ) -> bool:
        asked.append(total)
        return len(asked) == 1 or covers(payment_id, channel, total, first=first)

    monkeypatch.setattr(payer.budget, "covers", covers_the_claim)
    with pytest.raises(PaymentError) as caught:
        await payer.call(seller.ask, {"q": 1}, "mcp://tool/quote")
    assert caught.value.code == "BUDGET_EXCEEDED"
    assert asked == [2_000, 2_000]
    assert seller.sums == [0, 1_000]


async def test_a_lost_answer_of_a_voucher_is_corrected_within_what_was_reserved() -> (
    None
):
    """The call before was charged and not answered, so the next voucher follows it."""
    world = ChannelWorld()
    shop, database = BatchShop(world, Database()), Database()
    terms = shop.terms(1_000)
    limits = SpendingLimits({str(USDC): SpendingLimit()})
    budget = Budget(database, str(world.payer.pubkey()), limits, session="s")
    signer = x402Client()
    signer.register(DEVNET, batch_client(world, database))
    payer, seen = CallPayer(signer, budget, patience=0.0), list[Any]()

    async def ask(payment: Any, dialect: Any) -> AskOutcome[str]:
        extra = dict(terms.extra)
        if payment is not None:
            voucher = payment.payload["voucher"]
            seen.append(voucher)
            if len(seen) == 1:
                shop.desk.settle(payment, payment.accepted)
                return AskOutcome(lost=TimeoutError())
            if voucher["maxClaimableAmount"] == "2000":
                return AskOutcome(result="answer")
            charged = {
                "chargedCumulativeAmount": "1000",
                "channelId": voucher["channelId"],
            }
            signed = {"signedMaxClaimable": "1000", "expiresAt": 0}
            extra["channelState"] = charged
            extra["voucherState"] = {**signed, "signature": seen[0]["signature"]}
        demand = PaymentRequired(
            accepts=[terms.model_copy(update={"extra": extra})], error="no"
        )
        return AskOutcome(demand=Demand(demand))

    with pytest.raises(PaymentError):
        await payer.call(ask, {"q": 1}, "mcp://tool/quote")
    bought = await payer.call(ask, {"q": 2}, "mcp://tool/quote")
    assert bought.result == "answer"
    assert [row.amount for row in budget.history()] == [1_000, 1_000]
