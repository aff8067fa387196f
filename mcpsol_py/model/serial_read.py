"""Readers for the classes of the model, made from their annotations: the way back from serial.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from mcpsol_py.errors import SourceError, abbr
from mcpsol_py.model import program, types
from mcpsol_py.model.serial_shapes import CLASS_OF_TAG, ROWS, TAGS, UNIONS, WORDS, field_shapes
from mcpsol_py.model.serial_values import Budget, mismatch, read_bytes, read_value
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
    origin = get_origin(hint)
    if origin is tuple:
        return _tuple_reader(get_args(hint))
    if origin is Literal:
        return _word_reader(get_args(hint))
    if origin is Union or origin is UnionType:
        return _union_reader(get_args(hint))
    if hint in TAGS:
        return _one_node_reader(hint)
    if not is_dataclass(hint):
        raise TypeError(f"no reader for {hint!r}")  # pragma: no cover  # a new kind of annotation
    kind: Any = hint
    return _row_reader(kind) if kind in ROWS else _record_reader(kind)


# --- scalars ---------------------------------------------------------------------------------------------------------


def _read_text(value: Any, _: Budget) -> str:
    if not isinstance(value, str):
        raise mismatch(value, "text")
    return clean_text(value, MAX_TEXT)


def _read_bool(value: Any, _: Budget) -> bool:
    if not isinstance(value, bool):
        raise mismatch(value, "true or false")
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _read_int(value: Any, _: Budget) -> int:
    if not _is_int(value):
        raise mismatch(value, "a whole number")
    return int(value)


def _read_type_arg(value: Any, budget: Budget) -> types.TypeArg:
    return types.TypeArg(value if _is_int(value) else _node_reader("type")(value, budget))


_SCALARS: dict[Any, ModelReader] = {
    object: read_value,
    Any: read_value,
    str: _read_text,
    bool: _read_bool,
    int: _read_int,
    bytes: lambda value, _: read_bytes(value),
    types.TypeArg: _read_type_arg,
}


def _word_reader(words: tuple[str, ...]) -> ModelReader:
    expected = " or ".join(map(repr, words))

    def read(value: Any, _: Budget) -> Any:
        if not isinstance(value, str) or value not in words:
            raise mismatch(value, expected)
        return value

    return read


# --- tuples ----------------------------------------------------------------------------------------------------------


def _tuple_reader(args: tuple[Any, ...]) -> ModelReader:
    if len(args) == 2 and args[1] is Ellipsis:
        return _list_reader(_lazy(args[0]))
    readers = [_lazy(arg) for arg in args]

    def read(value: Any, budget: Budget) -> Any:
        if not isinstance(value, list) or len(value) != len(readers):
            raise mismatch(value, f"a list of {len(readers)}")
        pairs = zip(readers, value, strict=True)
        return tuple(reader(item, budget) for reader, item in pairs)

    return read


def _list_reader(reader: ModelReader) -> ModelReader:
    def read(value: Any, budget: Budget) -> Any:
        if not isinstance(value, list):
            raise mismatch(value, "a list")
        out = []
        for i, item in enumerate(value):
            try:
                out.append(reader(item, budget))
            except SourceError as error:
                raise error.at(path=f"[{i}]") from None
        return tuple(out)

    return read


def _lazy(hint: Any) -> ModelReader:
    """Return the reader of *hint*, made at its first use, since types contain types."""
    return lambda value, budget: reader_for(hint)(value, budget)


# --- unions ----------------------------------------------------------------------------------------------------------


def _union_reader(args: tuple[Any, ...]) -> ModelReader:
    members = frozenset(args) - {NoneType}
    reader = _required_union_reader(members, args)
    if NoneType not in args:
        return reader
    return lambda value, budget: None if value is None else reader(value, budget)


def _required_union_reader(members: frozenset[Any], args: tuple[Any, ...]) -> ModelReader:
    for name, union in UNIONS.items():
        if members == union:
            return _node_reader(name)
    if members == {program.Account, program.AccountGroup}:
        return _read_account_item
    if len(members) == 1:
        return reader_for(next(iter(members)))
    if types.Generic in members:
        return _read_count
    if members == {types.Int, types.ShortU16} or members == {types.Type, int}:
        return _node_reader("type")
    return _first_reader([reader_for(arg) for arg in args if arg is not NoneType])


def _first_reader(readers: list[ModelReader]) -> ModelReader:
    """The first reader that accepts the value: for `bool | Literal["either"]`."""

    def read(value: Any, budget: Budget) -> Any:
        for reader in readers[:-1]:
            try:
                return reader(value, budget)
            except SourceError:
                continue
        return readers[-1](value, budget)

    return read


def _read_count(value: Any, budget: Budget) -> Any:
    count = value if _is_int(value) else _node_reader("type")(value, budget)
    if isinstance(count, int) and count < 0:
        raise mismatch(value, "a count")
    if not isinstance(count, (int, types.Int, types.ShortU16, types.Generic)):
        raise mismatch(value, "a count")
    return count


def _read_account_item(value: Any, budget: Budget) -> Any:
    is_group = isinstance(value, dict) and "accounts" in value
    return reader_for(program.AccountGroup if is_group else program.Account)(value, budget)


# --- nodes, rows, records --------------------------------------------------------------------------------------------


def _one_node_reader(kind: type) -> ModelReader:
    """Read a node of one class, such as the Int of an enum's tag."""
    union = next(name for name, members in UNIONS.items() if kind in members)

    def read(value: Any, budget: Budget) -> Any:
        node = _node_reader(union)(value, budget)
        if not isinstance(node, kind):
            raise mismatch(value, f"a node {TAGS[kind]!r}")
        return node

    return read


