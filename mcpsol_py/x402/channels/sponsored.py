"""Transactions that a payer makes and a sponsor pays for: what must hold before the sponsor signs.

The rules are those of scheme_upto_svm 5 and scheme_batch_settlement_svm 5 ("acceptance policy"). All of it is read from
the bytes alone: a simulation says nothing of what else a signature would allow.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from solders.hash import Hash
from solders.instruction import CompiledInstruction, Instruction
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.channels.voucher import Signer
from mcpsol_py.x402.exact.transaction import (
    COMPUTE_BUDGET,
    LIGHTHOUSE,
    MEMO,
    compute_unit_limit,
    compute_unit_price,
    memo,
    message_hash,
    read_transaction,
    wire_base64,
)

__all__ = ["Caps", "SponsoredTransaction", "build_setup", "read_sponsored"]

MAX_TRANSACTION_BYTES = 1232


@dataclass(frozen=True, slots=True)
class Caps:
    """What a sponsor pays for at most. The schemes' own ceilings are these; a sponsor may say less."""

    compute_units: int = 400_000
    micro_lamports: int = 5_000_000


@dataclass(frozen=True, slots=True)
class SponsoredTransaction:
    """One that may be signed. `data`: the program instruction's bytes behind its discriminator; `key`: the message's
    hash."""

    transaction: VersionedTransaction
    payer: str
    fee_payer: str
    key: str
    data: bytes
    memos: tuple[bytes, ...]


def build_setup(
    instruction: Instruction,
    payer: Signer,
    sponsor: Pubkey,
    blockhash: str,
    *,
    units: int,
    note: str | None,
    binding: str | None = None,
    micro_lamports: int = 1,
) -> str:
    """The base64 of a version 0 transaction around *instruction*, signed by the payer, paid by *sponsor*.

    *note* is the seller's memo, None for a random one, which makes equal openings different transactions. Raises
    PaymentError when it does not fit a packet.
    """
    instructions = [
        compute_unit_limit(units),
        compute_unit_price(micro_lamports),
        instruction,
        memo(note),
    ]
    if binding is not None:
        instructions.append(Instruction(MEMO, binding.encode(), []))
    message = MessageV0.try_compile(sponsor, instructions, [], Hash.from_string(blockhash))
    wire = wire_base64(message, {payer.pubkey(): payer.sign_message(to_bytes_versioned(message))})
    size = len(base64.b64decode(wire))
    if size > MAX_TRANSACTION_BYTES:
        raise PaymentError(
            "invalid_payment_requirements",
            f"the transaction takes {size:,} bytes with this memo; {MAX_TRANSACTION_BYTES:,} fit",
        )
    return wire


def random_salt() -> int:
    """A salt that no other channel of the same parties and slot has."""
    return secrets.randbits(64)


def read_sponsored(
    text: object,
    *,
    code: str,
    program_id: Pubkey,
    discriminator: int,
    accounts: Sequence[tuple[Pubkey, bool, bool]],
    payer: Pubkey,
    fee_payer: Pubkey,
    note: str | None,
    binding: str | None = None,
    note_required: bool = False,
    caps: Caps = Caps(),
) -> SponsoredTransaction:
    """The transaction if it does this one thing and nothing else. Raises PaymentError(*code*).

    *accounts* are the instruction's, (key, signs, is written), exactly and in order. *note*: the memo that must be
    there once; *binding*: one more memo that must be there once; *note_required*: some memo must be there besides it.
    """
    transaction = _decoded(text, code)
    message = transaction.message
    keys = message.account_keys
    if not isinstance(message, (Message, MessageV0)):
        raise PaymentError(code, "the message is neither legacy nor version 0")
    if isinstance(message, MessageV0) and message.address_table_lookups:
        raise PaymentError(
            code, "the transaction uses lookup tables: what it does must stand in it"
        )
    _check_signers(transaction, message, keys, payer, fee_payer, code)
    instructions = list(message.instructions)
    count = len(keys)
    for ix in instructions:
        if ix.program_id_index >= count or any(i >= count for i in bytes(ix.accounts)):
            raise PaymentError(code, "an instruction names an account that is not there")
        if ix.program_id_index == 0:
            raise PaymentError(code, "the sponsor is called as a program")
    at = _check_budget(instructions, keys, caps, code)
    if at >= len(instructions) or keys[instructions[at].program_id_index] != program_id:
        raise PaymentError(code, f"instruction {at + 1} is not of the channel program {program_id}")
    main = instructions[at]
    data, indices = bytes(main.data), bytes(main.accounts)
    if data[:1] != bytes([discriminator]):
        raise PaymentError(
            code, f"instruction {at + 1} is not the channel instruction {discriminator}"
        )
    if [keys[i] for i in indices] != [key for key, _, _ in accounts]:
        raise PaymentError(
            code, f"instruction {at + 1} does not name exactly the accounts that the terms give"
        )
    memos = _check_suffix(instructions[at + 1 :], keys, code)
    written = {key for key, _, writable in accounts if writable} | {fee_payer}
    header = message.header
    signers = header.num_required_signatures
    for index, key in enumerate(keys):
        read_only = (
            header.num_readonly_signed_accounts
            if index < signers
            else header.num_readonly_unsigned_accounts
        )
        if index < (signers if index < signers else count) - read_only and key not in written:
            raise PaymentError(code, f"{key} is writable, and nothing that is asked for writes it")
    _check_memos(memos, note, binding, note_required, code)
    return SponsoredTransaction(
        transaction, str(payer), str(fee_payer), message_hash(transaction), data[1:], tuple(memos)
    )


