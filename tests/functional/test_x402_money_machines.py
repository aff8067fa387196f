"""Money against adversaries: calls in any order, lies of counterparties, faults of nodes, crashes, moves of the clock.

The buyer's machine: what its seller can land never exceeds what the wallet has booked. The seller's machine: one
payment runs the tool once, over all merchants and replicas; its answer goes to its payer; what was called failed never
lands.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from solders.hash import Hash
from x402 import x402Client
from x402.schemas import PaymentPayload, PaymentRequired, SettleResponse

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import History
from mcpsol_py.errors import PaymentError, TransportError
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.outcomes import AskOutcome
from mcpsol_py.x402.buying.paying import CallPayer, reconcile
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
    SignatureStatus,
)
from mcpsol_py.x402.exact.transaction import message_hash
from mcpsol_py.x402.protocol.mcp_wire import Demand
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.payment_ids import payment_key
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from mcpsol_py.x402.worker.reconcile import reconcile_calls, reconcile_settlements
from tests.support.machines import run_machine
from tests.support.x402_shop import Crash, Shop
from tests.unit.x402.payments import USDC, World, keypair

LIMIT = 60_000
PRICES = (5_000, 10_000, 25_000)
#: Seconds for which a blockhash is good at most.
BLOCKHASH_S = 90
indexes = st.integers(0, 9)
MOODS = ("well", "away", "behind", "forgetful", "forgetful")


def landed_messages(world: World) -> set[str]:
    """The hashes of all messages that the chain has executed without an error."""
    outcomes = world.transport._landed
    return {
        message_hash(sent)
        for signature, sent in world.transport.executed().items()
        if outcomes[signature].err is None
    }


# --- the buyer --------------------------------------------------------------------------------------


class Node(SvmTransport):
    """The buyer's node, on the chain of a world. It may be away, behind, or without its history."""

    def __init__(self, world: World) -> None:
        super().__init__(world.svm)
        self.world, self.mood = world, "well"
        #: What a node that is behind has seen: it is never behind for longer than a blockhash lives.
        self.old: set[Any] = set()

    def _awake(self) -> None:
        if self.mood == "away":
            raise TransportError("node", "it does not answer")

    async def blockhash_valid(self, blockhash: Hash) -> bool:
        self._awake()
        return self.mood != "behind" and await super().blockhash_valid(blockhash)

    async def status(self, signature: Any) -> Any:
        self._awake()
        is_hidden = self.mood == "behind" and signature not in self.old
        return None if is_hidden else await self.world.transport.status(signature)

    async def history(self, key: Any, *, limit: int, before: Any = None) -> History:
        self._awake()
        found = await self.world.transport.history(key, limit=limit)
        if self.mood == "behind":
            seen = tuple(
                entry for entry in found.entries if entry.signature in self.old
            )
            return History(seen, complete=True)
        return History((), complete=False) if self.mood == "forgetful" else found

    async def sent_transaction(self, signature: Any) -> Any:
        self._awake()
        return await self.world.transport.sent_transaction(signature)


