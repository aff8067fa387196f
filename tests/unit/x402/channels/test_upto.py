"""`upto` on chain: a ceiling is escrowed, what was used is charged, the rest goes back; refusals by their reasons."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from x402.schemas import PaymentPayload, PaymentRequirements

from mcpsol_py.x402.channels.program import ChannelProgram
from mcpsol_py.x402.channels.voucher import sign_voucher
from mcpsol_py.x402.exact.transaction import read_transaction
from tests.unit.x402.channel_payments import PROGRAMS, ChannelWorld
from tests.unit.x402.payments import keypair

SVM = "invalid_upto_svm"


@pytest.fixture(params=sorted(PROGRAMS))
def world(request: pytest.FixtureRequest) -> ChannelWorld:
    return ChannelWorld(program=PROGRAMS[request.param])


def claim(
    world: ChannelWorld,
    payment: PaymentPayload,
    amount: int,
    *,
    signer: Keypair | None = None,
    **changed: Any,
) -> tuple[PaymentPayload, PaymentRequirements]:
    """What the seller sends after the tool ran."""
    channel = Pubkey.from_string(payment.payload["channelId"])
    signature = sign_voucher(
        signer or world.authorizer, channel, amount, payment.payload["expiresAt"]
    )
    inner = {
        **payment.payload,
        "type": "claim",
        "voucherSignature": signature,
        **changed,
    }
    return payment.model_copy(update={"payload": inner}), payment.accepted.model_copy(
        update={"amount": str(amount)}
    )


@pytest.mark.parametrize("used", [0, 1, 1_858, 10_000])
def test_what_was_used_is_charged_and_the_rest_goes_back(
    world: ChannelWorld, used: int
) -> None:
    desk, terms = world.upto(), world.ceiling()
    payment = world.authorize(terms)
    assert desk.verify(payment, terms).is_valid
    deposit = desk.settle(payment, terms)
    assert (deposit.success, deposit.amount) == (True, "10000")
    assert world.held == (world.balance - 10_000, 0)
    done = desk.settle(*claim(world, payment, used))
    assert (done.success, done.amount, done.payer) == (
        True,
        str(used),
        str(world.payer.pubkey()),
    )
    assert done.transaction
    assert world.held == (world.balance - used, used)


def test_each_step_is_done_once(world: ChannelWorld) -> None:
    desk, terms = world.upto(), world.ceiling()
    payment = world.authorize(terms)
    first, second = desk.settle(payment, terms), desk.settle(payment, terms)
    assert (first.success, second.error_reason, second.transaction) == (
        True,
        "duplicate_settlement",
        first.transaction,
    )
    other_desk = world.upto()  # another replica that remembers nothing
    assert (
        other_desk.settle(payment, terms).error_reason == f"{SVM}_channel_already_open"
    )
    paid = desk.settle(*claim(world, payment, 100))
    again = desk.settle(*claim(world, payment, 100))
    more = desk.settle(*claim(world, payment, 5_000))
    assert (paid.success, again.error_reason, more.error_reason) == (
        True,
        *["duplicate_settlement"] * 2,
    )
    assert again.transaction == paid.transaction
    assert (
        world.upto().settle(*claim(world, payment, 5_000)).error_reason
        == f"{SVM}_channel_state"
    )
    assert world.held == (world.balance - 100, 100)


def test_only_the_seller_says_what_was_used(world: ChannelWorld) -> None:
    desk, terms = world.upto(), world.ceiling()
    payment = world.authorize(terms)
    desk.settle(payment, terms)
    over = claim(world, payment, 10_001)
    forged = claim(world, payment, 9_000, signer=world.payer)
    none, requirements = claim(world, payment, 9_000)
    none.payload.pop("voucherSignature")
    lower = (
        claim(world, payment, 10)[0],
        payment.accepted.model_copy(update={"amount": "9000"}),
    )
    refund_by_others = claim(world, payment, 0, signer=world.payer)
    reasons = [
        desk.settle(*c).error_reason
        for c in (over, forged, (none, requirements), lower, refund_by_others)
    ]
    assert reasons == [
        f"{SVM}_payload_settlement_exceeds_amount",
        f"{SVM}_payload_voucher_signature",
        f"{SVM}_payload_missing_voucher",
        f"{SVM}_payload_voucher_signature",
        f"{SVM}_payload_voucher_signature",
    ]
    assert world.held == (world.balance - 10_000, 0)


def test_a_claim_before_its_deposit(world: ChannelWorld) -> None:
    payment = world.authorize(world.ceiling())
    assert (
        world.upto().settle(*claim(world, payment, 5)).error_reason
        == f"{SVM}_channel_state"
    )


def other_wire(payment: PaymentPayload, change: Any) -> str:
    """The opening with one instruction list changed, signed anew by the payer where the message changed."""
    transaction = read_transaction(payment.payload["openTransaction"])
    return str(change(transaction))


def resigned(payer: Keypair, message: Message | MessageV0) -> str:
    keys = message.account_keys[: message.header.num_required_signatures]
    signature = payer.sign_message(to_bytes_versioned(message))
    slots = [
        signature if key == payer.pubkey() else Signature.default() for key in keys
    ]
    return base64.b64encode(
        bytes(VersionedTransaction.populate(message, slots))
    ).decode()


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    # name: (changes of the payload, of the terms, reason)
    "a payer's voucher": ({"voucherSignature": ""}, {}, "payload_unexpected_voucher"),
    "another ceiling": (
        {"maxAmount": "9999", "deposit": "9999"},
        {},
        "payload_amount_mismatch",
    ),
    "a deposit that is not the ceiling": (
        {"deposit": "9999"},
        {},
        "payload_deposit_not_ceiling",
    ),
    "no number": ({"maxAmount": "0x10"}, {}, "payload_amount"),
    "leading zeros": ({"maxAmount": "010000"}, {}, "payload_amount"),
    "another salt": ({"nonce": "7"}, {}, "payload_channel_id"),
    "no salt": ({"nonce": "-1"}, {}, "payload_nonce"),
    "another slot": ({"openSlot": 1}, {}, "payload_channel_id"),
    "no slot": ({"openSlot": None}, {}, "payload_channel_seed"),
    "another channel": (
        {"channelId": str(keypair(9).pubkey())},
        {},
        "payload_channel_id",
    ),
    "another signer": (
        {"authorizedSigner": str(keypair(9).pubkey())},
        {},
        "payload_receiver_authorizer",
    ),
    "no expiry": ({"expiresAt": 0}, {}, "payload_expired"),
    "expired": ({"expiresAt": 1_799_999_999}, {}, "payload_expired"),
    "expires too late": (
        {"expiresAt": 1_800_000_362},
        {},
        "payload_expires_at_mismatch",
    ),
    "not yet": ({"validAfter": 1_800_000_100}, {}, "payload_not_yet_active"),
    "another payer": ({"from": str(keypair(9).pubkey())}, {}, "payload_channel_id"),
    "no transaction": ({"openTransaction": 5}, {}, "payload_open_transaction"),
    "another payee": (
        {},
        {"pay_to": str(keypair(9).pubkey())},
        "payload_open_transaction",
    ),
    "another grace period": ({}, {"withdrawDelay": 901}, "payload_open_transaction"),
    "no grace period": ({}, {"withdrawDelay": 0}, "payment_requirements"),
    "a memo that is not there": ({}, {"memo": "inv-1"}, "payload_open_transaction"),
    "another token program": (
        {},
        {"tokenProgram": str(keypair(9).pubkey())},
        "payment_requirements",
    ),
    "another flow": ({}, {"paymentFlow": "authorization"}, "payment_requirements"),
    "too long": (
        {},
        {"max_timeout_seconds": 3601},
        "payload_channel_lifetime_exceeded",
    ),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_each_fault_is_refused_by_its_reason_and_escrows_nothing(name: str) -> None:
    world = ChannelWorld()
    changed, terms, reason = REFUSED[name]
    asked = world.ceiling()
    fields = {k: v for k, v in terms.items() if k in PaymentRequirements.model_fields}
    extra = {k: v for k, v in terms.items() if k not in fields}
    demanded = asked.model_copy(update={**fields, "extra": {**asked.extra, **extra}})
    payment = world.authorize(asked, **changed)
    verified = world.upto().verify(payment, demanded)
    assert (verified.is_valid, verified.invalid_reason) == (False, f"{SVM}_{reason}")
    settled = world.upto().settle(payment, demanded)
    assert (settled.success, settled.transaction) == (False, "")
    assert world.held == (world.balance, 0)


def test_accounts_that_cannot_be_paid_stop_the_deposit() -> None:
    world = ChannelWorld()
    payment = world.authorize(world.ceiling())
    for owner in (
        world.payer.pubkey(),
        world.payee.pubkey(),
        world.program.treasury_owner,
    ):
        world.put(owner, 20_000, state=2)
        refused = world.upto().settle(payment, payment.accepted)
        assert refused.error_reason == f"{SVM}_settlement_simulation"
        assert "frozen" in (refused.error_message or "")
        world.put(owner, 20_000)
    assert world.upto().settle(payment, payment.accepted).success


def test_programs_are_configured_never_negotiated() -> None:
    """A payment for the other program is refused, whatever a demand says."""
    ours, theirs = ChannelWorld(), ChannelWorld(program=PROGRAMS["audited"])
    terms = ours.ceiling(channelProgram=str(PROGRAMS["audited"].program_id))
    payment = theirs.authorize(terms)
    assert (
        ours.upto().verify(payment, terms).invalid_reason == f"{SVM}_payload_channel_id"
    )


def test_a_program_is_its_address_and_its_treasury() -> None:
    assert (
        ChannelProgram(PROGRAMS["ours"].program_id, PROGRAMS["ours"].treasury_owner)
        == PROGRAMS["ours"]
    )
