"""The arguments of an instruction, or the fields of an account or event, and the discriminators
among them.
"""

from __future__ import annotations

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model.program import Discriminator, Value
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    FixedSize,
    Float,
    Generic,
    Int,
    Link,
    Map,
    Pubkey,
    ShortU16,
    String,
    Type,
    TypeDef,
    Unsupported,
)
from mcpsol_py.model.visit import (
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    WrapperType,
)
from mcpsol_py.sources.codama.defaults import DefaultReader
from mcpsol_py.sources.codama.nodes import MAX_DEPTH, Node, kind_name
from mcpsol_py.sources.codama.types import CONTEXTUAL
from mcpsol_py.sources.numbers import is_length

__all__ = ["DataFields"]


class DataFields:
    """Reads arguments or fields: leading constants become the discriminator, the others stay
    fields.
    """

    def __init__(self, reader: DefaultReader, node: Node, key: str) -> None:
        self.reader, self.node, self.key = reader, node, key
        #: the bytes of the leading constants, and their names
        self.prefix = b""
        self.folded: set[str] = set()
        self.fields: list[Field] = []
        #: values that a client fills in
        self.values: list[tuple[str, Value]] = []
        self.nodes: dict[str, Node] = {}

    def add(self, node: Node) -> None:
        """Read the next argument or field."""
        field = self.reader.field(node)
        self.nodes[field.name] = node
        if node.get("defaultValue") is not None:
            if self._fold(field, node):
                return
            self._add_value(field, node)
        self.fields.append(field)

    def _fold(self, field: Field, node: Node) -> bool:
        """Add a leading constant to the prefix. Returns False if the field is not one."""
        given = node["defaultValue"]
        if (
            self.fields
            or node.get("defaultValueStrategy") != "omitted"
            or _is_contextual(given)
        ):
            return False
        try:
            self.prefix += self.reader.encode(field.type, given)
        except SourceError as error:
            message = f"the constant is not read: {error.text}"
            self.reader.note(message, "defaultValue", "error")
            return False
        self.folded.add(field.name)
        return True

    def _add_value(self, field: Field, node: Node) -> None:
        given = node["defaultValue"]
        if not _is_contextual(given):
            return
        value = self.reader.inside("defaultValue", self.reader.fill, given)
        if value is not None:
            self.values.append((field.name, value))

    # --- discriminators

    def discriminators(self) -> tuple[Discriminator, tuple[Discriminator, ...]]:
        """Return the leading discriminator and the others that must match too."""
        also: list[Discriminator] = []
        self.reader.each(
            self.node, "discriminators", lambda node: self._one(node, also)
        )
        if self.prefix:
            return Discriminator(self.prefix, "codama"), tuple(also)
        if also:
            return also[0], tuple(also[1:])
        return Discriminator(b"", "none"), ()

    def _one(self, node: Node, also: list[Discriminator]) -> None:
        kind = node.get("kind")
        if kind == "sizeDiscriminatorNode":
            also.append(
                Discriminator(b"", "codama", 0, False, self.reader.whole(node, "size"))
            )
            return
        offset = self._offset(node)
        if kind == "constantDiscriminatorNode":
            self._by_constant(node, offset, also)
        elif kind == "fieldDiscriminatorNode":
            self._by_field(node, offset, also)
        else:
            self.reader.note(f"unknown kind of discriminator: {abbr(kind, 40)}", "kind")

    def _offset(self, node: Node) -> int:
        offset = self.reader.optional(node, "offset", self.reader.whole) or 0
        if not is_length(offset):
            raise SourceError(f"{offset} is not a valid offset.", path="offset")
        return offset

    def _by_constant(self, node: Node, offset: int, also: list[Discriminator]) -> None:
        reader = self.reader
        data = reader.inside("constant", reader.constant_bytes, node.get("constant"))
        if data and self.prefix[offset : offset + len(data)] == data:
            return
        if offset == len(self.prefix) and self._comes_before_fields(len(data)):
            self.prefix += data
            return
        if self.key == "arguments" and offset <= len(self.prefix):
            reader.note(
                f"the discriminator 0x{data.hex()} is not an argument: as in Codama's own encoders,"
                " the data is the arguments alone, and the discriminator only tells data that"
                " happens to contain it",
                "constant",
            )
        also.append(Discriminator(data, "codama", offset, False))

    def _by_field(self, node: Node, offset: int, also: list[Discriminator]) -> None:
        reader = self.reader
        name = reader.name(node)
        if name in self.folded:
            return
        given = self.nodes.get(name, {}).get("defaultValue")
        field = next((f for f in self.fields if f.name == name), None)
        if field is None or given is None:
            why = f"the discriminator {name!r} is not a field with a constant"
            reader.note(f"{why}; not used to tell data apart", "name")
            return
        try:
            data = reader.encode(field.type, given)
        except SourceError as error:
            reader.note(f"the discriminator {name!r} is not read: {error.text}", "name")
            return
        also.append(Discriminator(data, "codama", offset, False))

    def _comes_before_fields(self, size: int) -> bool:
        """Return whether a constant of *size* bytes, which no field holds, comes before the fields.

        Converters of Anchor IDLs left the eight bytes of a discriminator out of accounts and events
        until Codama had hidden prefixes. In an event the constant always comes first, since its
        fields are what the program logs. In an account it comes first unless whole fields fill
        exactly those bytes.
        """
        if self.key == "arguments":
            return False
        if self.node.get("kind") == "eventNode":
            return True
        widths = _FieldWidths(self.reader.types)
        covered = 0
        for field in self.fields:
            width = widths.width(field.type, 0)
            if width is None:
                return True
            covered += width
            if covered >= size:
                break
        return covered != size


