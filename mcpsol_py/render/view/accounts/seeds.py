"""One seed of a derived address: as an expression during validation, and as one in the handler."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.model.program import AccountSeed, ArgSeed, ConstSeed, ProgramIdSeed, Seed
from mcpsol_py.model.types import (
    BORSH_BYTES,
    BORSH_STRING,
    PUBKEY,
    Amount,
    Array,
    Bytes,
    Field,
    Int,
    SizePrefixed,
    String,
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
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_string, code, doc
from mcpsol_py.render.type_traits import byte_order
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.render.view.accounts.views import Kept

__all__ = ["SeedForm", "seed_form"]

#: The longest seed that the runtime takes.
_MOST_BYTES = 32


@dataclass(frozen=True, slots=True)
class SeedForm:
    """A seed during validation (`check`) and in the handler (`later`).

    If the handler cannot compute it again, `kept` is where `value` is stored.
    """

    check: str
    later: str
    kept: Kept | None = None
    value: str = ""


def seed_form(scope: Scope, a: NamedAccount, index: int, seed: Seed) -> SeedForm:
    """The seed number *index* of the account's address. Raises CannotCheck."""
    match seed:
        case ConstSeed(value):
            text = f"{byte_string(value)}.as_slice()"
            return SeedForm(text, text)
        case ProgramIdSeed():
            return SeedForm("program_id.as_ref()", "self.program_id.as_ref()")
        case AccountSeed():
            return _account_seed(scope, a, index, seed)
        case ArgSeed():
            return _argument_seed(scope, a, index, seed)
    raise CannotCheck("the source does not say how it is derived")


def _account_seed(
    scope: Scope, a: NamedAccount, index: int, seed: AccountSeed
) -> SeedForm:
    if seed.sort is not None or len(seed.field) > 1:
        raise CannotCheck("the source does not say how it is derived")
    owner = scope.lookup.by_path.get(seed.account)
    if seed.field:
        return _field_seed(scope, a, index, seed, owner)
    if owner is None:
        raise CannotCheck("a seed is an account that this instruction does not have")
    if owner.model.optional:
        raise CannotCheck("a seed is an account that may be absent")
    return SeedForm(
        f"{scope.address(owner)}.as_ref()",
        f"{scope.target.address(f'self.{owner.name}')}.as_ref()",
    )


def _field_seed(
    scope: Scope,
    a: NamedAccount,
    index: int,
    seed: AccountSeed,
    owner: NamedAccount | None,
) -> SeedForm:
    """A field of an account's state, which the check of that state has copied to a variable."""
    name = seed.field[0]
    local = scope.captured.get((seed.account, name))
    if local is None or owner is None or owner.constraints.state is None:
        raise CannotCheck("a seed is a field of another account")
    kind = scope.state(owner).fields[name].type
    return _stored(scope, a, index, _Value(local, kind, seed.encoding))


# --- arguments ----------------------------------------------------------------------------------------------------


def _argument_seed(
    scope: Scope, a: NamedAccount, index: int, seed: ArgSeed
) -> SeedForm:
    text, kind = _argument(scope, seed.path)
    if seed.encoding == "utf8":
        raise CannotCheck("a seed is a number as text")
    scope.view.uses_args = True
    if _is_text_or_bytes(kind):
        return _bytes_seed(scope, a, index, text, kind)
    if isinstance(seed.type, Int) and not isinstance(kind, Int):
        raise CannotCheck(
            "a seed is an argument whose type is not the one that the source gives"
        )
    return _stored(scope, a, index, _Value(text, kind, seed.encoding))


def _argument(scope: Scope, path: tuple[str, ...]) -> tuple[str, Type]:
    """The expression for the argument at *path*, and its type. Raises CannotCheck."""
    if scope.arg_names is None:
        raise CannotCheck("a seed is an argument that is not decoded")
    target = scope.context.types.resolver.target
    text, kind = "args", target(Struct(scope.ix.args))
    for step in path:
        field, name = _field(kind, step)
        text, kind = f"{text}.{name}", target(field.type)
    return text, kind


def _field(kind: Type, step: str) -> tuple[Field, Rust]:
    """The field *step* of a struct, and its Rust name. Raises CannotCheck."""
    names = IdentifierPool("r", "w")  # as Types.fields hands them out
    for field in kind.fields if isinstance(kind, Struct) else ():
        name = names.take(field.name)
        if snake(field.name) == snake(step):
            return field, name
    raise CannotCheck("a seed is an argument that does not exist")


def _is_text_or_bytes(kind: Type) -> bool:
    """Is it text or bytes of variable length? Their seed has no length in front."""
    if kind in (BORSH_STRING, BORSH_BYTES):
        return True
    if isinstance(kind, Array):
        return is_bytes(kind) and not isinstance(kind.count, int)
    item = kind.item if isinstance(kind, SizePrefixed) else kind
    return isinstance(item, (String, Bytes))


def _bytes_seed(
    scope: Scope, a: NamedAccount, index: int, text: str, kind: Type
) -> SeedForm:
    kept = _kept(scope, a, index, "&'a [u8]")
    is_text = scope.context.types.type(kind) == "&'a str"
    return SeedForm(
        kept.name, f"self.{kept.name}", kept, f"{text}.as_bytes()" if is_text else text
    )


# --- values -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Value:
    """A value that is a seed: the expression for it, its type, and its encoding as a seed."""

    text: str
    type: Type
    encoding: str | None


def _kept(scope: Scope, a: NamedAccount, index: int, kind: str) -> Kept:
    name = scope.names.take(f"{a.stem}_seed_{index}")
    return Kept(name, code(kind), doc([f"A seed of {a.name}."]))


def _stored(scope: Scope, a: NamedAccount, index: int, value: _Value) -> SeedForm:
    """A value as a seed, kept for the handler as bytes. Raises CannotCheck."""
    kind = value.type.number if isinstance(value.type, Amount) else value.type
    if kind == PUBKEY:
        kept = _kept(scope, a, index, "Address")
        return SeedForm(
            f"{kept.name}.as_ref()", f"self.{kept.name}.as_ref()", kept, value.text
        )
    size, text = _as_bytes(kind, value)
    kept = _kept(scope, a, index, f"[u8; {size}]")
    return SeedForm(
        f"{kept.name}.as_slice()", f"self.{kept.name}.as_slice()", kept, text
    )


def _as_bytes(kind: Type, value: _Value) -> tuple[int, str]:
    """The size of the value in bytes, and the expression for an array of them. Raises CannotCheck."""
    if can_be_number_seed(kind, value.encoding):
        order = byte_order(kind, value.encoding)
        return kind.bits // 8, f"{value.text}.to_{order}_bytes()"
    if is_bytes(kind):
        size = kind.count
        if isinstance(size, int) and size <= _MOST_BYTES:
            is_reference = value.text.startswith("args")
            return size, f"*{value.text}" if is_reference else value.text
    raise CannotCheck("a seed has a type that cannot be a seed")
