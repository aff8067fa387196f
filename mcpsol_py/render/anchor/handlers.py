"""The handlers that an Anchor program gets from the bodies of a spec."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from operator import attrgetter

from mcpsol_py.bodies.tree import ProgramBodies
from mcpsol_py.items import names_of
from mcpsol_py.model.program import (
    Account,
    AccountSeed,
    ArgSeed,
    ConstSeed,
    Instruction,
    ProgramModel,
    Seed,
)
from mcpsol_py.model.types import PUBKEY, Enum, Field, Int, Link, Struct, Type, is_bytes
from mcpsol_py.render.anchor.structs import StateStruct
from mcpsol_py.render.anchor.types import TypeView, fields_of
from mcpsol_py.render.anchor.view import AnchorView
from mcpsol_py.render.handlers.build import ProgramHandlers, program_handlers
from mcpsol_py.render.handlers.dialects import ANCHOR, Dialect
from mcpsol_py.render.handlers.names import RustNames, StructNames, accounts_alone
from mcpsol_py.render.rust import IdentifierPool, byte_string
from mcpsol_py.render.rust_types import CannotRender

__all__ = ["anchor_handlers"]


def anchor_handlers(
    model: ProgramModel, bodies: ProgramBodies, view: AnchorView
) -> ProgramHandlers:
    """The handlers and helpers of an Anchor program. Raises RenderError."""
    if not bodies.instructions:
        return ProgramHandlers()
    return program_handlers(bodies, model.instructions, _AnchorCrate(model, view))


class _AnchorCrate:
    def __init__(self, model: ProgramModel, view: AnchorView) -> None:
        self.model = model
        self.context = view.context
        self.dialect: Dialect = ANCHOR
        own = view.context.errors
        self.errors = {
            name: f"crate::error::{own.enum}::{variant}"
            for name, variant in own.variants.items()
        }
        self.states = {
            name: _struct(state) for name, state in view.context.states.items()
        }
        self.types = dict(self._types(view))
        self.events = self._events()
        self.instructions = {shown.source_name: shown for shown in view.instructions}

    def names(self, ix: Instruction, helpers: dict[str, str]) -> RustNames:
        """The names of the handler of *ix*."""
        shown = self.instructions[ix.name]
        alone = accounts_alone(ix, shown.accounts.fields)
        arguments = {
            a.name: str(v.name) for a, v in zip(ix.args, shown.args, strict=True)
        }
        remaining = {each.name: "ctx.remaining_accounts" for each in ix.remaining}
        accounts = {
            name: self.dialect.account(f"ctx.accounts.{field}", account)
            for name, account, field in alone
        }
        states = {
            name: self.context.states[state]
            for name, account, _ in alone
            if (state := account.rules.state) in self.context.states
        }
        seeds = _Seeds(ix, arguments, accounts, states)
        return RustNames(
            errors=self.errors,
            helpers=helpers,
            variables=IdentifierPool("ctx", *arguments.values()),
            arguments=arguments | remaining,
            accounts=accounts,
            optional={
                name: f"ctx.accounts.{field}"
                for name, account, field in alone
                if account.optional
            },
            kinds=self.states,
            states={name: _struct(state) for name, state in states.items()},
            types=self.types,
            seeds={
                name: seeds.of(name, account, field)
                for name, account, field in alone
                if account.pda is not None
            },
            bumps={name: f"ctx.bumps.{field}" for name, _, field in alone},
            program="ctx.program_id",
            events=self.events,
        )

    def _events(self) -> dict[str, StructNames]:
        types = self.context.types
        names: dict[str, StructNames] = {}
        for event in self.model.events:
            body = types.resolver.target(event.type)
            if isinstance(body, Struct):
                fields = {n: str(rust) for n, rust in fields_of(body.fields).items()}
                names[event.name] = StructNames(
                    types.type(event.type, event.name), fields
                )
        return names

    def _types(self, view: AnchorView) -> Iterator[tuple[str, StructNames]]:
        """The structs and enums of the crate, by the source's names."""
        types = self.context.types
        views = {str(shown.name): shown for shown in view.types}
        for definition in self.model.types:
            body = types.resolver.target(Link(definition.name))
            with suppress(CannotRender):
                rust = types.type(Link(definition.name), definition.name)
                shown = views.get(rust)
                if shown is not None and isinstance(body, (Struct, Enum)):
                    yield (
                        definition.name,
                        StructNames(f"crate::types::{rust}", _parts(body, shown)),
                    )


def _parts(body: Struct | Enum, view: TypeView) -> dict[str, str]:
    """The fields or variants in Rust, by the source's names."""
    if isinstance(body, Struct):
        return dict(zip(names_of(body.fields), names_of(view.fields), strict=True))
    declared = map(attrgetter("declaration"), view.variants)
    return dict(zip(names_of(body.variants), declared, strict=True))


def _struct(state: StateStruct) -> StructNames:
    fields = {name: str(rust) for name, rust in fields_of(state.body.fields).items()}
    return StructNames(state.view.name, fields)


class _Seeds:
    """The seeds with which a handler signs for its accounts; Anchor keeps only their bumps."""

    def __init__(
        self,
        ix: Instruction,
        arguments: dict[str, str],
        accounts: dict[str, str],
        states: dict[str, StateStruct],
    ) -> None:
        self.ix = ix
        self.arguments = arguments
        self.accounts = accounts
        self.states = states

    def of(self, name: str, account: Account, field: str) -> str:
        """The seeds of an account with its bump; "" if they have no form here, which nothing may need."""
        assert account.pda is not None
        seeds = list(map(self._seed, account.pda.seeds))
        if not all(seeds):
            return ""
        bump = f"ctx.bumps.{field}"
        if account.stored_bump is not None and name in self.states:
            bump = f"{self.accounts[name]}.{self.states[name].field_name(account.stored_bump)}"
        return f"&[{', '.join(seeds)}, &[{bump}]]"

    def _seed(self, seed: Seed) -> str:
        match seed:
            case ConstSeed(value):
                return f"{byte_string(value)}.as_ref()"
            case AccountSeed(account=(name,), field=(), sort=None) if (
                name in self.accounts
            ):
                return f"{self.accounts[name]}.key().as_ref()"
            case AccountSeed(account=(name,), field=(field,), sort=None) if (
                name in self.states
            ):
                state = self.states[name]
                place = f"{self.accounts[name]}.{state.field_name(field)}"
                return _value(place, _type_of(state.body.fields, field), seed.encoding)
            case ArgSeed(path=(name,)) if name in self.arguments:
                kind = _type_of(self.ix.args, name)
                return _value(self.arguments[name], kind, seed.encoding)
        return ""


def _type_of(fields: tuple[Field, ...], name: str) -> Type:
    return next(field.type for field in fields if field.name == name)


def _value(text: str, kind: Type, encoding: str | None) -> str:
    if kind == PUBKEY or is_bytes(kind):
        return f"{text}.as_ref()"
    if isinstance(kind, Int) and encoding in (None, "be"):
        order = "be" if encoding == "be" or kind.big_endian else "le"
        return f"{text}.to_{order}_bytes().as_ref()"
    return ""
