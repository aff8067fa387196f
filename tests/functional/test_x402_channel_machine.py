"""Sellers by ceiling and by voucher against buyers who send what they like, when and as often as they like.

A ceiling runs its tool once, and is charged what the tool used. A voucher buys one answer. What was answered is the
payee's: it landed, or a voucher for it is kept that the channel's deposit covers. Nobody else gets an answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from solders.pubkey import Pubkey
from x402 import x402FacilitatorSync, x402ResourceServer
from x402.schemas import PaymentPayload, PaymentRequirements, ResourceInfo

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    SignatureStatus,
)
from mcpsol_py.x402.channels.redeem import redeem
from mcpsol_py.x402.channels.voucher import sign_voucher
from mcpsol_py.x402.facilitator import LocalFacilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, Offer, PaymentRequiredReply, Refused
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.channels import PaidChannels, SponsoredChannels
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.support.machines import run_machine
from tests.support.x402_channels import endpoint
from tests.support.x402_shop import Crash, RepeatedCalls
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import keypair

PRICE = 1_000
TENANTS = ("one", "two")
indexes = st.integers(0, 9)
POINTS = ("claimed", "verified", "running", "ran", "executed", "settled", "paid")
FAULTS = st.sampled_from(["", "", "", "", *(f"call.{point}" for point in POINTS)])
#: What the tool does: charge a part of a ceiling, all of it, answer with an error, or raise.
WORKS = st.sampled_from(["all", "all", "part", "nothing", "fails", "raises"])
PARTS = {"part": 300, "nothing": 0}

#: Changes of a payload that leave it the same payment, or make it none.
DECOYS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "none": lambda payload: {},
    "a word": lambda payload: {"note": "x"},
    "a transfer": lambda payload: {"transaction": "AA=="},
    "another opening": lambda payload: {"openTransaction": "AA=="},
    "a voucher": lambda payload: {
        "voucher": {"channelId": "x", "maxClaimableAmount": "1"}
    },
    "a voucher's signature": lambda payload: {"voucherSignature": "1" * 64},
    "a claim": lambda payload: {"type": "claim"},
    "a deposit": lambda payload: {"type": "deposit"},
    "a refund": lambda payload: {"type": "refund", "amount": "1"},
    "another payer": lambda payload: {"from": str(keypair(98).pubkey())},
    "a longer life": lambda payload: {"expiresAt": 2**40},
    "another salt": lambda payload: {"nonce": "7"},
    "a larger ceiling": lambda payload: {"maxAmount": "9999", "deposit": "9999"},
    "zeros before the sum": lambda payload: {
        "voucher": {**payload.get("voucher", {}), "maxClaimableAmount": "01000"}
    },
    "an expiry": lambda payload: {
        "voucher": {**payload.get("voucher", {}), "expiresAt": 9}
    },
    "more in the voucher": lambda payload: {
        "voucher": {**payload.get("voucher", {}), "n": "1"}
    },
}


@dataclass(frozen=True)
class Signed:
    """A payment as its buyer signed it, and what identifies it: a channel, and a sum for vouchers."""

    payment: PaymentPayload
    key: str

    @property
    def is_ceiling(self) -> bool:
        return self.payment.accepted.scheme == "upto"


def signed(payload: dict[str, Any], terms: PaymentRequirements) -> Signed:
    payment = PaymentPayload(payload=payload, accepted=terms)
    if terms.scheme == "upto":
        return Signed(payment, payload["channelId"])
    voucher = payload["voucher"]
    return Signed(payment, f"{voucher['channelId']}:{voucher['maxClaimableAmount']}")


class Merchant(BatchShop):
    """A merchant of a database that many share; its facilitator remembers settlements there."""

    def __init__(self, world: ChannelWorld, database: Database, tenant: str) -> None:
        super().__init__(world, database, tenant=tenant, lease=0.05)
        facilitator = x402FacilitatorSync()
        facilitator.register([DEVNET], self.desk)
        settlements, kept = SqlSettlements(database), SponsoredChannels(database)
        facilitator.register(
            [DEVNET], world.upto(settlements=settlements, channels=kept)
        )
        self.core = x402ResourceServer(LocalFacilitator(facilitator))
        self.core.register(DEVNET, self.scheme)
        self.core.register(DEVNET, world.upto_server())
        self.core.initialize()


class ChannelSellerMachine(RuleBasedStateMachine):
    """Two merchants with one payee on one database, each with replicas, that sell by ceiling and by voucher."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="mcpsol-machine-"))
        self.database = Database(f"sqlite:///{self.folder / 'shop.db'}")
        self.world = ChannelWorld(balance=10**7)
        self.buyer = batch_client(self.world, most=10**6)
        self.mood = "well"
        chain = self.world.chain
        self.send, self.status = chain.send, chain.status
        chain.send, chain.status = self.sending, self.telling  # type: ignore[method-assign,assignment]
        self.payments: list[Signed] = []
        self.runs: Counter[str] = Counter()
        #: Payment -> the calls that it bought, and what each was charged.
        self.bought: dict[str, dict[str, int]] = {}
        self.used: Counter[str] = Counter()
        self.calls = 0
        self.last: tuple[Signed, str, int, str] | None = None
        self.replicas_start()
        self.buyer_opens_a_channel()
        self.buyer_signs_a_ceiling()

    def teardown(self) -> None:
        self.database.close()
        shutil.rmtree(self.folder)

    @rule()
    def replicas_start(self) -> None:
        """New processes: nothing is kept but what is in the database."""
        self.merchants = {
            name: Merchant(self.world, self.database, name) for name in TENANTS
        }

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
            ["well"] * 4 + ["deaf", "behind", "falls behind", "loses answers"]
        )
    )
    def node_changes(self, mood: str) -> None:
        self.mood = mood

    @rule()
    def next_block(self) -> None:
        with self.world.chain._lock:  # a call that was left may still ask the chain
            self.world.svm.expire_blockhash()

    @property
    def payee_holds(self) -> int:
        with self.world.chain._lock:
            return self.world.held[1]

    # --- what buyers sign

    def terms(self, scheme: str) -> PaymentRequirements:
        return self.merchants["one"].terms(PRICE, scheme)

    # What these rules ask about depends on how fast calls were, so it is no precondition: Hypothesis wants the same
    # choice of rules when it runs the same steps again.

    @rule()
    def buyer_signs_a_ceiling(self) -> None:
        if len(self.payments) >= 40:
            return
        terms = self.terms("upto")
        payload = self.world.upto_client().create_payment_payload(terms)
        self.payments.append(signed(payload, terms))

    @rule()
    def buyer_opens_a_channel(self) -> None:
        """A record without its earlier channels opens another one."""
        if len(self.buyer.channels.all()) >= 3:
            return
        fresh = batch_client(self.world, most=10**6)
        terms = self.terms("batch-settlement")
        self.payments.append(signed(fresh.create_payment_payload(terms), terms))
        self.buyer = fresh

    @rule(
        n=indexes,
        sum_=st.sampled_from([1, 500, 999, 1_000, 2_000, 2_000, 3_000, 9_000, 11_000]),
    )
    def buyer_signs_any_sum(self, n: int, sum_: int) -> None:
        """A voucher for any sum of any channel, as only its payer can sign it."""
        opened = [
            one for one in self.payments if "channelConfig" in one.payment.payload
        ]
        payload = opened[n % len(opened)].payment.payload
        channel = payload["voucher"]["channelId"]
        voucher = {
            **payload["voucher"],
            "maxClaimableAmount": str(sum_),
            "signature": sign_voucher(
                self.world.payer, Pubkey.from_string(channel), sum_
            ),
        }
        plain = {
            "type": "voucher",
            "channelConfig": payload["channelConfig"],
            "voucher": voucher,
        }
        self.payments.append(signed(plain, self.terms("batch-settlement")))

    @rule(n=indexes)
    def buyer_signs_the_next_sum(self, n: int) -> None:
        """What an honest buyer who knows the seller's record would sign."""
        rows = [row for name in TENANTS for row in self.merchants[name].channels.due()]
        if rows:
            known = rows[n % len(rows)]
            opened = [one.key for one in self.payments]
            index = next(
                i for i, key in enumerate(opened) if key.startswith(known.channel_id)
            )
            vouchers = [
                one for one in self.payments if "channelConfig" in one.payment.payload
            ]
            self.buyer_signs_any_sum(
                vouchers.index(self.payments[index]), known.charged + PRICE
            )

    # --- calls

    def paid_calls(self, tenant: str, fault: str) -> RepeatedCalls:
        def crash(point: str) -> None:
            if point == fault:
                raise Crash

        def landed(signature: str) -> bool | None:
            state = self.world.chain.status(signature).state
            return {"landed": True, "failed": False}.get(state)

        core = self.merchants[tenant].core
        executions = Executions(self.database, tenant)
        calls = RepeatedCalls(
            core, executions, landed=landed, lease=0.05, wait=0.0, fault=crash
        )
        calls.wallet = self.world.payer
        return calls

    async def call(
        self,
        one: Signed,
        tenant: str,
        args: int,
        name: str,
        *,
        works: str = "all",
        fault: str = "",
        decoy: str = "none",
        thief: bool = False,
    ) -> None:
        async def run(run: Run) -> tuple[dict[str, Any], bool]:
            self.runs[one.key] += 1
            await asyncio.sleep(0)
            if works == "raises":
                raise RuntimeError("broken")
            if works in PARTS:
                run.charge(PARTS[works])
            if works != "fails":
                self.used[one.key] += (
                    PARTS.get(works, PRICE) if one.is_ceiling else PRICE
                )
            return {"content": f"answer {tenant} {args}"}, works == "fails"

        payload = {**one.payment.payload, **DECOYS[decoy](one.payment.payload)}
        payment = PaymentPayload(payload=payload, accepted=one.payment.accepted)
        if name:
            info = {"info": {"required": False, "id": name}, "schema": {}}
            payment.extensions = {"payment-identifier": info}
        calls = self.paid_calls(tenant, fault)
        if thief:
            calls.wallet = keypair(99)
        accepts = (one.payment.accepted,)
        offer = Offer(ResourceInfo(url="mcp://tool/quote"), accepts)
        with contextlib.suppress(Crash, RuntimeError):
            reply = await calls.call(offer, payment, {"n": args}, run)
            assert isinstance(reply, Answer | PaymentRequiredReply | Refused)
            if isinstance(reply, Answer):
                assert not thief, "a stranger got an answer"
                assert reply.result["content"] == f"answer {tenant} {args}"
                # Else it was bought by that name's first payment.
                if not (reply.repeated and name):
                    self.note(one, f"{tenant} {args} {name}", reply)

    def note(self, one: Signed, call: str, reply: Answer) -> None:
        """An answer of a tool that failed costs nothing, and counts as none."""
        receipt = reply.receipt
        if receipt is None or receipt.amount == "0":
            return
        assert receipt.success
        charged = int(receipt.amount or PRICE) if one.is_ceiling else PRICE
        self.bought.setdefault(one.key, {}).setdefault(call, charged)

    def name(self, kind: str) -> str:
        """A payment id: none, a new one, or one that was used before."""
        self.calls += kind == "new"
        return "" if kind == "none" else f"pay_{self.calls:016}"

    def pick(self, n: int) -> Signed:
        return self.payments[-1 - n % len(self.payments)]

    tenants = st.sampled_from(TENANTS)
    names = st.sampled_from(["none", "new", "old"])

    @rule(
        n=indexes,
        tenant=tenants,
        args=st.integers(0, 1),
        named=names,
        works=WORKS,
        fault=FAULTS,
    )
    def buyer_calls(
        self, n: int, tenant: str, args: int, named: str, works: str, fault: str
    ) -> None:
        self.last = (self.pick(n), tenant, args, self.name(named))
        asyncio.run(self.call(*self.last, works=works, fault=fault))

    @rule(fault=FAULTS, waits=st.booleans(), works=WORKS)
    @precondition(lambda self: self.last is not None)
    def buyer_repeats(self, fault: str, waits: bool, works: str) -> None:
        if waits:
            self.leases_end()
        assert self.last is not None
        asyncio.run(self.call(*self.last, works=works, fault=fault))

    @rule(n=indexes, tenant=tenants, decoy=st.sampled_from(list(DECOYS)), named=names)
    def buyer_changes_the_payload(
        self, n: int, tenant: str, decoy: str, named: str
    ) -> None:
        asyncio.run(self.call(self.pick(n), tenant, 0, self.name(named), decoy=decoy))

    @rule(n=indexes, tenant=tenants, other=tenants, args=st.integers(0, 1), named=names)
    def calls_at_once(
        self, n: int, tenant: str, other: str, args: int, named: str
    ) -> None:
        async def all_of_them() -> None:
            one = self.pick(n)
            calls = [(tenant, 0), (other, args), (tenant, 0), (other, 1 - args)]
            await asyncio.gather(
                *(self.call(one, t, a, self.name(named)) for t, a in calls)
            )

        asyncio.run(all_of_them())

    @rule(n=indexes, tenant=tenants, turns=st.integers(0, 40))
    def buyer_hangs_up(self, n: int, tenant: str, turns: int) -> None:
        async def leave() -> None:
            task = asyncio.ensure_future(
                self.call(self.pick(n), tenant, 0, self.name("new"))
            )
            await asyncio.sleep(turns / 1_000)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

        asyncio.run(leave())

    @rule(n=indexes, tenant=tenants, args=st.integers(0, 1))
    def a_stranger_copies_what_was_paid(self, n: int, tenant: str, args: int) -> None:
        sold = [one for one in self.payments if one.key in self.bought]
        if not sold:
            return
        one = sold[n % len(sold)]
        for call in self.bought[one.key]:
            first, number, *name = call.split(" ")
            asyncio.run(self.call(one, first, int(number), *name, thief=True))
        if one.is_ceiling:
            asyncio.run(self.call(one, tenant, args, self.name("new"), thief=True))

    # --- time and workers

    @rule()
    def leases_end(self) -> None:
        asyncio.run(asyncio.sleep(0.06))

    @rule(tenant=tenants)
    def seller_redeems(self, tenant: str) -> None:
        shop = self.merchants[tenant]
        with contextlib.suppress(ChainUnavailable, PaymentError):
            asyncio.run(redeem(shop.scheme, endpoint(shop), chain=self.world.chain))

    @rule()
    def everything_is_paid_out(self) -> None:
        """Once the node is well, the payee gets all that was answered for. A pass may find one that is not over."""
        self.mood = "well"
        for name in 3 * TENANTS:
            self.seller_redeems(name)
            self.next_block()
        assert self.payee_holds >= sum(map(sum, map(dict.values, self.bought.values())))

    # --- what must hold

    @invariant()
    def a_ceiling_runs_once_and_a_voucher_buys_one_answer(self) -> None:
        for one in self.payments:
            assert not one.is_ceiling or self.runs[one.key] <= 1
            assert len(self.bought.get(one.key, {})) <= 1, self.bought[one.key]

    @invariant()
    def what_was_answered_is_the_payees(self) -> None:
        ceilings = {one.key for one in self.payments if one.is_ceiling}
        landed = sum(
            sum(self.bought[key].values()) for key in ceilings & self.bought.keys()
        )
        assert self.payee_holds >= landed
        answered: Counter[str] = Counter()
        for key in self.bought.keys() - ceilings:
            answered[key.split(":")[0]] += PRICE
        for channel, total in answered.items():
            row = self.record(channel)
            on_chain = self.world.program.fetch(self.world.chain, channel)
            assert on_chain is not None
            assert total <= row.charged <= on_chain.deposit

    def record(self, channel: str) -> Any:
        found = (PaidChannels(self.database, name).get(channel) for name in TENANTS)
        return next(row for row in found if row is not None)

    @invariant()
    def nobody_is_charged_for_what_was_not_used(self) -> None:
        ceilings = sum(self.used[one.key] for one in self.payments if one.is_ceiling)
        channels = {
            one.key.split(":")[0] for one in self.payments if not one.is_ceiling
        }
        charged = sum(self.record(c).charged for c in channels if self.is_known(c))
        assert self.payee_holds <= ceilings + charged

    def is_known(self, channel: str) -> bool:
        return any(PaidChannels(self.database, name).get(channel) for name in TENANTS)


def test_no_buyer_breaks_the_rules_of_channels() -> None:
    run_machine(ChannelSellerMachine)
