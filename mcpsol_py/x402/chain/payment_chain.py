"""A cluster as payments use it: accounts, simulation, sending, and whether a payment landed.

The x402 protocols are synchronous and an async server runs them in a worker thread, so a
`PaymentChain` drives a blocking `Transport` (mcpsol_py/client/transport.py). Its answers about a
payment are yes, no, or unknown; a cluster that does not answer raises `ChainUnavailable` and is
never taken for a no.
"""

from __future__ import annotations

import time
from collections.abc import Coroutine, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import orjson
from solders.account import Account
from solders.hash import Hash
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import History, HistoryEntry, Outcome, Transport, run
from mcpsol_py.errors import TransportError
from mcpsol_py.solana import ids
from mcpsol_py.solana.clusters import is_on_this_machine
from mcpsol_py.x402.protocol.networks import DEVNET, network_of_genesis

if TYPE_CHECKING:
    from solders.litesvm import LiteSVM

__all__ = [
    "ChainRejected",
    "ChainUnavailable",
    "MessageStatus",
    "PaymentChain",
    "SignatureStatus",
    "rpc_chain",
    "svm_chain",
]

_T = TypeVar("_T")

#: How many of an account's newest signatures `find` reads. A payment is looked for within minutes
#: of its creation.
_NEWEST = 100
#: For this long (milliseconds) a node is trusted to have kept the whole history of an account.
_KEPT_MS = 24 * 3600 * 1000
#: How far the clocks of a chain and of this machine may differ, in seconds.
_CLOCKS_DIFFER = 300
#: A payment may land for 60 to 90 seconds after it was signed. A node that is behind does not know
#: its blockhash yet and calls it expired. So none is called expired before this age.
_CERTAIN_AFTER_MS = 150_000


@dataclass(frozen=True, slots=True)
class SignatureStatus:
    """`state`: "landed" (executed without an error), "failed" (executed with `error`), "unknown"
    (not seen yet).
    """

    state: Literal["landed", "failed", "unknown"]
    error: str | None = None
    slot: int | None = None


@dataclass(frozen=True, slots=True)
class MessageStatus:
    """The status of a message, independent of who signed as fee payer.

    `state` is one of SignatureStatus, or "expired": the message can no longer land.
    """

    state: Literal["landed", "failed", "expired", "unknown"]
    signature: str | None = None


#: JSON-RPC errors of a node that has read a transaction and refuses it: preflight failure, bad
#: signatures, a failed precompile, a wrong number of signatures, an unsupported version, invalid
#: parameters. Any other error (a rate limit, for example) may come from something in between, and
#: says nothing about the transaction.
_REFUSED = frozenset({-32002, -32003, -32006, -32013, -32015, -32602})


class ChainUnavailable(Exception):
    """The cluster did not answer. This says nothing about the payment that was asked about."""


class ChainRejected(Exception):
    """The cluster refused to broadcast the transaction."""


