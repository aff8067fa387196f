"""Event data, which a program logs (`Program data: <base64>`) or sends to itself (Anchor's `emit_cpi!`)."""

from __future__ import annotations

from typing import Any

from mcpsol_py.codec.compiled import Codecs, Data, as_bytes, left_over
from mcpsol_py.codec.discriminator import Finder, check_discriminator, leading
from mcpsol_py.errors import CodecError, DecodeError, NotUsable
from mcpsol_py.model.program import Event
from mcpsol_py.solana.ids import EVENT_CPI_TAG

__all__ = [
    "EventCodec",
    "decode_event",
    "decode_event_json",
    "find_event",
]


class EventCodec:
    """Encodes and decodes one event's data."""

    def __init__(self, codecs: Codecs, event: Event) -> None:
        self.event = event
        self.discriminator = leading(event.name, event.discriminator)
        self.codec = codecs.codec_of("event", event.name, event.type)

    def encode(self, value: Any) -> bytes:
        """Return the discriminator and the fields. Raises EncodeError."""
        try:
            return self.discriminator + self.codec.encode(value)
        except CodecError as error:
            raise error.under(self.event.name) from None

    def decode(self, data: Data) -> Any:
        """Return the fields of the event in *data*.

        Raises DecodeError, also for bytes that are left over.
        """
        data = as_bytes(data)
        if not self.discriminator.startswith(EVENT_CPI_TAG):
            data = data.removeprefix(EVENT_CPI_TAG)
        try:
            check_discriminator(self.event.discriminator, data)
            value, end = self.codec.decode_from(data, len(self.discriminator))
            if end != len(data):
                raise left_over(len(data) - end, end, "fields")
        except CodecError as error:
            raise error.under(self.event.name) from None
        return value

    def decode_json(self, data: Data) -> Any:
        """Return the fields in the JSON forms. Raises DecodeError."""
        return self.codec.to_json(self.decode(data))


class _Events:
    """A program's events: finds them by data, and makes each codec once."""

    def __init__(self, codecs: Codecs) -> None:
        self.codecs = codecs
        self._made: dict[int, EventCodec] = {}
        self._finder = Finder(codecs.model.events, self._fits)
        #: a program without Anchor may have the tag in its discriminators
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
    """Return the program's event that *data* belongs to, or None. The tag of `emit_cpi!` is optional."""
    return codecs.kept(_Events).find(as_bytes(data))


def decode_event(codecs: Codecs, data: Data) -> tuple[str, Any]:
    """Return the event's name and fields.

    Raises DecodeError, or NotUsable for an event whose type cannot be decoded.
    """
    event, codec = _of(codecs, data)
    return event.name, codec.decode(data)


def decode_event_json(codecs: Codecs, data: Data) -> tuple[str, Any]:
    """Return the event's name, and its fields in the JSON forms. Raises as `decode_event` does."""
    event, codec = _of(codecs, data)
    return event.name, codec.decode_json(data)


def _of(codecs: Codecs, data: Data) -> tuple[Event, EventCodec]:
    events = codecs.kept(_Events)
    event = events.find(as_bytes(data))
    if event is None:
        start = as_bytes(data).removeprefix(EVENT_CPI_TAG)[:8].hex()
        known = len(codecs.model.events)
        raise DecodeError(
            f"expected one of the program's {known} events, got data of 0x{start}..."
        )
    return event, events.codec(event)
