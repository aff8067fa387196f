"""Reads a field of another account's data, for addresses that depend on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.members import member_at
from mcpsol_py.codec.account import decode_account
from mcpsol_py.errors import McpsolError, MissingAccount
from mcpsol_py.model.types import Type
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.tokens import state_field

if TYPE_CHECKING:
    from mcpsol_py.accounts.resolution import AccountData, Resolution

__all__ = ["StateField", "read_field"]

_Path = tuple[str, ...]
_TOKEN_PROGRAMS = (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)


class StateField(NamedTuple):
    """A field's type, its value, and its bytes. A token account's field has bytes and no type."""

    type: Type | None
    value: Any
    raw: bytes | None = None


def read_field(
    resolution: Resolution,
    account: _Path,
    field: _Path,
    account_type: str | None,
    leaf: Leaf,
    role: str,
) -> StateField:
    """Return *field* of the data of *account*, which *leaf* needs.

    *account_type*: the type of the data, by default the one of its discriminator. *role*: what the
    field is to *leaf*, for errors. Raises MissingAccount.
    """
    what = f"{role} is the field {'.'.join(field)!r} of account {'.'.join(account)!r}"
    return _FieldReader(resolution, leaf, what).read(
        resolution.address_at(account, leaf, role), field, account_type
    )


class _FieldReader:
    """Reads one field. `what` describes it in errors."""

    def __init__(self, resolution: Resolution, leaf: Leaf, what: str) -> None:
        self.resolution = resolution
        self.plan = resolution.plan
        self.leaf = leaf
        self.what = what

    def read(self, key: Pubkey, field: _Path, account_type: str | None) -> StateField:
        account = self._fetched(key)
        found = self._token_field(account, field, account_type)
        if found is not None:
            return found
        self._check_own(key, account, account_type)
        return self._own_field(account, field, account_type)

    def _fetched(self, key: Pubkey) -> AccountData:
        if not self.resolution.online:
            raise self._missing(", which must be read from the chain")
        account = self.resolution.account_data(key)
        if account is None:
            raise self._missing(f", and {key} does not exist")
        return account

    def _token_field(
        self, account: AccountData, field: _Path, account_type: str | None
    ) -> StateField | None:
        """Return a field of a token account or mint, or None for another account."""
        if self._is_own_type(account_type) and account.owner not in _TOKEN_PROGRAMS:
            return None
        found = (
            state_field(account_type, field[0], account) if len(field) == 1 else None
        )
        return None if found is None else StateField(None, value=found[1], raw=found[0])

    def _check_own(
        self, key: Pubkey, account: AccountData, account_type: str | None
    ) -> None:
        """Raise MissingAccount if this program cannot decode the account."""
        if account_type is not None and not self._is_own_type(account_type):
            raise self._missing(
                f", of type {account_type!r}, which this program does not define"
            )
        if account.owner != (self.plan.facade_of or self.resolution.program_id):
            raise self._missing(f", and {key} belongs to program {account.owner}")

    def _is_own_type(self, account_type: str | None) -> bool:
        return (
            account_type is not None and self.plan.state_type(account_type) is not None
        )

    def _own_field(
        self, account: AccountData, field: _Path, account_type: str | None
    ) -> StateField:
        try:
            name, state = decode_account(
                self.plan.codecs, bytes(account.data), account_type
            )
        except McpsolError as error:
            raise self._missing(f": {error}") from error
        state_type = self.plan.state_type(name)
        node = self.plan.walk_type(state_type, field)
        value = member_at(state, field)
        if value is None or node is None:
            raise self._missing(f", and {name} has no such field")
        return StateField(node, value)

    def _missing(self, why: str) -> MissingAccount:
        return self.resolution.missing(self.leaf, self.what + why)
