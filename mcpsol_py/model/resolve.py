"""Links between types: following them, filling in generics, and saying why a type cannot be used."""

from __future__ import annotations

from dataclasses import replace

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    Array,
    Enum,
    Field,
    FixedSize,
    Generic,
    HiddenPrefix,
    HiddenSuffix,
    Link,
    Map,
    Offset,
    Option,
    RemainderOption,
    Sentinel,
    Set,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    TypeArg,
    TypeDef,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.model.visit import children

__all__ = ["KNOWN_LAYOUTS", "Resolver", "substitute"]

#: How deep types may stand in one another, and of how many one may be made: generic types can name ever larger ones.
MAX_DEPTH = 64
MAX_LINKS = 4096

KNOWN_LAYOUTS = frozenset({"borsh", "c", "packed", "transparent"})


def substitute(node: Type, env: dict[str, Type | int]) -> Type:
    """*node* with every Generic replaced by what *env* gives it (a type, or an int for an array's length)."""
    if not env:
        return node

    def count(c: object) -> object:
        if isinstance(c, Generic):
            value = env.get(c.name, c)
            if isinstance(value, (int, Generic)):
                return value
            if isinstance(value, Link) and not value.args:  # a const parameter passed on by name
                return env.get(value.name, Generic(value.name))
            raise UnresolvedName(
                "const parameter", c.name, [k for k, v in env.items() if isinstance(v, int)]
            )
        return c

    match node:
        case Generic(name):
            value = env.get(name, node)
            if isinstance(value, int):
                return Unsupported(name, f"const parameter {name} stands where a type must")
            return value
        case Array(item, c):
            return Array(substitute(item, env), count(c))  # type: ignore[arg-type]  # count() keeps what a Count may be
        case Set(item, c):
            return Set(substitute(item, env), count(c))  # type: ignore[arg-type]  # as above
        case Map(key, val, c):
            return Map(substitute(key, env), substitute(val, env), count(c))  # type: ignore[arg-type]  # as above
        case Tuple(items):
            return Tuple(tuple(substitute(i, env) for i in items))
        case Struct(fields):
            return Struct(
                tuple(Field(f.name, substitute(f.type, env), f.docs, f.default) for f in fields)
            )
        case Enum(variants, tag):
            return Enum(
                tuple(
                    Variant(
                        v.name,
                        None if v.payload is None else substitute(v.payload, env),
                        v.value,
                        v.docs,
                    )
                    for v in variants
                ),
                tag,
            )
        case Link(name, args):
            return Link(name, tuple(_substitute_arg(a, env) for a in args))
        case (
            SizePrefixed()
            | FixedSize()
            | Sentinel()
            | HiddenPrefix()
            | HiddenSuffix()
            | Offset()
            | Option()
            | ZeroableOption()
            | RemainderOption()
        ):
            return replace(node, item=substitute(node.item, env))
        case _:
            return node


def _substitute_arg(arg: TypeArg, env: dict[str, Type | int]) -> TypeArg:
    if isinstance(arg.value, int):
        return arg
    if isinstance(arg.value, Generic):
        return TypeArg(env.get(arg.value.name, arg.value))
    return TypeArg(substitute(arg.value, env))


