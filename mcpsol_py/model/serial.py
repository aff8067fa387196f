"""The whole model as plain JSON values and back, without loss (docs/wire.md, "The model as JSON").

serial_shapes.py describes the shapes of the classes, serial_read.py reads them. Trailing fields of
nodes and rows, and any field of a record, are left out if they have their default. Bytes are
lower-case hex. Text is cleaned when it is read, as all text from a stranger (names.clean_text).
Fields that do not take part in comparisons (the origin of the model) are not written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from mcpsol_py.model import types
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial_read import MAX_TEXT, reader_for
from mcpsol_py.model.serial_shapes import ROWS, TAGS, WORD_OF, WORDS, field_shapes
from mcpsol_py.model.serial_values import MAX_DEPTH, MAX_ITEMS, Budget, write_value
from mcpsol_py.model.types import Type

__all__ = [
    "MAX_DEPTH",
    "MAX_ITEMS",
    "MAX_TEXT",
    "WORDS",
    "from_json",
    "model_from_json",
    "model_to_json",
    "to_json",
    "type_from_json",
    "type_to_json",
]

T = TypeVar("T")


def model_to_json(model: ProgramModel) -> dict[str, Any]:
    """Return the model as JSON values (docs/wire.md). `model_from_json` is the inverse."""
    return cast("dict[str, Any]", to_json(model))


def type_to_json(node: Type) -> Any:
    """Return one type as JSON values: a word, or a list that starts with its tag."""
    return to_json(node)


def model_from_json(value: Any) -> ProgramModel:
    """Return the model that `model_to_json` wrote.

    Refuses keys and fields that this version does not know: a model is read whole or not at all.
    Raises SourceError with the path of the value that does not fit.
    """
    return from_json(ProgramModel, value)


def type_from_json(value: Any) -> Type:
    """Return the type that `type_to_json` wrote. Raises SourceError."""
    return cast(Type, reader_for(Type)(value, Budget()))


def from_json(kind: type[T], value: Any) -> T:
    """Return an object of *kind*, a class of the model.

    Raises SourceError with the path of the value that does not fit.
    """
    hint: Any = kind
    return cast(T, reader_for(hint)(value, Budget()))


def to_json(value: Any) -> Any:
    """Return any class of the model, or a tuple of them, as JSON values."""
    return _WRITERS[type(value)](value)


# --- one writer per class --------------------------------------------------------------------------------------------


def _as_is(value: Any) -> Any:
    return value


def _write_tuple(value: tuple[Any, ...]) -> Any:
    return list(map(to_json, value))


def _write_link(node: types.Link) -> Any:
    if node.args:
        return _write_node(node)
    return f"@{node.name}"


def _write_array(node: types.Array) -> Any:
    if node.count == types.U32:
        return ["vec", to_json(node.item)]
    return _write_node(node)


def _write_node(node: Any) -> Any:
    return [TAGS[type(node)], *_write_row(node)]


def _write_node_or_word(node: Any) -> Any:
    return WORD_OF.get(node) or _write_node(node)


def _write_row(value: Any) -> list[Any]:
    out: list[Any] = []
    written = 0
    kind: Any = type(value)
    for shape in field_shapes(kind):
        item = getattr(value, shape.name)
        write = write_value if shape.is_free else to_json
        out.append(write(item))
        if not shape.is_default(item):
            written = len(out)
    return out[:written]


def _write_record(value: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    kind: Any = type(value)
    for shape in field_shapes(kind):
        item = getattr(value, shape.name)
        if item is shape.default or shape.is_default(item):
            continue
        write = write_value if shape.is_free else to_json
        out[shape.name] = write(item)
    return out


class _Writers(dict[type, Callable[[Any], Any]]):
    """The writer of each class, chosen at its first use."""

    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        writer = self[kind] = _choose_writer(kind)
        return writer


def _choose_writer(kind: type) -> Callable[[Any], Any]:
    if kind in _KINDS_OF_WORDS:
        return _write_node_or_word
    if kind in TAGS:
        return _write_node
    if kind in ROWS:
        return _write_row
    return _write_record


_KINDS_OF_WORDS = frozenset(map(type, WORDS.values()))

_WRITERS = _Writers(
    {
        str: _as_is,
        int: _as_is,
        bool: _as_is,
        type(None): _as_is,
        tuple: _write_tuple,
        bytes: bytes.hex,
        types.TypeArg: lambda arg: to_json(arg.value),
        types.Link: _write_link,
        types.Array: _write_array,
    }
)
