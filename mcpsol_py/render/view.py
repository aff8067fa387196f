"""A program model to a CrateView: everything that the templates place, already in Rust. Logic is here, the look is in
templates/."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import accumulate

from mcpsol_py.errors import NotUsable, RenderError, abbr
from mcpsol_py.model.program import Discriminator, ErrorCode, Event, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import BOOL, PUBKEY, Int, Struct
from mcpsol_py.names import pascal, snake
from mcpsol_py.render.accounts import AccountsView, accounts_view
from mcpsol_py.render.addresses import Addresses
from mcpsol_py.render.faults import CHECKS
from mcpsol_py.render.rust import (
    IdentifierPool,
    Rust,
    address,
    byte_array,
    byte_string,
    code,
    comment,
    complexity,
    crate_name,
    crate_version,
    doc,
    number,
    string,
)
from mcpsol_py.render.rust_types import TAKEN, CannotRender, Types
from mcpsol_py.render.state import StateView, state_view
from mcpsol_py.render.targets import PINOCCHIO, Target
from mcpsol_py.render.type_views import EnumView, RustField, StructView, Value
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["CrateView", "ErrorView", "EventView", "InstructionView", "constants_view", "crate_view"]

#: Accounts that the entry keeps when an instruction takes a list of them: what one transaction can lock.
_WITH_REMAINING = 64


@dataclass(frozen=True, slots=True)
class ErrorView:
    """One error: its variant, its number and what the log says."""

    name: Rust
    code: Rust
    text: Rust


@dataclass(frozen=True, slots=True)
class EventView:
    """One event: the type that is logged, behind which bytes."""

    name: Rust
    type: Rust
    generics: Rust
    docs: tuple[Rust, ...]
    discriminator: Rust
    discriminator_size: Rust
    size: Rust
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class ArmView:
    """One instruction in the dispatcher: a pattern of the match, or a condition, and where its arguments begin."""

    module: Rust
    note: tuple[Rust, ...]
    constant: Rust
    value: Rust
    condition: Rust
    arguments: Rust


@dataclass(frozen=True, slots=True)
class DispatchView:
    """How instructions are told apart: by a word of `size` bytes (`is_word`), or by one condition after another."""

    is_word: bool
    size: Rust
    word: Rust
    is_eight: bool
    arms: tuple[ArmView, ...]


@dataclass(frozen=True, slots=True)
class InstructionView:
    """One instruction. `source_name` is its name in the source, and not Rust."""

    source_name: str
    module: Rust
    title: Rust
    docs: tuple[Rust, ...]
    inner_docs: tuple[Rust, ...]
    data_rows: tuple[Rust, ...]
    args: tuple[RustField, ...]
    args_generics: Rust
    args_data: Rust
    args_reads: tuple[Rust, ...]
    args_build: Rust
    #: the arguments have this size: a condition on `data`
    right_size: Rust
    has_exact_size: bool
    has_args: bool
    is_raw: bool
    raw_why: tuple[Rust, ...]
    accounts: AccountsView
    #: of the struct of accounts, where it is declared, and in a handler
    generics: Rust
    handler_generics: Rust
    #: the accounts as they come
    listed: Rust
    returns: Rust
    has_returns: bool
    returns_borrow: bool
    #: the call of the handler, what follows it, and the result
    handling: tuple[Rust, ...]
    inline: Rust
    #: bytes of discriminator before the arguments
    skip: Rust
    #: the author's code writes arguments
    is_encoded: bool


@dataclass(frozen=True, slots=True)
class ConstantView:
    """A constant of the source."""

    name: Rust
    type: Rust
    value: Rust
    docs: tuple[Rust, ...]


@dataclass(frozen=True, slots=True)
class CrateView:
    """The whole crate."""

    target: Target
    name: Rust
    library: Rust
    title: tuple[Rust, ...]
    version: Rust
    has_address: bool
    address: Rust
    address_text: tuple[Rust, ...]
    max_accounts: Rust
    dispatch: DispatchView
    instructions: tuple[InstructionView, ...]
    states: tuple[StateView, ...]
    events: tuple[EventView, ...]
    errors: tuple[ErrorView, ...]
    error_type: Rust
    checks: tuple[ErrorView, ...]
    types: tuple[StructView | EnumView, ...]
    #: not Rust: the addresses that the program knows
    addresses: Addresses
    constants: tuple[ConstantView, ...]
    skipped: tuple[Rust, ...]
    #: whether the code that makes an account stands in the one place that needs it, or apart
    create_inline: Rust
    #: a type of the source is longer than clippy likes
    has_long_types: bool
    pages: tuple[Rust, ...]
    page_count: Rust
    has_stream: bool
    stream_base: Rust
    stream_count: Rust
    stream_parts: tuple[Rust, ...]
    #: not Rust: the stream's bytes, a file of their own
    stream: bytes


def crate_view(
    model: ProgramModel,
    target: Target = PINOCCHIO,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
    author: str = "",
) -> CrateView:
    """The view of *model*. `author`: the Rust that the author wrote, whose use of generated code is kept.

    Raises RenderError, SchemaError.
    """
    encodes = re.search(r"\bencode\b", author) is not None
    if not model.instructions:
        raise RenderError(
            f"{model.name or 'this program'} has no instruction, so there is nothing to render."
        )
    resolver = Resolver(model)
    own = _fixed_states(model, resolver)
    types = Types(resolver, *own)
    skipped: list[str] = []
    states = _states(model, types, skipped)
    error_names = IdentifierPool()
    errors = tuple(_error(e, error_names) for e in model.errors)
    names_of = {e.name: v.name for e, v in zip(model.errors, errors, strict=True)}
    error_type = types.names.take(f"{_ascii(model.name)} error", "pascal")
    modules = IdentifierPool("r#mod", "instruction", "processor")
    addresses = Addresses()
    many = len(model.instructions) > 8
    instructions = tuple(
        _instruction(
            ix,
            target,
            types,
            states,
            error_type,
            names_of,
            modules,
            many,
            skipped,
            addresses,
            author,
        )
        for ix in _unique(model.instructions)
    )
    events = _events(model, types, skipped)
    pages = page_set(model, form=form, descriptions=descriptions, lossless=lossless)
    most = max(len(i.accounts.slots) for i in instructions)
    if any(i.accounts.remaining for i in instructions):
        most = max(most, _WITH_REMAINING)
    own_id, text, has_address = _address(model)
    name = crate_name(model.name)
    return CrateView(
        target=target,
        name=name,
        library=code(name.replace("-", "_")),
        title=doc(model.docs or [f"The program {model.name}."], inner=True),
        version=crate_version(model.version),
        has_address=has_address,
        address=own_id,
        address_text=text,
        max_accounts=code(str(min(max(most, 1), 255))),
        dispatch=_dispatch(model, instructions),
        instructions=instructions,
        states=tuple(states.values()),
        events=events,
        errors=errors,
        error_type=error_type,
        checks=check_views(),
        types=_used_types(types.views(), instructions, states, events, encodes),
        addresses=addresses,
        constants=constants_view(model),
        skipped=comment(skipped, limit=20000),
        has_long_types=_has_long_types(instructions, types, states),
        create_inline=code("always" if sum(map(_creates, instructions)) == 1 else "never"),
        pages=tuple(byte_string(p) for p in pages.json_pages),
        page_count=code(str(len(pages.json_pages))),
        has_stream=bool(pages.stream_pages),
        stream_base=code(str(pages.stream_base)),
        stream_count=code(str(len(pages.stream_pages))),
        stream_parts=_parts(pages.stream_pages),
        stream=_stream(pages.stream_pages),
    )


def check_views() -> tuple[ErrorView, ...]:
    """The errors of the generated checks."""
    return tuple(
        ErrorView(code(name), code(str(value)), string(text)) for value, name, text in CHECKS
    )


def constants_view(model: ProgramModel) -> tuple[ConstantView, ...]:
    """Constants that are numbers, true or false, or addresses; a source's text is read, never passed on as code."""
    names = IdentifierPool()
    out: list[ConstantView] = []
    for constant in model.constants:
        kind, text = constant.type, constant.value
        try:
            match kind:
                case Int(bits, signed, _) if bits <= 128:
                    amount = int(text.replace("_", ""))
                    if (
                        not (-(2 ** (bits - 1)) if signed else 0)
                        <= amount
                        < 2 ** (bits - 1 if signed else bits)
                    ):
                        continue
                    rust, value = code(f"{'i' if signed else 'u'}{bits}"), number(amount)
                case _ if kind == BOOL and text in ("true", "false"):
                    rust, value = code("bool"), code(text)
                case _ if kind == PUBKEY:
                    rust, value = code("Address"), address(address_bytes(text))
                case _:
                    continue
        except ValueError:
            continue
        docs = (*constant.docs, *((text,) if kind == PUBKEY else ()))
        out.append(ConstantView(names.take(constant.name, "screaming"), rust, value, doc(docs)))
    return tuple(out)


