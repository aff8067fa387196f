"""Several payments of one token in one transaction that the agent signs and sends itself."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Spending
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
)
from mcpsol_py.x402.exact.transaction import (
    PaymentTerms,
    compute_unit_limit,
    memo,
    transfer_checked,
)
from mcpsol_py.x402.protocol.payment_ids import check_payment_id
from mcpsol_py.x402.threads import in_thread

__all__ = ["Transfer", "batch_spendings", "send_until_landed", "sign_batch"]

#: How many TransferChecked fit into a transaction of 1,232 bytes with a memo and the fee.
MOST_TRANSFERS = 8
_UNITS_PER_TRANSFER = 20_000
#: Seconds between two looks at a transaction's status.
_POLL = 0.5


@dataclass(frozen=True, slots=True)
class Transfer:
    """One payment of a batch: `amount` base units of `mint` to the wallet `pay_to`, identified by
    `payment_id`.
    """

    payment_id: str
    pay_to: str
    mint: str
    amount: int


def batch_spendings(
    batch: Sequence[Transfer], *, wallet: str, session: str, network: str
) -> list[Spending]:
    """Return what a batch spends. Raises PaymentError(INVALID_REQUIREMENT) if it cannot be one
    transaction.
    """
    _check_batch(batch)
    request = hashlib.sha256(
        repr([(t.pay_to, t.amount, t.mint) for t in batch]).encode()
    ).hexdigest()
    return [
        Spending(
            wallet=wallet,
            payment_id=transfer.payment_id,
            session=session,
            network=network,
            asset=transfer.mint,
            amount=transfer.amount,
            pay_to=transfer.pay_to,
            resource=f"transfer to {transfer.pay_to}",
            request=request,
        )
        for transfer in batch
    ]


def _check_batch(batch: Sequence[Transfer]) -> None:
    if not 1 <= len(batch) <= MOST_TRANSFERS:
        raise PaymentError(
            "INVALID_REQUIREMENT",
            f"expected 1 to {MOST_TRANSFERS} payments, got {len(batch)}",
        )
    mints = {transfer.mint for transfer in batch}
    ids = {transfer.payment_id for transfer in batch}
    if len(mints) != 1 or len(ids) != len(batch):
        raise PaymentError(
            "INVALID_REQUIREMENT",
            "the payments of a batch must be of one token and have different payment ids",
        )
    for transfer in batch:
        check_payment_id(transfer.payment_id)


def sign_batch(
    batch: Sequence[Transfer],
    keypair: Keypair,
    chain: PaymentChain,
    *,
    token_program: Pubkey,
    decimals: int,
    sources: Mapping[str, Pubkey],
) -> VersionedTransaction:
    """Build and sign the transaction. *sources*: payment id -> the token account that pays."""
    payer = keypair.pubkey()
    try:
        terms = [
            PaymentTerms(
                payer=payer,
                pay_to=Pubkey.from_string(transfer.pay_to),
                mint=Pubkey.from_string(transfer.mint),
                decimals=decimals,
                token_program=token_program,
                amount=transfer.amount,
                fee_payer=payer,
                source=sources[transfer.payment_id],
            )
            for transfer in batch
        ]
    except ValueError as error:
        raise PaymentError(
            "INVALID_REQUIREMENT", "payTo of a payment is not an address"
        ) from error
    name = hashlib.sha256(" ".join(t.payment_id for t in batch).encode()).hexdigest()[
        :32
    ]
    instructions = [
        compute_unit_limit(_UNITS_PER_TRANSFER * len(batch)),
        *map(transfer_checked, terms),
        memo(f"batch {name}"),
    ]
    message = MessageV0.try_compile(payer, instructions, [], chain.latest_blockhash())
    return VersionedTransaction(message, [keypair])


async def send_until_landed(
    chain: PaymentChain, wire: bytes, signature: str, timeout: float
) -> bool:
    """Send a signed transaction until it landed (True) or certainly failed or cannot land any more
    (False).

    Raises PaymentError(OUTCOME_UNKNOWN) if neither is certain after *timeout* seconds.
    """
    started = time.monotonic()
    blockhash = VersionedTransaction.from_bytes(wire).message.recent_blockhash
    may_have_arrived = False
    while (waited := time.monotonic() - started) < timeout:
        arrived_before = may_have_arrived
        try:
            # Expiry is asked before the status: it may land between the two, never after both.
            gone = await in_thread(
                chain.can_no_longer_land, blockhash, int(waited * 1000)
            )
            if not gone:
                may_have_arrived = True  # a send whose answer is lost may have arrived
                await in_thread(chain.send, wire)
            status = await in_thread(chain.status, signature)
            if status.state == "landed":
                return True
            if status.state == "failed" or gone:
                return False
        except ChainRejected:
            may_have_arrived = arrived_before
            if not may_have_arrived:  # no node has taken it
                return False
        except ChainUnavailable:
            pass
        await asyncio.sleep(_POLL)
    raise PaymentError(
        "OUTCOME_UNKNOWN",
        f"the transaction {signature} was sent; whether it landed is not known yet",
    )
