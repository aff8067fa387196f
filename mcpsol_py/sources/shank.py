"""Reads Shank IDLs (native programs), with the keys that Kinobi added to them.

Discriminators are declared as {"type": "u8", "value": 3} or as a bare number, or are the
instruction's place in the list. Accounts have no discriminator.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    Account,
    AccountItem,
    AccountType,
    ArgSeed,
    ConstSeed,
    Discriminator,
    Event,
    Instruction,
    Pda,
    ProgramIdSeed,
    ProgramModel,
    Seed,
)
from mcpsol_py.model.types import Int, Link, String, Struct, Type, TypeDef
from mcpsol_py.sources.anchor_accounts import AccountScope
from mcpsol_py.sources.idl_items import ItemReader, names_of
from mcpsol_py.sources.idl_types import leaf
from mcpsol_py.sources.reader import from_origin, keys, object_or_empty, objects_in

__all__ = ["read_shank"]

_ROOT = keys(
    "version name docs constants instructions accounts types events errors metadata address"
)
_INSTRUCTION = keys(
    "name docs accounts args discriminant discriminator defaultOptionalAccounts "
    "legacyOptionalAccountsStrategy"
)
_ACCOUNT = keys(
    "name docs desc isMut isSigner isOptional optional isOptionalSigner optionalSigner pda "
    "writable signer"
)
_SIGNER_EITHER = ("isOptionalSigner", "optionalSigner")


def read_shank(doc: dict[str, Any], origin: str = "") -> ProgramModel:
    """Read a Shank IDL. Raises SourceError with the JSON path."""
    reader = _ShankReader(origin)
    with from_origin(origin):
        return reader.program(doc)


class _ShankReader(ItemReader):
    has_layout_keys = False
    writable_keys = ("isMut", "writable")
    signer_keys = ("isSigner", "signer")
    optional_keys = ("isOptional", "optional")
    account_keys = _ACCOUNT
    plain_keys = keys("name isMut isSigner")
    #: whether "defaultOptionalAccounts" marks instructions (Shank before 0.1)
    old_strategy = False
    #: the place of the instruction that is being read
    place = -1

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        self.defined = names_of(doc, "types") | names_of(doc, "accounts")
        self.surplus(doc, _ROOT, "the IDL")
        metadata = object_or_empty(doc.get("metadata"))
        address = metadata.get("address") or doc.get("address") or None
        self.old_strategy = _has_old_strategy(doc)
        types, accounts = self.types_and_accounts(doc)
        return ProgramModel(
            name=self.program_name(doc),
            instructions=self.each_item(
                doc, "instructions", self.instruction, self.disabled_instruction
            ),
            accounts=accounts,
            events=tuple(
                e for e in self.each_item(doc, "events", self.event) if e is not None
            ),
            errors=self.each_item(doc, "errors", self.error),
            types=types,
            constants=self.each_item(doc, "constants", self.constant),
            pdas=tuple(a.pda for a in accounts if a.pda is not None),
            address=self.address(address, "the program"),
            version=self.text(doc, "version", 64),
            docs=self.docs(doc),
            origin=self.origin,
            dialect="shank",
            findings=self.found(),
        )

    def event(self, item: dict[str, Any]) -> Event | None:
        """Read an event. Shank does not write events; some authors add them by hand in legacy
        Anchor's form.

        Without a discriminator, nothing distinguishes an event from other logged data, so it is
        left out.
        """
        name, fields = self.name(item), self.fields(item) or Struct(())
        if item.get("discriminator") is None:
            self.note(
                f"event {abbr(name, 60)} has no discriminator; not read", level="info"
            )
            return None
        discriminator = self.given_discriminator(item["discriminator"])
        return Event(name, discriminator, fields, self.docs(item))

    # --- instructions

    def instruction(self, item: dict[str, Any]) -> Instruction:
        self.place += 1
        name = self.name(item)
        if not _INSTRUCTION.issuperset(item):
            self.surplus(item, _INSTRUCTION, f"instruction {name!r}")
        accounts = self.account_items(item)
        discriminator, disabled = self.instruction_discriminator(item)
        default = self.flag(item, "defaultOptionalAccounts")
        legacy = self.flag(item, "legacyOptionalAccountsStrategy")
        omitted = not default if self.old_strategy else legacy
        return Instruction(
            name,
            discriminator,
            self.each(item, "args", self.field),
            accounts,
            docs=self.docs(item),
            optional_accounts="omitted" if omitted else "program_id",
            disabled=disabled,
        )

    def instruction_discriminator(
        self, item: dict[str, Any]
    ) -> tuple[Discriminator, str | None]:
        """Return the discriminator and, if it is unknown, why."""
        given = item.get("discriminator")
        if given is not None:
            return self.given_discriminator(given), None
        if item.get("discriminant") is not None:
            return self.discriminant(item["discriminant"])
        if self.place < 256:
            return Discriminator(bytes([self.place]), "shank"), None
        why = "it has no discriminant, and its place in the list does not fit in a byte"
        return Discriminator(b"", "none"), why

    def discriminant(self, given: Any) -> tuple[Discriminator, str | None]:
        """Read 3, [0, 3] or {"type": "u16", "value": 3}."""
        width, value = "u8", given
        if type(given) is dict:
            width, value = given.get("type", "u8"), given.get("value")
        if type(value) is list:
            return Discriminator(
                self.inside("discriminant", self.bytes_of, value), "shank"
            ), None
        node = leaf(width)
        if type(value) is not int or not isinstance(node, Int):
            raise SourceError(
                f"expected a number, or a type and a value, got {abbr(given)}.",
                path="discriminant",
            )
        try:
            data = value.to_bytes(node.bits // 8, "little", signed=node.signed)
        except OverflowError:
            why = f"its discriminant {abbr(value, 40)} does not fit {width}"
            self.note(why, "discriminant", "error")
            return Discriminator(b"", "none"), why
        return Discriminator(data, "shank"), None

    def account(self, item: dict[str, Any], scope: AccountScope) -> AccountItem:
        out = super().account(item, scope)
        if isinstance(out, Account) and self.flag(item, *_SIGNER_EITHER):
            return replace(out, signer="either")
        return out

    # --- accounts

    def account_in_place(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        definition = self.definition(item, empty=True)
        name, pda, given = definition.name, None, item.get("discriminator")
        size = self.optional(item, "size", self.whole)
        if item.get("seeds"):
            pda = Pda(self.each(item, "seeds", self.pda_seed), None, name)
        discriminator = Discriminator(b"", "none")
        if given is not None:
            discriminator = self.given_discriminator(given)
        account = AccountType(
            name, discriminator, Link(name), definition.docs, size, pda
        )
        return account, definition

    def pda_seed(self, item: dict[str, Any]) -> Seed:
        """Read one of Kinobi's seeds of an account: constant, variable or programId."""
        kind = item.get("kind")
        if kind == "programId":
            return ProgramIdSeed()
        if kind == "variable":
            return ArgSeed((self.name(item),), self._seed_type(item.get("type")))
        if kind == "constant":
            return self._constant_seed(item)
        return self.unknown_seed(f"unknown kind of seed: {abbr(kind, 40)}", "kind")

    def _constant_seed(self, item: dict[str, Any]) -> Seed:
        read = partial(self.typed_seed, written=item.get("type"))
        try:
            return ConstSeed(self.inside("value", read, item.get("value")))
        except SourceError as error:
            return self.unknown_seed(error.text, error.path)

    def _seed_type(self, value: Any) -> Type:
        """Return the type of a variable seed; text in a seed has no length prefix."""
        return String() if value == "string" else self.type(value)


def _has_old_strategy(doc: dict[str, Any]) -> bool:
    """Return whether the document marks instructions whose optional accounts default to the program
    id.

    Shank before 0.1 marked those ("defaultOptionalAccounts"); later versions mark the others.
    """
    entries = objects_in(doc.get("instructions"))
    return any(entry.get("defaultOptionalAccounts") is True for entry in entries)
