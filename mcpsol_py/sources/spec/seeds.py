"""The seeds and bumps of derived addresses in a spec."""

from __future__ import annotations

from mcpsol_py.errors import SourceError, UnresolvedName, abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.program import (
    AccountBumpValue,
    AccountSeed,
    ArgSeed,
    ConstSeed,
    ConstValue,
    Pda,
    Seed,
)
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import BORSH_BYTES, BORSH_STRING, U8, Link, Type
from mcpsol_py.solana.base58 import address_bytes
from mcpsol_py.sources import spec_words as words
from mcpsol_py.sources.spec.parameters import (
    AccountParameter,
    Parameters,
    check_address,
)

__all__ = ["SeedReader"]

_MAX_SEED = 32
_MAX_SEEDS = 15
_ATA_PROGRAM = ConstValue(words.AssociatedTokenProgram.mcpsol_address)


class SeedReader:
    """Reads `seeds(…)` and `associated(…)` of the accounts of one instruction."""

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    def pda(self, word: words.seeds, p: AccountParameter) -> Pda:
        """Read `seeds(…)` of the account *p*."""
        if not word.seeds:
            raise SourceError("seeds(…) needs at least one seed.")
        if len(word.seeds) > _MAX_SEEDS:
            raise SourceError(
                f"an address is derived from at most {_MAX_SEEDS} seeds and the bump, not"
                f" {len(word.seeds)}."
            )
        program = None
        if word.program is not None:
            program = ConstValue(check_address(word.program))
        found = tuple(self.seed(value, p) for value in word.seeds)
        return Pda(found, program, bump=self.bump(word.bump, p))

    # --- bumps

    def bump(self, name: str | None, p: AccountParameter) -> str | None:
        """Return the field of the state that keeps the bump, or None if the bump is searched or
        given.

        An argument that gives the bump is recorded, so that clients fill it in.
        """
        if name is None:
            return None
        given = self.parameters.argument(name)
        kept = p.is_state and name in self.parameters.fields_of(p)
        if given is not None and not kept:
            self._given_bump(name, given.type, p)
            return None
        kind = self.parameters.field_type(p, name)
        if kind != U8:
            raise SourceError(
                f"the bump is kept in a u8; {name!r} is a {type_text(kind)}."
            )
        return name

    def _given_bump(self, name: str, kind: Type, p: AccountParameter) -> None:
        if p.has(words.init):
            raise SourceError(
                "a new account's bump is searched: another bump would give another address."
            )
        if any(name == arg for arg, _ in self.parameters.bumps):
            raise SourceError(f"{name!r} gives another account's bump already.")
        self.parameters.bumps.append((name, AccountBumpValue(p.path)))
        if kind != U8:
            raise SourceError(
                f"the bump is given as a u8; {name!r} is a {type_text(kind)}."
            )

    # --- seeds

    def seed(self, value: object, p: AccountParameter) -> Seed:
        """Read one seed: bytes, a constant, or the name of an account, an argument or a field of
        either.
        """
        if isinstance(value, words.constant):
            value = value.value
        if isinstance(value, bytes):
            return _bytes_seed(value)
        if not isinstance(value, str):
            raise SourceError(f"a seed is bytes or a name, not {abbr(value)}.")
        account = self.parameters.find(value, p.path)
        if account is not None:
            if account == p.path:
                raise SourceError("an address cannot be a seed of itself.")
            return AccountSeed(account)
        return self._field_or_argument(value, p)

    def _field_or_argument(self, value: str, p: AccountParameter) -> Seed:
        head, *rest = value.split(".")
        owner = self.parameters.find(head, p.path)
        if owner is not None and rest:
            return self._field_seed(value, self.parameters.accounts[owner], rest)
        arg = self.parameters.argument(head)
        if arg is not None:
            kind = self._inner_type(arg.type, rest)
            self._check_seed_type(kind, value)
            return ArgSeed((head, *rest), kind)
        names = [*self.parameters.account_names(), *names_of(self.parameters.args)]
        raise UnresolvedName("account or argument", head, names)

    def _field_seed(self, value: str, owner: AccountParameter, rest: list[str]) -> Seed:
        if len(rest) > 1:
            raise SourceError(
                f"{value!r} goes too deep: a seed takes a direct field of the account's state."
            )
        kind = self.parameters.field_type(owner, rest[0])
        self._check_seed_type(kind, value)
        return AccountSeed(owner.path, tuple(rest), owner.base.__name__, kind)

    def _inner_type(self, kind: Type, steps: list[str]) -> Type:
        """Return the type of a field within an argument."""
        for step in steps:
            fields = self.parameters.definitions.fields_of(kind)
            if step not in fields:
                raise UnresolvedName("field", step, fields)
            kind = fields[step]
        return kind

    def _check_seed_type(self, kind: Type, name: str) -> None:
        if kind in (BORSH_STRING, BORSH_BYTES):
            return
        size = fixed_size(self.parameters.definitions.resolver(), kind)
        if size is None or size > _MAX_SEED or isinstance(kind, Link):
            raise SourceError(
                f"{name!r} is a {type_text(kind)}; a seed is a number, an address, text or at most"
                f" {_MAX_SEED} bytes."
            )

    # --- associated token accounts

    def associated_pda(self, word: words.associated, p: AccountParameter) -> Pda:
        """Return the address of the associated token account that *word* describes."""
        authority = self.parameters.need(word.authority, p.path).path
        mint = self.parameters.need(word.mint, p.path).path
        return Pda(
            (
                AccountSeed(authority),
                self._token_program(word.program, p),
                AccountSeed(mint),
            ),
            _ATA_PROGRAM,
        )

    def _token_program(self, named: str | None, p: AccountParameter) -> Seed:
        if named is not None:
            return AccountSeed(self.parameters.need(named, p.path).path)
        found = self.parameters.token_program()
        if found is not None:
            return AccountSeed(found.path)
        return ConstSeed(address_bytes(words.TokenProgram.mcpsol_address or ""))


def _bytes_seed(value: bytes) -> Seed:
    if len(value) > _MAX_SEED:
        raise SourceError(f"a seed has at most {_MAX_SEED} bytes, not {len(value)}.")
    return ConstSeed(value)
