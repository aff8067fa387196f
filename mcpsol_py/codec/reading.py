"""Readings of instruction data, accounts and events that landed: the value, and notes on unexplained bytes.

`decode_*` are strict, for data that this program wrote or is about to sign. Readings are for data that others wrote,
with other versions of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from mcpsol_py.codec.account import account_named
from mcpsol_py.codec.compiled import Codec, Codecs, Data, as_bytes
from mcpsol_py.codec.discriminator import Likely, leading, likely
from mcpsol_py.codec.lenient_read import LenientJson, LenientReader
from mcpsol_py.errors import CodecError, DecodeError, NotUsable
from mcpsol_py.model.fast_init import quicken
from mcpsol_py.model.program import AccountType, Discriminator, Event, Instruction
from mcpsol_py.model.types import Struct, Type
from mcpsol_py.solana.ids import EVENT_CPI_TAG

__all__ = [
    "Kind",
    "Known",
    "Reading",
    "begins_with_tag",
    "left_over_notes",
    "node_of",
    "read_account",
    "read_any",
    "read_event",
    "read_instruction",
    "read_named",
    "without_tag",
]


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of some data.

    `name` is the instruction, account type or event. `value` has the fields that could be read, as Python values; it is
    None if none could. `rest` are the bytes after them. `notes` name missing, odd and left-over parts, each with its
    place; there is a note if there is a rest. `fits`: the value has all fields, each of its type. `missing`: fields are
    missing.
    """

    name: str
    value: Any
    rest: bytes = b""
    notes: tuple[str, ...] = ()
    fits: bool = True
    missing: bool = False
    _to_json: Callable[[Any], Any] = field(
        default=lambda value: value, repr=False, compare=False
    )

    @property
    def is_whole(self) -> bool:
        """Whether the source explains every byte, so that encoding `value` gives the data again."""
        return not self.notes

    def json(self) -> Any:
        """Return `value` in its JSON form. An enum's unknown variant is {"unknown_variant": tag, "data": "0x…"}."""
        return self._to_json(self.value)


quicken(Reading)


class Kind(Protocol):
    """An instruction, account type or event."""

    @property
    def name(self) -> str: ...
    @property
    def discriminator(self) -> Discriminator: ...


class Known:
    """The kinds that data may be of, prepared for many readings. `what` names them in errors."""

    def __init__(self, codecs: Codecs, kinds: Iterable[Kind], what: str) -> None:
        self.codecs = codecs
        self.what = what
        self._likely = Likely([one for one in kinds if not _is_unknown(one)])
        self.kinds: Sequence[Kind] = self._likely.known
        #: those that bytes distinguish. Of others, nothing but the fields speaks for a reading.
        self.with_bytes = {one.name for one in self.kinds if one.discriminator.value}
        self.likely = self._likely.find
        self._codecs: dict[int, tuple[int, Codec]] = {}

    def codec(self, one: Kind) -> tuple[int, Codec]:
        """Return where the fields of *one* start, and their codec. Raises NotUsable."""
        found = self._codecs.get(id(one))
        if found is None:
            start = len(leading(one.name, one.discriminator))
            found = self._codecs[id(one)] = start, self.codecs.codec(node_of(one))
        return found


def _instructions(codecs: Codecs) -> Known:
    return Known(codecs, codecs.model.instructions, "instructions")


def _events(codecs: Codecs) -> Known:
    return Known(codecs, codecs.model.events, "events")


def _accounts(codecs: Codecs) -> Known:
    return Known(codecs, codecs.model.accounts, "account types")


def read_instruction(codecs: Codecs, data: Data) -> Reading:
    """Read instruction data. Raises DecodeError if no instruction's discriminator begins them."""
    return read_any(codecs.kept(_instructions), as_bytes(data))


def read_event(codecs: Codecs, data: Data) -> Reading:
    """Read an event, with or without the tag of `emit_cpi!`. Raises DecodeError as `read_instruction` does."""
    raw = without_tag(codecs.model.events, as_bytes(data))
    return read_any(codecs.kept(_events), raw)


def without_tag(events: Iterable[Event], data: bytes) -> bytes:
    """Return an event's data without the tag of `emit_cpi!`, unless the event's discriminator begins with the tag."""
    if not data.startswith(EVENT_CPI_TAG) or any(
        map(begins_with_tag, likely(events, data))
    ):
        return data
    return data.removeprefix(EVENT_CPI_TAG)


