"""Exact payments, and the transactions that a facilitator must refuse."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction
from x402.schemas import PaymentPayload, PaymentRequirements

from mcpsol_py.x402.exact.transaction import (
    LIGHTHOUSE,
    PaymentTerms,
    associated_token_address,
    compute_unit_limit,
    compute_unit_price,
    memo,
    transfer_checked,
)
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, World, keypair

PREFIX = "invalid_exact_svm_payload"


def terms(world: World, **changes: Any) -> PaymentTerms:
    base: dict[str, Any] = {
        "payer": world.payer.pubkey(),
        "pay_to": world.payee.pubkey(),
        "mint": USDC,
        "decimals": 6,
        "token_program": TOKEN_PROGRAM,
        "amount": 10_000,
        "fee_payer": world.sponsor.pubkey(),
    }
    return PaymentTerms(**{**base, **changes})


def payload_of(
    world: World,
    instructions: Sequence[Instruction],
    requirements: PaymentRequirements,
    *,
    fee_payer: Pubkey | None = None,
    signers: Sequence[Keypair] = (),
    legacy: bool = False,
) -> PaymentPayload:
    """A payment of any instructions, signed by the payer (and *signers*)."""
    payer = fee_payer or world.sponsor.pubkey()
    blockhash = world.svm.latest_blockhash()
    message: Message | MessageV0
    if legacy:
        message = Message.new_with_blockhash(list(instructions), payer, blockhash)
    else:
        message = MessageV0.try_compile(payer, list(instructions), [], blockhash)
    signed = {
        k.pubkey(): k.sign_message(to_bytes_versioned(message))
        for k in (world.payer, *signers)
    }
    slots = [
        signed.get(k, Signature.default())
        for k in message.account_keys[: message.header.num_required_signatures]
    ]
    wire = base64.b64encode(
        bytes(VersionedTransaction.populate(message, slots))
    ).decode()
    return PaymentPayload(payload={"transaction": wire}, accepted=requirements)


def normal(world: World, **changes: Any) -> list[Instruction]:
    t = terms(world, **changes)
    return [
        compute_unit_limit(20_000),
        compute_unit_price(1),
        transfer_checked(t),
        memo(t.memo),
    ]


def refusals(world: World) -> dict[str, tuple[str, PaymentPayload]]:
    """name -> (reason, payment). Each differs from a good payment in one thing."""
    r, other = world.requirements(), keypair(7)
    good = normal(world)
    stranger = Instruction(
        Pubkey.from_string("11111111111111111111111111111111"), b"x", []
    )
    guard = Instruction(LIGHTHOUSE, b"\0", [])
    forged = payload_of(world, good, r)
    wire = bytearray(base64.b64decode(forged.payload["transaction"]))
    wire[70] ^= (
        1  # inside the payer's signature (count byte, 64 bytes of slot 0, then slot 1)
    )
    touching = Instruction(
        LIGHTHOUSE, b"\0", [AccountMeta(world.sponsor.pubkey(), True, True)]
    )
    robbing = transfer_checked(terms(world, payer=world.sponsor.pubkey()))
    cosigned = Instruction(
        LIGHTHOUSE, b"\0", [AccountMeta(other.pubkey(), True, False)]
    )
    wrong_destination = transfer_checked(terms(world))
    accounts = list(wrong_destination.accounts)
    accounts[2] = AccountMeta(
        associated_token_address(other.pubkey(), USDC, TOKEN_PROGRAM), False, True
    )
    elsewhere = Instruction(
        wrong_destination.program_id, bytes(wrong_destination.data), accounts
    )

    def bad(
        code: str, *instructions: Instruction, **kw: Any
    ) -> tuple[str, PaymentPayload]:
        return (
            code if code.startswith(("fee_payer", "invalid")) else f"{PREFIX}_{code}"
        ), payload_of(world, instructions, r, **kw)

    return {
        "no transaction": (PREFIX, PaymentPayload(payload={}, accepted=r)),
        "not base64": (
            f"{PREFIX}_transaction_could_not_be_decoded",
            PaymentPayload(payload={"transaction": "?"}, accepted=r),
        ),
        "left-over bytes": (
            f"{PREFIX}_transaction_could_not_be_decoded",
            PaymentPayload(
                payload={"transaction": base64.b64encode(bytes(wire) + b"\0").decode()},
                accepted=r,
            ),
        ),
        "forged signature": (
            f"{PREFIX}_signature_invalid",
            PaymentPayload(
                payload={"transaction": base64.b64encode(bytes(wire)).decode()},
                accepted=r,
            ),
        ),
        "another fee payer": bad(
            "invalid_exact_svm_fee_payer_mismatch",
            *good,
            fee_payer=world.payer.pubkey(),
        ),
        "two instructions": bad("transaction_instructions_length", *good[:2]),
        "eight instructions": bad(
            "transaction_instructions_length", *good, *[guard] * 4
        ),
        "no compute limit": bad(
            "transaction_instructions_compute_limit_instruction", guard, *good[1:]
        ),
        "huge compute limit": bad(
            "transaction_instructions_compute_limit_instruction",
            compute_unit_limit(1_400_001),
            *good[1:],
        ),
        "no compute price": bad(
            "transaction_instructions_compute_price_instruction",
            good[0],
            guard,
            *good[2:],
        ),
        "price too high": bad(
            "transaction_instructions_compute_price_instruction_too_high",
            good[0],
            compute_unit_price(5_000_001),
            *good[2:],
        ),
        "transfer not third": bad(
            "no_transfer_instruction", good[0], good[1], good[3], good[2]
        ),
        "second transfer": bad("unknown_fourth_instruction", *good[:3], good[2]),
        "stranger at the end": bad("unknown_fifth_instruction", *good, stranger),
        "stranger seventh": bad(
            "unknown_seventh_instruction", *good, guard, guard, stranger
        ),
        "sponsor in an instruction": bad(
            "transaction_fee_payer_transferring_funds", *good, touching
        ),
        "sponsor's own tokens": bad(
            "transaction_fee_payer_transferring_funds",
            good[0],
            good[1],
            robbing,
            good[3],
        ),
        "a third signer": bad("excessive_signers", *good, cosigned, signers=[other]),
        "underpaid": bad("amount_insufficient", *normal(world, amount=9_999)),
        "overpaid": bad("amount_mismatch", *normal(world, amount=10_001)),
        "another payee": bad(
            "recipient_mismatch", good[0], good[1], elsewhere, good[3]
        ),
        "another mint": bad("mint_mismatch", *normal(world, mint=other.pubkey())),
    }
