"""A Chain on a cluster, over the client's JSON-RPC transport."""

from __future__ import annotations

import base64
import time
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import orjson
from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import run
from mcpsol_py.errors import TransportError
from mcpsol_py.x402.chain.chain import (
    AccountData,
    ChainRejected,
    ChainUnavailable,
    MessageStatus,
    SignatureStatus,
    Simulated,
)
from mcpsol_py.x402.protocol.networks import network_of_genesis

__all__ = ["RpcChain"]

T = TypeVar("T")

#: How many of an account's newest signatures `find` looks at: a payment is looked for within minutes of being made.
_NEWEST = 100
#: Where these do not reach so far back (seconds), a payment that is not among them is not called expired.
_REACH = 24 * 3600


class RpcChain:
    """See Chain. *url* is a node's, or a transport that blocks. The network is read from the genesis hash, once;
    *network* says another, for a local cluster that stands in for one."""

    def __init__(self, url: str | RpcTransport, *, network: str | None = None) -> None:
        self._rpc = RpcTransport(url, blocking=True) if isinstance(url, str) else url
        try:
            self.network = network or network_of_genesis(
                str(self._ask(self._rpc.request("getGenesisHash")))
            )
        except ChainUnavailable:
            if isinstance(url, str):
                self.close()
            raise

    def _ask(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return run(coroutine)
        except TransportError as error:
            raise ChainUnavailable(str(error)) from error

    def get_accounts(self, addresses: Sequence[str]) -> list[AccountData | None]:
        """See Chain."""
        found = self._ask(self._rpc.get_accounts([Pubkey.from_string(a) for a in addresses]))
        return [
            AccountData(a.lamports, str(a.owner), bytes(a.data)) if a is not None else None
            for a in found
        ]

    def latest_blockhash(self) -> tuple[str, int]:
        """See Chain."""
        found = self._ask(self._rpc.latest_blockhash())
        return str(found.value), found.last_valid_block_height

    def blockhash_expired(self, blockhash: str, last_valid_block_height: int | None = None) -> bool:
        """See Chain. Asked at "finalized" too: a fork's tip may have dropped a blockhash that the chain still takes."""
        for commitment in ("confirmed", "finalized"):
            answer = self._ask(
                self._rpc.request("isBlockhashValid", [blockhash, {"commitment": commitment}])
            )
            if answer["value"]:
                return False
        return True

    def simulate(self, transaction: bytes, *, verify_signatures: bool) -> Simulated:
        """See Chain. The blockhash is not replaced: an expired one must fail here as it would there."""
        options = {"encoding": "base64", "commitment": "confirmed", "sigVerify": verify_signatures}
        answer = self._ask(
            self._rpc.request("simulateTransaction", [_base64(transaction), options])
        )["value"]
        error = answer.get("err")
        text = (
            None
            if error is None
            else error
            if isinstance(error, str)
            else orjson.dumps(error).decode()
        )
        return Simulated(
            text, tuple(answer.get("logs") or ()), int(answer.get("unitsConsumed") or 0)
        )

    def send(self, transaction: bytes) -> str:
        """See Chain. Without preflight: it was simulated, and a preflight's refusal would leave open whether it was
        sent.
        """
        try:
            signature, refused = run(
                self._rpc.send(VersionedTransaction.from_bytes(transaction), skip_preflight=True)
            )
        except TransportError as error:
            if getattr(error, "code", None) is not None:  # the node read it and said no
                raise ChainRejected(str(error)) from error
            raise ChainUnavailable(str(error)) from error
        if refused is not None and refused.err is not None:
            raise ChainRejected(str(refused.err))
        return str(signature)

    def status(self, signature: str) -> SignatureStatus:
        """See Chain."""
        found = self._ask(self._rpc.status(Signature.from_string(signature)))
        if found is None:
            return SignatureStatus("unknown")
        if found.err is not None:
            return SignatureStatus("failed", str(found.err), found.slot)
        return SignatureStatus("landed" if found.confirmed else "unknown", None, found.slot)

    def find(self, transaction: bytes) -> MessageStatus:
        """See Chain: looks through the newest transactions of the payment's source account for this very message."""
        message = VersionedTransaction.from_bytes(transaction).message
        wanted = to_bytes_versioned(message)
        blockhash = str(message.recent_blockhash)
        expired = self.blockhash_expired(
            blockhash
        )  # asked first: what lands after this look is not called expired
        for account in _writable_unsigned(message):
            rows = self._newest(account)
            for row in rows:
                signature = str(row["signature"])
                if self._message_of(signature) == wanted:
                    return MessageStatus(self.status(signature).state, signature)
            if len(rows) >= _NEWEST:  # it may stand below them
                oldest = rows[-1].get("blockTime")
                expired = expired and oldest is not None and oldest < time.time() - _REACH
        return MessageStatus("expired" if expired else "unknown")

    def _newest(self, account: Pubkey) -> list[dict[str, Any]]:
        options = {"limit": _NEWEST, "commitment": "confirmed"}
        found: list[dict[str, Any]] = self._ask(
            self._rpc.request("getSignaturesForAddress", [str(account), options])
        )
        return found

    def _message_of(self, signature: str) -> bytes | None:
        options = {
            "encoding": "base64",
            "commitment": "confirmed",
            "maxSupportedTransactionVersion": 0,
        }
        found = self._ask(self._rpc.request("getTransaction", [signature, options]))
        if found is None:
            return None
        return to_bytes_versioned(
            VersionedTransaction.from_bytes(base64.b64decode(found["transaction"][0])).message
        )

    def close(self) -> None:
        """Gives back its socket and thread."""
        run(self._rpc.close())


def _base64(transaction: bytes) -> str:
    return base64.b64encode(transaction).decode()


def _writable_unsigned(message: Any) -> list[Pubkey]:
    """The first writable account that signs nothing: a transfer's source. Listing one account is enough, since a
    transaction is listed under each of its accounts."""
    header, keys = message.header, list(message.account_keys)
    signers = header.num_required_signatures
    writable = keys[signers : len(keys) - header.num_readonly_unsigned_accounts]
    return writable[:1]
