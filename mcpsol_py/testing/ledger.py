"""The accounts that a simulated program works on: lamports, state and tokens, with copies to roll back to."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.numbers import u8, u64
from mcpsol_py.solana import ids
from mcpsol_py.solana.rent import RentRate
from mcpsol_py.solana.tokens import MINT_SIZE, TOKEN_ACCOUNT_SIZE
from mcpsol_py.sources import spec_words as words

__all__ = [
    "SYSTEM_PROGRAM",
    "TOKEN_PROGRAM",
    "Ledger",
    "MintState",
    "OwnState",
    "RawAccount",
    "TokenState",
    "rent",
]

T = TypeVar("T")

SYSTEM_PROGRAM = Pubkey(ids.SYSTEM_PROGRAM)
TOKEN_PROGRAM = Pubkey(ids.TOKEN_PROGRAM)
_RATE = RentRate()


def rent(size: int) -> int:
    """Return the lamports that an account with *size* bytes of data holds."""
    return _RATE.of(size)


@dataclass
class TokenState:
    """A token account. `program`: its token program. `extensions`: those of Token-2022, as its data lists them."""

    mint: Pubkey
    owner: Pubkey
    amount: u64
    delegate: Pubkey | None = None
    delegated_amount: u64 = u64(0)  # noqa: RUF009  # numbers do not change
    is_frozen: bool = False
    program: Pubkey = TOKEN_PROGRAM
    extensions: bytes = b""

    @property
    def size(self) -> int:
        """The bytes of its data."""
        return _with(self.extensions, TOKEN_ACCOUNT_SIZE)


@dataclass
class MintState:
    """A mint. `program` and `extensions`: as in TokenState."""

    authority: Pubkey | None
    supply: u64
    decimals: u8
    program: Pubkey = TOKEN_PROGRAM
    extensions: bytes = b""

    @property
    def size(self) -> int:
        """The bytes of its data."""
        return _with(self.extensions, MINT_SIZE)


def _with(extensions: bytes, size: int) -> int:
    """Return the bytes of data: extensions follow the size of a token account and the account's type."""
    return TOKEN_ACCOUNT_SIZE + 1 + len(extensions) if extensions else size


@dataclass(frozen=True)
class RawAccount:
    """An account of which only the bytes are known: another program's, or no state of this one."""

    program: Pubkey
    data: bytes


@dataclass(frozen=True)
class OwnState:
    """What state of the simulated program looks like: its owner, and the discriminator of each type."""

    program: Pubkey
    discriminators: Mapping[str, bytes]

    def refusal(self, account: RawAccount, name: str) -> str:
        """Return the name of the error by which the program refuses *account* as state of type *name*."""
        wanted = self.discriminators[name]
        if account.program != self.program:
            return "AccountOwnedByWrongProgram"
        if len(account.data) < len(wanted):
            return "AccountDiscriminatorNotFound"
        if not account.data.startswith(wanted):
            return "AccountDiscriminatorMismatch"
        return "AccountDidNotDeserialize"


def _copied(accounts: dict[Pubkey, T]) -> dict[Pubkey, T]:
    return {address: copy.copy(account) for address, account in accounts.items()}


@dataclass
class Ledger:
    """All accounts, by address. `epoch` decides which transfer fee of a mint holds."""

    own: OwnState
    epoch: int = 0
    lamports: dict[Pubkey, int] = field(default_factory=dict)
    states: dict[Pubkey, words.Account] = field(default_factory=dict)
    tokens: dict[Pubkey, TokenState] = field(default_factory=dict)
    mints: dict[Pubkey, MintState] = field(default_factory=dict)
    raw: dict[Pubkey, RawAccount] = field(default_factory=dict)

    def copy(self) -> Ledger:
        """Return a copy. Its accounts are copies too; the values in them never change."""
        return Ledger(
            self.own,
            self.epoch,
            dict(self.lamports),
            _copied(self.states),
            _copied(self.tokens),
            _copied(self.mints),
            dict(self.raw),
        )

    def exists(self, address: Pubkey) -> bool:
        """Return whether an account has data at this address."""
        return any(
            address in held for held in (self.states, self.tokens, self.mints, self.raw)
        )

    def owner(self, address: Pubkey) -> Pubkey:
        """Return the program that owns an account. The system program owns an address without an account."""
        if address in self.raw:
            return self.raw[address].program
        held = self.token_data(address)
        if held is not None:
            return held.program
        return self.own.program if address in self.states else SYSTEM_PROGRAM

    def token_data(self, address: Pubkey) -> TokenState | MintState | None:
        """Return the token account or the mint at this address, None without one."""
        return self.tokens.get(address) or self.mints.get(address)

    def pay_rent(self, payer: Pubkey, at: Pubkey, size: int) -> bool:
        """Move what an account misses of its rent. Returns False, and moves nothing, if the payer has less."""
        return self.move(payer, at, max(0, rent(size) - self.lamports.get(at, 0)))

    def move(self, source: Pubkey, destination: Pubkey, lamports: int) -> bool:
        """Move lamports. Returns False, and moves nothing, if the source has fewer."""
        if self.lamports.get(source, 0) < lamports:
            return False
        self.lamports[source] -= lamports
        self.lamports[destination] = self.lamports.get(destination, 0) + lamports
        return True
