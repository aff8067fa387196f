"""Transactions that a payer makes and a sponsor pays for: the checks before the sponsor signs.

The rules are the "acceptance policy" of scheme_upto_svm and scheme_batch_settlement_svm, section 5.
They read the transaction's bytes only, because a simulation does not show what else a signature
would allow.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from solders.hash import Hash
from solders.instruction import CompiledInstruction, Instruction
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.fees import fee_lamports
from mcpsol_py.x402.channels.voucher import VoucherSigner
from mcpsol_py.x402.exact.sponsor_fee import FeeLimit, check_fee
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
_MOST_GUARDS = 3


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that a sponsor pays for. The defaults are the schemes' ceilings; a sponsor may set
    lower ones.
    """

    compute_units: int = 400_000
    micro_lamports: int = 5_000_000
    fee: FeeLimit = field(default_factory=FeeLimit)


@dataclass(frozen=True, slots=True)
class SponsoredTransaction:
    """A transaction that the sponsor may sign.

    `data`: the channel instruction's data after its discriminator. `key`: the message's hash.
    `most_lamports`: the highest fee that the sponsor pays. A channel's rent comes on top; the
    sponsor gets it back when the channel ends.
    """

    transaction: VersionedTransaction = field(repr=False)
    payer: str
    fee_payer: str
    key: str
    data: bytes
    memos: tuple[bytes, ...]
    most_lamports: int


def build_setup(
    instruction: Instruction,
    payer: VoucherSigner,
    sponsor: Pubkey,
    blockhash: str,
    *,
    units: int,
    note: str | None,
    binding: str | None = None,
    micro_lamports: int = 1,
) -> str:
    """Return a version 0 transaction with *instruction* in base64, signed by *payer* and paid by
    *sponsor*.

    *note* is the seller's memo; None adds a random one, so that equal openings differ. Raises
    PaymentError if the transaction does not fit into a packet.
    """
    instructions = [
        compute_unit_limit(units),
        compute_unit_price(micro_lamports),
        instruction,
        memo(note),
    ]
    if binding is not None:
        instructions.append(Instruction(MEMO, binding.encode(), []))
    message = MessageV0.try_compile(
        sponsor, instructions, [], Hash.from_string(blockhash)
    )
    wire = wire_base64(
        message, {payer.pubkey(): payer.sign_message(to_bytes_versioned(message))}
    )
    size = len(base64.b64decode(wire))
    if size > MAX_TRANSACTION_BYTES:
        raise PaymentError(
            "invalid_payment_requirements",
            f"the transaction has {size:,} bytes with this memo; "
            f"expected at most {MAX_TRANSACTION_BYTES:,}",
        )
    return wire


def random_salt() -> int:
    """Return a random salt, so that channels of the same parties and slot differ."""
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
    worth: tuple[str, int],
    binding: str | None = None,
    note_required: bool = False,
    caps: Caps = Caps(),
) -> SponsoredTransaction:
    """Read a transaction that runs one instruction of the channel program and does nothing else.

    *accounts* are the instruction's (key, is signer, is writable), complete and in order. *note*:
    the memo that must be there once. *binding*: another memo that must be there once.
    *note_required*: besides it, some memo must be there. *worth*: the mint and the base units that
    the channel gets, which limit the fee. Raises PaymentError(*code*).
    """
    checks = _SponsorChecks(code, program_id, payer, fee_payer, caps)
    transaction = _decode(text, code)
    message = transaction.message
    if not isinstance(message, (Message, MessageV0)):
        raise PaymentError(code, "the message is neither legacy nor version 0")
    if isinstance(message, MessageV0) and message.address_table_lookups:
        raise PaymentError(
            code, "the transaction uses lookup tables; expected all accounts in it"
        )
    keys, instructions = message.account_keys, message.instructions
    checks.signers(transaction, message)
    checks.indices(instructions, keys)
    at = checks.compute_budget(instructions, keys)
    if at >= len(instructions) or keys[instructions[at].program_id_index] != program_id:
        raise PaymentError(
            code, f"instruction {at + 1} does not call the channel program {program_id}"
        )
    main = instructions[at]
    if main.data[:1] != bytes([discriminator]):
        raise PaymentError(
            code, f"instruction {at + 1} is not the channel instruction {discriminator}"
        )
    if [keys[i] for i in main.accounts] != [key for key, _, _ in accounts]:
        raise PaymentError(
            code,
            f"instruction {at + 1} does not have exactly the accounts of the terms",
        )
    memos = checks.suffix(instructions[at + 1 :], keys)
    checks.writable(message, {key for key, _, writable in accounts if writable})
    checks.memos(memos, note, binding, note_required)
    most = caps.fee.most(*worth)
    check_fee(fee_lamports(message), most, code)
    return SponsoredTransaction(
        transaction=transaction,
        payer=str(payer),
        fee_payer=str(fee_payer),
        key=message_hash(transaction),
        data=main.data[1:],
        memos=tuple(memos),
        most_lamports=most,
    )


def _decode(text: object, code: str) -> VersionedTransaction:
    try:
        transaction = read_transaction(text)
    except PaymentError as error:  # its reason is one of `exact`; give this scheme's
        raise PaymentError(code, str(error)) from error
    if len(bytes(transaction)) > MAX_TRANSACTION_BYTES:
        raise PaymentError(
            code, f"the transaction is over {MAX_TRANSACTION_BYTES:,} bytes"
        )
    return transaction


