"""`idl2mcp decode` without `--format`: transactions in any form, signatures and instruction data, explained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from idl2mcp.chain_programs import ChainPrograms
from mcpsol_py.errors import DecodeError, abbr

if TYPE_CHECKING:
    from mcpsol_py.calls.prepare import ServedProgram

__all__ = ["TextReader"]


@dataclass(frozen=True, slots=True)
class TextReader:
    """Explains text by *source*, or without one by the schemas that programs have on the chain."""

    source: ServedProgram | None
    programs: ChainPrograms

    async def read(self, text: str) -> dict[str, Any]:
        """Return what *text* means. Of several transactions, one that cannot be read has "error".

        Raises DecodeError, TransportError.
        """
        parts = list(_parts(text))
        if len(parts) == 1:
            return await self._one(parts[0])
        return {"transactions": [await self._row(part) for part in parts]}

    async def _row(self, part: Any) -> dict[str, Any]:
        try:
            return await self._one(part)
        except DecodeError as error:
            return {"error": str(error)}

    async def _one(self, part: Any) -> dict[str, Any]:
        if isinstance(part, DecodeError):
            raise part
        part = await self._landed(part)
        found = await self._decoded(part, [] if self.source is None else [self.source])
        more = [] if self.source is not None else await self.programs.called_in(found)
        return await self._decoded(part, more) if more else found

    async def _landed(self, part: Any) -> Any:
        """Return the transaction of a signature, and any other part as it is."""
        from mcpsol_py.calls.transaction_reading import landed_result

        if isinstance(part, dict) or not _is_signature(part):
            return part
        if self.programs.transport is None:
            raise click.UsageError("A signature needs a chain: --url URL.")
        return await landed_result(self.programs.transport, part)

    async def _decoded(
        self, part: Any, programs: list[ServedProgram]
    ) -> dict[str, Any]:
        from mcpsol_py.calls import transaction_reading as reading

        transport = self.programs.transport
        if isinstance(part, dict):
            return await reading.decode_result(programs, part, transport)
        with suppress(DecodeError):
            return await reading.decode_transaction(programs, part, transport)
        if self.source is None:
            why = f"expected a transaction or a signature, got {abbr(part)}. Instruction data needs SOURCE"
            raise DecodeError(why, path="WHAT")
        return reading.decode_raw(programs, reading.data_of(part, "WHAT"))


def _parts(text: str) -> Iterator[Any]:
    """Give each transaction of a text: as JSON, or as the text of a line. Other parts give a DecodeError."""
    lines = list(filter(None, map(str.strip, text.splitlines())))
    whole = _part(text)
    if _is_json(text) and not (isinstance(whole, DecodeError) and _is_whole(lines[0])):
        lines = [text]
    for line in lines or [text]:
        found = _part(line)
        yield from _transactions(found) if isinstance(found, (dict, list)) else [found]


def _part(text: str) -> Any:
    """Return the JSON of a text that begins as JSON, or the text. Invalid JSON gives a DecodeError."""
    if not _is_json(text):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return DecodeError(f"invalid JSON: {error}", path="WHAT")


def _is_json(text: str) -> bool:
    return text.startswith(("{", "["))


def _is_whole(line: str) -> bool:
    return not isinstance(_part(line), DecodeError)


def _transactions(document: object) -> Iterator[Any]:
    from mcpsol_py.pipelines.landed import Unread, transactions_of

    for found in transactions_of(document):
        yield (
            DecodeError(found.why, path="WHAT") if isinstance(found, Unread) else found
        )


def _is_signature(text: str) -> bool:
    from solders.signature import Signature

    try:
        Signature.from_string(text)
    except ValueError:
        return False
    return True