#: clippy's own limit
_LONG_TYPE = 250


def _has_long_types(
    instructions: tuple[InstructionView, ...], types: Types, states: dict[str, StateView]
) -> bool:
    texts: list[str] = [
        text for ix in instructions for text in (ix.returns, *(f.type for f in ix.args))
    ]
    for view in types.views():
        texts += (
            [f.type for f in view.fields]
            if isinstance(view, StructView)
            else [v.declaration for v in view.variants]
        )
    texts += [
        text for state in states.values() for c in state.complexes for text in (c.type, c.given)
    ]
    return any(complexity(f"Result<{text}, ProgramError>") > _LONG_TYPE for text in texts)


def _used_types(
    views: tuple[StructView | EnumView, ...],
    instructions: tuple[InstructionView, ...],
    states: dict[str, StateView],
    events: tuple[EventView, ...],
    encodes: bool,
) -> tuple[StructView | EnumView, ...]:
    """The types, each with the functions that the program needs: to read it, to write it, or both."""
    in_state = [
        text
        for state in states.values()
        for text in (state.value_type, *(c.type for c in state.complexes))
    ]
    arguments = [f.type for ix in instructions for f in ix.args]
    written = [*in_state, *(e.type for e in events), *(ix.returns for ix in instructions)]
    read_names = _reached(views, [*in_state, *arguments])
    written_names = _reached(views, [*written, *(arguments if encodes else [])])
    return tuple(
        replace(view, is_read=view.name in read_names, is_written=view.name in written_names)
        for view in views
    )


