"""One instruction: its documentation, its arguments, its accounts, and the call of its handler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mcpsol_py.bodies.scope import is_bytes
from mcpsol_py.errors import NotUsable
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Instruction
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.types import Field, Struct
from mcpsol_py.render.rust import IdentifierPool, Rust, code, comment, doc, number
from mcpsol_py.render.rust_types import CannotRender
from mcpsol_py.render.targets import Target
from mcpsol_py.render.type_views import RustField, Value
from mcpsol_py.render.view.accounts import AccountsView, accounts_view
from mcpsol_py.render.view.context import CrateContext

__all__ = [
    "InstructionView",
    "instruction_docs",
    "instruction_views",
    "unchecked_notes",
]

#: With more instructions than this, none is inlined: the dispatcher's stack frame would hold all of them.
_MOST_INLINED = 8
#: The bytes that the runtime takes as return data.
_MOST_RETURNED = 1024


@dataclass(frozen=True, slots=True)
class InstructionView:
    """One instruction. `source_name` is its name in the source, and not Rust."""

    source_name: str
    module: Rust
    inner_docs: tuple[Rust, ...]
    args: tuple[RustField, ...]
    args_generics: Rust
    args_data: Rust
    args_reads: tuple[Rust, ...]
    args_build: Rust
    #: a condition on `data`: the arguments have this size
    right_size: Rust
    has_exact_size: bool
    has_args: bool
    #: the arguments are passed on as bytes, and why
    is_raw: bool
    raw_why: tuple[Rust, ...]
    accounts: AccountsView
    #: what no check holds, for the handler's author
    unchecked: tuple[Rust, ...]
    #: of the struct of accounts: in its declaration, and in a handler
    generics: Rust
    handler_generics: Rust
    #: the type of the list of accounts
    listed: Rust
    returns: Rust
    has_returns: bool
    returns_borrow: bool
    #: the call of the handler, the statements after it, and the result
    handling: tuple[Rust, ...]
    inline: Rust
    #: bytes of discriminator before the arguments
    skip: Rust
    #: the author's code writes arguments
    is_encoded: bool


def instruction_views(
    instructions: list[Instruction], context: CrateContext, *, count: int
) -> tuple[InstructionView, ...]:
    """The views of *instructions*. `count`: the number of instructions that the source has."""
    modules = IdentifierPool("r#mod", "instruction", "processor")
    return tuple(
        _instruction(
            ix, modules.take(ix.name), context, may_inline=count <= _MOST_INLINED
        )
        for ix in instructions
    )


def _instruction(
    ix: Instruction, module: Rust, context: CrateContext, *, may_inline: bool
) -> InstructionView:
    target = context.target
    args = _arguments(ix, context)
    accounts = accounts_view(ix, context, args.names)
    returned = _returned(ix, context)
    has_accounts = bool(accounts.slots) or accounts.remaining
    generics = target.generics if has_accounts else code("<'a>")
    return InstructionView(
        source_name=ix.name,
        module=module,
        inner_docs=doc(instruction_docs(ix), inner=True),
        args=args.fields,
        args_generics=code("<'a>" if args.borrow else ""),
        args_data=code("&'a [u8]" if args.borrow else "&[u8]"),
        args_reads=tuple(field.reading for field in args.fields),
        args_build=args.build,
        right_size=code(
            f"data.len() == {args.size}" if args.size else "data.is_empty()"
        ),
        has_exact_size=args.size is not None,
        has_args=bool(args.fields) or args.is_raw,
        is_raw=args.is_raw,
        raw_why=comment([f"Not decoded: {args.raw_why}."]) if args.is_raw else (),
        accounts=accounts,
        unchecked=unchecked_notes(accounts.unchecked),
        generics=generics,
        handler_generics=_elided(generics),
        listed=target.listed if has_accounts else _elided(target.listed),
        returns=returned.type,
        has_returns=returned.has_value,
        returns_borrow="'a" in returned.type,
        handling=_handling(module, target, returned, accounts.finish),
        inline=code("always" if may_inline and not accounts.is_heavy else "never"),
        skip=_bytes_before_arguments(ix),
        is_encoded=context.author.names("encode"),
    )


def unchecked_notes(unchecked: Iterable[str]) -> tuple[Rust, ...]:
    """Comments for a handler's author on what no check holds."""
    return comment(f"NOT CHECKED: {what}." for what in unchecked)


def instruction_docs(ix: Instruction) -> list[str]:
    """The instruction's documentation, and when to use it."""
    docs = list(ix.docs or (f"{ix.name}.",))
    for key, text in ix.hints:
        if key == "when":
            docs.append("")
            docs.append(f"When to use: {text}")
    return docs