class BuyerMachine(RuleBasedStateMachine):
    """A wallet, and a seller that keeps what it is given and lands it when it likes."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.node = Node(self.world)
        self.chain = PaymentChain(self.node, network=DEVNET)
        self.database = Database()
        self.truth = 1_800_000_000.0
        self.set_back = 0.0
        self.blockhash_since = self.truth
        self.held: dict[str, PaymentPayload] = {}  # by message
        self.calls = 0
        self.signer = x402Client()
        self.signer.register(DEVNET, self.world.client)
        self.open()

    def clock_ms(self) -> int:
        return int((self.truth - self.set_back) * 1000)

    @rule()
    def open(self) -> None:
        """A new process of the wallet."""
        limits = SpendingLimits({str(USDC): SpendingLimit(per_session=LIMIT)})
        wallet = str(self.world.payer.pubkey())
        self.budget = Budget(
            self.database, wallet, limits, session="one", clock_ms=self.clock_ms
        )
        self.payer = CallPayer(
            self.signer, self.budget, patience=0.0, wallet=self.world.payer
        )

    # --- the seller

    def ask(self, price: int, behaviour: str) -> Callable[..., Any]:
        def demand(amount: int) -> AskOutcome[str]:
            required = PaymentRequired(
                accepts=[self.world.requirements(amount)], error="pay"
            )
            return AskOutcome(demand=Demand(required))

        async def ask(payment: Any, dialect: Any) -> AskOutcome[str]:
            if payment is None:
                return demand(price)
            self.held[
                message_hash(read_transaction(payment.payload["transaction"]))
            ] = payment
            if behaviour == "crash":
                raise Crash
            if behaviour == "takes it":
                self.world.facilitator.settle(payment, payment.accepted)
            receipt = SettleResponse(success=True, transaction="5" * 88, network=DEVNET)
            lie = behaviour in ("takes it", "lies")
            outcomes: dict[str, AskOutcome[str]] = {
                "asks more": demand(price * 2),
                "asks again": demand(price),
                "refuses": AskOutcome(refused="outcome_unknown", message="no"),
                "is silent": AskOutcome(lost=TimeoutError()),
            }
            answer = AskOutcome(result="answer", receipt=receipt if lie else None)
            return outcomes.get(behaviour, answer)

        return ask

    behaviours = st.sampled_from(
        [
            "answers",
            "takes it",
            "lies",
            "asks more",
            "asks again",
            "refuses",
            "is silent",
            "crash",
        ]
    )

    @rule(
        price=st.sampled_from(PRICES),
        behaviour=behaviours,
        again=st.booleans(),
        n=indexes,
    )
    def call(self, price: int, behaviour: str, again: bool, n: int) -> None:
        """A new call, or one whose id was used before."""
        self.calls += not again
        call_id = f"pay_{n % max(self.calls, 1) if again else self.calls:016}"
        asyncio.run(self.outcome(self.ask(price, behaviour), call_id))

    @rule(
        prices=st.lists(st.sampled_from(PRICES), min_size=2, max_size=4),
        behaviour=behaviours,
    )
    def calls_at_once(self, prices: list[int], behaviour: str) -> None:
        async def all_of_them() -> None:
            self.calls += 1
            ids = [f"pay_{self.calls:08}_{n // 2:07}" for n in range(len(prices))]
            asks = [
                self.outcome(self.ask(p, behaviour), i)
                for p, i in zip(prices, ids, strict=True)
            ]
            await asyncio.gather(*asks)

        asyncio.run(all_of_them())

    @rule(price=st.sampled_from(PRICES))
    def call_that_dies_before_it_signs(self, price: int) -> None:
        """A kill: nothing tidies up."""
        self.calls += 1
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(self.signer, "create_payment_payload", _dies)
            patch.setattr(self.budget, "abandon", lambda _id: None)
            asyncio.run(
                self.outcome(self.ask(price, "answers"), f"pay_{self.calls:016}")
            )

    async def outcome(self, ask: Callable[..., Any], call_id: str) -> None:
        with contextlib.suppress(PaymentError, ChainUnavailable, Crash):
            await self.payer.call(
                ask, {"id": call_id}, "https://seller.test/x", payment_id=call_id
            )

    @rule(n=indexes)
    @precondition(lambda self: bool(self.held))
    def seller_lands(self, n: int) -> None:
        payment = list(self.held.values())[n % len(self.held)]
        self.world.facilitator.settle(payment, payment.accepted)

    # --- node, clock, worker

    @rule(mood=st.sampled_from(["well", *MOODS]))
    def node_changes(self, mood: str) -> None:
        self.node.mood = mood

    @rule(seconds=st.sampled_from([1, 30, 119, 121, 149, 151, 3_600, 90_000]))
    def time_passes(self, seconds: int) -> None:
        self.truth += seconds
        if self.truth - self.blockhash_since >= BLOCKHASH_S:
            self.world.svm.expire_blockhash()
            self.blockhash_since = self.truth
            self.node.old = set(self.world.transport.executed())

    @rule(hours=st.integers(1, 50))
    def clock_is_set_back(self, hours: int) -> None:
        self.set_back += hours * 3_600

    @rule(
        later=st.sampled_from([0, 200, 4_000]), mood=st.sampled_from(["", "", *MOODS])
    )
    def wallet_reconciles(self, later: int, mood: str) -> None:
        self.time_passes(later)
        self.node.mood = mood or self.node.mood
        with contextlib.suppress(ChainUnavailable):
            asyncio.run(reconcile(self.budget, self.chain))

    # --- what must hold

    @invariant()
    def nothing_can_land_that_is_not_booked(self) -> None:
        rows = self.budget.history(10_000)
        booked = {
            row.payment_key: row for row in rows if row.state in ("signed", "spent")
        }
        landed, now = landed_messages(self.world), self.world.svm.latest_blockhash()
        dangerous = 0
        for key, payment in self.held.items():
            sent = read_transaction(payment.payload["transaction"])
            if key in landed or sent.message.recent_blockhash == now:
                row = booked.get(payment_key(payment))
                assert row is not None, "a payment that may land was given back"
                assert row.amount >= int(payment.accepted.amount)
                dangerous += int(payment.accepted.amount)
        assert (
            dangerous
            <= sum(row.amount for row in rows if row.state != "released")
            <= LIMIT
        )
        assert self.world.tokens(self.world.payee.pubkey()) <= LIMIT

    @invariant()
    def reservations_end(self) -> None:
        """No call is in progress here, so a reservation that is left has at most two minutes."""
        self.budget.release_left()
        for row in self.budget.history(10_000):
            if row.state == "reserved":
                assert abs(self.clock_ms() - row.touched_ms) <= 120_000


async def _dies(*_: Any, **__: Any) -> Any:
    raise Crash


# --- the seller -------------------------------------------------------------------------------------

FAULTS = (
    "call.claimed",
    "call.verified",
    "call.running",
    "call.ran",
    "call.executed",
    "call.settled",
)


class SellerMachine(RuleBasedStateMachine):
    """Two merchants with one payee on one database, each with replicas, and buyers and strangers."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="mcpsol-machine-"))
        self.shop = Shop(self.folder / "shop.db", World(balance=10**9), patience=0.02)
        self.chain = self.shop.world.chain
        self.payments: list[PaymentPayload] = []
        self.runs: Counter[str] = Counter()
        self.ran_for: dict[str, set[str]] = {}
        self.failed: set[str] = set()
        self.paid_answers: set[str] = set()
        self.mood = "well"
        self.last = (0, "one", 0)
        self.send, self.status = self.chain.send, self.chain.status
        self.chain.send, self.chain.status = self.sending, self.telling  # type: ignore[method-assign,assignment]
        self.sell_another()

    def teardown(self) -> None:
        self.shop.database.close()
        shutil.rmtree(self.folder)

    # --- the node

    def sending(self, wire: bytes) -> str:
        if self.mood == "deaf":
            raise ChainUnavailable("no answer")
        if self.mood == "behind":
            raise ChainRejected("Blockhash not found")
        sent = self.send(wire)
        if self.mood == "falls behind":
            self.mood = "behind"
        if self.mood in ("loses answers", "behind"):
            raise ChainUnavailable("no answer")
        return sent

    def telling(self, signature: str) -> SignatureStatus:
        if self.mood == "deaf":
            raise ChainUnavailable("no answer")
        if self.mood in ("behind", "falls behind", "loses answers"):
            return SignatureStatus("unknown")
        return self.status(signature)

    @rule(
        mood=st.sampled_from(
            ["well"] * 3 + ["deaf", "behind", "falls behind", "loses answers"]
        )
    )
    def node_changes(self, mood: str) -> None:
        self.mood = mood

    @rule()
    def next_block(self) -> None:
        self.shop.world.svm.expire_blockhash()

    # --- the buyers

    @rule()
    @precondition(lambda self: len(self.payments) < 6)
    def sell_another(self) -> None:
        name = f"pay_{len(self.payments):016}" if len(self.payments) % 2 else None
        amount = 10_000 + len(self.payments)
        self.payments.append(self.shop.payment(name, amount=amount))

    async def call(
        self,
        payment: PaymentPayload,
        tenant: str,
        args: int,
        *,
        fault: str = "",
        thief: bool = False,
    ) -> Reply | None:
        def crash(point: str) -> None:
            if point == fault:
                raise Crash

        key = payment_key(payment)

        async def run(_: Run) -> tuple[dict[str, Any], bool]:
            self.runs[key] += 1
            self.ran_for.setdefault(key, set()).add(f"{tenant} {args}")
            await asyncio.sleep(0)
            return {"content": f"answer {tenant} {args}"}, False

        replica = self.shop.paid_calls(tenant=tenant, fault=crash)
        if thief:
            replica.wallet = keypair(99)  # type: ignore[attr-defined]  # of the shop's
        offer = self.shop.offer(terms={"amount": int(payment.accepted.amount)})
        try:
            reply = await replica.call(offer, payment, {"n": args}, run)
        except Crash:
            return None
        self.note(payment, reply, f"{tenant} {args}", thief=thief)
        return reply

    def note(
        self, payment: PaymentPayload, reply: Reply, call: str, *, thief: bool
    ) -> None:
        key = payment_key(payment)
        if isinstance(reply, Answer):
            assert not thief, "a stranger got an answer"
            assert reply.result["content"] == f"answer {call}"
            self.paid_answers.add(key)
        elif isinstance(reply, PaymentRequiredReply) and not thief:
            self.failed.add(key)
        else:
            assert isinstance(reply, PaymentRequiredReply | Refused)

    def pick(self, n: int) -> PaymentPayload:
        return self.payments[n % len(self.payments)]

    tenants = st.sampled_from(["one", "two"])
    faults = st.sampled_from(["", "", "", *FAULTS])

    @rule(n=indexes, tenant=tenants, args=st.integers(0, 1), fault=faults)
    def buyer_calls(self, n: int, tenant: str, args: int, fault: str) -> None:
        self.last = (n % len(self.payments), tenant, args)
        asyncio.run(self.call(self.pick(n), tenant, args, fault=fault))

    @rule(fault=faults, waits=st.booleans())
    def buyer_repeats(self, fault: str, waits: bool) -> None:
        if waits:
            self.leases_end()
        n, tenant, args = self.last
        asyncio.run(self.call(self.payments[n], tenant, args, fault=fault))

    @rule(n=indexes, tenant=tenants, other=tenants, args=st.integers(0, 1))
    def two_calls_at_once(self, n: int, tenant: str, other: str, args: int) -> None:
        async def both() -> None:
            payment = self.pick(n)
            await asyncio.gather(
                self.call(payment, tenant, 0), self.call(payment, other, args)
            )

        asyncio.run(both())

    @rule(n=indexes, tenant=tenants, turns=st.integers(0, 40))
    def buyer_hangs_up(self, n: int, tenant: str, turns: int) -> None:
        async def leave() -> None:
            task = asyncio.ensure_future(self.call(self.pick(n), tenant, 0))
            await asyncio.sleep(turns / 1_000)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(leave())

    @rule(n=indexes, tenant=tenants, args=st.integers(0, 1), same=st.booleans())
    def a_stranger_copies_what_is_on_chain(
        self, n: int, tenant: str, args: int, same: bool
    ) -> None:
        """Mostly for the very call that was paid: others are refused for many reasons."""
        landed = [one for one in self.payments if self.is_landed(one)]
        if not landed:
            return
        payment = landed[n % len(landed)]
        for paid_call in (
            self.ran_for.get(payment_key(payment), set()) if same else set()
        ):
            tenant, args = paid_call.split()[0], int(paid_call.split()[1])
        asyncio.run(self.call(payment, tenant, args, thief=True))

    # --- the workers

    @rule()
    def leases_end(self) -> None:
        asyncio.run(asyncio.sleep(0.06))

    @rule(tenant=tenants)
    def worker_reconciles(self, tenant: str) -> None:
        settlements = SqlSettlements(self.shop.database)
        reconcile_settlements(settlements, self.chain, timeout=0.02)
        executions = Executions(self.shop.database, tenant)
        with contextlib.suppress(ChainUnavailable):
            reconcile_calls(executions, settlements, {DEVNET: self.chain}, lease_ms=50)

    # --- what must hold

    def is_landed(self, payment: PaymentPayload) -> bool:
        sent = read_transaction(payment.payload["transaction"])
        return message_hash(sent) in landed_messages(self.shop.world)

    @invariant()
    def one_payment_is_one_call(self) -> None:
        assert all(count == 1 for count in self.runs.values()), self.runs
        assert all(len(calls) == 1 for calls in self.ran_for.values())

    @invariant()
    def what_failed_never_lands_and_what_is_answered_was_paid(self) -> None:
        landed = {payment_key(one) for one in self.payments if self.is_landed(one)}
        assert not self.failed & landed, "a payment that was called failed has landed"
        assert self.paid_answers <= landed, "an answer was given away"


@pytest.mark.parametrize("machine", [BuyerMachine, SellerMachine])
def test_no_adversary_breaks_the_rules(machine: type[RuleBasedStateMachine]) -> None:
    run_machine(machine)
