"""The protocol that the client uses for a chain. rpc.py, svm.py and scripted.py implement it.

The client's code is written once, as coroutines over this protocol. The asynchronous client awaits them in an event
loop. The synchronous client drives the same coroutines with `run`, over a transport whose methods block instead of
suspending, so it needs no event loop and also works inside a running one.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.model.fast_init import quicken

__all__ = [
    "AccountBalance",
    "Balances",
    "Blockhash",
    "History",
    "HistoryEntry",
    "MemcmpFilter",
    "Outcome",
    "Status",
    "TokenBalance",
    "Transport",
    "blocking",
    "matches",
    "run",
]

_T = TypeVar("_T")

#: How final the state is that reads see, and when a transaction counts as landed.
Commitment = Literal["processed", "confirmed", "finalized"]

#: An account filter: (offset, the bytes that the data must have there), getProgramAccounts' memcmp.
MemcmpFilter = tuple[int, bytes]


def matches(
    data: bytes, filters: Sequence[MemcmpFilter], size: int | None = None
) -> bool:
    """Return True if an account's *data* has the bytes of all *filters*, and *size* bytes (None: any size)."""
    if size is not None and len(data) != size:
        return False
    return all(data.startswith(wanted, at) for at, wanted in filters)


@dataclass(frozen=True, slots=True)
class Blockhash:
    """A recent blockhash, and the last block height at which a transaction with it can still land."""

    value: Hash
    last_valid_block_height: int


@dataclass(frozen=True, slots=True)
class TokenBalance:
    """The tokens in a token account: base units of `mint` that belong to `owner`. `decimals` are those of the mint."""

    mint: Pubkey
    owner: Pubkey
    amount: int
    decimals: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class AccountBalance:
    """The lamports of an account, and its tokens if it is a token account."""

    lamports: int
    token: TokenBalance | None = None


@dataclass(frozen=True, slots=True)
class Balances:
    """The balances of a transaction's accounts, right before and right after it. Both have the same accounts."""

    before: Mapping[Pubkey, AccountBalance]
    after: Mapping[Pubkey, AccountBalance]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of running a transaction: in a simulation, in a preflight, or for good.

    `err` is None, or the error in the JSON form of the RPC: "AccountNotFound", {"InstructionError": [0, {"Custom":
    6001}]}. `return_data`: (the program that set it last, its bytes). `accounts`: those asked for, after
    the run. `inner`: the calls that programs made, as (program, data), if the chain reports them. `slot`: the slot
    whose state it ran on, 0 if the chain does not say. `balances`: those of a landed transaction, None if the chain
    does not report them.
    """

    err: str | dict[str, Any] | None = None
    logs: tuple[str, ...] = ()
    units: int | None = None
    return_data: tuple[Pubkey, bytes] | None = None
    accounts: tuple[Account | None, ...] = field(default=())
    inner: tuple[tuple[Pubkey, bytes], ...] = field(default=())
    slot: int = 0
    balances: Balances | None = None


quicken(Outcome)


@dataclass(frozen=True, slots=True)
class Status:
    """The status of a signature. `confirmed`: at the transport's commitment or better. `err` as in Outcome."""

    confirmed: bool
    err: str | dict[str, Any] | None = None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A transaction that an account took part in. `block_time` in seconds since 1970, None if the chain has none.

    `slot` is 0 if the chain does not say it. `failed`: it had no effect.
    """

    signature: Signature
    block_time: int | None = None
    slot: int = 0
    failed: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """Transactions of an account, newest first. `complete`: the account has no older ones."""

    entries: tuple[HistoryEntry, ...]
    complete: bool


class Transport(Protocol):
    """A connection to a chain. Every method raises TransportError if the chain does not give a usable answer.

    Implementations do not interpret errors, choose payers or retry a send. The client does that for all of them.
    """

    @property
    def endpoint(self) -> str:
        """Its name in messages: a URL without path and query (they may hold API keys), or "LiteSVM"."""

    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        """Read accounts, None for those that do not exist. Any number: the transport asks in parts."""

    async def accounts_at(
        self, keys: Sequence[Pubkey], *, since: int = 0
    ) -> tuple[int, list[Account | None]]:
        """Read accounts as of one slot, not before slot *since*. Returns the slot (0: the chain has none) too."""

    async def program_accounts(
        self,
        program_id: Pubkey,
        *,
        filters: Sequence[MemcmpFilter] = (),
        size: int | None = None,
    ) -> list[tuple[Pubkey, Account]]:
        """Read all accounts of a program that match *filters* and have *size* bytes of data."""

    async def latest_blockhash(self) -> Blockhash:
        """Return the newest blockhash at the transport's commitment."""

    async def blockhash_valid(self, blockhash: Hash) -> bool:
        """Return True if a transaction with this blockhash can still land, on any fork."""

    async def block_height(self) -> int:
        """Return the current block height."""

    async def simulate(
        self,
        transaction: VersionedTransaction,
        *,
        replace_blockhash: bool = True,
        accounts: Sequence[Pubkey] = (),
        since: int = 0,
    ) -> Outcome:
        """Run a transaction without effect, on a state that is not older than slot *since*.

        Signatures are not checked: a node refuses sigVerify together with replaceRecentBlockhash."""

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        """Submit a transaction, once. Returns its signature, and the preflight's outcome if that refused it."""

    async def status(self, signature: Signature) -> Status | None:
        """Return the status of a signature, None if the chain does not know it."""

    async def statuses(self, signatures: Sequence[Signature]) -> list[Status | None]:
        """Return the statuses of recent signatures, in order. Any number: the transport asks in parts."""

    async def transaction(self, signature: Signature) -> Outcome | None:
        """Return the logs, return data and balances of a landed transaction, None if the chain has it not (yet)."""

    async def history(
        self, key: Pubkey, *, limit: int, before: Signature | None = None
    ) -> History:
        """Return the newest transactions of an account: *limit* of them, or more if that costs nothing.

        *before*: only those that are older than this one.
        """

    async def sent_transaction(
        self, signature: Signature
    ) -> VersionedTransaction | None:
        """Return a landed transaction as it was sent, None if the chain does not have it."""

    async def identity(self) -> Pubkey | None:
        """Return an address that is funded on this chain (the node's own), None if the node does not say."""

    async def priority_fees(self, keys: Sequence[Pubkey]) -> list[int]:
        """Return recent prioritisation fees for transactions that lock *keys*, in micro-lamports a compute unit."""

    async def sleep(self, seconds: float) -> None:
        """Wait. A scripted or in-process chain moves on by a block instead."""

    async def close(self) -> None:
        """Close sockets and threads."""


def run(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of a coroutine that never suspends, because its transport blocks."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: _T = stop.value
        return result
    coroutine.close()
    raise RuntimeError(
        "the transport of a synchronous client suspended; use connect_sync or RpcTransport.blocking"
    )


def blocking(transport: Transport) -> Transport:
    """Return *transport* for a synchronous caller. An RPC transport is set to block; the others never suspend."""
    if hasattr(transport, "blocks"):
        transport.blocks = True
    return transport
