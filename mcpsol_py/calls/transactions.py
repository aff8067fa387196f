"""From instructions to a signed transaction: compute budget, lookup tables, blockhash, size, signatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, Protocol

from solders.address_lookup_table_account import (
    AddressLookupTable,
    AddressLookupTableAccount,
)
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, VersionedMessage, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.calls.lifetime import DurableNonce, Lifetime, UntilBlockHeight
from mcpsol_py.calls.sent_messages import sent_messages
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import (
    AccountNotFound,
    InvalidSigner,
    InvalidTransaction,
    MissingSigner,
    TransactionTooLarge,
    TransportError,
)
from mcpsol_py.solana.addresses import ADDRESS_LOOKUP_TABLE_PROGRAM
from mcpsol_py.solana.compute_budget import (
    MAX_UNITS,
    PRICE,
    UNITS,
    budget_settings,
    compute_budget,
)
from mcpsol_py.solana.nonce import advanced_by, read_nonce

__all__ = [
    "PACKET",
    "NewMessage",
    "Unsent",
    "check_compiles",
    "check_counts",
    "check_size",
    "choose_blockhash",
    "compile_message",
    "compute_budget",
    "instruction_list",
    "key_pairs",
    "new_message",
    "nonce_account_of",
    "programs_of",
    "read_lookup_tables",
    "sign",
    "size_of",
    "with_budget",
    "with_headroom",
]

#: Bytes of a transaction that fit into a packet (IPv6's minimum MTU less headers).
PACKET = 1232
#: A message refers to an account by one byte.
MAX_ACCOUNTS = 256
#: Lengths in a message have at most this value.
_MAX_LENGTH = 65_535

#: How often to look for a new blockhash, and the seconds in between.
BLOCKHASH_LOOKS, BLOCKHASH_SECONDS = 60, 0.5


# --- instructions -> message -----------------------------------------------------------------------------------------


def with_budget(
    instructions: Sequence[Instruction], units: int | None, price: int | None
) -> list[Instruction]:
    """Return *instructions* with their compute budget in front, but behind an AdvanceNonceAccount.

    The runtime takes a transaction as one with a durable nonce only if it advances the nonce first. What
    *instructions* set by themselves stays as it is. Raises InvalidTransaction for numbers that the instructions
    cannot hold, and if one thing is set twice, which the runtime refuses.
    """
    own = budget_settings(instructions)
    twice = [setting for setting in own if own.count(setting) > 1]
    if twice:
        raise InvalidTransaction(
            f"several instructions set the {twice[0]}; a transaction may set it once"
        )
    try:
        budget = compute_budget(
            None if UNITS in own else units, None if PRICE in own else price
        )
    except (OverflowError, TypeError) as error:
        raise InvalidTransaction(
            f"expected compute units of 32 bits and a fee of 64 bits, got {units!r} and {price!r}"
        ) from error
    if not budget:
        return list(instructions)
    start = 0 if nonce_account_of(instructions) is None else 1
    return [*instructions[:start], *budget, *instructions[start:]]


def nonce_account_of(instructions: Sequence[Instruction]) -> Pubkey | None:
    """Return the nonce account that the first of *instructions* advances, or None."""
    return advanced_by(instructions[0]) if instructions else None


def with_headroom(used: int) -> int:
    """Return a limit for a transaction that used *used* units in a simulation: a tenth more, in case it differs."""
    return min(MAX_UNITS, max(1_000, used + used // 10 + 300))


def compile_message(
    payer: Pubkey,
    instructions: Sequence[Instruction],
    blockhash: Hash,
    tables: Sequence[AddressLookupTableAccount] = (),
    *,
    legacy: bool = False,
) -> Message | MessageV0:
    """Return the message, v0 unless *legacy*.

    Raises InvalidTransaction, and TransactionTooLarge, which says what takes the room.
    """
    check_counts(payer, instructions)
    message: Message | MessageV0
    if legacy:
        message = Message.new_with_blockhash(list(instructions), payer, blockhash)
    else:
        message = _compile_v0(payer, instructions, blockhash, tables)
    check_size(message)
    return message


def check_compiles(
    payer: Pubkey,
    instructions: Sequence[Instruction],
    tables: Sequence[AddressLookupTableAccount] = (),
) -> None:
    """Raise InvalidTransaction if *instructions* make no v0 message. It may be too large for a packet."""
    check_counts(payer, instructions)
    _compile_v0(payer, instructions, Hash.default(), tables)


def _compile_v0(
    payer: Pubkey,
    instructions: Sequence[Instruction],
    blockhash: Hash,
    tables: Sequence[AddressLookupTableAccount],
) -> MessageV0:
    try:
        return MessageV0.try_compile(payer, list(instructions), list(tables), blockhash)
    except Exception as error:  # solders 0.26 gives no way to import its CompileError
        raise InvalidTransaction(str(error)) from error


def check_counts(payer: Pubkey, instructions: Sequence[Instruction]) -> None:
    """Raise InvalidTransaction or TransactionTooLarge if there are more accounts or bytes than a message can count.

    solders would panic, and no `except Exception` catches that.
    """
    keys = {payer}
    longest = 0
    for instruction in instructions:
        metas = instruction.accounts
        keys.update([meta.pubkey for meta in metas])
        keys.add(instruction.program_id)
        longest = max(longest, len(metas), len(instruction.data))
    if longest > _MAX_LENGTH:
        raise TransactionTooLarge(longest, PACKET)
    if len(keys) > MAX_ACCOUNTS:
        raise InvalidTransaction(
            f"it has {len(keys)} accounts, and a message holds at most {MAX_ACCOUNTS}"
        )


def instruction_list(what: object) -> list[Instruction]:
    """Return one instruction, or several, as a list. Raises InvalidTransaction for anything else."""
    items: list[Any] = list(what) if isinstance(what, Iterable) else [what]
    wrong = [type(item).__name__ for item in items if not isinstance(item, Instruction)]
    if wrong:
        raise InvalidTransaction(f"expected an Instruction, got {wrong[0]}")
    return items


def size_of(message: Message | MessageV0) -> int:
    """Return the bytes of the signed transaction."""
    signatures = message.header.num_required_signatures
    # `bytes` of a message has no version.
    version = 0 if isinstance(message, Message) else 1
    return 1 + 64 * signatures + version + len(bytes(message))


def check_size(message: Message | MessageV0) -> None:
    """Raise TransactionTooLarge if the transaction does not fit into a packet. The message names the largest parts."""
    size = size_of(message)
    if size <= PACKET:
        return
    keys = len(message.account_keys)
    data = sum(len(ix.data) for ix in message.instructions)
    signers = message.header.num_required_signatures
    parts = (
        f"{signers} signatures take {64 * signers:,} bytes, {keys} account keys {32 * keys:,}, "
        f"data {data:,}. "
    )
    movable = keys - signers - len({ix.program_id_index for ix in message.instructions})
    if movable > 0 and size - 31 * movable <= PACKET:
        advice = f"An address lookup table can hold {movable} of the keys, at one byte each: pass lookup_tables."
    else:
        advice = "Use fewer instructions in one transaction."
    raise TransactionTooLarge(size, PACKET, parts + advice)


def programs_of(message: VersionedMessage) -> list[Pubkey]:
    """Return the program of each instruction."""
    keys = message.account_keys
    return [
        keys[ix.program_id_index]
        for ix in message.instructions
        if ix.program_id_index < len(keys)
    ]


async def read_lookup_tables(
    transport: Transport, addresses: Sequence[Pubkey | str]
) -> list[AddressLookupTableAccount]:
    """Read address lookup tables from the chain. Raises AccountNotFound."""
    keys = list(map(_table_address, addresses))
    if not keys:
        return []
    found = await transport.get_accounts(keys)
    return list(starmap(_lookup_table, zip(keys, found, strict=True)))


_TABLE = "address lookup table"
#: The deactivation slot of a table that is not deactivated.
_ACTIVE = 2**64 - 1


def _table_address(address: Pubkey | str) -> Pubkey:
    key = address_of(address)
    if key is None:
        raise AccountNotFound(
            str(address), _TABLE, "expected an address (base58 of 32 bytes)"
        )
    return key


def _lookup_table(key: Pubkey, account: Any) -> AddressLookupTableAccount:
    if account is None:
        raise AccountNotFound(str(key), _TABLE, "it does not exist")
    if account.owner != ADDRESS_LOOKUP_TABLE_PROGRAM:
        raise AccountNotFound(
            str(key), _TABLE, f"it belongs to program {account.owner}"
        )
    try:
        table = AddressLookupTable.deserialize(bytes(account.data))
    except ValueError as error:
        raise AccountNotFound(
            str(key), _TABLE, "its data is not that of a table"
        ) from error
    slot = table.meta.deactivation_slot
    if slot != _ACTIVE:
        why = f"it was deactivated in slot {slot:,}, and the runtime stops reading it within minutes: use another table"
        raise AccountNotFound(str(key), _TABLE, why)
    return AddressLookupTableAccount(key, table.addresses)


# --- blockhash -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message that this process has not sent before, and the lifetime of its transaction."""

    message: Message | MessageV0
    lifetime: Lifetime


