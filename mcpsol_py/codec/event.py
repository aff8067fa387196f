"""Events: what a program logs (`Program data: <base64>`) or sends to itself (Anchor's `emit_cpi!`)."""

from __future__ import annotations

from typing import Any

from mcpsol_py.codec.compiled import Codecs, Data, as_bytes
from mcpsol_py.codec.discriminator import Finder, check_discriminator, leading
from mcpsol_py.errors import CodecError, DecodeError, NotUsable
from mcpsol_py.model.program import Event

__all__ = ["EVENT_CPI_TAG", "EventCodec", "decode_event", "decode_event_json", "find_event"]

#: What comes before the discriminator when an event is the data of an instruction: sha256("anchor:event")[..8],
#: little-endian.
EVENT_CPI_TAG = bytes.fromhex("e445a52e51cb9a1d")


class EventCodec:
    """One event's data."""

    def __init__(self, codecs: Codecs, event: Event) -> None:
        self.event = event
        self.discriminator = leading(event.name, event.discriminator)
        try:
            self.codec = codecs.codec(event.type)
        except NotUsable as error:
            raise NotUsable("event", event.name, error.why) from None

    def encode(self, value: Any) -> bytes:
        """Discriminator and fields. Raises EncodeError."""
        try:
            return self.discriminator + self.codec.encode(value)
        except CodecError as error:
            raise error.under(self.event.name) from None

    def decode(self, data: Data) -> Any:
        """The fields of the event in *data*, all of it. Raises DecodeError."""
        data = as_bytes(data)
        if not self.discriminator.startswith(EVENT_CPI_TAG):
            data = data.removeprefix(EVENT_CPI_TAG)
        try:
            check_discriminator(self.event.discriminator, data)
            value, end = self.codec.decode_from(data, len(self.discriminator))
            if end != len(data):
                raise DecodeError(
                    f"{len(data) - end} bytes are left over from offset {end}",
                    offset=end,
                    left=len(data) - end,
                )
        except CodecError as error:
            raise error.under(self.event.name) from None
        return value

    def decode_json(self, data: Data) -> Any:
        """The fields in the JSON forms. Raises DecodeError."""
        return self.codec.to_json(self.decode(data))


class _Events:
    """A program's events: found by data, their codecs made once."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self._made: dict[int, EventCodec] = {}
        self._finder = Finder(codecs.model.events, self._fits)
        #: programs without Anchor may have the tag in their discriminators
        self._tagged = any(
            e.discriminator.value.startswith(EVENT_CPI_TAG) for e in codecs.model.events
        )

    def find(self, data: bytes) -> Event | None:
        found = self._finder.find(data) if self._tagged else None
        return found or self._finder.find(data.removeprefix(EVENT_CPI_TAG))

    def codec(self, event: Event) -> EventCodec:
        found = self._made.get(id(event))
        if found is None:
            found = self._made[id(event)] = EventCodec(self.codecs, event)
        return found

    def _fits(self, event: Event, data: bytes) -> bool:
        try:
            self.codec(event).decode(data)
        except (CodecError, NotUsable):
            return False
        return True


def find_event(codecs: Codecs, data: Data) -> Event | None:
    """The event that *data* is of, with or without the tag of an event by CPI; None if it is none of the program's."""
    return codecs.kept(_Events).find(as_bytes(data))


def decode_event(codecs: Codecs, data: Data) -> tuple[str, Any]:
    """The event's name and its fields. Raises DecodeError, or NotUsable for an event whose type cannot be decoded."""
    event, codec = _of(codecs, data)
    return event.name, codec.decode(data)


def decode_event_json(codecs: Codecs, data: Data) -> tuple[str, Any]:
    """The same, with the fields in the JSON forms."""
    event, codec = _of(codecs, data)
    return event.name, codec.decode_json(data)


def _of(codecs: Codecs, data: Data) -> tuple[Event, EventCodec]:
    events = codecs.kept(_Events)
    event = events.find(as_bytes(data))
    if event is None:
        starts = as_bytes(data).removeprefix(EVENT_CPI_TAG)[:8].hex()
        raise DecodeError(
            f"data starting 0x{starts} is none of the program's {len(codecs.model.events)} events"
        )
    return event, events.codec(event)
