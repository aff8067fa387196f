"""Checks of types and type definitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcpsol_py.errors import abbr, suggest
from mcpsol_py.items import names_of
from mcpsol_py.model.check_context import CheckContext
from mcpsol_py.model.resolve import KNOWN_LAYOUTS
from mcpsol_py.model.types import (
    Enum,
    Int,
    Link,
    Struct,
    Type,
    TypeDef,
    Unsupported,
)
from mcpsol_py.model.visit import generic_names

__all__ = ["check_definitions", "check_link", "check_type"]

MAX_DEPTH = 64


def check_type(context: CheckContext, node: Type, path: str, depth: int = 0) -> None:
    """Report mistakes of a type itself, not of the types that it links to."""
    if depth > MAX_DEPTH:
        return
    check_node = _NODE_CHECKS.get(type(node))
    if check_node is not None:
        check_node(context, node, path)
    for step, child in context.paths.inner(node):
        check_type(context, child, path + step, depth + 1)


def check_link(context: CheckContext, link: Link, path: str) -> None:
    """Report a link to a type that is not defined, or with the wrong number of arguments."""
    name = abbr(link.name, 80)
    if link.name not in context.type_names:
        hint = suggest(link.name, context.type_names)
        message = f"type {name} is not defined. {hint}"
        context.findings.error(path, message, "dangling-type")
        return
    wanted, given = len(context.resolver.definition(link.name).generics), len(link.args)
    if wanted != given:
        message = f"type {name} takes {wanted} generic arguments, {given} are given"
        context.findings.error(path, message, "generic-arguments")


def _check_unsupported(context: CheckContext, node: Unsupported, path: str) -> None:
    message = f"type {abbr(node.text, 80)}: {node.why}"
    context.findings.error(path, message, "unsupported-type")


def _check_fields(context: CheckContext, struct: Struct, path: str) -> None:
    fields = f"{path}.fields"
    context.unique(
        struct.fields, lambda f: f.name, fields, "field", "warning", "duplicate-field"
    )
    for i, field in enumerate(struct.fields):
        context.word(field.name, f"{fields}[{i}].name")


def _check_variants(context: CheckContext, enum: Enum, path: str) -> None:
    variants = f"{path}.variants"
    context.unique(enum.variants, lambda v: v.name, variants, "variant")
    taken: dict[int, int] = {}
    for i, tag in enumerate(enum.tags):
        here = f"{variants}[{i}]"
        if not 0 <= tag <= _last_tag(enum):
            message = f"tag {tag} is out of range (0 to {_last_tag(enum):,})"
            context.findings.error(here, message, "too-many-variants")
            break
        first = taken.setdefault(tag, i)
        if first != i:
            message = f"tag {tag} is used by [{first}] already"
            context.findings.error(here, message, "too-many-variants")


def _last_tag(enum: Enum) -> int:
    bits = enum.tag.bits if isinstance(enum.tag, Int) else 16
    return int(2**bits) - 1


#: The check of each kind of type that can be wrong by itself.
_NODE_CHECKS: dict[type, Callable[[CheckContext, Any, str], None]] = {
    Unsupported: _check_unsupported,
    Link: check_link,
    Struct: _check_fields,
    Enum: _check_variants,
}


def check_definitions(context: CheckContext) -> None:
    """Check all type definitions."""
    model, paths = context.model, context.paths
    context.unique(model.types, lambda d: d.name, f"{paths.root}{paths.types}", "type")
    for definition, path in zip(model.types, paths.definitions, strict=True):
        context.word(definition.name.rsplit("::", 1)[-1], f"{path}.name")
        check_type(context, definition.type, f"{path}.type")
        _check_definition(context, definition, path)


def _check_definition(context: CheckContext, definition: TypeDef, path: str) -> None:
    findings = context.findings
    if definition.layout not in KNOWN_LAYOUTS:
        layout = abbr(definition.layout.removeprefix("custom:"), 60)
        message = f"the layout is {layout}, which only the program knows"
        findings.error(f"{path}.serialization", message, "unsupported-type")
    if not definition.generics and context.resolver.endless(Link(definition.name)):
        message = (
            f"every value of type {definition.name!r} contains another one, without end"
        )
        findings.error(f"{path}.type", message, "endless-type")
    declared = set(names_of(definition.generics))
    for name in sorted(generic_names(definition.type) - declared):
        message = f"{definition.name!r} has no generic parameter {name!r}"
        findings.error(f"{path}.type", message, "generic-arguments")
