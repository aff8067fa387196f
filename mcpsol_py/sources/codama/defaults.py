"""Values that a client fills in by itself (defaults of accounts and arguments), PDAs and their
seeds.

To add such a value, add its kind and a method to `_FILLED`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import (
    AccountBumpValue,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    IdentityValue,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ResolverValue,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.types import PUBKEY, Type
from mcpsol_py.solana.base58 import is_address
from mcpsol_py.sources.codama.nodes import Node, kind_name
from mcpsol_py.sources.codama.types import CodamaTypeReader
from mcpsol_py.sources.codama.values import check_value_node
from mcpsol_py.sources.reader import expected, object_or_empty

__all__ = ["DefaultReader"]


class DefaultReader(CodamaTypeReader):
    """Reads default values and PDAs."""

    def fill(self, node: Any, depth: int = 0) -> Value | None:
        """Read the default value of an account or argument. If it cannot be read, record a finding
        and return None.
        """
        try:
            check_value_node(node, depth)
            read = _FILLED.get(kind_name(node))
            if read is None:
                return ConstValue(self.value(node))
            return read(self, node, depth)
        except SourceError as error:
            self.note(
                f"the default value is not read: {error.text}", error.path, "warning"
            )
            return None

    def account_value(self, node: Node, depth: int) -> Value:
        return AccountValue((self.name(node),))

    def account_bump(self, node: Node, depth: int) -> Value:
        return AccountBumpValue((self.name(node),))

    def account_field(self, node: Node, depth: int) -> Value:
        path = node.get("path")
        steps = path.split(".") if type(path) is str and path else []
        field = tuple(map(self.clean_name, steps))
        return AccountValue((self.name(node, "account"),), field)

    def argument(self, node: Node, depth: int) -> Value:
        return ArgValue((self.name(node),))

    def identity(self, node: Node, depth: int) -> Value:
        return IdentityValue()

    def payer(self, node: Node, depth: int) -> Value:
        return PayerValue()

    def program_id(self, node: Node, depth: int) -> Value:
        return ProgramIdValue()

    def program_link(self, node: Node, depth: int) -> Value:
        name = self.name(node)
        address = self.programs.get(node["name"])
        if address is None or not is_address(address):
            raise SourceError(f"no address is given for the program {name!r}.")
        return ConstValue(address)

    def resolver(self, node: Node, depth: int) -> Value:
        depends = tuple(map(self.name, self.items(node, "dependsOn")))
        return ResolverValue(self.name(node), depends)

    def conditional(self, node: Node, depth: int) -> Value:
        condition = self.fill(node.get("condition"), depth + 1)
        if condition is None:
            raise SourceError("its condition is unknown.", path="condition")
        equals = self.value(node["value"]) if node.get("value") is not None else None
        then = self._fill_if_given(node, "ifTrue", depth)
        otherwise = self._fill_if_given(node, "ifFalse", depth)
        return ConditionalValue(condition, equals, then, otherwise)

    def _fill_if_given(self, node: Node, key: str, depth: int) -> Value | None:
        return self.fill(node[key], depth + 1) if node.get(key) is not None else None

    def derived_address(self, node: Node, depth: int) -> Value:
        return PdaValue(self.pda_value(node))

    def typed_constant(self, node: Node, depth: int) -> Value:
        return ConstValue(self.value(node), self.type(node.get("type")))

    # --- PDAs

    def pda_value(self, node: Node) -> Pda:
        """Read a pdaValueNode: the PDA that it links to or contains, with the values of its seeds."""
        pda, address = self._pda_node(node.get("pda"))
        values = {self.name(s): s.get("value") for s in self.items(node, "seeds")}
        out = self.pda(pda, values, address)
        if node.get("programId") is None:
            return out
        program = self.fill(node["programId"]) or ResolverValue(
            "its program is unknown"
        )
        return replace(out, program=program)

    def _pda_node(self, written: Any) -> tuple[Node, str]:
        """Return the pdaNode that *written* is or links to, and the address of its program ("" for
        the main one).
        """
        pda, address = written, ""
        link = object_or_empty(written)
        if kind_name(link) == "pdaLinkNode":
            pda, address = self._linked_pda(link)
        if kind_name(object_or_empty(pda)) != "pdaNode":
            raise expected("a pdaNode", pda, path="pda")
        return pda, address

    def _linked_pda(self, link: Node) -> tuple[Node, str]:
        name, space, address = link.get("name"), self.space, ""
        owner = object_or_empty(link.get("program")).get("name")
        if type(owner) is str:
            space = self.space_of(owner)
            address = self.programs.get(owner, "") if space else ""
        found = self.pdas.get(f"{space}{name}")
        if found is None:
            raise SourceError(f"no PDA named {abbr(name, 60)}.", path="pda")
        return found, address

    def pda(
        self, node: Node, values: dict[Any, Any] | None = None, address: str = ""
    ) -> Pda:
        """Read a pdaNode. Without *values*, its variable seeds are arguments with their own names."""
        seeds = self.each(node, "seeds", lambda seed: self.seed(seed, values))
        given = node.get("programId") or address or None
        program: Value | None = None
        if given is not None:
            known = self.address(given, "the PDA's program", "programId")
            program = (
                ConstValue(known)
                if known
                else ResolverValue("its program has no address")
            )
        return Pda(seeds, program, self.name(node))

    def seed(self, node: Node, values: dict[Any, Any] | None) -> Seed:
        """Read one seed of a PDA."""
        match node.get("kind"):
            case "constantPdaSeedNode":
                return self._constant_seed(node)
            case "variablePdaSeedNode":
                return self._variable_seed(node, values)
            case kind:
                why = f"unknown kind of seed: {abbr(kind, 40)}"
                self.note(why, "kind", "error")
                return UnknownSeed(why)

    def _constant_seed(self, node: Node) -> Seed:
        value = node.get("value")
        if kind_name(object_or_empty(value)) == "programIdValueNode":
            return ProgramIdSeed()
        return self._const_seed(self.type(node.get("type")), value)

    def _variable_seed(self, node: Node, values: dict[Any, Any] | None) -> Seed:
        name, shape = self.name(node), self.type(node.get("type"))
        if values is None:
            return ArgSeed((name,), shape)
        value = values.get(name)
        if type(value) is not dict:
            return UnknownSeed(f"the seed {name!r} has no value")
        kind = value.get("kind")
        if kind == "accountValueNode":
            return AccountSeed(
                (self.name(value),), type=None if shape == PUBKEY else shape
            )
        if kind == "argumentValueNode":
            return ArgSeed((self.name(value),), shape)
        return self._const_seed(shape, value)

    def _const_seed(self, shape: Type, value: Any) -> Seed:
        try:
            return ConstSeed(self.encode(shape, value))
        except SourceError as error:
            self.note(error.text, "value", "error")
            return UnknownSeed(f"cannot read the constant: {error.text}")


_FILLED: dict[str, Callable[[DefaultReader, Node, int], Value]] = {
    "accountValueNode": DefaultReader.account_value,
    "accountBumpValueNode": DefaultReader.account_bump,
    "accountFieldValueNode": DefaultReader.account_field,
    "argumentValueNode": DefaultReader.argument,
    "identityValueNode": DefaultReader.identity,
    "payerValueNode": DefaultReader.payer,
    "programIdValueNode": DefaultReader.program_id,
    "programLinkNode": DefaultReader.program_link,
    "resolverValueNode": DefaultReader.resolver,
    "conditionalValueNode": DefaultReader.conditional,
    "pdaValueNode": DefaultReader.derived_address,
    "constantValueNode": DefaultReader.typed_constant,
}
