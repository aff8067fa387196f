"""A program model to a CrateView, which holds everything that the templates of a crate place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcpsol_py.bodies.tree import bodies_of
from mcpsol_py.model.program import Discriminator, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.render.account_lookup import need_instructions
from mcpsol_py.render.addresses import Addresses
from mcpsol_py.render.ambiguous import ambiguous_types
from mcpsol_py.render.own_errors import OwnErrors
from mcpsol_py.render.rust import (
    IdentifierPool,
    Rust,
    byte_array,
    code,
    comment,
    crate_name,
    crate_version,
    doc,
    only_ascii,
)
from mcpsol_py.render.rust_types import TAKEN, CannotRender, Types
from mcpsol_py.render.targets import PINOCCHIO, Target
from mcpsol_py.render.type_views import EnumView, StructView
from mcpsol_py.render.view.constants import ConstantView, constants_view
from mcpsol_py.render.view.context import AuthorCode, CrateContext
from mcpsol_py.render.view.dispatch import DispatchView, dispatch_view
from mcpsol_py.render.view.errors import ErrorView, check_views, error_views
from mcpsol_py.render.view.events import EventView, event_views
from mcpsol_py.render.view.instruction import InstructionView, instruction_views
from mcpsol_py.render.view.pages import PagesView, pages_view
from mcpsol_py.render.view.state import StateView, state_view
from mcpsol_py.render.view.type_usage import TypeUsage
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["CrateView", "crate_view"]

#: Accounts that the entry keeps when an instruction takes a list of them: a transaction can lock no more.
_WITH_REMAINING = 64


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
    #: an instruction takes any number of accounts, so a call with more is refused
    takes_remaining: bool
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
    #: what the checks leave open, in words, with the instruction
    unchecked: tuple[str, ...]
    #: whether the code that creates an account is inlined: it is if only one place needs it
    create_inline: Rust
    #: a type of the source is longer than clippy likes
    has_long_types: bool
    pages: PagesView
    #: not Rust: the types and names that handlers made from bodies use
    context: CrateContext


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
    need_instructions(model)
    errors = error_views(model.errors)
    context = _context(model, target, errors, AuthorCode(author))
    reachable = _reachable(model.instructions)
    instructions = instruction_views(reachable, context, count=len(model.instructions))
    events = event_views(model.events, context)
    states = tuple(context.states.values())
    usage = TypeUsage(context.types.views(), instructions, states, events)
    own_id = _own_address(model)
    name = crate_name(model.name)
    return CrateView(
        target=target,
        name=name,
        library=code(name.replace("-", "_")),
        title=doc(model.docs or [f"The program {model.name}."], inner=True),
        version=crate_version(model.version),
        has_address=own_id is not None,
        address=byte_array(own_id or b""),
        address_text=comment([model.address or ""]),
        max_accounts=_max_accounts(instructions),
        takes_remaining=any(ix.accounts.remaining for ix in instructions),
        dispatch=dispatch_view(reachable, [ix.module for ix in instructions]),
        instructions=instructions,
        states=states,
        events=events,
        errors=errors,
        error_type=context.errors.enum,
        checks=check_views(),
        types=usage.used_views(encodes_arguments=context.author.names("encode")),
        addresses=context.addresses,
        constants=constants_view(model),
        skipped=comment(context.skipped, limit=20000),
        unchecked=tuple(_unchecked(instructions)),
        has_long_types=usage.has_complex_types(),
        create_inline=_create_inline(instructions),
        pages=pages_view(
            page_set(model, form=form, descriptions=descriptions, lossless=lossless)
        ),
        context=context,
    )


def _unchecked(instructions: tuple[InstructionView, ...]) -> Iterator[str]:
    """What the checks leave open, in words, with the instruction."""
    for ix in instructions:
        for what in ix.accounts.unchecked:
            yield f"{ix.source_name}: {what}"
        if ix.is_raw:
            yield f"{ix.source_name}: that the arguments are well formed: they are passed on as bytes"


def _context(
    model: ProgramModel,
    target: Target,
    errors: tuple[ErrorView, ...],
    author: AuthorCode,
) -> CrateContext:
    resolver = Resolver(model)
    types = Types(resolver, *_fixed_states(model, resolver))
    skipped: list[str] = []
    states = _states(model, types, skipped)
    enum = types.names.take(f"{only_ascii(model.name)} error", "pascal")
    variants = {e.name: view.name for e, view in zip(model.errors, errors, strict=True)}
    return CrateContext(
        target,
        types,
        states,
        OwnErrors(enum, variants),
        author,
        frozenset(bodies_of(model).instructions),
        ambiguous=ambiguous_types(model),
        skipped=skipped,
    )


def _fixed_states(model: ProgramModel, resolver: Resolver) -> list[str]:
    """The Rust names of state that gets a struct of its own, which no other type may take."""
    names = _state_names()
    taken = [
        (account, names.take(account.name, "pascal")) for account in model.accounts
    ]
    return [
        name
        for account, name in taken
        if fixed_size(resolver, account.type) is not None
    ]


def _state_names() -> IdentifierPool:
    return IdentifierPool(*TAKEN)


def _states(
    model: ProgramModel, types: Types, skipped: list[str]
) -> dict[str, StateView]:
    """The account types that have a Rust form, by the source's names."""
    names, modules = _state_names(), IdentifierPool("r#mod")
    states: dict[str, StateView] = {}
    for account in model.accounts:
        if account.name in states:
            continue
        try:
            states[account.name] = state_view(account, types, names, modules)
        except CannotRender as why:
            skipped.append(
                f"No Rust was generated for the account type {account.name}: {why}."
            )
    return states


def _reachable(instructions: tuple[Instruction, ...]) -> list[Instruction]:
    """The instructions without those that have the discriminator of an earlier one."""
    seen: set[Discriminator] = set()
    reachable: list[Instruction] = []
    for ix in instructions:
        if ix.discriminator not in seen or not ix.discriminator.value:
            seen.add(ix.discriminator)
            reachable.append(ix)
    return reachable


def _own_address(model: ProgramModel) -> bytes | None:
    """The program's address, or None if the source gives none or a wrong one."""
    try:
        return address_bytes(model.address or "")
    except ValueError:
        return None


def _max_accounts(instructions: tuple[InstructionView, ...]) -> Rust:
    """The number of accounts that the entry keeps: 1 to 255."""
    most = max(len(ix.accounts.slots) for ix in instructions)
    if any(ix.accounts.remaining for ix in instructions):
        most = max(most, _WITH_REMAINING)
    return code(str(min(max(most, 1), 255)))


def _create_inline(instructions: tuple[InstructionView, ...]) -> Rust:
    created = sum(ix.accounts.created for ix in instructions)
    return code("always" if created == 1 else "never")
