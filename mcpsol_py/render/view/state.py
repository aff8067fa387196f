"""Account types as Rust.

State of fixed size is used in place, without a copy; other state is read and written as a whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.program import AccountType, Discriminator
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import (
    U8,
    Amount,
    Array,
    Bool,
    DateTime,
    Field,
    Float,
    Int,
    Link,
    Offset,
    Pubkey,
    Struct,
    Type,
)
from mcpsol_py.model.visit import GroupVisitor
from mcpsol_py.names import snake
from mcpsol_py.render.rust import (
    IdentifierPool,
    Rust,
    byte_array,
    code,
    comment,
    doc,
    lifetime_of,
)
from mcpsol_py.render.rust_types import CannotRender, Types
from mcpsol_py.render.type_traits import int_type, usable
from mcpsol_py.render.type_views import Value

__all__ = ["Complex", "DiscriminatorForm", "Member", "StateView", "state_view"]


@dataclass(frozen=True, slots=True)
class Member:
    """A field of the struct that lies over the account's data."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]
    is_public: bool


@dataclass(frozen=True, slots=True)
class Complex:
    """A field that is decoded on demand: an enum, an option, a struct."""

    name: Rust
    member: Rust
    type: Rust
    given: Rust
    read: Rust
    write: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class FieldForm:
    """How other generated code reads a field of `state`: its name, an expression that copies it out, its model type."""

    name: Rust
    copy: str
    type: Type


@dataclass(frozen=True, slots=True)
class DiscriminatorForm:
    """An account type's discriminator: its bytes, and the code that finds and compares it in `data`."""

    value: Rust
    size: Rust
    note: tuple[Rust, ...]
    is_present: bool
    #: an expression: `found` is another one
    differs: Rust
    #: an expression: its place in `data`, if `data` is long enough
    found: Rust
    found_mut: Rust
    #: the fields follow it; it is not one of them
    is_consumed: bool

    @property
    def equals(self) -> Rust:
        """The opposite of `differs`."""
        return code(self.differs.replace(" != ", " == "))


@dataclass(frozen=True, slots=True)
class StateView:
    """One account type. `size` is the whole length of fixed-size state, its discriminator included."""

    name: Rust
    module: Rust
    docs: tuple[Rust, ...]
    is_fixed: bool
    size: Rust
    discriminator: DiscriminatorForm
    members: tuple[Member, ...]
    complexes: tuple[Complex, ...]
    #: by the source's names
    fields: dict[str, FieldForm]
    value_type: Rust
    value_name: Rust
    generics: Rust

    @property
    def has_check(self) -> bool:
        return self.discriminator.is_present or self.is_fixed

    @property
    def lifetime(self) -> Rust:
        return lifetime_of(self.generics)


def state_view(
    account: AccountType, types: Types, names: IdentifierPool, modules: IdentifierPool
) -> StateView:
    """The view of *account*. Raises CannotRender."""
    d = account.discriminator
    if account.also or d.is_amid_fields or d.size is not None:
        raise CannotRender("more than its first bytes identify it")
    source = _source(account, types)
    name = names.take(account.name, "pascal")
    # clippy refuses a module state in the module state
    module = modules.take(
        "state account" if snake(account.name) == "state" else account.name
    )
    if source.size is not None and isinstance(source.body, Struct):
        return _fixed(account, types, name, module, source)
    return _decoded(account, types, name, module, source)


@dataclass(frozen=True, slots=True)
class _Source:
    """The type of the account, the body that it names, its documentation and its size (None: not fixed)."""

    type: Type
    body: Type
    docs: tuple[str, ...]
    size: int | None


def _source(account: AccountType, types: Types) -> _Source:
    """What the source says about the account's type. Raises CannotRender."""
    node = account.type
    if not isinstance(node, Link):
        return _Source(node, node, account.docs, fixed_size(types.resolver, node))
    definition, body = usable(types.resolver, node)
    docs = account.docs or definition.docs
    if definition.layout == "borsh":
        return _Source(node, body, docs, fixed_size(types.resolver, node))
    lowered = _lowered(types, node)
    return _Source(lowered, lowered, docs, fixed_size(types.resolver, lowered))


