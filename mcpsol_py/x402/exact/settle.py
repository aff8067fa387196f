"""Settling: broadcast once, however often asked, and never call a payment paid that did not land.

The sponsor's signature is the transaction's id and is known before anything is sent, so it is recorded first. A retry
(after a time-out, a crash, by another replica) finds it and waits for that same signature; the same bytes may be sent
again, which the chain takes once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, TypeVar

from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainRejected, ChainUnavailable, PaymentChain
from mcpsol_py.x402.exact.verify import VerifiedTransfer

__all__ = [
    "MemorySettlements",
    "Settled",
    "Settlement",
    "SettlementStore",
    "Sponsor",
    "reconcile",
    "settle_transfer",
]

State = Literal["sending", "pending", "landed", "failed"]


@dataclass(frozen=True, slots=True)
class Settlement:
    """One payment's way onto the chain. `key` is the message's hash; `wire` the signed bytes.

    `state`: "sending" (somebody sends it and waits), "pending" (sent, nobody waits any more), "landed", "failed".
    """

    key: str
    signature: str
    payer: str
    wire: bytes
    state: State
    error: str | None = None


class SettlementStore(Protocol):
    """Where settlements are kept. `claim` is atomic over all who share the store."""

    def claim(self, settlement: Settlement) -> Settlement | None:
        """Records a new settlement; returns the one that is there already instead, when there is one."""

    def get(self, key: str) -> Settlement | None:
        """The settlement of that key."""

    def take_over(self, key: str, lease: float) -> bool:
        """Atomically: "pending" becomes "sending" again, and so does a "sending" row untouched for *lease* seconds (its
        process died). True for the one caller that may go on."""

    def update(self, key: str, state: State, error: str | None = None) -> None:
        """Moves a settlement on."""

    def release(self, key: str) -> None:
        """Forgets a settlement that certainly was not and cannot be executed, so that it may be tried again."""


class MemorySettlements:
    """A store in memory, for one process. Ended entries are forgotten after *keep* seconds (a blockhash lives 90 s)."""

    def __init__(self, keep: float = 600.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._rows: dict[str, tuple[float, Settlement]] = {}
        self._lock = threading.Lock()
        self._keep, self._clock = keep, clock

    def claim(self, settlement: Settlement) -> Settlement | None:
        """See SettlementStore."""
        with self._lock:
            horizon = self._clock() - self._keep
            for key in [
                k
                for k, (at, s) in self._rows.items()
                if at < horizon and s.state in ("landed", "failed")
            ]:
                del self._rows[key]
            found = self._rows.get(settlement.key)
            if found is not None:
                return found[1]
            self._rows[settlement.key] = (self._clock(), settlement)
            return None

    def get(self, key: str) -> Settlement | None:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            return found[1] if found else None

    def take_over(self, key: str, lease: float) -> bool:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            if found is None:
                return False
            at, row = found
            if row.state == "pending" or (row.state == "sending" and at + lease <= self._clock()):
                self._rows[key] = (self._clock(), replace(row, state="sending"))
                return True
            return False

    def update(self, key: str, state: State, error: str | None = None) -> None:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            if found is not None:
                self._rows[key] = (self._clock(), replace(found[1], state=state, error=error))

    def release(self, key: str) -> None:
        """See SettlementStore."""
        with self._lock:
            self._rows.pop(key, None)


class Sponsor(Protocol):
    """Signs as one of the facilitator's fee payers."""

    def addresses(self) -> list[str]:
        """The addresses it signs for."""

    def sign(self, address: str, message: bytes) -> Signature:
        """The signature of *address* over *message*."""


class KeypairSponsor:
    """Fee payers whose keys are in this process."""

    def __init__(self, *keypairs: Keypair) -> None:
        self._keys = {str(k.pubkey()): k for k in keypairs}

    def addresses(self) -> list[str]:
        """See Sponsor."""
        return list(self._keys)

    def sign(self, address: str, message: bytes) -> Signature:
        """See Sponsor."""
        return self._keys[address].sign_message(message)

    def __repr__(self) -> str:
        return f"KeypairSponsor({', '.join(self._keys)})"


@dataclass(frozen=True, slots=True)
class Settled:
    """A payment that landed."""

    signature: str
    payer: str


class Payable(Protocol):
    """A payer's transaction that may be signed and sent: `key` is its message's hash."""

    @property
    def key(self) -> str: ...
    @property
    def payer(self) -> str: ...
    @property
    def fee_payer(self) -> str: ...
    @property
    def transaction(self) -> VersionedTransaction: ...


P = TypeVar("P", bound=Payable)


def sponsored(transfer: Payable, sponsor: Sponsor) -> VersionedTransaction:
    """The transaction with the sponsor's signature in slot 0."""
    message = transfer.transaction.message
    signature = sponsor.sign(transfer.fee_payer, to_bytes_versioned(message))
    return VersionedTransaction.populate(message, [signature, *transfer.transaction.signatures[1:]])


def check_on_chain(chain: PaymentChain, transfer: VerifiedTransfer) -> None:
    """Would it land now? Says first what a buyer or a seller can mend; raises PaymentError."""
    # Without the sponsor's signature: an unpaid request must not make us sign anything.
    error = chain.simulation_error(transfer.transaction)
    if error is None:
        return
    if chain.get_accounts([transfer.destination])[0] is None:
        raise PaymentError(
            "invalid_exact_svm_payload_recipient_mismatch",
            f"the token account of {transfer.pay_to} for {transfer.mint} does not exist yet; "
            "the seller must create it once, since a sponsor never does",
        )
    raise PaymentError("transaction_simulation_failed", f"the payment would fail on chain: {error}")


