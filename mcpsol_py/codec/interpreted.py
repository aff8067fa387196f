"""The interpreted codec: walks a type to encode or decode one value, and explains errors.

It reads every form of a value: plain Python, JSON, names in another case style, arguments with a
default. Errors have the path in the value, the type, the expected and the found form.

compiled.py is the fast codec. It handles plain Python values only and leaves all others to this one.
Both give the same bytes; tests compare them.
"""

from __future__ import annotations

from typing import Any

from mcpsol_py.codec.interpreted_read import InterpretedReader
from mcpsol_py.codec.interpreted_write import InterpretedWriter, encode_interpreted
from mcpsol_py.codec.layout import Layouts
from mcpsol_py.errors import DecodeError, EncodeError
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Field, Type

__all__ = ["Interpreted"]


class Interpreted:
    """Encodes and decodes values of one program by walking their types. Holds no state between calls."""

    def __init__(self, layouts: Layouts) -> None:
        self.layouts = layouts

    def encode(self, node: Type, value: object, *, strict: bool = False) -> bytes:
        """Return the bytes of *value*.

        *strict*: the value came over JSON, so text is read as what the type expects and numbers
        that JSON may have changed are refused. Raises EncodeError.
        """
        try:
            return encode_interpreted(self.layouts, node, value, strict=strict)
        except RecursionError:
            raise EncodeError(
                "the value nests too deep", type=type_text(node)
            ) from None

    def encode_arguments(
        self, arguments: tuple[Field, ...], values: object, *, strict: bool = False
    ) -> bytes:
        """Return the bytes of *values*, an object of *arguments* by name. Raises EncodeError."""
        writer = InterpretedWriter(self.layouts, strict=strict)
        writer.write_fields(arguments, values, "argument")
        return bytes(writer.out.data)

    def decode(self, node: Type, data: bytes, offset: int = 0) -> tuple[Any, int]:
        """Return the value at *offset*, and the offset after it. Raises DecodeError."""
        try:
            return InterpretedReader(self.layouts, data).visit(node, offset)
        except RecursionError:
            raise DecodeError(
                "the data nests too deep", offset=offset, type=type_text(node)
            ) from None
