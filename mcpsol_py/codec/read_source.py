"""Generates the source of compiled functions that read values."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from mcpsol_py._moved import renamed
from mcpsol_py.codec.integers import byte_order
from mcpsol_py.codec.layout import MAX_EMPTY_ITEMS
from mcpsol_py.codec.slots import has_only_names
from mcpsol_py.codec.source import FunctionSource, Table, number_format
from mcpsol_py.errors import NotUsable
from mcpsol_py.items import names_of
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
    Variant,
    ZeroableOption,
    field_keys,
    is_bytes,
)
from mcpsol_py.model.visit import TypeVisitor

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = ["ReaderSource"]


class Unpacked(NamedTuple):
    """A format of `struct` to read, and the name of its value: "" for padding.

    With several `numbers` the value is a list of that many.
    """

    form: str
    name: str
    numbers: int


class ReaderSource(FunctionSource, TypeVisitor[[], str]):
    """Generates lines that read from the bytes `d` at offset `o`; `z` is the end of the bytes.

    The visitor methods return an expression for the value. It is valid after the next `flush`.
    """

    def __init__(self, codecs: Codecs) -> None:
        super().__init__(codecs)
        self.data, self.at, self.end = "d", "o", "z"
        #: fixed widths that one unpack will read
        self.run: list[Unpacked] = []
        #: conditions on their values
        self.conditions: list[str] = []

    # --- the pending run -----------------------------------------------------------------------

    def take(self, form: str, hint: str = "v", numbers: int = 1) -> str:
        """Return a name for a value of *form*, or for a list of *numbers* values."""
        name = self.temp(hint)
        self.run.append(Unpacked(form, name, numbers))
        return name

    def skip(self, size: int) -> None:
        """Skip *size* bytes of padding."""
        if size:
            self.run.append(Unpacked(f"{size}x", "", 0))

    def constant(self, data: bytes) -> None:
        """Read constant bytes."""
        if data:
            name = self.take(f"{len(data)}s", "c")
            self.conditions.append(f"{name} == {self.codecs.name(data, 'const')}")

    def flush(self) -> None:
        """Read the pending values."""
        run, self.run = self.run, []
        if run:
            self._unpack(run)
        for condition in self.conditions:
            self.give_up_if(f"not ({condition})")
        self.conditions = []

    def _unpack(self, run: list[Unpacked]) -> None:
        forms = "<" + "".join(part.form for part in run)
        size = struct.calcsize(forms)
        named = [part for part in run if part.name]
        if named:
            unpack = self.codecs.layout(forms, "unpack_from")
            self._assign(named, f"{unpack}({self.data}, {self.at})")
        else:
            self.give_up_if(f"{self.at} + {size} > {self.end}")
        if size:
            self.line(f"{self.at} += {size}")

    def _assign(self, named: list[Unpacked], unpacked: str) -> None:
        """Give the values of *unpacked*, a tuple, their names."""
        if all(part.numbers == 1 for part in named):
            self.line(f"{', '.join(names_of(named))}, = {unpacked}")
            return
        whole = self.temp("t")
        self.line(f"{whole} = {unpacked}")
        start = 0
        for part in named:
            end = start + part.numbers
            one = f"{whole}[{start}]"
            self.line(
                f"{part.name} = {one if part.numbers == 1 else f'list({whole}[{start}:{end}])'}"
            )
            start = end

    @property
    def is_one_expression(self) -> bool:
        """Whether the pending values are all there is: names for single numbers, without lines."""
        if self.lines or self.conditions:
            return False
        numbers = [part.numbers for part in self.run if part.name]
        return bool(numbers) and max(numbers) == 1

    def finish(self, result: str) -> list[str]:
        """Return the body of a function that returns the value and the offset after it."""
        self.flush()
        return ["z = len(d)", *self.lines, f"return {result}, o"]

    # --- entry points --------------------------------------------------------------------------

    def read(self, node: Type, *, inline: bool = False) -> str:
        """Return an expression for the value, valid after the next `flush`.

        *inline*: read a link's type here, without a call.
        """
        if self.needs_own_function(node):
            return self._call(node, "k")
        if inline and isinstance(node, Link):
            return self.read(self.layouts.expand(node))
        return self.visit(node)

    def _read_now(self, node: Type) -> str:
        """Read the value here. Returns an expression that is valid at once."""
        value = self.read(node)
        self.flush()
        return value

    def _call(self, node: Type, depth: str) -> str:
        self.flush()
        name = self.temp()
        function = self.codecs.function("r", node)
        self.line(f"{name}, {self.at} = {function}({self.data}, {self.at}, {depth})")
        return name

    def _read_part(self, item: Type, part: str) -> str:
        """Read *item* from all of the bytes of the expression *part*."""
        if isinstance(item, (String, Bytes)):
            return self.bind(_text(item, part))
        return self._read_within(item, part, exact=True)

    def _read_within(self, item: Type, part: str, *, exact: bool) -> str:
        """Read *item* from the bytes of the expression *part*; *exact*: from all of them."""
        outer = self.data, self.at, self.end
        self.data, self.at, self.end = self.temp("d"), self.temp("o"), self.temp("z")
        self.line(f"{self.data} = {part}")
        self.line(f"{self.at}, {self.end} = 0, len({self.data})")
        value = self.bind(self._read_now(item))
        if exact:
            self.give_up_if(f"{self.at} != {self.end}")
        self.data, self.at, self.end = outer
        return value

    # --- scalars -------------------------------------------------------------------------------

    def visit_int(self, node: Int) -> str:
        form = number_format(node)
        if form:
            return self.take(form)
        raw = self.take(f"{node.bits // 8}s")
        signed = ", signed=True" if node.signed else ""
        return f"number({raw}, {byte_order(node)!r}{signed})"

    def visit_float(self, node: Float) -> str:
        form = number_format(node)
        if form:
            return self.take(form)
        big_endian = ">f" if node.bits == 32 else ">d"
        return f"unpack({big_endian!r}, {self.take(f'{node.bits // 8}s')})[0]"

    def visit_amount(self, node: Amount) -> str:
        return self.visit_int(node.number)

    def visit_date_time(self, node: DateTime) -> str:
        return self.visit_int(node.number)

    def visit_short_u16(self, node: ShortU16) -> str:
        return self._read_short_u16("v")

    def _read_short_u16(self, hint: str) -> str:
        self.flush()
        name = self.temp(hint)
        self.line(f"{name}, {self.at} = unshort({self.data}, {self.at})")
        return name

    def visit_bool(self, node: Bool) -> str:
        return f"BOOLS[{self.visit_int(node.size)}]"

    def visit_pubkey(self, node: Pubkey) -> str:
        return f"Address({self.take('32s')})"

    def visit_string(self, node: String) -> str:
        return self._read_rest(node)

    def visit_bytes(self, node: Bytes) -> str:
        return self._read_rest(node)

    def _read_rest(self, node: String | Bytes) -> str:
        self.flush()
        value = self.bind(_text(node, f"{self.data}[{self.at}:]"))
        self.line(f"if {self.at} < {self.end}: {self.at} = {self.end}")
        return value

    # --- wrappers ------------------------------------------------------------------------------

    def visit_size_prefixed(self, node: SizePrefixed) -> str:
        length = self._read_length(node.prefix)
        stop = self.temp("e")
        self.line(f"{stop} = {self.at} + {length}")
        self.give_up_if(f"{stop} > {self.end}")
        value = self._read_part(node.item, f"{self.data}[{self.at}:{stop}]")
        self.line(f"{self.at} = {stop}")
        return value

    def _read_length(self, prefix: Int | ShortU16) -> str:
        """Read a length that is not negative. Returns its name."""
        if isinstance(prefix, ShortU16):
            return self._read_short_u16("n")
        length = self._read_number(prefix)
        if prefix.signed:
            self.give_up_if(f"{length} < 0")
        return length

    def _read_number(self, node: Int) -> str:
        """Read a number here. Returns its name."""
        expression = self.visit_int(node)
        self.flush()
        return self.name_of(expression)

    def visit_fixed_size(self, node: FixedSize) -> str:
        if isinstance(node.item, Bytes):
            return self.take(f"{node.size}s")
        raw = self.take(f"{node.size}s", "b")
        self.flush()
        if not isinstance(node.item, String):
            return self._read_within(node.item, raw, exact=False)
        stripped = f"{raw}.rstrip(b'\\0')" if node.item.encoding == "utf8" else raw
        return self.bind(_text(node.item, stripped))

    def visit_sentinel(self, node: Sentinel) -> str:
        self.flush()
        stop = self.temp("e")
        self.line(f"{stop} = {self.data}.index({node.mark!r}, {self.at})")
        value = self._read_part(node.item, f"{self.data}[{self.at}:{stop}]")
        self.line(f"{self.at} = {stop} + {len(node.mark)}")
        return value

    def visit_hidden_prefix(self, node: HiddenPrefix) -> str:
        self.constant(node.data)
        return self.read(node.item)

    def visit_hidden_suffix(self, node: HiddenSuffix) -> str:
        value = self.read(node.item)
        self.constant(node.data)
        return value

    def visit_offset(self, node: Offset) -> str:
        if not node.is_padding:
            return self._read_moved(node)
        if node.when == "pre":
            self.skip(node.amount)
        value = self.read(node.item)
        if node.when == "post":
            self.skip(node.amount)
        return value

    def _read_moved(self, node: Offset) -> str:
        self.flush()
        before = self.bind(self.at)
        if node.when == "pre":
            self._move(node, before)
        value = self.bind(self._read_now(node.item))
        if node.when == "post":
            self._move(node, before)
        return value

    def _move(self, node: Offset, before: str) -> None:
        """Move the offset, as `layout.moved` does."""
        if node.strategy == "preOffset":
            to = f"{before} + {node.amount}"
        elif node.strategy != "absolute":
            to = f"{self.at} + {node.amount}"
        elif node.amount >= 0:
            to = str(node.amount)
        else:
            to = f"{node.amount} % {self.end} if {self.end} else 0"
        self.line(f"{self.at} = {to}")
        self.give_up_if(f"not 0 <= {self.at} <= {self.end}")

    # --- optional values -----------------------------------------------------------------------

    def visit_option(self, node: Option) -> str:
        result = self.temp()
        tag = self._read_number(node.prefix)
        with self.block(f"if {tag} == 0:"):
            self.skip(self.layouts.absent_room(node))
            self.flush()
            self.line(f"{result} = None")
        with self.block(f"elif {tag} == 1:"):
            self._read_present(node.item, result)
        self.line("else: raise Odd")
        return result

    def visit_zeroable_option(self, node: ZeroableOption) -> str:
        result = self.temp()
        zero = self.layouts.zero_bytes(node)
        self.flush()
        is_absent = (
            f"{self.data}.startswith({self.codecs.name(zero, 'const')}, {self.at})"
        )
        with self.block(f"if {is_absent}:"):
            self.line(f"{result} = None")
            self.line(f"{self.at} += {len(zero)}")
        with self.block("else:"):
            self._read_present(node.item, result)
        return result

    def visit_remainder_option(self, node: RemainderOption) -> str:
        result = self.temp()
        self.flush()
        self.line(f"if {self.at} >= {self.end}: {result} = None")
        with self.block("else:"):
            self._read_present(node.item, result)
        return result

    def _read_present(self, item: Type, result: str) -> None:
        value = self._read_now(item)
        if self.layouts.nullable(item):
            value = f"{{'some': {value}}}"
        self.line(f"{result} = {value}")

    # --- lists ---------------------------------------------------------------------------------

    def visit_array(self, node: Array) -> str:
        if is_bytes(node):
            return self._read_byte_array(node.count)
        return self._read_list(node.item, node.count)

    def visit_set(self, node: Set) -> str:
        return self._read_list(node.item, node.count)

    def _read_list(self, item: Type, count: Count) -> str:
        form = number_format(item)
        if form and isinstance(count, int):
            return self._read_few_numbers(form, count)
        if form and count is not None:
            return self._read_numbers(item, form, self._read_count(item, count))
        return self._read_items(item, count)

    def visit_map(self, node: Map) -> str:
        return self._read_items(Tuple((node.key, node.value)), node.count)

    def _read_byte_array(self, count: Count) -> str:
        if isinstance(count, (Int, ShortU16)):
            return self.read(SizePrefixed(Bytes(), count))
        return self.take(f"{count}s") if isinstance(count, int) else self.read(Bytes())

    def _read_few_numbers(self, form: str, count: int) -> str:
        """Read a fixed number of numbers with the pending run."""
        if count == 0:
            return "[]"
        name = self.take(f"{count}{form}", "v", count)
        return f"[{name}]" if count == 1 else name

    def _read_numbers(self, item: Type, form: str, many: str) -> str:
        """Read *many* numbers with one unpack."""
        size = self.layouts.fixed_size(item)
        part = f"{self.data}[{self.at}:{self.at} + {many} * {size}]"
        values = self.bind(f"list(unpack(f'<{{{many}}}{form}', {part}))")
        self.line(f"{self.at} += {many} * {size}")
        return values

    def _read_items(self, item: Type, count: Count) -> str:
        if isinstance(count, int) and self.is_unrolled(item, count):
            return "[" + ", ".join([self.read(item) for _ in range(count)]) + "]"
        if count is None:
            self.flush()
            return self._read_items_to_end(item)
        many = self._read_count(item, count)
        return self._read_packed_items(item, many) or self._read_each(item, many)

    def _read_count(self, item: Type, count: Count) -> str:
        """Read the number of items, and check that there can be as many. Returns its name."""
        if isinstance(count, (Int, ShortU16)):
            many = self._read_length(count)
        else:
            self.flush()
            many = str(count)
        least = self.layouts.least(item)
        if least:
            self.give_up_if(f"{many} * {least} > {self.end} - {self.at}")
        else:
            self.give_up_if(f"{many} > {MAX_EMPTY_ITEMS}")
        return many

    def _read_packed_items(self, item: Type, many: str) -> str | None:
        """Read items of fixed width with one `iter_unpack`.

        Returns the name of the list, or None, with nothing read, if the items need more lines.
        """
        size = self.layouts.fixed_size(item)
        if not size or self.slots(item) is None:
            return None
        reader = ReaderSource(self.codecs)
        reader._temps = self._temps
        expression = reader.read(item)
        if not reader.is_one_expression:
            return None
        names = [part.name for part in reader.run if part.name]
        unpack = self.codecs.layout(
            "<" + "".join(part.form for part in reader.run), "iter_unpack"
        )
        part = f"{self.data}[{self.at}:{self.at} + {many} * {size}]"
        values = self.bind(
            f"[{expression} for {', '.join(names)}, in {unpack}({part})]"
        )
        self.line(f"{self.at} += {many} * {size}")
        return values

    def _read_each(self, item: Type, many: str) -> str:
        values, index = self.temp(), self.temp("i")
        self.line(f"{values} = []")
        with self.block(f"for {index} in range({many}):"):
            self.line(f"{values}.append({self._read_now(item)})")
        return values

    def _read_items_to_end(self, item: Type) -> str:
        values = self.temp()
        self.line(f"{values} = []")
        with self.block(f"while {self.at} < {self.end}:"):
            start = self.bind(self.at)
            self.line(f"{values}.append({self._read_now(item)})")
            self.give_up_if(f"{self.at} <= {start}")
        return values

    # --- products, enums, links ----------------------------------------------------------------

    def visit_tuple(self, node: Tuple) -> str:
        return "[" + ", ".join(map(self.read, node.items)) + "]"

    def visit_struct(self, node: Struct) -> str:
        parts = []
        for key, field in zip(field_keys(node.fields), node.fields, strict=True):
            constant = self.omitted(field)
            if constant is None:
                parts.append(f"{key!r}: {self.read(field.type)}")
            else:
                self.constant(constant)
        return "{" + ", ".join(parts) + "}"

    def visit_enum(self, node: Enum) -> str:
        by_tag: dict[int, Variant] = {}
        for tag, variant in zip(node.tags, node.variants, strict=True):
            by_tag.setdefault(tag, variant)
        if isinstance(node.tag, Int) and has_only_names(node):
            names = Table({tag: variant.name for tag, variant in by_tag.items()})
            return f"{self.codecs.name(names, 'variants')}[{self.visit_int(node.tag)}]"
        if isinstance(node.tag, ShortU16):
            return self._read_variant(by_tag, self.visit_short_u16(node.tag))
        return self._read_variant(by_tag, self._read_number(node.tag))

    def _read_variant(self, by_tag: dict[int, Variant], tag: str) -> str:
        result = self.temp()
        word = "if"
        for number, variant in by_tag.items():
            with self.block(f"{word} {tag} == {number}:"):
                value = repr(variant.name)
                if variant.payload is not None:
                    value = f"{{{value}: {self._read_now(variant.payload)}}}"
                self.line(f"{result} = {value}")
            word = "elif"
        self.line("else: raise Odd" if by_tag else "raise Odd")
        return result

    def visit_link(self, node: Link) -> str:
        if self.is_inlined(node):
            return self.read(self.layouts.expand(node))
        return self._call(node, "k + 1")

    def _refuse(self, node: Generic | Unsupported) -> str:
        raise NotUsable("type", type_text(node), "it cannot be compiled")

    visit_generic = visit_unsupported = _refuse


def _text(node: String | Bytes, data: str) -> str:
    """Return the expression that makes a value of the bytes *data*."""
    if isinstance(node, Bytes):
        return data
    if node.encoding == "utf8":
        return f"{data}.decode()"
    return f"text_of({node.encoding!r}, {data})"


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
