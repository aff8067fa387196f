"""Settle a payment: broadcast it once, however often asked, and report it paid only after it
landed.

The sponsor's signature is the transaction's id and is known before anything is sent, so it is
recorded first. A retry (after a time-out, after a crash, by another replica) finds the record and
waits for the same signature. It may send the same bytes again, because the chain executes them
once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol, TypeVar

from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.fees import fee_lamports
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
)
from mcpsol_py.x402.exact.received import check_account, check_received
from mcpsol_py.x402.exact.sponsor_fee import check_fee
from mcpsol_py.x402.exact.verify import FEE_TOO_HIGH, VerifiedTransfer

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
    """The record of one payment being settled. `key` is the message's hash, `wire` the signed
    bytes.

    `state`: "sending" (a request sends it and waits), "pending" (sent, nobody waits any more),
    "landed", "failed".
    """

    key: str
    signature: str
    payer: str
    wire: bytes = field(repr=False)
    state: State
    error: str | None = None


class SettlementStore(Protocol):
    """Keeps settlements. `claim` and `take_over` are atomic over all processes that share the
    store.
    """

    def claim(self, settlement: Settlement) -> Settlement | None:
        """Record a new settlement. If the store has one of this key, return that one and record
        nothing.
        """

    def get(self, key: str) -> Settlement | None:
        """Return the settlement of that key."""

    def take_over(self, key: str, lease: float) -> bool:
        """Set a "pending" row to "sending", or a "sending" row untouched for *lease* seconds (its
        process died).

        Return True for the one caller that may go on.
        """

    def update(self, key: str, state: State, error: str | None = None) -> None:
        """Set the state of a settlement."""

    def age_ms(self, key: str) -> int:
        """Return the milliseconds since a settlement was recorded, 0 if it is not on record."""

    def release(self, key: str) -> None:
        """Forget a settlement that was not and cannot be executed, so that it may be tried again."""


@dataclass(slots=True)
class _Kept:
    """A settlement in memory, and when it was recorded and last changed, in seconds of the clock."""

    settlement: Settlement
    recorded: float
    touched: float


class MemorySettlements:
    """A store in memory, for one process. It forgets ended entries after *keep* seconds (a
    blockhash lives 90 s).
    """

    def __init__(
        self, keep: float = 600.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rows: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self._keep, self._clock = keep, clock

    def claim(self, settlement: Settlement) -> Settlement | None:
        """See SettlementStore."""
        with self._lock:
            self._forget_ended()
            found = self._rows.get(settlement.key)
            if found is not None:
                return found.settlement
            now = self._clock()
            self._rows[settlement.key] = _Kept(settlement, now, now)
            return None

    def _forget_ended(self) -> None:
        horizon = self._clock() - self._keep
        for key, row in list(self._rows.items()):
            if row.touched < horizon and row.settlement.state in ("landed", "failed"):
                del self._rows[key]

    def get(self, key: str) -> Settlement | None:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            return found.settlement if found else None

    def take_over(self, key: str, lease: float) -> bool:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            if found is None:
                return False
            state, now = found.settlement.state, self._clock()
            abandoned = state == "sending" and found.touched + lease <= now
            if state != "pending" and not abandoned:
                return False
            found.settlement, found.touched = (
                replace(found.settlement, state="sending"),
                now,
            )
            return True

    def update(self, key: str, state: State, error: str | None = None) -> None:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            if found is not None:
                found.settlement = replace(found.settlement, state=state, error=error)
                found.touched = self._clock()

    def age_ms(self, key: str) -> int:
        """See SettlementStore."""
        with self._lock:
            found = self._rows.get(key)
            return 0 if found is None else int((self._clock() - found.recorded) * 1000)

    def release(self, key: str) -> None:
        """See SettlementStore."""
        with self._lock:
            self._rows.pop(key, None)


class Sponsor(Protocol):
    """Signs as one of the facilitator's fee payers."""

    def addresses(self) -> list[str]:
        """Return the addresses that it signs for."""

    def sign(self, address: str, message: bytes) -> Signature:
        """Return the signature of *address* over *message*."""


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
    """A transaction that is ready for the sponsor to sign and send. `key` is its message's hash.

    `most_lamports` is the highest fee that the sponsor pays for it; None: the sponsor made it.
    """

    @property
    def key(self) -> str: ...
    @property
    def payer(self) -> str: ...
    @property
    def fee_payer(self) -> str: ...
    @property
    def transaction(self) -> VersionedTransaction: ...
    @property
    def most_lamports(self) -> int | None: ...


