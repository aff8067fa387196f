"""The source of functions that write values (compile.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcpsol_py.codec.integers import byte_order, int_bytes
from mcpsol_py.codec.layout import is_bytes
from mcpsol_py.codec.source import (
    INLINE_SLOTS,
    MAX_BLOCKS,
    Source,
    Table,
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
    Field,
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

__all__ = ["Writer"]


class Writer(Source):
    """Lines that append a value to the bytearray `o`."""

    def __init__(self, codecs: Codecs) -> None:
        super().__init__(codecs)
        self.out = "o"
        #: fixed widths that wait to be written by one pack: (format, arguments); constants are bytes
        self.run: list[tuple[str, str | bytes]] = []
        #: names to check before that pack: class -> names
        self.checks: dict[str, list[str]] = {}
        self.flushed = 0

    def constant(self, data: bytes) -> None:
        """Constant bytes."""
        if data and self.run and isinstance(self.run[-1][1], bytes):
            data = self.run.pop()[1] + data  # type: ignore[operator,assignment]  # just seen to be bytes
        if data:
            self.run.append((f"{len(data)}s", data))

    def packed(self) -> str | None:
        """The expression for what waits to be written, after the lines that check it; None if nothing waits."""
        for kind, names in self.checks.items():
            if kind.startswith("all "):
                for name in names:
                    self.line(f"if not {kind[4:]}S.issuperset(map(type, {name})): raise Odd")
            elif len(names) == 1:
                self.line(f"if type({names[0]}) is not {kind}: raise Odd")
            else:
                self.line(
                    f"if not ({' is '.join(f'type({n})' for n in names)} is {kind}): raise Odd"
                )
        self.checks = {}
        run, self.run = self.run, []
        if not run:
            return None
        if len(run) == 1:
            form, argument = run[0]
            if isinstance(argument, bytes):
                return self.codecs.name(argument, "const")
            if form == "32s" and argument.startswith("address("):
                return argument
        forms = "<" + "".join(form for form, _ in run)
        args = [
            self.codecs.name(a, "const") if isinstance(a, bytes) else a
            for form, a in run
            if not form.endswith("x")
        ]
        return f"{self.codecs.layout(forms, 'pack')}({', '.join(args)})"

    def flush(self) -> None:
        """Writes what waits."""
        expression = self.packed()
        if expression:
            self.line(f"{self.out} += {expression}")
            self.flushed += 1

    def append(self, expression: str) -> None:
        """Writes what waits, then *expression*, which gives bytes."""
        self.flush()
        self.line(f"{self.out} += {expression}")
        self.flushed += 1

    def finish(self) -> list[str]:
        """The body of a function that returns the bytes."""
        if not self.flushed:
            expression = self.packed()
            return [*self.lines, f"return {expression or 'b' + repr('')}"]
        self.flush()
        return ["o, k = bytearray(), 0", *self.lines, "return bytes(o)"]

    def check(self, kind: str, name: str) -> None:
        self.checks.setdefault(kind, []).append(name)

    def bind(self, expression: str) -> str:
        """A name for *expression*, so that it is evaluated once."""
        if expression.isidentifier():
            return expression
        name = self.temp()
        self.line(f"{name} = {expression}")
        return name

    # --- one type --------------------------------------------------------------------------------------------------

    def write(self, node: Type, x: str, *, inline: bool = False) -> None:
        """Lines that write the value of expression *x*. `inline`: a link's body, not a call of its function."""
        if self.blocks > MAX_BLOCKS and self.slots(node) is None:
            self.flush()
            self.line(f"{self.codecs.function('w', node)}({self.out}, {x}, k)")
            self.flushed += 1
            return
        match node:
            case Int() | Float():
                self.write_number(node, x)
            case Amount(number, _, _) | DateTime(number):
                self.write_number(number, x)
            case ShortU16():
                value = self.bind(x)
                self.check("int", value)
                self.line(f"if not 0 <= {value} <= 65535: raise Odd")
                self.append(f"short({value})")
            case Bool(size):
                value = self.bind(x)
                self.check("bool", value)
                form = number_format(size)
                self.run.append(
                    (form, value)
                    if form
                    else (f"{size.bits // 8}s", f"{value}.to_bytes({size.bits // 8}, 'big')")
                )
            case Pubkey():
                self.run.append(("32s", f"address({x})"))
            case String("utf8"):
                self.append(f"{x}.encode()")
            case String(encoding):
                self.append(f"text_bytes({encoding!r}, {x})")
            case Bytes():
                value = self.bind(x)
                self.line(f"if type({value}) is not bytes: raise Odd")
                self.append(value)
            case SizePrefixed(item, prefix):
                self.write_sized(item, prefix, x)
            case FixedSize(item, size):
                data = self.bytes_of(item, x)
                self.line(f"if len({data}) > {size}: raise Odd")
                self.append(f"{data}.ljust({size}, b'\\0')")
            case Sentinel(item, mark):
                data = self.bytes_of(item, x)
                self.line(f"if ({data} + {mark!r}).find({mark!r}) != len({data}): raise Odd")
                self.append(data)
                self.constant(mark)
            case HiddenPrefix(item, data):
                self.constant(data)
                self.write(item, x)
            case HiddenSuffix(item, data):
                self.write(item, x)
                self.constant(data)
            case Offset(item, amount, when, "padded") if amount >= 0:
                if when == "pre" and amount:
                    self.run.append((f"{amount}x", ""))
                self.write(item, x)
                if when == "post" and amount:
                    self.run.append((f"{amount}x", ""))
            case Option() | ZeroableOption() | RemainderOption():
                self.write_option(node, x)
            case Array(_, count) if is_bytes(node):
                value = self.bind(x)
                if isinstance(count, int):
                    self.line(
                        f"if len({value}) != {count}: raise Odd"
                    )  # pack refuses all but bytes
                    self.run.append((f"{count}s", value))
                else:
                    self.line(f"if type({value}) is not bytes: raise Odd")
                    self.write_count(count, value)
                    self.append(value)
            case Array(item, count) | Set(item, count):
                self.write_list(node, item, count, x)
            case Map(key, val, count):
                self.write_map(key, val, count, x)
            case Tuple(items):
                value = self.bind(x)
                self.line(
                    f"if type({value}) is not list or len({value}) != {len(items)}: raise Odd"
                )
                for index, item in enumerate(items):
                    self.write(item, f"{value}[{index}]")
            case Struct(fields):
                self.write_fields(fields, self.bind(x))
            case Enum():
                self.write_enum(node, self.bind(x))
            case Link():
                body = self.expand(node)
                if inline or self.slots(node) is not None:
                    self.write(body, x)
                else:
                    self.flush()
                    self.line(f"{self.codecs.function('w', node)}({self.out}, {x}, k + 1)")
                    self.flushed += 1
            case _:
                raise NotUsable("type", type_text(node), "it cannot be compiled")

    def write_number(self, node: Int | Float, x: str) -> None:
        value = self.bind(x)
        self.check("int" if isinstance(node, Int) else "float", value)
        form = number_format(node)
        if form:
            self.run.append((form, value))
        elif isinstance(node, Int):
            size = node.bits // 8
            self.run.append(
                (
                    f"{size}s",
                    f"{value}.to_bytes({size}, {byte_order(node)!r}{', signed=True' * node.signed})",
                )
            )
        else:
            form = ">f" if node.bits == 32 else ">d"
            self.run.append((f"{node.bits // 8}s", f"pack({form!r}, {value})"))

    def bytes_of(self, item: Type, x: str) -> str:
        """A name for the bytes of *item* alone, written before anything of what waits."""
        data = self.temp("b")
        if isinstance(item, String) and item.encoding == "utf8":
            self.line(f"{data} = {x}.encode()")
            return data
        if isinstance(item, Bytes):
            self.line(f"{data} = {x}")
            self.line(f"if type({data}) is not bytes: raise Odd")
            return data
        if self.layouts.moves_cursor(item):
            self.line(f"{data} = interpreted({self.codecs.name(item, 'type')}, {x})")
            return data
        self.flush()
        outer, self.out = self.out, data
        self.line(f"{data} = bytearray()")
        self.write(item, x)
        self.flush()
        self.out = outer
        return data

    def write_sized(self, item: Type, prefix: Int | ShortU16, x: str) -> None:
        data = self.bytes_of(item, x)
        self.write_length(prefix, data)
        self.append(data)

    def write_length(self, prefix: Int | ShortU16, of: str) -> None:
        """The length of the value named *of*; pack refuses one that the prefix cannot say."""
        if isinstance(prefix, ShortU16):
            self.line(f"if len({of}) > 65535: raise Odd")
            self.append(f"short(len({of}))")
            return
        form = number_format(prefix)
        size = prefix.bits // 8
        self.run.append(
            (form, f"len({of})")
            if form
            else (f"{size}s", f"len({of}).to_bytes({size}, {byte_order(prefix)!r})")
        )

    def write_count(self, count: Any, of: str) -> None:
        if isinstance(count, int):
            self.line(f"if len({of}) != {count}: raise Odd")
        elif count is not None:
            self.write_length(count, of)

    def write_list(self, node: Array | Set, item: Type, count: Any, x: str) -> None:
        value = self.bind(x)
        self.line(f"if type({value}) is not list: raise Odd")
        self.write_count(count, value)
        number = item if isinstance(item, (Int, Float)) else None
        form = number_format(number) if number and isinstance(node, Array) else None
        if form:
            self.check(f"all {'int' if isinstance(item, Int) else 'float'}", value)
            if isinstance(count, int):
                self.run.append((f"{count}{form}", f"*{value}"))
            else:
                self.append(f"pack(f'<{{len({value})}}{form}', *{value})")
            return
        slots = self.slots(item)
        if (
            isinstance(node, Array)
            and isinstance(count, int)
            and slots is not None
            and slots * count <= INLINE_SLOTS
        ):
            for index in range(count):
                self.write(item, f"{value}[{index}]")
            return
        self.flush()
        one = self.temp()
        seen = self.temp("s")
        if isinstance(node, Set):
            self.line(f"{seen} = set()")
        self.line(f"for {one} in {value}:")
        self.blocks += 1
        if isinstance(node, Set):
            self.write_once(item, one, seen)
        else:
            self.write(item, one)
        self.flush()
        self.line("pass")
        self.flushed += 1
        self.blocks -= 1

    def write_once(self, item: Type, x: str, seen: str) -> None:
        """Writes a value whose bytes must not be in the set *seen*."""
        data = self.bytes_of(item, x)
        self.line(f"{data} = bytes({data})")
        self.line(f"if {data} in {seen}: raise Odd")
        self.line(f"{seen}.add({data})")
        self.append(data)

    def write_map(self, key: Type, val: Type, count: Any, x: str) -> None:
        value = self.bind(x)
        self.line(f"if type({value}) is not list: raise Odd")
        self.write_count(count, value)
        self.flush()
        seen, pair, k, v = self.temp("s"), self.temp(), self.temp(), self.temp()
        self.line(f"{seen} = set()")
        self.line(f"for {pair} in {value}:")
        self.blocks += 1
        self.line(f"if type({pair}) is not list: raise Odd")
        self.line(f"{k}, {v} = {pair}")
        self.write_once(key, k, seen)
        self.write(val, v)
        self.flush()
        self.flushed += 1
        self.blocks -= 1

    def write_fields(self, fields: tuple[Field, ...], value: str) -> None:
        shown = sum(1 for f in fields if f.default is None or not f.default.omitted)
        self.line(f"if type({value}) is not dict or len({value}) != {shown}: raise Odd")
        for key, field in zip(field_keys(fields), fields, strict=True):
            const = self.omitted(field)
            if const is not None:
                self.constant(const)
            else:
                self.write(field.type, f"{value}[{key!r}]")

    def write_option(self, node: Option | ZeroableOption | RemainderOption, x: str) -> None:
        item = node.item
        value = self.bind(x)
        self.flush()
        self.line(f"if {value} is None:")
        self.blocks += 1
        match node:
            case Option(_, prefix, fixed):
                self.constant(
                    bytes(prefix.bits // 8)
                    + bytes((self.layouts.fixed_size(item) or 0) if fixed else 0)
                )
            case ZeroableOption(_, zero):
                self.constant(bytes(self.layouts.fixed_size(item) or 0) if zero is None else zero)
        self.flush()
        self.line("pass")
        self.blocks -= 1
        self.line("else:")
        self.blocks += 1
        if self.layouts.nullable(item):
            self.line(f"if type({value}) is not dict or len({value}) != 1: raise Odd")
            inner = self.temp()
            self.line(f"{inner} = {value}['some']")
            value = inner
        if isinstance(node, Option):
            self.constant((1).to_bytes(node.prefix.bits // 8, byte_order(node.prefix)))
        if isinstance(node, ZeroableOption):
            zero = bytes(self.layouts.fixed_size(item) or 0) if node.zero is None else node.zero
            data = self.bytes_of(item, value)
            self.line(f"if {data}.startswith({self.codecs.name(zero, 'const')}): raise Odd")
            self.append(data)
        else:
            self.write(item, value)
        self.flush()
        self.line("pass")
        self.flushed += 1
        self.blocks -= 1

    def write_enum(self, node: Enum, value: str) -> None:
        tags = {
            v.name: i if v.value is None else v.value
            for i, v in reversed(list(enumerate(node.variants)))
        }
        form = number_format(node.tag) if isinstance(node.tag, Int) else None
        if node.variants and all(v.payload is None for v in node.variants):
            if form:
                self.run.append((form, f"{self.codecs.name(Table(tags), 'tags')}[{value}]"))
            else:
                written = Table({name: int_bytes(node.tag, tag) for name, tag in tags.items()})
                self.append(f"{self.codecs.name(written, 'tags')}[{value}]")
            return
        units = {
            v.name: int_bytes(node.tag, tags[v.name])
            for v in reversed(node.variants)
            if v.payload is None
        }
        self.flush()
        self.line(f"if type({value}) is str:")
        self.blocks += 1
        self.append(f"{self.codecs.name(Table(units), 'units')}[{value}]")
        self.blocks -= 1
        self.line("else:")
        self.blocks += 1
        name, payload = self.temp(), self.temp()
        self.line(f"if type({value}) is not dict: raise Odd")
        self.line(f"(({name}, {payload}),) = {value}.items()")
        word = "if"
        done: set[str] = set()
        for variant in node.variants:
            if variant.payload is None or variant.name in done:
                continue
            done.add(variant.name)
            self.line(f"{word} {name} == {variant.name!r}:")
            word = "elif"
            self.blocks += 1
            self.constant(int_bytes(node.tag, tags[variant.name]))
            self.write(variant.payload, payload)
            self.flush()
            self.blocks -= 1
        self.line("else: raise Odd" if word == "elif" else "raise Odd")
        self.flushed += 1
        self.blocks -= 1
