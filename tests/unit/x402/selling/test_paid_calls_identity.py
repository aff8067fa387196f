"""One payment pays for one call, and its answer goes to the wallet that paid: what strangers try."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from x402.schemas import PaymentPayload

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply, Refused, Reply
from mcpsol_py.x402.protocol.payment_ids import payment_key
from mcpsol_py.x402.protocol.repeat_proof import with_repeat_proof
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.selling.tool_run import Run
from mcpsol_py.x402.store.channels import PaidChannel, PaidChannels
from tests.support.x402_shop import ID, Shop
from tests.unit.x402.conftest import Storage
from tests.unit.x402.payments import World

REQUEST = {"report": "november"}


@pytest.fixture
def shop(tmp_path: Path, storage: Storage) -> Shop:
    return Shop(tmp_path / "payments.db", storage=storage)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


def code(reply: Reply) -> str:
    match reply:
        case Refused(code=code):
            return code
        case PaymentRequiredReply(reason=reason):
            return reason
        case Answer():
            return "answer"


def with_fields(payment: PaymentPayload, **fields: Any) -> PaymentPayload:
    return payment.model_copy(update={"payload": {**payment.payload, **fields}})


# --- a payment is known only by what its scheme verifies -----------------------------------------


@pytest.mark.parametrize(
    "decoy",
    [
        {"voucher": {"channelId": "x", "maxClaimableAmount": "1"}},
        {"openTransaction": "AA=="},
        {"type": "refund"},
        {"channelConfig": {}},
        {"deposit": "1"},
    ],
)
async def test_a_field_of_another_scheme_is_refused(
    shop: Shop, decoy: dict[str, Any]
) -> None:
    payment = with_fields(shop.payment(None), **decoy)
    reply = await shop.paid_calls().call(shop.offer(), payment, REQUEST, shop.run)
    assert code(reply) == "invalid_payload"
    assert shop.runs == []


@given(
    fields=st.dictionaries(
        st.text(min_size=1).filter(lambda name: name not in {"transaction"}),
        st.text(),
        max_size=3,
    )
)
def test_other_fields_never_change_the_key(
    world: World, fields: dict[str, str]
) -> None:
    payment = world.pay(world.requirements())
    foreign = fields.keys() & {"type", "from", "nonce", "voucher", "deposit", "amount"}
    assume(not foreign)  # refused: see above
    assert payment_key(with_fields(payment, **fields)) == payment_key(payment)


def test_the_key_of_upto_is_that_of_its_own_transaction(world: World) -> None:
    payment = world.pay(world.requirements())
    text = payment.payload["transaction"]
    upto = payment.model_copy(
        update={
            "accepted": payment.accepted.model_copy(update={"scheme": "upto"}),
            "payload": {"openTransaction": text},
        }
    )
    assert payment_key(upto) == payment_key(payment)
    with_decoy = with_fields(
        upto, transaction=world.pay(world.requirements()).payload["transaction"]
    )
    with pytest.raises(PaymentError, match="invalid_payload|another scheme"):
        payment_key(with_decoy)


def test_an_unknown_scheme_has_no_key(world: World) -> None:
    payment = world.pay(world.requirements())
    accepted = payment.accepted.model_copy(update={"scheme": "barter"})
    with pytest.raises(PaymentError) as caught:
        payment_key(payment.model_copy(update={"accepted": accepted}))
    assert caught.value.code == "unsupported_scheme"


async def test_parallel_requests_with_one_payment_run_the_tool_once(shop: Shop) -> None:
    payment, calls = shop.payment(None), shop.paid_calls()
    disguised = [with_fields(payment, **{f"note{n}": str(n)}) for n in range(6)]
    replies = await asyncio.gather(
        *(
            calls.call(shop.offer(), p, {"q": n}, shop.run)
            for n, p in enumerate(disguised)
        )
    )
    assert sorted(map(code, replies)) == ["answer", *["payment_id_conflict"] * 5]
    assert (len(shop.runs), shop.paid) == (1, 10_000)


# --- a stored answer goes to the wallet that paid ------------------------------------------------


async def sold(shop: Shop, payment: PaymentPayload) -> Answer:
    reply = await shop.paid_calls().call(shop.offer(), payment, REQUEST, shop.run)
    assert isinstance(reply, Answer)
    return reply


async def ask(shop: Shop, payment: PaymentPayload) -> Reply:
    """Ask as a client that adds nothing of its own."""
    return await PaidCalls.call(
        shop.paid_calls(), shop.offer(), payment, REQUEST, shop.run
    )


async def test_the_bytes_on_chain_get_nothing(shop: Shop) -> None:
    answer = await sold(shop, shop.payment(None))
    assert answer.receipt is not None
    transport = shop.world.chain.transport
    assert isinstance(transport, SvmTransport)
    landed = transport.executed()[Signature.from_string(answer.receipt.transaction)]
    wire = base64.b64encode(bytes(landed)).decode()
    stolen = PaymentPayload(
        payload={"transaction": wire}, accepted=shop.offer().accepts[0]
    )
    assert code(await ask(shop, stolen)) == "proof_required"


async def test_a_payment_id_gets_nothing(shop: Shop) -> None:
    await sold(shop, shop.payment(ID))
    message = MessageV0.try_compile(Keypair().pubkey(), [], [], Hash.default())
    empty = base64.b64encode(bytes(VersionedTransaction.populate(message, []))).decode()
    forged = PaymentPayload(
        payload={"transaction": empty},
        accepted=shop.offer().accepts[0],
        extensions=shop.payment(ID).extensions,
    )
    assert code(await ask(shop, forged)) == "proof_required"


async def test_a_proof_of_another_wallet_gets_nothing(shop: Shop) -> None:
    payment = shop.payment(ID)
    await sold(shop, payment)
    reply = await ask(shop, with_repeat_proof(payment, Keypair(), DEVNET))  # type: ignore[arg-type]
    assert code(reply) == "proof_required"
    assert isinstance(reply, Refused)
    assert "another wallet" in reply.message


async def test_a_proof_for_another_call_gets_nothing(shop: Shop) -> None:
    payment, other = shop.payment(ID), shop.payment("pay_another_call_0001")
    await sold(shop, payment)
    proved = with_repeat_proof(other, shop.world.payer, DEVNET)
    assert isinstance(proved, PaymentPayload)
    extensions = {
        **(payment.extensions or {}),
        "repeat-proof": (proved.extensions or {})["repeat-proof"],
    }
    reply = await ask(shop, payment.model_copy(update={"extensions": extensions}))
    assert code(reply) == "proof_required"


async def test_the_payer_gets_its_answer_again(shop: Shop) -> None:
    payment = shop.payment(ID)
    first = await sold(shop, payment)
    proved = with_repeat_proof(payment, shop.world.payer, DEVNET)
    assert isinstance(proved, PaymentPayload)
    again = await ask(shop, proved)
    assert isinstance(again, Answer)
    assert again.repeated
    assert again.result == first.result
    assert (len(shop.runs), shop.paid) == (1, 10_000)


# --- a settlement belongs to one call, also across merchants -------------------------------------


@pytest.mark.parametrize("broadcasts", [False, True])
async def test_two_merchants_with_one_payee_sell_one_payment_once(
    shop: Shop, broadcasts: bool
) -> None:
    payment, offer = shop.payment(None), shop.offer(broadcasts=broadcasts)
    replies = await asyncio.gather(
        *(
            shop.paid_calls(tenant=tenant).call(offer, payment, REQUEST, shop.run)
            for tenant in ("one", "two")
        )
    )
    assert sorted(map(code, replies)) == ["answer", "payment_id_conflict"]
    assert (len(shop.runs), shop.paid) == (1, 10_000)


async def test_a_call_that_was_left_takes_no_settlement_of_another_merchant(
    shop: Shop,
) -> None:
    payment, started = shop.payment(None), asyncio.Event()

    async def hangs(run: Run) -> tuple[dict[str, Any], bool]:
        started.set()
        await asyncio.sleep(30)
        raise AssertionError

    left = asyncio.create_task(
        shop.paid_calls(tenant="one").call(shop.offer(), payment, REQUEST, hangs)
    )
    await started.wait()
    other = await shop.paid_calls(tenant="two").call(
        shop.offer(), payment, REQUEST, shop.run
    )
    assert code(other) == "payment_id_conflict"
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    # Nothing was charged for the call that was left, so the payment is free again.
    assert code(
        await shop.paid_calls(tenant="two").call(shop.offer(), payment, {}, shop.run)
    ) == ("answer")
    assert (len(shop.runs), shop.paid) == (1, 10_000)


def channel(name: str) -> PaidChannel:
    return PaidChannel(
        channel_id=name,
        network=DEVNET,
        fee_payer="f",
        payer="p",
        signer="p",
        pay_to="t",
        asset="a",
        token_program="k",
        receiver_authorizer="r",
        withdraw_delay=3600,
        salt="1",
        open_slot=1,
    )


def test_a_channel_pays_one_merchant(storage: Storage) -> None:
    database = storage.open()
    one, two = PaidChannels(database, "one"), PaidChannels(database, "two")
    one.begin(channel("c1"))
    assert one.begin(channel("c1")).channel_id == "c1"
    with pytest.raises(PaymentError) as caught:
        two.begin(channel("c1"))
    assert caught.value.code == "CHANNEL_TAKEN"


def test_a_channel_that_never_opened_is_free_again(storage: Storage) -> None:
    database = storage.open()
    one, two = PaidChannels(database, "one"), PaidChannels(database, "two")
    one.begin(channel("c1"))
    assert one.hold("c1", "call", 5, 5, lease_ms=1000, extra_deposit=5) is not None
    one.let_go("c1", "call")
    assert two.begin(channel("c1")).channel_id == "c1"
