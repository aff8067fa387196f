"""Reads legacy Anchor IDLs (before 0.30): camelCase names, types of accounts in place, derived
discriminators.

A discriminator is sha256("global:" + the name in snake_case)[..8], as Anchor's client computed it.
If the file gives a discriminator, that one counts.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from mcpsol_py.errors import abbr
from mcpsol_py.model.program import (
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
from mcpsol_py.sources.idl_items import ItemReader, names_of
from mcpsol_py.sources.reader import (
    derived,
    from_origin,
    keys,
    matching_name,
    object_or_empty,
    objects_in,
)

__all__ = ["read_anchor_legacy"]

_ROOT = keys(
    "version name docs constants instructions accounts types events errors metadata state address"
)
_INSTRUCTION = keys("name docs accounts args returns discriminator")
_ACCOUNT = keys(
    "name docs isMut isSigner isOptional optional pda relations address writable signer"
)

#: Anchor numbers a program's own errors from here.
_FIRST_ERROR = 6000

#: A digit after a small letter. ("V2" is v2 in all programs.)
_DIGITS = re.compile(r"([a-z])([0-9])")


def read_anchor_legacy(doc: dict[str, Any], origin: str = "") -> ProgramModel:
    """Read a legacy Anchor IDL. Raises SourceError with the JSON path."""
    reader = _LegacyReader(origin)
    with from_origin(origin):
        return reader.program(doc)


class _LegacyReader(ItemReader):
    writable_keys = ("isMut", "writable")
    signer_keys = ("isSigner", "signer")
    optional_keys = ("isOptional", "optional")
    account_keys = _ACCOUNT
    plain_keys = keys("name isMut isSigner")

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        self.defined = names_of(doc, "types") | names_of(doc, "accounts")
        self.surplus(doc, _ROOT, "the IDL")
        if doc.get("state") is not None:
            self.note(
                "state and its methods (Anchor before 0.25) are not read", "state"
            )
        metadata = object_or_empty(doc.get("metadata"))
        types, accounts = self.types_and_accounts(doc)
        if _is_native(doc, metadata):
            self.note(
                "error codes below 6000: this may be a native program in Anchor's form. Its "
                "discriminators are derived by Anchor's rule; if the program has its own, add 'discriminant' to each "
                "instruction",
                "errors",
            )
        address = doc.get("address") or metadata.get("address") or None
        return ProgramModel(
            name=self.program_name(doc),
            instructions=self.each_item(
                doc, "instructions", self.instruction, self.disabled_instruction
            ),
            accounts=accounts,
            events=self.each_item(doc, "events", self.event),
            errors=self.each_item(doc, "errors", self.error),
            types=types,
            constants=self.each_item(doc, "constants", self.constant),
            address=self.address(address, "the program"),
            version=self.text(doc, "version", 64),
            docs=self.docs(doc),
            origin=self.origin,
            dialect="anchor legacy",
            findings=self.found(),
        )

    # --- discriminators

    def discriminator(self, item: dict[str, Any], namespace: str) -> Discriminator:
        value, name = item.get("discriminator"), item["name"]
        if value is not None:
            return self.given_discriminator(value)
        if namespace == "global":
            self._note_digits(name)
        elif namespace == "account":
            # Rust hashed the struct's own name, "PriceUpdateV2"; Anchor's TypeScript types write
            # "priceUpdateV2".
            name = name[:1].upper() + name[1:]
        return derived(namespace, name)

    def instruction_discriminator(
        self, item: dict[str, Any]
    ) -> tuple[Discriminator, str | None]:
        return self.discriminator(item, "global"), None

    def _note_digits(self, name: str) -> None:
        """Warn if the Rust name is uncertain: "ix2" in camelCase was ix2 or ix_2, and their hashes
        differ.
        """
        if name.isalpha() or "_" in name:
            return
        taken, other = snake(name), snake(_DIGITS.sub(r"\1_\2", name))
        if taken == other:
            return
        first, second = derived("global", taken).value, derived("global", other).value
        self.note(
            f"{abbr(name, 60)} is read as {taken} in Rust, discriminator 0x{first.hex()}; if the "
            "program calls it "
            f"{other}, the discriminator is 0x{second.hex()}. Write the right one into the file as "
            "'discriminator'",
            "name",
        )

    # --- instructions, accounts, events

    def instruction(self, item: dict[str, Any]) -> Instruction:
        name = self.name(item)
        if not _INSTRUCTION.issuperset(item):
            self.surplus(item, _INSTRUCTION, f"instruction {name!r}")
        accounts = _with_new_relations(self.account_items(item))
        return Instruction(
            name,
            self.discriminator(item, "global"),
            self.each(item, "args", self.field),
            accounts,
            (),
            self.return_type(item),
            self.docs(item),
        )

    def account_in_place(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        definition = self.definition(item, empty=True)
        name = definition.name
        discriminator = self.discriminator(item, "account")
        return AccountType(name, discriminator, Link(name), definition.docs), definition

    def event(self, item: dict[str, Any]) -> Event:
        fields = self.fields(item) or Struct(())
        return Event(
            self.name(item), self.discriminator(item, "event"), fields, self.docs(item)
        )


def _with_new_relations(items: tuple[AccountItem, ...]) -> tuple[AccountItem, ...]:
    """Turn relations around, to the direction of Anchor 0.1.0 and the model.

    Before 0.30, the account with the `has_one` listed the accounts that its data names. Since then,
    each of those accounts lists the account with the `has_one`.
    """
    if not any(isinstance(i, AccountGroup) or i.relations for i in items):
        return items
    named_by = _named_by(items)
    return tuple(_with_relations(item, named_by) for item in items)


def _named_by(items: tuple[AccountItem, ...]) -> dict[str, list[str]]:
    """Return, for each account, the accounts whose old relations name it."""
    names = [i.name for i in items]
    out: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, AccountGroup):
            continue
        for related in item.relations:
            other = matching_name(related, names)
            if other is not None:
                out.setdefault(other, []).append(item.name)
    return out


def _with_relations(item: AccountItem, named_by: dict[str, list[str]]) -> AccountItem:
    if isinstance(item, AccountGroup):
        return replace(item, accounts=_with_new_relations(item.accounts))
    return replace(item, relations=tuple(named_by.get(item.name, ())))


def _is_native(doc: dict[str, Any], metadata: dict[str, Any]) -> bool:
    """Return whether all error codes are below those of Anchor programs."""
    errors = doc.get("errors")
    objects = objects_in(errors)
    if metadata.get("origin") == "anchor" or not objects:
        return False
    return objects == errors and all(map(_is_native_error, objects))


def _is_native_error(item: dict[str, Any]) -> bool:
    code = item.get("code")
    return type(code) is int and code < _FIRST_ERROR
