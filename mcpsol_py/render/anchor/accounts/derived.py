"""The constraints of derived addresses: seeds, bump and program."""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.items import names_of
from mcpsol_py.model.program import (
    AccountSeed,
    AccountValue,
    ArgSeed,
    ConstSeed,
    ConstValue,
    Pda,
    ProgramIdSeed,
    ProgramIdValue,
    Seed,
)
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    Amount,
    Field,
    Struct,
    Type,
    is_bytes,
)
from mcpsol_py.names import snake
from mcpsol_py.render.account_lookup import (
    CannotCheck,
    NamedAccount,
    can_be_number_seed,
)
from mcpsol_py.render.anchor.accounts.scope import Scope
from mcpsol_py.render.anchor.types import fields_of
from mcpsol_py.render.rust import byte_string, code
from mcpsol_py.render.type_traits import byte_order

__all__ = ["derived_address"]


def derived_address(scope: Scope, a: NamedAccount) -> Iterator[str]:
    """The constraints of the account's derived address. Raises RenderError if a spec's cannot be checked.

    An IDL may not say how an address is derived; no target checks it then. Anchor derives the address of an
    associated token account itself.
    """
    pda = a.model.pda
    if pda is None:
        return
    try:
        seeds = [_seed(scope, seed) for seed in pda.seeds]
        if a.constraints.token_kind == "associated":
            return
        program = _program(scope, a, pda)
    except CannotCheck as why:
        if a.model.constraints is not None:
            raise scope.refusal(a, str(why)) from why
        scope.view.unchecked.append(f"the address of {a.name}, because {why}")
        return
    yield f"seeds = [{', '.join(seeds)}]"
    yield _bump(scope, a, pda)
    if program:
        yield f"seeds::program = {program}"


def _bump(scope: Scope, a: NamedAccount, pda: Pda) -> str:
    """The bump: from the account's state, from an argument, or else Anchor searches it."""
    if pda.bump is not None and a.constraints.state is not None:
        return _stored_bump(scope, a, pda.bump)
    index = _bump_argument(scope, a)
    return "bump" if index is None else f"bump = {scope.argument(index)}"


def _stored_bump(scope: Scope, a: NamedAccount, field: str) -> str:
    """The bump of existing state. In new state, it is stored before the handler runs."""
    place = f"{a.name}.{scope.state(a).field_name(field)}"
    if a.constraints.init is None:
        return f"bump = {place}"
    scope.view.bumps.append(code(f"ctx.accounts.{place} = ctx.bumps.{a.name};"))
    return "bump"


def _bump_argument(scope: Scope, a: NamedAccount) -> int | None:
    """The index of the argument that gives the bump of an existing account."""
    name = scope.lookup.bump_argument(a)
    if a.constraints.init is not None or not name:
        return None
    return names_of(scope.ix.args).index(name)


def _program(scope: Scope, a: NamedAccount, pda: Pda) -> str:
    """The program that the address is derived for; empty for this one. Raises CannotCheck."""
    match pda.program:
        case None | ProgramIdValue():
            return ""
        case ConstValue(str(text), _):
            return scope.address_of(text, a, "seeds_program")
        case AccountValue(account=path, field=()):
            owner = scope.lookup.required(path)
            if owner is not None:
                return f"{owner.name}.key()"
    raise CannotCheck("the source does not say which program owns it")


# --- seeds --------------------------------------------------------------------------------------------------------


def _seed(scope: Scope, seed: Seed) -> str:
    """The expression for a seed. Raises CannotCheck."""
    match seed:
        case ConstSeed(value):
            return f"{byte_string(value)}.as_ref()"
        case ProgramIdSeed():
            return "crate::ID.as_ref()"
        case AccountSeed(sort=None):
            return _account_seed(scope, seed)
        case ArgSeed(path, _, encoding):
            return _argument_seed(scope, path, encoding)
    raise CannotCheck("the source does not say how it is derived")


def _account_seed(scope: Scope, seed: AccountSeed) -> str:
    owner = scope.lookup.required(seed.account)
    if owner is None:
        raise CannotCheck(
            "a seed is an account that this instruction does not always have"
        )
    if not seed.field:
        return f"{owner.name}.key().as_ref()"
    if (
        len(seed.field) > 1
        or owner.constraints.state is None
        or owner.constraints.init is not None
    ):
        raise CannotCheck("a seed is a field of another account")
    fields = scope.state(owner).body.fields
    field, name = _field(fields, seed.field[0], "a seed is a field of another account")
    return _value_seed(scope, f"{owner.name}.{name}", field.type, seed.encoding)


def _field(fields: tuple[Field, ...], name: str, otherwise: str) -> tuple[Field, str]:
    """The field *name* and its Rust name. Raises CannotCheck with *otherwise*."""
    for field in fields:
        if snake(field.name) == snake(name):
            return field, fields_of(fields)[field.name]
    raise CannotCheck(otherwise)


def _argument_seed(scope: Scope, path: tuple[str, ...], encoding: str | None) -> str:
    missing = "a seed is an argument that does not exist"
    if not path:
        raise CannotCheck(missing)
    argument, _ = _field(scope.ix.args, path[0], missing)
    text: str = scope.argument(scope.ix.args.index(argument))
    kind = argument.type
    for step in path[1:]:
        node = scope.types.resolver.target(kind)
        field, name = _field(
            node.fields if isinstance(node, Struct) else (), step, missing
        )
        text, kind = f"{text}.{name}", field.type
    return _value_seed(scope, text, kind, encoding)


def _value_seed(scope: Scope, text: str, kind: Type, encoding: str | None) -> str:
    """A value of type *kind* as a seed. Raises CannotCheck."""
    node = scope.types.resolver.target(kind)
    number = node.number if isinstance(node, Amount) else node
    if number == BORSH_STRING:
        return f"{text}.as_bytes()"
    if number in (PUBKEY, BORSH_BYTES) or is_bytes(number):
        return f"{text}.as_ref()"
    if can_be_number_seed(number, encoding):
        return f"{text}.to_{byte_order(number, encoding)}_bytes().as_ref()"
    raise CannotCheck("a seed has a type that cannot be a seed")
