"""What goes wrong around a payment, one test a row of the table in docs/x402.md (those that have no test elsewhere)."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import orjson
import pytest
from mcp import Client
from mcp.server import Server
from solders.signature import Signature
from x402 import x402FacilitatorSync, x402ResourceServer
from x402.schemas import PaymentPayload, SettleResponse, VerifyResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.paying import reconcile
from mcpsol_py.x402.chain.payment_chain import SignatureStatus
from mcpsol_py.x402.exact.mechanism import ExactFacilitator, ExactServer
from mcpsol_py.x402.exact.settle import KeypairSponsor
from mcpsol_py.x402.facilitator import (
    LocalFacilitator,
    facilitator_app,
    make_facilitator,
)
from mcpsol_py.x402.protocol.mcp_wire import PAYMENT_META
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused
from mcpsol_py.x402.selling.facilitator_client import (
    MAX_ANSWER,
    FacilitatorDown,
    HttpFacilitator,
)
from mcpsol_py.x402.selling.facilitators import Facilitators
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.payment_processor import witness_of
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.settlements import SqlSettlements
from tests.support.x402_buyers import budget_of, buyer_of, dishonest, payer_of
from tests.support.x402_exact import PREFIX, payload_of
from tests.support.x402_sellers import serve
from tests.support.x402_shop import ID, RepeatedCalls, Shop
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import World, keypair

MEGABYTE = "A" * 1024 * 1024


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


class Through:
    """A facilitator between the server and ours: what it does to answers is the test's."""

    def __init__(
        self,
        shop: Shop,
        *,
        verified: Callable[[VerifyResponse], VerifyResponse] = lambda answer: answer,
        settled: Callable[[SettleResponse], SettleResponse] = lambda answer: answer,
        settles: bool = True,
    ) -> None:
        desk = ExactFacilitator(
            shop.world.chain,
            KeypairSponsor(shop.world.sponsor),
            SqlSettlements(shop.database),
            timeout=0.2,
            poll=0.01,
        )
        core = x402FacilitatorSync()
        core.register([DEVNET], desk)
        self.local, self._verified, self._settled, self._settles = (
            LocalFacilitator(core),
            verified,
            settled,
            settles,
        )
        self.asked = 0

    def get_supported(self) -> Any:
        return self.local.get_supported()

    async def verify(self, payload: Any, requirements: Any) -> VerifyResponse:
        return self._verified(await self.local.verify(payload, requirements))

    async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
        self.asked += 1
        if not self._settles:
            claimed = str(Signature.new_unique())
            return SettleResponse(
                success=True, transaction=claimed, network=DEVNET, payer="x"
            )
        return self._settled(await self.local.settle(payload, requirements))


def calls_over(shop: Shop, endpoint: Any, **options: Any) -> PaidCalls:
    server = x402ResourceServer(endpoint)
    server.register(DEVNET, ExactServer())
    server.initialize()

    def landed(signature: str) -> bool | None:
        return {"landed": True, "failed": False}.get(
            shop.world.chain.status(signature).state
        )

    executions = Executions(shop.database)
    calls = RepeatedCalls(
        server, executions, lease=30.0, wait=0.0, landed=landed, **options
    )
    calls.wallet = shop.world.payer
    return calls


