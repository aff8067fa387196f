"""Check that a transaction is the payment that was asked for, without asking the chain.

The official SDKs check different things; this module checks the union of them, and takes the
stricter rule if they differ (docs/x402.md has the list). Each refusal carries the protocol's reason
code.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from solders.instruction import CompiledInstruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py._moved import renamed
from mcpsol_py.errors import PaymentError
from mcpsol_py.model.fast_init import quicken
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.solana.compute_budget import MAX_UNITS
from mcpsol_py.solana.fees import total_fee
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.exact.sponsor_fee import FeeLimit, check_fee
from mcpsol_py.x402.exact.transaction import (
    COMPUTE_BUDGET,
    LIGHTHOUSE,
    MEMO,
    associated_token_address,
    read_transaction,
)
from mcpsol_py.x402.protocol.networks import TOKEN, TOKEN_2022
from mcpsol_py.x402.protocol.payment_transaction import signed_hash

__all__ = ["SponsorLimits", "VerifiedTransfer", "verify_transfer"]

_TOKEN_PROGRAMS = {Pubkey.from_string(TOKEN), Pubkey.from_string(TOKEN_2022)}
_MAY_FOLLOW = (MEMO, LIGHTHOUSE)
_TRANSFER_CHECKED = 12
#: The sponsor and the payer sign.
_SIGNATURES = 2
_SIGNATURE_BYTES = 64
_PREFIX = "invalid_exact_svm_payload"
_UNDECODABLE = f"{_PREFIX}_transaction_could_not_be_decoded"
_UNIT_LIMIT = f"{_PREFIX}_transaction_instructions_compute_limit_instruction"
_UNIT_PRICE = f"{_PREFIX}_transaction_instructions_compute_price_instruction"
FEE_TOO_HIGH = f"{_UNIT_PRICE}_too_high"
_SPONSOR_SPENDS = f"{_PREFIX}_transaction_fee_payer_transferring_funds"
_SIGNATURE_INVALID = f"{_PREFIX}_signature_invalid"
#: By index, the protocol's word for an instruction after the transfer; from the seventh on it has
#: one word for all.
_ORDINALS = {3: "fourth", 4: "fifth", 5: "sixth"}

#: A reason code of the protocol and an explanation; None if the check passed.
_Refusal = tuple[str, str] | None


@dataclass(frozen=True, slots=True)
class SponsorLimits:
    """What a sponsor accepts: the highest price in micro-lamports a compute unit, the most compute
    units, the lowest and highest number of instructions, and the highest fee in all.
    """

    micro_lamports: int = 5_000_000
    compute_units: int = MAX_UNITS
    instructions: tuple[int, int] = (3, 7)
    fee: FeeLimit = field(default_factory=FeeLimit)


@dataclass(frozen=True, slots=True)
class VerifiedTransfer:
    """A verified payment. `destination` is the payee's token account, `key` the message's hash, and
    `most_lamports` the highest fee that its sponsor pays. `has_extensions`: it is a Token-2022
    transfer.
    """

    payer: str
    amount: int
    mint: str
    pay_to: str
    destination: str
    fee_payer: str
    key: str
    transaction: VersionedTransaction = field(repr=False)
    most_lamports: int
    has_extensions: bool = False


quicken(VerifiedTransfer)

# The classes below are not frozen: a frozen dataclass takes longer to create, and every payment
# creates three.


@dataclass(slots=True)
class _Asked:
    """The payment requirements that a transaction is checked against."""

    asset: str
    amount: str
    pay_to: str
    memo: str | None
    fee_payer: str
    fee_payers: Collection[str]
    limits: SponsorLimits


@dataclass(slots=True)
class _Envelope:
    """A transaction taken apart."""

    message: Message | MessageV0
    signatures: list[Signature]
    signed: bytes  # what the signatures sign
    keys: list[Pubkey]
    instructions: list[CompiledInstruction]
    programs: list[Pubkey]  # of each instruction
    used: set[int]  # accounts that an instruction uses, by their place in `keys`


@dataclass(slots=True)
class _TransferInstruction:
    """The third instruction, a TransferChecked."""

    token_program: Pubkey
    mint: Pubkey
    destination: Pubkey
    authority: Pubkey
    amount: int


def verify_transfer(
    payload: Mapping[str, Any],
    *,
    asset: str,
    amount: str,
    pay_to: str,
    extra: Mapping[str, Any],
    fee_payers: Collection[str],
    limits: SponsorLimits = SponsorLimits(),
) -> VerifiedTransfer:
    """Check a payload's transaction against the requirements.

    *fee_payers* are the addresses that this facilitator signs for. A payment must be exact: more
    than was asked for is refused like less. The checks are listed in `_ENVELOPE_CHECKS` and
    `_TRANSFER_CHECKS`.

    Raises PaymentError with the protocol's reason.
    """
    memo = extra.get("memo")
    asked = _Asked(
        asset,
        amount,
        pay_to,
        memo if isinstance(memo, str) and memo else None,
        _fee_payer(extra, fee_payers),
        fee_payers,
        limits,
    )
    transaction = read_transaction(payload.get("transaction"))
    envelope = _open(transaction)
    for check in _ENVELOPE_CHECKS:
        if refusal := check(envelope, asked):
            raise PaymentError(*refusal)
    units = _read_unit_limit(envelope, limits.compute_units)
    price = _read_unit_price(envelope, limits.micro_lamports)
    transfer = _read_transfer(envelope)
    for check_transfer in _TRANSFER_CHECKS:
        if refusal := check_transfer(envelope, transfer, asked):
            raise PaymentError(*refusal)
    most_lamports = limits.fee.most(asset, transfer.amount)
    # No later instruction changes the compute budget: only memos and guards follow.
    check_fee(total_fee(_SIGNATURES, units, price), most_lamports, FEE_TOO_HIGH)
    return VerifiedTransfer(
        payer=str(transfer.authority),
        amount=transfer.amount,
        mint=asset,
        pay_to=pay_to,
        destination=str(transfer.destination),
        fee_payer=asked.fee_payer,
        key=signed_hash(envelope.signed),
        transaction=transaction,
        most_lamports=most_lamports,
        has_extensions=transfer.token_program == TOKEN_2022_PROGRAM,
    )


def _fee_payer(extra: Mapping[str, Any], fee_payers: Collection[str]) -> str:
    fee_payer = extra.get("feePayer")
    if not isinstance(fee_payer, str) or not fee_payer:
        raise PaymentError(
            f"{_PREFIX}_missing_fee_payer", "the requirements have no extra.feePayer"
        )
    if fee_payer not in fee_payers:
        raise PaymentError(
            "fee_payer_not_managed_by_facilitator",
            f"this facilitator does not sign for {fee_payer}",
        )
    return fee_payer


def _open(transaction: VersionedTransaction) -> _Envelope:
    message = transaction.message
    if not isinstance(message, (Message, MessageV0)):
        raise PaymentError(_UNDECODABLE, "the message is neither legacy nor version 0")
    signatures, keys = transaction.signatures, message.account_keys
    instructions = message.instructions
    called = [instruction.program_id_index for instruction in instructions]
    used = set(called).union(*[instruction.accounts for instruction in instructions])
    if used and max(used) >= len(keys):
        raise PaymentError(
            _UNDECODABLE,
            "an instruction refers to an account that is not in the message",
        )
    return _Envelope(
        message,
        signatures,
        # After the count of signatures and the signatures. `to_bytes_versioned` takes five times as long.
        bytes(transaction)[1 + _SIGNATURE_BYTES * len(signatures) :],
        keys,
        instructions,
        [keys[place] for place in called],
        used,
    )


# --- the transaction around the transfer ----------------------------------------------------------


def _check_lookup_tables(envelope: _Envelope, asked: _Asked) -> _Refusal:
    message = envelope.message
    if isinstance(message, MessageV0) and message.address_table_lookups:
        return _UNDECODABLE, "the transaction uses lookup tables; a payment needs none"
    return None


def _check_fee_payer(envelope: _Envelope, asked: _Asked) -> _Refusal:
    if not envelope.keys or envelope.keys[0] != Pubkey.from_string(asked.fee_payer):
        return (
            "invalid_exact_svm_fee_payer_mismatch",
            f"the fee payer is not the required {asked.fee_payer}",
        )
    return None


def _check_instruction_count(envelope: _Envelope, asked: _Asked) -> _Refusal:
    low, high = asked.limits.instructions
    count = len(envelope.instructions)
    if not low <= count <= high:
        return (
            f"{_PREFIX}_transaction_instructions_length",
            f"{count} instructions; a payment has {low} to {high}",
        )
    return None


def _check_sponsor_unused(envelope: _Envelope, asked: _Asked) -> _Refusal:
    if 0 in envelope.used:
        return _SPONSOR_SPENDS, "an instruction uses the sponsor's account"
    return None


_ENVELOPE_CHECKS: tuple[Callable[[_Envelope, _Asked], _Refusal], ...] = (
    _check_lookup_tables,
    _check_fee_payer,
    _check_instruction_count,
    _check_sponsor_unused,
)


def _read_unit_limit(envelope: _Envelope, most: int) -> int:
    data = envelope.instructions[0].data
    if envelope.programs[0] != COMPUTE_BUDGET or len(data) != 5 or data[0] != 2:
        raise PaymentError(
            _UNIT_LIMIT, "the first instruction must set the compute unit limit"
        )
    units = int.from_bytes(data[1:], "little")
    if units > most:
        raise PaymentError(
            _UNIT_LIMIT,
            f"{units:,} compute units; the sponsor pays for at most {most:,}",
        )
    return units


def _read_unit_price(envelope: _Envelope, most: int) -> int:
    data = envelope.instructions[1].data
    if envelope.programs[1] != COMPUTE_BUDGET or len(data) != 9 or data[0] != 3:
        raise PaymentError(
            _UNIT_PRICE, "the second instruction must set the compute unit price"
        )
    price = int.from_bytes(data[1:], "little")
    if price > most:
        raise PaymentError(
            FEE_TOO_HIGH,
            f"{price:,} micro-lamports a compute unit; the sponsor pays at most {most:,}",
        )
    return price


# --- the transfer and what follows it -------------------------------------------------------------


def _read_transfer(envelope: _Envelope) -> _TransferInstruction:
    instruction = envelope.instructions[2]
    data, accounts = instruction.data, instruction.accounts
    program = envelope.programs[2]
    is_transfer = (
        program in _TOKEN_PROGRAMS and len(data) == 10 and data[0] == _TRANSFER_CHECKED
    )
    if not is_transfer or len(accounts) < 4:
        raise PaymentError(
            f"{_PREFIX}_no_transfer_instruction",
            "the third instruction must be a TransferChecked of Token or Token-2022",
        )
    keys = envelope.keys
    return _TransferInstruction(
        token_program=program,
        mint=keys[accounts[1]],
        destination=keys[accounts[2]],
        authority=keys[accounts[3]],
        amount=int.from_bytes(data[1:9], "little"),
    )


def _check_other_programs(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    for index in range(3, len(envelope.instructions)):
        program = envelope.programs[index]
        if program not in _MAY_FOLLOW:
            return (
                f"{_PREFIX}_unknown_{_ORDINALS.get(index, 'seventh')}_instruction",
                f"instruction {index + 1} calls {program}; only memos and Lighthouse guards may follow the transfer",
            )
    return None


def _check_memo(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    if asked.memo is None:
        return None
    after = range(3, len(envelope.instructions))
    memos = [
        envelope.instructions[i].data for i in after if envelope.programs[i] == MEMO
    ]
    if len(memos) != 1:
        return (
            f"{_PREFIX}_memo_count",
            f"{len(memos)} memos; expected only the one asked for",
        )
    if memos[0] != asked.memo.encode():
        return f"{_PREFIX}_memo_mismatch", "the memo is not the one asked for"
    return None


def _check_authority(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    if str(transfer.authority) in asked.fee_payers:
        return _SPONSOR_SPENDS, "the transfer would spend a sponsor's own tokens"
    return None


def _check_mint(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    if str(transfer.mint) != asked.asset:
        return (
            f"{_PREFIX}_mint_mismatch",
            f"the transfer is of {transfer.mint}; {asked.asset} was asked for",
        )
    return None


def _check_destination(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    try:
        payee = Pubkey.from_string(asked.pay_to)
    except ValueError:
        return "invalid_payment_requirements", "payTo is not an address"
    wanted = associated_token_address(payee, transfer.mint, transfer.token_program)
    if transfer.destination != wanted:
        return (
            f"{_PREFIX}_recipient_mismatch",
            f"the transfer does not go to the token account of {asked.pay_to}",
        )
    return None


def _check_amount(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    wanted = base_units(asked.amount)
    if wanted is None:
        return (
            "invalid_payment_requirements",
            "the amount asked for is not a whole number",
        )
    if transfer.amount == wanted:
        return None
    code = "amount_insufficient" if transfer.amount < wanted else "amount_mismatch"
    return (
        f"{_PREFIX}_{code}",
        f"the transfer pays {transfer.amount:,} base units; exactly {wanted:,} were asked for",
    )


def _check_signers(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    signers = envelope.keys[: envelope.message.header.num_required_signatures]
    if len(signers) != _SIGNATURES or signers[1] != transfer.authority:
        return (
            f"{_PREFIX}_excessive_signers",
            f"{len(signers)} signers; expected two, the sponsor and the transfer's authority",
        )
    return None


def _check_signatures(
    envelope: _Envelope, transfer: _TransferInstruction, asked: _Asked
) -> _Refusal:
    """The payer's signature is right; the sponsor's is right or still empty."""
    sponsor, payer = envelope.keys[:2]
    signatures, signed = envelope.signatures, envelope.signed
    if len(signatures) != _SIGNATURES or not signatures[1].verify(payer, signed):
        return _SIGNATURE_INVALID, "the payer's signature does not sign this message"
    if signatures[0] != Signature.default() and not signatures[0].verify(
        sponsor, signed
    ):
        return _SIGNATURE_INVALID, "the sponsor's signature does not sign this message"
    return None


_TRANSFER_CHECKS: tuple[
    Callable[[_Envelope, _TransferInstruction, _Asked], _Refusal], ...
] = (
    _check_other_programs,
    _check_memo,
    _check_authority,
    _check_mint,
    _check_destination,
    _check_amount,
    _check_signers,
    _check_signatures,
)


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
