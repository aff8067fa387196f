"""Is this transaction the payment that was asked for? The strict union of what the official SDKs check (X402.md 3.2).

Everything but the chain's own answer: pure, so that one payment costs microseconds. Each refusal carries the protocol's
reason.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.exact.transaction import (
    COMPUTE_BUDGET,
    LIGHTHOUSE,
    MEMO,
    associated_token_address,
    message_hash,
    read_transaction,
)
from mcpsol_py.x402.protocol.networks import TOKEN, TOKEN_2022

__all__ = ["Limits", "VerifiedTransfer", "verify_transfer"]

_TOKENS = {Pubkey.from_string(TOKEN), Pubkey.from_string(TOKEN_2022)}
_ORDINAL = {3: "fourth", 4: "fifth", 5: "sixth"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sponsor accepts: the price in micro-lamports a unit, the compute units, the instructions."""

    micro_lamports: int = 5_000_000
    compute_units: int = 1_400_000
    instructions: tuple[int, int] = (3, 7)


@dataclass(frozen=True, slots=True)
class VerifiedTransfer:
    """A transfer that pays: all that was checked, and `key`, the message's hash."""

    payer: str
    amount: int
    mint: str
    pay_to: str
    destination: str
    fee_payer: str
    key: str
    transaction: VersionedTransaction


def _refuse(code: str, message: str) -> PaymentError:
    return PaymentError(code, message)