def _is_contextual(given: object) -> bool:
    return type(given) is dict and kind_name(given) in CONTEXTUAL


class _FieldWidths(GroupVisitor[[int], int | None]):
    """The bytes of types with plain parts of fixed size; None for other types."""

    def __init__(self, types: dict[str, TypeDef]) -> None:
        self.types = types

    def width(self, node: Type, depth: int) -> int | None:
        return None if depth > MAX_DEPTH else self.visit(node, depth)

    def unknown(
        self,
        node: ShortU16
        | String
        | Bytes
        | WrapperType
        | OptionalType
        | ListType
        | ProductType
        | Map
        | Generic
        | Unsupported,
        depth: int,
    ) -> int | None:
        return None

    visit_short_u16 = visit_string = visit_bytes = unknown
    visit_wrapper = visit_optional = visit_list = visit_product = unknown
    visit_map = visit_generic = visit_unsupported = unknown

    def visit_scalar(self, node: ScalarType, depth: int) -> int | None:
        return None

    def visit_int(self, node: Int, depth: int) -> int | None:
        return node.bits // 8

    def visit_float(self, node: Float, depth: int) -> int | None:
        return node.bits // 8

    def visit_bool(self, node: Bool, depth: int) -> int | None:
        return node.size.bits // 8

    def number(self, node: Amount | DateTime, depth: int) -> int | None:
        return node.number.bits // 8

    visit_amount = visit_date_time = number

    def visit_pubkey(self, node: Pubkey, depth: int) -> int | None:
        return 32

    def visit_fixed_size(self, node: FixedSize, depth: int) -> int | None:
        return node.size

    def visit_array(self, node: Array, depth: int) -> int | None:
        if not isinstance(node.count, int):
            return None
        width = self.width(node.item, depth + 1)
        return None if width is None else width * node.count

    def visit_enum(self, node: Enum, depth: int) -> int | None:
        if not isinstance(node.tag, Int) or len(node.units) < len(node.variants):
            return None
        return node.tag.bits // 8

    def visit_link(self, node: Link, depth: int) -> int | None:
        definition = self.types.get(node.name)
        return None if definition is None else self.width(definition.type, depth + 1)
