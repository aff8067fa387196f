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
from mcpsol_py.client.transport import History, Transport, run
from mcpsol_py.errors import TransportError
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
#: If an account has more signatures than that, the oldest one read must be this old (seconds)
#: before `find` calls a payment expired.
_SEARCHED_SECONDS = 24 * 3600


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
    *network* is the CAIP-2 name that payment requirements use for this cluster.
    """

    def __init__(self, transport: Transport, *, network: str) -> None:
        self.transport = transport
        self.network = network
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
        keys = [Pubkey.from_string(address) for address in addresses]
        return self._ask(self.transport.get_accounts(keys))

    def latest_blockhash(self) -> Hash:
        """Return a recent blockhash."""
        return self._ask(self.transport.latest_blockhash()).value

    def blockhash_expired(self, blockhash: Hash) -> bool:
        """Return True only if a transaction with this blockhash can no longer land."""
        return not self._ask(self.transport.blockhash_valid(blockhash))

    def simulation_error(self, transaction: VersionedTransaction) -> str | None:
        """Simulate without checking signatures and return the error's text, None on success.

        The transaction's blockhash is not replaced, so that an expired one fails here as it would
        when sent.
        """
        outcome = self._ask(self.transport.simulate(transaction, replace_blockhash=False))
        return error_text(outcome.err)

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
                signature, refused = run(self.transport.send(signed, skip_preflight=True))
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
        if found.err is not None:
            return SignatureStatus("failed", error_text(found.err), found.slot)
        return SignatureStatus("landed" if found.confirmed else "unknown", None, found.slot)

    def find(self, transaction: bytes) -> MessageStatus:
        """Look for a transaction's message among the newest transactions of its source account.

        This is for payers, who do not know the fee payer's signature.
        """
        message = VersionedTransaction.from_bytes(transaction).message
        # Ask about expiry first: a message that lands after the search must not be called expired.
        expired = self.blockhash_expired(message.recent_blockhash)
        source = _source_account(message)
        if source is None:
            return MessageStatus("expired" if expired else "unknown")
        history = self._ask(self.transport.history(source, limit=_NEWEST))
        signature = self._signature_of(message, history)
        if signature is not None:
            return MessageStatus(self.status(signature).state, signature)
        searched = history.complete or _long_ago(history.entries[-1].block_time)
        return MessageStatus("expired" if expired and searched else "unknown")

    def _signature_of(self, message: Any, history: History) -> str | None:
        """Return the signature of the transaction with this message, None if *history* lacks it."""
        wanted = to_bytes_versioned(message)
        for entry in history.entries:
            sent = self._ask(self.transport.sent_transaction(entry.signature))
            if sent is not None and to_bytes_versioned(sent.message) == wanted:
                return str(entry.signature)
        return None

    def close(self) -> None:
        """Close the transport."""
        run(self.transport.close())


def rpc_chain(url: str | RpcTransport, *, network: str | None = None) -> PaymentChain:
    """Open the cluster of a node's *url*, or of a blocking RpcTransport.

    The network's name comes from the genesis hash; *network* overrides it, for a local cluster that
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
    return PaymentChain(transport, network=network_of_genesis(str(genesis)))


def svm_chain(svm: LiteSVM | SvmTransport | None = None, network: str = DEVNET) -> PaymentChain:
    """Make a chain on *svm*, or on a new LiteSVM: payments without a network, executed by the real
    token programs.
    """
    transport = svm if isinstance(svm, SvmTransport) else SvmTransport(svm)
    return PaymentChain(transport, network=network)


def error_text(error: str | dict[str, Any] | None) -> str | None:
    """Return a transaction error (`Outcome.err`) as text: a name as it is, an object as JSON."""
    return error if error is None or isinstance(error, str) else orjson.dumps(error).decode()


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
    writable: list[Pubkey] = keys[signers : len(keys) - header.num_readonly_unsigned_accounts]
    return writable[0] if writable else None


def _long_ago(block_time: int | None) -> bool:
    return block_time is not None and block_time < time.time() - _SEARCHED_SECONDS
