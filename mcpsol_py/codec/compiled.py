"""The compiled codec: Python functions that are generated once for each type, one to write and one to read.

The functions take plain Python values (int, float, bool, str, bytes, Pubkey, None, list, dict) and
check only what could write a wrong byte: a class here, a length there. Fields of fixed width in a
row become one `struct` call. All other values, and all that are wrong, go to the interpreted codec,
which reads the other forms and writes the errors. The fast code only has to notice them. The source
of every function is kept in `linecache`, so tracebacks and debuggers show it.

    def write(value):                      # {"amount": u64, "owner": pubkey}
        try:
            if type(value) is not dict or len(value) != 2: raise Odd
            v1 = value['amount']
            if type(v1) is not int: raise Odd
            return pack_Q32s(v1, address(value['owner']))
        except NOT_PLAIN: pass
        return interpreted(value)
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
from mcpsol_py.codec.integers import decode_short_u16, encode_short_u16
from mcpsol_py.codec.interpreted import Interpreted
from mcpsol_py.codec.layout import Layouts
from mcpsol_py.codec.read_source import ReaderSource
from mcpsol_py.codec.slots import SlotCounter
from mcpsol_py.codec.source import depth_check
from mcpsol_py.codec.write_source import WriterSource
from mcpsol_py.errors import CodecError, DecodeError, NotUsable
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Type

__all__ = ["Codec", "Codecs", "Data", "as_bytes"]


class _Odd(Exception):
    """Raised by compiled code for a value that is not in the plain form. Never leaves this module."""


#: Exceptions that compiled code may raise for a value or bytes that are not plain. The interpreted
#: codec then takes over.
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

#: The most bytes of return data that a transaction can have.
MAX_RETURN_DATA = 1024

_numbers = counter(1)
_Kept = TypeVar("_Kept")


#: Data to decode: bytes, or a type like them.
Data: TypeAlias = bytes | bytearray | memoryview


def as_bytes(data: object) -> bytes:
    """Return *data* (bytes, bytearray or memoryview) as bytes. Raises DecodeError for other types."""
    if isinstance(data, bytes):
        return data
    if isinstance(data, (bytearray, memoryview)):
        return bytes(data)
    raise DecodeError(f"expected bytes, got {leaf.described(data)}")


def left_over(left: int, end: int, after: str, type_name: str = "") -> DecodeError:
    """Return the error for *left* bytes that follow the end of the *after* ("value") at *end*."""
    why = f"{left} byte{' is' if left == 1 else 's are'} left over after the {after}"
    return DecodeError(
        f"{why}, from offset {end}", offset=end, left=left, type=type_name
    )


class Codec:
    """Encodes and decodes one type. Made by `Codecs.codec`, and compiled at its first use."""

    def __init__(self, codecs: Codecs, node: Type) -> None:
        #: the type as it is compiled: a C layout has explicit padding
        self.node = codecs.layouts.root(node)
        self.type = node
        self._codecs = codecs

    @property
    def fixed_size(self) -> int | None:
        """The number of bytes of every value, or None if it depends on the value."""
        return self._codecs.layouts.fixed_size(self.node)

    def encode(self, value: Any) -> bytes:
        """Return the bytes of *value*, in plain Python or in the JSON forms. Raises EncodeError."""
        self.encode = self._codecs.writer(self.node)  # type: ignore[assignment,method-assign]  # compiled once, then called without detour
        return self.encode(value)

    def encode_json(self, value: Any) -> bytes:
        """Return the bytes of *value*, which came over JSON.

        Numbers that JSON may have changed are refused. Raises EncodeError.
        """
        return self._codecs.interpreted.encode(self.node, value, strict=True)

    def decode(self, data: Data) -> Any:
        """Return the value of *data*. Raises DecodeError, also for bytes that are left over."""
        if type(data) is not bytes:
            data = as_bytes(data)
        value, end = self.decode_from(data)
        if end != len(data):
            raise left_over(len(data) - end, end, "value", type_text(self.type))
        return value

    def decode_from(self, data: Data, offset: int = 0) -> tuple[Any, int]:
        """Return the value at *offset*, and the offset after it. Raises DecodeError."""
        self.decode_from = self._codecs.reader(self.node)  # type: ignore[method-assign]  # as encode
        return self.decode_from(data, offset)

    def decode_return(self, data: Data) -> Any:
        """Return the value of a transaction's return data. Raises DecodeError.

        Validators trim the zeros at its end, so they are put back, up to the 1,024 bytes that return
        data may have. A value that takes all remaining bytes is read without them.
        """
        data = as_bytes(data)
        try:
            return self.decode(data)
        except CodecError as error:
            value, end = self.decode_from(data.ljust(MAX_RETURN_DATA, b"\0"))
            if end < len(data):
                raise error
            return value

    def to_json(self, value: Any) -> Any:
        """Return a value as `decode` returned it, in the JSON forms."""
        return leaf.to_json(self._codecs.layouts, self.node, value)

    def __repr__(self) -> str:
        return f"<Codec {type_text(self.type)}>"


class Codecs:
    """The codecs of one program. Cheap to make, because a type is compiled at its first use."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self.layouts = Layouts(Resolver(model))
        self.slot_counter = SlotCounter(self.layouts)
        self.interpreted = Interpreted(self.layouts)
        self._codecs: dict[Type, Codec] = {}
        self._functions: dict[tuple[str, Type], str] = {}
        self._pending: list[tuple[str, str, Type]] = []
        self._names: dict[object, str] = {}
        self._space: dict[str, Any] = {**_TOOLS, "interpreted": self.interpreted.encode}
        self._kept: dict[object, Any] = {}
        self._lock = RLock()
        self._files: list[str] = []
        weakref.finalize(self, _forget, self._files)

    def codec(self, node: Type) -> Codec:
        """Return the codec of *node*. Raises NotUsable with the reason if it cannot be encoded."""
        found = self._codecs.get(node)
        if found is None:
            found = self._codecs[node] = Codec(self, node)
        return found

    def codec_of(self, kind: str, name: str, node: Type) -> Codec:
        """Return the codec of an instruction, an account or an event. NotUsable then names it."""
        try:
            return self.codec(node)
        except NotUsable as error:
            raise NotUsable(kind, name, error.why) from None

    def kept(self, make: Callable[[Codecs], _Kept]) -> _Kept:
        """Return `make(self)`, made once: for views of one program that are used again and again."""
        found = self._kept.get(make)
        if found is None:
            found = self._kept[make] = make(self)
        kept: _Kept = found
        return kept

    def writer(
        self,
        node: Type,
        *,
        prefix: bytes = b"",
        fallback: Callable[[Any], bytes] | None = None,
    ) -> Callable[[Any], bytes]:
        """Return a function from a value to *prefix* and its bytes.

        The function passes values that are not plain to *fallback*, by default to the interpreted
        codec.
        """
        if fallback is None:

            def fallback(value: Any) -> bytes:
                return prefix + self.interpreted.encode(node, value)

        if self.layouts.moves_cursor(node):
            return fallback
        with self._lock:
            return self._compile_writer(node, prefix, fallback)

    def _compile_writer(
        self, node: Type, prefix: bytes, fallback: Callable[[Any], bytes]
    ) -> Callable[[Any], bytes]:
        source = WriterSource(self)
        source.constant(prefix)
        source.write(node, "value")
        body = source.finish()
        name = f"encode_{next(_numbers)}"
        text = [
            f"def {name}(value):",
            "    try:",
            *(f"        {line}" for line in body),
        ]
        text += [
            "    except NOT_PLAIN: pass",
            f"    return {self.name(fallback, 'interpreted')}(value)",
        ]
        return self._compile(name, text)

    def reader(self, node: Type) -> Callable[..., tuple[Any, int]]:
        """Return a function from bytes and an offset to the value there and the offset after it."""
        with self._lock:
            return self._compile_reader(node)

    def _compile_reader(self, node: Type) -> Callable[..., tuple[Any, int]]:
        source = ReaderSource(self)
        result = source.read(node)
        body = source.finish(result)
        name = f"decode_{next(_numbers)}"
        interpreted = self.interpreted

        def fallback(data: Any, at: int) -> tuple[Any, int]:
            return interpreted.decode(node, as_bytes(data), at)

        text = [
            f"def {name}(d, o=0):",
            "    at, k = o, 0",
            "    try:",
            "        if type(d) is not bytes or o < 0: raise Odd",
        ]
        text += [f"        {line}" for line in body]
        text += [
            "    except NOT_PLAIN: pass",
            f"    return {self.name(fallback, 'interpreted')}(d, at)",
        ]
        return self._compile(name, text)

    # --- for the generators of source (write_source.py, read_source.py) ------------------------

    def name(self, thing: Any, hint: str) -> str:
        """Return the name of *thing* in generated code. Equal things of one hint share a name."""
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
        """Return the name of a method of `struct.Struct(forms)` in generated code."""
        key = (method, forms)
        found = self._names.get(key)
        if found is None:
            label = forms[1:25] if forms[1:].isalnum() else ""
            found = self._names[key] = f"{method}{len(self._names)}_{label}"
            self._space[found] = getattr(struct.Struct(forms), method)
        return found

    def function(self, kind: str, node: Type) -> str:
        """Return the name of a function that writes ("w") or reads ("r") *node*.

        It is compiled together with the function that calls it.
        """
        found = self._functions.get((kind, node))
        if found is None:
            label = "".join(
                c for c in type_text(node)[:24] if c.isascii() and c.isalnum()
            )
            found = self._functions[kind, node] = (
                f"{kind}{len(self._functions)}_{label}"
            )
            self._pending.append((kind, found, node))
        return found

    def _compile(self, name: str, text: list[str]) -> Callable[..., Any]:
        while self._pending:
            kind, function, node = self._pending.pop()
            if kind == "w":
                writer = WriterSource(self)
                writer.write(node, "value", inline=True)
                writer.flush()
                text += [
                    f"def {function}(o, value, k):",
                    *(f"    {line}" for line in depth_check(node) + writer.lines),
                ]
            else:
                reader = ReaderSource(self)
                result = reader.read(node, inline=True)
                text += [
                    f"def {function}(d, o, k):",
                    *(
                        f"    {line}"
                        for line in depth_check(node) + reader.finish(result)
                    ),
                ]
        source = "\n".join(text) + "\n"
        filename = f"<mcpsol_py codec {next(_numbers)}: {name}>"
        linecache.cache[filename] = (
            len(source),
            None,
            source.splitlines(True),
            filename,
        )
        self._files.append(filename)
        exec(compile(source, filename, "exec"), self._space)
        made: Callable[..., Any] = self._space[name]
        return made


def _forget(files: list[str]) -> None:
    """Remove the source of codecs that no longer exist from linecache."""
    for file in files:
        linecache.cache.pop(file, None)


#: Names that generated code may use.
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
