"""The accounts that a caller gave: their addresses, and which of them sign."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import starmap
from typing import Any

from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.accounts.account_names import AccountNames
from mcpsol_py.accounts.inputs import address_of, not_an_address, require_address
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.errors import EncodeError, MissingAccount
from mcpsol_py.model.program import RemainingAccounts

__all__ = ["GivenAccounts"]


class GivenAccounts:
    """The accounts of one call as given.

    `addresses` maps an index to the address, or to None for an absent optional account. `signs` has
    the accounts that were given with or as a signer. `remaining` are the accounts after the named
    ones.

    Raises UnknownName, EncodeError for a value that is not an address, and MissingAccount for a
    required account that is given as None.
    """

    def __init__(
        self, names: AccountNames, accounts: Mapping[str, Any], remaining: Sequence[Any]
    ) -> None:
        self._instruction = names.instruction
        self.addresses: dict[int, Pubkey | None] = {}
        self.signs: dict[int, bool] = {}
        by_index, named = names.collect(accounts)
        for index, value in by_index.items():
            self._take(names.leaves[index], value)
        self.remaining = self._named_remaining(named)
        self.remaining += list(starmap(self._other_remaining, enumerate(remaining)))

    def _take(self, leaf: Leaf, value: object) -> None:
        if value is None:
            self._check_optional(leaf)
            self.addresses[leaf.index] = None
            return
        key = address_of(value)
        if key is None:
            raise not_an_address(value, self._instruction.name, leaf.name)
        self.addresses[leaf.index] = key
        if isinstance(value, AccountMeta):
            self.signs[leaf.index] = value.is_signer
        elif not isinstance(value, (str, Pubkey)):  # a key pair
            self.signs[leaf.index] = True

    def _check_optional(self, leaf: Leaf) -> None:
        if not leaf.account.optional:
            why = "null was given, and the account is not optional"
            raise MissingAccount(self._instruction.name, leaf.name, why)

    def _named_remaining(self, named: Mapping[str, Sequence[Any]]) -> list[AccountMeta]:
        metas: list[AccountMeta] = []
        for group in self._instruction.remaining:
            values = self._address_list(group, named.get(group.name, ()))
            for place, value in enumerate(values):
                key = self._address(value, f"{group.name}[{place}]")
                metas.append(_meta_in_group(group, key, value))
        return metas

    def _address_list(self, group: RemainingAccounts, values: Any) -> Sequence[Any]:
        if not isinstance(values, Sequence) or isinstance(values, (str, bytes)):
            raise EncodeError(
                f"expected a list of addresses, got {type(values).__name__}",
                value=values,
                path=f"{self._instruction.name}.{group.name}",
                type="accounts",
            )
        return values

    def _other_remaining(self, place: int, value: Any) -> AccountMeta:
        if isinstance(value, AccountMeta):
            return value
        key = self._address(value, f"remaining[{place}]")
        is_key_pair = not isinstance(value, (str, Pubkey))
        return AccountMeta(key, is_key_pair, False)

    def _address(self, value: object, name: str) -> Pubkey:
        return require_address(value, self._instruction.name, name)


def _meta_in_group(group: RemainingAccounts, key: Pubkey, value: object) -> AccountMeta:
    if not isinstance(value, AccountMeta):
        return AccountMeta(key, bool(group.signer), group.writable)
    signs = value.is_signer or group.signer is True
    return AccountMeta(key, signs, value.is_writable or group.writable)
