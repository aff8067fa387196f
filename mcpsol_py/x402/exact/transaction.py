"""Build the transaction of an `exact` payment.

Its layout is fixed by the x402 specification of `exact` on Solana: a v0 message without lookup
tables, whose fee payer is `extra.feePayer`, with the instructions SetComputeUnitLimit,
SetComputeUnitPrice, TransferChecked, Memo.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from dataclasses import dataclass

from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.addresses import COMPUTE_BUDGET
from mcpsol_py.solana.addresses import LIGHTHOUSE_PROGRAM as LIGHTHOUSE
from mcpsol_py.solana.addresses import MEMO_PROGRAM as MEMO
from mcpsol_py.solana.compute_budget import compute_unit_limit, compute_unit_price
from mcpsol_py.solana.pda import associated_token as associated_token_address
from mcpsol_py.x402.protocol.payment_transaction import message_hash, read_transaction

__all__ = [
    "COMPUTE_BUDGET",
    "LIGHTHOUSE",
    "MEMO",
    "PaymentTerms",
    "associated_token_address",
    "build_message",
    "compute_unit_limit",
    "compute_unit_price",
    "memo",
    "message_hash",
    "read_transaction",
    "transfer_checked",
    "wire_base64",
]

DEFAULT_COMPUTE_UNITS = 20_000
MAX_MEMO_BYTES = 256


@dataclass(frozen=True, slots=True)
class PaymentTerms:
    """A transfer of `amount` base units of `mint` from the ATA of `payer` to the ATA of `pay_to`.

    `source`: pay from this token account instead; `payer` must be its delegate (SPL Approve).
    """

    payer: Pubkey
    pay_to: Pubkey
    mint: Pubkey
    decimals: int
    token_program: Pubkey
    amount: int
    fee_payer: Pubkey
    memo: str | None = None
    source: Pubkey | None = None


def transfer_checked(terms: PaymentTerms) -> Instruction:
    """TransferChecked from the payer's ATA (or the terms' source) to the payee's: 0c, u64 amount,
    u8 decimals.
    """
    source = terms.source or associated_token_address(
        terms.payer, terms.mint, terms.token_program
    )
    return Instruction(
        terms.token_program,
        b"\x0c" + terms.amount.to_bytes(8, "little") + bytes([terms.decimals]),
        [
            AccountMeta(source, False, True),
            AccountMeta(terms.mint, False, False),
            AccountMeta(
                associated_token_address(terms.pay_to, terms.mint, terms.token_program),
                False,
                True,
            ),
            AccountMeta(terms.payer, True, False),
        ],
    )


def memo(text: str | None) -> Instruction:
    """Return a memo instruction with *text*, or with 16 random bytes in hex so that equal payments
    differ.
    """
    data = text.encode() if text else binascii.hexlify(secrets.token_bytes(16))
    if len(data) > MAX_MEMO_BYTES:
        raise PaymentError(
            "invalid_payment_requirements",
            f"extra.memo has {len(data)} bytes; expected at most {MAX_MEMO_BYTES}",
        )
    return Instruction(MEMO, data, [])


def build_message(
    terms: PaymentTerms,
    blockhash: str,
    *,
    compute_units: int = DEFAULT_COMPUTE_UNITS,
    micro_lamports: int = 1,
) -> MessageV0:
    """Return the message that the payer signs. It creates no account, since a sponsor must never
    pay for one.
    """
    return MessageV0.try_compile(
        terms.fee_payer,
        [
            compute_unit_limit(compute_units),
            compute_unit_price(micro_lamports),
            transfer_checked(terms),
            memo(terms.memo),
        ],
        [],
        Hash.from_string(blockhash),
    )


def wire_base64(message: MessageV0, signatures: dict[Pubkey, Signature]) -> str:
    """Return the transaction with *signatures*. The slots of other signers hold 64 zero bytes."""
    signers = message.account_keys[: message.header.num_required_signatures]
    slots = [signatures.get(key, Signature.default()) for key in signers]
    return base64.b64encode(
        bytes(VersionedTransaction.populate(message, slots))
    ).decode()
