"""The source of functions that read values (compile.py)."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from mcpsol_py.codec.layout import MAX_EMPTY_ITEMS, is_bytes
from mcpsol_py.codec.source import (
    INLINE_SLOTS,
    MAX_BLOCKS,
    Source,
    Table,
    byte_order,
    number_format,
)
from mcpsol_py.errors import NotUsable
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    FixedSize,
    Float,
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
    ZeroableOption,
    field_keys,
)

if TYPE_CHECKING:
    from mcpsol_py.codec.compiled import Codecs

__all__ = ["Reader"]


class Reader(Source):
    """Lines that read from the bytes `d` at offset `o`; `z` is where they end."""

    def __init__(self, codecs: Codecs) -> None:
        super().__init__(codecs)
        self.data, self.at, self.end = "d", "o", "z"
        #: fixed widths that wait to be read by one unpack: (format, name, how many numbers)
        self.run: list[tuple[str, str, int]] = []
        #: conditions that must hold after it
        self.checks: list[str] = []

    def take(self, form: str, hint: str = "v", numbers: int = 1) -> str:
        """A name for what *form* will have read; with *numbers* for a list of as many."""
        name = self.temp(hint)
        self.run.append((form, name, numbers))
        return name

    def flush(self) -> None:
        """Reads what waits."""
        run, self.run = self.run, []
        if run:
            forms = "<" + "".join(form for form, _, _ in run)
            size = struct.calcsize(forms)
            unpack = self.codecs.layout(forms, "unpack_from")
            named = [(name, numbers) for _, name, numbers in run if name]
            call = f"{unpack}({self.data}, {self.at})"
            if not named:
                self.line(f"if {self.at} + {size} > {self.end}: raise Odd")
            elif all(numbers == 1 for _, numbers in named):
                self.line(f"{', '.join(name for name, _ in named)}, = {call}")
            else:
                whole = self.temp("t")
                self.line(f"{whole} = {call}")
                start = 0
                for name, numbers in named:
                    part = (
                        f"{whole}[{start}]"
                        if numbers == 1
                        else f"list({whole}[{start}:{start + numbers}])"
                    )
                    self.line(f"{name} = {part}")
                    start += numbers
            if size:
                self.line(f"{self.at} += {size}")
        for check in self.checks:
            self.line(f"if not ({check}): raise Odd")
        self.checks = []

    def finish(self, result: str) -> list[str]:
        """The body of a function that returns the value and the offset behind it."""
        self.flush()
        return ["z = len(d)", *self.lines, f"return {result}, o"]

    def constant(self, data: bytes) -> None:
        if data:
            name = self.take(f"{len(data)}s", "c")
            self.checks.append(f"{name} == {self.codecs.name(data, 'const')}")

    def skip(self, size: int) -> None:
        if size:
            self.run.append((f"{size}x", "", 0))

    # --- one type --------------------------------------------------------------------------------------------------

    def read(self, node: Type, *, inline: bool = False) -> str:
        """An expression for the value, good from the next flush() on."""
        if self.blocks > MAX_BLOCKS and self.slots(node) is None:
            return self.call(node, "k")
        match node:
            case Int() | Float():
                return self.read_number(node)
            case Amount(number, _, _) | DateTime(number):
                return self.read_number(number)
            case ShortU16():
                self.flush()
                name = self.temp()
                self.line(f"{name}, {self.at} = unshort({self.data}, {self.at})")
                return name
            case Bool(size):
                return f"BOOLS[{self.read_number(size)}]"
            case Pubkey():
                return f"Address({self.take('32s')})"
            case String() | Bytes():
                self.flush()
                name = self.temp()
                rest = f"{self.data}[{self.at}:]"
                self.line(f"{name} = {self.text(node, rest)}")
                self.line(f"if {self.at} < {self.end}: {self.at} = {self.end}")
                return name
            case SizePrefixed(item, prefix):
                return self.read_sized(item, prefix)
            case FixedSize(item, size):
                if isinstance(item, Bytes):
                    return self.take(f"{size}s")
                raw = self.take(f"{size}s", "b")
                self.flush()
                if isinstance(item, String):
                    strip = ".rstrip(b'\\0')" if item.encoding == "utf8" else ""
                    return self.bind(self.text(item, raw + strip))
                return self.within(item, raw, exact=False)
            case Sentinel(item, mark):
                self.flush()
                stop = self.temp("e")
                self.line(f"{stop} = {self.data}.index({mark!r}, {self.at})")
                part = f"{self.data}[{self.at}:{stop}]"
                if isinstance(item, (String, Bytes)):
                    value = self.bind(self.text(item, part))
                else:
                    value = self.within(item, part, exact=True)
                self.line(f"{self.at} = {stop} + {len(mark)}")
                return value
            case HiddenPrefix(item, data):
                self.constant(data)
                return self.read(item)
            case HiddenSuffix(item, data):
                value = self.read(item)
                self.constant(data)
                return value
            case Offset(item, amount, when, "padded") if amount >= 0:
                if when == "pre":
                    self.skip(amount)
                padded = self.read(item)
                if when == "post":
                    self.skip(amount)
                return padded
            case Offset():
                return self.read_moved(node)
            case Option() | ZeroableOption() | RemainderOption():
                return self.read_option(node)
            case Array(_, int(count)) if is_bytes(node):
                return self.take(f"{count}s")
            case Array(_, None) if is_bytes(node):
                return self.read(Bytes())
            case Array(_, count) if is_bytes(node):
                return self.read(SizePrefixed(Bytes(), count))  # type: ignore[arg-type]  # an Int or ShortU16 is left
            case Array(item, count) | Set(item, count):
                return self.read_list(node, item, count)
            case Map(key, val, count):
                return self.read_list(node, Tuple((key, val)), count)
            case Tuple(items):
                return "[" + ", ".join([self.read(item) for item in items]) + "]"
            case Struct(fields):
                parts = []
                for label, field in zip(field_keys(fields), fields, strict=True):
                    const = self.omitted(field)
                    if const is not None:
                        self.constant(const)
                    else:
                        parts.append(f"{label!r}: {self.read(field.type)}")
                return "{" + ", ".join(parts) + "}"
            case Enum():
                return self.read_enum(node)
            case Link():
                if inline or self.slots(node) is not None:
                    return self.read(self.expand(node))
                return self.call(node, "k + 1")
            case _:
                raise NotUsable("type", type_text(node), "it cannot be compiled")

    def bind(self, expression: str) -> str:
        name = self.temp()
        self.line(f"{name} = {expression}")
        return name

    def call(self, node: Type, depth: str) -> str:
        self.flush()
        name = self.temp()
        self.line(
            f"{name}, {self.at} = {self.codecs.function('r', node)}({self.data}, {self.at}, {depth})"
        )
        return name

    def text(self, node: String | Bytes, data: str) -> str:
        """The expression that makes a value of the bytes *data*."""
        if isinstance(node, Bytes):
            return data
        return (
            f"{data}.decode()" if node.encoding == "utf8" else f"text_of({node.encoding!r}, {data})"
        )

    def read_number(self, node: Int | Float) -> str:
        form = number_format(node)
        if form:
            return self.take(form)
        size = node.bits // 8
        if isinstance(node, Int):
            return f"number({self.take(f'{size}s')}, {byte_order(node)!r}{', signed=True' * node.signed})"
        return f"unpack({'>f' if node.bits == 32 else '>d'!r}, {self.take(f'{size}s')})[0]"

    def read_length(self, prefix: Int | ShortU16) -> str:
        """A name for a length, read and not negative."""
        if isinstance(prefix, ShortU16):
            self.flush()
            name = self.temp("n")
            self.line(f"{name}, {self.at} = unshort({self.data}, {self.at})")
            return name
        expression = self.read_number(prefix)
        self.flush()
        if not expression.isidentifier():
            expression = self.bind(expression)
        if prefix.signed:
            self.line(f"if {expression} < 0: raise Odd")
        return expression

    def read_sized(self, item: Type, prefix: Int | ShortU16) -> str:
        length = self.read_length(prefix)
        stop = self.temp("e")
        self.line(f"{stop} = {self.at} + {length}")
        self.line(f"if {stop} > {self.end}: raise Odd")
        part = f"{self.data}[{self.at}:{stop}]"
        if isinstance(item, (String, Bytes)):
            value = self.bind(self.text(item, part))
        else:
            value = self.within(item, part, exact=True)
        self.line(f"{self.at} = {stop}")
        return value

    def within(self, item: Type, data: str, exact: bool) -> str:
        """The value of *item* in the bytes of expression *data* alone; `exact`: it must take them all."""
        outer = self.data, self.at, self.end
        self.data, self.at, self.end = self.temp("d"), self.temp("o"), self.temp("z")
        self.line(f"{self.data} = {data}")
        self.line(f"{self.at}, {self.end} = 0, len({self.data})")
        value = self.read(item)
        self.flush()
        value = self.bind(value)
        if exact:
            self.line(f"if {self.at} != {self.end}: raise Odd")
        self.data, self.at, self.end = outer
        return value

    def read_moved(self, node: Offset) -> str:
        self.flush()
        before = self.bind(self.at)
        if node.when == "pre":
            self.move(node, before)
        value = self.read(node.item)
        self.flush()
        value = self.bind(value)
        if node.when == "post":
            self.move(node, before)
        return value

    def move(self, node: Offset, before: str) -> None:
        match node.strategy:
            case "absolute" if node.amount >= 0:
                to = str(node.amount)
            case "absolute":
                to = f"{node.amount} % {self.end} if {self.end} else 0"
            case "preOffset":
                to = f"{before} + {node.amount}"
            case _:
                to = f"{self.at} + {node.amount}"
        self.line(f"{self.at} = {to}")
        self.line(f"if not 0 <= {self.at} <= {self.end}: raise Odd")

    def read_list(self, node: Type, item: Type, count: Any) -> str:
        number = item if isinstance(item, (Int, Float)) and not isinstance(node, Map) else None
        form = number_format(number) if number else None
        if form and isinstance(count, int):
            if count == 0:
                return "[]"
            name = self.take(f"{count}{form}", "v", count)
            if count == 1:
                return f"[{name}]"
            return name
        slots = self.slots(item)
        if isinstance(count, int) and slots is not None and slots * count <= INLINE_SLOTS:
            return "[" + ", ".join([self.read(item) for _ in range(count)]) + "]"
        size = self.layouts.fixed_size(item)
        least = self.layouts.least(item)
        if count is None or isinstance(count, int):
            self.flush()
            many = str(count)
        else:
            many = self.read_length(count)
        if count is not None:
            if least:
                self.line(f"if {many} * {least} > {self.end} - {self.at}: raise Odd")
            else:
                self.line(f"if {many} > {MAX_EMPTY_ITEMS}: raise Odd")
        if form and size and count is not None:
            name = self.bind(
                f"list(unpack(f'<{{{many}}}{form}', {self.data}[{self.at}:{self.at} + {many} * {size}]))"
            )
            self.line(f"{self.at} += {many} * {size}")
            return name
        values, one = self.temp(), self.temp("i")
        if count is not None and size and slots is not None:
            inner = Reader(self.codecs)
            inner._temps = self._temps
            expression = inner.read(item)
            named = [name for _, name, _ in inner.run if name]
            if (
                not inner.lines
                and not inner.checks
                and named
                and all(n <= 1 for _, _, n in inner.run)
            ):
                forms = "<" + "".join(f for f, _, _ in inner.run)
                unpack = self.codecs.layout(forms, "iter_unpack")
                part = f"{self.data}[{self.at}:{self.at} + {many} * {size}]"
                self.line(f"{values} = [{expression} for {', '.join(named)}, in {unpack}({part})]")
                self.line(f"{self.at} += {many} * {size}")
                return values
        self.line(f"{values} = []")
        self.line(
            f"for {one} in range({many}):"
            if count is not None
            else f"while {self.at} < {self.end}:"
        )
        self.blocks += 1
        start = self.bind(self.at) if count is None else ""
        value = self.read(item)
        self.flush()
        self.line(f"{values}.append({value})")
        if count is None:
            self.line(f"if {self.at} <= {start}: raise Odd")
        self.blocks -= 1
        return values

    def read_option(self, node: Option | ZeroableOption | RemainderOption) -> str:
        item = node.item
        result = self.temp()
        match node:
            case Option(_, prefix, fixed):
                tag = self.read_number(prefix)
                self.flush()
                tag = tag if tag.isidentifier() else self.bind(tag)
                self.line(f"if {tag} == 0:")
                room = (self.layouts.fixed_size(item) or 0) if fixed else 0
                self.blocks += 1
                self.skip(room)
                self.flush()
                self.line(f"{result} = None")
                self.blocks -= 1
                self.line(f"elif {tag} == 1:")
            case ZeroableOption(_, zero):
                zero = bytes(self.layouts.fixed_size(item) or 0) if zero is None else zero
                self.flush()
                self.line(
                    f"if {self.data}.startswith({self.codecs.name(zero, 'const')}, {self.at}):"
                )
                self.line(f"    {result} = None")
                self.line(f"    {self.at} += {len(zero)}")
                self.line("else:")
            case RemainderOption():
                self.flush()
                self.line(f"if {self.at} >= {self.end}: {result} = None")
                self.line("else:")
        self.blocks += 1
        value = self.read(item)
        self.flush()
        self.line(
            f"{result} = {{'some': {value}}}"
            if self.layouts.nullable(item)
            else f"{result} = {value}"
        )
        self.blocks -= 1
        if isinstance(node, Option):
            self.line("else: raise Odd")
        return result

    def read_enum(self, node: Enum) -> str:
        tags: dict[int, int] = {}
        for index, variant in enumerate(node.variants):
            tags.setdefault(index if variant.value is None else variant.value, index)
        if (
            node.variants
            and all(v.payload is None for v in node.variants)
            and isinstance(node.tag, Int)
        ):
            names = {tag: node.variants[index].name for tag, index in tags.items()}
            return f"{self.codecs.name(Table(names), 'variants')}[{self.read_number(node.tag)}]"
        if isinstance(node.tag, ShortU16):
            tag_name = self.read(node.tag)
        else:
            tag_name = self.read_number(node.tag)
            self.flush()
            tag_name = tag_name if tag_name.isidentifier() else self.bind(tag_name)
        result = self.temp()
        word = "if"
        for number, index in tags.items():
            variant = node.variants[index]
            self.line(f"{word} {tag_name} == {number}:")
            word = "elif"
            self.blocks += 1
            if variant.payload is None:
                self.line(f"{result} = {variant.name!r}")
            else:
                value = self.read(variant.payload)
                self.flush()
                self.line(f"{result} = {{{variant.name!r}: {value}}}")
            self.blocks -= 1
        self.line("else: raise Odd" if word == "elif" else "raise Odd")
        return result
