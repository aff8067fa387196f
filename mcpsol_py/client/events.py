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

__all__ = ["events_of", "logged_data", "logged_text_data", "read_events"]

_DATA, _TEXT = "Program data: ", "Program log: "
#: The bytes of an Anchor discriminator. Base64 with fewer may as well be a word.
_ANCHOR_TAG = 8


def logged_data(logs: Sequence[str], program_id: str) -> Iterator[bytes]:
    """Yield the data that *program_id* itself logged (`sol_log_data`), not data of the programs that it called."""
    for line in _own_lines(logs, program_id, _DATA):
        slices = [_from_base64(text) for text in line.split(" ")]
        if None not in slices:
            yield b"".join(data for data in slices if data)


def logged_text_data(logs: Sequence[str], program_id: str) -> Iterator[bytes]:
    """Yield the data of text lines that are base64, as Anchor before 0.22 logged its events."""
    for line in _own_lines(logs, program_id, _TEXT):
        data = _from_base64(line)
        if data is not None and len(data) >= _ANCHOR_TAG:
            yield data


def _own_lines(logs: Sequence[str], program_id: str, prefix: str) -> Iterator[str]:
    stack = CallStack()
    for line in logs:
        stack.read(line)
        if stack.current == program_id and line.startswith(prefix):
            yield line.removeprefix(prefix)


def _from_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:  # not base64, or not ASCII
        return None


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
    behind = program.behind(program_id)
    emitted = [data for called, data in inner if called == behind and data[:8] == EVENT_CPI_TAG]
    for data in (*logged_data(logs, str(behind)), *emitted):
        yield from _event(program, data)
    for data in logged_text_data(logs, str(behind)):
        # Text may be base64 by accident, so only a whole event counts.
        yield from (event for event in _event(program, data) if event.is_whole)


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
