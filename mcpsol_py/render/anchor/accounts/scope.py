"""What the fields of one instruction's accounts share while they are made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from mcpsol_py.errors import RenderError
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Constraints, Instruction
from mcpsol_py.render.account_lookup import (
    AccountLookup,
    NamedAccount,
    flatten,
    remaining_docs,
    remaining_flags,
)
from mcpsol_py.render.ambiguous import ambiguous_types
from mcpsol_py.render.anchor.names import plain_identifier
from mcpsol_py.render.anchor.structs import StateStruct
from mcpsol_py.render.anchor.types import AnchorTypes, FieldView
from mcpsol_py.render.own_errors import OwnErrors
from mcpsol_py.render.relations import implied_checks
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_array, code, comment, doc
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["AnchorAccount", "AnchorAccounts", "Scope"]

#: What must hold of each account after the named ones.
_REMAINING = {
    "signer": "account.is_signer, anchor_lang::error::ErrorCode::AccountNotSigner",
    "writable": "account.is_writable, anchor_lang::error::ErrorCode::ConstraintMut",
}
_RESERVED = ("ctx", "accounts", "bumps", "program_id", "remaining_accounts")


@dataclass(frozen=True, slots=True)
class AnchorAccount:
    """One field of the struct that derives Accounts."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]
    #: the "CHECK" comment that Anchor requires if it checks nothing by the field's type
    check: tuple[Rust, ...]
    #: the attribute's lines
    attribute: tuple[Rust, ...]


@dataclass(slots=True)
class AnchorAccounts:
    """All accounts of one instruction."""

    fields: list[AnchorAccount] = field(default_factory=list)
    constants: list[Rust] = field(default_factory=list)
    #: the arguments that seeds are made of, and those before them, as "amount: u64"
    arguments: tuple[Rust, ...] = ()
    uses: set[str] = field(default_factory=set)
    #: statements that store bumps in new state before the handler runs
    bumps: list[Rust] = field(default_factory=list)
    init_if_needed: bool = False
    remaining_docs: tuple[Rust, ...] = ()
    #: conditions on each account after the named ones, with Anchor's error
    remaining_checks: tuple[Rust, ...] = ()
    #: types as which each of them must be readable
    remaining_kinds: tuple[Rust, ...] = ()
    #: what the checks leave open, in words
    unchecked: list[str] = field(default_factory=list)

    @property
    def uses_spl(self) -> bool:
        return any("anchor_spl" in path for path in (*self.uses, *self.remaining_kinds))