def _elided(text: Rust) -> Rust:
    return code(text.replace("'info", "'_"))


def _bytes_before_arguments(ix: Instruction) -> Rust:
    return code(str(ix.discriminator.consumed_size))


# --- arguments ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Arguments:
    """The arguments as fields, or `raw_why` they are passed on as bytes. `size` is None for a variable size."""

    source: tuple[Field, ...] = ()
    fields: tuple[RustField, ...] = ()
    size: int | None = None
    raw_why: str = ""

    @property
    def is_raw(self) -> bool:
        return self.raw_why != ""

    @property
    def borrow(self) -> bool:
        """Do they borrow from the instruction data?"""
        return self.is_raw or any("'a" in field.type for field in self.fields)

    @property
    def names(self) -> dict[str, Rust] | None:
        """The Rust names of the arguments by the source's; None if they are not decoded."""
        if self.is_raw:
            return None
        return {
            f.name: view.name for f, view in zip(self.source, self.fields, strict=True)
        }

    @property
    def build(self) -> Rust:
        """The expression that makes the struct of variables with its fields' names."""
        if not self.fields:
            return code("Self {}")
        return code(f"Self {{ {', '.join(names_of(self.fields))} }}")


def _arguments(ix: Instruction, context: CrateContext) -> _Arguments:
    try:
        fields = _argument_fields(ix, context)
    except CannotRender as why:
        context.skipped.append(
            f"The arguments of {ix.name} are passed on as bytes: {why}."
        )
        return _Arguments(raw_why=str(why))
    size = fixed_size(context.types.resolver, Struct(ix.args))
    return _Arguments(ix.args, fields, size)


def _argument_fields(ix: Instruction, context: CrateContext) -> tuple[RustField, ...]:
    """The fields of the arguments' struct. Raises CannotRender."""
    if ix.disabled:
        raise CannotRender(ix.disabled)
    if ix.discriminator.is_amid_fields:
        raise CannotRender("the discriminator is in the middle of the arguments")
    try:
        return context.types.fields(ix.args, ix.name)
    except NotUsable as why:
        raise CannotRender(why.why) from why


# --- the handler ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Returned:
    """The value that the handler returns. `size` is None for a variable size."""

    type: Rust = Rust("()")  # noqa: RUF009  # immutable
    #: statements that write the variable `returned`
    writes: tuple[Rust, ...] = ()
    size: int | None = None
    #: in front of the call, so that the variable refers to what the handler made
    borrow: Rust = Rust("")  # noqa: RUF009  # immutable

    @property
    def has_value(self) -> bool:
        return self.type != "()"


def _returned(ix: Instruction, context: CrateContext) -> _Returned:
    if ix.returns is None:
        return _Returned()
    hint = f"{ix.name} returned"
    try:
        text = context.types.type(ix.returns, hint)
        writes = context.types.write(ix.returns, Value("returned", is_ref=False), hint)
    except CannotRender as why:
        context.skipped.append(
            f"No Rust was generated for the result of {ix.name}: {why}."
        )
        return _Returned()
    size = fixed_size(context.types.resolver, ix.returns)
    lines = tuple(map(code, writes))
    if ix.name in context.bodies and is_bytes(ix.returns):
        # a body makes its bytes, so they live no longer than its handler
        return _Returned(code(f"[u8; {size}]"), lines, size, code("&"))
    return _Returned(code(text), lines, size)


def _handling(
    module: Rust, target: Target, returned: _Returned, finish: list[Rust]
) -> tuple[Rust, ...]:
    """The call of the handler, the statements that follow it, and the result of the instruction."""
    call = f"processor::{module}::process(&{target.mutable}accounts, &args)"
    if returned.has_value:
        return (
            code(f"let returned = {returned.borrow}{call}?;"),
            *_return_data(returned),
            *finish,
            code("Ok(())"),
        )
    if finish:
        return (code(f"{call}?;"), *finish, code("Ok(())"))
    return (code(call),)


def _return_data(returned: _Returned) -> tuple[Rust, ...]:
    """Statements that write the handler's value to the return data."""
    if returned.size is not None and returned.size <= _MOST_RETURNED:
        return (
            code(f"let mut bytes = [0; {returned.size}];"),
            code("let w = &mut Writer::new(&mut bytes);"),
            *returned.writes,
            code("return_data(&bytes);"),
        )
    fits = f"bytes.len() <= {number(_MOST_RETURNED)}"
    return (
        code("let mut bytes = Vec::new();"),
        code("let w = &mut bytes;"),
        *returned.writes,
        code(f"checks::ensure({fits}, Check::InstructionDidNotSerialize)?;"),
        code("return_data(&bytes);"),
    )
