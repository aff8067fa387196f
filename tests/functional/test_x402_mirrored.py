"""Subscriptions of the committed x402 program: read, granted and charged through the interface of those off chain."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.transaction import VersionedTransaction

from mcpsol_py.x402.chain.payment_chain import svm_chain
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.subscriptions.charging import Charging, OnChainCollector
from mcpsol_py.x402.subscriptions.onchain import OnChain
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan

from .x402_chain import T0, X402Chain


class Mirrored:
    """A merchant who offers plan "pro" on chain, with a quota that the chain knows nothing of."""

    def __init__(self, folder: Path, **plan: Any) -> None:
        self.chain = X402Chain()
        self.svm = svm_chain(self.chain.svm)
        self.database = Database(f"sqlite:///{folder / 'payments.db'}")
        self.book = SubscriptionStore(
            self.database, clock_ms=lambda: self.chain.now * 1000
        )
        self.on_chain = OnChain(self.svm, fresh=0.0)
        self.plan: SubscriptionPlan = self.book.add_plan(self.offered("pro", 1, **plan))
        self.wallet = str(self.chain.payer.pubkey())

    def offered(self, name: str, number: int, **terms: Any) -> SubscriptionPlan:
        return self.on_chain.plan(
            str(self.chain.plan(number, **terms)), plan_id=name, name=name, quota=2
        )

    def signed(self, transaction: str, *keys: Keypair) -> VersionedTransaction:
        """What the wallet does with a transaction that it is given."""
        parsed = VersionedTransaction.from_bytes(base64.b64decode(transaction))
        by_key = {k.pubkey(): k for k in keys}
        message = parsed.message
        signers = message.account_keys[: message.header.num_required_signatures]
        signatures = [
            by_key[key].sign_message(to_bytes_versioned(message)) for key in signers
        ]
        return VersionedTransaction.populate(message, signatures)

    def subscribe(self) -> Any:
        relay = self.chain.relay
        unsigned = self.on_chain.subscribe(
            self.plan, self.wallet, periods=3, rent_payer=str(relay.pubkey())
        )
        self.svm.send(bytes(self.signed(unsigned, relay, self.chain.payer)))
        return self.on_chain.track(self.book, self.plan, self.wallet)

    def worker(self) -> Charging:
        collectors = {
            DEVNET: (self.on_chain, OnChainCollector(self.on_chain, self.chain.relay))
        }
        settlements = SqlSettlements(self.database)
        return Charging(
            self.book,
            settlements,
            {DEVNET: self.svm},
            {},
            on_chain=collectors,
            lease=0.0,
            timeout=0.3,
            poll=0.01,
        )

    def state(self, found: Any) -> tuple[str, str]:
        """Ours, and the program's own word for it."""
        mine = self.on_chain.refresh(self.book, found).state(self.chain.now * 1000)
        theirs = self.chain.status(_key(found.address))["state"]
        return mine, theirs


def _key(address: str) -> Any:
    from solders.pubkey import Pubkey

    return Pubkey.from_string(address)


@pytest.fixture
def mirrored(tmp_path: Path) -> Any:
    made = Mirrored(tmp_path)
    yield made
    made.database.close()


def test_its_whole_life(mirrored: Mirrored) -> None:
    assert (mirrored.plan.price, mirrored.plan.period, mirrored.plan.grace_ms) == (
        100,
        "1000s",
        300_000,
    )
    made = mirrored.subscribe()
    assert mirrored.state(made) == ("active", "Active")
    assert mirrored.worker().run_due() == 0
    mirrored.chain.set_time(T0 + 1_000)
    assert mirrored.state(made) == ("past_due", "PastDue")
    assert [mirrored.worker().run_due() for _ in range(2)] == [1, 0]
    assert mirrored.state(made) == ("active", "Active")
    mirrored.chain.set_time(T0 + 2_000)
    # somebody else charges first: anyone may
    mirrored.chain.ok(
        mirrored.chain.charge(_key(made.address)), signers=[mirrored.chain.relay]
    )
    assert mirrored.worker().run_due() == 0
    assert mirrored.state(made) == ("active", "Active")
    mirrored.chain.set_time(T0 + 3_000)
    mirrored.worker().run_due()
    assert mirrored.state(made) == ("expired", "Expired")
    assert (
        mirrored.chain.amount(mirrored.chain.ata(mirrored.chain.payee.pubkey())) == 300
    )


