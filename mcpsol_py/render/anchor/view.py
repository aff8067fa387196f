"""A program model to an AnchorView, which holds everything that the templates of an Anchor crate place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mcpsol_py.errors import RenderError
from mcpsol_py.model.program import Constraints, Instruction, ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.render.account_lookup import flatten, need_instructions
from mcpsol_py.render.anchor.instruction import (
    AnchorContext,
    AnchorInstruction,
    instruction_view,
    program_uses,
)
from mcpsol_py.render.anchor.names import MODULES, TYPES, argument_struct_names
from mcpsol_py.render.anchor.pages import PagesView, pages_view
from mcpsol_py.render.anchor.structs import (
    ErrorView,
    StructView,
    distinct_errors,
    error_views,
    event_views,
    state_structs,
)
from mcpsol_py.render.anchor.types import AnchorTypes, TypeView
from mcpsol_py.render.own_errors import OwnErrors
from mcpsol_py.render.rust import (
    IdentifierPool,
    Rust,
    code,
    crate_name,
    crate_version,
    doc,
    string,
)
from mcpsol_py.render.view.constants import ConstantView, constants_view
from mcpsol_py.schema.pages import Descriptions, Form
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["AnchorView", "anchor_view"]


@dataclass(frozen=True, slots=True)
class AnchorView:
    """The whole crate."""

    name: Rust
    module: Rust
    title: tuple[Rust, ...]
    version: Rust
    address: Rust
    instructions: tuple[AnchorInstruction, ...]
    states: tuple[StructView, ...]
    events: tuple[StructView, ...]
    errors: tuple[ErrorView, ...]
    error_type: Rust
    types: tuple[TypeView, ...]
    takes_rest: bool
    constants: tuple[ConstantView, ...]
    pages: PagesView
    needs_spl: bool
    spl_features: Rust
    lang_features: Rust
    program_uses: tuple[Rust, ...]
    #: what the checks leave open, in words, with the instruction
    unchecked: tuple[str, ...]
    #: not Rust: the types and names that handlers made from bodies use
    context: AnchorContext


def anchor_view(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> AnchorView:
    """The view of *model*. Raises RenderError if something has no form in Anchor, SchemaError."""
    need_instructions(model)
    address = _address(model)
    name = crate_name(model.name)
    library = name.replace("-", "_")
    types = AnchorTypes(
        Resolver(model), IdentifierPool(*TYPES, *argument_struct_names(model))
    )
    error_type = types.names.take(f"{library} error", "pascal")
    states = state_structs(model, types)
    events = event_views(model, types)
    own_errors = distinct_errors(model.errors)
    errors = error_views(own_errors)
    variants = {e.name: view.name for e, view in zip(own_errors, errors, strict=True)}
    context = AnchorContext(types, states, OwnErrors(error_type, variants))
    instructions = tuple(instruction_view(ix, context) for ix in _ordered(model))
    return AnchorView(
        name=name,
        module=_module(library),
        title=doc(model.docs or [f"The program {model.name}."], inner=True),
        version=crate_version(model.version),
        address=string(address),
        instructions=instructions,
        states=tuple(state.view for state in states.values()),
        events=events,
        errors=errors,
        error_type=error_type,
        types=types.views(),
        takes_rest=types.takes_rest,
        constants=constants_view(model),
        pages=pages_view(
            model, form=form, descriptions=descriptions, lossless=lossless
        ),
        needs_spl=any(ix.accounts.uses_spl for ix in instructions),
        spl_features=_spl_features(model),
        lang_features=_lang_features(instructions),
        program_uses=program_uses(instructions, types),
        unchecked=tuple(
            f"{ix.source_name}: {what}"
            for ix in instructions
            for what in ix.accounts.unchecked
        ),
        context=context,
    )


def _address(model: ProgramModel) -> str:
    try:
        address_bytes(model.address or "")
    except ValueError as error:
        raise RenderError(
            f"{model.name}: an Anchor program only runs at the address that it declares, and the "
            f"source gives {model.address!r}. Add an address, such as `solana-keygen new` makes."
        ) from error
    return model.address or ""


def _module(library: str) -> Rust:
    """The name of the module with the #[program] attribute."""
    name = f"{library} program" if library in MODULES else library.removeprefix("r#")
    return IdentifierPool(*MODULES).take(name)


def _ordered(model: ProgramModel) -> list[Instruction]:
    """The first instruction of each discriminator, long discriminators first.

    Anchor takes the first discriminator that the data starts with.
    """
    first: dict[bytes, Instruction] = {}
    for ix in model.instructions:
        first.setdefault(ix.discriminator.value, ix)
    return sorted(first.values(), key=lambda ix: -len(ix.discriminator.value))


def _spl_features(model: ProgramModel) -> Rust:
    """The features of anchor-spl. Creating a mint takes its code for extensions."""
    features = ["associated_token", "mint", "solana-v3", "token", "token_2022"]
    if any(map(_creates_mint, _constraints(model))):
        features.append("token_2022_extensions")
    return code(", ".join(f'"{name}"' for name in features))


def _creates_mint(constraints: Constraints) -> bool:
    return constraints.init is not None and constraints.token_kind == "mint"


def _constraints(model: ProgramModel) -> Iterator[Constraints]:
    for ix in model.instructions:
        for _, account in flatten(ix.accounts):
            yield account.rules


def _lang_features(instructions: tuple[AnchorInstruction, ...]) -> Rust:
    """The features of anchor-lang."""
    if any(ix.accounts.init_if_needed for ix in instructions):
        return code('["init-if-needed"]')
    return code("[]")