class TestFacilitator:
    async def test_a_facilitator_that_times_out_after_broadcasting(
        self, shop: Shop
    ) -> None:
        """The first try lands and its answer is lost; the second finds a duplicate. Nobody pays twice, nobody is sent
        away: the same payment again gets the answer and the receipt."""
        through = Through(shop)

        class Slow(Through):
            async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
                answer = await through.settle(payload, requirements)
                if through.asked == 1:
                    raise TimeoutError
                return answer

        async def at_once(_: float) -> None: ...

        several = Facilitators([Slow(shop)], sleep=at_once)
        paid_calls, payment = calls_over(shop, several), shop.payment()
        first = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(first, Refused)
        assert (first.code, shop.paid, through.asked) == (
            "settlement_pending",
            10_000,
            2,
        )
        again = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(again, Answer)
        assert again.receipt is not None
        assert again.receipt.success
        assert (len(shop.runs), shop.paid) == (1, 10_000)

    async def test_a_facilitator_that_says_paid_when_it_is_not(
        self, shop: Shop
    ) -> None:
        paid_calls = calls_over(
            shop, Through(shop, settles=False), witness=witness_of(shop.world.chain)
        )
        payment = shop.payment()
        pending = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        # It may still land, so nothing is given out and nothing given up.
        assert isinstance(pending, Refused)
        assert (pending.code, shop.paid) == ("settlement_pending", 0)
        shop.world.svm.expire_blockhash()
        gone = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(gone, PaymentRequiredReply)
        assert gone.reason == "transaction_failed"
        assert "answer" not in str(gone)

    async def test_a_facilitator_that_says_unpaid_when_it_is(self, shop: Shop) -> None:
        def denies(answer: SettleResponse) -> SettleResponse:
            return answer.model_copy(
                update={
                    "success": False,
                    "error_reason": "transaction_failed",
                    "transaction": "",
                }
            )

        paid_calls = calls_over(
            shop, Through(shop, settled=denies), witness=witness_of(shop.world.chain)
        )
        reply = await paid_calls.call(shop.offer(), shop.payment(), {}, shop.run)
        assert isinstance(reply, Answer)
        assert reply.receipt is not None
        status = shop.world.chain.status(reply.receipt.transaction)
        assert (reply.receipt.success, status.state, shop.paid) == (
            True,
            "landed",
            10_000,
        )

    @pytest.mark.parametrize(
        ("reason", "code"),
        [
            ("settlement_failed", "settlement_pending"),
            ("transaction_failed", "settlement_pending"),
            ("internal error", "settlement_pending"),
            ("insufficient_funds", None),
            ("transaction_simulation_failed", None),
        ],
    )
    async def test_a_facilitator_that_refuses_while_it_is_sending(
        self, shop: Shop, reason: str, code: str | None
    ) -> None:
        """Only a reason that tells what is wrong with the payment says that it was not sent."""
        through, seen = Through(shop), list[Any]()

        class Hasty(Through):
            async def settle(self, payload: Any, requirements: Any) -> SettleResponse:
                seen.append((payload, requirements))
                return SettleResponse(
                    success=False, error_reason=reason, transaction="", network=DEVNET
                )

        witness = witness_of(shop.world.chain)
        paid_calls, payment = (
            calls_over(shop, Hasty(shop), witness=witness),
            shop.payment(),
        )
        first = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert getattr(first, "code", None) == code
        if code is None:
            assert isinstance(first, PaymentRequiredReply)
            assert first.reason == reason
            return
        await through.settle(*seen[0])  # it gets there
        again = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(again, Answer)
        assert (len(shop.runs), shop.paid) == (1, 10_000)

    async def test_a_buyer_whose_sellers_facilitator_denies_its_payment(
        self, shop: Shop, tmp_path: Path
    ) -> None:
        """It cannot move more than was signed, and what it denies is found on chain."""

        async def steals(payment: Any) -> dict[str, Any]:
            shop.world.facilitator.settle(
                PaymentPayload.model_validate(payment), shop.world.requirements()
            )
            said = {
                "success": False,
                "errorReason": "transaction_failed",
                "transaction": "",
                "network": DEVNET,
            }
            body = (
                shop.offer()
                .payment_required("no")
                .model_dump(by_alias=True, exclude_none=True, mode="json")
            )
            return {
                "isError": True,
                "content": [],
                "structuredContent": {**body, "x402/payment-response": said},
            }

        budget = budget_of(shop, tmp_path)
        async with Client(dishonest(shop, steals)) as client:
            with pytest.raises(PaymentError) as caught:
                await buyer_of(client, shop, budget).call_tool(
                    "quote", {}, payment_id=ID
                )
        assert caught.value.code == "SETTLEMENT_FAILED"
        assert await reconcile(budget, shop.world.chain) == 1
        assert [r.state for r in budget.history()] == ["spent"]
        assert shop.paid == 10_000

    async def test_a_facilitator_that_says_valid_of_what_is_not(
        self, shop: Shop
    ) -> None:
        """A forged payment that it calls valid runs the tool; it settles nowhere, so the result is withheld."""

        def flatters(answer: VerifyResponse) -> VerifyResponse:
            return answer.model_copy(update={"is_valid": True, "invalid_reason": None})

        payment = shop.payment()
        shop.world.give(shop.world.payer.pubkey(), 0)
        paid_calls = calls_over(shop, Through(shop, verified=flatters))
        reply = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(reply, PaymentRequiredReply)
        assert "answer" not in str(reply)