P = TypeVar("P", bound=Payable)


def sponsored(transfer: Payable, sponsor: Sponsor) -> VersionedTransaction:
    """Return the transaction with the sponsor's signature in slot 0.

    Every signature of a sponsor is made here, so the highest fee is checked here once more. Raises
    PaymentError if the fee is higher.
    """
    message = transfer.transaction.message
    if transfer.most_lamports is not None:
        check_fee(fee_lamports(message), transfer.most_lamports, FEE_TOO_HIGH)
    signature = sponsor.sign(transfer.fee_payer, to_bytes_versioned(message))
    return VersionedTransaction.populate(
        message, [signature, *transfer.transaction.signatures[1:]]
    )


def check_on_chain(chain: PaymentChain, transfer: VerifiedTransfer) -> None:
    """Check that the payee would get the whole amount, and simulate the transfer. Raises
    PaymentError, first with a reason that the buyer or the seller can act on.
    """
    if transfer.has_extensions:  # a fee is not seen in a simulation
        check_received(chain, transfer.mint, transfer.destination, transfer.amount)
    # Simulated without the sponsor's signature: an unpaid request must not make us sign anything.
    error = chain.simulation_error(transfer.transaction)
    if error is None:
        return
    account = chain.get_accounts([transfer.destination])[0]
    check_account(f"the payee's token account {transfer.destination}", account)
    if account is None:
        raise PaymentError(
            "invalid_exact_svm_payload_recipient_mismatch",
            f"the token account of {transfer.pay_to} for {transfer.mint} does not exist yet; "
            "the seller must create it once, since a sponsor never does",
        )
    raise PaymentError(
        "transaction_simulation_failed", f"the payment would fail on chain: {error}"
    )


def settle_transfer(
    chain: PaymentChain,
    store: SettlementStore,
    sponsor: Sponsor,
    transfer: VerifiedTransfer,
    **options: Any,
) -> Settled:
    """Settle a transfer of the `exact` scheme. See settle_payable for options and errors."""
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
    """Check, sign as the sponsor, record, send, and wait until the transaction landed.

    *check* runs before anything is signed. *timeout* and *poll* are in seconds. *fault* is called
    with the name of each step, for tests that stop there.

    Raises PaymentError: those of *check*; duplicate_settlement (this payment was settled already);
    settlement_pending (sent; settle again to go on waiting for the same signature);
    transaction_failed (it did not and cannot land, or landed with an error: not paid).
    """
    settling = _Settling(chain, store, timeout, poll, sleep, clock, fault)
    known = store.get(transfer.key)
    if known is not None:
        return settling.join(known)
    check(chain, transfer)
    signed = sponsored(transfer, sponsor)
    mine = Settlement(
        transfer.key,
        str(signed.signatures[0]),
        transfer.payer,
        bytes(signed),
        "sending",
    )
    if chain.status(mine.signature).state != "unknown":
        # Another facilitator with this sponsor's key sent it.
        raise PaymentError(
            "duplicate_settlement",
            f"this payment was settled elsewhere, by {mine.signature}",
        )
    fault("settle.before_claim")
    known = store.claim(mine)
    if known is not None:
        return settling.join(known)
    fault("settle.claimed")
    return settling.send_and_wait(mine, is_out=False)


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
    """Finish a settlement that a crash or a time-out left open. Raises as settle_transfer."""
    known = store.get(key)
    if known is None:
        raise PaymentError("transaction_failed", "no such settlement is on record")
    if known.state == "landed":
        return Settled(known.signature, known.payer)
    settling = _Settling(chain, store, timeout, poll, sleep, clock, lambda _point: None)
    return settling.join(known)


