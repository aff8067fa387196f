"""A seller between facilitators that lie, die, are slow and come back, each with a fee payer of its own.

One payment runs the tool once and is shown only to facilitators that sign as its fee payer. An answer means that the
payment landed, and what was called failed never lands. A facilitator that works is found, whatever the others do, and
strangers' payments do not make the seller leave it out.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
)
from solders.keypair import Keypair
from solders.signature import Signature
from x402 import x402ResourceServer
from x402.schemas import PaymentPayload

from mcpsol_py.x402.exact.mechanism import ExactClient, ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.exact.transaction import message_hash
from mcpsol_py.x402.facilitator import facilitator_app, make_facilitator
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.payment_ids import payment_key
from mcpsol_py.x402.protocol.payment_transaction import read_transaction
from mcpsol_py.x402.selling.facilitator_client import HttpFacilitator
from mcpsol_py.x402.selling.facilitators import Facilitators, fee_payer_of
from mcpsol_py.x402.selling.payment_processor import witness_of
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.support.machines import run_machine
from tests.support.x402_shop import RepeatedCalls, Shop
from tests.unit.x402.payments import World, keypair

WELL = "well"
#: What a facilitator does with one request, besides answering it.
ANYWHERE = ("cannot be reached", "breaks off", "answers rubbish", "is busy")
VERIFYING = (
    WELL,
    *ANYWHERE,
    "refuses at 400",
    "refuses at 500",
    "finds all valid",
    "names a payer",
)
SETTLING = (
    WELL,
    *ANYWHERE,
    "refuses at 400",
    "refuses at 500",
    "settles and breaks off",
    "settles and refuses",
    "settles later",
    "settles later and refuses a repeat",
    "settles later and says that it failed",
    "reports another transaction",
    "reports no transaction",
    "settles nothing and reports success",
)
indexes = st.integers(0, 9)


@dataclass
class Facilitator(httpx.AsyncBaseTransport, httpx.BaseTransport):
    """One facilitator as its HTTP connection. `moods` names, for a step, what it does with the next requests."""

    world: World
    shop: Shop
    sponsor: Keypair
    moods: dict[str, list[str]] = field(default_factory=dict)
    #: Whether payments of strangers make it fail at /verify with an empty 500.
    chokes: bool = False
    #: The fee payers that this process of the seller knows, of all facilitators.
    known: set[str] = field(default_factory=set)
    #: Those of the payments that this one was shown.
    shown: set[str] = field(default_factory=set)
    later: list[httpx.Request] = field(default_factory=list)
    #: Whether /supported has answered, and connections were made, since the last refresh.
    steady: bool = True

    def __post_init__(self) -> None:
        self.world.svm.airdrop(self.sponsor.pubkey(), 10**9)
        settlements = SqlSettlements(self.shop.database)
        made = make_facilitator(
            self.world.chain, KeypairSponsor(self.sponsor), settlements, timeout=0.2
        )
        self.app = httpx.ASGITransport(app=facilitator_app(made))
        self.kinds = made.get_supported().model_dump_json(
            by_alias=True, exclude_none=True
        )

    @property
    def address(self) -> str:
        return str(self.sponsor.pubkey())

    @property
    def is_well(self) -> bool:
        return all(mood == WELL for moods in self.moods.values() for mood in moods)

    def mood(self, step: str) -> str:
        """The mood of a request; the last one of a list lasts."""
        moods = self.moods.get(step) or [WELL]
        return moods.pop(0) if len(moods) > 1 else moods[0]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        mood = self.mood("supported")
        self.steady &= mood == WELL
        _fail(mood, request)
        self.known.add(self.address)
        return httpx.Response(200, text=self.kinds, request=request)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = orjson.loads(await request.aread())
        terms = body["paymentRequirements"]
        step = request.url.path.strip("/")
        mood = self.mood(step)
        self.steady &= mood != "cannot be reached"
        # A payment for a facilitator that is not known goes to all.
        if mood != "cannot be reached":
            self.shown |= {terms["extra"]["feePayer"]} & self.known
        _fail(mood, request)
        if self.chokes and terms["amount"] == STRANGERS_AMOUNT:
            return httpx.Response(500, request=request)
        answer: httpx.Response = await ACTS[mood](self, request)
        return answer

    async def honest(self, request: httpx.Request) -> httpx.Response:
        answer = await self.app.handle_async_request(request)
        await answer.aread()
        return answer

    async def changed(self, request: httpx.Request, **values: Any) -> httpx.Response:
        body = orjson.loads((await self.honest(request)).content)
        return _answer(request, 200, **{**body, **values})

    async def refuses(
        self, request: httpx.Request, status: int = 400
    ) -> httpx.Response:
        return _answer(request, status, success=False, isValid=False, **REASONS)

    async def settles_and_refuses(self, request: httpx.Request) -> httpx.Response:
        await self.honest(request)
        return await self.refuses(request)

    async def settles_and_breaks_off(self, request: httpx.Request) -> httpx.Response:
        await self.honest(request)
        raise httpx.RemoteProtocolError("half an answer", request=request)

    async def settles_later(self, request: httpx.Request) -> httpx.Response:
        self.later.append(request)
        raise httpx.ReadTimeout("slow", request=request)

    async def settles_later_and_refuses_a_repeat(
        self, request: httpx.Request
    ) -> httpx.Response:
        if request.content in [one.content for one in self.later]:
            return await self.refuses(request)
        return await self.settles_later(request)

    async def settles_later_and_fails(self, request: httpx.Request) -> httpx.Response:
        self.later.append(request)
        return _answer(request, 200, success=False, errorReason="settlement_failed")

    async def settle_what_was_left(self) -> None:
        """The slow one has got there."""
        while self.later:
            await self.honest(self.later.pop())


STRANGERS_AMOUNT = "777"
REASONS = {"invalidReason": "insufficient_funds", "errorReason": "insufficient_funds"}


def _answer(request: httpx.Request, status: int, **body: Any) -> httpx.Response:
    return httpx.Response(status, content=orjson.dumps(body), request=request)


def _fail(mood: str, request: httpx.Request) -> None:
    if mood == "cannot be reached":
        raise httpx.ConnectError("refused", request=request)
    if mood == "breaks off":
        raise httpx.RemoteProtocolError("half an answer", request=request)


def _elsewhere(**values: Any) -> Callable[[Facilitator, httpx.Request], Any]:
    return lambda it, request: it.changed(request, **values)


async def _rubbish(it: Facilitator, request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, text="<html>", request=request)


async def _busy(it: Facilitator, request: httpx.Request) -> httpx.Response:
    return httpx.Response(429, text="later", request=request)


async def _refuses_at_500(it: Facilitator, request: httpx.Request) -> httpx.Response:
    return await it.refuses(request, 500)


async def _all_valid(it: Facilitator, request: httpx.Request) -> httpx.Response:
    return _answer(request, 200, isValid=True, payer=str(keypair(99).pubkey()))


async def _success(it: Facilitator, request: httpx.Request) -> httpx.Response:
    made_up = str(Signature.new_unique())
    return _answer(request, 200, success=True, transaction=made_up, network=DEVNET)


ACTS: dict[str, Callable[[Facilitator, httpx.Request], Any]] = {
    WELL: Facilitator.honest,
    "answers rubbish": _rubbish,
    "is busy": _busy,
    "refuses at 400": Facilitator.refuses,
    "refuses at 500": _refuses_at_500,
    "finds all valid": _all_valid,
    "names a payer": _elsewhere(payer=str(keypair(99).pubkey())),
    "settles and breaks off": Facilitator.settles_and_breaks_off,
    "settles and refuses": Facilitator.settles_and_refuses,
    "settles later": Facilitator.settles_later,
    "settles later and refuses a repeat": Facilitator.settles_later_and_refuses_a_repeat,
    "settles later and says that it failed": Facilitator.settles_later_and_fails,
    "reports another transaction": _elsewhere(transaction=str(Signature.new_unique())),
    "reports no transaction": _elsewhere(transaction=""),
    "settles nothing and reports success": _success,
}


class FacilitatorMachine(RuleBasedStateMachine):
    """A seller with three facilitators, honest buyers, and strangers whose payments are worth nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="mcpsol-machine-"))
        self.shop = Shop(self.folder / "shop.db", World(balance=10**9), patience=0.02)
        self.world = self.shop.world
        self.known = set[str]()
        self.facilitators = [
            Facilitator(self.world, self.shop, sponsor, known=self.known)
            for sponsor in (self.world.sponsor, keypair(8), keypair(9))
        ]
        self.now = 0.0
        self.payments: list[PaymentPayload] = []
        self.runs: Counter[str] = Counter()
        self.answered: set[str] = set()
        self.failed: set[str] = set()
        asyncio.run(self.open())

    def teardown(self) -> None:
        self.shop.database.close()
        shutil.rmtree(self.folder)

    async def open(self) -> None:
        """A new process of the seller."""
        self.known.clear()
        clients = [
            HttpFacilitator(f"http://{n}.test", transport=one)
            for n, one in enumerate(self.facilitators)
        ]
        self.several = Facilitators(clients, backoff=(0.0, 0.0), clock=lambda: self.now)
        core = x402ResourceServer(self.several)
        core.register(DEVNET, ExactServer())
        core.initialize()
        self.calls = RepeatedCalls(
            core,
            Executions(self.shop.database),
            wait=0.0,
            lease=0.05,
            facilitators=self.several,
            witness=witness_of(self.world.chain),
        )
        self.calls.wallet = self.world.payer

    # --- facilitators

    @rule(
        n=indexes,
        step=st.sampled_from(["verify", "settle", "settle", "settle"]),
        data=st.data(),
    )
    def one_changes(self, n: int, step: str, data: st.DataObject) -> None:
        moods = st.sampled_from(VERIFYING if step == "verify" else SETTLING)
        one = self.facilitators[n % 3]
        one.moods[step] = data.draw(st.lists(moods, min_size=1, max_size=3))

    @rule(n=indexes, how=st.sampled_from(["cannot be reached", "breaks off"]))
    def one_dies(self, n: int, how: str) -> None:
        one = self.facilitators[n % 3]
        one.moods = {step: [how] for step in ("supported", "verify", "settle")}

    @rule(n=indexes)
    def one_comes_back(self, n: int) -> None:
        self.facilitators[n % 3].moods = {}

    @rule(n=indexes)
    def a_slow_one_gets_there(self, n: int) -> None:
        asyncio.run(self.facilitators[n % 3].settle_what_was_left())

    @rule()
    def next_block(self) -> None:
        self.world.svm.expire_blockhash()

    @rule()
    def time_passes(self) -> None:
        self.now += 31.0
        asyncio.run(self.refresh())

    async def refresh(self) -> None:
        for one in self.facilitators:
            one.steady = True
        await self.several.refresh()

    # --- buyers

    async def demanded(self) -> str:
        """The fee payer that a new demand names."""
        reply = await self.calls.call(self.shop.offer(), None, {}, self.run)
        assert isinstance(reply, PaymentRequiredReply)
        return str(fee_payer_of(reply.required.accepts[0]))

    async def run(self, run: Run) -> tuple[dict[str, Any], bool]:
        self.runs[run.payment_id] += 1
        return {"content": f"answer {run.payment_id}"}, False

    async def signed(self, fee_payer: str, name: str = "") -> PaymentPayload:
        payment = self.world.pay(self.world.requirements(feePayer=fee_payer))
        name = name or f"pay_{len(self.payments):016}"
        payment.extensions = {
            "payment-identifier": {"info": {"required": False, "id": name}}
        }
        self.payments.append(payment)
        return payment

    async def pay(self, payment: PaymentPayload, *, broadcasts: bool = False) -> Reply:
        offer = self.shop.offer(broadcasts=broadcasts)
        reply = await self.calls.call(offer, payment, {}, self.run)
        key = payment_key(payment)
        if isinstance(reply, Answer):
            assert reply.receipt is not None
            assert reply.receipt.payer == str(self.world.payer.pubkey())
            assert reply.receipt.transaction in map(
                str, self.world.transport.executed()
            )
            self.answered.add(key)
        elif isinstance(reply, PaymentRequiredReply) and reply.failed is not None:
            self.failed.add(key)
        else:
            assert isinstance(reply, PaymentRequiredReply | Refused)
        return reply

    @rule(broadcasts=st.booleans())
    def a_buyer_pays(self, broadcasts: bool) -> None:
        async def pay() -> None:
            await self.pay(
                await self.signed(await self.demanded()), broadcasts=broadcasts
            )

        asyncio.run(pay())

    @rule(n=indexes, broadcasts=st.booleans())
    @precondition(lambda self: bool(self.payments))
    def a_buyer_repeats(self, n: int, broadcasts: bool) -> None:
        payment = self.payments[-1 - n % len(self.payments)]
        asyncio.run(self.pay(payment, broadcasts=broadcasts))

    @rule(n=indexes)
    @precondition(lambda self: bool(self.payments))
    def a_buyer_pays_twice_at_once(self, n: int) -> None:
        async def both() -> None:
            payment = self.payments[-1 - n % len(self.payments)]
            await asyncio.gather(self.pay(payment), self.pay(payment))

        asyncio.run(both())

    @rule()
    def the_seller_starts_again(self) -> None:
        if any(one.mood("supported") == WELL for one in self.facilitators):
            asyncio.run(self.open())
            for one in self.facilitators:
                one.steady = one.is_well

    @rule(count=st.integers(1, 7), n=indexes, chokes=st.booleans())
    def strangers_pay_nothing(self, count: int, n: int, chokes: bool) -> None:
        """Payments without money: refused, or answered with a failure by one that chokes on them."""
        self.facilitators[n % 3].chokes = chokes
        stranger = ExactClient(keypair(77), self.world.chain)
        self.world.give(keypair(77).pubkey(), 777)
        fee_payer = self.facilitators[n % 3].address
        terms = self.world.requirements(int(STRANGERS_AMOUNT), feePayer=fee_payer)
        offer = self.shop.offer(terms={"amount": int(STRANGERS_AMOUNT)})

        payment = PaymentPayload(
            payload=stranger.create_payment_payload(terms), accepted=terms
        )
        self.world.give(keypair(77).pubkey(), 0)

        async def pay() -> None:
            for _ in range(count):
                reply = await self.calls.call(offer, payment, {}, self.run)
                assert not isinstance(reply, Answer)

        asyncio.run(pay())
        self.the_first_one_is_used_while_it_works()

    @rule()
    def the_first_one_is_used_while_it_works(self) -> None:
        """No time passes, so a breaker that strangers' payments had opened would show."""
        first = self.facilitators[0]
        if not (first.steady and first.is_well):
            return

        async def pay() -> None:
            assert await self.demanded() == first.address
            assert isinstance(await self.pay(await self.signed(first.address)), Answer)

        asyncio.run(pay())

    @rule(status=st.sampled_from([400, 500]), broadcasts=st.booleans())
    def a_refusal_counts_at_any_status(self, status: int, broadcasts: bool) -> None:
        """An honest one that refuses to settle has not settled: the buyer may pay again."""
        first = self.facilitators[0]
        if not (first.steady and first.is_well):
            return
        first.moods["settle"] = [f"refuses at {status}"]

        async def pay() -> None:
            reply = await self.pay(
                await self.signed(first.address), broadcasts=broadcasts
            )
            assert isinstance(reply, PaymentRequiredReply)
            assert reply.reason == REASONS["errorReason"]

        asyncio.run(pay())
        first.moods = {}

    @rule(dead=st.lists(indexes, max_size=2))
    def one_that_works_is_found(self, dead: list[int]) -> None:
        """After a refresh, the first one that lives gets the payment, and settles it."""
        for one in self.facilitators:
            one.moods = {}
        for n in dead:
            self.one_dies(n, "cannot be reached")
        alive = next(one for one in self.facilitators if one.is_well)
        self.time_passes()

        async def pay() -> None:
            assert await self.demanded() == alive.address
            assert isinstance(await self.pay(await self.signed(alive.address)), Answer)

        asyncio.run(pay())

    @rule()
    def everything_ends_well(self) -> None:
        """Once all work again, each payment has its answer if it landed, and none if it did not."""

        async def settle() -> None:
            for one in self.facilitators:
                one.moods = {}
                await one.settle_what_was_left()
            self.now += 31.0
            await self.refresh()
            for payment in self.payments:
                reply = await self.pay(payment)
                if payment_key(payment) not in self.failed and isinstance(
                    reply, Refused
                ):
                    reply = await self.pay(payment)
                assert isinstance(reply, Answer) == self.is_landed(payment), reply

        asyncio.run(settle())

    # --- what must hold

    def is_landed(self, payment: PaymentPayload) -> bool:
        wanted = message_hash(read_transaction(payment.payload["transaction"]))
        executed = self.world.transport.executed()
        return any(
            message_hash(sent) == wanted
            and self.world.transport._landed[signature].err is None
            for signature, sent in executed.items()
        )

    @invariant()
    def a_payment_is_shown_only_to_those_who_sign_for_it(self) -> None:
        for one in self.facilitators:
            assert one.shown <= {one.address}

    @invariant()
    def one_payment_runs_the_tool_once(self) -> None:
        assert all(count == 1 for count in self.runs.values()), self.runs

    @invariant()
    def answers_were_paid_and_failures_do_not_land(self) -> None:
        landed = {payment_key(one) for one in self.payments if self.is_landed(one)}
        assert self.answered <= landed, "an answer was given away"
        assert not self.failed & landed, "a payment that was called failed has landed"


def test_no_facilitator_breaks_the_rules() -> None:
    run_machine(FacilitatorMachine)