def _reached(views: Iterable[StructView | EnumView], texts: list[Rust]) -> set[str]:
    """The names of the types that values of these Rust types consist of."""
    parts = {str(view.name): _part_types(view) for view in views}
    reached: set[str] = set()
    left = list(texts)
    while left:
        for name in re.findall(r"\w+", left.pop()):
            if name in parts and name not in reached:
                reached.add(name)
                left += parts[name]
    return reached


def _part_types(view: StructView | EnumView) -> list[Rust]:
    if isinstance(view, StructView):
        return [f.type for f in view.fields]
    return [v.declaration for v in view.variants]


def _creates(ix: InstructionView) -> int:
    """How many accounts the instruction makes by itself; associated token accounts are made by their program."""
    return sum("checks::Create {" in line for line in ix.accounts.changes)


def _ascii(text: str) -> str:
    return "".join(c if c.isascii() else "_" for c in text)


def _address(model: ProgramModel) -> tuple[Rust, tuple[Rust, ...], bool]:
    try:
        data = address_bytes(model.address or "")
    except ValueError:
        return code(""), (), False
    return byte_array(data), comment([model.address or ""]), True


def _unique(instructions: tuple[Instruction, ...]) -> list[Instruction]:
    """Instructions with the discriminator of an earlier one are left out: they can never be reached."""
    seen: set[Discriminator] = set()
    out: list[Instruction] = []
    for ix in instructions:
        if ix.discriminator not in seen or not ix.discriminator.value:
            seen.add(ix.discriminator)
            out.append(ix)
    return out


