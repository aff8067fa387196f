"""Readers for the classes of the model, made from their annotations: the way back from serial.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model import program, types
from mcpsol_py.model.serial_shapes import (
    CLASS_OF_TAG,
    ROWS,
    TAGS,
    UNIONS,
    WORDS,
    FieldShape,
    field_shapes,
)
from mcpsol_py.model.serial_values import (
    Budget,
    expect,
    mismatch,
    read_bytes,
    read_value,
)
from mcpsol_py.names import clean_text

__all__ = ["MAX_TEXT", "reader_for"]

#: The longest text (a name, a line of docs) that is read whole, in characters.
MAX_TEXT = 65_536

#: Turns a JSON value into an object of the model, within a budget. Raises SourceError.
ModelReader = Callable[[Any, Budget], Any]


@cache
def reader_for(hint: Any) -> ModelReader:
    """Return the reader of values with the annotation *hint*."""
    if hint in _SCALARS:
        return _SCALARS[hint]
    if hint in TAGS:
        return _OneNodeReader(hint)
    if hint in ROWS:
        return _row_reader(hint)
    make = _READERS_OF_COMPOSITES.get(get_origin(hint))
    if make is not None:
        return make(get_args(hint))
    if not is_dataclass(hint):
        raise TypeError(
            f"no reader for {hint!r}"
        )  # pragma: no cover  # a new kind of annotation
    return _RecordReader(hint)


# --- scalars ---------------------------------------------------------------------------------------------------------


def _read_text(value: Any, _: Budget) -> str:
    return clean_text(expect(str, value, "text"), MAX_TEXT)


def _read_bool(value: Any, _: Budget) -> bool:
    return expect(bool, value, "true or false")


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_int(value: Any, _: Budget) -> int:
    if not _is_int(value):
        raise mismatch(value, "a whole number")
    return int(value)


def _read_type_arg(value: Any, budget: Budget) -> types.TypeArg:
    return types.TypeArg(_read_int_or_type(value, budget))


def _read_int_or_type(value: Any, budget: Budget) -> Any:
    if _is_int(value):
        return value
    return _read_type(value, budget)


_SCALARS: dict[Any, ModelReader] = {
    object: read_value,
    Any: read_value,
    str: _read_text,
    bool: _read_bool,
    int: _read_int,
    bytes: lambda value, _: read_bytes(value),
    types.TypeArg: _read_type_arg,
}


class _WordReader:
    """Reads one of the words of a Literal."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self.words = words
        self.expected = " or ".join(map(repr, words))

    def __call__(self, value: Any, _: Budget) -> Any:
        if not isinstance(value, str) or value not in self.words:
            raise mismatch(value, self.expected)
        return value


# --- tuples ----------------------------------------------------------------------------------------------------------


def _tuple_reader(args: tuple[Any, ...]) -> ModelReader:
    if args[1:] == (Ellipsis,):
        return _ListReader(_LazyReader(args[0]))
    return _TupleReader(list(map(_LazyReader, args)))


class _TupleReader:
    """Reads a list with one item for each reader."""

    def __init__(self, readers: list[ModelReader]) -> None:
        self.readers = readers

    def __call__(self, value: Any, budget: Budget) -> Any:
        if not isinstance(value, list) or len(value) != len(self.readers):
            raise mismatch(value, f"a list of {len(self.readers)}")
        pairs = zip(self.readers, value, strict=True)
        return tuple(reader(item, budget) for reader, item in pairs)


class _ListReader:
    """Reads a list of any length."""

    def __init__(self, reader: ModelReader) -> None:
        self.reader = reader

    def __call__(self, value: Any, budget: Budget) -> Any:
        expect(list, value, "a list")
        out = []
        for i, item in enumerate(value):
            try:
                out.append(self.reader(item, budget))
            except SourceError as error:
                raise error.at(path=f"[{i}]") from None
        return tuple(out)


class _LazyReader:
    """Reads values with an annotation. Finds the reader at its first use, since types contain types."""

    __slots__ = ("hint", "read")

    def __init__(self, hint: Any) -> None:
        self.hint = hint
        self.read: ModelReader = self._first_read

    def __call__(self, value: Any, budget: Budget) -> Any:
        return self.read(value, budget)

    def _first_read(self, value: Any, budget: Budget) -> Any:
        self.read = reader_for(self.hint)
        return self.read(value, budget)


# --- unions ----------------------------------------------------------------------------------------------------------

#: The unions of nodes by their members.
_NODE_UNIONS: dict[frozenset[Any], str] = {
    members: name for name, members in UNIONS.items()
}
_NODE_UNIONS[frozenset({types.Int, types.ShortU16})] = "type"

_ACCOUNT_ITEM = frozenset({program.Account, program.AccountGroup})


def _union_reader(args: tuple[Any, ...]) -> ModelReader:
    members = [arg for arg in args if arg is not NoneType]
    reader = _required_union_reader(members)
    return reader if len(members) == len(args) else _NullableReader(reader)


class _NullableReader:
    """Reads null or a value."""

    def __init__(self, reader: ModelReader) -> None:
        self.reader = reader

    def __call__(self, value: Any, budget: Budget) -> Any:
        if value is None:
            return None
        return self.reader(value, budget)


def _required_union_reader(members: list[Any]) -> ModelReader:
    union = _NODE_UNIONS.get(frozenset(members))
    if union is not None:
        return _node_reader(union)
    if _ACCOUNT_ITEM.issuperset(members):
        return _read_account_item
    if types.Generic in members:
        return _read_count
    readers = list(map(reader_for, members))
    return readers[0] if len(readers) == 1 else _FirstReader(readers)


