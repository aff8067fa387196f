"""What the client asks of a chain, as one protocol; rpc.py, svm.py and scripted.py speak it.

The client's code is written once, as coroutines over this protocol. The asynchronous client awaits them in an event
loop. The synchronous twin drives the very same coroutines with `run`, over a transport whose methods block instead of
suspending, so it needs no event loop and also works where one is already running.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

__all__ = [
    "Blockhash",
    "History",
    "HistoryEntry",
    "MemcmpFilter",
    "Outcome",
    "Status",
    "Transport",
    "blocking",
    "run",
]

_T = TypeVar("_T")

#: What a read must have seen, and when a transaction counts as landed.
Commitment = Literal["processed", "confirmed", "finalized"]

#: An account filter: the bytes that must stand at an offset of the data (getProgramAccounts' memcmp).
MemcmpFilter = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class Blockhash:
    """A recent blockhash, and the last block height at which a transaction with it can still land."""

    value: Hash
    last_valid_block_height: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a transaction gave, in a simulation, a preflight or for good.

    `err` is None, or the error in the JSON form of the RPC: "AccountNotFound", {"InstructionError": [0, {"Custom":
    6001}]}. `return_data`: (the program that set it last, its bytes as they came). `accounts`: those asked for, after
    the run. `inner`: the calls that programs made, as (program, data), where the chain tells them. `slot`: whose state
    it ran on, 0 where that is not told.
    """

    err: str | dict[str, Any] | None = None
    logs: tuple[str, ...] = ()
    units: int | None = None
    return_data: tuple[Pubkey, bytes] | None = None
    accounts: tuple[Account | None, ...] = field(default=())
    inner: tuple[tuple[Pubkey, bytes], ...] = field(default=())
    slot: int = 0


@dataclass(frozen=True, slots=True)
class Status:
    """Where a signature stands: `confirmed` at the transport's commitment or better; `err` as in Outcome."""

    confirmed: bool
    err: str | dict[str, Any] | None = None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A transaction that an account took part in. `block_time` in seconds since 1970, None if the chain has none."""

    signature: Signature
    block_time: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """Transactions of an account, newest first. `complete`: the account has no older ones."""

    entries: tuple[HistoryEntry, ...]
    complete: bool


class Transport(Protocol):
    """A way to a chain. Every method raises TransportError where the chain does not answer as it should.

    Implementations neither interpret errors nor choose payers nor retry a send: that is the client's, for all of them
    alike.
    """

    @property
    def endpoint(self) -> str:
        """What messages call it: a URL without path and query (they hold API keys), "LiteSVM"."""

    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        """The accounts, None for those that do not exist. Any number: the transport asks in parts."""

    async def accounts_at(
        self, keys: Sequence[Pubkey], *, since: int = 0
    ) -> tuple[int, list[Account | None]]:
        """The same as they stood in one slot, which is told (0: the chain has none), and not before slot *since*."""

    async def program_accounts(
        self, program_id: Pubkey, *, filters: Sequence[MemcmpFilter] = (), size: int | None = None
    ) -> list[tuple[Pubkey, Account]]:
        """All accounts of a program that have these bytes, and *size* bytes of data."""

    async def latest_blockhash(self) -> Blockhash:
        """The newest blockhash at the transport's commitment."""

    async def blockhash_valid(self, blockhash: Hash) -> bool:
        """Whether a transaction with this blockhash can still land. False only if no fork takes it any more."""

    async def block_height(self) -> int:
        """The current block height."""

    async def simulate(
        self,
        transaction: VersionedTransaction,
        *,
        replace_blockhash: bool = True,
        accounts: Sequence[Pubkey] = (),
        since: int = 0,
    ) -> Outcome:
        """Runs it without effect and without looking at signatures (never both sigVerify and
        replaceRecentBlockhash), on a state that is not older than slot *since*."""

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        """Hands it in, once. The signature, and the preflight's outcome where that refused it."""

    async def status(self, signature: Signature) -> Status | None:
        """Where it stands, None where the chain does not know it."""

    async def statuses(self, signatures: Sequence[Signature]) -> list[Status | None]:
        """Where several recent ones stand, in order. Any number: the transport asks in parts."""

    async def transaction(self, signature: Signature) -> Outcome | None:
        """The logs and return data of a landed transaction, None where the chain does not (yet) have it."""

    async def history(self, key: Pubkey, *, limit: int) -> History:
        """The newest transactions of an account: *limit* of them, or more if that costs nothing."""

    async def sent_transaction(self, signature: Signature) -> VersionedTransaction | None:
        """A landed transaction as it was sent, None if the chain does not have it."""

    async def identity(self) -> Pubkey | None:
        """An address that is funded on this chain: the node's own."""

    async def priority_fees(self, keys: Sequence[Pubkey]) -> list[int]:
        """Recent prioritisation fees for transactions that lock *keys*, in micro-lamports a compute unit."""

    async def sleep(self, seconds: float) -> None:
        """Waits (a scripted or in-process chain moves on instead)."""

    async def close(self) -> None:
        """Gives back sockets and threads."""


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that never suspends, since its transport blocks: what the synchronous client is made
    of."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: _T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(
        "a synchronous client was given an asynchronous transport; use connect_sync or RpcTransport.blocking"
    )


def blocking(transport: Transport) -> Transport:
    """The transport for a synchronous caller: an RPC transport is told to block; the others never suspend anyway."""
    if hasattr(transport, "blocks"):
        transport.blocks = True
    return transport
