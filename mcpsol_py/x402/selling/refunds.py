"""Refunds: the merchant sends a payer its tokens back, at most the paid amount.

A refund is recorded with its signature before it is sent. If its outcome is not known, no other one
is made until it is: it landed, it failed, or it can no longer land.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from solders.hash import Hash
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.batch_transfer import send_until_landed
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.transaction import (
    PaymentTerms,
    associated_token_address,
    build_message,
)
from mcpsol_py.x402.protocol.networks import caip2
from mcpsol_py.x402.store.receipts import Receipt, Receipts
from mcpsol_py.x402.store.refund_log import Refund, RefundLog
from mcpsol_py.x402.threads import in_thread

__all__ = ["Refunds"]

_MAX_REASON = 200


class Refunds:
    """Makes the refunds of one merchant. *wallet* pays and signs them.

    *timeout* is how many seconds a refund is waited for.
    """

    def __init__(
        self,
        receipts: Receipts,
        log: RefundLog,
        chain: PaymentChain,
        wallet: Keypair,
        *,
        timeout: float = 90.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._receipts, self._log, self._chain = receipts, log, chain
        self._wallet, self._timeout, self._clock = wallet, timeout, clock

    async def refund(
        self, payment_id: str, amount: int | None = None, *, reason: str = ""
    ) -> Refund:
        """Send *amount* base units back to the payer of *payment_id*, by default all that is left.

        Raises PaymentError: no_receipt, not_refundable, refund_too_large, refund_pending (its
        outcome is not known yet: call again later), refund_failed. Raises ChainUnavailable before
        anything is sent, and StorageError.
        """
        receipt = await in_thread(self._receipts.get, payment_id)
        if receipt is None:
            raise PaymentError(
                "no_receipt", f"{payment_id}: no payment of that id has landed"
            )
        known = await self._settled(payment_id)
        left = (receipt.amount or 0) - sum(
            r.amount for r in known if r.state == "landed"
        )
        asked = left if amount is None else amount
        if left == 0:
            raise PaymentError("refund_too_large", f"{payment_id} was refunded in full")
        if not 0 < asked <= left:
            raise PaymentError(
                "refund_too_large",
                f"{payment_id}: {left:,} base units are left to refund, got {asked:,}",
            )
        transaction = await in_thread(self._signed, receipt, asked)
        refund = Refund(
            payment_id=payment_id,
            signature=str(transaction.signatures[0]),
            amount=asked,
            payer=str(receipt.payer),
            blockhash=str(transaction.message.recent_blockhash),
            reason=reason[:_MAX_REASON],
        )
        if not await in_thread(self._log.begin, refund, known):
            raise PaymentError(
                "refund_pending", "another refund of this payment was made just now"
            )
        return await self._send(refund, bytes(transaction))

    async def _settled(self, payment_id: str) -> list[Refund]:
        """Return the earlier refunds of a payment, each of which has ended.

        Another command may begin one at any time. One that has not ended counts for nothing yet, so it is never among
        those that are returned.
        """
        while True:
            known = await in_thread(self._log.of, payment_id)
            open_ones = [earlier for earlier in known if earlier.state == "sent"]
            if not open_ones:
                return known
            for earlier in open_ones:
                await self._end(earlier)

    async def _end(self, earlier: Refund) -> None:
        """Record the outcome of a refund that an earlier command left open."""
        age_ms = int(self._clock() * 1000) - earlier.at_ms
        # Expiry is asked before the status: it may land between the two, never after both.
        gone = await in_thread(
            self._chain.can_no_longer_land, Hash.from_string(earlier.blockhash), age_ms
        )
        state = (await in_thread(self._chain.status, earlier.signature)).state
        if state in ("landed", "failed") or gone:
            await in_thread(lambda: self._log.end(earlier, landed=state == "landed"))
            return
        raise PaymentError(
            "refund_pending",
            f"the earlier refund {earlier.signature} may still land; call again in a few minutes",
        )

    def _signed(self, receipt: Receipt, amount: int) -> VersionedTransaction:
        if receipt.payer is None or receipt.asset is None:
            raise PaymentError(
                "not_refundable", "the receipt names no payer or no token"
            )
        if caip2(str(receipt.network)) != self._chain.network:
            raise PaymentError(
                "not_refundable",
                f"it was paid on {receipt.network}, and this cluster is {self._chain.network}",
            )
        program, decimals = Mints(self._chain).payable(
            receipt.asset, amount, to=receipt.payer
        )
        payer, mint = (
            Pubkey.from_string(receipt.payer),
            Pubkey.from_string(receipt.asset),
        )
        account = associated_token_address(payer, mint, program)
        if self._chain.get_accounts([str(account)])[0] is None:
            raise PaymentError(
                "not_refundable", f"the payer has no token account {account}"
            )
        # Its memo is random, so that two refunds of one amount are two transactions.
        terms = PaymentTerms(
            payer=self._wallet.pubkey(),
            pay_to=payer,
            mint=mint,
            decimals=decimals,
            token_program=program,
            amount=amount,
            fee_payer=self._wallet.pubkey(),
        )
        message = build_message(terms, str(self._chain.latest_blockhash()))
        transaction = VersionedTransaction(message, [self._wallet])
        refused = self._chain.simulation_error(transaction)
        if refused is not None:
            raise PaymentError("refund_failed", f"the transfer would fail: {refused}")
        return transaction

    async def _send(self, refund: Refund, wire: bytes) -> Refund:
        try:
            landed = await send_until_landed(
                self._chain, wire, refund.signature, self._timeout
            )
        except PaymentError as error:
            raise PaymentError(
                "refund_pending",
                f"the refund {refund.signature} was sent, and its outcome is not known yet; call "
                "again in a few minutes",
            ) from error
        await in_thread(lambda: self._log.end(refund, landed=landed))
        if not landed:
            raise PaymentError(
                "refund_failed", f"the refund {refund.signature} did not land"
            )
        return replace(refund, state="landed")
