"""Types compiled into straight Python: one function that writes and one that reads, made once for a type, at its
first use.

The functions take the plain forms (int, float, bool, str, bytes, Pubkey, None, list, dict) and check no more than
they must so as not to write a wrong byte: a class here, a length there. Fields of fixed width that follow one another
become one `struct` call. Whatever is not plain, or not right, is left to careful.py, which reads the other forms and
words the errors: the fast code only has to notice. The source of every function is kept in `linecache`, so a
traceback or a debugger shows it.

    def write(value):                      # {"amount": u64, "owner": pubkey}
        try:
            if type(value) is not dict or len(value) != 2: raise Odd
            v1 = value['amount']
            if type(v1) is not int: raise Odd
            return pack_Q32s(v1, address(value['owner']))
        except NOT_PLAIN: pass
        return careful(value)
"""

from __future__ import annotations

import linecache
import struct
import weakref
from collections.abc import Callable
from itertools import count as counter
from threading import RLock
from typing import Any, TypeAlias, TypeVar

from solders.pubkey import Pubkey as Address

from mcpsol_py.codec import json_values as leaf
from mcpsol_py.codec.careful import Careful, decode_short_u16, encode_short_u16
from mcpsol_py.codec.layout import MAX_DEPTH, MAX_EMPTY_ITEMS, Layouts, is_bytes
from mcpsol_py.errors import CodecError, DecodeError, NotUsable, abbr
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
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
    type_text,
)

__all__ = ["Codec", "Codecs", "Data", "as_bytes"]

#: Fixed arrays of up to this many numbers are written out; longer ones become loops.
_INLINE_SLOTS = 32
#: Python allows 20 nested loops in a function; deeper types continue in a function of their own.
_MAX_BLOCKS = 12

_FORMATS = {8: "bB", 16: "hH", 32: "iI", 64: "qQ"}


class _Odd(Exception):
    """What fast code raises when it meets anything but the plain form; never seen outside."""


#: What fast code may stumble with on a value or on bytes that are not plain: then the careful codec looks at them.
NOT_PLAIN = (
    _Odd,
    CodecError,
    struct.error,
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)

_numbers = counter(1)
_Kept = TypeVar("_Kept")


#: What is decoded: bytes, or anything like them.
Data: TypeAlias = bytes | bytearray | memoryview


