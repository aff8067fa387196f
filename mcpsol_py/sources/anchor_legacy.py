"""Legacy Anchor IDLs (before 0.30) to the program model: camelCase names, types of accounts in place, derived
discriminators.

A discriminator is sha256("global:" + snake_case name)[..8], as Anchor's client made it, unless the file gives one: a
given one wins."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    AccountType,
    Discriminator,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import Link, Struct, TypeDef
from mcpsol_py.names import snake
from mcpsol_py.sources.anchor_accounts import spelled
from mcpsol_py.sources.idl_items import ItemReader, names_of
from mcpsol_py.sources.reader import derived, keys

__all__ = ["read_anchor_legacy"]

_ROOT = keys(
    "version name docs constants instructions accounts types events errors metadata state address"
)
_INSTRUCTION = keys("name docs accounts args returns discriminator")
_ACCOUNT = keys(
    "name docs isMut isSigner isOptional optional pda relations address writable signer"
)

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


class _Legacy(ItemReader):
    writable_keys = ("isMut", "writable")
    signer_keys = ("isSigner", "signer")
    optional_keys = ("isOptional", "optional")
    account_keys = _ACCOUNT

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        self.defined = names_of(doc, "types") | names_of(doc, "accounts")
        self.surplus(doc, _ROOT, "the IDL")
        if doc.get("state") is not None:
            self.note("state and its methods (Anchor before 0.25) are not read", "state")
        metadata = doc.get("metadata")
        address = metadata.get("address") if type(metadata) is dict else None
        types, accounts = self.types_and_accounts(doc)
        if _is_native(doc, metadata):
            self.note(
                "error codes below 6000: this may be a native program in Anchor's form. Its discriminators are "
                "derived by Anchor's rule; give each instruction its 'discriminant' if the program has its own",
                "errors",
            )
        return ProgramModel(
            name=self.program_name(doc),
            instructions=self.each(doc, "instructions", self.instruction),
            accounts=accounts,
            events=self.each(doc, "events", self.event),
            errors=self.each(doc, "errors", self.error),
            types=types,
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
            return derived(
                namespace, name[:1].upper() + name[1:] if namespace == "account" else name
            )
        return Discriminator(self.inside("discriminator", self.bytes_of, value))

    def digits(self, name: str) -> None:
        """camelCase forgot whether "ix2" was ix2 or ix_2 in Rust, and the hashes differ (FIELD-NOTES C-7)."""
        if name.isalpha() or "_" in name:
            return
        taken, other = snake(name), snake(_DIGITS.sub(r"\1_\2", name))
        if taken != other:
            first, second = (
                derived("global", taken).value.hex(),
                derived("global", other).value.hex(),
            )
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
        accounts = _turned(self.account_items(item))
        return Instruction(
            name,
            self.discriminator(item, "global"),
            self.each(item, "args", self.field),
            accounts,
            (),
            None if returns is None else self.type(returns),
            self.docs(item) if "docs" in item else (),
        )

    def account_in_place(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        definition = self.definition(item, empty=True)
        name = definition.name
        return AccountType(
            name, self.discriminator(item, "account"), Link(name), definition.docs
        ), definition

    def event(self, item: dict[str, Any]) -> Event:
        fields = self.fields(item) or Struct(())
        return Event(self.name(item), self.discriminator(item, "event"), fields, self.docs(item))


def _turned(items: tuple[AccountItem, ...]) -> tuple[AccountItem, ...]:
    """*items* with their relations the way Anchor 0.1.0 and the model have them. Before 0.30 the account with the
    `has_one` listed the accounts that its data names; since then each of those lists that account."""
    if not any(isinstance(i, AccountGroup) or i.relations for i in items):
        return items
    names = [i.name for i in items]
    named_by: dict[str, list[str]] = {}
    for item in items:
        for related in item.relations if isinstance(item, Account) else ():
            other = related if related in names else spelled(related, names)
            if other is not None:
                named_by.setdefault(other, []).append(item.name)
    return tuple(
        replace(item, accounts=_turned(item.accounts))
        if isinstance(item, AccountGroup)
        else replace(item, relations=tuple(named_by.get(item.name, ())))
        for item in items
    )


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
