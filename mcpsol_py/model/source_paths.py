"""Paths in the document that a model was read from, in the words of its dialect. For people's eyes only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mcpsol_py.model import types
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    Enum,
    Generic,
    Link,
    Map,
    Option,
    Set,
    Struct,
    Type,
    Unsupported,
    Variant,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
    children,
)

__all__ = ["SourcePaths", "Step"]

#: The step from a type to one that it holds (".fields[0].type"), and that type.
Step = tuple[str, Type]

#: Dialects that write an account's type in place. Their readers move these types behind all others.
_TYPES_IN_PLACE = ("anchor legacy", "shank")


class SourcePaths:
    """The paths of a model's parts in its document."""

    def __init__(self, model: ProgramModel) -> None:
        self.codama = model.dialect == "codama"
        self._words = _CODAMA if self.codama else _ANCHOR
        self.root = self._words.root
        self.args = self._words.args
        self.types = self._words.types
        self.account_data = self._words.account_data
        self.definitions = _definition_paths(model, self.root, self.types)

    def inner(self, node: Type) -> Iterable[Step]:
        """Return the types that *node* holds, each with the step to it."""
        return self._words.steps.visit(node)


def _definition_paths(model: ProgramModel, root: str, types_key: str) -> list[str]:
    in_place = (
        _accounts_with_type_in_place(model) if model.dialect in _TYPES_IN_PLACE else {}
    )
    paths = []
    for i, definition in enumerate(model.types):
        place = (
            in_place.get(definition.name)
            if isinstance(definition.type, Struct)
            else None
        )
        key, number = (types_key, i) if place is None else ("accounts", place)
        paths.append(f"{root}{key}[{number}]")
    return paths


def _accounts_with_type_in_place(model: ProgramModel) -> dict[str, int]:
    """Return the accounts whose type has their own name, each with its place."""
    last = {account.name: i for i, account in enumerate(model.accounts)}
    return {name: i for name, i in last.items() if model.accounts[i].type == Link(name)}


class _Steps(GroupVisitor[[], Iterable[Step]]):
    """What the dialects have in common."""

    def nothing(self, node: ScalarType | types.Generic | Unsupported) -> Iterable[Step]:
        return ()

    visit_scalar = visit_generic = visit_unsupported = nothing

    def visit_wrapper(self, node: WrapperType) -> Iterable[Step]:
        return ((".type", node.item),)

    def visit_optional(self, node: OptionalType) -> Iterable[Step]:
        return ((".item", node.item),)

    def visit_list(self, node: ListType) -> Iterable[Step]:
        return ((".item", node.item),)

    def visit_product(self, node: ProductType) -> Iterable[Step]:
        return [(self.member(node, i), child) for i, child in enumerate(children(node))]

    def member(self, node: ProductType, place: int) -> str:
        return (
            f".fields[{place}].type" if isinstance(node, Struct) else f".items[{place}]"
        )

    def visit_map(self, node: Map) -> Iterable[Step]:
        return ((".key", node.key), (".value", node.value))

    def visit_enum(self, node: Enum) -> Iterable[Step]:
        for i, variant in enumerate(node.variants):
            if variant.payload is not None:
                yield f".variants[{i}]{self.payload(variant)}", variant.payload

    def payload(self, variant: Variant) -> str:
        return ".struct" if isinstance(variant.payload, Struct) else ".tuple"

    def visit_link(self, node: Link) -> Iterable[Step]:
        for i, arg in enumerate(node.args):
            if not isinstance(arg.value, int):
                yield f".defined.generics[{i}].type", arg.value


class _CodamaSteps(_Steps):
    """Codama's words."""


class _AnchorSteps(_Steps):
    """Anchor's words, which the other dialects share."""

    def member(self, node: ProductType, place: int) -> str:
        return (
            f".fields[{place}].type"
            if isinstance(node, Struct)
            else f".fields[{place}]"
        )

    def payload(self, variant: Variant) -> str:
        return ""

    def visit_option(self, node: Option) -> Iterable[Step]:
        return ((".coption" if node.fixed else ".option", node.item),)

    def visit_list(self, node: ListType) -> Iterable[Step]:
        if isinstance(node.count, (int, Generic)):
            return ((".array[0]", node.item),)
        return ((".hashSet" if isinstance(node, Set) else ".vec", node.item),)

    def visit_map(self, node: Map) -> Iterable[Step]:
        return ((".hashMap[0]", node.key), (".hashMap[1]", node.value))


@dataclass(frozen=True, slots=True)
class _Words:
    """The keys of a dialect."""

    root: str
    args: str
    types: str
    account_data: str
    steps: _Steps


_CODAMA = _Words("program.", "arguments", "definedTypes", "data", _CodamaSteps())
_ANCHOR = _Words("", "args", "types", "type", _AnchorSteps())
