"""Fields of accounts of token and native programs that say who has power over them: owners, delegates, authorities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from solders.pubkey import Pubkey

from mcpsol_py.solana.native_accounts import NATIVE_PROGRAMS, read_stake
from mcpsol_py.solana.tokens import (
    TOKEN_PROGRAMS,
    OwnedData,
    read_mint,
    read_token_account,
)

__all__ = ["PowerField", "power_fields"]


@dataclass(frozen=True, slots=True)
class PowerField:
    """A field at an offset: a u32, a u64 or an address, by the size of `value`.

    `at_most`: a smaller number gives no more power than this one.
    """

    offset: int
    value: bytes
    at_most: bool = False


#: Tags of options in a token account: delegate, close authority; and in a mint: mint and freeze authority.
_DELEGATE, _CLOSER = 72, 129
_DELEGATED_AMOUNT = 121
_TAG, _KEY, _U64 = 4, 32, 8
_MINT_TAGS = ((0, _TAG), (46, _TAG))
#: A stake account's lockup: time, epoch and custodian.
_LOCKUP = ((76, _U64), (84, _U64), (92, _KEY))
#: Bytes of an account in which the owners' addresses are looked for. Fields of authority lie at its start.
_SEARCHED = 4096


def power_fields(account: OwnedData, owners: Collection[str]) -> list[PowerField]:
    """Return the fields of *account* that must stay as they are so that *owners* keep their power over it.

    Empty if it names none of them, and for accounts of other programs, which have layouts of their own.
    """
    if account.owner not in (*TOKEN_PROGRAMS, *NATIVE_PROGRAMS):
        return []
    data = bytes(account.data)
    names = [
        name
        for owner in owners
        for name in _names(data, bytes(Pubkey.from_string(owner)))
    ]
    if not names:
        return []
    found = chain(
        names,
        _token_fields(account, data),
        _at(data, () if read_mint(account) is None else _MINT_TAGS),
        _at(data, () if read_stake(account) is None else _LOCKUP),
    )
    return sorted(dict.fromkeys(found), key=lambda field: field.offset)


def _token_fields(account: OwnedData, data: bytes) -> Iterator[PowerField]:
    """Give who may spend from a token account, and who may close it."""
    token = read_token_account(account)
    if token is None:
        return
    yield from _at(data, [(_DELEGATE, _TAG), (_CLOSER, _TAG)])
    if token.delegate is not None:
        yield from _at(data, [(_DELEGATE + _TAG, _KEY)])
        yield PowerField(
            _DELEGATED_AMOUNT,
            data[_DELEGATED_AMOUNT : _DELEGATED_AMOUNT + _U64],
            at_most=True,
        )
    if token.close_authority is not None:
        yield from _at(data, [(_CLOSER + _TAG, _KEY)])


def _at(data: bytes, places: Iterable[tuple[int, int]]) -> Iterator[PowerField]:
    """Give the fields at places, as (offset, size)."""
    for offset, size in places:
        yield PowerField(offset, data[offset : offset + size])


def _names(data: bytes, owner: bytes) -> Iterator[PowerField]:
    """Give each place at which the owner's address stands in the data."""
    data = data[:_SEARCHED]
    found = data.find(owner)
    while found >= 0:
        yield PowerField(found, owner)
        found = data.find(owner, found + len(owner))
