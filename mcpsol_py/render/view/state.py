"""Account types as Rust: fixed-size state is used in place, without copying; other state is read and written as a
whole."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.program import AccountType, Discriminator
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import (
    PUBKEY,
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
    Struct,
    Type,
)
from mcpsol_py.names import snake
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_array, code, comment, doc
from mcpsol_py.render.rust_types import CannotRender, Types
from mcpsol_py.render.type_views import Value

__all__ = ["Complex", "Member", "StateView", "state_view"]


@dataclass(frozen=True, slots=True)
class Member:
    """A field of the struct that lies over the account's data."""

    name: Rust
    type: Rust
    docs: tuple[Rust, ...]
    is_public: bool


@dataclass(frozen=True, slots=True)
class Complex:
    """A field that is decoded when it is asked for: an enum, an option, a struct."""

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
class StateView:
    """One account type. `size` is the whole length of fixed-size state, its discriminator included."""

    name: Rust
    module: Rust
    docs: tuple[Rust, ...]
    is_fixed: bool
    size: Rust
    discriminator: Rust
    discriminator_size: Rust
    discriminator_note: tuple[Rust, ...]
    has_discriminator: bool
    #: expressions: that `found` is another one, where it stands in `data`, the same to be written
    differs: Rust
    found: Rust
    found_mut: Rust
    #: it stands before the fields, not among them
    is_consumed: bool
    members: tuple[Member, ...]
    complexes: tuple[Complex, ...]
    fields: dict[str, FieldForm]
    value_type: Rust
    value_name: Rust
    generics: Rust
    uses: tuple[Rust, ...]

    @property
    def has_check(self) -> bool:
        return self.has_discriminator or self.is_fixed

    @property
    def equals(self) -> Rust:
        """The opposite of `differs`."""
        return code(self.differs.replace(" != ", " == "))

    @property
    def lifetime(self) -> Rust:
        return code("'a" if self.generics else "'_")


def state_view(
    account: AccountType, types: Types, names: IdentifierPool, modules: IdentifierPool
) -> StateView:
    """The view of *account*. Raises CannotRender."""
    d = account.discriminator
    if account.also or (d.consumed and d.offset) or d.size is not None:
        raise CannotRender("more than its first bytes identify it")
    node: Type = account.type
    docs = account.docs
    if isinstance(node, Link):
        why = types.resolver.why_unusable(node)
        if why is not None:
            raise CannotRender(why)
        definition, body = types.resolver.expand(node)
        docs = docs or definition.docs
        if definition.layout != "borsh":
            node = body = _lowered(types, node)
    else:
        body = node
    size = fixed_size(types.resolver, node)
    name = names.take(account.name, "pascal")
    # a module state in the module state is refused by clippy
    module = modules.take("state account" if snake(account.name) == "state" else account.name)
    if isinstance(body, Struct) and size is not None:
        return _fixed(account, types, name, module, body, size, docs)
    value = types.type(node, account.name)
    shown = value.partition("<")[0]
    fields: dict[str, FieldForm] = {}
    if isinstance(body, Struct):
        taken = IdentifierPool()
        for f in body.fields:
            fields[f.name] = FieldForm(taken.take(f.name), "", f.type)
            fields[f.name] = FieldForm(fields[f.name].name, f"state.{fields[f.name].name}", f.type)
    return StateView(
        name,
        module,
        doc(docs),
        False,
        code("0"),
        *_discriminator(d),
        (),
        (),
        fields,
        code(value),
        code(shown),
        code("<'a>" if "'a" in value else ""),
        (),
    )


def _discriminator(
    d: Discriminator,
) -> tuple[Rust, Rust, tuple[Rust, ...], bool, Rust, Rust, Rust, bool]:
    n = len(d.value)
    note = comment(["derived as Anchor does"]) if d.origin == "anchor" else ()
    if n in (2, 4, 8):
        word = f"u{n * 8}::from_le_bytes"
        differs = f"{word}(*found) != {word}(Self::DISCRIMINATOR)"
    else:
        differs = "*found != Self::DISCRIMINATOR"
    found, found_mut = f"data.first_chunk::<{n}>()", "data.first_chunk_mut()"
    if d.offset:
        found = f"data.get({d.offset}..).and_then(|rest| rest.first_chunk::<{n}>())"
        found_mut = f"data.get_mut({d.offset}..).and_then(|rest| rest.first_chunk_mut())"
    return (
        byte_array(d.value),
        code(str(n)),
        note,
        n > 0,
        code(differs),
        code(found),
        code(found_mut),
        d.consumed,
    )


