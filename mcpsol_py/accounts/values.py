"""Values that a source gives to accounts and arguments: constants, arguments, wallets, conditions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.seeds import derive
from mcpsol_py.accounts.state import read_field
from mcpsol_py.errors import MissingAccount
from mcpsol_py.model.program import (
    AccountBumpValue,
    AccountValue,
    ArgValue,
    ConditionalValue,
    ConstValue,
    IdentityValue,
    PayerValue,
    PdaValue,
    ProgramIdValue,
    ResolverValue,
    Value,
)
from mcpsol_py.names import letters

if TYPE_CHECKING:
    from mcpsol_py.accounts.resolution import Resolution

__all__ = ["value_of"]


def value_of(resolution: Resolution, value: Value, leaf: Leaf) -> Any:
    """Return *value* for the account *leaf*, or None if the source gives none in this case.

    Raises MissingAccount or PdaError if it cannot be found.
    """
    return _READERS[type(value)](resolution, value, leaf)


def _constant(resolution: Resolution, value: ConstValue, leaf: Leaf) -> Any:
    return value.value


def _argument(resolution: Resolution, value: ArgValue, leaf: Leaf) -> Any:
    return resolution.arguments.find(value.path).value


def _account(resolution: Resolution, value: AccountValue, leaf: Leaf) -> Any:
    if value.field:
        return read_field(
            resolution, value.account, value.field, value.account_type, leaf, "it"
        ).value
    index = _locate(resolution, value.account, leaf, "it is account")
    if resolution.plan.leaves[index].account.optional:
        return resolution.resolve(index)
    return resolution.address_at(value.account, leaf, "it")


def _bump(resolution: Resolution, value: AccountBumpValue, leaf: Leaf) -> int:
    index = _locate(resolution, value.account, leaf, "it is the bump of account")
    other = resolution.plan.leaves[index]
    pda, default = other.account.pda, other.account.default
    if pda is None and isinstance(default, PdaValue):
        pda = default.pda
    why = f"it is the bump of account {other.name!r}, which has no seeds"
    return derive(resolution, resolution.require(pda, leaf, why), other)[1]


def _program_id(resolution: Resolution, value: ProgramIdValue, leaf: Leaf) -> Pubkey:
    return resolution.program_id


def _identity(resolution: Resolution, value: IdentityValue, leaf: Leaf) -> Pubkey:
    why = "it is the acting wallet, and no wallet was given"
    return resolution.require(resolution.wallet, leaf, why)


def _payer(resolution: Resolution, value: PayerValue, leaf: Leaf) -> Pubkey:
    why = "it is the paying wallet, and no wallet was given"
    return resolution.require(resolution.payer, leaf, why)


def _derived(resolution: Resolution, value: PdaValue, leaf: Leaf) -> Pubkey:
    return derive(resolution, value.pda, leaf)[0]


def _from_resolver(resolution: Resolution, value: ResolverValue, leaf: Leaf) -> Any:
    resolver = resolution.resolvers.get(value.name)
    if resolver is None:
        needs = f" (from {', '.join(value.depends)})" if value.depends else ""
        why = (
            f"the IDL leaves it to a resolver {value.name!r}{needs}, and none was given"
        )
        raise resolution.missing(leaf, why)
    return resolver(resolution)


def _conditional(resolution: Resolution, value: ConditionalValue, leaf: Leaf) -> Any:
    chosen = value.then if _holds(resolution, value, leaf) else value.otherwise
    return None if chosen is None else value_of(resolution, chosen, leaf)


_READERS: Mapping[type[Any], Callable[[Resolution, Any, Leaf], Any]] = {
    ConstValue: _constant,
    ArgValue: _argument,
    AccountValue: _account,
    AccountBumpValue: _bump,
    ProgramIdValue: _program_id,
    IdentityValue: _identity,
    PayerValue: _payer,
    PdaValue: _derived,
    ResolverValue: _from_resolver,
    ConditionalValue: _conditional,
}


def _locate(
    resolution: Resolution, path: tuple[str, ...], leaf: Leaf, role: str
) -> int:
    index = resolution.plan.locate(path, leaf)
    if index is None:
        why = f"{role} {'.'.join(path)!r}, which the instruction does not have"
        raise resolution.missing(leaf, why)
    return index


# --- conditions ------------------------------------------------------------------------------------


def _holds(resolution: Resolution, conditional: ConditionalValue, leaf: Leaf) -> bool:
    found = _condition(resolution, conditional.condition, leaf)
    if conditional.equals is None:
        return found is not None and found is not False
    return _equals(_name_of_variant(found), _name_of_variant(conditional.equals))


def _condition(resolution: Resolution, condition: Value, leaf: Leaf) -> Any:
    """Return the value of a condition. It is None for an account that is absent or unknown."""
    if not isinstance(condition, AccountValue) or condition.field:
        return value_of(resolution, condition, leaf)
    index = resolution.plan.locate(condition.account, leaf)
    if index is None or resolution.is_open(index):
        return None
    try:
        return resolution.resolve(index)
    except MissingAccount:
        return None


def _name_of_variant(value: Any) -> Any:
    """Return the name of a variant in the form {name: payload}, or any other value as it is."""
    return (
        next(iter(value)) if isinstance(value, Mapping) and len(value) == 1 else value
    )


def _equals(found: Any, wanted: Any) -> bool:
    """Compare an argument, in Python or JSON form, with the JSON form of a constant."""
    kinds = {type(found), type(wanted)}
    if kinds & {bool, type(None)}:
        return found is wanted
    if kinds == {str}:
        return letters(found) == letters(wanted)
    return str(found) == str(wanted)
