"""Account data: the discriminator, then the fields; bytes behind them are allowed, since accounts are often longer
than their state."""

from __future__ import annotations

from typing import Any

from mcpsol_py.codec.compiled import Codecs, Data, as_bytes
from mcpsol_py.codec.discriminator import Finder, check_discriminator, leading
from mcpsol_py.errors import CodecError, DecodeError, NotUsable, UnknownName
from mcpsol_py.model.program import AccountType, ProgramModel
from mcpsol_py.names import forms

__all__ = ["AccountCodec", "decode_account", "find_account"]


class AccountCodec:
    """One account type's data."""

    def __init__(self, codecs: Codecs, account: AccountType) -> None:
        self.account = account
        self.discriminator = leading(account.name, account.discriminator)
        self._start = len(self.discriminator)
        #: more to check than the leading bytes
        self._checks = bool(account.also) or not account.discriminator.consumed
        try:
            self.codec = codecs.codec(account.type)
        except NotUsable as error:
            raise NotUsable("account", account.name, error.why) from None

    @property
    def size(self) -> int | None:
        """The whole account in bytes, discriminator included: what the source says, else what the type takes if that
        is fixed."""
        if self.account.size is not None:
            return self.account.size
        fixed = self.codec.fixed_size
        return None if fixed is None else len(self.discriminator) + fixed

    def encode(self, value: dict[str, Any]) -> bytes:
        """Discriminator and fields. Raises EncodeError."""
        try:
            return self.discriminator + self.codec.encode(value)
        except CodecError as error:
            raise error.under(self.account.name) from None

    def encode_json(self, value: dict[str, Any]) -> bytes:
        """The same for a value that came over JSON. Raises EncodeError."""
        try:
            return self.discriminator + self.codec.encode_json(value)
        except CodecError as error:
            raise error.under(self.account.name) from None

    def decode(self, data: Data) -> Any:
        """The fields; what stands behind them is not looked at. Raises DecodeError."""
        try:
            if self._checks or type(data) is not bytes or not data.startswith(self.discriminator):
                data = as_bytes(data)
                for discriminator in (self.account.discriminator, *self.account.also):
                    if (
                        discriminator.value
                    ):  # a size tells account types apart, it refuses no longer account
                        check_discriminator(discriminator, data)
            return self.codec.decode_from(data, self._start)[0]
        except CodecError as error:
            raise error.under(self.account.name) from None

    def decode_json(self, data: Data) -> Any:
        """The fields in the JSON forms. Raises DecodeError."""
        return self.codec.to_json(self.decode(data))


class _Accounts:
    """A program's account types: found by data or name, their codecs made once."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self._made: dict[int, AccountCodec] = {}
        self._named: dict[str, AccountType] = {}
        self._finder = Finder(codecs.model.accounts, self._fits)

        self.find = self._finder.find

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
    """The account type that *data* is of: by the longest discriminator that matches, then by size; None if none
    does."""
    return codecs.kept(_Accounts).find(as_bytes(data))


def account_named(model: ProgramModel, name: str) -> AccountType:
    """The account type of that name, in any case form. Raises UnknownName."""
    for account in model.accounts:
        if account.name == name:
            return account
    wanted = set(forms(name))
    near = [account for account in model.accounts if wanted & set(forms(account.name))]
    if len(near) == 1:
        return near[0]
    raise UnknownName("account type", name, [a.name for a in model.accounts])


def decode_account(codecs: Codecs, data: Data, name: str | None = None) -> tuple[str, Any]:
    """The account type's name and the fields; *name* says which type it is, else the data does.

    Raises DecodeError, UnknownName (no type of that name) or NotUsable (a type that cannot be decoded).
    """
    accounts = codecs.kept(_Accounts)
    if name is not None:
        account = accounts.named(name)
    else:
        data = as_bytes(data)
        found = accounts.find(data)
        if found is None:
            known = len(codecs.model.accounts)
            raise DecodeError(
                f"{len(data)} bytes starting 0x{data[:8].hex()} are none of the program's {known} account types",
                left=len(data),
            )
        account = found
    return account.name, accounts.codec(account).decode(data)