def _stream(pages: list[bytes]) -> bytes:
    """All stream pages end to end; all but the last are full."""
    for page in pages[:-1]:
        if len(page) != len(pages[0]):
            raise RenderError("the stream's pages differ in length.")
    return b"".join(pages)


def _parts(pages: list[bytes]) -> tuple[Rust, ...]:
    """Where each page stands in the stream's bytes: calls of the template's `part`."""
    ends = list(accumulate(map(len, pages)))
    return tuple(
        code(f"part({end - len(page)}, {end})") for page, end in zip(pages, ends, strict=True)
    )


def _error(error: ErrorCode, names: IdentifierPool) -> ErrorView:
    name = names.take(error.name, "pascal")
    message = abbr(error.message, 200)[1:-1] if len(error.message) > 200 else error.message
    return ErrorView(name, code(str(error.code % 2**32)), string(message or error.name))


def _fixed_states(model: ProgramModel, resolver: Resolver) -> list[str]:
    """The Rust names of state that gets a struct of its own, which no other type may take."""
    names = _state_names()
    taken = [(a, names.take(a.name, "pascal")) for a in model.accounts]
    return [name for a, name in taken if fixed_size(resolver, a.type) is not None]


def _state_names() -> IdentifierPool:
    return IdentifierPool(*TAKEN)


def _states(model: ProgramModel, types: Types, skipped: list[str]) -> dict[str, StateView]:
    names, modules = _state_names(), IdentifierPool("r#mod")
    out: dict[str, StateView] = {}
    for account in model.accounts:
        if account.name in out:
            continue
        try:
            out[account.name] = state_view(account, types, names, modules)
        except CannotRender as why:
            skipped.append(f"The account type {account.name} has no Rust here: {why}.")
    return out


def _events(model: ProgramModel, types: Types, skipped: list[str]) -> tuple[EventView, ...]:
    out: list[EventView] = []
    taken: set[str] = set()
    for event in model.events:
        try:
            view = _event(event, types)
        except CannotRender as why:
            skipped.append(f"The event {event.name} has no Rust here: {why}.")
            continue
        if view.type in taken:
            skipped.append(f"The event {event.name} is of the same type as another one.")
            continue
        taken.add(view.type)
        out.append(view)
    return tuple(out)


def _event(event: Event, types: Types) -> EventView:
    d = event.discriminator
    if not d.consumed or d.offset or d.size is not None:
        raise CannotRender("its discriminator does not stand before its fields")
    kind = types.type(event.type, event.name)
    if kind.partition("<")[0] not in {v.name for v in types.views()}:
        raise CannotRender("it is no struct")
    size = fixed_size(types.resolver, event.type)
    whole = 0 if size is None else size + len(d.value)
    return EventView(
        code(pascal(_ascii(event.name))),
        code(kind.partition("<")[0]),
        code("<'_>" if "'a" in kind else ""),
        doc(event.docs),
        byte_array(d.value),
        code(str(len(d.value))),
        code(str(whole)),
        size is not None and whole <= 1024,
    )


# --- instructions ----------------------------------------------------------------------------------------------------


