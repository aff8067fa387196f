"""Charges that are due: once a period, whoever makes them, wherever they stop."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    SignatureStatus,
)
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.merchant_log import MerchantLog
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.store.webhooks import Webhooks
from mcpsol_py.x402.subscriptions.charging import Charging, DelegatedCollector
from tests.support.machines import run_machine
from tests.support.x402_shop import Crash, Shop
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair, token_data
from tests.unit.x402.subscriptions.merchant import DAY, Merchant

POINTS = [
    "charge.claimed",
    "charge.signed",
    "charge.recorded",
    "charge.landed",
    "charge.booked",
]


@dataclass
class Till:
    """A merchant whose subscriber approved its collector."""

    merchant: Merchant
    collector: Keypair = field(default_factory=lambda: keypair(7))

    def __post_init__(self) -> None:
        self.merchant.world.svm.airdrop(self.collector.pubkey(), 10**9)
        self.approve(1_000_000)

    def approve(self, amount: int, balance: int = 1_000_000) -> None:
        owner = self.merchant.wallet.pubkey()
        address = associated_token_address(owner, USDC, TOKEN_PROGRAM)
        data = token_data(
            USDC, owner, balance, delegate=self.collector.pubkey(), delegated=amount
        )
        self.merchant.world.set_account(address, data, TOKEN_PROGRAM)

    def worker(self, database: Database | None = None, **options: Any) -> Charging:
        options = {"lease": 0.0, "timeout": 0.3, "poll": 0.01} | options
        kept = database or self.merchant.shop.database
        chain = self.merchant.world.chain
        collectors = {DEVNET: DelegatedCollector(chain, self.collector)}
        return Charging(
            self.merchant.open_book(kept),
            SqlSettlements(kept),
            {DEVNET: chain},
            collectors,
            **options,
        )

    @property
    def taken(self) -> int:
        return self.merchant.shop.paid

    def state(self, subscription: str) -> str:
        return self.merchant.book.get(subscription).state(self.merchant.clock.ms)


@pytest.fixture
def till(merchant: Merchant) -> Till:
    return Till(merchant)


def test_due_is_charged_once_a_period(till: Till) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    assert till.worker().run_due() == 0
    for period in (1, 2, 3):
        till.merchant.clock.ms += DAY
        assert till.state(made) == "past_due"
        assert [till.worker().run_due() for _ in range(3)] == [1, 0, 0]
        assert (till.taken, till.state(made)) == (period * 10_000, "active")
    rows = till.merchant.book.charges_of(made)
    assert [(r["number"], r["state"]) for r in rows] == [
        (n, "landed") for n in (1, 2, 3, 4)
    ]
    assert [rows[n]["period_to_ms"] for n in range(3)] == [
        rows[n + 1]["period_from_ms"] for n in range(3)
    ]


def test_what_was_agreed_ends(till: Till) -> None:
    till.merchant.plan(max_charges=2)
    Webhooks(till.merchant.shop.database).add("https://shop.example/hook")
    made = till.merchant.subscribed()
    till.merchant.clock.ms += DAY
    assert till.worker().run_due() == 1
    till.merchant.clock.ms += DAY
    assert till.worker().run_due() == 0
    assert (till.state(made), till.taken) == ("expired", 10_000)
    kinds = [
        d.type for d in reversed(Webhooks(till.merchant.shop.database).deliveries())
    ]
    assert sorted(kinds) == [
        "subscription.charged",
        "subscription.expired",
        "subscription.opened",
    ]


def test_a_trial_ends_in_the_first_charge(till: Till) -> None:
    till.merchant.plan(trial_ms=DAY)
    made = till.merchant.book.try_out("pro", till.merchant.address, "siwx:1").id
    assert till.worker().run_due() == 0
    till.merchant.clock.ms += DAY
    assert till.worker().run_due() == 1
    assert (till.taken, till.state(made)) == (10_000, "active")


def test_a_change_of_plan_is_charged_at_its_own_price(till: Till) -> None:
    till.merchant.plan()
    till.merchant.plan("big", price=50_000, quota=100, period="172800s")
    made = till.merchant.subscribed()
    changed = till.merchant.book.change(made, "big")
    assert (changed.price, changed.next_plan_id) == (10_000, "big")
    till.merchant.clock.ms += DAY
    assert till.worker().run_due() == 1
    now = till.merchant.book.get(made)
    assert (till.taken, now.plan_id, now.price, now.quota, now.next_plan_id) == (
        50_000,
        "big",
        50_000,
        100,
        None,
    )
    assert now.due_ms == till.merchant.clock.ms + 2 * DAY


def test_cancelled_is_never_charged_again(till: Till) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    till.merchant.book.cancel(made, till.merchant.address)
    till.merchant.clock.ms += DAY
    assert (till.worker().run_due(), till.taken, till.state(made)) == (
        0,
        0,
        "cancelled",
    )


@pytest.mark.parametrize("why", ["no allowance", "no balance"])
def test_what_cannot_be_paid_is_tried_again_until_the_grace_ends(
    till: Till, why: str
) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    Webhooks(till.merchant.shop.database).add("https://shop.example/hook")
    till.approve(
        0 if why == "no allowance" else 10**6, 10**6 if why == "no allowance" else 0
    )
    till.merchant.clock.ms += DAY
    assert till.worker().run_due() == 0
    assert till.state(made) == "past_due"
    assert "would fail on chain" in str(till.merchant.book.get(made).error)
    assert till.worker().run_due() == 0  # not before its time
    till.merchant.clock.ms += 60_000
    till.approve(10**6)
    assert till.worker().run_due() == 1
    assert (till.taken, till.state(made)) == (10_000, "active")
    till.approve(0)
    till.merchant.clock.ms += DAY
    for _ in range(40):
        till.merchant.clock.ms += DAY // 100
        assert till.worker().run_due() == 0
    assert till.state(made) == "expired"
    till.approve(10**6)
    till.merchant.clock.ms += DAY
    assert (till.worker().run_due(), till.taken) == (0, 10_000)
    kinds = [d.type for d in Webhooks(till.merchant.shop.database).deliveries()]
    assert kinds.count("subscription.expired") == 1
    assert kinds.count("subscription.past_due") == 2
    failures = [
        e
        for e in MerchantLog(till.merchant.shop.database).history()
        if e.action == "charge.failed"
    ]
    assert len(failures) > 3


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_any_step_it_is_charged_once(till: Till, point: str) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    till.merchant.clock.ms += DAY

    def crash(at: str) -> None:
        if at == point:
            raise Crash(at)

    with pytest.raises(Crash):
        till.worker(fault=crash).run_due()
    landed_before = till.taken
    till.merchant.clock.ms += 1  # the lease of 0 s is over
    till.worker().run_due()
    till.worker().run_due()
    assert (till.taken, till.state(made)) == (10_000, "active")
    assert landed_before in (0, 10_000)
    rows = till.merchant.book.charges_of(made)
    assert [(r["number"], r["state"]) for r in rows] == [(1, "landed"), (2, "landed")]
    charged = [
        e
        for e in MerchantLog(till.merchant.shop.database).history()
        if e.action == "subscription.charged"
    ]
    assert len(charged) == 1


def test_a_charge_that_expired_unseen_is_signed_anew(till: Till) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    till.merchant.clock.ms += DAY

    def crash(at: str) -> None:
        if at == "charge.recorded":
            raise Crash(at)

    with pytest.raises(Crash):
        till.worker(fault=crash).run_due()
    till.merchant.world.svm.expire_blockhash()
    till.merchant.clock.ms += 1
    assert till.worker().run_due() == 0  # it can no longer land: dropped
    till.merchant.clock.ms += 60_000
    assert till.worker().run_due() == 1
    assert (till.taken, till.state(made)) == (10_000, "active")


def test_a_charge_without_confirmation_is_waited_for_and_never_signed_twice(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    till.merchant.clock.ms += DAY
    monkeypatch.setattr(
        till.merchant.world.chain,
        "status",
        lambda signature: SignatureStatus("unknown"),
    )
    assert till.worker().run_due() == 0
    assert till.taken == 10_000  # it landed, and nobody can tell
    monkeypatch.undo()
    till.merchant.clock.ms += 10_000
    assert till.worker().run_due() == 1
    assert (till.taken, till.state(made)) == (10_000, "active")


def test_a_refusal_after_a_lost_answer_makes_no_second_charge(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    till.merchant.clock.ms += DAY
    chain, on_the_way = till.merchant.world.chain, list[bytes]()
    send = chain.send

    def refused_after_a_lost_answer(wire: bytes) -> str:
        if on_the_way:
            raise ChainRejected("HTTP status 429 (rate limited)")
        on_the_way.append(wire)
        raise ChainUnavailable("no answer within 30 s")

    monkeypatch.setattr(chain, "send", refused_after_a_lost_answer)
    assert till.worker().run_due() == 0
    monkeypatch.undo()
    send(on_the_way[0])
    till.merchant.world.svm.expire_blockhash()
    till.merchant.clock.ms += 60_000
    assert till.worker().run_due() == 1
    assert (till.taken, till.state(made)) == (10_000, "active")


def test_a_charge_that_is_out_is_booked_though_it_was_cancelled_meanwhile(
    till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    till.merchant.plan()
    made = till.merchant.subscribed()
    till.merchant.clock.ms += DAY
    monkeypatch.setattr(
        till.merchant.world.chain,
        "status",
        lambda signature: SignatureStatus("unknown"),
    )
    till.worker().run_due()
    till.merchant.book.cancel(made, till.merchant.address)
    monkeypatch.undo()
    till.merchant.clock.ms += 10_000
    assert till.worker().run_due() == 1
    found = till.merchant.book.get(made)
    assert (till.taken, found.state(till.merchant.clock.ms)) == (10_000, "cancelled")
    assert found.grants(till.merchant.clock.ms)  # what is paid stays usable


def test_workers_at_once_charge_each_once(till: Till) -> None:
    """Four workers with connections of their own, twelve subscriptions of twelve plans."""
    for n in range(12):
        till.merchant.plan(f"plan{n}")
        till.merchant.subscribed(f"plan{n}", mark=f"pay_{n}")
    till.merchant.clock.ms += DAY
    storage = till.merchant.shop.storage
    assert storage is not None
    workers = [till.worker(storage.open(migrate=False), lease=30.0) for _ in range(4)]
    landed: list[int] = []
    barrier = threading.Barrier(4)

    def work(worker: Charging) -> None:
        barrier.wait()
        landed.append(sum(worker.run_due() for _ in range(2)))

    threads = [threading.Thread(target=work, args=(w,)) for w in workers]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (sum(landed), till.taken) == (12, 120_000)
    for found in till.merchant.book.of(till.merchant.address):
        assert [r["state"] for r in till.merchant.book.charges_of(found.id)] == [
            "landed",
            "landed",
        ]


def test_a_collector_takes_the_price_and_nothing_else(till: Till) -> None:
    till.merchant.plan()
    made = till.merchant.book.get(till.merchant.subscribed())
    collector = DelegatedCollector(till.merchant.world.chain, till.collector)
    transaction = collector.build(made, 10_000, "label")
    assert collector.address == str(till.collector.pubkey())
    keys = transaction.message.account_keys
    transfers = [
        ix
        for ix in transaction.message.instructions
        if keys[ix.program_id_index] == TOKEN_PROGRAM
    ]
    (transfer,) = transfers
    assert bytes(transfer.data) == b"\x0c" + (10_000).to_bytes(8, "little") + b"\x06"
    destination = keys[bytes(transfer.accounts)[2]]
    assert destination == associated_token_address(
        Pubkey.from_string(made.pay_to), USDC, TOKEN_PROGRAM
    )


class ChargingMachine(RuleBasedStateMachine):
    """Any order of workers that die anywhere, lost confirmations, expired blockhashes, empty accounts and time: what
    the chain moved is what is booked, and no period is charged twice."""

    @initialize()
    def start(self) -> None:
        self.folder = TemporaryDirectory()
        merchant = Merchant(Shop(Path(self.folder.name) / "payments.db"))
        self.till = Till(merchant)
        merchant.plan(grace_ms=DAY, quota=None)
        self.made = merchant.subscribed()
        self.begun = merchant.clock.ms

    def run(self, **options: Any) -> None:
        self.till.merchant.clock.ms += 1  # the lease of a dead worker is 0
        self.till.worker(timeout=0.02, poll=0.005, **options).run_due()

    @rule()
    def work(self) -> None:
        self.run()

    @rule(point=st.sampled_from(POINTS))
    def die(self, point: str) -> None:
        def crash(at: str) -> None:
            if at == point:
                raise Crash(at)

        try:
            self.run(fault=crash)
        except Crash:
            pass

    @rule()
    def work_blindly(self) -> None:
        """The node lags behind: it knows neither the transaction nor the blocks since."""
        chain: Any = self.till.merchant.world.chain
        chain.status = lambda signature: SignatureStatus("unknown")
        chain.blockhash_expired = lambda blockhash: False
        try:
            self.run()
        finally:
            del chain.status, chain.blockhash_expired

    @rule(hours=st.integers(1, 30))
    def later(self, hours: int) -> None:
        self.till.merchant.clock.ms += hours * DAY // 24

    @rule()
    def a_block_passes(self) -> None:
        self.till.merchant.world.svm.expire_blockhash()

    @rule(allowed=st.sampled_from([0, 10**6]))
    def allow(self, allowed: int) -> None:
        self.till.approve(allowed)

    def teardown(self) -> None:
        if not hasattr(self, "till"):
            return
        for _ in range(4):  # whatever is open comes to its end
            self.till.merchant.clock.ms += 10_001
            self.till.worker(timeout=0.05, poll=0.005).run_due()
        rows = self.till.merchant.book.charges_of(self.made)
        landed = [r for r in rows if r["state"] == "landed"]
        # The first was not paid on this chain.
        assert self.till.taken == 10_000 * (len(landed) - 1)
        starts = [r["period_from_ms"] for r in landed]
        assert len(set(starts)) == len(starts)
        assert len(landed) <= (self.till.merchant.clock.ms - self.begun) // DAY + 1
        self.till.merchant.shop.database.close()
        self.folder.cleanup()


def test_no_order_of_workers_charges_a_period_twice() -> None:
    run_machine(ChargingMachine, steps=375, length=25)
