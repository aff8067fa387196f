"""`ProgramClient` for synchronous code: the same methods without `await`.

Each method runs the coroutine of the same name over a transport that blocks, so no event loop is needed, and one that
is running does not matter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.draft import Amount
from mcpsol_py.client.transport import Transport, blocking, run
from mcpsol_py.program import Program
from mcpsol_py.program_client import ProgramClient, Simulation, View

__all__ = ["SyncProgramClient"]


class SyncProgramClient:
    """A program at an address of a chain, made by `connect_sync` or from a `ProgramClient`."""

    def __init__(self, client: ProgramClient) -> None:
        """Put *client* on a blocking transport. After this, only this object may use it."""
        self.asynchronous = client
        client.transport = blocking(client.transport)

    def __repr__(self) -> str:
        return repr(self.asynchronous).replace(
            "<ProgramClient", "<SyncProgramClient", 1
        )

    @property
    def program(self) -> Program:
        """The program."""
        return self.asynchronous.program

    @property
    def program_id(self) -> Pubkey:
        """The program's address."""
        return self.asynchronous.program_id

    @property
    def transport(self) -> Transport:
        """The transport. Its methods do not suspend: `mcpsol_py.client.transport.run` runs them."""
        return self.asynchronous.transport

    @property
    def source(self) -> str:
        """The origin of the program's schema."""
        return self.asynchronous.source

    def build(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        *,
        remaining: Sequence[Any] = (),
        payer: Any = None,
    ) -> Instruction:
        """See `ProgramClient.build`."""
        return run(
            self.asynchronous.build(
                name, args, accounts, remaining=remaining, payer=payer
            )
        )

    def simulate(
        self,
        what: Instruction | Sequence[Instruction] | VersionedTransaction,
        *,
        accounts: Sequence[Pubkey] = (),
        lookup_tables: Sequence[Pubkey | str] = (),
    ) -> Simulation:
        """See `ProgramClient.simulate`."""
        return run(
            self.asynchronous.simulate(
                what, accounts=accounts, lookup_tables=lookup_tables
            )
        )

    def view(
        self,
        name: str,
        args: Mapping[str, Any] | None = None,
        accounts: Mapping[str, Any] | None = None,
        *,
        remaining: Sequence[Any] = (),
    ) -> View:
        """See `ProgramClient.view`."""
        return run(self.asynchronous.view(name, args, accounts, remaining=remaining))

    def transaction(
        self,
        instructions: Instruction | Sequence[Instruction],
        *,
        payer: Any = None,
        lookup_tables: Sequence[Pubkey | str] = (),
        compute_units: Amount = None,
        priority_fee: Amount = None,
        legacy: bool = False,
    ) -> VersionedTransaction:
        """See `ProgramClient.transaction`."""
        return run(
            self.asynchronous.transaction(
                instructions,
                payer=payer,
                lookup_tables=lookup_tables,
                compute_units=compute_units,
                priority_fee=priority_fee,
                legacy=legacy,
            )
        )

    def send(
        self,
        instructions: Instruction | Sequence[Instruction],
        signers: Sequence[Any] = (),
        *,
        payer: Any = None,
        lookup_tables: Sequence[Pubkey | str] = (),
        compute_units: Amount = None,
        priority_fee: Amount = None,
        skip_preflight: bool = False,
        legacy: bool = False,
        confirm: bool = True,
    ) -> Signature:
        """See `ProgramClient.send`."""
        return run(
            self.asynchronous.send(
                instructions,
                signers,
                payer=payer,
                lookup_tables=lookup_tables,
                compute_units=compute_units,
                priority_fee=priority_fee,
                skip_preflight=skip_preflight,
                legacy=legacy,
                confirm=confirm,
            )
        )

    def send_transaction(
        self,
        transaction: VersionedTransaction,
        *,
        last_valid_block_height: int | None = None,
        skip_preflight: bool = False,
        confirm: bool = True,
        handed_in: Callable[[], Awaitable[None]] | None = None,
    ) -> Signature:
        """See `ProgramClient.send_transaction`."""
        return run(
            self.asynchronous.send_transaction(
                transaction,
                last_valid_block_height=last_valid_block_height,
                skip_preflight=skip_preflight,
                confirm=confirm,
                handed_in=handed_in,
            )
        )

    def fetch(self, name: str, address: Pubkey | str, *, as_json: bool = False) -> Any:
        """See `ProgramClient.fetch`."""
        return run(self.asynchronous.fetch(name, address, as_json=as_json))

    def fetch_many(
        self, name: str, addresses: Sequence[Pubkey | str], *, as_json: bool = False
    ) -> list[Any]:
        """See `ProgramClient.fetch_many`."""
        return run(self.asynchronous.fetch_many(name, addresses, as_json=as_json))

    def fetch_all(
        self,
        name: str,
        where: Mapping[str, Any] | None = None,
        *,
        as_json: bool = False,
    ) -> list[tuple[Pubkey, Any]]:
        """See `ProgramClient.fetch_all`."""
        return run(self.asynchronous.fetch_all(name, where, as_json=as_json))

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """See `ProgramClient.events`."""
        return self.asynchronous.events(logs)

    def transaction_events(self, signature: Signature | str) -> list[tuple[str, Any]]:
        """See `ProgramClient.transaction_events`."""
        return run(self.asynchronous.transaction_events(signature))

    def close(self) -> None:
        """Close the transport."""
        run(self.asynchronous.close())

    def __enter__(self) -> SyncProgramClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
