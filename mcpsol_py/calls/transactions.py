"""From instructions to a signed transaction: compute budget, lookup tables, the size that a packet holds,
signatures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from solders.address_lookup_table_account import AddressLookupTable, AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import AccountNotFound, MissingSigner, TransactionTooLarge
from mcpsol_py.solana.addresses import ADDRESS_LOOKUP_TABLE_PROGRAM
from mcpsol_py.solana.compute_budget import MAX_UNITS, compute_budget

__all__ = [
    "PACKET",
    "check_size",
    "compile_message",
    "compute_budget",
    "key_pairs",
    "read_lookup_tables",
    "sign",
    "with_headroom",
]

#: Bytes of a transaction that a packet holds (IPv6's minimum MTU less headers).
PACKET = 1232


def with_headroom(used: int) -> int:
    """A limit for a transaction that a simulation saw use *used* units: a tenth more, for what may differ when it
    lands."""
    return min(MAX_UNITS, max(1_000, used + used // 10 + 300))


def compile_message(
    payer: Pubkey,
    instructions: Sequence[Instruction],
    blockhash: Hash,
    tables: Sequence[AddressLookupTableAccount] = (),
    *,
    legacy: bool = False,
) -> Message | MessageV0:
    """The message, v0 unless *legacy*. Raises TransactionTooLarge, which says what takes the room."""
    if legacy:
        message: Message | MessageV0 = Message.new_with_blockhash(
            list(instructions), payer, blockhash
        )
    else:
        message = MessageV0.try_compile(payer, list(instructions), list(tables), blockhash)
    check_size(message)
    return message


def size_of(message: Message | MessageV0) -> int:
    """Bytes of the signed transaction."""
    signatures = message.header.num_required_signatures
    return 1 + 64 * signatures + len(to_bytes_versioned(message))


def check_size(message: Message | MessageV0) -> None:
    """Raises TransactionTooLarge with the parts of the sum."""
    size = size_of(message)
    if size <= PACKET:
        return
    keys = len(message.account_keys)
    data = sum(len(ix.data) for ix in message.instructions)
    signers = message.header.num_required_signatures
    parts = f"{signers} signatures take {64 * signers:,} bytes, {keys} account keys {32 * keys:,}, data {data:,}. "
    movable = keys - signers - len({ix.program_id_index for ix in message.instructions})
    if movable > 0 and size - 31 * movable <= PACKET:
        advice = f"{movable} of the keys could stand in an address lookup table, at one byte each: pass lookup_tables."
    else:
        advice = "Use fewer instructions in one transaction."
    raise TransactionTooLarge(size, PACKET, parts + advice)


async def read_lookup_tables(
    transport: Transport, addresses: Sequence[Pubkey | str]
) -> list[AddressLookupTableAccount]:
    """Address lookup tables as they stand on chain. Raises AccountNotFound."""
    keys = [Pubkey.from_string(a) if isinstance(a, str) else a for a in addresses]
    if not keys:
        return []
    out = []
    for key, account in zip(keys, await transport.get_accounts(keys), strict=True):
        if account is None:
            raise AccountNotFound(str(key), "address lookup table", "it does not exist")
        if account.owner != ADDRESS_LOOKUP_TABLE_PROGRAM:
            raise AccountNotFound(
                str(key), "address lookup table", f"it belongs to program {account.owner}"
            )
        out.append(
            AddressLookupTableAccount(
                key, AddressLookupTable.deserialize(bytes(account.data)).addresses
            )
        )
    return out


def key_pairs(signers: Iterable[Any]) -> dict[Pubkey, Any]:
    """Signers by address: Keypairs, anchorpy's Wallets (their payer), or anything with `pubkey()` and
    `sign_message(bytes)`."""
    out: dict[Pubkey, Any] = {}
    for signer in signers:
        inner = getattr(signer, "payer", signer)
        candidate = inner if isinstance(inner, Keypair) else signer
        key = address_of(candidate)
        if key is None or not hasattr(candidate, "sign_message"):
            raise TypeError(f"{type(signer).__name__} is no signer: pass a Keypair")
        out[key] = candidate
    return out


def sign(message: Message | MessageV0, signers: Iterable[Any]) -> VersionedTransaction:
    """The signed transaction. Raises MissingSigner with all addresses whose key pairs are not among *signers*.

    Signers that the message does not ask for are left aside.
    """
    have = key_pairs(signers)
    wanted = message.account_keys[: message.header.num_required_signatures]
    absent = [str(key) for key in wanted if key not in have]
    if absent:
        raise MissingSigner(absent)
    payload = to_bytes_versioned(message)
    signatures: list[Signature] = [have[key].sign_message(payload) for key in wanted]
    return VersionedTransaction.populate(message, signatures)
