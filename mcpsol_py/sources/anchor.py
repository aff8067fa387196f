"""Reads Anchor IDL 0.1.0 (Anchor 0.30 and later), with or without its spec key.

Discriminators are given in the IDL. Types, accounts and events are named in their lists and defined
in "types".
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    IDL_KEY,
    Account,
    AccountItem,
    AccountType,
    Discriminator,
    Event,
    Instruction,
    Pda,
    ProgramModel,
    RemainingAccounts,
    Value,
)
from mcpsol_py.model.serial import from_json
from mcpsol_py.model.types import (
    Default,
    Enum,
    Field,
    Link,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
)
from mcpsol_py.sources.anchor_accounts import AccountScope
from mcpsol_py.sources.idl_items import ItemReader, names_of
from mcpsol_py.sources.idl_types import Shape
from mcpsol_py.sources.reader import check_kind, derived, from_origin, keys, kind_of

__all__ = ["read_anchor"]

_ROOT = keys(
    "address metadata docs instructions accounts events errors types constants version name"
)
_INSTRUCTION = keys(f"name docs discriminator accounts args returns {IDL_KEY}")
_TYPEDEF = keys(f"name docs serialization repr generics type {IDL_KEY}")
_ACCOUNT = keys(f"name docs writable signer optional address pda relations {IDL_KEY}")

# What `schema.anchor_idl` adds under IDL_KEY: the fields of the model that Anchor cannot express,
# with their types.
_DISCRIMINATORS = tuple[Discriminator, ...]
_INSTRUCTION_MORE = {
    "discriminator": Discriminator,
    "also": _DISCRIMINATORS,
    "remaining": tuple[RemainingAccounts, ...],
    "optional_accounts": Literal["program_id", "omitted"],
    "arg_values": tuple[tuple[str, Value], ...],
    "disabled": str,
}
_FIELD_MORE = {"default": Default}
_ACCOUNT_ITEM_MORE = {"pda": Pda, "default": Value, "signer": Literal["either"]}
_ACCOUNT_MORE = {
    "discriminator": Discriminator,
    "also": _DISCRIMINATORS,
    "size": int,
    "pda": Pda,
    "type": Type,
}
_EVENT_MORE = {"discriminator": Discriminator, "type": Type}
_TYPEDEF_MORE = {"type": Type, "layout": str, "align": int | None}


def read_anchor(doc: dict[str, Any], origin: str = "") -> ProgramModel:
    """Read an Anchor IDL of spec 0.1.0. Raises SourceError with the JSON path."""
    reader = _AnchorReader(origin)
    with from_origin(origin):
        return reader.program(doc)


class _AnchorReader(ItemReader):
    account_keys = _ACCOUNT
    plain_keys = keys("name writable signer")

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        self.defined = names_of(doc, "types")
        metadata = doc.get("metadata")
        if metadata is None:
            metadata = {}
        if type(metadata) is not dict:
            self.note(
                f"expected an object, got {kind_of(metadata)}; ignored", "metadata"
            )
            metadata = {}
        self.surplus(doc, _ROOT, "the IDL")
        docs = self._program_docs(doc, metadata)
        address = doc.get("address") or metadata.get("address") or None
        return ProgramModel(
            name=self._program_name(doc, metadata),
            instructions=self.each_item(
                doc, "instructions", self.instruction, self.disabled_instruction
            ),
            accounts=self.each_item(doc, "accounts", self.account_type),
            events=self.each_item(doc, "events", self.event),
            errors=self.each_item(doc, "errors", self.error),
            types=self.each_item(doc, "types", self.typedef, self.missing_type),
            constants=self.each_item(doc, "constants", self.constant),
            address=self.address(address, "the program"),
            version=self.text(metadata, "version", 64) or self.text(doc, "version", 64),
            docs=docs,
            origin=self.origin,
            dialect="anchor 0.1.0",
            findings=self.found(),
        )

    def _program_docs(
        self, doc: dict[str, Any], metadata: dict[str, Any]
    ) -> tuple[str, ...]:
        docs = self.docs(doc)
        description = self.inside(
            "metadata", lambda m: self.text(m, "description"), metadata
        )
        if docs or not description:
            return docs
        return (description,)

    def _program_name(self, doc: dict[str, Any], metadata: dict[str, Any]) -> str:
        if "name" in metadata:
            return self.inside("metadata", self.program_name, metadata)
        return self.program_name(doc)

    def discriminator(self, item: dict[str, Any], namespace: str) -> Discriminator:
        value = item.get("discriminator")
        if value is None:
            return derived(namespace, item["name"])
        return self.given_discriminator(value)

    def instruction_discriminator(
        self, item: dict[str, Any]
    ) -> tuple[Discriminator, str | None]:
        return self.discriminator(item, "global"), None

    # --- instructions

    def instruction(self, item: dict[str, Any]) -> Instruction:
        name = self.name(item)
        if not _INSTRUCTION.issuperset(item):
            self.surplus(item, _INSTRUCTION, f"instruction {name!r}")
        accounts = self.account_items(item)
        out = Instruction(
            name,
            self.discriminator(item, "global"),
            self.each(item, "args", self.field),
            accounts,
            (),
            self.return_type(item),
            self.docs(item),
        )
        return (
            replace(out, **self.extension(item, _INSTRUCTION_MORE))
            if IDL_KEY in item
            else out
        )

    def field(self, item: dict[str, Any], depth: int = 0) -> Field:
        out = super().field(item, depth)
        return (
            replace(out, **self.extension(item, _FIELD_MORE))
            if IDL_KEY in item
            else out
        )

    def account(self, item: dict[str, Any], scope: AccountScope) -> AccountItem:
        out = super().account(item, scope)
        if IDL_KEY not in item or not isinstance(out, Account):
            return out
        more = self.extension(item, _ACCOUNT_ITEM_MORE)
        # Anchor can write this default only as a fixed address or PDA.
        if "default" in more:
            more = {"address": None, "pda": None, **more}
        return replace(out, **more)

    # --- accounts, events, types

    def account_type(self, item: dict[str, Any]) -> AccountType:
        name = self.name(item)
        discriminator = self.discriminator(item, "account")
        out = AccountType(name, discriminator, self._data(item, name), self.docs(item))
        return (
            replace(out, **self.extension(item, _ACCOUNT_MORE))
            if IDL_KEY in item
            else out
        )

    def event(self, item: dict[str, Any]) -> Event:
        name = self.name(item)
        discriminator = self.discriminator(item, "event")
        out = Event(name, discriminator, self._data(item, name), self.docs(item))
        return (
            replace(out, **self.extension(item, _EVENT_MORE))
            if IDL_KEY in item
            else out
        )

    def _data(self, item: dict[str, Any], name: str) -> Type:
        """Return the type of an account's or event's data: the definition of the same name.

        IDLs that were converted from the legacy form by hand may still have the data in place.
        """
        if item["name"] in self.defined:
            return Link(name)
        if type(item.get("type")) is dict:
            return self.inside("type", self.body, item["type"])[0]
        if type(item.get("fields")) is list:
            return self.fields(item) or Unsupported(name, "it has no fields")
        return Link(name)

    def typedef(self, item: dict[str, Any]) -> TypeDef:
        if not _TYPEDEF.issuperset(item):
            self.surplus(item, _TYPEDEF, "the type")
        out = self.definition(item)
        return self._exact(out, item) if IDL_KEY in item else out

    # --- what Anchor cannot express

    def extension(self, item: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
        """Read what `schema.anchor_idl` wrote under IDL_KEY: the parts that Anchor cannot express."""
        given = check_kind(item[IDL_KEY], dict, "an object", path=IDL_KEY)
        out = {}
        for key, value in given.items():
            if key not in wanted:
                self.note(f"unknown key {abbr(key, 40)}; ignored", IDL_KEY)
                continue
            try:
                out[key] = from_json(wanted[key], value)
            except SourceError as error:
                error.at(path=f"{IDL_KEY}.{key}")
                raise
        return out

    def _exact(self, near: TypeDef, item: dict[str, Any]) -> TypeDef:
        """Return the exact definition; *near* is the closest form that Anchor has for it."""
        more = self.extension(item, _TYPEDEF_MORE)
        node = more.get("type", near.type)
        out = replace(near, type=node, shape=_shape_of(node))
        if near.layout != f"custom:{IDL_KEY}":
            return out
        layout = more.get("layout", "borsh")
        return replace(out, layout=layout, align=more.get("align"), declared=())


def _shape_of(node: Type) -> Shape:
    if isinstance(node, (Struct, Tuple)):
        return "struct"
    return "enum" if isinstance(node, Enum) else "alias"
