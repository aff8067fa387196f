"""Events of a transaction: those that a program logged, and those of Anchor's `emit_cpi!`.

A program logs `Program data: <base64> <base64> …`, one text for each slice that it gave to `sol_log_data`. Anchor
before 0.22 logged `Program log: <base64>`. `emit_cpi!` sends an event as data of an instruction to the program itself.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.client.call_stack import CallStack
from mcpsol_py.codec.reading import Reading, read_event
from mcpsol_py.errors import DecodeError
from mcpsol_py.program import Program
from mcpsol_py.solana.ids import EVENT_CPI_TAG

__all__ = ["event_data", "events_of", "logged_data", "read_events"]

_DATA, _TEXT = "Program data", "Program log"
#: The bytes of an Anchor discriminator. Base64 with fewer may as well be a word.
_ANCHOR_TAG = 8


def logged_data(logs: Sequence[str], program_id: str) -> list[bytes]:
    """Return the data that *program_id* itself logged (`sol_log_data`), not data of the programs that it called."""
    return _logged(logs, program_id)[_DATA]


def _logged(logs: Sequence[str], program_id: str) -> dict[str, list[bytes]]:
    """Return the data of *program_id*'s own lines by their label."""
    own: dict[str, list[bytes]] = {label: [] for label in _READERS}
    numbers = [number for number, line in enumerate(logs) if line.startswith(_LABELS)]
    end = numbers[-1] + 1 if numbers else 0
    stack = CallStack()
    for line in logs[:end]:
        if not line.startswith(_LABELS):
            stack.read(line)
        elif stack.current == program_id:
            label, _, text = line.partition(_AFTER_LABEL)
            data = _READERS[label](text)
            own[label] += [] if data is None else [data]
    return own


def _from_slices(text: str) -> bytes | None:
    slices = list(map(_from_base64, text.split(" ")))
    return None if None in slices else b"".join(filter(None, slices))


def _from_text(text: str) -> bytes | None:
    data = _from_base64(text)
    return data if data is not None and len(data) >= _ANCHOR_TAG else None


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # not base64, or not ASCII
        return None


#: How to read the lines that may have an event. Anchor before 0.22 logged events as text.
_READERS: dict[str, Callable[[str], bytes | None]] = {
    _DATA: _from_slices,
    _TEXT: _from_text,
}
_AFTER_LABEL = ": "
_LABELS = tuple(label + _AFTER_LABEL for label in _READERS)


def read_events(
    program: Program,
    program_id: Pubkey,
    logs: Sequence[str],
    inner: Iterable[tuple[Pubkey, bytes]] = (),
) -> Iterator[Reading]:
    """Yield the program's own events: first those in its *logs*, then those in *inner* calls.

    *inner*: the instructions that programs called, as (program, data). Data that are not one of its events are skipped.
    Events of another version of the program have notes.
    """
    if not program.model.events:
        return
    for data, is_text in event_data(program.behind(program_id), logs, inner):
        event = _read_event(program, data)
        # Text may be base64 by accident, so only a whole event counts.
        if event is not None and (event.is_whole or not is_text):
            yield event


def event_data(
    behind: Pubkey, logs: Sequence[str], inner: Iterable[tuple[Pubkey, bytes]] = ()
) -> Iterator[tuple[bytes, bool]]:
    """Yield what may be the events of program *behind*, as `read_events` does, and whether it was logged as text."""
    emitted = [
        data for called, data in inner if called == behind and data[:8] == EVENT_CPI_TAG
    ]
    logged = _logged(logs, str(behind))
    yield from zip([*logged[_DATA], *emitted], repeat(False))
    yield from zip(logged[_TEXT], repeat(True))


def _read_event(program: Program, data: bytes) -> Reading | None:
    try:
        return read_event(program.codecs, data)
    except DecodeError:
        return None


def events_of(
    program: Program,
    program_id: Pubkey,
    logs: Sequence[str],
    inner: Iterable[tuple[Pubkey, bytes]] = (),
    *,
    json: bool = False,
) -> Iterator[tuple[str, Any]]:
    """Yield the events of `read_events` as (name, fields). *json*: the fields in their JSON forms."""
    for event in read_events(program, program_id, logs, inner):
        if event.value is not None:
            yield event.name, event.json() if json else event.value