def _lowered(types: Types, node: Type) -> Type:
    """A type with a C layout as one with explicit padding."""
    try:
        return Layouts(types.resolver).root(node)
    except NotUsable as error:
        raise CannotRender(error.why) from error


def _discriminator(d: Discriminator) -> DiscriminatorForm:
    n = len(d.value)
    found, found_mut = f"data.first_chunk::<{n}>()", "data.first_chunk_mut()"
    if d.offset:
        found = f"data.get({d.offset}..).and_then(|rest| rest.first_chunk::<{n}>())"
        found_mut = (
            f"data.get_mut({d.offset}..).and_then(|rest| rest.first_chunk_mut())"
        )
    return DiscriminatorForm(
        value=byte_array(d.value),
        size=code(str(n)),
        note=comment(["derived as Anchor does"]) if d.origin == "anchor" else (),
        is_present=n > 0,
        differs=code(_difference(n)),
        found=code(found),
        found_mut=code(found_mut),
        is_consumed=d.consumed,
    )


def _difference(size: int) -> str:
    """Compares `found` with the discriminator, as one number if there is one of its size."""
    if size not in (2, 4, 8):
        return "*found != Self::DISCRIMINATOR"
    word = f"u{size * 8}::from_le_bytes"
    return f"{word}(*found) != {word}(Self::DISCRIMINATOR)"


# --- state of variable size ---------------------------------------------------------------------------------------


def _decoded(
    account: AccountType, types: Types, name: Rust, module: Rust, source: _Source
) -> StateView:
    value = types.type(source.type, account.name)
    return StateView(
        name=name,
        module=module,
        docs=doc(source.docs),
        is_fixed=False,
        size=code("0"),
        discriminator=_discriminator(account.discriminator),
        members=(),
        complexes=(),
        fields=_decoded_fields(source.body),
        value_type=code(value),
        value_name=code(value.partition("<")[0]),
        generics=code("<'a>" if "'a" in value else ""),
    )


def _decoded_fields(body: Type) -> dict[str, FieldForm]:
    names = IdentifierPool()
    forms: dict[str, FieldForm] = {}
    for field in body.fields if isinstance(body, Struct) else ():
        name = names.take(field.name)
        forms[field.name] = FieldForm(name, f"state.{name}", field.type)
    return forms


# --- state of fixed size ------------------------------------------------------------------------------------------


def _fixed(
    account: AccountType, types: Types, name: Rust, module: Rust, source: _Source
) -> StateView:
    assert isinstance(source.body, Struct)
    assert source.size is not None
    d = account.discriminator
    layout = _FixedLayout(types, name, source.body)
    for field in source.body.fields:
        layout.add(field)
    return StateView(
        name=name,
        module=module,
        docs=doc(source.docs),
        is_fixed=True,
        size=code(str(source.size + d.consumed_size)),
        discriminator=_discriminator(d),
        members=tuple(layout.members),
        complexes=tuple(layout.complexes),
        fields=layout.fields,
        value_type=code("Self"),
        value_name=name,
        generics=code(""),
    )