def _decoded(text: object, code: str) -> VersionedTransaction:
    try:
        transaction = read_transaction(text)
    except PaymentError as error:  # the same reading as for exact, under this scheme's reason
        raise PaymentError(code, str(error)) from error
    if len(bytes(transaction)) > MAX_TRANSACTION_BYTES:
        raise PaymentError(code, f"the transaction is over {MAX_TRANSACTION_BYTES:,} bytes")
    return transaction


def _check_signers(
    transaction: VersionedTransaction,
    message: Message | MessageV0,
    keys: Sequence[Pubkey],
    payer: Pubkey,
    fee_payer: Pubkey,
    code: str,
) -> None:
    if not keys or keys[0] != fee_payer:
        raise PaymentError(code, f"the fee payer is not the required {fee_payer}")
    signers = list(keys[: message.header.num_required_signatures])
    if signers != [fee_payer, payer]:
        raise PaymentError(
            code,
            f"{len(signers)} signers; the sponsor and the payer, who differ, must be the only two",
        )
    signatures, signed = transaction.signatures, to_bytes_versioned(message)
    if len(signatures) != 2 or not signatures[1].verify(payer, signed):
        raise PaymentError(code, "the payer's signature does not sign this message")
    if signatures[0] != Signature.default() and not signatures[0].verify(fee_payer, signed):
        raise PaymentError(code, "the sponsor's slot holds a wrong signature")


def _check_budget(
    instructions: Sequence[CompiledInstruction], keys: Sequence[Pubkey], caps: Caps, code: str
) -> int:
    """How many instructions stand in the compute budget's prefix: at most a limit, then at most a price."""
    at, seen = 0, 0
    for ix in instructions:
        if keys[ix.program_id_index] != COMPUTE_BUDGET:
            break
        data = bytes(ix.data)
        kind = data[0] if data else 0
        if (kind, len(data)) not in ((2, 5), (3, 9)) or kind <= seen:
            raise PaymentError(
                code, "the compute budget is set by one limit and then one price, at most"
            )
        value = int.from_bytes(data[1:], "little")
        most = caps.compute_units if kind == 2 else caps.micro_lamports
        if value > most:
            unit = "compute units" if kind == 2 else "micro-lamports a unit"
            raise PaymentError(code, f"{value:,} {unit}; at most {most:,} are paid for")
        seen, at = kind, at + 1
    return at


def _check_suffix(
    instructions: Sequence[CompiledInstruction], keys: Sequence[Pubkey], code: str
) -> list[bytes]:
    memos: list[bytes] = []
    guards = 0
    for ix in instructions:
        program = keys[ix.program_id_index]
        if 0 in bytes(ix.accounts):
            raise PaymentError(code, "the sponsor stands among the accounts of a memo or guard")
        if program == MEMO:
            memos.append(bytes(ix.data))
        elif program == LIGHTHOUSE:
            guards += 1
        else:
            raise PaymentError(
                code, f"an instruction of {program}; only memos and Lighthouse guards may follow"
            )
    if guards > 3:
        raise PaymentError(code, f"{guards} Lighthouse guards; at most three are taken")
    return memos


def _check_memos(
    memos: list[bytes], note: str | None, binding: str | None, note_required: bool, code: str
) -> None:
    others = list(memos)
    if binding is not None:
        bound = binding.encode()
        if others.count(bound) != 1:
            raise PaymentError(
                code, "the memo that binds the receiver's authorizer must stand there once"
            )
        others.remove(bound)
    if note is not None:
        if others != [note.encode()]:
            raise PaymentError(code, "exactly the memo that was asked for must stand there once")
    elif note_required and (len(others) != 1 or not _is_nonce(others[0])):
        raise PaymentError(code, "one memo of at least 16 random bytes in hex must stand there")
    elif len(others) > 1:
        raise PaymentError(code, f"{len(others)} memos; at most one is taken")


def _is_nonce(data: bytes) -> bool:
    try:
        return len(binascii.unhexlify(data)) >= 16
    except binascii.Error:
        return False
