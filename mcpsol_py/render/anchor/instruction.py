"""One instruction as Anchor writes it: a function, the struct of its accounts, and the author's handler."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from mcpsol_py.errors import NotUsable, RenderError
from mcpsol_py.model.program import Instruction
from mcpsol_py.render.anchor.accounts import AnchorAccounts, anchor_accounts
from mcpsol_py.render.anchor.names import (
    ARGUMENT_STRUCTS,
    FUNCTIONS,
    anchor_discriminator,
    plain_identifier,
    upper_camel,
)
from mcpsol_py.render.anchor.structs import StateStruct, leading_bytes
from mcpsol_py.render.anchor.types import AnchorTypes, FieldView
from mcpsol_py.render.own_errors import OwnErrors
from mcpsol_py.render.rust import IdentifierPool, Rust, byte_array, code, doc
from mcpsol_py.render.rust_types import CannotRender
from mcpsol_py.render.type_traits import refusing
from mcpsol_py.render.view.instruction import instruction_docs, unchecked_notes

__all__ = ["AnchorContext", "AnchorInstruction", "instruction_view", "program_uses"]


@dataclass(frozen=True, slots=True)
class AnchorContext:
    """What the instructions of one program share."""

    types: AnchorTypes
    #: by the source's names
    states: dict[str, StateStruct]
    errors: OwnErrors
    functions: IdentifierPool = field(
        default_factory=lambda: IdentifierPool(*FUNCTIONS)
    )
    #: the structs of arguments that the #[program] macro makes
    argument_structs: set[str] = field(default_factory=lambda: set(ARGUMENT_STRUCTS))


@dataclass(frozen=True, slots=True)
class AnchorInstruction:
    """One instruction. `source_name` is its name in the source, and not Rust."""

    source_name: str
    name: Rust
    struct: Rust
    #: the name of the struct of arguments that the #[program] macro makes
    data: Rust
    docs: tuple[Rust, ...]
    inner_docs: tuple[Rust, ...]
    attribute: tuple[Rust, ...]
    args: tuple[FieldView, ...]
    arg_names: Rust
    returns: Rust
    accounts: AnchorAccounts
    #: what no check holds, for the handler's author
    unchecked: tuple[Rust, ...]
    uses: tuple[Rust, ...]
    handler_uses: tuple[Rust, ...]
    account_arguments: Rust

    @property
    def life(self) -> Rust:
        """The lifetime that its functions name if it takes accounts after the named ones: one call can use both."""
        has_both = bool(self.accounts.remaining_docs and self.accounts.fields)
        return code("<'info>" if has_both else "")

    @property
    def context(self) -> Rust:
        """The type of the context that its functions take."""
        first = "'info, " if self.life else ""
        return code(f"Context<{first}{self.struct}{self.life}>")


def instruction_view(ix: Instruction, context: AnchorContext) -> AnchorInstruction:
    """The view of *ix*. Raises RenderError if it has no form in Anchor."""
    types = context.types
    name = _function(ix, context)
    signature = _checked_signature(ix, name, types)
    args = signature.args
    accounts = anchor_accounts(ix, types, context.states, context.errors, args)
    struct = types.names.take(name, "pascal")
    docs = _docs(ix)
    handler_uses = {f"crate::instructions::{struct}", *_types_of(types, args)}
    handler_uses |= _own_types(types, signature.returns)
    listed = accounts.arguments
    return AnchorInstruction(
        source_name=ix.name,
        name=name,
        struct=struct,
        data=code(upper_camel(name)),
        docs=doc(docs),
        inner_docs=doc(docs, inner=True),
        attribute=signature.attribute,
        args=args,
        arg_names=code("".join(f", {arg.name}" for arg in args)),
        returns=signature.returns,
        accounts=accounts,
        unchecked=unchecked_notes(accounts.unchecked),
        uses=_use_paths(accounts.uses | _types_of(types, args[: len(listed)])),
        handler_uses=_use_paths(handler_uses),
        account_arguments=code(
            f"#[instruction({', '.join(listed)})]" if listed else ""
        ),
    )


def _function(ix: Instruction, context: AnchorContext) -> Rust:
    """A name for the function. Functions of two names can have structs of arguments of one name."""
    name = plain_identifier(context.functions, ix.name, "instruction")
    while upper_camel(name) in context.argument_structs:
        name = context.functions.take(f"{name} more")
    context.argument_structs.add(upper_camel(name))
    return name


def _docs(ix: Instruction) -> list[str]:
    docs = instruction_docs(ix)
    for arg in ix.args:
        if arg.docs:
            docs += ["", f"{arg.name}: {' '.join(arg.docs)}"]
    return docs


# --- arguments and result -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Signature:
    """The function's arguments and result, and the attribute with its discriminator."""

    args: tuple[FieldView, ...]
    returns: Rust
    attribute: tuple[Rust, ...]


def _checked_signature(ix: Instruction, name: Rust, types: AnchorTypes) -> _Signature:
    try:
        with refusing(f"instructions.{ix.name}"):
            return _signature(ix, name, types)
    except NotUsable as why:
        raise RenderError(f"instructions.{ix.name}: {why.why}.") from why


def _signature(ix: Instruction, name: Rust, types: AnchorTypes) -> _Signature:
    value = leading_bytes(ix.discriminator, "it")
    if ix.disabled:
        raise CannotRender(ix.disabled)
    if ix.also:
        raise CannotRender("it has more than one discriminator")
    args = _arguments(ix, name, types)
    returns = (
        "()" if ix.returns is None else types.type(ix.returns, f"{ix.name} returned")
    )
    attribute = f"#[instruction(discriminator = {byte_array(value)})]"
    is_derived = value == anchor_discriminator("global", name)
    return _Signature(args, code(returns), () if is_derived else (code(attribute),))


def _arguments(
    ix: Instruction, name: Rust, types: AnchorTypes
) -> tuple[FieldView, ...]:
    """The arguments. Raises CannotRender."""
    fields = types.fields(ix.args, ix.name)
    if any(field.type == "RemainingBytes" for field in fields[:-1]):
        raise CannotRender("bytes without a length come before other arguments")
    names = IdentifierPool("ctx", "processor", name)
    return tuple(
        FieldView(
            plain_identifier(names, field.name, "argument"), field.type, field.docs
        )
        for field in fields
    )


# --- imports ------------------------------------------------------------------------------------------------------


def program_uses(
    instructions: Iterable[AnchorInstruction], types: AnchorTypes
) -> tuple[Rust, ...]:
    """The imports of types in signatures, which the #[program] macro looks for in the root."""
    uses: set[str] = set()
    for ix in instructions:
        uses |= _types_of(types, ix.args) | _own_types(types, ix.returns)
    return _use_paths(uses)


def _use_paths(paths: set[str]) -> tuple[Rust, ...]:
    """Imports, with one line for each module."""
    modules: dict[str, list[str]] = {}
    for path in sorted(paths):
        module, _, name = path.rpartition("::")
        modules.setdefault(module, []).append(name)
    return tuple(
        code(f"{module}::{_group(names)}") for module, names in modules.items()
    )


def _group(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{{{', '.join(names)}}}"


def _own_types(types: AnchorTypes, text: str) -> set[str]:
    """The paths of the crate's own types in a type's text."""
    own = types.paths()
    return {own[name] for name in re.findall(r"\w+", text) if name in own}


def _types_of(types: AnchorTypes, args: Iterable[FieldView]) -> set[str]:
    paths: set[str] = set()
    for arg in args:
        paths |= _own_types(types, arg.type)
    return paths