class PaymentChain:
    """One cluster. Every method may raise ChainUnavailable.

    *transport* must block or never suspend (`blocking`, `SvmTransport`, `ScriptedTransport`).
    *network* is the CAIP-2 name that payment requirements use for this cluster. `embedded`: it is a
    LiteSVM, in this process or behind a URL, so its wallets and tokens are play money.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        network: str,
        certain_after_ms: int = _CERTAIN_AFTER_MS,
        embedded: bool = False,
    ) -> None:
        """*certain_after_ms*: the age of a signed transaction before which it is never called
        expired. 0 only for a chain in this process, which cannot be behind.
        """
        self.transport = transport
        self.network = network
        self.embedded = embedded
        self._certain_after_ms = certain_after_ms
        # LiteSVM must not be used by two threads at once; a node may.
        lock: AbstractContextManager[Any] | None = getattr(transport, "lock", None)
        self._lock: AbstractContextManager[Any] = lock or nullcontext()

    def _ask(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        try:
            with self._lock:
                return run(coroutine)
        except TransportError as error:
            raise ChainUnavailable(str(error)) from error

    def get_accounts(self, addresses: Sequence[str]) -> list[Account | None]:
        """Return the accounts in the order of *addresses*, None for those that do not exist."""
        keys = list(map(Pubkey.from_string, addresses))
        return self._ask(self.transport.get_accounts(keys))

    def latest_blockhash(self) -> Hash:
        """Return a recent blockhash."""
        return self._ask(self.transport.latest_blockhash()).value

    def blockhash_expired(self, blockhash: Hash) -> bool:
        """Return True if the cluster takes no transaction with this blockhash.

        A node that is behind says so of a blockhash that it does not know yet: see
        `can_no_longer_land`.
        """
        return not self._ask(self.transport.blockhash_valid(blockhash))

    def can_no_longer_land(self, blockhash: Hash, age_ms: int) -> bool:
        """Return True only if a transaction with this blockhash, signed *age_ms* milliseconds ago,
        can no longer land.
        """
        return age_ms >= self._certain_after_ms and self.blockhash_expired(blockhash)

    def simulation_error(self, transaction: VersionedTransaction) -> str | None:
        """Simulate without checking signatures and return the error's text, None on success.

        The transaction's blockhash is not replaced, so that an expired one fails here as it would
        when sent.
        """
        return error_text(self.simulate(transaction).err)

    def simulate(self, transaction: VersionedTransaction) -> Outcome:
        """Simulate as `simulation_error` does, and return the whole outcome."""
        return self._ask(self.transport.simulate(transaction, replace_blockhash=False))

    def outcome(self, signature: str) -> Outcome | None:
        """Return the outcome of a landed transaction, None if the chain does not have it (yet)."""
        return self._ask(self.transport.transaction(Signature.from_string(signature)))

    def send(self, transaction: bytes) -> str:
        """Broadcast a signed transaction and return its signature. Sending the same bytes again is
        harmless.

        There is no preflight: callers simulate first, and a refused preflight would leave open
        whether an earlier attempt was sent. Raises ChainRejected if the cluster refuses the
        transaction.
        """
        signed = VersionedTransaction.from_bytes(transaction)
        try:
            with self._lock:
                if isinstance(self.transport, SvmTransport):
                    _execute(self.transport, signed)
                    return str(signed.signatures[0])
                signature, refused = run(
                    self.transport.send(signed, skip_preflight=True)
                )
        except TransportError as error:
            if error.code in _REFUSED:
                raise ChainRejected(str(error)) from error
            raise ChainUnavailable(str(error)) from error
        if refused is not None and refused.err is not None:
            raise ChainRejected(str(error_text(refused.err)))
        return str(signature)

    def status(self, signature: str) -> SignatureStatus:
        """Return the status of a signature, at the transport's commitment ("confirmed")."""
        found = self._ask(self.transport.status(Signature.from_string(signature)))
        if found is None:
            return SignatureStatus("unknown")
        if not found.confirmed:  # another fork may still run it, or run it differently
            return SignatureStatus("unknown", None, found.slot)
        if found.err is not None:
            return SignatureStatus("failed", error_text(found.err), found.slot)
        return SignatureStatus("landed", None, found.slot)

    def find(self, transaction: bytes, *, age_ms: int | None = None) -> MessageStatus:
        """Look for a transaction's message among the newest transactions of its source account.

        This is for payers, who do not know the fee payer's signature. *age_ms*: milliseconds since
        the transaction was signed. It is "expired" only if its blockhash is, and the search covered
        all the time since then. Without an age only the account's whole history covers it.
        """
        message = VersionedTransaction.from_bytes(transaction).message
        # Ask about expiry first: a message that lands after the search must not be called expired.
        age = _CERTAIN_AFTER_MS if age_ms is None else age_ms
        expired = self.can_no_longer_land(message.recent_blockhash, age)
        source = _source_account(message)
        if source is None:
            return MessageStatus("unknown")
        history = self._ask(self.transport.history(source, limit=_NEWEST))
        signature, read_all = self._search(message, history, age_ms)
        if signature is not None:
            return MessageStatus(self.status(signature).state, signature)
        covered = read_all and self._covers(history, age_ms)
        return MessageStatus("expired" if expired and covered else "unknown")

    def _search(
        self, message: Any, history: History, age_ms: int | None
    ) -> tuple[str | None, bool]:
        """Return the signature of the transaction with this message, None if *history* lacks it,
        and whether every transaction that may hold the message could be read.
        """
        wanted, read_all = to_bytes_versioned(message), True
        for entry in history.entries:
            sent = self._ask(self.transport.sent_transaction(entry.signature))
            if sent is None:
                read_all &= _is_before(entry, age_ms)
            elif to_bytes_versioned(sent.message) == wanted:
                return str(entry.signature), True
        return None, read_all

    def _covers(self, history: History, age_ms: int | None) -> bool:
        """Whether *history* reaches back to the moment of signing.

        A node drops old history, so a short one is the whole only for a while.
        """
        in_process = self._certain_after_ms == 0
        if history.complete and (in_process or age_ms is None or age_ms <= _KEPT_MS):
            return True
        return any(_is_before(entry, age_ms) for entry in history.entries)

    def close(self) -> None:
        """Close the transport."""
        run(self.transport.close())


