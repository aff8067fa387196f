"""Events of a transaction: those that a program logged, and those of Anchor's `emit_cpi!`.

A program logs `Program data: <base64> <base64> …`, one text for each slice that it gave to `sol_log_data`. Anchor
before 0.22 logged `Program log: <base64>`. `emit_cpi!` sends an event as data of an instruction to the program itself.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.client.call_stack import CallStack
from mcpsol_py.codec.event import EVENT_CPI_TAG
from mcpsol_py.codec.reading import Reading
from mcpsol_py.errors import DecodeError
from mcpsol_py.program import Program

__all__ = ["event_data", "events_of", "logged_data", "read_events"]

#: The bytes of an Anchor discriminator. Base64 with fewer may as well be a word.
_ANCHOR_TAG = 8


def logged_data(logs: Sequence[str], program_id: str) -> Iterator[bytes]:
    """Yield the data that *program_id* itself logged (`sol_log_data`), not data of the programs that it called."""
    return (data for data, is_text in _logged(logs, program_id) if not is_text)


def _logged(logs: Sequence[str], program_id: str) -> list[tuple[bytes, bool]]:
    """Return the data of *program_id*'s own lines, and whether each is a text line that is base64."""
    found = dict(_candidates(logs))
    own: list[tuple[bytes, bool]] = []
    stack = CallStack()
    for number, line in enumerate(logs[: max(found, default=-1) + 1]):
        stack.read(line)
        if number in found and stack.current == program_id:
            own.append(found[number])
    return own


def _candidates(logs: Sequence[str]) -> Iterator[tuple[int, tuple[bytes, bool]]]:
    for number, line in enumerate(logs):
        label, _, text = line.partition(": ")
        read = _READERS.get(label)
        data = None if read is None else read(text)
        if data is not None:
            yield number, (data, read is _from_text)


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
_READERS = {"Program data": _from_slices, "Program log": _from_text}


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
        # Text may be base64 by accident, so only a whole event counts.
        yield from (one for one in _event(program, data) if one.is_whole or not is_text)


def event_data(
    behind: Pubkey, logs: Sequence[str], inner: Iterable[tuple[Pubkey, bytes]] = ()
) -> Iterator[tuple[bytes, bool]]:
    """Yield what may be the events of program *behind*, as `read_events` does, and whether it was logged as text."""
    emitted = [data for called, data in inner if called == behind and data[:8] == EVENT_CPI_TAG]
    logged = _logged(logs, str(behind))
    yield from ((data, False) for data, is_text in logged if not is_text)
    yield from ((data, False) for data in emitted)
    yield from ((data, True) for data, is_text in logged if is_text)


def _event(program: Program, data: bytes) -> Iterator[Reading]:
    try:
        yield program.read_event(data)
    except DecodeError:
        return


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
