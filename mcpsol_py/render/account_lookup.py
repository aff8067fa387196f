"""The accounts of one instruction, found by the names that its constraints use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeGuard

from mcpsol_py.errors import RenderError
from mcpsol_py.items import only
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    Constraints,
    Instruction,
    ProgramModel,
    RemainingAccounts,
)
from mcpsol_py.model.types import Int, Type
from mcpsol_py.render.rust import Rust
from mcpsol_py.solana import ids

__all__ = [
    "AccountLookup",
    "CannotCheck",
    "NamedAccount",
    "Path",
    "RemainingFlags",
    "can_be_number_seed",
    "flatten",
    "is_token_program",
    "need_instructions",
    "remaining_docs",
    "remaining_flags",
]

_NO_CONSTRAINTS = Constraints()

Path: TypeAlias = tuple[str, ...]
Flag: TypeAlias = Literal["signer", "writable"]


class CannotCheck(Exception):
    """The source does not say how to derive an address, so that it cannot be checked."""


@dataclass(frozen=True, slots=True)
class NamedAccount:
    """An account with its Rust name. `path`: the groups that contain it, then its name in the source."""

    path: tuple[str, ...]
    model: Account
    name: Rust
    #: read from the accounts behind the ones that are required
    is_tail: bool = False
    #: the checks that an IDL's relations imply
    implied: Constraints = _NO_CONSTRAINTS

    @property
    def constraints(self) -> Constraints:
        return self.model.constraints or self.implied

    @property
    def stem(self) -> str:
        """The name as a part of other names: without r#."""
        return self.name.removeprefix("r#")


class AccountLookup:
    """Finds accounts by name."""

    def __init__(self, ix: Instruction, accounts: Iterable[NamedAccount]) -> None:
        self.instruction = ix.name
        self.all = list(accounts)
        self.by_path = {account.path: account for account in self.all}
        self._arguments = {value: name for name, value in reversed(ix.arg_values)}

    def find(self, name: str, beside: NamedAccount) -> NamedAccount | None:
        """The account *name* of the same group as *beside*, or else of the whole instruction."""
        for path in ((*beside.path[:-1], name), (name,), tuple(name.split("."))):
            if path in self.by_path:
                return self.by_path[path]
        return None

    def need(self, name: str | None, beside: NamedAccount) -> NamedAccount:
        """Like `find`, but raises RenderError for an unknown name, and without a name."""
        name = name or ""
        found = self.find(name, beside)
        if found is None:
            raise self.refusal(
                beside,
                f"its constraint names {name!r}, but the instruction has no account of that name",
            )
        return found

    def need_given(
        self, name: str | None, beside: NamedAccount, change: str
    ) -> NamedAccount:
        """Like `need`, but raises RenderError too if one of the two may be absent. `change`: what is done with them."""
        found = self.need(name, beside)
        if beside.model.optional or found.model.optional:
            why = f"an account that may be absent cannot be {change}, nor be needed for that"
            raise self.refusal(beside, why)
        return found

    def bump_argument(self, account: NamedAccount) -> str:
        """The argument that gives the bump of the account's address. "" without one, and for accounts of an IDL."""
        if account.model.constraints is None:
            return ""
        return self._arguments.get(AccountBumpValue(account.path), "")

    def required(self, path: tuple[str, ...]) -> NamedAccount | None:
        """The account at *path*; None for an optional or unknown one."""
        found = self.by_path.get(path)
        return None if found is None or found.model.optional else found

    def refusal(self, account: NamedAccount, why: str) -> RenderError:
        """An error about *account*."""
        where = f"{self.instruction}.{'.'.join(account.path)}"
        return RenderError(f"{where}: {why}.", place=(self.instruction, account.path))

    def token_program(self, account: NamedAccount) -> NamedAccount | None:
        """The token program of a token account or mint.

        Its constraint names it, or else it is the only token program that the instruction takes.
        """
        token = account.constraints.token
        if token is not None and token.program is not None:
            return self.need(token.program, account)
        found = [
            x for x in self.all if is_token_program(x.model) and not x.model.optional
        ]
        return only(found)


def is_token_program(account: Account) -> bool:
    """Must the account be one of the two token programs?"""
    allowed = set(account.rules.one_of)
    return account.address in ids.TOKEN_PROGRAMS or allowed == set(ids.TOKEN_PROGRAMS)


def can_be_number_seed(kind: Type, encoding: str | None) -> TypeGuard[Int]:
    """Can the number be a seed in this encoding?"""
    return isinstance(kind, Int) and kind.bits <= 128 and encoding in (None, "be")


def flatten(
    items: tuple[AccountItem, ...], prefix: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], Account]]:
    """The accounts in order, each with its path: the groups that contain it, then its name."""
    accounts: list[tuple[tuple[str, ...], Account]] = []
    for item in items:
        path = (*prefix, item.name)
        if isinstance(item, AccountGroup):
            accounts += flatten(item.accounts, path)
        else:
            accounts.append((path, item))
    return accounts


def need_instructions(model: ProgramModel) -> None:
    """Raises RenderError if the program has no instruction."""
    if not model.instructions:
        name = model.name or "this program"
        raise RenderError(f"{name} has no instruction, so there is nothing to render.")


@dataclass(frozen=True, slots=True)
class RemainingFlags:
    """The flags that each account after the named ones must have, and those that cannot be checked, in words."""

    each: tuple[Flag, ...] = ()
    unchecked: tuple[str, ...] = ()


def remaining_flags(ix: Instruction) -> RemainingFlags:
    """Return what must hold of the accounts after the named ones.

    Nothing says where one list of them ends and the next begins, so with several lists a flag must hold in all.
    """
    lists = {each.name: _flags_of(each) for each in ix.remaining}
    every = set.intersection(*lists.values()) if lists else set()
    open_flags = [
        f"that each of the accounts {name} is a {flag}: nothing says where these accounts begin"
        for name, flags in lists.items()
        for flag in sorted(flags - every)
    ]
    return RemainingFlags(tuple(sorted(every)), tuple(open_flags))


def _flags_of(each: RemainingAccounts) -> set[Flag]:
    flags: dict[Flag, bool] = {"signer": each.signer is True, "writable": each.writable}
    return {flag for flag, is_needed in flags.items() if is_needed}


def remaining_docs(ix: Instruction) -> list[str]:
    """The documentation of the accounts that follow the named ones."""
    docs: list[str] = []
    for remaining in ix.remaining:
        docs += remaining.docs or (f"The accounts {remaining.name}.",)
    return docs