def _instruction(
    ix: Instruction,
    target: Target,
    types: Types,
    states: dict[str, StateView],
    error_type: Rust,
    error_names: dict[str, Rust],
    modules: IdentifierPool,
    many: bool,
    skipped: list[str],
    addresses: Addresses,
    author: str,
) -> InstructionView:
    module = modules.take(ix.name)
    fields, raw = _arguments(ix, types)
    if raw:
        skipped.append(f"The arguments of {ix.name} are passed on as bytes: {raw}.")
    args = () if raw else fields
    borrows = raw != "" or any("'a" in f.type for f in args)
    names = {f.name: v.name for f, v in zip(ix.args, args, strict=True)} if not raw else None
    accounts = accounts_view(
        ix, types, states, error_type, error_names, names, target, addresses, author
    )
    size: int | None = None
    if not raw:
        size = fixed_size(types.resolver, Struct(ix.args))
    returns, writes, returns_borrow = _returns(ix, types, skipped)
    returned = None if ix.returns is None else fixed_size(types.resolver, ix.returns)
    has_returns = ix.returns is not None and returns != "()"
    rows: list[Rust] = []
    for i, f in enumerate(ix.args):
        lines = doc([" ".join([f"{f.name}: {type_text(f.type)}", *f.docs])])
        rows.append(code(lines[0].replace("///", f"/// {i}.", 1)))
        rows += [code(line.replace("/// ", "/// " + " " * len(f"{i}. "), 1)) for line in lines[1:]]
    when = [text for key, text in ix.hints if key == "when"]
    docs = [
        *(ix.docs or (f"{ix.name}.",)),
        *(line for w in when for line in ("", f"When to use: {w}")),
    ]
    heavy = many or accounts.is_heavy
    has_accounts = bool(accounts.slots) or accounts.remaining
    return InstructionView(
        source_name=ix.name,
        module=module,
        title=code(module),
        docs=doc(docs),
        inner_docs=doc(docs, inner=True),
        data_rows=tuple(rows),
        args=args,
        args_generics=code("<'a>" if borrows else ""),
        args_data=code("&'a [u8]" if borrows else "&[u8]"),
        args_reads=tuple(code(f"let {f.name} = {f.read};") for f in args),
        args_build=code(f"Self {{ {', '.join(f.name for f in args)} }}" if args else "Self {}"),
        right_size=code(f"data.len() == {size}" if size else "data.is_empty()"),
        has_exact_size=size is not None and not raw,
        has_args=bool(args) or raw != "",
        is_raw=raw != "",
        raw_why=comment([f"Not decoded: {raw}."]) if raw else (),
        accounts=accounts,
        generics=target.generics if has_accounts else code("<'a>"),
        handler_generics=code(target.generics.replace("'info", "'_"))
        if has_accounts
        else code("<'a>"),
        listed=target.listed if has_accounts else code(target.listed.replace("'info", "'_")),
        returns=returns,
        has_returns=has_returns,
        returns_borrow=returns_borrow,
        handling=_handling(
            module,
            target,
            _return_data(writes, returned) if has_returns else (),
            accounts.finish,
        ),
        inline=code("never" if heavy else "always"),
        skip=code(str(len(ix.discriminator.value) if ix.discriminator.consumed else 0)),
        is_encoded=re.search(r"\bencode\b", author) is not None,
    )


def _handling(
    module: Rust, target: Target, returning: tuple[Rust, ...], finish: list[Rust]
) -> tuple[Rust, ...]:
    """The call of the handler, the statements that follow it, and the result of the instruction."""
    call = f"processor::{module}::process(&{target.mutable}accounts, &args)"
    if returning:
        return (code(f"let returned = {call}?;"), *returning, *finish, code("Ok(())"))
    if finish:
        return (code(f"{call}?;"), *finish, code("Ok(())"))
    return (code(call),)


#: What the runtime takes as return data.
_MOST_RETURNED = 1024