def test_calls_are_granted_within_the_quota(mirrored: Mirrored) -> None:
    made = mirrored.subscribe()
    book = mirrored.book
    found = book.usable(mirrored.wallet, ("pro",))
    assert found is not None
    assert found.id == made.id

    def use() -> object:
        return book.run(lambda connection, _: book.use(connection, made.id))

    assert [use() is not None for _ in range(3)] == [True, True, False]
    mirrored.chain.set_time(T0 + 1_000)
    mirrored.worker().run_due()
    mirrored.on_chain.refresh(book, made)
    assert use() is not None


def test_the_subscriber_cancels_and_changes_by_transactions_to_sign(
    mirrored: Mirrored,
) -> None:
    made = mirrored.subscribe()
    mirrored.book.add_plan(mirrored.offered("big", 2, price=500, period=2_000))
    unsigned = mirrored.on_chain.change(made, mirrored.book.plan("big"), periods=4)
    mirrored.svm.send(bytes(mirrored.signed(unsigned, mirrored.chain.payer)))
    changed = mirrored.on_chain.refresh(mirrored.book, made)
    assert (changed.plan_id, changed.price) == ("big", 500)
    assert mirrored.state(made) == ("active", "Active")
    mirrored.chain.set_time(T0 + 1_000)
    assert mirrored.worker().run_due() == 1
    assert (
        mirrored.chain.amount(mirrored.chain.ata(mirrored.chain.payee.pubkey())) == 600
    )
    unsigned = mirrored.on_chain.cancel(mirrored.on_chain.refresh(mirrored.book, made))
    mirrored.svm.send(bytes(mirrored.signed(unsigned, mirrored.chain.payer)))
    assert mirrored.state(made) == ("cancelled", "Cancelled")
    mirrored.chain.set_time(T0 + 3_000)
    assert mirrored.worker().run_due() == 0


def test_a_trial_on_chain(tmp_path: Path) -> None:
    mirrored = Mirrored(tmp_path, trial=500)
    made = mirrored.subscribe()
    assert mirrored.state(made) == ("pending", "Pending")
    mirrored.chain.set_time(T0 + 500)
    assert mirrored.worker().run_due() == 1
    assert mirrored.state(made) == ("active", "Active")
    mirrored.database.close()


def test_the_tools_speak_of_them_too(mirrored: Mirrored) -> None:
    from mcpsol_py.x402.store.executions import Executions
    from mcpsol_py.x402.subscriptions.tools import SubscriptionTools

    def never(plan: SubscriptionPlan) -> Any:
        raise AssertionError("a plan on chain is paid on chain")

    executions = Executions(mirrored.database)
    paid_calls: Any = None  # nothing is paid through it
    tools = SubscriptionTools(
        paid_calls,
        mirrored.book,
        executions,
        terms_of=never,
        domain="d.example",
        on_chain=mirrored.on_chain,
    )
    arguments = {"planId": "pro", "walletAddress": mirrored.wallet}
    first = asyncio.run(tools.call("subscribe", arguments, {}))["structuredContent"]
    assert "subscription" not in first
    mirrored.svm.send(
        bytes(mirrored.signed(first["transaction"], mirrored.chain.payer))
    )
    second = asyncio.run(tools.call("subscribe", arguments, {}))["structuredContent"]
    assert (second["subscription"]["status"], second["subscription"]["callsLeft"]) == (
        "active",
        2,
    )
    asked = {"subscriptionId": second["subscription"]["id"]}
    checked = asyncio.run(tools.call("check_subscription", asked, {}))[
        "structuredContent"
    ]
    assert checked["subscription"]["address"] == asked["subscriptionId"]