def settle_transfer(
    chain: PaymentChain,
    store: SettlementStore,
    sponsor: Sponsor,
    transfer: VerifiedTransfer,
    **options: Any,
) -> Settled:
    """settle_payable for the transfer of `exact`."""
    return settle_payable(chain, store, sponsor, transfer, check_on_chain, **options)


def settle_payable(
    chain: PaymentChain,
    store: SettlementStore,
    sponsor: Sponsor,
    transfer: P,
    check: Callable[[PaymentChain, P], None],
    *,
    timeout: float = 30.0,
    poll: float = 0.5,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
    fault: Callable[[str], None] = lambda _point: None,
) -> Settled:
    """Checks (*check*, before anything is signed), signs as the sponsor, records, sends and waits.

    Raises PaymentError: what *check* raises; duplicate_settlement (this payment was settled already),
    settlement_pending (sent; ask again: the same signature is waited for), transaction_failed (it did not and cannot
    land, or landed with an error: not paid). *fault* is called with the name of each step, for tests that stop there.
    """
    known = store.get(transfer.key)
    if known is None:
        check(chain, transfer)
        signed = sponsored(transfer, sponsor)
        mine = Settlement(
            transfer.key, str(signed.signatures[0]), transfer.payer, bytes(signed), "sending"
        )
        if (
            chain.status(mine.signature).state != "unknown"
        ):  # another facilitator with this sponsor's key sent it
            raise PaymentError(
                "duplicate_settlement", f"this payment was settled elsewhere, by {mine.signature}"
            )
        fault("settle.before_claim")
        known = store.claim(mine)
        if known is None:
            fault("settle.claimed")
            return _send_and_wait(chain, store, mine, timeout, poll, sleep, clock, fault)
    return _join(chain, store, known, timeout, poll, sleep, clock, fault)


def reconcile(
    chain: PaymentChain,
    store: SettlementStore,
    key: str,
    *,
    timeout: float = 30.0,
    poll: float = 0.5,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> Settled:
    """Brings a settlement that a crash or a time-out left open to its end. Raises as settle_transfer does."""
    known = store.get(key)
    if known is None:
        raise PaymentError("transaction_failed", "no such settlement is on record")
    if known.state == "landed":
        return Settled(known.signature, known.payer)
    return _join(chain, store, known, timeout, poll, sleep, clock, lambda _point: None)


def _join(
    chain: PaymentChain,
    store: SettlementStore,
    known: Settlement,
    timeout: float,
    poll: float,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
    fault: Callable[[str], None],
) -> Settled:
    if known.state == "landed":
        raise PaymentError(
            "duplicate_settlement", f"this payment was settled already, by {known.signature}"
        )
    if known.state == "failed":
        raise PaymentError(
            "transaction_failed", f"this payment failed on chain ({known.error}); make a new one"
        )
    # Of several requests with one payment a single one may be told "paid": the one that sends, or the one that takes
    # over.
    if not store.take_over(known.key, lease=2 * timeout):
        raise PaymentError(
            "duplicate_settlement",
            f"this payment is being settled by another request, as {known.signature}",
        )
    # Whoever recorded it may have stopped before or after sending. The bytes are the same, so sending is safe.
    return _send_and_wait(chain, store, known, timeout, poll, sleep, clock, fault)


def _send_and_wait(
    chain: PaymentChain,
    store: SettlementStore,
    row: Settlement,
    timeout: float,
    poll: float,
    sleep: Callable[[float], None],
    clock: Callable[[], float],
    fault: Callable[[str], None],
) -> Settled:
    transaction = VersionedTransaction.from_bytes(row.wire)
    blockhash = transaction.message.recent_blockhash
    deadline = clock() + timeout
    sent, why = False, "not sent yet"
    while True:
        try:
            if not sent:
                fault("settle.before_send")
                chain.send(row.wire)
                fault("settle.sent")
                sent, why = True, "not confirmed yet"
        except ChainRejected as error:
            if chain.status(row.signature).state == "unknown":
                store.release(row.key)
                raise PaymentError(
                    "transaction_failed", f"the cluster refused the transaction: {error}"
                ) from error
            sent = True
        except (
            ChainUnavailable
        ) as error:  # it may have been taken all the same: the status below tells
            why = f"the cluster did not answer ({error})"
        try:
            status = chain.status(row.signature)
            if status.state == "landed":
                fault("settle.landed")
                store.update(row.key, "landed")
                return Settled(row.signature, row.payer)
            if status.state == "failed":
                store.update(row.key, "failed", status.error)
                raise PaymentError(
                    "transaction_failed", f"{row.signature} failed on chain: {status.error}"
                )
            # Expired is asked before the last look at the status: it may land between the two, never after both.
            if (
                chain.blockhash_expired(blockhash)
                and chain.status(row.signature).state == "unknown"
            ):
                store.update(row.key, "failed", "its blockhash expired before it landed")
                raise PaymentError(
                    "transaction_failed",
                    f"{row.signature} did not land before its blockhash expired",
                )
        except ChainUnavailable as error:
            why = f"the cluster did not answer ({error})"
        if clock() >= deadline:
            store.update(row.key, "pending")
            raise PaymentError(
                "settlement_pending", f"{row.signature}: {why}; settle again to go on waiting"
            )
        sleep(poll)
