"""Anchor IDL 0.1.0 (Anchor 0.30 and later), with or without its spec key, to the program model.

Discriminators are given and taken as they are. Types, accounts and events are named in their lists and defined in
"types"."""

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
from mcpsol_py.sources.anchor_accounts import Scope
from mcpsol_py.sources.idl_items import ItemReader, names_of
from mcpsol_py.sources.reader import derived, keys, kind_of

__all__ = ["read_anchor"]

_ROOT = keys(
    "address metadata docs instructions accounts events errors types constants version name"
)
_INSTRUCTION = keys(f"name docs discriminator accounts args returns {IDL_KEY}")
_TYPEDEF = keys(f"name docs serialization repr generics type {IDL_KEY}")
_ACCOUNT = keys(f"name docs writable signer optional address pda relations {IDL_KEY}")

_DISCRIMINATORS = tuple[Discriminator, ...]
_INSTRUCTION_MORE = {
    "discriminator": Discriminator,
    "also": _DISCRIMINATORS,
    "remaining": tuple[RemainingAccounts, ...],
    "optional_accounts": Literal["program_id", "omitted"],
    "arg_values": tuple[tuple[str, Value], ...],
    "disabled": str,
}
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
    """The model of an Anchor IDL in spec 0.1.0. Raises SourceError with the JSON path."""
    reader = _Anchor(origin)
    try:
        return reader.program(doc)
    except SourceError as error:
        error.at(origin)
        raise


class _Anchor(ItemReader):
    account_keys = _ACCOUNT

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        self.defined = names_of(doc, "types")
        metadata = doc.get("metadata")
        if metadata is None:
            metadata = {}
        if type(metadata) is not dict:
            raise SourceError(
                f"found {kind_of(metadata)} where an object must stand.", path="metadata"
            )
        self.surplus(doc, _ROOT, "the IDL")
        named = metadata if "name" in metadata else doc
        docs = self.docs(doc) if "docs" in doc else ()
        description = self.inside("metadata", lambda m: self.text(m, "description"), metadata)
        return ProgramModel(
            name=self.inside("metadata", self.program_name, metadata)
            if named is metadata
            else self.program_name(doc),
            instructions=self.each(doc, "instructions", self.instruction),
            accounts=self.each(doc, "accounts", self.account_type),
            events=self.each(doc, "events", self.event),
            errors=self.each(doc, "errors", self.error),
            types=self.each(doc, "types", self.typedef),
            constants=self.each(doc, "constants", self.constant),
            address=self.address(
                doc.get("address") or metadata.get("address") or None, "the program"
            ),
            version=self.text(metadata, "version", 64) or self.text(doc, "version", 64),
            docs=docs or ((description,) if description else ()),
            origin=self.origin,
            dialect="anchor 0.1.0",
            findings=self.found(),
        )

    def discriminator(self, item: dict[str, Any], namespace: str) -> Discriminator:
        value = item.get("discriminator")
        if value is None:
            return derived(namespace, item["name"])
        return Discriminator(self.inside("discriminator", self.bytes_of, value))

    def instruction(self, item: dict[str, Any]) -> Instruction:
        name = self.name(item)
        if not _INSTRUCTION.issuperset(item):
            self.surplus(item, _INSTRUCTION, f"instruction {name!r}")
        returns = item.get("returns")
        accounts = self.account_items(item)
        out = Instruction(
            name,
            self.discriminator(item, "global"),
            self.each(item, "args", self.field),
            accounts,
            (),
            None if returns is None else self.type(returns),
            self.docs(item) if "docs" in item else (),
        )
        return replace(out, **self.extension(item, _INSTRUCTION_MORE)) if IDL_KEY in item else out

    def field(self, item: dict[str, Any], depth: int = 0) -> Field:
        out = super().field(item, depth)
        return (
            replace(out, **self.extension(item, {"default": Default})) if IDL_KEY in item else out
        )

    def account(self, item: dict[str, Any], scope: Scope) -> AccountItem:
        out = super().account(item, scope)
        if IDL_KEY not in item or not isinstance(out, Account):
            return out
        more = self.extension(item, {"pda": Pda, "default": Value, "signer": Literal["either"]})
        if "default" in more:  # what Anchor holds fixed is only this default
            more = {"address": None, "pda": None, **more}
        return replace(out, **more)

    def account_type(self, item: dict[str, Any]) -> AccountType:
        name = self.name(item)
        out = AccountType(
            name, self.discriminator(item, "account"), self._data(item, name), self.docs(item)
        )
        return replace(out, **self.extension(item, _ACCOUNT_MORE)) if IDL_KEY in item else out

    def event(self, item: dict[str, Any]) -> Event:
        name = self.name(item)
        out = Event(
            name, self.discriminator(item, "event"), self._data(item, name), self.docs(item)
        )
        return replace(out, **self.extension(item, _EVENT_MORE)) if IDL_KEY in item else out

    def extension(self, item: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
        """What `schema.anchor_idl` wrote beside something that Anchor cannot say whole."""
        given = item[IDL_KEY]
        if type(given) is not dict:
            raise SourceError(f"found {kind_of(given)} where an object must stand.", path=IDL_KEY)
        out = {}
        for key, value in given.items():
            if key not in wanted:
                self.note(f"the key {abbr(key, 40)} is not known here; ignored", IDL_KEY)
                continue
            try:
                out[key] = from_json(wanted[key], value)
            except SourceError as error:
                error.at(path=f"{IDL_KEY}.{key}")
                raise
        return out

    def _data(self, item: dict[str, Any], name: str) -> Type:
        """The type that describes it: the definition of its name; IDLs on their way from the legacy form still hold
        it in place."""
        if item["name"] not in self.defined:
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

    def _exact(self, near: TypeDef, item: dict[str, Any]) -> TypeDef:
        """The definition whose nearest Anchor form *near* is."""
        more = self.extension(item, _TYPEDEF_MORE)
        node = more.get("type", near.type)
        shape: Literal["struct", "enum", "alias"] = (
            "struct"
            if isinstance(node, (Struct, Tuple))
            else "enum"
            if isinstance(node, Enum)
            else "alias"
        )
        if near.layout == f"custom:{IDL_KEY}":
            return replace(
                near,
                type=node,
                shape=shape,
                layout=more.get("layout", "borsh"),
                align=more.get("align"),
                declared=(),
            )
        return replace(near, type=node, shape=shape)
