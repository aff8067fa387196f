"""Accounts of the programs that come with the chain: who may withdraw their lamports, and stake accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    LOADER_V4,
    STAKE_PROGRAM,
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
    VOTE_PROGRAM,
)
from mcpsol_py.solana.tokens import OwnedData

__all__ = ["NATIVE_PROGRAMS", "StakeAccount", "read_stake", "withdraw_authority"]

NATIVE_PROGRAMS = (
    SYSTEM_PROGRAM,
    STAKE_PROGRAM,
    VOTE_PROGRAM,
    UPGRADEABLE_LOADER,
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    LOADER_V4,
)

_ONE, _TWO, _THREE = (tag.to_bytes(4, "little") for tag in (1, 2, 3))
_SOME = b"\1"


@dataclass(frozen=True, slots=True)
class _AuthorityField:
    """The offset of an authority in accounts of one kind.

    An account is of that kind if it has each of *marks* at its offset and, if *size* is set, that
    many bytes.
    """

    offset: int
    marks: tuple[tuple[int, bytes], ...] = ()
    size: int | None = None

    def is_in(self, data: bytes) -> bool:
        """Whether *data* is an account of this kind, and long enough."""
        if len(data) < self.offset + 32 or self.size not in (None, len(data)):
            return False
        return all(data.startswith(mark, at) for at, mark in self.marks)


#: Who may withdraw, by the program that owns the account.
_AUTHORITIES: dict[Pubkey, tuple[_AuthorityField, ...]] = {
    # The withdrawer of an initialized or delegated stake account.
    STAKE_PROGRAM: (
        _AuthorityField(44, ((0, _ONE),)),
        _AuthorityField(44, ((0, _TWO),)),
    ),
    VOTE_PROGRAM: (_AuthorityField(36),),
    # The authority of a nonce account.
    SYSTEM_PROGRAM: (_AuthorityField(8, ((4, _ONE),), size=80),),
    # The authority of a Buffer account, and the one of a ProgramData account.
    UPGRADEABLE_LOADER: (
        _AuthorityField(5, ((0, _ONE), (4, _SOME))),
        _AuthorityField(13, ((0, _THREE), (12, _SOME))),
    ),
    ADDRESS_LOOKUP_TABLE_PROGRAM: (_AuthorityField(22, ((0, _ONE), (21, _SOME))),),
    LOADER_V4: (_AuthorityField(8),),
}


def withdraw_authority(account: OwnedData) -> Pubkey | None:
    """Return who may take the lamports out of a native program's account.

    None means that only the account's own signature can, or that *account* is another program's.
    """
    data = bytes(account.data)
    for authority in _AUTHORITIES.get(account.owner, ()):
        if authority.is_in(data):
            return Pubkey(data[authority.offset : authority.offset + 32])
    return None


_STAKE_SIZE = 124


@dataclass(frozen=True, slots=True)
class StakeAccount:
    """The authorities and the lockup of a stake account. `lockup` has its time, epoch and custodian."""

    staker: Pubkey
    withdrawer: Pubkey
    lockup: bytes
    custodian: Pubkey

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read the head of *data*. Missing bytes count as zeros."""
        head = data[:_STAKE_SIZE].ljust(_STAKE_SIZE, b"\0")
        return cls(
            Pubkey(head[12:44]), Pubkey(head[44:76]), head[76:], Pubkey(head[92:])
        )


def read_stake(account: OwnedData) -> StakeAccount | None:
    """Return *account* as an initialized or delegated stake account, or None if it is something else."""
    data = bytes(account.data)
    if account.owner != STAKE_PROGRAM or len(data) < _STAKE_SIZE:
        return None
    return StakeAccount.from_bytes(data) if data[:4] in (_ONE, _TWO) else None
