"""Shank IDLs (native programs) to the program model, with the keys that Kinobi added to them.

Discriminators are declared ({"type": "u8", "value": 3}, or a bare number, or the instruction's place in the list);
accounts have none."""

from __future__ import annotations

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
    UnknownSeed,
)
from mcpsol_py.model.types import Int, Link, String, Struct, Type, TypeDef
from mcpsol_py.sources.anchor_accounts import Scope
from mcpsol_py.sources.idl_items import ItemReader, names_of
from mcpsol_py.sources.idl_types import LEAVES
from mcpsol_py.sources.reader import keys

__all__ = ["read_shank"]

_ROOT = keys(
    "version name docs constants instructions accounts types events errors metadata address"
)
_INSTRUCTION = keys(
    "name docs accounts args discriminant discriminator defaultOptionalAccounts legacyOptionalAccountsStrategy"
)
_ACCOUNT = keys(
    "name docs desc isMut isSigner isOptional optional isOptionalSigner optionalSigner pda writable signer"
)
_SIGNER_EITHER = ("isOptionalSigner", "optionalSigner")


def read_shank(doc: dict[str, Any], origin: str = "") -> ProgramModel:
    """The model of a Shank IDL. Raises SourceError with the JSON path."""
    reader = _Shank(origin)
    try:
        return reader.program(doc)
    except SourceError as error:
        error.at(origin)
        raise


class _Shank(ItemReader):
    says_layout = False
    writable_keys = ("isMut", "writable")
    signer_keys = ("isSigner", "signer")
    optional_keys = ("isOptional", "optional")
    account_keys = _ACCOUNT

    def program(self, doc: dict[str, Any]) -> ProgramModel:
        self.defined = names_of(doc, "types") | names_of(doc, "accounts")
        self.surplus(doc, _ROOT, "the IDL")
        metadata = doc.get("metadata")
        address = metadata.get("address") if type(metadata) is dict else None
        # Shank before 0.1 marked what defaults to the program id ("defaultOptionalAccounts"); later ones mark the
        # opposite.
        entries = doc.get("instructions")
        self.old_strategy = type(entries) is list and any(
            type(i) is dict and i.get("defaultOptionalAccounts") is True for i in entries
        )
        self.place = -1
        types, accounts = self.types_and_accounts(doc)
        return ProgramModel(
            name=self.program_name(doc),
            instructions=self.each(doc, "instructions", self.instruction),
            accounts=accounts,
            events=tuple(e for e in self.each(doc, "events", self.event) if e is not None),
            errors=self.each(doc, "errors", self.error),
            types=types,
            constants=self.each(doc, "constants", self.constant),
            pdas=tuple(a.pda for a in accounts if a.pda is not None),
            address=self.address(address or doc.get("address") or None, "the program"),
            version=self.text(doc, "version", 64),
            docs=self.docs(doc),
            origin=self.origin,
            dialect="shank",
            findings=self.found(),
        )

    def event(self, item: dict[str, Any]) -> Event | None:
        """What Shank does not write and some add by hand, in legacy Anchor's form; without a discriminator nothing
        tells an event from other data that is logged."""
        name, fields = self.name(item), self.fields(item) or Struct(())
        if item.get("discriminator") is None:
            self.note(
                f"event {abbr(name, 60)} has no discriminator to be known by; not read",
                level="info",
            )
            return None
        return Event(
            name,
            Discriminator(self.inside("discriminator", self.bytes_of, item["discriminator"])),
            fields,
            self.docs(item),
        )

    # --- instructions

    def instruction(self, item: dict[str, Any]) -> Instruction:
        self.place += 1
        name = self.name(item)
        if not _INSTRUCTION.issuperset(item):
            self.surplus(item, _INSTRUCTION, f"instruction {name!r}")
        accounts = self.account_items(item)
        discriminator, disabled = self.discriminant(item)
        default = self.flag(item, "defaultOptionalAccounts")
        legacy = self.flag(item, "legacyOptionalAccountsStrategy")
        omitted = not default if self.old_strategy else legacy
        return Instruction(
            name,
            discriminator,
            self.each(item, "args", self.field),
            accounts,
            docs=self.docs(item) if "docs" in item else (),
            optional_accounts="omitted" if omitted else "program_id",
            disabled=disabled,
        )

    def discriminant(self, item: dict[str, Any]) -> tuple[Discriminator, str | None]:
        """The discriminator, and why it cannot be known."""
        given = item.get("discriminator")
        if given is not None:
            return Discriminator(self.inside("discriminator", self.bytes_of, given)), None
        value = item.get("discriminant")
        if value is None:
            if self.place < 256:
                return Discriminator(bytes([self.place]), "shank"), None
            return Discriminator(
                b"", "none"
            ), "it has no discriminant, and its place in the list does not fit a byte"
        width: Any = "u8"
        if type(value) is dict:
            width = value.get("type", "u8")
            value = value.get("value")
        node = LEAVES.get(width) if type(width) is str else None
        if type(value) is list:
            return Discriminator(self.inside("discriminant", self.bytes_of, value), "shank"), None
        if type(value) is not int or not isinstance(node, Int):
            raise SourceError(
                f"found {abbr(item['discriminant'])} where a number, or a type and a value, must stand.",
                path="discriminant",
            )
        try:
            return Discriminator(
                value.to_bytes(node.bits // 8, "little", signed=node.signed), "shank"
            ), None
        except OverflowError:
            why = f"its discriminant {abbr(value, 40)} does not fit {width}"
            self.note(why, "discriminant", "error")
            return Discriminator(b"", "none"), why

    def account(self, item: dict[str, Any], scope: Scope) -> AccountItem:
        out = super().account(item, scope)
        if isinstance(out, Account) and self.flag(item, *_SIGNER_EITHER):
            return Account(
                out.name,
                out.writable,
                "either",
                out.optional,
                out.address,
                out.pda,
                out.relations,
                out.default,
                out.docs,
            )
        return out

    # --- accounts, types, errors

    def account_in_place(self, item: dict[str, Any]) -> tuple[AccountType, TypeDef]:
        definition = self.definition(item, empty=True)
        name = definition.name
        size = self.whole(item, "size") if item.get("size") is not None else None
        pda = None
        if item.get("seeds"):
            pda = Pda(self.each(item, "seeds", self.pda_seed), None, name)
        given = item.get("discriminator")
        known = (
            Discriminator(b"", "none")
            if given is None
            else Discriminator(self.inside("discriminator", self.bytes_of, given))
        )
        return AccountType(name, known, Link(name), definition.docs, size, pda), definition

    def pda_seed(self, item: dict[str, Any]) -> Seed:
        """Kinobi's seeds of an account: constant, variable, programId."""
        kind = item.get("kind")
        if kind == "programId":
            return ProgramIdSeed()
        if kind == "variable":
            return ArgSeed((self.name(item),), self._seed_type(item.get("type")))
        if kind == "constant":
            try:
                return ConstSeed(
                    self.inside(
                        "value",
                        lambda v: self._typed(v, self.type(item.get("type"))),
                        item.get("value"),
                    )
                )
            except SourceError as error:
                self.note(error.text, error.path, "error")
                return UnknownSeed(error.text)
        why = f"a seed of kind {abbr(kind, 40)}, which this reader does not know"
        self.note(why, "kind", "error")
        return UnknownSeed(why)

    def _seed_type(self, value: Any) -> Type:
        return String() if value == "string" else self.type(value)