def rpc_chain(url: str | RpcTransport, *, network: str | None = None) -> PaymentChain:
    """Open the cluster of a node's *url*, or of a blocking RpcTransport.

    The network's name comes from the genesis hash; *network* overrides it, for a cluster that
    stands in for a public one. Raises ChainUnavailable if the node does not answer.
    """
    transport = RpcTransport(url, blocking=True) if isinstance(url, str) else url
    if network is not None:
        return PaymentChain(transport, network=network)
    try:
        genesis = run(transport.request("getGenesisHash"))
    except TransportError as error:
        if isinstance(url, str):
            run(transport.close())
        raise ChainUnavailable(str(error)) from error
    found = network_of_genesis(str(genesis), local=is_on_this_machine(transport.url))
    return PaymentChain(
        transport, network=found, embedded=genesis == ids.EMBEDDED_GENESIS
    )


def svm_chain(
    svm: LiteSVM | SvmTransport | None = None, network: str = DEVNET
) -> PaymentChain:
    """Make a chain on *svm*, or on a new LiteSVM: payments without a network, executed by the real
    token programs.
    """
    transport = svm if isinstance(svm, SvmTransport) else SvmTransport(svm)
    return PaymentChain(transport, network=network, certain_after_ms=0, embedded=True)


def error_text(error: str | dict[str, Any] | None) -> str | None:
    """Return a transaction error (`Outcome.err`) as text: a name as it is, an object as JSON."""
    return (
        error
        if error is None or isinstance(error, str)
        else orjson.dumps(error).decode()
    )


def _execute(svm: SvmTransport, transaction: VersionedTransaction) -> None:
    """Run a transaction on a LiteSVM as a cluster would take it. Raises ChainRejected."""
    signature = transaction.signatures[0]
    if run(svm.status(signature)) is not None:
        return
    run(svm.send(transaction, skip_preflight=True))
    outcome = run(svm.transaction(signature))
    assert outcome is not None  # the transport keeps the transactions that it sent
    if not _was_executed(outcome.err):
        # Errors before execution (blockhash, signatures, fees) leave no trace on a cluster: it may
        # be sent again.
        svm.forget(signature)
        raise ChainRejected(str(error_text(outcome.err)))


def _was_executed(error: str | dict[str, Any] | None) -> bool:
    """Whether a transaction with this outcome ran: without an error, or with an instruction's."""
    return error is None or (isinstance(error, dict) and "InstructionError" in error)


def _source_account(message: Any) -> Pubkey | None:
    """Return the first writable account that does not sign: the source of a transfer.

    Searching one account is enough, because a transaction is listed under each of its accounts.
    """
    header, keys = message.header, list(message.account_keys)
    signers = header.num_required_signatures
    writable: list[Pubkey] = keys[
        signers : len(keys) - header.num_readonly_unsigned_accounts
    ]
    return writable[0] if writable else None


def _is_before(entry: HistoryEntry, age_ms: int | None) -> bool:
    """Whether a transaction certainly landed before the payment of this age was signed."""
    if age_ms is None or entry.block_time is None:
        return False
    return entry.block_time < time.time() - age_ms / 1000 - _CLOCKS_DIFFER
