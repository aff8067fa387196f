"""Checks of types and type definitions."""

from __future__ import annotations

from mcpsol_py.errors import abbr, suggest
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
    """Report mistakes of a type where it is written, not of the types that it links to."""
    if depth > MAX_DEPTH:
        return
    if isinstance(node, Unsupported):
        message = f"type {abbr(node.text, 80)}: {node.why}"
        context.findings.error(path, message, "unsupported-type")
    elif isinstance(node, Link):
        check_link(context, node, path)
    elif isinstance(node, Struct):
        _check_fields(context, node, path)
    elif isinstance(node, Enum):
        _check_variants(context, node, path)
    for step, child in context.paths.inner(node):
        check_type(context, child, path + step, depth + 1)


def check_link(context: CheckContext, link: Link, path: str) -> None:
    """Report a link to a type that is not defined, or with the wrong number of arguments."""
    name = abbr(link.name, 80)
    if link.name not in context.type_names:
        hint = suggest(link.name, context.type_names)
        message = f"type {name} is referenced, not defined. {hint}"
        context.findings.error(path, message, "dangling-type")
        return
    wanted, given = len(context.resolver.definition(link.name).generics), len(link.args)
    if wanted != given:
        message = f"type {name} takes {wanted} generic arguments, {given} are given"
        context.findings.error(path, message, "generic-arguments")


def _check_fields(context: CheckContext, struct: Struct, path: str) -> None:
    fields = f"{path}.fields"
    context.unique(struct.fields, lambda f: f.name, fields, "field", "warning", "duplicate-field")
    for i, field in enumerate(struct.fields):
        context.word(field.name, f"{fields}[{i}].name")


def _check_variants(context: CheckContext, enum: Enum, path: str) -> None:
    variants = f"{path}.variants"
    context.unique(enum.variants, lambda v: v.name, variants, "variant")
    most = 2**enum.tag.bits - 1 if isinstance(enum.tag, Int) else 2**16 - 1
    taken: dict[int, int] = {}
    for i, variant in enumerate(enum.variants):
        tag = i if variant.value is None else variant.value
        here = f"{variants}[{i}]"
        if not 0 <= tag <= most:
            message = f"tag {tag} is out of range (0 to {most:,})"
            context.findings.error(here, message, "too-many-variants")
            break
        first = taken.setdefault(tag, i)
        if first != i:
            message = f"tag {tag} is used by [{first}] already"
            context.findings.error(here, message, "too-many-variants")


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
        message = f"laid out by {layout}, which only the program knows"
        findings.error(f"{path}.serialization", message, "unsupported-type")
    if not definition.generics and context.resolver.endless(Link(definition.name)):
        message = f"every value of type {definition.name!r} contains another one, without end"
        findings.error(f"{path}.type", message, "endless-type")
    declared = {parameter.name for parameter in definition.generics}
    for name in sorted(generic_names(definition.type) - declared):
        message = f"{definition.name!r} has no generic parameter {name!r}"
        findings.error(f"{path}.type", message, "generic-arguments")
