"""The type of an account's field, and what Anchor checks by it."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.render.account_lookup import NamedAccount
from mcpsol_py.render.anchor.accounts.scope import Scope
from mcpsol_py.solana import ids

__all__ = ["FieldType", "field_type"]

#: Programs that Anchor has a type for, and the paths of these types outside of its prelude.
_PROGRAMS = {
    ids.SYSTEM_PROGRAM: ("System", ""),
    ids.TOKEN_PROGRAM: ("Token", "anchor_spl::token::Token"),
    ids.TOKEN_2022_PROGRAM: ("Token2022", "anchor_spl::token_2022::Token2022"),
    ids.ASSOCIATED_TOKEN_PROGRAM: (
        "AssociatedToken",
        "anchor_spl::associated_token::AssociatedToken",
    ),
}


@dataclass(frozen=True, slots=True)
class FieldType:
    """A field's type."""

    text: str
    #: Anchor checks the account by its type, so that the field needs no "CHECK" comment
    is_checked: bool = True
    #: Anchor checks by the type that it is the right program
    checks_program: bool = False
    #: a constraint that goes with the type
    items: tuple[str, ...] = ()
    #: the type's path, if it has to be imported
    path: str = ""

    @property
    def can_be_boxed(self) -> bool:
        return self.text.startswith(("Account<", "InterfaceAccount<"))


def field_type(scope: Scope, a: NamedAccount) -> FieldType:
    """The type of the account's field. Raises RenderError."""
    found = _find(scope, a)
    if found.path:
        scope.view.uses.add(found.path)
    return found


def _find(scope: Scope, a: NamedAccount) -> FieldType:
    if a.constraints.state is not None:
        return _state(scope, a)
    if a.constraints.token is not None:
        return _token(scope, a)
    return _program(scope, a) or _signer_or_system(scope, a)


def _state(scope: Scope, a: NamedAccount) -> FieldType:
    name = scope.state(a).view.name
    path = f"crate::state::{name}"
    return FieldType(f"Account<'info, {name}>", items=_signing(scope, a), path=path)


def _signing(scope: Scope, a: NamedAccount) -> tuple[str, ...]:
    """The constraint that an existing account signs, if its type does not check that."""
    if a.model.signer is not True or a.constraints.init is not None:
        return ()
    return (f"signer{scope.fault(a, 'signer', 'AccountNotSigner')}",)


def _token(scope: Scope, a: NamedAccount) -> FieldType:
    name = "Mint" if a.constraints.token_kind == "mint" else "TokenAccount"
    if scope.is_classic_token(a) and not scope.has_both_token_programs:
        kind, module = "Account", "token"
    else:
        kind, module = "InterfaceAccount", "token_interface"
    path = f"anchor_spl::{module}::{name}"
    return FieldType(f"{kind}<'info, {name}>", items=_signing(scope, a), path=path)


def _program(scope: Scope, a: NamedAccount) -> FieldType | None:
    """The type of a known program, or of either token program, if Anchor's error is the right one."""
    if scope.has_own_error(a, "address") or a.model.signer is True:
        return None
    known = _PROGRAMS.get(a.model.address or "")
    if known is not None and a.constraints.executable:
        name, path = known
        return FieldType(f"Program<'info, {name}>", checks_program=True, path=path)
    if set(a.constraints.one_of) == set(ids.TOKEN_PROGRAMS):
        path = "anchor_spl::token_interface::TokenInterface"
        return FieldType(
            "Interface<'info, TokenInterface>", checks_program=True, path=path
        )
    return None


def _signer_or_system(scope: Scope, a: NamedAccount) -> FieldType:
    is_system = a.constraints.owner == ids.SYSTEM_PROGRAM
    if a.model.signer is True:
        if scope.has_own_error(a, "signer"):
            items = (f"signer{scope.fault(a, 'signer')}",)
            return FieldType("UncheckedAccount<'info>", is_checked=False, items=items)
        # the type does not check the owner, so an attribute has to
        return FieldType("Signer<'info>", is_checked=not is_system)
    if is_system and not scope.has_own_error(a, "owner"):
        return FieldType("SystemAccount<'info>")
    return FieldType("UncheckedAccount<'info>", is_checked=False)