class Scope:
    """The accounts of one instruction, and the view that is made of them."""

    def __init__(
        self,
        ix: Instruction,
        types: AnchorTypes,
        states: dict[str, StateStruct],
        errors: OwnErrors,
        args: tuple[FieldView, ...],
    ) -> None:
        self.ix = ix
        self.types = types
        self.states = states
        self.errors = errors
        self.args = args
        self.ambiguous = ambiguous_types(types.resolver.model)
        implied = implied_checks(
            ix, types.resolver, states.keys() - self.ambiguous.keys()
        )
        flags = remaining_flags(ix)
        self.view = AnchorAccounts(
            remaining_docs=doc(remaining_docs(ix)),
            remaining_checks=tuple(code(_REMAINING[flag]) for flag in flags.each),
            unchecked=[*flags.unchecked, *implied.unchecked],
        )
        names = IdentifierPool(*_RESERVED, *names_of(args))
        self.accounts = [
            NamedAccount(
                path,
                account,
                plain_identifier(names, "_".join(path), "account"),
                implied=implied.constraints.get(path, Constraints()),
            )
            for path, account in flatten(ix.accounts)
        ]
        self.lookup = AccountLookup(ix, self.accounts)
        self.view.remaining_kinds = tuple(map(code, self._remaining_kinds()))
        self._constants = IdentifierPool()
        self._used_arguments = 0

    def _remaining_kinds(self) -> Iterator[str]:
        """The types of the accounts after the named ones, if they have any."""
        for each in self.ix.remaining:
            a = NamedAccount((each.name,), each.account(each.name), code("account"))
            if a.constraints.state is not None:
                yield f"Account::<crate::state::{self.state(a).view.name}>"
            if a.constraints.token is not None:
                is_classic = self.is_classic_token(a)
                of = "Account" if is_classic else "InterfaceAccount"
                module = "token" if is_classic else "token_interface"
                name = "Mint" if a.constraints.token_kind == "mint" else "TokenAccount"
                yield f"{of}::<anchor_spl::{module}::{name}>"

    def refusal(self, a: NamedAccount, why: str) -> RenderError:
        """An error about the account."""
        return self.lookup.refusal(a, why)

    def state(self, a: NamedAccount) -> StateStruct:
        """The account's type. Raises RenderError if the source does not define it."""
        name = a.constraints.state or ""
        if name not in self.states:
            raise self.refusal(a, f"the account type {name!r} has no form in Anchor")
        if name in self.ambiguous:
            why = self.ambiguous[name]
            raise self.refusal(
                a, f"data of {name} may be of another type, because {why}"
            )
        return self.states[name]

    def is_classic_token(self, a: NamedAccount) -> bool:
        """Is it a token account or mint of SPL Token, and of no other token program?"""
        program = self.lookup.token_program(a)
        return program is not None and program.model.address == ids.TOKEN_PROGRAM

    @cached_property
    def has_both_token_programs(self) -> bool:
        """Are some token accounts and mints of SPL Token only, and others not?

        Anchor has types of one name for the two, and a file can import only one of them.
        """
        held = [a for a in self.accounts if a.constraints.token is not None]
        return len(set(map(self.is_classic_token, held))) > 1

    def has_own_error(self, a: NamedAccount, check: str) -> bool:
        """Does the program have an error of its own for a failed *check*?"""
        return self.errors.for_check(a.constraints.errors, check) is not None

    def fault(self, a: NamedAccount, check: str, otherwise: str = "") -> str:
        """The end of a constraint, " @ error": the program's own error, or else Anchor's error *otherwise*.

        Empty without either: Anchor then has the right error itself.
        """
        own = self.errors.for_check(a.constraints.errors, check)
        if own is not None:
            self.view.uses.add(f"crate::error::{self.errors.enum}")
            return f" @ {own}"
        return f" @ anchor_lang::error::ErrorCode::{otherwise}" if otherwise else ""

    def constant(self, a: NamedAccount, suffix: str, text: str) -> Rust:
        """A named constant for an address. Raises RenderError."""
        try:
            data = address_bytes(text)
        except ValueError as error:
            raise self.refusal(a, f"{text!r} is not an address: {error}") from error
        name = self._constants.take(f"{a.name} {suffix}".strip(), "screaming")
        self.view.constants += [
            code(""),
            *comment([text]),
            code(f"const {name}: Pubkey = Pubkey::new_from_array({byte_array(data)});"),
        ]
        return name

    def address_of(self, name: str, beside: NamedAccount, purpose: str) -> str:
        """The address of the account *name*, or of a constant if *name* is an address."""
        named = self.lookup.find(name, beside)
        return (
            self.constant(beside, purpose, name)
            if named is None
            else self.given_key(named)
        )

    def given_key(self, a: NamedAccount) -> str:
        """The expression for the address of an account that a check compares, so that it cannot be left out."""
        if not a.model.optional:
            return f"{a.name}.key()"
        error = "anchor_lang::error::ErrorCode::ConstraintAccountIsNone"
        return f"{a.name}.as_ref().ok_or({error})?.key()"

    def argument(self, index: int) -> Rust:
        """An argument as the struct of accounts knows it. Arguments up to this one are declared there."""
        self._used_arguments = max(self._used_arguments, index + 1)
        return self.args[index].name

    def declared_arguments(self) -> tuple[Rust, ...]:
        """The arguments that the struct of accounts declares."""
        return tuple(
            code(f"{arg.name}: {arg.type}") for arg in self.args[: self._used_arguments]
        )

    def need_called(self, a: NamedAccount, name: str, address: str) -> None:
        """Raises RenderError without this program's account: Anchor looks for it by its name."""
        for other in self.accounts:
            model = other.model
            if other.name == name and model.address == address and not model.optional:
                return
        raise self.refusal(
            a,
            f"Anchor creates it with an account that must be called {name}; add that account",
        )
