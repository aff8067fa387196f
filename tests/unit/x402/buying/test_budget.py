"""The rules of docs/x402-safety.md that hold for a buyer."""

from __future__ import annotations

from dataclasses import dataclass

from solders.hash import Hash

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.paying import reconcile
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.store.database import Database
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


def spend(budget: Budget, payment_id: str, amount: int, pay_to: str = "payee") -> Spending:
    request = f"req-{payment_id}"
    return Spending(
        budget.wallet, payment_id, budget.session, DEVNET, str(USDC), amount, pay_to, "r", request
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
    exact = world.client.create_payment_payload(world.requirements(recentBlockhash=hint))
    upto = world.upto_client().create_payment_payload(world.ceiling(recentBlockhash=hint))
    terms = BatchShop(world, Database()).terms()
    hinted = terms.model_copy(update={"extra": {**terms.extra, "recentBlockhash": hint}})
    batch = batch_client(world).create_payment_payload(hinted)
    texts = (exact["transaction"], upto["openTransaction"], batch["deposit"]["transaction"])
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
