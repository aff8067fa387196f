"""Legacy Anchor IDLs (before 0.30) to the program model: camelCase names, types of accounts in place, derived
discriminators.

A discriminator is sha256("global:" + snake_case name)[..8], as Anchor's client made it, unless the file gives one: a
given one wins."""

from __future__ import annotations

import re
from typing import Any

import orjson

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    AccountType,
    Constant,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import Link, Struct, Type, TypeDef
from mcpsol_py.names import clean_text, snake
from mcpsol_py.sources.anchor_accounts import AccountReader
from mcpsol_py.sources.idl_types import typedef
from mcpsol_py.sources.reader import derived, keys, kind_of

__all__ = ["read_anchor_legacy"]

_ROOT = keys("version name docs constants instructions accounts types events errors metadata state address")
_INSTRUCTION = keys("name docs accounts args returns discriminator")
_ACCOUNT = keys("name docs isMut isSigner isOptional optional pda relations address writable signer")

#: a digit after a small letter; "V2" is v2 by everyone's habit
_DIGITS = re.compile(r"([a-z])([0-9])")


def read_anchor_legacy(doc: dict[str, Any], origin: str = "") -> ProgramModel:
    """The model of a legacy Anchor IDL. Raises SourceError with the JSON path."""
    reader = _Legacy(origin)
    try:
        return reader.program(doc)
    except SourceError as error:
        error.at(origin)
        raise


class _Legacy(AccountReader):
    writable_keys = ("isMut", "writable")
    signer_keys = ("isSigner", "signer")
    optional_keys = ("isOptional", "optional")
    account_keys = _ACCOUNT

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        in_types = _names(doc, "types")
        self.defined = in_types | _names(doc, "accounts")
        self.surplus(doc, _ROOT, "the IDL")
        if doc.get("state") is not None:
            self.note("state and its methods (Anchor before 0.25) are not read", "state")
        metadata = doc.get("metadata")
        address = metadata.get("address") if type(metadata) is dict else None
        types = list(self.each(doc, "types", self.typedef))
        accounts = []
        for account, body in self.each(doc, "accounts", self.account_type):
            if account.name in in_types:
                same = any(t.name == account.name and t.type == body.type for t in types)
                accounts.append(account if same else _in_place(account, body))
            else:
                types.append(body)
                accounts.append(account)
        if _is_native(doc, metadata):
            self.note(
                "error codes below 6000: this may be a native program in Anchor's form. Its discriminators are "
                "derived by Anchor's rule; give each instruction its 'discriminant' if the program has its own",
                "errors",
            )
        return ProgramModel(
            name=self.program_name(doc),
            instructions=self.each(doc, "instructions", self.instruction),
            accounts=tuple(accounts),
            events=self.each(doc, "events", self.event),
            errors=self.each(doc, "errors", self.error),
            types=tuple(types),
            constants=self.each(doc, "constants", self.constant),
            address=self.address(doc.get("address") or address or None, "the program"),
            version=self.text(doc, "version", 64),
            docs=self.docs(doc),
            origin=self.origin,
            dialect="anchor legacy",
            findings=self.found(),
        )

    def discriminator(self, item: dict[str, Any], namespace: str) -> Discriminator:
        value = item.get("discriminator")
        if value is None:
            if namespace == "global":
                self.digits(item["name"])
            name = item["name"]
            # Rust hashed the struct's own name, "PriceUpdateV2"; Anchor's TypeScript types write it "priceUpdateV2".
            return derived(namespace, name[:1].upper() + name[1:] if namespace == "account" else name)
        return Discriminator(self.inside("discriminator", self.bytes_of, value))

    def digits(self, name: str) -> None:
        """camelCase forgot whether "ix2" was ix2 or ix_2 in Rust, and the hashes differ (FIELD-NOTES C-7)."""
        if name.isalpha() or "_" in name:
            return
        taken, other = snake(name), snake(_DIGITS.sub(r"\1_\2", name))
        if taken != other:
            first, second = derived("global", taken).value.hex(), derived("global", other).value.hex()
            self.note(
                f"{abbr(name, 60)} is taken for Rust's {taken}, discriminator 0x{first}; if it is {other} there, "
                f"it is 0x{second}. Write the right one into the file as 'discriminator'",
                "name",
            )

    def instruction(self, item: dict[str, Any]) -> Instruction:
        name = self.name(item)
        if not _INSTRUCTION.issuperset(item):
            self.surplus(item, _INSTRUCTION, f"instruction {name!r}")
        returns = item.get("returns")
        accounts = self.account_items(item)
        return Instruction(
            name,
            self.discriminator(item, "global"),
            self.each(item, "args", self.field),
            accounts,
            (),
            None if returns is None else self.type(returns),
            self.docs(item) if "docs" in item else (),
        )

    def account_type(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        body = item.get("type")
        if body is None:
            body = {"kind": "struct", "fields": []}
        if type(body) is not dict:
            raise SourceError(f"found {kind_of(body)} where a type definition must stand.", path="type")
        definition = typedef(self, item, body, layout=(item.get("serialization"), item.get("repr")))
        name = definition.name
        return AccountType(name, self.discriminator(item, "account"), Link(name), definition.docs), definition

    def event(self, item: dict[str, Any]) -> Event:
        fields = self.fields(item) or Struct(())
        return Event(self.name(item), self.discriminator(item, "event"), fields, self.docs(item))

    def error(self, item: dict[str, Any]) -> ErrorCode:
        return ErrorCode(self.whole(item, "code"), self.name(item), self.text(item, "msg"))

    def typedef(self, item: dict[str, Any]) -> TypeDef:
        body = item.get("type")
        if type(body) is not dict:
            raise SourceError(f"found {kind_of(body)} where a type definition must stand.", path="type")
        return typedef(self, item, body, layout=(item.get("serialization"), item.get("repr")))

    def constant(self, item: dict[str, Any]) -> Constant:
        value = item.get("value")
        text = value if type(value) is str else orjson.dumps(value).decode()
        return Constant(
            self.name(item), self._constant_type(item.get("type")), clean_text(text, 16_384), self.docs(item)
        )

    def _constant_type(self, value: Any) -> Type:
        if type(value) is dict and type(value.get("defined")) is str:
            return self.link(value["defined"], constant=True)
        return self.type(value)


def _is_native(doc: dict[str, Any], metadata: Any) -> bool:
    """Anchor numbers a program's own errors from 6000."""
    errors = doc.get("errors")
    said = type(metadata) is dict and metadata.get("origin") == "anchor"
    return (
        not said
        and type(errors) is list
        and bool(errors)
        and all(type(e) is dict and type(e.get("code")) is int and e["code"] < 6000 for e in errors)
    )


def _names(doc: dict[str, Any], key: str) -> set[str]:
    items = doc.get(key)
    if type(items) is not list:
        return set()
    return {i["name"] for i in items if type(i) is dict and type(i.get("name")) is str}


def _in_place(account: AccountType, body: TypeDef) -> AccountType:
    """An account whose name a different type has too: its data is described where it stands."""
    return AccountType(account.name, account.discriminator, body.type, account.docs)