class Resolver:
    """Follows the links of one program. Cheap to make; what it finds is kept."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self._defs: dict[str, TypeDef] = {}
        self._twice: set[str] = (
            set()
        )  # names of which there are different definitions: which is meant is not known
        for d in model.types:
            if self._defs.setdefault(d.name, d) != d:
                self._twice.add(d.name)
        self._expanded: dict[Link, Type] = {}
        self._why: dict[Type, str | None] = {}
        self._ends: dict[Link, bool] = {}
        #: for model/sizes.py: what is measured already
        self.fixed_sizes: dict[Link, int | None] = {}
        self.least_sizes: dict[Link, int] = {}

    def definition(self, name: str) -> TypeDef:
        """The definition of *name*. Raises UnresolvedName."""
        found = self._defs.get(name)
        if found is None:
            raise UnresolvedName("type", name, self._defs)
        return found

    def expand(self, link: Link) -> tuple[TypeDef, Type]:
        """The definition that *link* names and its type with the generics filled in. Raises UnresolvedName."""
        definition = self.definition(link.name)
        cached = self._expanded.get(link)
        if cached is None:
            params = definition.generics
            if len(params) != len(link.args):
                cached = Unsupported(
                    link.name,
                    f"{link.name} takes {len(params)} generic arguments, {len(link.args)} are given",
                )
            else:
                cached = substitute(
                    definition.type,
                    {p.name: a.value for p, a in zip(params, link.args, strict=True)},
                )
            self._expanded[link] = cached
        return definition, cached

    def target(self, node: Type) -> Type:
        """*node*, or what it names at the end of all links. Raises UnresolvedName."""
        for _ in range(64):
            if not isinstance(node, Link):
                return node
            _, node = self.expand(node)
        return Unsupported(str(node), "alias cycle")

    def why_unusable(self, node: Type) -> str | None:
        """Why *node* cannot be encoded and decoded, or None when it can. Looks through links; recursion is fine where
        an option, a counted list or an enum can end it. Each type is looked at once, however often it is named."""
        if node in self._why:
            return self._why[node]
        seen: set[Link] = set()
        why = self._search(node, seen, 0)
        self._why[node] = why
        if why is None:  # then so is all that it holds
            self._why.update(dict.fromkeys(seen))
        return why

    def _search(self, node: Type, seen: set[Link], depth: int) -> str | None:
        if depth > MAX_DEPTH:
            return f"types nest deeper than {MAX_DEPTH} levels"
        match node:
            case Unsupported(text, why):
                return f"type {text!r}: {why}"
            case Generic(name):
                return f"generic parameter {name} has no argument here"
            case Array(count=Generic(name)) | Set(count=Generic(name)) | Map(count=Generic(name)):
                return f"const parameter {name} has no argument here"
            case Link():
                if node in seen:
                    return None  # endless recursion is found by `endless`, once
                if node in self._why:
                    return self._why[node]
                seen.add(node)
                if len(seen) > MAX_LINKS:
                    return f"it is made of more than {MAX_LINKS:,} types"
                try:
                    definition, body = self.expand(node)
                except UnresolvedName as error:
                    return f"type {error.name!r} is referenced, not defined"
                if node.name in self._twice:
                    return f"two different types have the name {node.name!r}"
                if definition.layout not in KNOWN_LAYOUTS:
                    return f"type {node.name!r} is laid out by {definition.layout!r}, which only the program knows"
                if self.endless(node):
                    return f"type {node.name!r} holds itself without end"
                return self._search(body, seen, depth + 1)
            case _:
                for child in children(node):
                    found = self._search(child, seen, depth + 1)
                    if found:
                        return found
                return None

    def endless(self, link: Link) -> bool:
        """Does a value of *link* always hold another of it, so that none is finite?"""
        if link not in self._ends:
            reached = self._reached(link)
            if len(reached) > MAX_LINKS:
                return False  # why_unusable tells it
            for name in reached:
                self._ends.setdefault(name, False)
            changed = True
            while changed:  # what holds only what ends, ends; until nothing more is found to
                changed = False
                for name in reversed(reached):
                    if not self._ends[name] and self._finite(self.expand(name)[1]):
                        self._ends[name] = changed = True
        return not self._ends[link]

    def _reached(self, link: Link) -> list[Link]:
        """The links that *link* leads to, itself first; those that nothing defines left out."""
        out: dict[Link, None] = {}
        todo: list[Type] = [link]
        while todo and len(out) <= MAX_LINKS:
            node = todo.pop()
            if not isinstance(node, Link):
                todo += children(node)
            elif node not in out:
                try:
                    _, body = self.expand(node)
                except UnresolvedName:
                    if node is link:
                        self._ends[link] = True
                    continue
                out[node] = None
                todo.append(body)
        return list(out)

    def _finite(self, node: Type) -> bool:
        match node:
            case Link():
                return self._ends.get(node, True)
            case Option(item=item, fixed=True):
                return self._finite(item)
            case Option() | RemainderOption() | Map():
                return True
            case Array(item, count) | Set(item, count):
                return not isinstance(count, int) or count == 0 or self._finite(item)
            case Enum(variants, _):
                return not variants or any(
                    v.payload is None or self._finite(v.payload) for v in variants
                )
            case _:
                return all(self._finite(c) for c in children(node))