def _fixed(
    account: AccountType,
    types: Types,
    name: Rust,
    module: Rust,
    body: Struct,
    size: int,
    docs: tuple[str, ...],
) -> StateView:
    d = account.discriminator
    head = len(d.value) if d.consumed else 0
    taken = IdentifierPool(
        "discriminator_", *(f"padding_{i}" for i in range(2 * len(body.fields) + 1))
    )
    members: list[Member] = []
    complexes: list[Complex] = []
    fields: dict[str, FieldForm] = {}

    def pad(amount: int) -> None:
        if amount:
            members.append(
                Member(code(f"padding_{len(members)}"), code(f"[u8; {amount}]"), (), False)
            )

    for f in body.fields:
        before, kind, after = _unpadded(f.type)
        pad(before)
        ident = taken.take(f.name)
        width = fixed_size(types.resolver, kind)
        if width is None:
            raise CannotRender("its size is not fixed")
        member, complex_, copy = _member(types, f, kind, ident, width, f"{name} {f.name}")
        members.append(member)
        if complex_ is not None:
            complexes.append(complex_)
        fields[f.name] = FieldForm(ident, copy, f.type)
        pad(after)
    return StateView(
        name,
        module,
        doc(docs),
        True,
        code(str(size + head)),
        *_discriminator(d),
        tuple(members),
        tuple(complexes),
        fields,
        code("Self"),
        name,
        code(""),
        (),
    )


def _lowered(types: Types, node: Type) -> Type:
    """A type laid out as C does, with its padding said."""
    try:
        return Layouts(types.resolver).root(node)
    except NotUsable as error:
        raise CannotRender(error.why) from error


def _unpadded(node: Type) -> tuple[int, Type, int]:
    """The bytes skipped before *node*, what it is, and the bytes skipped behind it."""
    before = after = 0
    while isinstance(node, Offset) and node.strategy == "padded" and node.amount >= 0:
        if node.when == "pre":
            before += node.amount
        else:
            after += node.amount
        node = node.item
    return before, node, after


def _scalar(node: Type) -> str | None:
    """The type in the struct of a number, flag or address: aligned to one byte."""
    match node:
        case Amount(number, _, _) | DateTime(number):
            return _scalar(number)
        case Int(8, signed, _):
            return "i8" if signed else "u8"
        case Int(256, _, _):
            return "[u8; 32]"
        case Int(bits, signed, False):
            return f"{'I' if signed else 'U'}{bits}"
        case Float(bits, False):
            return f"F{bits}"
        case Bool(Int(8, _, _)):
            return "Flag"
        case _ if node == PUBKEY:
            return "Address"
        case _:
            return None


def _member(
    types: Types, f: Field, node: Type, ident: Rust, size: int, hint: str
) -> tuple[Member, Complex | None, str]:
    if isinstance(node, Link):
        target = types.resolver.target(node)
        if _scalar(target) is not None:
            node = target
    scalar = _scalar(node)
    docs = doc(f.docs)
    if scalar is not None:
        copy = (
            f"state.{ident}"
            if scalar in ("u8", "i8", "Address", "[u8; 32]")
            else f"state.{ident}.get()"
        )
        return Member(ident, code(scalar), docs, True), None, copy
    if isinstance(node, Array) and isinstance(node.count, int):
        inner = "u8" if node.item == U8 else _scalar(types.resolver.target(node.item))
        if inner is not None:
            return (
                Member(ident, code(f"[{inner}; {node.count}]"), docs, True),
                None,
                f"state.{ident}",
            )
    kind = types.type(node, hint).replace("'a ", "")
    kind = kind.replace("<'a>", "<'_>")
    complex_ = Complex(
        code(ident.removeprefix("r#")),
        ident,
        code(kind),
        code(f"&[{kind[4:-1]}]" if kind.startswith("Vec<") else f"&{kind}"),
        code(types.result(node, hint)),
        tuple(map(code, types.write(node, Value("value", True), hint))),
    )
    return Member(ident, code(f"[u8; {size}]"), docs, False), complex_, f"state.{ident}"