@cache
def _node_reader(union: str) -> ModelReader:
    return _read_type if union == "type" else _tagged_reader(union)


@cache
def _tagged_reader(union: str) -> ModelReader:
    """Read ``[tag, field, …]``."""
    classes = CLASS_OF_TAG[union]

    def read(value: Any, budget: Budget) -> Any:
        tag = value[0] if isinstance(value, list) and value else None
        if not isinstance(tag, str) or tag not in classes:
            raise mismatch(value, f"a {union}")
        return _row_reader(classes[tag])(value[1:], budget)

    return read


def _read_type(value: Any, budget: Budget) -> Any:
    if isinstance(value, str):
        return _read_type_word(value)
    if isinstance(value, list) and len(value) == 2 and value[0] == "vec":
        with budget:
            return types.Array(_read_type(value[1], budget), types.U32)
    return _tagged_reader("type")(value, budget)


def _read_type_word(text: str) -> Any:
    word = WORDS.get(text)
    if word is not None:
        return word
    if text[:1] == "@":
        return types.Link(clean_text(text[1:], MAX_TEXT))
    raise mismatch(text, "a type")


@cache
def _row_reader(kind: Any) -> ModelReader:
    shapes = field_shapes(kind)
    columns = [(shape.name, _lazy(shape.hint)) for shape in shapes]
    required = sum(shape.is_required for shape in shapes)
    expected = f"{required} to {len(shapes)} fields of {kind.__name__}"

    def read(value: Any, budget: Budget) -> Any:
        if not isinstance(value, list) or not required <= len(value) <= len(columns):
            raise mismatch(value, expected)
        out = []
        with budget:
            for item, (name, reader) in zip(value, columns, strict=False):
                try:
                    out.append(reader(item, budget))
                except SourceError as error:
                    raise error.at(path=name) from None
            return kind(*out)

    return read


@cache
def _record_reader(kind: Any) -> ModelReader:
    shapes = field_shapes(kind)
    readers = {shape.name: _lazy(shape.hint) for shape in shapes}
    required = [shape.name for shape in shapes if shape.is_required]

    def read(value: Any, budget: Budget) -> Any:
        if not isinstance(value, dict):
            raise mismatch(value, f"an object ({kind.__name__})")
        for name in required:
            if name not in value:
                raise SourceError(f"{kind.__name__} lacks {name!r}. Add it to the object.")
        out: dict[str, Any] = {}
        with budget:
            for name, item in value.items():
                if name not in readers:
                    raise _unknown_field(kind, name, list(readers))
                try:
                    out[name] = readers[name](item, budget)
                except SourceError as error:
                    raise error.at(path=name) from None
            return kind(**out)

    return read


def _unknown_field(kind: Any, name: str, known: list[str]) -> SourceError:
    return SourceError(
        f"{kind.__name__} has no field {abbr(name)}; a newer version may have written it."
        f" Fields: {', '.join(known)}"
    )
