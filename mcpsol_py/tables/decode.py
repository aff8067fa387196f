"""Reads many accounts, instructions or events into Arrow tables.

A row has what the readers of `mcpsol_py.codec.reading` say of its data: the fields, `rest` (the bytes left over) and
`notes` (missing, odd and left-over parts). Both are null for data that the source explains whole. Data of another
kind have null in every field, all their bytes in `rest` and the reason in `notes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mcpsol_py.codec.compiled import Codecs, as_bytes
from mcpsol_py.codec.discriminator import leading, likely
from mcpsol_py.codec.reading import (
    Kind,
    Known,
    Reading,
    begins_with_tag,
    left_over_notes,
    node_of,
    read_any,
    read_named,
    without_tag,
)
from mcpsol_py.errors import DecodeError, McpsolError, NotUsable, UnknownName
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Discriminator
from mcpsol_py.model.types import BOOL, Field, Struct, Tuple, Type, field_keys
from mcpsol_py.names import by_name
from mcpsol_py.solana.ids import EVENT_CPI_TAG
from mcpsol_py.tables.arrow_types import ArrowTypes
from mcpsol_py.tables.fixed_columns import Block, FixedColumns
from mcpsol_py.tables.value_columns import ValueColumns, map_present

__all__ = ["Rows", "decode", "decode_by_name", "schema", "unique_names", "value_column"]

#: Data of many rows: a list of bytes (None: no data), or an Arrow array of binary.
Rows: TypeAlias = "Sequence[bytes | None] | pa.Array | pa.ChunkedArray"

#: The bytes of one chunk of a table: about what a processor keeps at hand.
_CHUNK_BYTES = 1 << 22
_FEWEST_ROWS, _MOST_ROWS = 256, 65_536
#: The end of a slice that has none. Arrow fails for some arrays if it is left out.
_NO_END = 2**31 - 1
_NOTES = pa.list_(pa.string())
_KINDS = {
    "accounts": "account types",
    "instructions": "instructions",
    "events": "events",
}


def decode(
    codecs: Codecs, kind: str, rows: Rows, name: str | None, *, text: bool
) -> pa.Table:
    """Read *rows* as the account type, instruction or event *name*, a row of the table each.

    *kind* is "accounts", "instructions" or "events". Without *name*, the data must be of one type. *text*: addresses
    and 128-bit integers are strings. Raises UnknownName, and DecodeError for rows of several types.
    """
    known = _known(codecs, kind)
    chunks: Iterable[pa.Array] = _chunks(codecs, kind, rows)
    if name is None:
        chunks = list(chunks)
        one = _only_one(codecs, kind, chunks)
    else:
        one = known[_place(kind, known, name)]
    reader = _TableReader(
        codecs, one, kind, text, read_any if name is None else read_named
    )
    batches = list(map(reader.read, chunks))
    return pa.Table.from_batches(batches, reader.schema)


def decode_by_name(
    codecs: Codecs, kind: str, rows: Rows, *, text: bool
) -> dict[str | None, pa.Table]:
    """Read *rows* of several types into a table for each type, by its name.

    The column `row` is the place in *rows*. Rows of no known type are in the table of None.
    """
    known, first = _known(codecs, kind), 0
    batches: dict[str | None, list[pa.RecordBatch]] = {}
    readers: dict[str | None, _TableReader] = {}
    for chunk in _chunks(codecs, kind, rows):
        places = _places(codecs, kind, chunk)
        for place in np.unique(places).tolist():
            one = [*known, None][place]  # _NONE is the last place
            name = getattr(one, "name", None)
            reader = readers.setdefault(name, _TableReader(codecs, one, kind, text))
            at = np.flatnonzero(places == place)
            batch = reader.read(chunk.take(pa.array(at)), pa.array(at + first))
            batches.setdefault(name, []).append(batch)
        first += len(chunk)
    return {name: pa.Table.from_batches(found) for name, found in batches.items()}


def value_column(
    codecs: Codecs, kind: str, name: str, values: Sequence[Any], *, text: bool
) -> pa.Array | None:
    """Return a struct column of *values*, as readings of this account type, instruction or event have them.

    Returns None if it has no fields.
    """
    known = _known(codecs, kind)
    reader = _TableReader(codecs, known[_place(kind, known, name)], kind, text)
    return None if reader.is_empty else reader.values(values)


def schema(codecs: Codecs, kind: str, name: str, *, text: bool) -> pa.Schema:
    """Return the schema of the table that `decode` makes of this account type, instruction or event."""
    known = _known(codecs, kind)
    return _TableReader(codecs, known[_place(kind, known, name)], kind, text).schema


# --- the rows --------------------------------------------------------------------------------


def _chunks(codecs: Codecs, kind: str, rows: Rows) -> Iterator[pa.Array]:
    """Return the data in arrays of a size that a processor reads fast."""
    parts = rows.chunks if isinstance(rows, pa.ChunkedArray) else [rows]
    arrays = chain.from_iterable(map(_arrays, parts))
    return map(partial(_without_tags, codecs), arrays) if kind == "events" else arrays


def _arrays(rows: Sequence[bytes | None] | pa.Array) -> Iterator[pa.Array]:
    """Yield *rows* as arrays of binary with 64-bit offsets. Raises DecodeError for other values than bytes."""
    if isinstance(rows, pa.Array):
        whole = _as_binary(rows)
        step = _rows_of_a_chunk(whole.nbytes // max(len(whole), 1))
        yield from (whole[start : start + step] for start in range(0, len(whole), step))
        return
    first = as_bytes(next((row for row in rows[:100] if row is not None), b""))
    step = _rows_of_a_chunk(len(first))
    for start in range(0, len(rows), step):
        yield from _halves(_from_list(rows[start : start + step]))


def _rows_of_a_chunk(size: int) -> int:
    """Return how many rows of *size* bytes are a chunk."""
    return min(max(_CHUNK_BYTES // max(size, 1), _FEWEST_ROWS), _MOST_ROWS)


def _as_binary(array: pa.Array) -> pa.Array:
    if not isinstance(
        array, (pa.BinaryArray, pa.LargeBinaryArray, pa.FixedSizeBinaryArray)
    ):
        raise DecodeError(f"expected an array of binary, got one of {array.type}")
    return array.cast(pa.large_binary())


def _from_list(rows: Sequence[bytes | None]) -> pa.Array:
    try:
        return pa.array(rows, pa.large_binary())
    except (pa.ArrowInvalid, pa.ArrowTypeError):  # not bytes, but perhaps like them
        return pa.array(map_present(as_bytes, rows), pa.large_binary())


def _halves(array: pa.Array) -> Iterator[pa.Array]:
    """Yield *array*, in parts if it is far larger than a chunk: rows may have any size."""
    if array.nbytes <= 16 * _CHUNK_BYTES or len(array) == 1:
        yield array
        return
    middle = len(array) // 2
    yield from _halves(array[:middle])
    yield from _halves(array[middle:])


def _without_tags(codecs: Codecs, array: pa.Array) -> pa.Array:
    """Return the data of events without the tag of `emit_cpi!`."""
    events = codecs.model.events
    if any(map(begins_with_tag, events)):
        data = map_present(partial(without_tag, events), array.to_pylist())
        return pa.array(data, pa.large_binary())
    size = len(EVENT_CPI_TAG)
    tagged = pc.equal(
        pc.binary_slice(array, 0, size), pa.scalar(EVENT_CPI_TAG, array.type)
    )
    return pc.if_else(tagged, pc.binary_slice(array, size, _NO_END), array)


# --- what the rows are -----------------------------------------------------------------------


def _known(codecs: Codecs, kind: str) -> Sequence[Kind]:
    known: Sequence[Kind] = getattr(codecs.model, kind)
    return known


def _place(kind: str, known: Sequence[Kind], name: str) -> int:
    names = names_of(known)
    found = by_name(names).get(name)
    if found is None:
        raise UnknownName(_KINDS[kind].removesuffix("s"), name, names)
    return names.index(found)


def _places(codecs: Codecs, kind: str, chunk: pa.Array) -> Any:
    """Return the place in the source of each row's type, _NONE for a row of no known type."""
    known = _known(codecs, kind)
    reach = max(map(_reach, known), default=0)
    heads = _heads(chunk, reach).dictionary_encode()
    by_head = [_place_of(known, head) for head in heads.dictionary.to_pylist()]
    rows = heads.indices.fill_null(len(by_head)).to_numpy()
    places = np.array([*by_head, _NONE])[rows]
    if len(places) < len(chunk):
        places = np.repeat(places, len(chunk))
    for row in np.flatnonzero(places == _SEVERAL).tolist():
        places[row] = _best(codecs, kind, chunk[row].as_py())
    return places