class Unsent(Protocol):
    """A transaction without blockhash and signatures."""

    @property
    def nonce_account(self) -> Pubkey | None:
        """The account whose nonce takes the place of the blockhash, or None."""

    def message(self, blockhash: Hash) -> Message | MessageV0:
        """Return the message with *blockhash*."""


async def new_message(transport: Transport, unsent: Unsent) -> NewMessage:
    """Return a message of *unsent* that this process has not sent, waiting for another blockhash if necessary.

    It counts as sent from now on; if it is not handed in after all, `release` it.
    Raises TransportError if no new blockhash comes, and what `unsent.message` raises.
    """
    chain = sent_messages(transport)
    for _ in range(BLOCKHASH_LOOKS):
        blockhash, lifetime = await choose_blockhash(transport, unsent.nonce_account)
        message = unsent.message(blockhash)
        if chain.take(message):
            return NewMessage(message, lifetime)
        await transport.sleep(BLOCKHASH_SECONDS)
    why = "it gives no new blockhash, so the same call cannot be sent again"
    raise TransportError(transport.endpoint, why)


async def choose_blockhash(
    transport: Transport, nonce_account: Pubkey | None = None
) -> tuple[Hash, Lifetime]:
    """Return a blockhash for a new transaction, and how long it can land with it.

    That is the nonce of *nonce_account* if it holds one, else the newest blockhash.
    """
    if nonce_account is not None:
        (account,) = await transport.get_accounts([nonce_account])
        nonce = read_nonce(account)
        if nonce is not None:
            return nonce.value, DurableNonce(nonce_account, nonce.value)
    recent = await transport.latest_blockhash()
    sent_messages(transport).saw(recent)
    return recent.value, UntilBlockHeight(recent.last_valid_block_height)