def verify_transfer(
    payload: Mapping[str, Any],
    *,
    asset: str,
    amount: str,
    pay_to: str,
    extra: Mapping[str, Any],
    fee_payers: Collection[str],
    limits: Limits = Limits(),
) -> VerifiedTransfer:
    """Checks a payload's transaction against the requirements; raises PaymentError with the protocol's reason.

    Overpaying is refused like underpaying: what is not asked for is nobody's to keep. *fee_payers* are the addresses
    that this facilitator signs for. Checked: the sponsor is ours, pays and stands nowhere else; only sponsor and payer
    sign, and the payer's signature is right; no lookup tables; 3 to 7 instructions; compute limit first, price second
    and within limits, each once; exactly one TransferChecked, of exactly `amount`, of `asset`, to the payee's ATA,
    whose authority is no sponsor; nothing else but Lighthouse guards and memos; the memo asked for, once.
    """
    prefix = "invalid_exact_svm_payload"
    fee_payer = extra.get("feePayer")
    if not isinstance(fee_payer, str) or not fee_payer:
        raise _refuse(f"{prefix}_missing_fee_payer", "the requirements name no extra.feePayer")
    if fee_payer not in fee_payers:
        raise _refuse(
            "fee_payer_not_managed_by_facilitator",
            f"this facilitator does not sign for {fee_payer}",
        )
    transaction = read_transaction(payload.get("transaction"))
    message = transaction.message
    keys = message.account_keys
    if not isinstance(message, (Message, MessageV0)):
        raise _refuse(
            f"{prefix}_transaction_could_not_be_decoded",
            "the message is neither legacy nor version 0",
        )
    if isinstance(message, MessageV0) and message.address_table_lookups:
        raise _refuse(
            f"{prefix}_transaction_could_not_be_decoded",
            "the transaction uses lookup tables; a payment needs none",
        )
    sponsor = Pubkey.from_string(fee_payer)
    if not keys or keys[0] != sponsor:
        raise _refuse(
            "invalid_exact_svm_fee_payer_mismatch", f"the fee payer is not the required {fee_payer}"
        )

    instructions = message.instructions
    low, high = limits.instructions
    if not low <= len(instructions) <= high:
        raise _refuse(
            f"{prefix}_transaction_instructions_length",
            f"{len(instructions)} instructions; {low} to {high} make a payment",
        )
    count = len(keys)
    for ix in instructions:
        if ix.program_id_index >= count or any(i >= count for i in bytes(ix.accounts)):
            raise _refuse(
                f"{prefix}_transaction_could_not_be_decoded",
                "an instruction names an account that is not there",
            )
        if 0 in bytes(ix.accounts) or ix.program_id_index == 0:
            raise _refuse(
                f"{prefix}_transaction_fee_payer_transferring_funds",
                "the sponsor stands among an instruction's accounts",
            )
    units = bytes(instructions[0].data)
    if keys[instructions[0].program_id_index] != COMPUTE_BUDGET or len(units) != 5 or units[0] != 2:
        raise _refuse(
            f"{prefix}_transaction_instructions_compute_limit_instruction",
            "the first instruction must set the compute unit limit",
        )
    if int.from_bytes(units[1:], "little") > limits.compute_units:
        raise _refuse(
            f"{prefix}_transaction_instructions_compute_limit_instruction",
            f"{int.from_bytes(units[1:], 'little'):,} compute units; at most {limits.compute_units:,} are paid for",
        )
    price = bytes(instructions[1].data)
    if keys[instructions[1].program_id_index] != COMPUTE_BUDGET or len(price) != 9 or price[0] != 3:
        raise _refuse(
            f"{prefix}_transaction_instructions_compute_price_instruction",
            "the second instruction must set the compute unit price",
        )
    if int.from_bytes(price[1:], "little") > limits.micro_lamports:
        raise _refuse(
            f"{prefix}_transaction_instructions_compute_price_instruction_too_high",
            f"{int.from_bytes(price[1:], 'little'):,} micro-lamports; at most {limits.micro_lamports:,} are paid",
        )

    transfer = instructions[2]
    data, accounts, program = (
        bytes(transfer.data),
        bytes(transfer.accounts),
        keys[transfer.program_id_index],
    )
    if program not in _TOKENS or len(data) != 10 or data[0] != 12 or len(accounts) < 4:
        raise _refuse(
            f"{prefix}_no_transfer_instruction",
            "the third instruction must be a TransferChecked of Token or Token-2022",
        )
    mint, destination, authority = keys[accounts[1]], keys[accounts[2]], keys[accounts[3]]
    memos: list[bytes] = []
    for index, ix in enumerate(instructions[3:], 3):
        other = keys[ix.program_id_index]
        if other == MEMO:
            memos.append(bytes(ix.data))
        elif other != LIGHTHOUSE:
            code = (
                f"{prefix}_unknown_{_ORDINAL[index]}_instruction"
                if index in _ORDINAL
                else ("invalid_exact_svm_payload_unknown_seventh_instruction")
            )
            raise _refuse(
                code,
                f"instruction {index + 1} is of program {other}; only memos and Lighthouse guards may follow",
            )
    wanted_memo = extra.get("memo")
    if isinstance(wanted_memo, str) and wanted_memo:
        if len(memos) != 1:
            raise _refuse(
                f"{prefix}_memo_count",
                f"{len(memos)} memos; exactly the one asked for must be there",
            )
        if memos[0] != wanted_memo.encode():
            raise _refuse(f"{prefix}_memo_mismatch", "the memo is not the one asked for")

    if str(authority) in fee_payers:
        raise _refuse(
            f"{prefix}_transaction_fee_payer_transferring_funds",
            "the transfer would spend a sponsor's own tokens",
        )
    if str(mint) != asset:
        raise _refuse(f"{prefix}_mint_mismatch", f"the transfer is of {mint}; {asset} is asked for")
    try:
        payee = Pubkey.from_string(pay_to)
    except ValueError as error:
        raise _refuse("invalid_payment_requirements", "payTo is no address") from error
    if destination != associated_token_address(payee, mint, program):
        raise _refuse(
            f"{prefix}_recipient_mismatch",
            f"the transfer does not go to the token account of {pay_to}",
        )
    if not (amount.isascii() and amount.isdigit()):
        raise _refuse("invalid_payment_requirements", "the amount asked for is no whole number")
    paid = int.from_bytes(data[1:9], "little")
    if paid != int(amount):
        code = "amount_insufficient" if paid < int(amount) else "amount_mismatch"
        raise _refuse(
            f"{prefix}_{code}",
            f"the transfer pays {paid:,} base units; exactly {int(amount):,} are asked for",
        )

    _check_signatures(transaction, message, keys, authority)
    return VerifiedTransfer(
        str(authority),
        paid,
        asset,
        pay_to,
        str(destination),
        fee_payer,
        message_hash(transaction),
        transaction,
    )


def _check_signatures(
    transaction: VersionedTransaction,
    message: Message | MessageV0,
    keys: list[Pubkey],
    authority: Pubkey,
) -> None:
    """Only the sponsor (slot 0, still empty or right) and the payer sign, and the payer's signature is right."""
    signers = keys[: message.header.num_required_signatures]
    if len(signers) != 2 or signers[1] != authority:
        raise _refuse(
            "invalid_exact_svm_payload_excessive_signers",
            f"{len(signers)} signers; the sponsor and the payer, who owns the transfer, must be the only two",
        )
    signatures = transaction.signatures
    signed = to_bytes_versioned(message)
    if len(signatures) != 2 or not signatures[1].verify(signers[1], signed):
        raise _refuse(
            "invalid_exact_svm_payload_signature_invalid",
            "the payer's signature does not sign this message",
        )
    if signatures[0] != Signature.default() and not signatures[0].verify(signers[0], signed):
        raise _refuse(
            "invalid_exact_svm_payload_signature_invalid",
            "the sponsor's slot holds a wrong signature",
        )
