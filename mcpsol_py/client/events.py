"""Events in what a transaction left: those that a program logged (`Program data: <base64>`), and those that it sent
to itself (Anchor's `emit_cpi!`)."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.codec.event import EVENT_CPI_TAG
from mcpsol_py.errors import CodecError, NotUsable
from mcpsol_py.program import Program

__all__ = ["events_of", "logged_data"]

_INVOKE = re.compile(r"Program (\w+) invoke \[(\d{1,4})\]")
_DONE = re.compile(r"Program (\w+) (success|failed)")


def logged_data(logs: Sequence[str], program_id: str) -> Iterator[bytes]:
    """What *program_id* itself logged as data (`sol_log_data`): the call stack in the logs tells whose a line is."""
    stack: list[str] = []
    for line in logs:
        begun = _INVOKE.fullmatch(line)
        if begun is not None:
            stack = [*stack[: int(begun[2]) - 1], begun[1]]
        elif line.startswith("Program data: ") and stack and stack[-1] == program_id:
            try:
                yield base64.b64decode(
                    line.removeprefix("Program data: ").replace(" ", ""), validate=True
                )
            except ValueError:  # not base64, or not ASCII
                continue
        elif stack and (done := _DONE.match(line)) is not None and done[1] == stack[-1]:
            stack.pop()


def events_of(
    program: Program,
    program_id: Pubkey,
    logs: Sequence[str],
    inner: Iterable[tuple[Pubkey, bytes]] = (),
    *,
    json: bool = False,
) -> Iterator[tuple[str, Any]]:
    """The program's own events, as (name, fields): of its *logs* (another program's may look the same), then of the
    instructions that it called (*inner*: program and data). *json*: the fields in the JSON forms.

    Data that are none of its events, or of a type that cannot be decoded, are passed over: what has happened is told
    all the same.
    """
    if not program.model.events:
        return
    behind = program.behind(program_id)
    said = [*logged_data(logs, str(behind))]
    said += [data for called, data in inner if called == behind and data[:8] == EVENT_CPI_TAG]
    decode = program.decode_event_json if json else program.decode_event
    for data in said:
        with suppress(CodecError, NotUsable):
            yield decode(data)