@dataclass(frozen=True, slots=True)
class _Settling:
    """Sends recorded settlements and waits for them."""

    chain: PaymentChain
    store: SettlementStore
    timeout: float
    poll: float
    sleep: Callable[[float], None]
    clock: Callable[[], float]
    fault: Callable[[str], None]

    def join(self, known: Settlement) -> Settled:
        """Take over a settlement that is on record, unless it ended or another request works on it."""
        if known.state == "landed":
            raise PaymentError(
                "duplicate_settlement",
                f"this payment was settled already, by {known.signature}",
            )
        if known.state == "failed":
            raise PaymentError(
                "transaction_failed",
                f"this payment failed on chain ({known.error}); make a new one",
            )
        # Several requests may carry one payment. Only one of them may succeed: the one that sends,
        # or takes over.
        if not self.store.take_over(known.key, lease=2 * self.timeout):
            raise PaymentError(
                "duplicate_settlement",
                f"this payment is being settled by another request, as {known.signature}",
            )
        # The process that recorded it may have stopped before or after sending. The bytes are the
        # same, so sending them again is safe.
        return self.send_and_wait(known, is_out=True)

    def send_and_wait(self, row: Settlement, *, is_out: bool) -> Settled:
        """Send until the cluster took it, then wait until it landed or can no longer land.

        *is_out*: an earlier attempt may have sent it already.
        """
        blockhash = VersionedTransaction.from_bytes(row.wire).message.recent_blockhash
        deadline = self.clock() + self.timeout
        sent, why = False, "not sent yet"
        while True:
            try:
                if not sent:
                    self._send(row, is_out)
                    sent, why = True, "not confirmed yet"
            except ChainUnavailable as error:
                # The cluster may have taken it all the same; the status below decides.
                is_out, why = True, f"the cluster did not answer ({error})"
            try:
                if self._landed(row, blockhash):
                    return Settled(row.signature, row.payer)
            except ChainUnavailable as error:
                why = f"the cluster did not answer ({error})"
            if self.clock() >= deadline:
                self.store.update(row.key, "pending")
                raise PaymentError(
                    "settlement_pending",
                    f"{row.signature}: {why}; settle again to go on waiting",
                )
            self.sleep(self.poll)

    def _send(self, row: Settlement, is_out: bool) -> None:
        """Raises PaymentError if the cluster refused a transaction that was never sent before.

        If it may be out already, a refusal proves nothing: the first one may have landed, and a node
        that lags behind does not know it.
        """
        self.fault("settle.before_send")
        try:
            self.chain.send(row.wire)
        except ChainRejected as error:
            if is_out or self.chain.status(row.signature).state != "unknown":
                return
            self.store.release(row.key)
            raise PaymentError(
                "transaction_failed", f"the cluster refused the transaction: {error}"
            ) from error
        self.fault("settle.sent")

    def _landed(self, row: Settlement, blockhash: Hash) -> bool:
        """Whether it landed, recorded. Raises PaymentError if it failed or can no longer land."""
        status = self.chain.status(row.signature)
        if status.state == "landed":
            self.fault("settle.landed")
            self.store.update(row.key, "landed")
            return True
        if status.state == "failed":
            self.store.update(row.key, "failed", status.error)
            raise PaymentError(
                "transaction_failed", f"{row.signature} failed on chain: {status.error}"
            )
        # Ask for the status once more after the expiry: it may land between the two, never after
        # both. A node that is behind calls a new blockhash expired, so its age counts too.
        if not self.chain.can_no_longer_land(blockhash, self.store.age_ms(row.key)):
            return False
        if self.chain.status(row.signature).state != "unknown":
            return False
        self.store.update(row.key, "failed", "its blockhash expired before it landed")
        raise PaymentError(
            "transaction_failed",
            f"{row.signature} did not land before its blockhash expired",
        )
