"""Generates the source of compiled functions that write values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from mcpsol_py._moved import renamed
from mcpsol_py.codec.integers import byte_order, int_bytes
from mcpsol_py.codec.slots import has_only_names
from mcpsol_py.codec.source import FunctionSource, Table, number_format
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    Count,
    DateTime,
    Enum,
    FixedSize,
    Float,
    Generic,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Pubkey,
    RemainderOption,
    Sentinel,
    Set,
    ShortU16,
    SizePrefixed,
    String,
    Struct,
    Tuple,
    Type,
    Unsupported,
    ZeroableOption,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import TypeVisitor

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = ["WriterSource"]

#: A format of `struct`, and the expression to pack. Bytes are a constant.
Packed: TypeAlias = "tuple[str, str | bytes]"


class WriterSource(FunctionSource, TypeVisitor[[str], None]):
    """Generates lines that append a value to the bytearray `o`.

    The visitor methods take a type and `x`, the expression of the value.
    """

    def __init__(self, codecs: Codecs) -> None:
        super().__init__(codecs)
        self.out = "o"
        #: fixed widths that one pack will write
        self.run: list[Packed] = []
        #: class -> the names whose class must be checked before that pack
        self.classes: dict[str, list[str]] = {}
        #: class -> the names of lists whose items all must be of it
        self.item_classes: dict[str, list[str]] = {}
        self.has_appended = False

    # --- the pending run -----------------------------------------------------------------------

    def constant(self, data: bytes) -> None:
        """Write constant bytes."""
        if not data:
            return
        if self.run and isinstance(self.run[-1][1], bytes):
            data = self.run.pop()[1] + data  # type: ignore[operator,assignment]  # just seen to be bytes
        self.run.append((f"{len(data)}s", data))

    def packed(self) -> str | None:
        """Add the lines that check the pending values.

        Returns the expression for their bytes, or None if nothing is pending.
        """
        self._check_classes()
        run, self.run = self.run, []
        if not run:
            return None
        if len(run) == 1:
            form, argument = run[0]
            if isinstance(argument, bytes):
                return self._argument(argument)
            if form == "32s" and argument.startswith("address("):
                return argument  # bytes already
        pack = self.codecs.layout("<" + "".join(form for form, _ in run), "pack")
        arguments = [
            self._argument(value) for form, value in run if not form.endswith("x")
        ]
        return f"{pack}({', '.join(arguments)})"

    def _argument(self, value: str | bytes) -> str:
        return self.codecs.name(value, "const") if isinstance(value, bytes) else value

    def _check_classes(self) -> None:
        for cls, names in self.classes.items():
            if len(names) == 1:
                self.give_up_if(f"type({names[0]}) is not {cls}")
            else:
                classes = " is ".join(f"type({name})" for name in names)
                self.give_up_if(f"not ({classes} is {cls})")
        for cls, names in self.item_classes.items():
            for name in names:
                self.give_up_if(f"not {cls}S.issuperset(map(type, {name}))")
        self.classes, self.item_classes = {}, {}

    def flush(self) -> None:
        """Write the pending values."""
        expression = self.packed()
        if expression:
            self.line(f"{self.out} += {expression}")
            self.has_appended = True

    def append(self, expression: str) -> None:
        """Write the pending values, then the bytes of *expression*."""
        self.flush()
        self.line(f"{self.out} += {expression}")
        self.has_appended = True

    def finish(self) -> list[str]:
        """Return the body of a function that returns the bytes."""
        if not self.has_appended:
            expression = self.packed() or "b''"
            return [*self.lines, f"return {expression}"]
        self.flush()
        return ["o, k = bytearray(), 0", *self.lines, "return bytes(o)"]

    def end_block(self) -> None:
        """Write the pending values at the end of a block. A `pass` follows, in case there are none."""
        self.flush()
        self.line("pass")
        self.has_appended = True

    # --- entry points --------------------------------------------------------------------------

    def write(self, node: Type, x: str, *, inline: bool = False) -> None:
        """Write the value of expression *x*. *inline*: write a link's type here, without a call."""
        if self.needs_own_function(node):
            self._call(node, x, "k")
        elif inline and isinstance(node, Link):
            self.write(self.layouts.expand(node), x)
        else:
            self.visit(node, x)

    def _call(self, node: Type, x: str, depth: str) -> None:
        self.flush()
        self.line(f"{self.codecs.function('w', node)}({self.out}, {x}, {depth})")
        self.has_appended = True

    def bytes_of(self, item: Type, x: str) -> str:
        """Return a name for the bytes of *item* on their own."""
        data = self.temp("b")
        if isinstance(item, String) and item.encoding == "utf8":
            self.line(f"{data} = {x}.encode()")
        elif isinstance(item, Bytes):
            self.line(f"{data} = {x}")
            self.give_up_if(f"type({data}) is not bytes")
        elif self.layouts.moves_cursor(item):
            self.line(f"{data} = interpreted({self.codecs.name(item, 'type')}, {x})")
        else:
            self._write_apart(item, x, data)
        return data

    def _write_apart(self, item: Type, x: str, data: str) -> None:
        """Write *item* to a new bytearray with the name *data*."""
        self.flush()
        outer, self.out = self.out, data
        self.line(f"{data} = bytearray()")
        self.write(item, x)
        self.flush()
        self.out = outer

    # --- scalars -------------------------------------------------------------------------------

    def visit_int(self, node: Int, x: str) -> None:
        value = self.name_of(x)
        self.classes.setdefault("int", []).append(value)
        form = number_format(node)
        if form:
            self.run.append((form, value))
            return
        size = node.bits // 8
        signed = ", signed=True" if node.signed else ""
        self.run.append(
            (f"{size}s", f"{value}.to_bytes({size}, {byte_order(node)!r}{signed})")
        )

    def visit_float(self, node: Float, x: str) -> None:
        value = self.name_of(x)
        self.classes.setdefault("float", []).append(value)
        form = number_format(node)
        if form:
            self.run.append((form, value))
            return
        big_endian = ">f" if node.bits == 32 else ">d"
        self.run.append((f"{node.bits // 8}s", f"pack({big_endian!r}, {value})"))

    def visit_amount(self, node: Amount, x: str) -> None:
        self.visit_int(node.number, x)

    def visit_date_time(self, node: DateTime, x: str) -> None:
        self.visit_int(node.number, x)

    def visit_short_u16(self, node: ShortU16, x: str) -> None:
        value = self.name_of(x)
        self.classes.setdefault("int", []).append(value)
        self.give_up_if(f"not 0 <= {value} <= 65535")
        self.append(f"short({value})")

    def visit_bool(self, node: Bool, x: str) -> None:
        value = self.name_of(x)
        self.classes.setdefault("bool", []).append(value)
        form = number_format(node.size)
        size = node.size.bits // 8
        if form:
            self.run.append((form, value))
        else:
            self.run.append((f"{size}s", f"{value}.to_bytes({size}, 'big')"))

    def visit_pubkey(self, node: Pubkey, x: str) -> None:
        self.run.append(("32s", f"address({x})"))

    def visit_string(self, node: String, x: str) -> None:
        utf8 = node.encoding == "utf8"
        self.append(f"{x}.encode()" if utf8 else f"text_bytes({node.encoding!r}, {x})")

    def visit_bytes(self, node: Bytes, x: str) -> None:
        value = self.name_of(x)
        self.give_up_if(f"type({value}) is not bytes")
        self.append(value)

    # --- wrappers ------------------------------------------------------------------------------

    def visit_size_prefixed(self, node: SizePrefixed, x: str) -> None:
        data = self.bytes_of(node.item, x)
        self._write_length(node.prefix, data)
        self.append(data)

    def visit_fixed_size(self, node: FixedSize, x: str) -> None:
        data = self.bytes_of(node.item, x)
        self.give_up_if(f"len({data}) > {node.size}")
        self.append(f"{data}.ljust({node.size}, b'\\0')")

    def visit_sentinel(self, node: Sentinel, x: str) -> None:
        data = self.bytes_of(node.item, x)
        mark = repr(node.mark)
        self.give_up_if(f"({data} + {mark}).find({mark}) != len({data})")
        self.append(data)
        self.constant(node.mark)

    def visit_hidden_prefix(self, node: HiddenPrefix, x: str) -> None:
        self.constant(node.data)
        self.write(node.item, x)

    def visit_hidden_suffix(self, node: HiddenSuffix, x: str) -> None:
        self.write(node.item, x)
        self.constant(node.data)

    def visit_offset(self, node: Offset, x: str) -> None:
        if not node.is_padding:
            raise _not_compiled(node)
        if node.when == "pre":
            self._write_padding(node.amount)
        self.write(node.item, x)
        if node.when == "post":
            self._write_padding(node.amount)

    def _write_padding(self, size: int) -> None:
        if size:
            self.run.append((f"{size}x", ""))

    # --- optional values -----------------------------------------------------------------------

    def visit_option(self, node: Option, x: str) -> None:
        absent = int_bytes(node.prefix, 0) + bytes(self.layouts.absent_room(node))
        value = self._write_absent(x, absent)
        with self.block("else:"):
            value = self._unwrap_some(node.item, value)
            self.constant(int_bytes(node.prefix, 1))
            self.write(node.item, value)
            self.end_block()

    def visit_zeroable_option(self, node: ZeroableOption, x: str) -> None:
        zero = self.layouts.zero_bytes(node)
        value = self._write_absent(x, zero)
        with self.block("else:"):
            data = self.bytes_of(node.item, self._unwrap_some(node.item, value))
            self.give_up_if(f"{data}.startswith({self.codecs.name(zero, 'const')})")
            self.append(data)
            self.end_block()

    def visit_remainder_option(self, node: RemainderOption, x: str) -> None:
        value = self._write_absent(x, b"")
        with self.block("else:"):
            self.write(node.item, self._unwrap_some(node.item, value))
            self.end_block()

    def _write_absent(self, x: str, absent: bytes) -> str:
        """Write the bytes of None. Returns the name of the value for the `else:` that follows."""
        value = self.name_of(x)
        self.flush()
        with self.block(f"if {value} is None:"):
            self.constant(absent)
            self.end_block()
        return value

    def _unwrap_some(self, item: Type, value: str) -> str:
        if not self.layouts.nullable(item):
            return value
        self.give_up_if(f"type({value}) is not dict or len({value}) != 1")
        return self.bind(f"{value}['some']")

    # --- lists ---------------------------------------------------------------------------------

    def visit_array(self, node: Array, x: str) -> None:
        if is_bytes(node):
            self._write_byte_array(node.count, x)
            return
        value = self._begin_list(node.count, x)
        form = number_format(node.item)
        if form:
            self._write_numbers(node, form, value)
        elif isinstance(node.count, int) and self.is_unrolled(node.item, node.count):
            for index in range(node.count):
                self.write(node.item, f"{value}[{index}]")
        else:
            self.flush()
            item = self.temp()
            with self.block(f"for {item} in {value}:"):
                self.write(node.item, item)
                self.end_block()

    def _write_byte_array(self, count: Count, x: str) -> None:
        value = self.name_of(x)
        if isinstance(count, int):
            self.give_up_if(f"len({value}) != {count}")
            self.run.append((f"{count}s", value))  # pack refuses other types than bytes
            return
        self.give_up_if(f"type({value}) is not bytes")
        self._write_count(count, value)
        self.append(value)

    def _write_numbers(self, node: Array, form: str, value: str) -> None:
        """Write a list of numbers with one pack."""
        cls = "int" if isinstance(node.item, Int) else "float"
        self.item_classes.setdefault(cls, []).append(value)
        if isinstance(node.count, int):
            self.run.append((f"{node.count}{form}", f"*{value}"))
        else:
            self.append(f"pack(f'<{{len({value})}}{form}', *{value})")

    def visit_set(self, node: Set, x: str) -> None:
        value = self._begin_list(node.count, x)
        self.flush()
        item, seen = self.temp(), self.temp("s")
        self.line(f"{seen} = set()")
        with self.block(f"for {item} in {value}:"):
            self._write_once(node.item, item, seen)
            self.end_block()

    def visit_map(self, node: Map, x: str) -> None:
        value = self._begin_list(node.count, x)
        self.flush()
        seen, pair, key, inner = self.temp("s"), self.temp(), self.temp(), self.temp()
        self.line(f"{seen} = set()")
        with self.block(f"for {pair} in {value}:"):
            self.give_up_if(f"type({pair}) is not list")
            self.line(f"{key}, {inner} = {pair}")
            self._write_once(node.key, key, seen)
            self.write(node.value, inner)
            self.flush()

    def _begin_list(self, count: Count, x: str) -> str:
        """Check that *x* is a list, and write its length. Returns its name."""
        value = self.name_of(x)
        self.give_up_if(f"type({value}) is not list")
        self._write_count(count, value)
        return value

    def _write_once(self, item: Type, x: str, seen: str) -> None:
        """Write a value whose bytes must not be in the set *seen*."""
        data = self.bytes_of(item, x)
        self.line(f"{data} = bytes({data})")
        self.give_up_if(f"{data} in {seen}")
        self.line(f"{seen}.add({data})")
        self.append(data)

    def _write_count(self, count: Count, value: str) -> None:
        if isinstance(count, (Int, ShortU16)):
            self._write_length(count, value)
        elif isinstance(count, int):
            self.give_up_if(f"len({value}) != {count}")

    def _write_length(self, prefix: Int | ShortU16, value: str) -> None:
        """Write the length of *value*. Packing fails if the prefix cannot hold it."""
        if isinstance(prefix, ShortU16):
            self.give_up_if(f"len({value}) > 65535")
            self.append(f"short(len({value}))")
            return
        form = number_format(prefix)
        if form:
            self.run.append((form, f"len({value})"))
            return
        size = prefix.bits // 8
        self.run.append(
            (f"{size}s", f"len({value}).to_bytes({size}, {byte_order(prefix)!r})")
        )

    # --- products, enums, links ----------------------------------------------------------------

    def visit_tuple(self, node: Tuple, x: str) -> None:
        value = self.name_of(x)
        self.give_up_if(
            f"type({value}) is not list or len({value}) != {len(node.items)}"
        )
        for index, item in enumerate(node.items):
            self.write(item, f"{value}[{index}]")

    def visit_struct(self, node: Struct, x: str) -> None:
        value = self.name_of(x)
        constants = list(map(self.omitted, node.fields))
        self.give_up_if(
            f"type({value}) is not dict or len({value}) != {constants.count(None)}"
        )
        fields = zip(field_keys(node.fields), node.fields, constants, strict=True)
        for key, field, constant in fields:
            if constant is None:
                self.write(field.type, f"{value}[{key!r}]")
            else:
                self.constant(constant)

    def visit_enum(self, node: Enum, x: str) -> None:
        value = self.name_of(x)
        # Reversed: of two variants with one name, the first counts.
        indexed = reversed(list(enumerate(node.variants)))
        tags = {variant.name: variant.tag_at(index) for index, variant in indexed}
        if has_only_names(node):
            self._write_name(node, tags, value)
        else:
            self._write_variant(node, tags, value)

    def _write_name(self, node: Enum, tags: Mapping[str, int], value: str) -> None:
        """Write a variant of an enum without payloads."""
        form = number_format(node.tag)
        if form:
            self.run.append((form, f"{self.codecs.name(Table(tags), 'tags')}[{value}]"))
            return
        written = Table({name: int_bytes(node.tag, tag) for name, tag in tags.items()})
        self.append(f"{self.codecs.name(written, 'tags')}[{value}]")

    def _write_variant(self, node: Enum, tags: Mapping[str, int], value: str) -> None:
        """Write a variant of an enum with payloads: a name, or {name: payload}."""
        written = {name: int_bytes(node.tag, tag) for name, tag in tags.items()}
        units = Table({name: written[name] for name in reversed(node.units)})
        self.flush()
        with self.block(f"if type({value}) is str:"):
            self.append(f"{self.codecs.name(units, 'units')}[{value}]")
        with self.block("else:"):
            name, payload = self.temp(), self.temp()
            self.give_up_if(f"type({value}) is not dict")
            self.line(f"(({name}, {payload}),) = {value}.items()")
            self._write_payload(node, written, name, payload)
        self.has_appended = True

    def _write_payload(
        self, node: Enum, written: Mapping[str, bytes], name: str, payload: str
    ) -> None:
        word = "if"
        done: set[str] = set()
        for variant in node.variants:
            if variant.payload is None or variant.name in done:
                continue
            done.add(variant.name)
            with self.block(f"{word} {name} == {variant.name!r}:"):
                self.constant(written[variant.name])
                self.write(variant.payload, payload)
                self.flush()
            word = "elif"
        self.line("else: raise Odd" if done else "raise Odd")

    def visit_link(self, node: Link, x: str) -> None:
        if self.is_inlined(node):
            self.write(self.layouts.expand(node), x)
        else:
            self._call(node, x, "k + 1")

    def _refuse(self, node: Generic | Unsupported, x: str) -> None:
        raise _not_compiled(node)

    visit_generic = visit_unsupported = _refuse


def _not_compiled(node: Type) -> NotUsable:
    return NotUsable("type", type_text(node), "it cannot be compiled")


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
