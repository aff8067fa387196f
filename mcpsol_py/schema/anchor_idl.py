"""Writes the model as an Anchor IDL of spec 0.1.0, and lists the losses.

The document uses Anchor's own words if Anchor has them. The rest is written so that other Anchor tools can still read
the document, and our reader gets the exact meaning back from the key "mcpsol":

- A type with the same bytes as an Anchor type (an amount, a map, a fixed string) becomes a defined type: the nearest
  Anchor type, with the exact one under "mcpsol".
- A type with other bytes (a length prefix of one byte, a big-endian number) is written in the same way, and marked
  `"serialization": {"custom": "mcpsol"}`, so that other tools refuse it instead of writing wrong bytes.
- Everything else (defaults, size discriminators, remaining accounts) is under "mcpsol" in the instruction, argument,
  account or event.

Reading the document again gives the same bytes for the same values. Each thing that only our reader understands is one
`Loss`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from mcpsol_py.items import names_of
from mcpsol_py.model.program import (
    IDL_KEY,
    AccountType,
    Constant,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.serial import to_json, type_to_json
from mcpsol_py.model.types import Field, TypeDef
from mcpsol_py.model.usable import account_leaves, for_callers, only_itself
from mcpsol_py.schema.anchor_idl_accounts import AccountWriter
from mcpsol_py.schema.anchor_idl_losses import Json, Loss, Losses, docs_entry
from mcpsol_py.schema.anchor_idl_names import is_own_definition, with_free_names
from mcpsol_py.schema.anchor_idl_types import TypeWriter, shape_of
from mcpsol_py.schema.schema_parts import given

__all__ = ["Loss", "to_anchor"]

T = TypeVar("T")


def to_anchor(model: ProgramModel) -> tuple[dict[str, Any], list[Loss]]:
    """Return the Anchor IDL 0.1.0 of *model*, ready for json.dumps, and the losses.

    What only the program itself can call is left out: no client needs it, and its arguments may have a type that a
    client cannot read.
    """
    writer = _DocumentWriter(for_callers(model))
    for ix in model.instructions:
        why = only_itself(ix, model.facade_of)
        if why is not None:
            writer.losses.add(f"{ix.name}: {why}", "instructions")
    return writer.document(), writer.losses.items


class _DocumentWriter:
    def __init__(self, model: ProgramModel) -> None:
        self.model = with_free_names(model)
        self.losses = Losses()
        self.types = TypeWriter(self.model, self.losses)

    def document(self) -> Json:
        model = self.model
        head = self._head()
        self._define_types()
        lists: Json = {
            "instructions": _each(
                self._instruction, model.instructions, "instructions"
            ),
            "accounts": _each(self._described, model.accounts, "accounts"),
            "events": _each(self._described, model.events, "events"),
            "errors": list(map(_error, model.errors)),
            "constants": _each(self._constant, model.constants, "constants"),
            "types": list(self.types.definitions.values()),
        }
        if model.pdas:
            self.losses.add(
                f"{len(model.pdas)} named PDAs that no instruction refers to", ""
            )
        always = ("instructions", "accounts", "types")
        return head | {
            key: items for key, items in lists.items() if items or key in always
        }

    def _head(self) -> Json:
        model = self.model
        head: Json = {}
        if model.address is None:
            message = "the program's address is not known, and Anchor needs one (--program-id)"
            self.losses.add(message, "address")
        else:
            head["address"] = model.address
        if model.facade_of is not None:
            message = f"a facade: accounts, return data and errors are those of {model.facade_of}"
            self.losses.add(message, "")
        version = model.version or "0.1.0"
        head["metadata"] = {"name": model.name, "version": version, "spec": "0.1.0"}
        return head | docs_entry(model.docs)

    def _define_types(self) -> None:
        for i, definition in enumerate(self.model.types):
            if definition.name in self.types.definitions:
                message = f"a second type with the name {definition.name!r} is left out"
                self.losses.add(message, f"types[{i}]")
                continue
            self.losses.path = f"types.{definition.name}"
            self.types.define(definition)

    def _constant(self, constant: Constant, path: str) -> Json:
        self.losses.path = path
        return {
            "name": constant.name,
            **docs_entry(constant.docs),
            "type": self.types.type(constant.type),
            "value": constant.value,
        }

    # --- instructions

    def _instruction(self, ix: Instruction, path: str) -> Json:
        self.losses.path = path
        extension: Json = {}
        discriminator = self._discriminator(ix.discriminator, extension)
        writer = AccountWriter(self.model, self.types.bodies, self.losses, ix)
        out: Json = {
            "name": ix.name,
            **docs_entry(ix.docs),
            "discriminator": discriminator,
            "accounts": writer.accounts(ix.accounts, (), f"{path}.accounts"),
            "args": self._args(ix, path),
        }
        self.losses.path = path
        if ix.returns is not None:
            out["returns"] = self.types.type(ix.returns)
        extension |= self._instruction_extension(ix)
        return out | given({IDL_KEY: extension})

    def _args(self, ix: Instruction, path: str) -> list[Json]:
        return _each(self._arg, ix.args, f"{path}.args")

    def _arg(self, arg: Field, path: str) -> Json:
        self.losses.path = path
        return self.types.field(arg)

    def _instruction_extension(self, ix: Instruction) -> Json:
        out: Json = {}
        for key, value, loss in _instruction_parts(ix):
            out[key] = value
            if loss:
                self.losses.add(loss)
        return out

    def _discriminator(self, known: Discriminator, extension: Json) -> list[int]:
        """Return the leading bytes. A discriminator that Anchor cannot express goes into *extension*."""
        if _is_leading(known):
            return list(known.value)
        extension["discriminator"] = to_json(known)
        if known.size is not None:
            self.losses.add(f"it is identified by its size of {known.size} bytes")
        if known.value:
            value = f"0x{known.value.hex()}"
            self.losses.add(
                f"it is identified by {value} at byte {known.offset} of its own fields"
            )
        return []

    # --- accounts and events

    def _described(self, item: AccountType | Event, path: str) -> Json:
        """Write an entry of "accounts" or "events". Its type is the definition with its name."""
        self.losses.path = path
        extension: Json = {}
        out: Json = {
            "name": item.name,
            **docs_entry(item.docs),
            "discriminator": self._discriminator(item.discriminator, extension),
        }
        self._define_described(item, extension)
        if isinstance(item, AccountType):
            extension |= self._account_extension(item)
        return out | given({IDL_KEY: extension})

    def _define_described(self, item: AccountType | Event, extension: Json) -> None:
        if is_own_definition(item):
            return
        name, body = item.name, item.type
        if self.types.bodies.setdefault(name, body) != body:
            extension["type"] = type_to_json(body)
            self.losses.add(
                f"a second {name!r}, with another type that only the extension has"
            )
        elif name not in self.types.definitions:
            self.types.define(TypeDef(name, body, shape=shape_of(body)))

    def _account_extension(self, account: AccountType) -> Json:
        out: Json = {}
        if account.also:
            out["also"] = to_json(account.also)
            self.losses.add("further discriminators")
        if account.size is not None:
            out["size"] = to_json(account.size)
            self.losses.add(f"its size of {account.size} bytes")
        if account.pda is not None:
            out["pda"] = to_json(account.pda)
            self.losses.add("the seeds of its address")
        return out


def _is_leading(known: Discriminator) -> bool:
    """Is it bytes at the start of the data, before the arguments or fields?"""
    if known.offset != 0 or known.size is not None:
        return False
    return known.consumed or not known.value


def _each(
    write: Callable[[T, str], Json], items: tuple[T, ...], path: str
) -> list[Json]:
    """Write each of *items*, the list at *path* of the document, with its own path."""
    return [write(item, f"{path}[{i}]") for i, item in enumerate(items)]


def _instruction_parts(ix: Instruction) -> Iterator[tuple[str, Any, str]]:
    """Yield the parts of *ix* that Anchor has no words for: key, value, and the loss for other tools or ""."""
    if ix.also:
        yield "also", to_json(ix.also), "further discriminators that identify it"
    if ix.remaining:
        names = ", ".join(names_of(ix.remaining))
        yield (
            "remaining",
            to_json(ix.remaining),
            f"the accounts after the named ones: {names}",
        )
    if ix.optional_accounts != "program_id":
        yield "optional_accounts", ix.optional_accounts, _loss_of_absent_accounts(ix)
    if ix.arg_values:
        names = ", ".join(name for name, _ in ix.arg_values)
        yield (
            "arg_values",
            to_json(ix.arg_values),
            f"a client fills in {names} by itself",
        )
    if ix.disabled is not None:
        yield "disabled", ix.disabled, f"it cannot be served: {ix.disabled}"


def _loss_of_absent_accounts(ix: Instruction) -> str:
    if any(account.optional for _, (account, _) in account_leaves(ix.accounts)):
        return (
            "absent optional accounts are left out; Anchor puts the program's id there"
        )
    return ""


def _error(error: ErrorCode) -> Json:
    return {"code": error.code, "name": error.name, **given({"msg": error.message})}
