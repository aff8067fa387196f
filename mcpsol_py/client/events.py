"""Events of a transaction: those that a program logged (`Program data: <base64>`), and Anchor's `emit_cpi!`.

`emit_cpi!` sends an event as data of an instruction to the program itself.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.client.call_stack import CallStack
from mcpsol_py.codec.event import EVENT_CPI_TAG
from mcpsol_py.errors import CodecError, NotUsable
from mcpsol_py.program import Program

__all__ = ["events_of", "logged_data"]

_DATA = "Program data: "


def logged_data(logs: Sequence[str], program_id: str) -> Iterator[bytes]:
    """Yield the data that *program_id* itself logged (`sol_log_data`), not data of the programs that it called."""
    stack = CallStack()
    for line in logs:
        stack.read(line)
        if stack.current != program_id or not line.startswith(_DATA):
            continue
        with suppress(ValueError):  # not base64, or not ASCII
            yield base64.b64decode(line.removeprefix(_DATA).replace(" ", ""), validate=True)


def events_of(
    program: Program,
    program_id: Pubkey,
    logs: Sequence[str],
    inner: Iterable[tuple[Pubkey, bytes]] = (),
    *,
    json: bool = False,
) -> Iterator[tuple[str, Any]]:
    """Yield the program's own events as (name, fields): first those in its *logs*, then those in *inner* calls.

    *inner*: the instructions that programs called, as (program, data). *json*: the fields in their JSON forms. Data
    that are not one of its events, or are of a type that cannot be decoded, are skipped.
    """
    if not program.model.events:
        return
    behind = program.behind(program_id)
    emitted = [data for called, data in inner if called == behind and data[:8] == EVENT_CPI_TAG]
    decode = program.decode_event_json if json else program.decode_event
    for data in (*logged_data(logs, str(behind)), *emitted):
        with suppress(CodecError, NotUsable):
            yield decode(data)
