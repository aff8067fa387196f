"""What the two clients offer for every program, as protocols: the base of the classes that `idl2mcp stubs` writes.

A stub adds `build`, `view`, `fetch` and the like, with the names and types of one program.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.calls.draft import Amount
from mcpsol_py.client.subscriptions import TransactionLogs
from mcpsol_py.client.transport import Transport
from mcpsol_py.program import Program
from mcpsol_py.program_client import Simulation

__all__ = ["AsyncClient", "SyncClient"]

_Self = TypeVar("_Self")


class AsyncClient(Protocol):
    """The methods of `ProgramClient` that do not depend on the program."""

    @property
    def program(self) -> Program: ...

    @property
    def program_id(self) -> Pubkey: ...

    @property
    def transport(self) -> Transport: ...

    @property
    def source(self) -> str: ...

    async def simulate(
        self,
        what: Instruction | Sequence[Instruction] | VersionedTransaction,
        *,
        accounts: Sequence[Pubkey] = ...,
        lookup_tables: Sequence[Pubkey | str] = ...,
    ) -> Simulation: ...

    async def transaction(
        self,
        instructions: Instruction | Sequence[Instruction],
        *,
        payer: Any = ...,
        lookup_tables: Sequence[Pubkey | str] = ...,
        compute_units: Amount = ...,
        priority_fee: Amount = ...,
        legacy: bool = ...,
    ) -> VersionedTransaction: ...

    async def send(
        self,
        instructions: Instruction | Sequence[Instruction],
        signers: Sequence[Any] = ...,
        *,
        payer: Any = ...,
        lookup_tables: Sequence[Pubkey | str] = ...,
        compute_units: Amount = ...,
        priority_fee: Amount = ...,
        skip_preflight: bool = ...,
        legacy: bool = ...,
        confirm: bool = ...,
    ) -> Signature: ...

    async def send_transaction(
        self,
        transaction: VersionedTransaction,
        *,
        last_valid_block_height: int | None = ...,
        skip_preflight: bool = ...,
        confirm: bool = ...,
        handed_in: Callable[[], Awaitable[None]] | None = ...,
    ) -> Signature: ...

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]: ...

    async def transaction_events(
        self, signature: Signature | str
    ) -> list[tuple[str, Any]]: ...

    def watch_logs(self) -> AsyncGenerator[TransactionLogs, None]: ...

    def watch_events(
        self, *, as_json: bool = ...
    ) -> AsyncGenerator[tuple[str, str, Any], None]: ...

    async def close(self) -> None: ...

    async def __aenter__(self: _Self) -> _Self: ...

    async def __aexit__(self, *_: object) -> None: ...


class SyncClient(Protocol):
    """The methods of `SyncProgramClient` that do not depend on the program."""

    @property
    def program(self) -> Program: ...

    @property
    def program_id(self) -> Pubkey: ...

    @property
    def transport(self) -> Transport: ...

    @property
    def source(self) -> str: ...

    def simulate(
        self,
        what: Instruction | Sequence[Instruction] | VersionedTransaction,
        *,
        accounts: Sequence[Pubkey] = ...,
        lookup_tables: Sequence[Pubkey | str] = ...,
    ) -> Simulation: ...

    def transaction(
        self,
        instructions: Instruction | Sequence[Instruction],
        *,
        payer: Any = ...,
        lookup_tables: Sequence[Pubkey | str] = ...,
        compute_units: Amount = ...,
        priority_fee: Amount = ...,
        legacy: bool = ...,
    ) -> VersionedTransaction: ...

    def send(
        self,
        instructions: Instruction | Sequence[Instruction],
        signers: Sequence[Any] = ...,
        *,
        payer: Any = ...,
        lookup_tables: Sequence[Pubkey | str] = ...,
        compute_units: Amount = ...,
        priority_fee: Amount = ...,
        skip_preflight: bool = ...,
        legacy: bool = ...,
        confirm: bool = ...,
    ) -> Signature: ...

    def send_transaction(
        self,
        transaction: VersionedTransaction,
        *,
        last_valid_block_height: int | None = ...,
        skip_preflight: bool = ...,
        confirm: bool = ...,
        handed_in: Callable[[], Awaitable[None]] | None = ...,
    ) -> Signature: ...

    def events(self, logs: Sequence[str]) -> Iterator[tuple[str, Any]]: ...

    def transaction_events(
        self, signature: Signature | str
    ) -> list[tuple[str, Any]]: ...

    def close(self) -> None: ...

    def __enter__(self: _Self) -> _Self: ...

    def __exit__(self, *_: object) -> None: ...
