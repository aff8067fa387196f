"""Transactions that somebody else built: read, given a new blockhash, signed.

    foreign = await read_foreign(transport, text)
    signed = await sign_foreign(foreign, signers)

A signature is of exact bytes. So nothing of a transaction changes once anybody has signed it, and a signature that
does not fit the bytes is refused.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import Message, MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.foreign.message_accounts import MessageAccounts
from mcpsol_py.calls.foreign.text import read_transaction
from mcpsol_py.calls.lifetime import DurableNonce
from mcpsol_py.calls.priority import PriorityFee, budget_of
from mcpsol_py.calls.transactions import (
    check_size,
    choose_blockhash,
    compile_message,
    read_lookup_tables,
    with_budget,
)
from mcpsol_py.client.keys import Signer
from mcpsol_py.client.simulation import unsigned, with_blockhash
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import CannotSign
from mcpsol_py.solana.compute_budget import sets_fee
from mcpsol_py.solana.nonce import advanced_first

__all__ = [
    "ForeignTransaction",
    "foreign_prioritized",
    "has_blockhash",
    "is_live",
    "read_foreign",
    "refreshed",
    "refuse_signed",
    "refuse_strangers",
    "sign_foreign",
]


@dataclass(frozen=True, slots=True)
class ForeignTransaction:
    """A transaction that somebody else built. `tables` are its address lookup tables, if they were read."""

    transaction: VersionedTransaction
    tables: tuple[AddressLookupTableAccount, ...] = ()

    @property
    def message(self) -> Any:
        """Its message, of any version."""
        return self.transaction.message

    @property
    def signers(self) -> list[Pubkey]:
        """The addresses that must sign, the fee payer first."""
        return list(
            self.message.account_keys[: self.message.header.num_required_signatures]
        )

    @property
    def missing(self) -> list[Pubkey]:
        """Those of `signers` that have not signed."""
        pairs = zip(self.signers, self.transaction.signatures, strict=True)
        return [key for key, signature in pairs if signature == Signature.default()]

    @property
    def signed(self) -> list[Pubkey]:
        """Those of `signers` that have signed."""
        missing = self.missing
        return [key for key in self.signers if key not in missing]

    @property
    def loaded(self) -> list[str]:
        """The addresses from its lookup tables, writable ones first; empty if the tables were not read."""
        if not self.tables:
            return []
        held = {table.key: table.addresses for table in self.tables}
        lookups = getattr(self.message, "address_table_lookups", ())
        writable = [(lookup.account_key, lookup.writable_indexes) for lookup in lookups]
        readonly = [(lookup.account_key, lookup.readonly_indexes) for lookup in lookups]
        return [
            str(held[key][at])
            for key, places in (*writable, *readonly)
            for at in places
        ]

    @property
    def instructions(self) -> list[Instruction]:
        """Its instructions with their accounts, those from lookup tables too."""
        accounts = MessageAccounts(self.message, self.loaded)
        metas = [
            AccountMeta(
                Pubkey.from_string(key),
                at < len(accounts.signers),
                at in accounts.writable,
            )
            for at, key in enumerate(accounts.keys)
        ]
        return [
            Instruction(
                metas[raw.program_id_index].pubkey,
                bytes(raw.data),
                [metas[at] for at in raw.accounts],
            )
            for raw in self.message.instructions
        ]

    @property
    def nonce_account(self) -> Pubkey | None:
        """The nonce account that its first instruction advances, or None."""
        return advanced_first(self.message)

    def to_base64(self) -> str:
        """Return it as text, as nodes and wallets take it."""
        return base64.b64encode(bytes(self.transaction)).decode()


async def read_foreign(transport: Transport | None, text: str) -> ForeignTransaction:
    """Read a transaction in base64 or base58, and its lookup tables from *transport*, if given.

    Raises DecodeError; TransactionTooLarge; CannotSign if a signature does not fit or an address that must sign has no
    key; AccountNotFound for a lookup table; TransportError.
    """
    foreign = ForeignTransaction(read_transaction(text))
    check_size(foreign.message)
    _check_signatures(foreign)
    _check_addresses(foreign.missing)
    lookups = getattr(foreign.message, "address_table_lookups", ())
    if transport is None or not lookups:
        return foreign
    tables = await read_lookup_tables(
        transport, [lookup.account_key for lookup in lookups]
    )
    _check_lookups(lookups, tables)
    return replace(foreign, tables=tuple(tables))


def _check_signatures(foreign: ForeignTransaction) -> None:
    """Raise CannotSign if a signature does not fit: the transaction was changed after it was signed."""
    payload = to_bytes_versioned(foreign.message)
    made = dict(zip(foreign.signers, foreign.transaction.signatures, strict=True))
    for address in foreign.signed:
        if not made[address].verify(address, payload):
            raise CannotSign(
                f"the signature of {address} does not fit it, so it was changed after {address} signed. "
                "Ask for the transaction again"
            )


def _check_addresses(missing: Sequence[Pubkey]) -> None:
    """Raise CannotSign if an address that must sign is derived by a program: no key belongs to it."""
    for address in missing:
        if not address.is_on_curve():
            raise CannotSign(
                f"{address} must sign, and no key belongs to it: a program derived it, as Squads derives the vault of "
                "a multisig. Propose the call in that program's own app; its members sign there"
            )


def _check_lookups(
    lookups: Sequence[Any], tables: Sequence[AddressLookupTableAccount]
) -> None:
    """Raise CannotSign if a lookup table is shorter than the transaction expects."""
    for lookup, table in zip(lookups, tables, strict=True):
        last = max((*lookup.writable_indexes, *lookup.readonly_indexes), default=-1)
        if last >= len(table.addresses):
            raise CannotSign(
                f"it uses entry {last} of lookup table {table.key}, which has {len(table.addresses)} entries here"
            )


# --- blockhash -------------------------------------------------------------------------------------------------------


async def is_live(transport: Transport, foreign: ForeignTransaction) -> bool:
    """Return whether *foreign* can land with the blockhash or nonce that it has. Raises TransportError."""
    blockhash = foreign.message.recent_blockhash
    nonce_account = foreign.nonce_account
    if nonce_account is not None and not await DurableNonce(
        nonce_account, blockhash
    ).is_over(transport):
        return True
    return await transport.blockhash_valid(blockhash)


async def refreshed(
    transport: Transport, foreign: ForeignTransaction
) -> ForeignTransaction:
    """Return *foreign* with a new blockhash, or its nonce as it is now. Raises CannotSign if anybody has signed it."""
    refuse_signed(foreign, "its blockhash has expired, or is of another chain")
    blockhash, _ = await choose_blockhash(transport, foreign.nonce_account)
    return replace(foreign, transaction=with_blockhash(foreign.transaction, blockhash))


def refuse_signed(foreign: ForeignTransaction, why: str) -> None:
    """Raise CannotSign, with the reason for a change, if anybody has signed *foreign*."""
    if foreign.signed:
        names = " and ".join(map(str, foreign.signed))
        raise CannotSign(
            f"{why}, and {names} signed it already: a change would undo that signature. "
            "Ask for a new transaction"
        )


def has_blockhash(foreign: ForeignTransaction) -> bool:
    """Return False for the zeros that stand for a blockhash if no chain was asked for one."""
    return bool(foreign.message.recent_blockhash != Hash.default())


# --- priority fee ----------------------------------------------------------------------------------------------------


async def foreign_prioritized(
    transport: Transport, foreign: ForeignTransaction, fee: PriorityFee
) -> ForeignTransaction:
    """Return *foreign* with the priority fee *fee* in place of its own.

    Raises CannotSign if anybody has signed it, or its message has no room for a price; InvalidTransaction,
    TransactionTooLarge, TransportError.
    """
    if fee.price is None:
        return foreign
    refuse_signed(foreign, "a priority fee changes it")
    message = foreign.message
    if not isinstance(message, (Message, MessageV0)):
        raise CannotSign("the fee of a message of its version is not changed here")
    body = [ix for ix in foreign.instructions if not sets_fee(ix)]
    payer, legacy = foreign.signers[0], isinstance(message, Message)
    budget = await budget_of(transport, payer, body, fee, tables=foreign.tables)
    if budget is None:
        return foreign
    changed = compile_message(
        payer,
        with_budget(body, budget.units, budget.price),
        message.recent_blockhash,
        foreign.tables,
        legacy=legacy,
    )
    return replace(foreign, transaction=unsigned(changed))


# --- signing ---------------------------------------------------------------------------------------------------------


async def sign_foreign(
    foreign: ForeignTransaction, signers: Mapping[Pubkey, Signer]
) -> ForeignTransaction:
    """Return *foreign* with the signatures of *signers*. Others that are missing stay missing.

    Raises CannotSign if a signer is not asked for, or returns a signature that does not fit; PolicyError and
    TransportError as the signers do.
    """
    refuse_strangers(foreign, signers)
    payload = to_bytes_versioned(foreign.message)
    signatures = list(foreign.transaction.signatures)
    for place, address in enumerate(foreign.signers):
        if signatures[place] == Signature.default() and address in signers:
            signatures[place] = await signers[address].sign(payload)
    done = replace(
        foreign, transaction=VersionedTransaction.populate(foreign.message, signatures)
    )
    _check_signatures(done)
    return done


def refuse_strangers(
    foreign: ForeignTransaction, addresses: Mapping[Pubkey, Any]
) -> None:
    """Raise CannotSign for the first of *addresses* whose signature the transaction does not need."""
    for address in addresses:
        if address not in foreign.signers:
            wanted = ", ".join(map(str, foreign.missing)) or "nobody else"
            raise CannotSign(
                f"it does not need {address}; it needs signatures of {wanted}"
            )
