"""Paying: once for each logical call, within the budget, against honest and dishonest sellers."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from mcp import Client
from sqlalchemy import select
from x402 import x402Client

from mcpsol_py.errors import PaymentError
from mcpsol_py.utc import date_of
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.paying import CallPayer, Wallets, reconcile
from mcpsol_py.x402.exact.mechanism import ExactClient
from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META, payment_required_result
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import spendings
from tests.support.machines import run_machine
from tests.support.x402_buyers import budget_of, buyer_of, dishonest, payer_of
from tests.support.x402_sellers import serve
from tests.support.x402_shop import Shop
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import USDC, keypair

ID = "pay_0123456789abcdef"


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    return Shop(tmp_path / "shop.db", storage=storage)


@pytest.mark.parametrize("v1_errors", [False, True])
async def test_a_demand_is_paid_and_booked(
    shop: Shop, tmp_path: Path, v1_errors: bool
) -> None:
    budget = budget_of(shop, tmp_path, SpendingLimit(per_day=50_000))
    async with Client(serve(shop, v1_errors=v1_errors)) as client:
        buyer = buyer_of(client, shop, budget)
        free = await buyer.call_tool("free", {})
        bought = await buyer.call_tool("quote", {"city": "Bern"})
    assert (free.receipt, free.amount) == (None, 0)
    assert bought.result.structured_content == {"answer": 42}
    assert bought.receipt is not None
    (row,) = budget.history()
    assert (row.state, row.signature, row.amount) == (
        "spent",
        bought.receipt.transaction,
        10_000,
    )
    assert budget.remaining(str(USDC)).day == 40_000
    assert shop.paid == 10_000


async def test_one_logical_call_over_restarts_pays_once(
    shop: Shop, tmp_path: Path
) -> None:
    server = serve(shop)
    # Three processes of one agent, each with its own database handle.
    for _ in range(3):
        async with Client(server) as client:
            bought = await buyer_of(client, shop, budget_of(shop, tmp_path)).call_tool(
                "quote", {}, payment_id=ID
            )
        assert bought.result.structured_content == {"answer": 42}
    async with Client(server) as client:
        with pytest.raises(PaymentError) as caught:
            await buyer_of(client, shop, budget_of(shop, tmp_path)).call_tool(
                "quote", {"city": "x"}, payment_id=ID
            )
    assert caught.value.code == "PAYMENT_ID_CONFLICT"
    assert (shop.runs, shop.paid) == (["quote"], 10_000)


@pytest.mark.parametrize(
    ("limit", "options", "code"),
    [
        (SpendingLimit(per_payment=9_999), {}, "AMOUNT_EXCEEDS_MAX"),
        (SpendingLimit(), {"max_amount": 9_999}, "AMOUNT_EXCEEDS_MAX"),
        (SpendingLimit(per_session=9_999), {}, "BUDGET_EXCEEDED"),
        (SpendingLimit(per_day=9_999), {}, "BUDGET_EXCEEDED"),
    ],
)
async def test_over_a_limit_nothing_is_signed(
    shop: Shop, tmp_path: Path, limit: SpendingLimit, options: dict[str, Any], code: str
) -> None:
    budget = budget_of(shop, tmp_path, limit)
    async with Client(serve(shop)) as client:
        with pytest.raises(PaymentError) as caught:
            await buyer_of(client, shop, budget).call_tool("quote", {}, **options)
    assert caught.value.code == code
    assert (budget.history(), shop.runs, shop.paid) == ([], [], 0)


async def test_payees_and_tokens_that_are_not_allowed(
    shop: Shop, tmp_path: Path
) -> None:
    async with Client(serve(shop)) as client:
        with pytest.raises(PaymentError) as caught:
            await buyer_of(
                client, shop, budget_of(shop, tmp_path, payees=frozenset({"x"}))
            ).call_tool("quote", {})
        assert caught.value.code == "PAYEE_NOT_ALLOWED"
        nothing = Budget(
            Database(), str(shop.world.payer.pubkey()), SpendingLimits({}), session="s"
        )
        with pytest.raises(PaymentError) as caught:
            await buyer_of(client, shop, nothing).call_tool("quote", {})
        assert caught.value.code == "NO_REQUIREMENTS"


async def test_parallel_calls_cannot_overspend(shop: Shop, tmp_path: Path) -> None:
    budget = budget_of(shop, tmp_path, SpendingLimit(per_day=35_000))
    async with Client(serve(shop)) as client:
        buyer = buyer_of(client, shop, budget)
        outcomes = await asyncio.gather(
            *(buyer.call_tool("quote", {"city": str(i)}) for i in range(8)),
            return_exceptions=True,
        )
    paid = [o for o in outcomes if not isinstance(o, BaseException)]
    refused = [o.code for o in outcomes if isinstance(o, PaymentError)]
    assert (len(paid), refused) == (3, ["BUDGET_EXCEEDED"] * 5)
    assert shop.paid == 30_000


async def test_parallel_calls_of_one_payment_id_sign_one_payment(
    shop: Shop, tmp_path: Path
) -> None:
    """A seller that settles whatever it is given could take each payment that leaves: only one does."""
    budget, seen = budget_of(shop, tmp_path, SpendingLimit(per_day=10_000)), set()
    server = serve(shop)

    async def watch(ctx: Any, call_next: Any) -> Any:
        payment = dict((ctx.params or {}).get("_meta") or {}).get(PAYMENT_META)
        if payment is not None:
            seen.add(payment["payload"]["transaction"])
        return await call_next(ctx)

    server.middleware.insert(0, watch)
    async with Client(server) as client:
        buyers = [buyer_of(client, shop, budget) for _ in range(4)]
        done = await asyncio.gather(
            *(b.call_tool("quote", {"city": "Bern"}, payment_id=ID) for b in buyers)
        )
    assert len(seen) == 1
    assert (
        len(
            {
                bought.receipt.transaction
                for bought in done
                if bought.receipt is not None
            }
        )
        == 1
    )
    assert (shop.paid, budget.remaining(str(USDC)).day) == (10_000, 0)


async def test_no_more_is_signed_than_was_reserved_under_an_id(
    shop: Shop, tmp_path: Path
) -> None:
    """A call that was killed before it signed holds 1,000; the seller asks for 10,000 now."""
    budget = budget_of(shop, tmp_path, SpendingLimit(per_day=12_000))
    request = hashlib.sha256(orjson.dumps(["quote", {}])).hexdigest()
    offered = shop.offer().accepts[0]
    held = Spending(
        budget.wallet,
        ID,
        "s1",
        DEVNET,
        str(USDC),
        1_000,
        offered.pay_to,
        "mcp://tool/quote",
        request,
    )
    budget.reserve(held)
    async with Client(serve(shop)) as client:
        with pytest.raises(PaymentError) as caught:
            await buyer_of(client, shop, budget).call_tool("quote", {}, payment_id=ID)
        assert (caught.value.code, shop.paid) == ("PAYMENT_ID_CONFLICT", 0)
        budget.abandon(ID)
        budget.reserve(replace(held, amount=10_000))
        bought = await buyer_of(client, shop, budget).call_tool(
            "quote", {}, payment_id=ID
        )
    assert (bought.amount, shop.paid, budget.remaining(str(USDC)).day) == (
        10_000,
        10_000,
        2_000,
    )


def test_what_another_call_signed_is_neither_replaced_nor_given_back(
    shop: Shop, tmp_path: Path
) -> None:
    budget = budget_of(shop, tmp_path, SpendingLimit(per_day=10_000))
    spending = Spending(
        budget.wallet, ID, "s1", DEVNET, str(USDC), 10_000, "payee", "r", "q"
    )
    budget.reserve(spending)
    assert budget.signed(ID, {"n": 1}, "tx:1")
    assert budget.signed(ID, {"n": 1}, "tx:1")  # run again after a lost answer
    assert not budget.signed(ID, {"n": 2}, "tx:2")
    budget.abandon(ID)  # the other call could not sign
    kept = budget.get(ID)
    assert kept is not None
    assert (kept.state, kept.payment) == ("signed", {"n": 1})
    assert budget.remaining(str(USDC)).day == 0
    assert budget.signed(ID, {"n": 3}, "tx:3", instead_of="tx:1")  # a corrected voucher
    budget.release(ID)
    with pytest.raises(PaymentError, match="released"):
        budget.signed(ID, {"n": 4}, "tx:4", instead_of="tx:3")
    budget.reserve(spending)
    budget.abandon(ID)
    assert budget.remaining(str(USDC)).day == 10_000


async def test_a_price_raised_between_the_calls_is_not_paid(
    shop: Shop, tmp_path: Path
) -> None:
    async def raises(payment: Any) -> dict[str, Any]:
        return payment_required_result(
            shop.offer(terms={"amount": 900_000}).payment_required("more")
        )

    budget = budget_of(shop, tmp_path)
    async with Client(dishonest(shop, raises)) as client:
        with pytest.raises(PaymentError) as caught:
            await buyer_of(client, shop, budget).call_tool("quote", {})
    assert caught.value.code == "PAYMENT_REJECTED"
    assert "900,000" in str(caught.value)
    assert len(shop.runs) == 2
    # It still holds a signed payment, so the amount stays reserved until that can no longer land.
    assert [r.state for r in budget.history()] == ["signed"]
    assert await reconcile(budget, shop.world.chain) == 0
    shop.world.svm.expire_blockhash()
    assert await reconcile(budget, shop.world.chain) == 1
    assert [r.state for r in budget.history()] == ["released"]


async def test_a_seller_that_settles_and_denies_it_is_found_out(
    shop: Shop, tmp_path: Path
) -> None:
    async def steals(payment: Any) -> dict[str, Any]:
        from x402.schemas import PaymentPayload

        shop.world.facilitator.settle(
            PaymentPayload.model_validate(payment), shop.world.requirements()
        )
        return payment_required_result(shop.offer().payment_required("never got it"))

    budget = budget_of(shop, tmp_path)
    async with Client(dishonest(shop, steals)) as client:
        with pytest.raises(PaymentError):
            await buyer_of(client, shop, budget).call_tool("quote", {}, payment_id=ID)
    assert await reconcile(budget, shop.world.chain) == 1
    (row,) = budget.history()
    assert (row.state, row.signature is not None, shop.paid) == ("spent", True, 10_000)


async def test_no_answer_sends_the_same_payment_again_and_then_says_so(
    shop: Shop, tmp_path: Path
) -> None:
    async def silent(payment: Any) -> dict[str, Any]:
        return {
            "isError": True,
            "content": [{"type": "text", "text": "busy"}],
            "structuredContent": {"reason": "in_progress"},
        }

    budget = budget_of(shop, tmp_path)
    async with Client(dishonest(shop, silent)) as client:
        with pytest.raises(PaymentError) as caught:
            await buyer_of(client, shop, budget, patience=0.6).call_tool("quote", {})
    assert caught.value.code == "OUTCOME_UNKNOWN"
    payments = {str(p) for p in shop.runs if p is not None}
    assert len(shop.runs) > 2
    assert len(payments) == 1


def test_a_signed_payment_never_shows(shop: Shop, tmp_path: Path) -> None:
    row = Spending(
        "w",
        ID,
        "s",
        DEVNET,
        "m",
        1,
        "p",
        "r",
        "q",
        payment={"payload": {"transaction": "SECRET"}},
    )
    assert "SECRET" not in repr(row)
    budget = budget_of(shop, tmp_path)
    assert "SECRET" not in repr(budget)


def test_limits_alert_once_when_crossed(shop: Shop, tmp_path: Path) -> None:
    told: list[tuple[str, int, int, str]] = []
    budget = budget_of(
        shop, tmp_path, SpendingLimit(per_day=100), alert=lambda *a: told.append(a)
    )
    for i in range(10):
        budget.reserve(spend(budget, f"pay_{i:016}", 10))
    assert told == [(str(USDC), 80, 100, "day"), (str(USDC), 100, 100, "day")]


def spend(budget: Budget, payment_id: str, amount: int) -> Spending:
    return Spending(
        budget.wallet,
        payment_id,
        budget.session,
        DEVNET,
        str(USDC),
        amount,
        "payee",
        "r",
        f"req-{payment_id}",
    )


def test_threads_and_processes_share_one_budget(shop: Shop, tmp_path: Path) -> None:
    budgets = [budget_of(shop, tmp_path, SpendingLimit(per_day=50)) for _ in range(6)]
    won: list[bool] = []
    barrier = threading.Barrier(6)

    def work(budget: Budget, n: int) -> None:
        barrier.wait()
        for i in range(4):
            try:
                budget.reserve(spend(budget, f"pay_{n}_{i:014}", 10))
                won.append(True)
            except PaymentError:
                won.append(False)

    threads = [
        threading.Thread(target=work, args=(b, n)) for n, b in enumerate(budgets)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sum(won) == 5


class BudgetMachine(RuleBasedStateMachine):
    """Any order of reservations, signatures, receipts, releases, sessions and days against a plain model."""

    @initialize(
        per_payment=st.integers(20, 60),
        per_session=st.integers(40, 200),
        per_day=st.integers(40, 150),
    )
    def start(self, per_payment: int, per_session: int, per_day: int) -> None:
        self.ms = 1_800_000_000_000
        self.limit = SpendingLimit(per_payment, per_session, per_day)
        self.database = Database()
        self.session = 0
        # The latest day that anything was reserved in.
        self.seen = self.ms // 86_400_000
        self.rows: dict[
            str, tuple[int, int, int, str]
        ] = {}  # id -> (amount, session, day, state)
        self.open()

    def open(self) -> None:
        self.budget = Budget(
            self.database,
            "w",
            SpendingLimits({str(USDC): self.limit}),
            session=str(self.session),
            clock_ms=lambda: self.ms,
        )

    @property
    def day(self) -> int:
        return max(self.seen, self.ms // 86_400_000)

    def kept_day(self, payment_id: str) -> str:
        with self.database.engine.connect() as connection:
            of = spendings.c.payment_id == payment_id
            return str(
                connection.execute(select(spendings.c.day).where(of)).scalar_one()
            )

    def total(self, *, session: int | None = None, day: int | None = None) -> int:
        return sum(
            a
            for a, s, d, state in self.rows.values()
            if state != "released" and session in (None, s) and day in (None, d)
        )

    @rule(n=st.integers(0, 12), amount=st.sampled_from([0, 1, 5, 10, 20, 40, 70]))
    def reserve(self, n: int, amount: int) -> None:
        payment_id = f"pay_{n:016}"
        known = self.rows.get(payment_id)
        fits = (
            0 < amount <= (self.limit.per_payment or 0)
            and self.total(session=self.session) + amount
            <= (self.limit.per_session or 0)
            and self.total(day=self.day) + amount <= (self.limit.per_day or 0)
        )
        repeat = (
            known is not None
            and known[3] != "released"
            and 0 < amount <= (self.limit.per_payment or 0)
        )
        try:
            row = self.budget.reserve(spend(self.budget, payment_id, amount))
        except PaymentError:
            assert not repeat
            assert not fits
            return
        assert repeat or fits
        self.seen = self.day
        if repeat and known is not None:
            assert row.amount == known[0]
        else:
            assert self.kept_day(payment_id) == date_of(self.day * 86_400_000)
            self.rows[payment_id] = (amount, self.session, self.day, "reserved")

    @rule(n=st.integers(0, 12), to=st.sampled_from(["signed", "spent", "released"]))
    def move(self, n: int, to: str) -> None:
        payment_id = f"pay_{n:016}"
        if payment_id not in self.rows or self.rows[payment_id][3] in (
            "spent",
            "released",
        ):
            return
        if to == "signed":
            self.budget.signed(payment_id, {"x": 1}, "tx:1")
        elif to == "spent":
            self.budget.spent(payment_id, "sig")
        else:
            self.budget.release(payment_id)
        self.rows[payment_id] = (*self.rows[payment_id][:3], to)

    @rule()
    def next_session(self) -> None:
        self.session += 1
        self.open()

    @rule(hours=st.integers(-40, 40).filter(bool))
    def move_clock(self, hours: int) -> None:
        """Forwards or backwards. What was only reserved is released."""
        self.ms += hours * 3_600_000
        for payment_id, (*row, state) in self.rows.items():
            if state == "reserved":
                self.rows[payment_id] = (*row, "released")  # type: ignore[assignment]  # row has three

    @invariant()
    def what_is_left_is_the_models(self) -> None:
        if not hasattr(self, "budget"):
            return
        left = self.budget.remaining(str(USDC))
        assert left.session == max(
            (self.limit.per_session or 0) - self.total(session=self.session), 0
        )
        assert left.day == max((self.limit.per_day or 0) - self.total(day=self.day), 0)
        assert self.total(day=self.day) <= (self.limit.per_day or 0)


def test_a_budget_is_as_its_model() -> None:
    run_machine(BudgetMachine, steps=600, length=30)


async def test_the_first_purse_that_can_pays_and_a_repeat_stays_with_it(
    shop: Shop, tmp_path: Path
) -> None:
    """Two wallets on one database: the first one's limit is too low, so the second pays, and goes on with the id."""
    other = keypair(31)
    shop.world.give(other.pubkey(), 100_000)
    poor = payer_of(shop, budget_of(shop, tmp_path, SpendingLimit(per_payment=9_999)))
    signer = x402Client()
    signer.register(DEVNET, ExactClient(other, shop.world.chain))
    database = (
        Database(f"sqlite:///{tmp_path / 'second.db'}")
        if shop.storage is None
        else shop.storage.open()
    )
    rich = CallPayer(
        signer,
        Budget(
            database,
            str(other.pubkey()),
            SpendingLimits({str(USDC): SpendingLimit()}),
            session="s1",
        ),
        patience=2.0,
        wallet=other,
    )
    async with Client(serve(shop)) as client:
        buyer = Buyer(client, Wallets([poor, rich]))
        bought = await buyer.call_tool("quote", {}, payment_id=ID)
        assert bought.amount == 10_000
        assert (poor.budget.history(), len(rich.budget.history())) == ([], 1)
        again = await Buyer(
            client, Wallets([payer_of(shop, poor.budget), rich])
        ).call_tool("quote", {}, payment_id=ID)
        assert again.repeated
        assert shop.world.tokens(other.pubkey()) == 90_000
        with pytest.raises(PaymentError) as caught:
            await Buyer(client, Wallets([poor])).call_tool("quote", {"city": "x"})
        assert caught.value.code == "AMOUNT_EXCEEDS_MAX"
        with pytest.raises(PaymentError) as caught:
            await buyer.call_tool("quote", {"city": "other"}, payment_id=ID)
        assert caught.value.code == "PAYMENT_ID_CONFLICT"
    with pytest.raises(PaymentError):
        Wallets([])
