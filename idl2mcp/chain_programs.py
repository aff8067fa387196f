"""Programs that no SOURCE names: each is read by the schema that it has on the chain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from idl2mcp import inputs
from mcpsol_py.errors import DecodeError, McpsolError
from mcpsol_py.solana.address_book import AddressBook
from mcpsol_py.solana.addresses import PROGRAM_NAMES

if TYPE_CHECKING:
    from solders.pubkey import Pubkey

    from mcpsol_py.calls.prepare import ServedProgram
    from mcpsol_py.client.transport import Transport

__all__ = ["ChainPrograms", "opened"]


@dataclass(slots=True)
class ChainPrograms:
    """The programs of *transport*, found when they are needed. *transport* None has no programs."""

    transport: Transport | None
    book: AddressBook
    _found: dict[str, ServedProgram | McpsolError] = field(default_factory=dict)

    async def find(self, program_id: str) -> ServedProgram:
        """Return a program with its schema. Raises NoSchema, NoProgram, TransportError; DecodeError without a chain."""
        if self.transport is None:
            raise DecodeError(
                f"program {program_id} is on no known chain: give SOURCE, or --url"
            )
        if program_id not in self._found:
            self._found[program_id] = await self._discovered(self.transport, program_id)
        found = self._found[program_id]
        if isinstance(found, McpsolError):
            raise found
        return found

    async def _discovered(
        self, transport: Transport, program_id: str
    ) -> ServedProgram | McpsolError:
        from solders.pubkey import Pubkey

        from mcpsol_py.calls.prepare import ServedProgram
        from mcpsol_py.client.discovery import discover

        try:
            found = await discover(transport, Pubkey.from_string(program_id))
        except McpsolError as error:
            return error
        return ServedProgram(
            found.program, Pubkey.from_string(program_id), transport, found.source
        )

    async def called_in(self, decoded: Mapping[str, Any]) -> list[ServedProgram]:
        """Return the programs that a decoded transaction calls, as far as they have a schema on the chain."""
        found: list[ServedProgram] = []
        if self.transport is None:
            return found
        for program_id in dict.fromkeys(_called(decoded.get("instructions", ()))):
            try:
                found.append(await self.find(program_id))
            except McpsolError:  # its calls are shown as bytes
                continue
        return found

    async def account(self, key: Pubkey, kind: str | None) -> dict[str, Any]:
        """Return the account at *key*, read by its owner's schema, or as the wallet, token account or mint that it is.

        Raises DecodeError, TransportError.
        """
        from mcpsol_py.calls.reading import (
            account_without_schema,
            common_account,
            decoded_account,
        )

        if self.transport is None:
            raise DecodeError("no chain was given: add --url", path="address")
        (account,) = await self.transport.get_accounts([key])
        if account is None:
            raise DecodeError(f"account {key} does not exist", path="address")
        common = None if kind else common_account(key, account)
        if common is not None:
            return common
        try:
            served = await self.find(str(account.owner))
            found = decoded_account(served, kind, key, account, room=None)
        except McpsolError as error:
            if kind or getattr(error, "retryable", False):
                raise
            return {**account_without_schema(key, account), "note": str(error)}
        return {
            "program": served.program.name,
            "program_id": str(account.owner),
            **found,
        }


def _called(rows: Any) -> Iterator[str]:
    """Give the programs of instructions and of the calls that they made, except those that every reader knows."""
    for row in rows:
        if row["program_id"] not in PROGRAM_NAMES:
            yield row["program_id"]
        yield from _called(row.get("calls", ()))


@contextmanager
def opened(chain: inputs.Chain) -> Iterator[ChainPrograms]:
    """Open the chain of the options: an endpoint, the local cluster, or none."""
    cluster = inputs.open_cluster(chain) if chain.local and chain.url is None else None
    book = inputs.book_at(chain.url, cluster)
    if chain.url is None:
        yield ChainPrograms(None if cluster is None else cluster.transport, book)
        return
    with inputs.endpoint_at(chain.url) as transport:
        yield ChainPrograms(transport, book)