def _place_of(known: Sequence[Kind], head: bytes) -> int:
    """Return the place of the type whose data begin with *head*, _NONE or _SEVERAL."""
    found = likely(known, head)
    several = _SEVERAL if found else _NONE
    return known.index(found[0]) if len(found) == 1 else several


def _heads(chunk: pa.Array, reach: int) -> pa.Array:
    """Return the first *reach* bytes of each row, or only once if all rows begin alike."""
    lengths = _lengths(chunk)
    if len(chunk) and lengths.min() >= reach > 0 and lengths.max() == lengths[0]:
        block = Block(_matrix(chunk, lengths, np.arange(len(chunk)), reach))
        first = chunk[0].as_py()[:reach]
        if block.has(0, first).all():
            return pa.array([first], pa.large_binary())
    return pc.binary_slice(chunk, 0, reach)


#: The place of a row of no known type, and of one whose first bytes leave several types.
_NONE, _SEVERAL = -1, -2


def _best(codecs: Codecs, kind: str, data: bytes) -> int:
    known = _known(codecs, kind)
    try:
        name = read_any(Known(codecs, known, _KINDS[kind]), data).name
    except DecodeError:
        return _NONE
    return names_of(known).index(name)


def _reach(one: Kind) -> int:
    """Return how many bytes the discriminators are in."""
    return max(found.offset + len(found.value) for found in _discriminators(one))