def begins_with_tag(event: Event) -> bool:
    """Return whether the tag of `emit_cpi!` begins an event's discriminator."""
    return event.discriminator.value.startswith(EVENT_CPI_TAG)


def read_account(codecs: Codecs, data: Data, name: str | None = None) -> Reading:
    """Read an account's data. *name* is the account type; by default the data decide it.

    Raises DecodeError if no account type, or not the named one, begins with these bytes, and UnknownName.
    """
    raw = as_bytes(data)
    if name is None:
        return read_any(codecs.kept(_accounts), raw)
    known = Known(codecs, [account_named(codecs.model, name)], "account types")
    return read_named(known, raw)


def read_named(known: Known, data: bytes) -> Reading:
    """Read *data* as the only one of *known*, which the caller named: missing fields get a note.

    Raises DecodeError if no field can be read, or the discriminator differs.
    """
    found = [_read_as(known, one, data) for one in known.likely(data)]
    if found and found[0].value:  # the caller knows its type: nothing is guessed
        return found[0]
    return read_any(known, data)


def read_any(known: Known, data: bytes) -> Reading:
    """Read *data* as each of *known* that it may be, and return the reading that explains most.

    Raises DecodeError if the data are of none of them.
    """
    readings = [_read_as(known, one, data) for one in known.likely(data)]
    sure = [one for one in readings if one.name in known.with_bytes or not one.missing]
    if sure:
        return sure[0] if len(sure) == 1 else min(sure, key=_unexplained)
    start = f"{len(data)} bytes starting 0x{data[:8].hex()}" if data else "no data"
    program = known.codecs.model.name
    expected = (
        f"expected data of one of the {len(known.kinds)} {known.what} of {program}"
    )
    raise DecodeError(f"{expected}, got {start}", left=len(data))


def _is_unknown(one: Kind) -> bool:
    """Return whether nobody knows which data are of this kind: a faulty instruction of the source."""
    return (
        one.discriminator.origin == "none"
        and getattr(one, "disabled", None) is not None
    )


def _unexplained(reading: Reading) -> tuple[bool, int, int]:
    return reading.missing, len(reading.rest), len(reading.notes)


def _read_as(known: Known, one: Kind, data: bytes) -> Reading:
    try:
        start, codec = known.codec(one)
        value, end = codec.decode_from(data, start)
    except NotUsable as error:
        note = f"{one.name}: {error.why}"
        return Reading(one.name, None, data, (note,), fits=False, missing=True)
    except CodecError:
        return _read_leniently(known.codecs, one.name, codec.node, data, start)
    notes = _rest_notes(one, data, end, codec)
    return Reading(one.name, value, data[end:], notes, _to_json=codec.to_json)


def _read_leniently(
    codecs: Codecs, name: str, node: Type, data: bytes, start: int
) -> Reading:
    reader = LenientReader(codecs.layouts, data)
    value, end = reader.read(name, node, start)
    rest = data[end:]
    notes = (*reader.notes, *left_over_notes(name, rest, end))
    write = partial(LenientJson(codecs.layouts).visit, node)
    return Reading(name, value, rest, notes, False, reader.lacks, _to_json=write)


def node_of(one: Kind) -> Type:
    """Return the type of an account's or event's fields, or of an instruction's arguments."""
    if isinstance(one, Instruction):
        return Struct(one.args)
    assert isinstance(one, (AccountType, Event))
    return one.type


def _rest_notes(one: Kind, data: bytes, end: int, codec: Codec) -> tuple[str, ...]:
    size = one.discriminator.size
    # the size of a type that varies, such as a mint with extensions, is that of its shortest form
    odd_size = size not in (None, len(data)) and codec.fixed_size is not None
    if odd_size and end == len(data):
        return (f"{one.name}: expected {size} bytes of data, got {len(data)}",)
    return left_over_notes(one.name, data[end:], end)


def left_over_notes(name: str, rest: bytes, end: int) -> tuple[str, ...]:
    """Return the note about bytes that follow the last field, if there are any."""
    if not rest:
        return ()
    count = f"{len(rest):,} byte{' is' if len(rest) == 1 else 's are'}"
    zero = "" if any(rest) else ", all zero"
    return (f"{name}: {count} left over after the last field, from offset {end}{zero}",)
