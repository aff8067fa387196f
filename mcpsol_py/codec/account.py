"""Account data: the discriminator, then the fields. Bytes after them are allowed.

Accounts are often longer than their state.
"""

from __future__ import annotations

from typing import Any

from mcpsol_py.codec.compiled import Codecs, Data, as_bytes
from mcpsol_py.codec.discriminator import Finder, check_discriminator, leading
from mcpsol_py.errors import CodecError, DecodeError, NotUsable, UnknownName
from mcpsol_py.items import items_by_name, names_of
from mcpsol_py.model.program import AccountType, Discriminator, ProgramModel
from mcpsol_py.names import ByName

__all__ = ["AccountCodec", "decode_account", "find_account"]


class AccountCodec:
    """Encodes and decodes the data of one account type."""

    def __init__(self, codecs: Codecs, account: AccountType) -> None:
        self.account = account
        self.discriminator = leading(account.name, account.discriminator)
        self._start = len(self.discriminator)
        #: discriminators to check, if the leading bytes are not all
        self._checked: tuple[Discriminator, ...] = ()
        if account.also or not account.discriminator.consumed:
            self._checked = (account.discriminator, *account.also)
        self.codec = codecs.codec_of("account", account.name, account.type)

    @property
    def size(self) -> int | None:
        """The bytes of a whole account with its discriminator, or None if they vary.

        The source's size wins over the size of the type.
        """
        if self.account.size is not None:
            return self.account.size
        fixed = self.codec.fixed_size
        return None if fixed is None else len(self.discriminator) + fixed

    def encode(self, value: dict[str, Any]) -> bytes:
        """Return the discriminator and the fields. Raises EncodeError."""
        try:
            return self.discriminator + self.codec.encode(value)
        except CodecError as error:
            raise error.under(self.account.name) from None

    def encode_json(self, value: dict[str, Any]) -> bytes:
        """Return the bytes of a value that came over JSON. Raises EncodeError."""
        try:
            return self.discriminator + self.codec.encode_json(value)
        except CodecError as error:
            raise error.under(self.account.name) from None

    def decode(self, data: Data) -> Any:
        """Return the fields, and ignore the bytes after them. Raises DecodeError."""
        try:
            if type(data) is not bytes:
                data = as_bytes(data)
            if self._checked or not data.startswith(self.discriminator):
                self._check(data)
            return self.codec.decode_from(data, self._start)[0]
        except CodecError as error:
            raise error.under(self.account.name) from None

    def _check(self, data: bytes) -> None:
        """Raise DecodeError if a discriminator is not in *data*.

        A size distinguishes account types, but an account may be longer.
        """
        for discriminator in self._checked or (self.account.discriminator,):
            if discriminator.value:
                check_discriminator(discriminator, data)

    def decode_json(self, data: Data) -> Any:
        """Return the fields in the JSON forms. Raises DecodeError."""
        return self.codec.to_json(self.decode(data))


class _Accounts:
    """A program's account types: finds them by data or name, and makes each codec once."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self._made: dict[int, AccountCodec] = {}
        self._named: dict[str, AccountType] = {}
        self.find = Finder(codecs.model.accounts, self._fits).find

    def named(self, name: str) -> AccountType:
        found = self._named.get(name)
        if found is None:
            found = self._named[name] = account_named(self.codecs.model, name)
        return found

    def codec(self, account: AccountType) -> AccountCodec:
        found = self._made.get(id(account))
        if found is None:
            found = self._made[id(account)] = AccountCodec(self.codecs, account)
        return found

    def _fits(self, account: AccountType, data: bytes) -> bool:
        try:
            codec = self.codec(account)
            codec.decode(data)
        except (CodecError, NotUsable):
            return False
        return codec.size in (None, len(data))


def find_account(codecs: Codecs, data: Data) -> AccountType | None:
    """Return the account type that *data* belongs to, or None.

    The longest discriminator wins, then the size.
    """
    return codecs.kept(_Accounts).find(as_bytes(data))


def account_named(model: ProgramModel, name: str) -> AccountType:
    """Return the account type of that name, in any case style. Raises UnknownName."""
    known = items_by_name(reversed(model.accounts))
    account = ByName(known).get(name)
    if account is None:
        raise UnknownName("account type", name, names_of(model.accounts))
    return account


def decode_account(
    codecs: Codecs, data: Data, name: str | None = None
) -> tuple[str, Any]:
    """Return the name of the account type, and the fields.

    *name* is the account type; by default the data decides it. Raises DecodeError, UnknownName (no
    type has that name) or NotUsable (the type cannot be decoded).
    """
    accounts = codecs.kept(_Accounts)
    if name is not None:
        account = accounts.named(name)
        return account.name, accounts.codec(account).decode(data)
    data = as_bytes(data)
    found = accounts.find(data)
    if found is None:
        known = len(codecs.model.accounts)
        expected = f"expected one of the program's {known} account types"
        message = f"{expected}, got {len(data)} bytes starting 0x{data[:8].hex()}"
        raise DecodeError(message, left=len(data))
    return found.name, accounts.codec(found).decode(data)