class _FixedLayout:
    """Collects the members of a struct that lies over the account's data: every one is aligned to one byte."""

    def __init__(self, types: Types, name: Rust, body: Struct) -> None:
        self.types = types
        self.name = name
        self.members: list[Member] = []
        self.complexes: list[Complex] = []
        self.fields: dict[str, FieldForm] = {}
        paddings = (f"padding_{i}" for i in range(2 * len(body.fields) + 1))
        self._names = IdentifierPool("discriminator_", *paddings)

    def add(self, field: Field) -> None:
        """Adds a field with the padding around it. Raises CannotRender."""
        before, kind, after = _unpadded(field.type)
        self._pad(before)
        name = self._names.take(field.name)
        copy = self._member(field, self._resolved(kind), name)
        self.fields[field.name] = FieldForm(name, copy, field.type)
        self._pad(after)

    def _pad(self, size: int) -> None:
        if size:
            name = code(f"padding_{len(self.members)}")
            self.members.append(
                Member(name, code(f"[u8; {size}]"), (), is_public=False)
            )

    def _resolved(self, kind: Type) -> Type:
        """The target of a link to a scalar."""
        target = self.types.resolver.target(kind) if isinstance(kind, Link) else kind
        return kind if _SCALAR.visit(target) is None else target

    def _member(self, field: Field, kind: Type, name: Rust) -> str:
        """Adds the member. Returns the expression that copies the field out of `state`."""
        plain = _SCALAR.visit(kind)
        text = plain or self._array(kind)
        if text is None:
            self._complex(field, kind, name)
        else:
            self.members.append(
                Member(name, code(text), doc(field.docs), is_public=True)
            )
        is_wrapped = plain is not None and plain not in _UNWRAPPED
        return f"state.{name}.get()" if is_wrapped else f"state.{name}"

    def _array(self, kind: Type) -> str | None:
        """The type of an array of scalars; None for another type."""
        if not isinstance(kind, Array) or not isinstance(kind.count, int):
            return None
        is_bytes = kind.item == U8
        item = (
            "u8" if is_bytes else _SCALAR.visit(self.types.resolver.target(kind.item))
        )
        return None if item is None else f"[{item}; {kind.count}]"

    def _complex(self, field: Field, kind: Type, name: Rust) -> None:
        """Adds a field that is decoded on demand, and its bytes as a member."""
        size = fixed_size(self.types.resolver, kind)
        if size is None:
            raise CannotRender("its size is not fixed")
        hint = f"{self.name} {field.name}"
        text = self.types.type(kind, hint).replace("'a ", "").replace("<'a>", "<'_>")
        is_list = text.startswith("Vec<")
        self.complexes.append(
            Complex(
                name=code(name.removeprefix("r#")),
                member=name,
                type=code(text),
                given=code(f"&[{text[4:-1]}]" if is_list else f"&{text}"),
                read=code(self.types.result(kind, hint)),
                write=tuple(
                    map(code, self.types.write(kind, Value("value", is_ref=True), hint))
                ),
            )
        )
        self.members.append(
            Member(name, code(f"[u8; {size}]"), doc(field.docs), is_public=False)
        )


def _unpadded(node: Type) -> tuple[int, Type, int]:
    """The bytes that are skipped before *node*, the type without padding, and the bytes skipped after it."""
    before = after = 0
    while isinstance(node, Offset) and node.strategy == "padded" and node.amount >= 0:
        if node.when == "pre":
            before += node.amount
        else:
            after += node.amount
        node = node.item
    return before, node, after


#: Members that are their own value. Others are wrappers of codec.rs.
_UNWRAPPED = ("u8", "i8", "Address", "[u8; 32]")


class _Scalar(GroupVisitor[[], str | None]):
    """The member's type for a number, flag or address, aligned to one byte; None for another type."""

    def no_scalar(self, node: Type) -> None:
        return None

    visit_scalar = visit_wrapper = visit_optional = visit_list = visit_product = (
        no_scalar
    )
    visit_map = visit_enum = visit_link = visit_generic = visit_unsupported = no_scalar

    def visit_int(self, node: Int) -> str | None:
        if node.bits in (8, 256):
            return int_type(node)
        return None if node.big_endian else int_type(node).upper()

    def number(self, node: Amount | DateTime) -> str | None:
        return self.visit(node.number)

    visit_amount = visit_date_time = number

    def visit_float(self, node: Float) -> str | None:
        return None if node.big_endian else f"F{node.bits}"

    def visit_bool(self, node: Bool) -> str | None:
        return "Flag" if node.size.bits == 8 else None

    def visit_pubkey(self, node: Pubkey) -> str:
        return "Address"


_SCALAR = _Scalar()