class _FirstReader:
    """The first reader that accepts the value: for `bool | Literal["either"]`."""

    def __init__(self, readers: list[ModelReader]) -> None:
        self.readers = readers

    def __call__(self, value: Any, budget: Budget) -> Any:
        for reader in self.readers[:-1]:
            try:
                return reader(value, budget)
            except SourceError:
                continue
        return self.readers[-1](value, budget)


def _read_count(value: Any, budget: Budget) -> Any:
    count = _read_int_or_type(value, budget)
    is_negative = isinstance(count, int) and count < 0
    if is_negative or not isinstance(
        count, (int, types.Int, types.ShortU16, types.Generic)
    ):
        raise mismatch(value, "a count")
    return count


def _read_account_item(value: Any, budget: Budget) -> Any:
    is_group = isinstance(value, dict) and "accounts" in value
    return reader_for(program.AccountGroup if is_group else program.Account)(
        value, budget
    )


_READERS_OF_COMPOSITES: dict[Any, Callable[[tuple[Any, ...]], ModelReader]] = {
    tuple: _tuple_reader,
    Literal: _WordReader,
    Union: _union_reader,
    UnionType: _union_reader,
}


# --- nodes -----------------------------------------------------------------------------------------------------------


class _OneNodeReader:
    """Reads a node of one class, such as the Int of an enum's tag."""

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self.union = next(name for name, members in UNIONS.items() if kind in members)

    def __call__(self, value: Any, budget: Budget) -> Any:
        node = _node_reader(self.union)(value, budget)
        if not isinstance(node, self.kind):
            raise mismatch(value, f"a node {TAGS[self.kind]!r}")
        return node


@cache
def _node_reader(union: str) -> ModelReader:
    return _read_type if union == "type" else _TaggedReader(union)


class _TaggedReader:
    """Reads ``[tag, field, …]``."""

    def __init__(self, union: str) -> None:
        self.union = union
        self.classes = CLASS_OF_TAG[union]

    def __call__(self, value: Any, budget: Budget) -> Any:
        if not isinstance(value, list):
            raise mismatch(value, f"a {self.union}")
        tag, *members = value or [None]
        if not isinstance(tag, str) or tag not in self.classes:
            raise mismatch(value, f"a {self.union}")
        return _row_reader(self.classes[tag])(members, budget)


_read_tagged_type = _TaggedReader("type")


def _read_type(value: Any, budget: Budget) -> Any:
    if isinstance(value, str):
        return _read_type_word(value)
    if isinstance(value, list) and len(value) == 2 and value[0] == "vec":
        with budget:
            return types.Array(_read_type(value[1], budget), types.U32)
    return _read_tagged_type(value, budget)


def _read_type_word(text: str) -> Any:
    word = WORDS.get(text)
    if word is not None:
        return word
    if text[:1] == "@":
        return types.Link(clean_text(text[1:], MAX_TEXT))
    raise mismatch(text, "a type")


# --- rows and records ------------------------------------------------------------------------------------------------


class _MemberReader(_LazyReader):
    """Reads one field of a class. Errors get its name in their path."""

    __slots__ = ("name",)

    def __init__(self, shape: FieldShape) -> None:
        super().__init__(shape.hint)
        self.name = shape.name

    def __call__(self, value: Any, budget: Budget) -> Any:
        try:
            return self.read(value, budget)
        except SourceError as error:
            raise error.at(path=self.name) from None


class _RowReader:
    """Reads ``[field, field, …]``."""

    def __init__(self, kind: Any) -> None:
        shapes = field_shapes(kind)
        self.kind = kind
        self.members = list(map(_MemberReader, shapes))
        self.required = sum(shape.is_required for shape in shapes)
        self.expected = f"{self.required} to {len(shapes)} fields of {kind.__name__}"

    def __call__(self, value: Any, budget: Budget) -> Any:
        if not isinstance(value, list) or not self.required <= len(value) <= len(
            self.members
        ):
            raise mismatch(value, self.expected)
        pairs = zip(self.members, value, strict=False)
        with budget:
            return self.kind(*[read(item, budget) for read, item in pairs])


@cache
def _row_reader(kind: Any) -> ModelReader:
    return _RowReader(kind)


class _RecordReader:
    """Reads an object of fields."""

    def __init__(self, kind: Any) -> None:
        shapes = field_shapes(kind)
        self.kind = kind
        self.members = {shape.name: _MemberReader(shape) for shape in shapes}
        self.required = [shape.name for shape in shapes if shape.is_required]

    def __call__(self, value: Any, budget: Budget) -> Any:
        if not isinstance(value, dict):
            raise mismatch(value, f"an object ({self.kind.__name__})")
        self._check_names(value)
        with budget:
            out = {
                name: self.members[name](item, budget) for name, item in value.items()
            }
            return self.kind(**out)

    def _check_names(self, value: dict[str, Any]) -> None:
        kind = self.kind.__name__
        for name in self.required:
            if name not in value:
                raise SourceError(f"{kind} lacks {name!r}. Add it to the object.")
        for name in value:
            if name not in self.members:
                raise SourceError(
                    f"{kind} has no field {abbr(name)}; a newer version may have written it."
                    f" Fields: {', '.join(self.members)}"
                )
