"""Resolves links between types, fills in generic parameters, and explains why a type cannot be used."""

from __future__ import annotations

from dataclasses import replace

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model import types
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import (
    Array,
    Count,
    Enum,
    Generic,
    Link,
    Map,
    Option,
    RemainderOption,
    Set,
    Type,
    TypeArg,
    TypeDef,
    Unsupported,
    ZeroableOption,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
    children,
    map_children,
)

__all__ = ["KNOWN_LAYOUTS", "Resolver", "substitute"]

#: How deep types may nest, and how many types one may be made of: generic types can name ever larger ones.
MAX_DEPTH = 64
MAX_LINKS = 4096
#: How many parts a type may have, with those of the types that it names, as often as it names them. Thirty structs that
#: each hold the one before twice have a billion, which no reader ends. Real types have up to some thousand.
MAX_PARTS = 8_192

KNOWN_LAYOUTS = frozenset({"borsh", "c", "packed", "transparent"})

#: Generic parameter -> its argument: a type, or an int for an array's length.
Arguments = dict[str, Type | int]


def substitute(node: Type, env: Arguments) -> Type:
    """Return *node* with every Generic replaced by its argument in *env* (a type, or an int for an array's length)."""
    if not env:
        return node
    if isinstance(node, Generic):
        return _substitute_parameter(node, env)
    if isinstance(node, Link):
        return Link(node.name, tuple(_substitute_arg(arg, env) for arg in node.args))
    changed = map_children(node, lambda child: substitute(child, env))
    if isinstance(changed, (Array, Set, Map)):
        return replace(changed, count=_substitute_count(changed.count, env))
    return changed


def _substitute_parameter(parameter: Generic, env: Arguments) -> Type:
    value = env.get(parameter.name, parameter)
    if isinstance(value, int):
        return Unsupported(
            parameter.name, f"{parameter.name} is a const parameter, not a type"
        )
    return value


def _substitute_count(count: Count, env: Arguments) -> Count:
    if not isinstance(count, Generic):
        return count
    value = env.get(count.name, count)
    # A const parameter passed on by name.
    if isinstance(value, Link) and not value.args:
        value = env.get(value.name, Generic(value.name))
    if isinstance(value, (int, Generic)):
        return value
    lengths = [name for name, argument in env.items() if isinstance(argument, int)]
    raise UnresolvedName("const parameter", count.name, lengths)


def _substitute_arg(arg: TypeArg, env: Arguments) -> TypeArg:
    if isinstance(arg.value, int):
        return arg
    if isinstance(arg.value, Generic):
        return TypeArg(env.get(arg.value.name, arg.value))
    return TypeArg(substitute(arg.value, env))