# --- signatures ------------------------------------------------------------------------------------------------------


def key_pairs(signers: Iterable[Any]) -> dict[Pubkey, Any]:
    """Return signers by address: Keypairs, anchorpy's Wallets (their payer), or anything with `pubkey()` and
    `sign_message(bytes)`. Raises InvalidSigner."""
    out: dict[Pubkey, Any] = {}
    for signer in signers:
        inner = getattr(signer, "payer", signer)
        candidate = inner if isinstance(inner, Keypair) else signer
        key = address_of(candidate)
        if key is None or not hasattr(candidate, "sign_message"):
            raise InvalidSigner(type(signer).__name__)
        out[key] = candidate
    return out


def sign(message: Message | MessageV0, signers: Iterable[Any]) -> VersionedTransaction:
    """Return the signed transaction. Signers that the message does not ask for are ignored.

    Raises MissingSigner with all addresses whose key pairs are not among *signers*.
    """
    have = key_pairs(signers)
    wanted = message.account_keys[: message.header.num_required_signatures]
    absent = [str(key) for key in wanted if key not in have]
    if absent:
        raise MissingSigner(absent)
    payload = to_bytes_versioned(message)
    signatures: list[Signature] = [have[key].sign_message(payload) for key in wanted]
    try:
        return VersionedTransaction.populate(message, signatures)
    except TypeError as error:
        kinds = ", ".join(sorted({type(made).__name__ for made in signatures}))
        raise InvalidSigner(
            kinds, f"a signer returned {kinds}: expected a Signature"
        ) from error