class TestChain:
    async def test_a_chain_that_drops_the_transaction(
        self, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Taken and never executed: pending until its blockhash is over, then certainly unpaid; the buyer's amount is
        free again, and a new payment pays once."""
        chain = shop.world.chain
        monkeypatch.setattr(chain, "send", lambda wire: "")
        budget, paid_calls = budget_of(shop, tmp_path), shop.paid_calls()
        payment = shop.payment()
        pending = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(pending, Refused)
        assert pending.code == "settlement_pending"
        monkeypatch.undo()
        # It forgot the bytes, and forgets them again.
        monkeypatch.setattr(chain, "send", lambda wire: "")
        shop.world.svm.expire_blockhash()
        gone = await paid_calls.call(shop.offer(), payment, {}, shop.run)
        assert isinstance(gone, PaymentRequiredReply)
        assert gone.reason == "transaction_failed"
        monkeypatch.undo()
        async with Client(serve(shop)) as client:
            bought = await Buyer(client, payer_of(shop, budget)).call_tool("quote", {})
        assert bought.receipt is not None
        assert shop.paid == 10_000


class TestPayments:
    @pytest.mark.parametrize(
        "what", ["replayed", "altered", "expired", "underpaid", "overpaid", "elsewhere"]
    )
    async def test_payments_that_do_not_pay_run_nothing(
        self, shop: Shop, what: str
    ) -> None:
        world, offer = shop.world, shop.offer()
        payment, expected = shop.payment(), "?"
        if what == "replayed":
            assert (
                await Through(shop).settle(payment, world.requirements())
            ).success  # for somebody else's call
            expected = "duplicate_settlement"
        elif what == "altered":
            wire = bytearray(base64.b64decode(payment.payload["transaction"]))
            wire[-40] ^= 1  # within the message, which the payer's signature covers
            payment.payload = {"transaction": base64.b64encode(bytes(wire)).decode()}
            expected = PREFIX
        elif what == "expired":
            world.svm.expire_blockhash()
            expected = "transaction_simulation_failed"
        elif what in ("underpaid", "overpaid"):
            other = world.pay(
                world.requirements(9_999 if what == "underpaid" else 10_001)
            )
            payment.payload = other.payload
            expected = f"{PREFIX}_amount_{'insufficient' if what == 'underpaid' else 'mismatch'}"
        else:
            terms = world.requirements().model_copy(
                update={"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}
            )
            payment.accepted = terms
            expected = "no_matching_requirements"
        paid = shop.paid
        reply = await shop.paid_calls().call(offer, payment, {}, shop.run)
        assert isinstance(reply, PaymentRequiredReply)
        assert reply.reason.startswith(expected)
        assert (shop.runs, shop.paid) == ([], paid)

    @pytest.mark.parametrize("what", ["mint", "payee"])
    async def test_another_mint_or_payee_in_the_terms_or_behind_them(
        self, shop: Shop, what: str
    ) -> None:
        world = shop.world
        other = str(keypair(9).pubkey())
        changed = {"asset": other} if what == "mint" else {"pay_to": other}
        openly = shop.payment()
        openly.accepted = openly.accepted.model_copy(update=changed)
        hidden = shop.payment()
        if what == "payee":
            world.give(keypair(9).pubkey(), 0)
            terms = world.requirements().model_copy(update=changed)
            hidden.payload = world.pay(terms).payload
        else:
            from tests.support.x402_exact import normal

            hidden.payload = payload_of(
                world, normal(world, mint=keypair(9).pubkey()), world.requirements()
            ).payload
        said = [
            await shop.paid_calls().call(shop.offer(), p, {}, shop.run)
            for p in (openly, hidden)
        ]
        reasons = [r.reason for r in said if isinstance(r, PaymentRequiredReply)]
        wanted = "mint_mismatch" if what == "mint" else "recipient_mismatch"
        assert reasons == ["no_matching_requirements", f"{PREFIX}_{wanted}"]
        assert (shop.runs, shop.paid) == ([], 0)


class TestMegabytes:
    """A megabyte where a few hundred bytes are expected: refused early, and nothing of it is stored or echoed."""

    @pytest.mark.parametrize("form", ["object", "text", "transaction", "extension"])
    async def test_in_a_request(self, shop: Shop, form: str) -> None:
        payment: Any = shop.payment().model_dump(
            by_alias=True, exclude_none=True, mode="json"
        )
        if form == "object":
            payment["payload"]["more"] = MEGABYTE
        elif form == "transaction":
            payment["payload"]["transaction"] = MEGABYTE
        elif form == "extension":
            payment["extensions"] = {"payment-identifier": {"info": {"id": MEGABYTE}}}
        else:
            payment = MEGABYTE
        meta: Any = {PAYMENT_META: payment}
        async with Client(serve(shop)) as client:
            result = await client.call_tool("quote", {}, meta=meta)
        assert result.is_error
        assert len(str(result)) < 20_000
        assert (shop.runs, shop.paid, Executions(shop.database).history()) == (
            [],
            0,
            [],
        )

    async def test_in_a_demand(self, shop: Shop, tmp_path: Path) -> None:
        """The buyer signs nothing for terms of that size, whichever field they fill."""
        for change in ({"memo": MEGABYTE}, {"feePayer": MEGABYTE}):
            terms = shop.world.requirements(**change)  # type: ignore[arg-type]  # extra fields by name

            async def call_tool(
                ctx: Any, params: Any, terms: Any = terms
            ) -> types.CallToolResult:
                required = (
                    shop.offer()
                    .payment_required("pay")
                    .model_copy(update={"accepts": [terms]})
                )
                body = required.model_dump(
                    by_alias=True, exclude_none=True, mode="json"
                )
                return types.CallToolResult(
                    content=[], structured_content=body, is_error=True
                )

            budget = budget_of(shop, tmp_path)
            async with Client(
                Server("shop", on_list_tools=_no_tools, on_call_tool=call_tool)
            ) as client:
                with pytest.raises(PaymentError) as caught:
                    await buyer_of(client, shop, budget).call_tool("quote", {})
            assert caught.value.code == "invalid_payment_requirements"
            assert len(str(caught.value)) < 1_000
            assert all(r.state == "released" for r in budget.history())

    async def test_to_and_from_a_facilitator(self, shop: Shop) -> None:
        world = shop.world
        core = make_facilitator(
            world.chain, KeypairSponsor(world.sponsor), SqlSettlements(shop.database)
        )
        transport = httpx.ASGITransport(facilitator_app(core))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://f"
        ) as client:
            answer = await client.post(
                "/verify", content=b'{"paymentPayload": "' + MEGABYTE.encode() + b'"}'
            )
        assert answer.status_code == 413

        def endless(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, content=b" " * (MAX_ANSWER + 1))

        chatty = HttpFacilitator("http://f", transport=httpx.MockTransport(endless))
        with pytest.raises(FacilitatorDown, match="more than"):
            await chatty.settle(shop.payment(), world.requirements())
        await chatty.aclose()

    async def test_in_a_voucher(self, tmp_path: Path, shop: Shop) -> None:
        world = ChannelWorld()
        batch = BatchShop(world, shop.database)
        terms = batch.terms()
        payload = batch_client(world).create_payment_payload(terms)
        payload["voucher"]["signature"] = MEGABYTE
        verified = await batch.core.verify_payment(
            PaymentPayload(payload=payload, accepted=terms), terms
        )
        assert not verified.is_valid
        assert len(verified.invalid_message or "") < 1_000


async def _no_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    return types.ListToolsResult(
        tools=[types.Tool(name="quote", input_schema={"type": "object"})]
    )


class TestClocks:
    """Five minutes apart, either way."""

    @pytest.mark.parametrize("off", [-300, 300])
    def test_a_transfer_knows_no_clock(
        self, off: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import time

        world = World()
        payment = world.pay(world.requirements())
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + off)
        assert world.facilitator.settle(payment, world.requirements()).success

    @pytest.mark.parametrize(
        ("off", "reason"), [(-300, "payload_expired"), (300, "payload_not_yet_active")]
    )
    def test_a_ceiling_is_refused_before_it_is_escrowed(
        self, off: int, reason: str
    ) -> None:
        world = ChannelWorld()
        ahead = ChannelWorld.__new__(ChannelWorld)
        ahead.__dict__.update(world.__dict__, now=world.now + off)
        payment = ahead.authorize(world.ceiling())
        refused = world.upto().settle(payment, payment.accepted)
        assert refused.error_reason == f"invalid_upto_svm_{reason}"
        assert world.held == (world.balance, 0)

    async def test_vouchers_know_no_clock_and_closes_fail_closed(
        self, tmp_path: Path, shop: Shop
    ) -> None:
        world = ChannelWorld()
        batch = BatchShop(world, shop.database)
        batch.scheme._clock = lambda: world.clock() + 300.0
        from tests.support.x402_channels import Buyer as Channels
        from tests.support.x402_channels import refund

        buyer = Channels(batch, batch_client(world))
        for _ in range(3):
            await buyer.pay()
        refused = await refund(buyer, batch)
        assert (
            refused.error_reason == "invalid_batch_settlement_svm_close_authorization"
        )
        batch.scheme._clock = world.clock
        # What was held for the refund that failed is free again.
        assert (await refund(buyer, batch)).success


async def test_a_price_raised_again_and_again_is_paid_at_the_first_price_or_not_at_all(
    shop: Shop, tmp_path: Path
) -> None:
    """Each answer asks for ten times more; the buyer signs one payment, of the price it was first told."""
    price = [10_000]
    seen: list[Any] = []

    async def call_tool(
        ctx: Any, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        seen.append(dict(params.meta or {}).get(PAYMENT_META))
        required = shop.offer(terms={"amount": price[0]}).payment_required("more")
        price[0] *= 10
        body = required.model_dump(by_alias=True, exclude_none=True, mode="json")
        text = types.TextContent(type="text", text=orjson.dumps(body).decode())
        return types.CallToolResult(
            content=[text], structured_content=body, is_error=True
        )

    budget = budget_of(shop, tmp_path)
    async with Client(
        Server("shop", on_list_tools=_no_tools, on_call_tool=call_tool)
    ) as client:
        buyer = buyer_of(client, shop, budget)
        for _ in range(2):
            with pytest.raises(PaymentError) as caught:
                await buyer.call_tool("quote", {}, payment_id=ID)
            assert caught.value.code == "PAYMENT_REJECTED"
    payments = {str(p["payload"]) for p in seen if p is not None}
    assert len(payments) == 1
    assert [r.amount for r in budget.history()] == [10_000]


async def test_states_of_a_status_that_never_comes(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node answers, and never says how it ended: pending, for as long as its blockhash lives."""
    monkeypatch.setattr(
        shop.world.chain, "status", lambda signature: SignatureStatus("unknown")
    )
    replies = []
    for _ in range(2):
        replies.append(
            await shop.paid_calls().call(shop.offer(), shop.payment(), {}, shop.run)
        )
        await asyncio.sleep(0.06)
    assert all(
        isinstance(r, Refused) and r.code == "settlement_pending" for r in replies
    )
    assert len(shop.runs) == 1