def _return_data(writes: tuple[Rust, ...], size: int | None) -> tuple[Rust, ...]:
    """Statements that write the handler's value to the return data."""
    if size is not None and size <= _MOST_RETURNED:
        return (
            code(f"let mut bytes = [0; {size}];"),
            code("let w = &mut Writer::new(&mut bytes);"),
            *writes,
            code("return_data(&bytes);"),
        )
    fits = f"bytes.len() <= {number(_MOST_RETURNED)}"
    return (
        code("let mut bytes = Vec::new();"),
        code("let w = &mut bytes;"),
        *writes,
        code(f"checks::ensure({fits}, Check::InstructionDidNotSerialize)?;"),
        code("return_data(&bytes);"),
    )


def _arguments(ix: Instruction, types: Types) -> tuple[tuple[RustField, ...], str]:
    """The arguments' fields, or why they are passed on as bytes."""
    if ix.disabled:
        return (), ix.disabled
    d = ix.discriminator
    if d.consumed and d.offset:
        return (), "the discriminator stands among the arguments"
    try:
        return types.fields(ix.args, ix.name), ""
    except CannotRender as why:
        return (), f"no Rust is made for {why}"
    except NotUsable as why:
        return (), why.why


def _returns(
    ix: Instruction, types: Types, skipped: list[str]
) -> tuple[Rust, tuple[Rust, ...], bool]:
    if ix.returns is None:
        return code("()"), (), False
    try:
        text = types.type(ix.returns, f"{ix.name} returned")
        writes = types.write(ix.returns, Value("returned", False), f"{ix.name} returned")
    except CannotRender as why:
        skipped.append(f"What {ix.name} returns has no Rust here: {why}.")
        return code("()"), (), False
    return code(text), tuple(map(code, writes)), "'a" in text


# --- dispatch --------------------------------------------------------------------------------------------------------


def _note(d: Discriminator, name: str) -> tuple[Rust, ...]:
    origin = f'sha256("global:{snake(name)}")[..8]' if d.origin == "anchor" else d.origin
    return comment([f"{name}: {origin}"])


def _dispatch(model: ProgramModel, views: tuple[InstructionView, ...]) -> DispatchView:
    instructions = _unique(model.instructions)
    sizes = {len(ix.discriminator.value) for ix in instructions}
    plain = all(
        ix.discriminator.offset == 0
        and ix.discriminator.consumed
        and ix.discriminator.size is None
        and not ix.also
        for ix in instructions
    )
    size = next(iter(sizes)) if len(sizes) == 1 else 0
    is_word = plain and size in (1, 2, 4, 8)
    names = IdentifierPool("MAX_ACCOUNTS")
    arms: list[tuple[tuple[int, int], ArmView]] = []
    for ix, view in zip(instructions, views, strict=True):
        d = ix.discriminator
        value = d.value
        if is_word:
            text = f"u{size * 8}::from_le_bytes({byte_array(value)})" if size > 1 else str(value[0])
            condition = ""
        else:
            text = ""
            condition = _condition(ix)
        start = len(value) if d.consumed else 0
        arguments = f"data.get({start}..).unwrap_or_default()" if start else "data"
        weight = sum(len(x.value) for x in (d, *ix.also)) + (1 if d.size is not None else 0)
        arm = ArmView(
            view.module,
            _note(d, ix.name),
            names.take(ix.name, "screaming"),
            code(text),
            code(condition),
            code(arguments),
        )
        arms.append(((-weight, len(arms)), arm))
    ordered = arms if is_word else sorted(arms, key=lambda pair: pair[0])
    return DispatchView(
        is_word, code(str(size)), code(f"u{size * 8}"), size == 8, tuple(a for _, a in ordered)
    )


def _condition(ix: Instruction) -> str:
    parts: list[str] = []
    for d in (ix.discriminator, *ix.also):
        if d.value and d.offset == 0:
            parts.append(f"data.starts_with(&{byte_array(d.value)})")
        elif d.value:
            parts.append(
                f"data.get({d.offset}..).is_some_and(|rest| rest.starts_with(&{byte_array(d.value)}))"
            )
        if d.size is not None:
            parts.append(f"data.len() == {d.size}")
    return " && ".join(parts) or "true"
