"""Codama's roots, programs, instructions, accounts, events, errors and constants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import orjson

from mcpsol_py.errors import SourceError, UnknownDialect, abbr
from mcpsol_py.model.program import (
    Account,
    AccountType,
    Constant,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    Pda,
    ProgramModel,
    RemainingAccounts,
)
from mcpsol_py.model.types import HiddenPrefix, Struct, Type
from mcpsol_py.sources.codama.data_fields import DataFields
from mcpsol_py.sources.codama.defaults import DefaultReader
from mcpsol_py.sources.codama.display import read_display
from mcpsol_py.sources.codama.nodes import Node, expected_kind
from mcpsol_py.sources.reader import check_kind, from_origin, kind_of, objects_in

__all__ = ["read_codama"]


def read_codama(doc: Node, origin: str = "") -> ProgramModel:
    """Read a Codama root, or a programNode alone. Raises SourceError with the JSON path."""
    reader = _CodamaReader(origin)
    with from_origin(origin):
        if doc.get("kind") == "programNode":
            return reader.single_program(doc)
        return reader.root(doc)


class _CodamaReader(DefaultReader):
    # --- root and program

    def single_program(self, program: Node) -> ProgramModel:
        """Read a programNode without a root."""
        self.index(program, "")
        return self._with_findings(self.program(program))

    def root(self, doc: Node) -> ProgramModel:
        self._check_version(doc)
        self.count_unread(doc)
        program = check_kind(doc.get("program"), dict, "a programNode", path="program")
        others = objects_in(doc.get("additionalPrograms"))
        self.index(program, "")
        for other in others:
            if type(other.get("name")) is str:
                self.index(other, f"{self.clean_name(other['name'])}::")
        for i, other in enumerate(others):
            self._additional_program(other, f"additionalPrograms[{i}]")
        self.space = ""
        return self._with_findings(self.inside("program", self.program, program))

    def _with_findings(self, model: ProgramModel) -> ProgramModel:
        return replace(model, findings=self.found())

    def _check_version(self, doc: Node) -> None:
        version = doc.get("version")
        if version is not None and not (
            type(version) is str and version.startswith("1.")
        ):
            raise UnknownDialect(
                f"unknown Codama version {abbr(version, 40)}; 1.x is supported. Write the document"
                " again with Codama 1.x.",
                path="version",
            )
        standard = doc.get("standard", "codama")
        if standard != "codama":
            message = f"expected 'codama', got {kind_of(standard)}; read as Codama"
            self.note(message, "standard")

    def _additional_program(self, node: Node, path: str) -> None:
        """Read the types of an additional program."""
        name = self.clean_name(str(node.get("name", "")))
        self.space = f"{name}::"
        types = self.inside(
            path,
            lambda p: self.each_item(
                p, "definedTypes", self.typedef, self.missing_type
            ),
            node,
        )
        for definition in types:
            self.types.setdefault(definition.name, definition)
        if node.get("instructions"):
            message = f"the program {name!r} has instructions; to use them, load it separately"
            self.note(message, f"{path}.instructions", "info")

    def program(self, node: Node) -> ProgramModel:
        """Read a programNode. Types come first: what follows needs their sizes."""
        self.count_unread(node)
        foreign = tuple(self.types.values())
        own = self.each_item(node, "definedTypes", self.typedef, self.missing_type)
        for definition in own:
            self.types.setdefault(definition.name, definition)
        errors = self.each_item(node, "errors", self.error)
        pdas = self.each_item(node, "pdas", self.pda)
        accounts = self.each_item(node, "accounts", self.account_type)
        events = self.each_item(node, "events", self.event)
        instructions = self.each_item(
            node, "instructions", self.instruction, self.disabled_instruction
        )
        constants = self.each_item(node, "constants", self.constant)
        self.note_unread()
        return ProgramModel(
            name=self.program_name(node),
            instructions=instructions,
            accounts=accounts,
            events=events,
            errors=errors,
            types=own + foreign,
            constants=constants,
            pdas=pdas,
            address=self.address(
                node.get("publicKey") or None, "the program", "publicKey"
            ),
            version=self.text(node, "version", 64),
            docs=self.docs(node),
            origin=self.origin,
            dialect="codama",
        )

    def error(self, node: Node) -> ErrorCode:
        return ErrorCode(
            self.whole(node, "code"), self.name(node), self.text(node, "message")
        )

    def constant(self, node: Node) -> Constant:
        value = self.inside("value", self.value, node.get("value"))
        text = (
            value
            if isinstance(value, str)
            else orjson.dumps(value, default=str).decode()
        )
        return Constant(
            self.name(node), self.type(node.get("type")), text, self.docs(node)
        )

    def expect(self, node: Node, kind: str) -> None:
        """Check the kind of *node* and count its keys that are not read."""
        if node.get("kind") != kind:
            raise expected_kind(kind, node)
        self.count_unread(node)

    # --- instructions

    def instruction(self, node: Node) -> Instruction:
        self.expect(node, "instructionNode")
        strategy = node.get("optionalAccountStrategy")
        if strategy not in (None, "programId", "omitted"):
            message = f"expected programId or omitted, got {kind_of(strategy)}; read as programId"
            self.note(message, "optionalAccountStrategy")
        data = DataFields(self, node, "arguments")
        self.each(node, "arguments", data.add)
        first, also = data.discriminators()
        accounts = self.each(node, "accounts", self.account)
        return Instruction(
            self.name(node),
            first,
            tuple(data.fields),
            accounts,
            self.each(node, "remainingAccounts", self.remaining),
            docs=self.docs(node),
            optional_accounts="omitted" if strategy == "omitted" else "program_id",
            also=also,
            arg_values=tuple(data.values),
            display=read_display(node),
        )

    def account(self, node: Node) -> Account:
        self.expect(node, "instructionAccountNode")
        signer = self._signer(node)
        default = None
        if node.get("defaultValue") is not None:
            default = self.inside("defaultValue", self.fill, node["defaultValue"])
        return Account(
            self.name(node),
            self.flag(node, "isWritable"),
            signer,
            self.flag(node, "isOptional"),
            default=default,
            docs=self.docs(node),
        )

    def remaining(self, node: Node) -> RemainingAccounts:
        self.expect(node, "instructionRemainingAccountsNode")
        value = check_kind(node.get("value"), dict, "a value node", path="value")
        if value.get("kind") == "resolverValueNode":
            message = "a client's own code finds the remaining accounts; here the caller lists them"
            self.note(message, "value", "info")
        signer = self._signer(node)
        return RemainingAccounts(
            self.inside("value", self.name, value),
            self.flag(node, "isWritable"),
            signer,
            self.flag(node, "isOptional"),
            self.docs(node),
        )

    def _signer(self, node: Node) -> bool | Literal["either"]:
        return (
            "either"
            if node.get("isSigner") == "either"
            else self.flag(node, "isSigner")
        )

    # --- accounts and events

    def account_type(self, node: Node) -> AccountType:
        self.expect(node, "accountNode")
        body, first, also = self._data(node)
        size = self.optional(node, "size", self.whole)
        if size is None:
            size = next((d.size for d in (first, *also) if d.size is not None), None)
        pda = self._account_pda(node)
        return AccountType(
            self.name(node), first, body, self.docs(node), size, pda, also
        )

    def _account_pda(self, node: Node) -> Pda | None:
        link = node.get("pda")
        if type(link) is not dict:
            return None
        name = link.get("name")
        found = self.pdas.get(f"{self.space}{name}")
        if found is None:
            self.note(f"no PDA named {abbr(name, 60)}", "pda")
            return None
        try:
            return self.inside("pda", self.pda, found)
        except SourceError as error:  # the account's data can be read without it
            self.note(
                f"the PDA {abbr(name, 60)} cannot be read: {error.text}", error.path
            )
            return None

    def event(self, node: Node) -> Event:
        self.expect(node, "eventNode")
        body, first, also = self._data(node)
        if also:
            message = "an event with several discriminators is recognized by the first"
            self.note(message, "discriminators")
        return Event(self.name(node), first, body, self.docs(node))

    def _data(
        self, node: Node
    ) -> tuple[Type, Discriminator, tuple[Discriminator, ...]]:
        """Return the data of an account or event without its leading constants, and its
        discriminators.
        """
        data: Any = node.get("data")
        fields = DataFields(self, node, "data")
        if type(data) is dict and data.get("kind") == "structTypeNode":
            self.inside("data", lambda d: self.each(d, "fields", fields.add), data)
            first, also = fields.discriminators()
            return Struct(tuple(fields.fields)), first, also
        body = self.inside("data", self.type, data)
        if isinstance(body, HiddenPrefix):
            fields.prefix = body.data
            body = body.item
        first, also = fields.discriminators()
        return body, first, also