def _discriminators(one: Kind) -> tuple[Discriminator, ...]:
    return (one.discriminator, *getattr(one, "also", ()))


def _only_one(codecs: Codecs, kind: str, chunks: Sequence[pa.Array]) -> Kind:
    """Return what all rows are. Raises DecodeError if they are of several types, or of none."""
    known = _known(codecs, kind)
    if len(known) == 1:
        return known[0]
    counts: Counter[int] = Counter()
    for chunk in chunks:
        places, numbers = np.unique(_places(codecs, kind, chunk), return_counts=True)
        counts.update(dict(zip(places.tolist(), numbers.tolist(), strict=True)))
    counts.pop(_NONE, None)
    if len(counts) == 1:
        return known[counts.popitem()[0]]
    what = ", ".join(
        f"{number:,} {known[place].name}" for place, number in counts.most_common(5)
    )
    raise DecodeError(
        f"expected data of one of the {len(known)} {_KINDS[kind]} of {codecs.model.name}, "
        f"got {what or 'none of them'}. Name the one to read, or decode by type"
    )


# --- one table -------------------------------------------------------------------------------


@dataclass(slots=True)
class _Read:
    """The readings of some rows: a column of their values, the bytes left over, and the notes."""

    values: pa.Array
    rest: pa.Array
    notes: pa.Array

    def __add__(self, other: _Read) -> _Read:
        pairs = zip(self.columns, other.columns, strict=True)
        return _Read(*map(pa.concat_arrays, pairs))

    @property
    def columns(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        return self.values, self.rest, self.notes

    def take(self, rows: Any) -> _Read:
        """Return these rows, in this order."""
        return _Read(*(column.take(pa.array(rows)) for column in self.columns))


class _TableReader:
    """Reads data of one account type, instruction or event (None: of an unknown one) into record batches.

    *read_one* reads a row that is not of the fixed size of the type.
    """

    def __init__(
        self,
        codecs: Codecs,
        one: Kind | None,
        kind: str,
        text: bool,
        read_one: Callable[[Known, bytes], Reading] = read_any,
    ) -> None:
        self.codecs = codecs
        self.one = one
        self.kind = kind
        self.text = text
        self._read_one = read_one
        self._values = ValueColumns(codecs.layouts, text=text)
        self._fixed = FixedColumns(codecs, text=text)

    @cached_property
    def node(self) -> Type:
        """The type of the fields. One that cannot be read has none."""
        try:
            return (
                Struct(())
                if self.one is None
                else self.codecs.codec(node_of(self.one)).node
            )
        except NotUsable:
            return Struct(())

    @cached_property
    def type(self) -> pa.DataType:
        """The Arrow type of the fields together."""
        return ArrowTypes(self.codecs.layouts, text=self.text).visit(self.node)

    @cached_property
    def is_empty(self) -> bool:
        """Whether there are no fields."""
        return isinstance(self.node, (Struct, Tuple)) and not pa.types.is_struct(
            self.type
        )

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema of the table: the fields, `rest` and `notes`. A name that is taken gets a number."""
        nothing = pa.nulls(0, self.type)
        kinds = [column.type for column in self._parts(nothing)]
        keys = (
            [field.name for field in self.type]
            if pa.types.is_struct(self.type)
            else ["value"]
        )
        names = unique_names([*keys[: len(kinds)], "rest", "notes"])
        return pa.schema(zip(names, [*kinds, pa.binary(), _NOTES], strict=True))

    def read(self, chunk: pa.Array, numbers: pa.Array | None = None) -> pa.RecordBatch:
        """Read a chunk. *numbers*: a column `row` to put first."""
        read = (
            self._read_fast(chunk)
            if self._size is not None
            else self._read_slowly(chunk)
        )
        columns = [*self._parts(read.values), read.rest, read.notes]
        if numbers is None:
            return pa.RecordBatch.from_arrays(columns, schema=self.schema)
        names = unique_names(["row", *self.schema.names])
        return pa.RecordBatch.from_arrays([numbers, *columns], names)

    def _parts(self, values: pa.Array) -> list[pa.Array]:
        """Return the columns of the fields."""
        if pa.types.is_struct(self.type):
            return list(values.flatten())
        return [] if self.is_empty else [values]

    @cached_property
    def _candidates(self) -> Known:
        """What the rows may be."""
        known = _known(self.codecs, self.kind) if self.one is None else [self.one]
        return Known(self.codecs, known, _KINDS[self.kind])

    # --- all rows at once --------------------------------------------------------------------

    @cached_property
    def _start(self) -> int:
        """The bytes before the fields."""
        assert self.one is not None
        return len(leading(self.one.name, self.one.discriminator))

    @cached_property
    def _size(self) -> int | None:
        """The bytes that all values take with their discriminators, None if they vary."""
        if (
            self.one is None
            or self.is_empty
            or self.codecs.layouts.moves_cursor(self.node)
        ):
            return None
        try:
            size, start = self.codecs.layouts.fixed_size(self.node), self._start
        except NotUsable:
            return None
        return start + size if size and _reach(self.one) <= start + size else None

    def _read_fast(self, chunk: pa.Array) -> _Read:
        """Read the rows that have the size and the bytes of this type at once, and the others one by one."""
        size = self._size
        assert size is not None
        lengths = _lengths(chunk)
        whole = np.flatnonzero(self._has_size(lengths, size))
        block = Block(_matrix(chunk, lengths, whole, size))
        for one in self._discriminators:
            block.refuse(~block.has(one.offset, one.value))
        values = self._fixed.visit(self.node, block, self._start)
        rest, notes = self._left_over(chunk, lengths, whole, size)
        read = _Read(values, rest, notes)
        if len(whole) == len(chunk) and not block.odd.any():
            return read
        places = np.full(len(chunk), -1)
        places[whole[~block.odd]] = np.flatnonzero(~block.odd)
        others = np.flatnonzero(places < 0)
        places[others] = len(whole) + np.arange(len(others))
        return (read + self._read_slowly(chunk.take(pa.array(others)))).take(places)

    @property
    def _discriminators(self) -> list[Discriminator]:
        assert self.one is not None
        return [found for found in _discriminators(self.one) if found.value]

    def _has_size(self, lengths: Any, size: int) -> Any:
        assert self.one is not None
        exact = self.one.discriminator.size
        return (
            lengths >= size if exact is None else (lengths >= size) & (lengths == exact)
        )

    def _left_over(self, chunk: pa.Array, lengths: Any, rows: Any, size: int) -> Any:
        """Return the bytes after the first *size* of the *rows*, and the notes about them."""
        if not (lengths[rows] > size).any():
            return pa.nulls(len(rows), pa.binary()), pa.nulls(len(rows), _NOTES)
        assert self.one is not None
        found = chunk.take(pa.array(rows)).cast(pa.binary())
        rest = pc.binary_slice(found, size, _NO_END)
        rest = pc.if_else(pc.equal(pc.binary_length(rest), 0), None, rest)
        coded = rest.dictionary_encode()
        each = [
            left_over_notes(self.one.name, one, size)
            for one in coded.dictionary.to_pylist()
        ]
        return rest, pa.array(map(list, each), _NOTES).take(coded.indices)

    # --- row by row --------------------------------------------------------------------------

    def values(self, values: Sequence[Any]) -> pa.Array:
        """Return a column of the values that readings have."""
        return self._values.visit(self.node, values)

    def _read_slowly(self, chunk: pa.Array) -> _Read:
        rows = list(map(self._read_row, chunk.to_pylist()))
        values, rest, notes = zip(*rows, strict=True) if rows else ((), (), ())
        return _Read(
            self.values(values), pa.array(rest, pa.binary()), pa.array(notes, _NOTES)
        )

    def _read_row(
        self, data: bytes | None
    ) -> tuple[Any, bytes | None, list[str] | None]:
        if data is None:
            return None, None, ["expected data, got null"]
        try:
            reading = self._read_one(self._candidates, data)
        except McpsolError as error:
            return None, data, [str(error)]
        return reading.value, reading.rest or None, list(reading.notes) or None


def _lengths(chunk: pa.Array) -> Any:
    """Return the bytes of each row, 0 for null."""
    if chunk.null_count:
        return pc.binary_length(chunk).fill_null(0).to_numpy()
    return np.diff(_offsets(chunk))


def _offsets(chunk: pa.Array) -> Any:
    return np.frombuffer(chunk.buffers()[1], np.int64)[
        chunk.offset : chunk.offset + len(chunk) + 1
    ]


def _matrix(chunk: pa.Array, lengths: Any, rows: Any, size: int) -> Any:
    """Return the first *size* bytes of the *rows* of *chunk*, a row of the matrix each."""
    if not len(rows):
        return np.zeros((0, size), np.uint8)
    width = int(lengths[0])
    if len(rows) < len(chunk) or not (lengths == width).all():
        chunk, width = pc.binary_slice(chunk.take(pa.array(rows)), 0, size), size
    start = int(_offsets(chunk)[0])
    used = np.frombuffer(chunk.buffers()[2], np.uint8)[
        start : start + len(rows) * width
    ]
    return used.reshape(len(rows), width)[:, :size]


def unique_names(names: Any) -> list[str]:
    """Return *names*, with a number added to those that repeat."""
    return list(field_keys(tuple(Field(name, BOOL) for name in names)))