@dataclass(frozen=True, slots=True)
class _SponsorChecks:
    """The checks of `read_sponsored`. Each raises PaymentError(`code`)."""

    code: str
    program_id: Pubkey
    payer: Pubkey
    fee_payer: Pubkey
    caps: Caps

    def signers(
        self, transaction: VersionedTransaction, message: Message | MessageV0
    ) -> None:
        """Only sponsor and payer sign; the payer's signature is right, the sponsor's right or
        empty.
        """
        keys = message.account_keys
        if not keys or keys[0] != self.fee_payer:
            raise PaymentError(
                self.code, f"the fee payer is not the required {self.fee_payer}"
            )
        signers = keys[: message.header.num_required_signatures]
        if signers != [self.fee_payer, self.payer]:
            raise PaymentError(
                self.code,
                f"{len(signers)} signers; expected two different ones, the sponsor and the payer",
            )
        signatures, signed = transaction.signatures, to_bytes_versioned(message)
        if len(signatures) != 2 or not signatures[1].verify(self.payer, signed):
            raise PaymentError(
                self.code, "the payer's signature does not sign this message"
            )
        if signatures[0] == Signature.default():
            return
        if not signatures[0].verify(self.fee_payer, signed):
            raise PaymentError(
                self.code, "the sponsor's signature does not sign this message"
            )

    def indices(
        self, instructions: Sequence[CompiledInstruction], keys: Sequence[Pubkey]
    ) -> None:
        """Every account exists in the message, and the sponsor is not called as a program."""
        for ix in instructions:
            if max((ix.program_id_index, *ix.accounts)) >= len(keys):
                raise PaymentError(
                    self.code,
                    "an instruction refers to an account that is not in the message",
                )
            if ix.program_id_index == 0:
                raise PaymentError(
                    self.code, "an instruction calls the sponsor as a program"
                )

    def compute_budget(
        self, instructions: Sequence[CompiledInstruction], keys: Sequence[Pubkey]
    ) -> int:
        """Check the compute budget at the start: at most a limit, then at most a price. Return its
        length.
        """
        at, last_kind = 0, 0
        for ix in instructions:
            if keys[ix.program_id_index] != COMPUTE_BUDGET:
                break
            kind = ix.data[0] if ix.data else 0
            if (kind, len(ix.data)) not in ((2, 5), (3, 9)) or kind <= last_kind:
                raise PaymentError(
                    self.code, "expected at most one compute unit limit, then one price"
                )
            self._compute_cap(kind, int.from_bytes(ix.data[1:], "little"))
            last_kind, at = kind, at + 1
        return at

    def _compute_cap(self, kind: int, value: int) -> None:
        caps = self.caps
        most, unit = (
            (caps.compute_units, "compute units")
            if kind == 2
            else (caps.micro_lamports, "micro-lamports a unit")
        )
        if value > most:
            raise PaymentError(
                self.code, f"{value:,} {unit}; the sponsor pays for at most {most:,}"
            )

    def suffix(
        self, instructions: Sequence[CompiledInstruction], keys: Sequence[Pubkey]
    ) -> list[bytes]:
        """Check that only memos and guards follow, and return the memos."""
        memos: list[bytes] = []
        guards = 0
        for ix in instructions:
            program = keys[ix.program_id_index]
            if 0 in ix.accounts:
                raise PaymentError(
                    self.code, "a memo or guard uses the sponsor's account"
                )
            if program == MEMO:
                memos.append(ix.data)
            elif program == LIGHTHOUSE:
                guards += 1
            else:
                raise PaymentError(
                    self.code,
                    f"an instruction calls {program}; only memos and Lighthouse guards may follow",
                )
        if guards > _MOST_GUARDS:
            raise PaymentError(
                self.code,
                f"{guards} Lighthouse guards; expected at most {_MOST_GUARDS}",
            )
        return memos

    def writable(
        self, message: Message | MessageV0, written: Collection[Pubkey]
    ) -> None:
        """Only the sponsor and the accounts that the instruction writes are writable."""
        for key in _writable_keys(message):
            if key not in written and key != self.fee_payer:
                raise PaymentError(
                    self.code, f"{key} is writable, but the terms do not need that"
                )

    def memos(
        self,
        memos: Sequence[bytes],
        note: str | None,
        binding: str | None,
        note_required: bool,
    ) -> None:
        """The binding once, and beside it the note, or a random memo if one is required."""
        others = list(memos)
        if binding is not None:
            bound = binding.encode()
            if others.count(bound) != 1:
                raise PaymentError(
                    self.code, "expected one memo that binds the receiver's authorizer"
                )
            others.remove(bound)
        if note is not None:
            if others != [note.encode()]:
                raise PaymentError(
                    self.code, "expected the memo that was asked for, and no other"
                )
        elif note_required:
            if len(others) != 1 or not _is_nonce(others[0]):
                raise PaymentError(
                    self.code, "expected one memo of at least 16 random bytes in hex"
                )
        elif len(others) > 1:
            raise PaymentError(self.code, f"{len(others)} memos; expected at most one")


def _writable_keys(message: Message | MessageV0) -> list[Pubkey]:
    header, keys = message.header, message.account_keys
    signers = header.num_required_signatures
    signed = keys[: signers - header.num_readonly_signed_accounts]
    return signed + keys[signers : len(keys) - header.num_readonly_unsigned_accounts]


def _is_nonce(data: bytes) -> bool:
    try:
        return len(binascii.unhexlify(data)) >= 16
    except binascii.Error:
        return False
