"""The names that a pinocchio or solana-program crate gives to what bodies use."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import compress
from operator import attrgetter

from mcpsol_py.bodies.tree import ProgramBodies
from mcpsol_py.errors import RenderError
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Instruction, ProgramModel
from mcpsol_py.model.types import Enum, Link, Struct
from mcpsol_py.render.handlers.build import ProgramHandlers, program_handlers
from mcpsol_py.render.handlers.dialects import NATIVE, PINOCCHIO, Dialect
from mcpsol_py.render.handlers.names import RustNames, StructNames, accounts_alone
from mcpsol_py.render.rust import IdentifierPool, code
from mcpsol_py.render.rust_types import CannotRender
from mcpsol_py.render.type_views import EnumView, RustField, StructView
from mcpsol_py.render.view import CrateView
from mcpsol_py.render.view.state import StateView

__all__ = ["crate_handlers"]

_DIALECTS = {"pinocchio": PINOCCHIO, "native": NATIVE}


def crate_handlers(
    model: ProgramModel, bodies: ProgramBodies, view: CrateView
) -> ProgramHandlers:
    """The handlers and helpers of a crate. Raises RenderError."""
    if not bodies.instructions:
        return ProgramHandlers()
    return program_handlers(bodies, model.instructions, _Crate(model, view))


class _Crate:
    def __init__(self, model: ProgramModel, view: CrateView) -> None:
        self.model = model
        self.view = view
        self.dialect: Dialect = _DIALECTS[view.target.name]
        self.errors = {
            name: f"{view.error_type}::{variant}"
            for name, variant in view.context.errors.variants.items()
        }
        self.states = {name: _state(view) for name, view in view.context.states.items()}
        self.types = dict(self._types())
        self.events = self._events()
        self._instructions = {shown.source_name: shown for shown in view.instructions}

    def names(self, ix: Instruction, helpers: dict[str, str]) -> RustNames:
        """The names of the handler of *ix*."""
        shown = self._instructions[ix.name]
        if shown.is_raw:
            raise RenderError(
                f"{ix.name} has a body, but its arguments cannot be decoded in Rust."
            )
        by_slot = {
            str(seeds.account): f"accounts.{seeds.name}()"
            for seeds in shown.accounts.seeds
        }
        bumps = {
            str(seeds.account): f"accounts.{seeds.bump}"
            for seeds in shown.accounts.seeds
        }
        alone = accounts_alone(ix, shown.accounts.slots)
        return RustNames(
            errors=self.errors,
            helpers=helpers,
            variables=IdentifierPool("accounts", "args"),
            arguments={
                arg.name: _argument(field)
                for arg, field in zip(ix.args, shown.args, strict=True)
            }
            | {each.name: "accounts.remaining" for each in ix.remaining},
            accounts={
                name: self.dialect.account(f"accounts.{slot}", account)
                for name, account, slot in alone
            },
            optional={
                name: f"accounts.{slot}"
                for name, account, slot in alone
                if account.optional
            },
            kinds=self.states,
            states={
                name: self.states[state]
                for name, account, _ in alone
                if (state := account.rules.state) in self.states
            },
            seeds={name: by_slot[slot] for name, _, slot in alone if slot in by_slot},
            bumps={name: bumps[slot] for name, _, slot in alone if slot in bumps},
            program="accounts.program_id",
            events=self.events,
            types=self.types,
        )

    def _events(self) -> dict[str, StructNames]:
        types = self.view.context.types
        structs = {
            view.name: view for view in types.views() if isinstance(view, StructView)
        }
        names: dict[str, StructNames] = {}
        for event in self.model.events:
            rust = code(types.type(event.type, event.name).partition("<")[0])
            body = types.resolver.target(event.type)
            if rust in structs and isinstance(body, Struct):
                names[event.name] = _struct(rust, body, structs[rust])
        return names

    def _types(self) -> Iterator[tuple[str, StructNames]]:
        """The structs and enums of the crate, by the source's names."""
        types = self.view.context.types
        views = {view.name: view for view in self.view.types}
        for definition in self.model.types:
            with suppress(CannotRender):
                link = Link(definition.name)
                rust, body = (
                    code(types.type(link).partition("<")[0]),
                    types.resolver.target(link),
                )
                match body, views.get(rust):
                    case Struct(), StructView() as view:
                        yield (
                            definition.name,
                            _struct(f"crate::types::{rust}", body, view),
                        )
                    case Enum(), EnumView() as view:
                        yield (
                            definition.name,
                            _enum(f"crate::types::{rust}", body, view),
                        )


def _argument(field: RustField) -> str:
    """An argument as a value. A list of bytes stays a slice in the instruction's data."""
    is_copied = field.type.startswith("&") and not field.type.endswith("[u8]")
    return f"{'*' if is_copied else ''}args.{field.name}"


def _struct(rust: str, body: Struct, view: StructView) -> StructNames:
    names = names_of(body.fields)
    is_reference = [field.type.startswith("&") for field in view.fields]
    fields = dict(zip(names, map(str, names_of(view.fields)), strict=True))
    return StructNames(
        rust, fields, references=frozenset(compress(names, is_reference))
    )


def _enum(rust: str, body: Enum, view: EnumView) -> StructNames:
    declared = map(attrgetter("declaration"), view.variants)
    return StructNames(rust, dict(zip(names_of(body.variants), declared, strict=True)))


def _state(view: StateView) -> StructNames:
    wrapped = frozenset(
        name for name, form in view.fields.items() if form.copy.endswith(".get()")
    )
    members = {complex.member for complex in view.complexes}
    coded = frozenset(n for n, form in view.fields.items() if form.name in members)
    fields = {n: str(form.name) for n, form in view.fields.items()}
    return StructNames(view.name, fields, wrapped, coded)