class Resolver:
    """Follows the links of one program, and caches the results."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self._defs: dict[str, TypeDef] = {}
        #: names with several different definitions, which are ambiguous
        self._defined_twice: set[str] = set()
        for definition in model.types:
            if self._defs.setdefault(definition.name, definition) != definition:
                self._defined_twice.add(definition.name)
        self._expanded: dict[Link, Type] = {}
        self._why_unusable: dict[Type, str | None] = {}
        self._ends: dict[Link, bool] = {}
        self._part_counts: dict[Link, int] = {}
        #: the cache of sizes.py
        self.fixed_sizes: dict[Link, int | None] = {}
        self.least_sizes: dict[Link, int] = {}

    def definition(self, name: str) -> TypeDef:
        """Return the definition of *name*. Raises UnresolvedName."""
        found = self._defs.get(name)
        if found is None:
            raise UnresolvedName("type", name, self._defs)
        return found

    def is_ambiguous(self, name: str) -> bool:
        """Does the program define *name* twice, differently?"""
        return name in self._defined_twice

    def expand(self, link: Link) -> tuple[TypeDef, Type]:
        """Return the definition that *link* names and its type with the generics filled in. Raises UnresolvedName."""
        definition = self.definition(link.name)
        expanded = self._expanded.get(link)
        if expanded is None:
            expanded = self._expanded[link] = _instantiate(definition, link)
        return definition, expanded

    def target(self, node: Type) -> Type:
        """Return *node*, or the type at the end of its links. Raises UnresolvedName."""
        for _ in range(64):
            if not isinstance(node, Link):
                return node
            _, node = self.expand(node)
        return Unsupported(str(node), "alias cycle")

    def why_unusable(self, node: Type) -> str | None:
        """Return why *node* cannot be encoded and decoded, or None if it can.

        Looks through links. A type may contain itself if an option, a counted list or an enum can end the recursion.
        """
        if node not in self._why_unusable:
            search = _UnusableSearch(self, self._why_unusable)
            why = search.find(node, 0)
            if why is None and self._parts(node) > MAX_PARTS:
                why = f"it has more than {MAX_PARTS:,} parts"
            self._why_unusable[node] = why
            if why is None:  # then everything that it is made of is usable too
                self._why_unusable.update(dict.fromkeys(search.seen))
        return self._why_unusable[node]

    def _parts(self, node: Type) -> int:
        """Count the parts of a usable type. A list has one item here: the data bound how many there are."""
        if not isinstance(node, Link):
            return 1 + sum(map(self._parts, children(node)))
        if node not in self._part_counts:
            self._part_counts[node] = 1  # while it is counted: a type may hold itself
            self._part_counts[node] = 1 + self._parts(self.expand(node)[1])
        return self._part_counts[node]

    def endless(self, link: Link) -> bool:
        """Does a value of *link* always contain another one, so that no value is finite?"""
        if link not in self._ends:
            reached = self._reached(link)
            if len(reached) > MAX_LINKS:
                return False  # why_unusable reports it
            self._find_finite(reached)
        return not self._ends[link]

    def _find_finite(self, links: list[Link]) -> None:
        """Decide which of *links* have a finite value: assume none and repeat until nothing changes."""
        for link in links:
            self._ends.setdefault(link, False)
        has_finite_value = _HasFiniteValue(self._ends)
        changed = True
        while changed:
            changed = False
            for link in reversed(links):
                if not self._ends[link] and has_finite_value.visit(
                    self.expand(link)[1]
                ):
                    self._ends[link] = changed = True

    def _reached(self, link: Link) -> list[Link]:
        """Return the links that *link* leads to, itself first, without those that nothing defines."""
        out: dict[Link, None] = {}
        todo: list[Type] = [link]
        while todo and len(out) <= MAX_LINKS:
            node = todo.pop()
            if not isinstance(node, Link):
                todo += children(node)
                continue
            if node in out:
                continue
            try:
                _, body = self.expand(node)
            except UnresolvedName:
                if node is link:
                    self._ends[link] = True
                continue
            out[node] = None
            todo.append(body)
        return list(out)


def _instantiate(definition: TypeDef, link: Link) -> Type:
    wanted, given = len(definition.generics), len(link.args)
    if wanted != given:
        why = f"{link.name} takes {wanted} generic arguments, {given} are given"
        return Unsupported(link.name, why)
    if _is_too_large(link):
        return Unsupported(
            link.name, "its generic arguments nest too deep or are too many"
        )
    pairs = zip(definition.generics, link.args, strict=True)
    return substitute(
        definition.type, {parameter.name: arg.value for parameter, arg in pairs}
    )


def _is_too_large(link: Link) -> bool:
    """Do the arguments of *link* nest deeper than MAX_DEPTH, or have more than MAX_LINKS types?

    A type can name itself with ever larger arguments.
    """
    todo, seen = [(child, 1) for child in _argument_types(link)], 0
    while todo:
        node, depth = todo.pop()
        seen += 1
        if depth > MAX_DEPTH or seen > MAX_LINKS:
            return True
        inner = _argument_types(node) if isinstance(node, Link) else children(node)
        todo += [(child, depth + 1) for child in inner]
    return False


def _argument_types(link: Link) -> list[Type]:
    return [arg.value for arg in link.args if not isinstance(arg.value, int)]


class _UnusableSearch(GroupVisitor[[int], str | None]):
    """Finds the first reason why a type cannot be used. Visits each link once."""

    def __init__(self, resolver: Resolver, known: dict[Type, str | None]) -> None:
        self.resolver = resolver
        self.known = known
        self.seen: set[Link] = set()

    def find(self, node: Type, depth: int) -> str | None:
        if depth > MAX_DEPTH:
            return f"types nest deeper than {MAX_DEPTH} levels"
        return self.visit(node, depth)

    def in_children(
        self,
        node: WrapperType | OptionalType | ListType | ProductType | Map | Enum,
        depth: int,
    ) -> str | None:
        reasons = (self.find(child, depth + 1) for child in children(node))
        return next(filter(None, reasons), None)

    visit_wrapper = visit_optional = visit_product = visit_enum = in_children

    def visit_scalar(self, node: ScalarType, depth: int) -> str | None:
        return None

    def visit_unsupported(self, node: Unsupported, depth: int) -> str | None:
        return f"type {node.text!r}: {node.why}"

    def visit_generic(self, node: types.Generic, depth: int) -> str | None:
        return f"generic parameter {node.name} has no argument here"

    def counted(self, node: ListType | Map, depth: int) -> str | None:
        if isinstance(node.count, Generic):
            return f"const parameter {node.count.name} has no argument here"
        return self.in_children(node, depth)

    visit_list = visit_map = counted

    def visit_link(self, node: Link, depth: int) -> str | None:
        if node in self.seen:
            return None  # `endless` finds endless recursion
        if node in self.known:
            return self.known[node]
        self.seen.add(node)
        if len(self.seen) > MAX_LINKS:
            return f"it is made of more than {MAX_LINKS:,} types"
        try:
            definition, body = self.resolver.expand(node)
        except UnresolvedName as error:
            return f"type {error.name!r} is not defined"
        return self.unusable_definition(node, definition) or self.find(body, depth + 1)

    def unusable_definition(self, node: Link, definition: TypeDef) -> str | None:
        if self.resolver.is_ambiguous(node.name):
            return f"two different types have the name {node.name!r}"
        if definition.layout not in KNOWN_LAYOUTS:
            return f"type {node.name!r} has the layout {definition.layout!r}, which only the program knows"
        if self.resolver.endless(node):
            return f"type {node.name!r} holds itself without end"
        return None


class _HasFiniteValue(GroupVisitor[[], bool]):
    """Does a type have a finite value, given which links are known to have one?"""

    def __init__(self, ends: dict[Link, bool]) -> None:
        self.ends = ends

    def visit_link(self, node: Link) -> bool:
        return self.ends.get(node, True)

    def always(
        self, node: ScalarType | Generic | Unsupported | RemainderOption | Map
    ) -> bool:
        return True

    visit_scalar = visit_generic = visit_unsupported = always
    visit_remainder_option = visit_map = always

    def all_parts(self, node: WrapperType | ZeroableOption | ProductType) -> bool:
        return all(map(self.visit, children(node)))

    visit_wrapper = visit_zeroable_option = visit_product = all_parts

    def visit_optional(self, node: OptionalType) -> bool:
        # A fixed option holds the bytes of its item even if the item is absent.
        if isinstance(node, Option) and node.fixed:
            return self.visit(node.item)
        return True

    def visit_list(self, node: ListType) -> bool:
        if not isinstance(node.count, int) or node.count == 0:
            return True
        return self.visit(node.item)

    def visit_enum(self, node: Enum) -> bool:
        if not node.variants:
            return True
        return any(v.payload is None or self.visit(v.payload) for v in node.variants)