def as_bytes(data: object) -> bytes:
    """*data* as bytes: bytes, bytearray or memoryview. Raises DecodeError for anything else."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise DecodeError(f"bytes are decoded, not {type(data).__name__} {abbr(data)}")


class Codec:
    """One type, compiled at its first use. Made by Codecs.codec()."""

    def __init__(self, codecs: Codecs, node: Type) -> None:
        #: the type as it is compiled: a C layout has its padding said
        self.node = codecs.layouts.root(node)
        self.type = node
        self._codecs = codecs

    @property
    def fixed_size(self) -> int | None:
        """The bytes that every value takes, or None if that depends on the value."""
        return self._codecs.layouts.fixed_size(self.node)

    def encode(self, value: Any) -> bytes:
        """The bytes of *value*, in plain Python or in the JSON forms. Raises EncodeError."""
        self.encode = self._codecs.writer(self.node)  # type: ignore[assignment,method-assign]  # compiled once, then called without detour
        return self.encode(value)

    def encode_json(self, value: Any) -> bytes:
        """The bytes of *value* as it came over JSON: numbers that JSON may have mangled are refused. Raises
        EncodeError."""
        return self._codecs.careful.encode(self.node, value, strict=True)

    def decode(self, data: Data) -> Any:
        """The value of *data*, all of it. Raises DecodeError, also for bytes that are left over."""
        if type(data) is not bytes:
            data = as_bytes(data)
        value, end = self.decode_from(data)
        if end != len(data):
            left = len(data) - end
            name = type_text(self.type)
            raise DecodeError(
                f"{left} byte{' is' if left == 1 else 's are'} left over after the value, from offset {end}",
                offset=end,
                left=left,
                type=name,
            )
        return value

    def decode_from(self, data: Data, offset: int = 0) -> tuple[Any, int]:
        """The value at *offset*, and the offset behind it. Raises DecodeError."""
        self.decode_from = self._codecs.reader(self.node)  # type: ignore[method-assign]  # as encode
        return self.decode_from(data, offset)

    def decode_return(self, data: Data) -> Any:
        """The value of a transaction's return data, from which validators trim the zeros at the end. Raises
        DecodeError.

        Return data holds at most 1,024 bytes; a value that reads to the end of the data is read without the trimmed
        zeros.
        """
        data = as_bytes(data)
        try:
            return self.decode(data)
        except CodecError as error:
            value, end = self.decode_from(data.ljust(1024, b"\0"))
            if end < len(data):
                raise error
            return value

    def to_json(self, value: Any) -> Any:
        """A value as decode() gives it, in the JSON forms."""
        return leaf.to_json(self._codecs.layouts, self.node, value)

    def __repr__(self) -> str:
        return f"<Codec {type_text(self.type)}>"


class Codecs:
    """The codecs of one program. Cheap to make: a type is compiled when it is first used."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self.layouts = Layouts(Resolver(model))
        self.careful = Careful(self.layouts)
        self._codecs: dict[Type, Codec] = {}
        self._functions: dict[tuple[str, Type], str] = {}
        self._pending: list[tuple[str, str, Type]] = []
        self._names: dict[object, str] = {}
        self._space: dict[str, Any] = {**_TOOLS, "careful": self.careful.encode}
        self._kept: dict[object, Any] = {}
        self._lock = RLock()
        self._files: list[str] = []
        weakref.finalize(self, _forget, self._files)

    def codec(self, node: Type) -> Codec:
        """The codec of *node*. Raises NotUsable if the type cannot be encoded, with the reason."""
        found = self._codecs.get(node)
        if found is None:
            found = self._codecs[node] = Codec(self, node)
        return found

    def kept(self, make: Callable[[Codecs], _Kept]) -> _Kept:
        """What *make* makes of these codecs, made once: the views of one program that are asked over and over."""
        found = self._kept.get(make)
        if found is None:
            found = self._kept[make] = make(self)
        kept: _Kept = found
        return kept

    def writer(
        self, node: Type, *, prefix: bytes = b"", careful: Callable[[Any], bytes] | None = None
    ) -> Callable[[Any], bytes]:
        """A function from a value to its bytes, with *prefix* before them. *careful* takes what is not plain."""
        fallback = careful or (lambda value: prefix + self.careful.encode(node, value))
        if self.layouts.moves_cursor(node):
            return fallback
        with self._lock:
            return self._compile_writer(node, prefix, fallback)

    def _compile_writer(self, node: Type, prefix: bytes, fallback: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        source = _Writer(self)
        source.constant(prefix)
        source.write(node, "value")
        body = source.finish()
        name = f"encode_{next(_numbers)}"
        text = [f"def {name}(value):", "    try:", *(f"        {line}" for line in body)]
        text += ["    except NOT_PLAIN: pass", f"    return {self.name(fallback, 'careful')}(value)"]
        return self._compile(name, text)

    def reader(self, node: Type) -> Callable[..., tuple[Any, int]]:
        """A function from bytes and an offset to the value there and the offset behind it."""
        with self._lock:
            return self._compile_reader(node)

    def _compile_reader(self, node: Type) -> Callable[..., tuple[Any, int]]:
        source = _Reader(self)
        result = source.read(node)
        body = source.finish(result)
        name = f"decode_{next(_numbers)}"
        careful = self.careful

        def fallback(data: Any, at: int) -> tuple[Any, int]:
            return careful.decode(node, as_bytes(data), at)

        text = [
            f"def {name}(d, o=0):",
            "    at, k = o, 0",
            "    try:",
            "        if type(d) is not bytes or o < 0: raise Odd",
        ]
        text += [f"        {line}" for line in body]
        text += ["    except NOT_PLAIN: pass", f"    return {self.name(fallback, 'careful')}(d, at)"]
        return self._compile(name, text)

    # --- for the writers of source below -----------------------------------------------------------------------------

    def name(self, thing: Any, hint: str) -> str:
        """The name under which generated code finds *thing*. Equal things of one hint share it."""
        try:
            key: object = (hint, type(thing), thing)
            hash(key)
        except TypeError:
            key = (hint, id(thing))
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = f"{hint}_{len(self._names)}"
            self._space[found] = thing
        return found

    def layout(self, forms: str, method: str) -> str:
        """The name of a method of `struct.Struct(forms)`."""
        key = (method, forms)
        found = self._names.get(key)
        if found is None:
            label = forms[1:25] if forms[1:].isalnum() else ""
            found = self._names[key] = f"{method}{len(self._names)}_{label}"
            self._space[found] = getattr(struct.Struct(forms), method)
        return found

    def function(self, kind: str, node: Type) -> str:
        """The name of a function that writes ("w") or reads ("r") *node*; it is compiled along with whoever asks."""
        found = self._functions.get((kind, node))
        if found is None:
            label = "".join(c for c in type_text(node)[:24] if c.isascii() and c.isalnum())
            found = self._functions[kind, node] = f"{kind}{len(self._functions)}_{label}"
            self._pending.append((kind, found, node))
        return found

    def _compile(self, name: str, text: list[str]) -> Callable[..., Any]:
        while self._pending:
            kind, function, node = self._pending.pop()
            if kind == "w":
                writer = _Writer(self)
                writer.write(node, "value", inline=True)
                writer.flush()
                text += [
                    f"def {function}(o, value, k):",
                    *(f"    {line}" for line in _depth_check(node) + writer.lines),
                ]
            else:
                reader = _Reader(self)
                result = reader.read(node, inline=True)
                text += [
                    f"def {function}(d, o, k):",
                    *(f"    {line}" for line in _depth_check(node) + reader.finish(result)),
                ]
        source = "\n".join(text) + "\n"
        filename = f"<mcpsol_py codec {next(_numbers)}: {name}>"
        linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
        self._files.append(filename)
        exec(compile(source, filename, "exec"), self._space)
        made: Callable[..., Any] = self._space[name]
        return made


def _forget(files: list[str]) -> None:
    """Takes the source of codecs that are gone out of linecache."""
    for file in files:
        linecache.cache.pop(file, None)


def _depth_check(node: Type) -> list[str]:
    return [f"if k > {MAX_DEPTH}: raise Odd"] if isinstance(node, Link) else []


class _Source:
    """Lines of a function body, with indentation and fresh names."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self.layouts = codecs.layouts
        self.lines: list[str] = []
        self.blocks = 0
        self._temps = counter(1)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.blocks + text)

    def temp(self, hint: str = "v") -> str:
        return f"{hint}{next(self._temps)}"

    def expand(self, link: Link) -> Type:
        return self.layouts.resolver.expand(link)[1]

    def slots(self, node: Type) -> int | None:
        """How many numbers of a struct format *node* is, or None if it is no run of fixed widths."""
        match node:
            case Int() | Float() | Bool() | Pubkey() | Amount() | DateTime():
                return 1
            case Array(item, int(count)) if is_bytes(node):
                return 1
            case Array(item, int(count)):
                each = self.slots(item)
                total = None if each is None else each * count
                return total if total is not None and total <= _INLINE_SLOTS else None
            case Tuple(items):
                return self._sum(items)
            case Struct(fields):
                if any(f.default is not None and f.default.omitted for f in fields):
                    return None
                return self._sum(tuple(f.type for f in fields))
            case Enum(variants, Int()):
                return 1 if variants and all(v.payload is None for v in variants) else None
            case HiddenPrefix(item, _) | HiddenSuffix(item, _):
                return _add_one(self.slots(item))
            case Offset(item, amount, _, "padded") if amount >= 0:
                return self.slots(item)
            case Link():
                body = self.expand(node)
                slots = None if isinstance(body, Link) else self.slots(body)
                return slots if slots is not None and slots <= 2 * _INLINE_SLOTS else None
            case _:
                return None

    def _sum(self, nodes: tuple[Type, ...]) -> int | None:
        total = 0
        for node in nodes:
            slots = self.slots(node)
            if slots is None:
                return None
            total += slots
        return total

    def omitted(self, field: Field) -> bytes | None:
        """The bytes of a field that values neither show nor take."""
        if field.default is None or not field.default.omitted:
            return None
        return self.codecs.careful.encode(field.type, field.default.value)


def _add_one(slots: int | None) -> int | None:
    return None if slots is None else slots + 1


def _format(node: Int | Float) -> str | None:
    """The struct format of a little-endian number of up to 64 bits."""
    if node.big_endian and node.bits > 8:
        return None
    if isinstance(node, Float):
        return "f" if node.bits == 32 else "d"
    return _FORMATS[node.bits][not node.signed] if node.bits in _FORMATS else None


def _order(node: Int | Float) -> str:
    return "big" if node.big_endian else "little"


class _Writer(_Source):
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
                self.line(f"if not ({' is '.join(f'type({n})' for n in names)} is {kind}): raise Odd")
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
            self.codecs.name(a, "const") if isinstance(a, bytes) else a for form, a in run if not form.endswith("x")
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
        if self.blocks > _MAX_BLOCKS and self.slots(node) is None:
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
                form = _format(size)
                self.run.append(
                    (form, value) if form else (f"{size.bits // 8}s", f"{value}.to_bytes({size.bits // 8}, 'big')")
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
                    self.line(f"if len({value}) != {count}: raise Odd")  # pack refuses all but bytes
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
                self.line(f"if type({value}) is not list or len({value}) != {len(items)}: raise Odd")
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
        form = _format(node)
        if form:
            self.run.append((form, value))
        elif isinstance(node, Int):
            size = node.bits // 8
            self.run.append((f"{size}s", f"{value}.to_bytes({size}, {_order(node)!r}{', signed=True' * node.signed})"))
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
            self.line(f"{data} = careful({self.codecs.name(item, 'type')}, {x})")
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
        form = _format(prefix)
        size = prefix.bits // 8
        self.run.append(
            (form, f"len({of})") if form else (f"{size}s", f"len({of}).to_bytes({size}, {_order(prefix)!r})")
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
        form = _format(number) if number and isinstance(node, Array) else None
        if form:
            self.check(f"all {'int' if isinstance(item, Int) else 'float'}", value)
            if isinstance(count, int):
                self.run.append((f"{count}{form}", f"*{value}"))
            else:
                self.append(f"pack(f'<{{len({value})}}{form}', *{value})")
            return
        slots = self.slots(item)
        if isinstance(node, Array) and isinstance(count, int) and slots is not None and slots * count <= _INLINE_SLOTS:
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
                self.constant(bytes(prefix.bits // 8) + bytes((self.layouts.fixed_size(item) or 0) if fixed else 0))
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
            self.constant((1).to_bytes(node.prefix.bits // 8, _order(node.prefix)))  # type: ignore[arg-type]  # big or little
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
        tags = {v.name: i if v.value is None else v.value for i, v in reversed(list(enumerate(node.variants)))}
        form = _format(node.tag) if isinstance(node.tag, Int) else None
        if node.variants and all(v.payload is None for v in node.variants):
            if form:
                self.run.append((form, f"{self.codecs.name(_Table(tags), 'tags')}[{value}]"))
            else:
                written = _Table({name: _tag_bytes(node.tag, tag) for name, tag in tags.items()})
                self.append(f"{self.codecs.name(written, 'tags')}[{value}]")
            return
        units = {v.name: _tag_bytes(node.tag, tags[v.name]) for v in reversed(node.variants) if v.payload is None}
        self.flush()
        self.line(f"if type({value}) is str:")
        self.blocks += 1
        self.append(f"{self.codecs.name(_Table(units), 'units')}[{value}]")
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
            self.constant(_tag_bytes(node.tag, tags[variant.name]))
            self.write(variant.payload, payload)
            self.flush()
            self.blocks -= 1
        self.line("else: raise Odd" if word == "elif" else "raise Odd")
        self.flushed += 1
        self.blocks -= 1


class _Reader(_Source):
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
                    part = f"{whole}[{start}]" if numbers == 1 else f"list({whole}[{start}:{start + numbers}])"
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
        if self.blocks > _MAX_BLOCKS and self.slots(node) is None:
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
        self.line(f"{name}, {self.at} = {self.codecs.function('r', node)}({self.data}, {self.at}, {depth})")
        return name

    def text(self, node: String | Bytes, data: str) -> str:
        """The expression that makes a value of the bytes *data*."""
        if isinstance(node, Bytes):
            return data
        return f"{data}.decode()" if node.encoding == "utf8" else f"text_of({node.encoding!r}, {data})"

    def read_number(self, node: Int | Float) -> str:
        form = _format(node)
        if form:
            return self.take(form)
        size = node.bits // 8
        if isinstance(node, Int):
            return f"number({self.take(f'{size}s')}, {_order(node)!r}{', signed=True' * node.signed})"
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
        form = _format(number) if number else None
        if form and isinstance(count, int):
            if count == 0:
                return "[]"
            name = self.take(f"{count}{form}", "v", count)
            if count == 1:
                return f"[{name}]"
            return name
        slots = self.slots(item)
        if isinstance(count, int) and slots is not None and slots * count <= _INLINE_SLOTS:
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
            name = self.bind(f"list(unpack(f'<{{{many}}}{form}', {self.data}[{self.at}:{self.at} + {many} * {size}]))")
            self.line(f"{self.at} += {many} * {size}")
            return name
        values, one = self.temp(), self.temp("i")
        if count is not None and size and slots is not None:
            inner = _Reader(self.codecs)
            inner._temps = self._temps
            expression = inner.read(item)
            named = [name for _, name, _ in inner.run if name]
            if not inner.lines and not inner.checks and named and all(n <= 1 for _, _, n in inner.run):
                forms = "<" + "".join(f for f, _, _ in inner.run)
                unpack = self.codecs.layout(forms, "iter_unpack")
                part = f"{self.data}[{self.at}:{self.at} + {many} * {size}]"
                self.line(f"{values} = [{expression} for {', '.join(named)}, in {unpack}({part})]")
                self.line(f"{self.at} += {many} * {size}")
                return values
        self.line(f"{values} = []")
        self.line(f"for {one} in range({many}):" if count is not None else f"while {self.at} < {self.end}:")
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
                self.line(f"if {self.data}.startswith({self.codecs.name(zero, 'const')}, {self.at}):")
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
        self.line(f"{result} = {{'some': {value}}}" if self.layouts.nullable(item) else f"{result} = {value}")
        self.blocks -= 1
        if isinstance(node, Option):
            self.line("else: raise Odd")
        return result

    def read_enum(self, node: Enum) -> str:
        tags: dict[int, int] = {}
        for index, variant in enumerate(node.variants):
            tags.setdefault(index if variant.value is None else variant.value, index)
        if node.variants and all(v.payload is None for v in node.variants) and isinstance(node.tag, Int):
            names = {tag: node.variants[index].name for tag, index in tags.items()}
            return f"{self.codecs.name(_Table(names), 'variants')}[{self.read_number(node.tag)}]"
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


class _Table(dict[Any, Any]):
    """A dict that generated code looks up; known by its content."""

    def __hash__(self) -> int:  # type: ignore[override]  # never changed once it is named
        return hash(tuple(self.items()))


def _tag_bytes(tag: Int | ShortU16, number: int) -> bytes:
    if isinstance(tag, ShortU16):
        return encode_short_u16(number)
    return number.to_bytes(tag.bits // 8, "big" if tag.big_endian else "little", signed=tag.signed)


#: What generated code may call.
_TOOLS: dict[str, Any] = {
    "Address": Address.from_bytes,
    "BOOLS": {0: False, 1: True},
    "NOT_PLAIN": NOT_PLAIN,
    "Odd": _Odd,
    "address": Address.__bytes__,
    "floatS": frozenset({float}),
    "intS": frozenset({int}),
    "number": int.from_bytes,
    "pack": struct.pack,
    "short": encode_short_u16,
    "text_bytes": leaf.text_bytes,
    "text_of": leaf.text_of,
    "unpack": struct.unpack,
    "unshort": decode_short_u16,
}
