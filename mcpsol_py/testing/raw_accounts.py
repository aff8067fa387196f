"""The accounts of a simulated program as bytes, as bodies read them by `account.data` and `account.program`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey as Key

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.data import Data, DataTooShort
from mcpsol_py.bodies.numbers import Number, u16
from mcpsol_py.solana.tokens import (
    Mint,
    TokenAccount,
    TokenAccountState,
    with_extensions,
)
from mcpsol_py.sources import spec_words as words
from mcpsol_py.testing.ledger import Ledger, MintState, TokenState

__all__ = [
    "AccountReader",
    "OtherInstruction",
    "TransactionView",
    "json_form",
]


@dataclass(frozen=True, slots=True)
class OtherInstruction:
    """An instruction of the same transaction: its program and its data."""

    program: Pubkey
    data: bytes


class TransactionView:
    """The instructions sysvar. The call is the last instruction of its transaction."""

    def __init__(
        self, address: Pubkey, instructions: tuple[OtherInstruction, ...]
    ) -> None:
        self.address = address
        self._all = instructions
        self.current_index = u16(len(instructions) - 1)

    def program_at(self, index: u16) -> Pubkey:
        """Return the program of an instruction."""
        return self._at(index).program

    def data_at(self, index: u16) -> Data:
        """Return the data of an instruction."""
        return Data(self._at(index).data)

    def _at(self, index: u16) -> OtherInstruction:
        if int(index) >= len(self._all):
            raise DataTooShort(f"instruction {index} of {len(self._all)}")
        return self._all[int(index)]


@dataclass(frozen=True, slots=True)
class AccountReader:
    """Reads accounts as bytes. `encode`: writes state."""

    encode: Callable[[words.Account], bytes]

    def data(self, ledger: Ledger, at: Pubkey) -> Data:
        """Return the data of an account; nothing if it has none."""
        if at in ledger.raw:
            return Data(ledger.raw[at].data)
        if at in ledger.tokens:
            return Data(_token_data(ledger.tokens[at]))
        if at in ledger.mints:
            return Data(_mint_data(ledger.mints[at]))
        return Data(self.encode(ledger.states[at]) if at in ledger.states else b"")


def json_form(value: Any) -> Any:
    """Return a value of a body as codecs take it."""
    if isinstance(value, words.Struct):
        return {name: json_form(part) for name, part in vars(value).items()}
    if isinstance(value, list):
        return [json_form(each) for each in value]
    if isinstance(value, (Pubkey, words.VariantOf)):
        return str(value)
    return int(value) if isinstance(value, Number) else value


def _token_data(state: TokenState) -> bytes:
    made = TokenAccount(
        _key(state.mint),
        _key(state.owner),
        int(state.amount),
        delegate=None if state.delegate is None else _key(state.delegate),
        delegated_amount=int(state.delegated_amount),
        state=TokenAccountState.FROZEN
        if state.is_frozen
        else TokenAccountState.INITIALIZED,
    )
    return with_extensions(made.to_bytes(), "account", state.extensions)


def _mint_data(state: MintState) -> bytes:
    authority = None if state.authority is None else _key(state.authority)
    made = Mint(authority, int(state.supply), int(state.decimals)).to_bytes()
    return with_extensions(made, "mint", state.extensions)


def _key(address: Pubkey) -> Key:
    return Key(bytes(address))
