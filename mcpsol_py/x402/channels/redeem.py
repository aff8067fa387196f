"""What is done out of band with channels: a seller turns vouchers into money, a sponsor gets its rent back.

Both are periodic jobs: safe to run at any time, by several processes at once, and again after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.pubkey import Pubkey
from x402.schemas import PaymentPayload, PaymentRequirements, SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.channels.batch import (
    CODE,
    SCHEME,
    BatchPayment,
    config_of,
    read_config,
    voucher_of,
)
from mcpsol_py.x402.channels.batch_facilitator import MOST
from mcpsol_py.x402.channels.batch_server import BatchServer
from mcpsol_py.x402.channels.channel_facilitator import ChannelDesk
from mcpsol_py.x402.channels.program import Parties
from mcpsol_py.x402.store.channels import PaidChannel, Sponsored, SponsoredChannels

__all__ = ["Redeemed", "redeem", "tidy"]

#: Seconds that a close may take; a CloseAuthorization is signed for no longer.
_TIMEOUT = 120
#: Seconds after a ceiling's expiry in which its seller may still come with a claim.
ABANDONED = 120


@dataclass
class Redeemed:
    """What one pass did. `problems` are the facilitator's reasons, by channel."""

    claimed: int = 0
    paid_out: int = 0
    sealed: int = 0
    problems: dict[str, str] = field(default_factory=dict)


async def redeem(
    server: BatchServer,
    facilitator: Any,
    *,
    chain: PaymentChain | None = None,
    at_least: int = 1,
    limit: int = 200,
) -> Redeemed:
    """Claims the newest vouchers of a merchant's channels, pays them out, and seals channels that payers are closing.

    Vouchers do not expire, but a payer who asks for the close takes back, after its grace period, what no voucher
    proved on chain, and a facilitator closes channels that lie idle: run this well within both. *facilitator* is what
    the server settles with (FacilitatorClient). *chain* lets it notice closes before a claim fails. *at_least*:
    base units below which a claim is not worth its fee; a channel that is closing is sealed for any sum.
    """
    done = Redeemed()
    channels = server.channels
    due = channels.due(limit)
    if chain is not None:
        due = [_look(server, chain, row) for row in due]
    for terms, rows in _grouped(
        [r for r in due if r.state == "open" and r.charged - r.claimed >= at_least]
    ):
        for batch in _batches(rows):
            entries = [{**_entry(r), "voucher": _voucher(r)} for r in batch]
            answer = await _settle(facilitator, terms, {"type": "claim", "claims": entries})
            if answer.success:
                for row in batch:
                    channels.saw(row.channel_id, claimed=row.charged)
                    done.claimed += row.charged - row.claimed
            else:
                await _one_by_one(server, facilitator, terms, batch, answer, done)
    again = [found for r in due if (found := channels.get(r.channel_id)) is not None]
    for terms, rows in _grouped([r for r in again if r.state == "open" and r.claimed > r.paid_out]):
        for batch in _batches(rows):
            answer = await _settle(
                facilitator, terms, {"type": "settle", "channels": [_entry(r) for r in batch]}
            )
            for row in batch:
                if answer.success:
                    channels.saw(row.channel_id, paid_out=row.claimed)
                    done.paid_out += row.claimed - row.paid_out
                else:
                    done.problems[row.channel_id] = answer.error_reason or "settlement_failed"
    for row in again:
        if row.state == "closing" and row.charged > row.claimed:
            await _seal(server, facilitator, row, done)
    return done


def _look(server: BatchServer, chain: PaymentChain, row: PaidChannel) -> PaidChannel:
    """The row, brought to what the chain says."""
    try:
        found = server.program.fetch(chain, row.channel_id)
    except ChainUnavailable:
        return row
    if found is None or found.status in ("sealed", "distributed"):
        server.channels.saw(row.channel_id, state="closed")
    else:
        server.channels.saw(
            row.channel_id,
            deposit=found.deposit,
            claimed=found.settled,
            paid_out=found.paid_out,
            closing_at=found.closure_started_at,
            state="closing" if found.status == "closing" else "open",
        )
    return server.channels.get(row.channel_id) or row


async def _one_by_one(
    server: BatchServer,
    facilitator: Any,
    terms: PaymentRequirements,
    batch: Sequence[PaidChannel],
    answer: SettleResponse,
    done: Redeemed,
) -> None:
    """One channel that cannot be claimed must not hold up the others of its batch."""
    for row in batch:
        if len(batch) > 1:
            entry = {**_entry(row), "voucher": _voucher(row)}
            answer = await _settle(facilitator, terms, {"type": "claim", "claims": [entry]})
        if answer.success:
            server.channels.saw(row.channel_id, claimed=row.charged)
            done.claimed += row.charged - row.claimed
        elif answer.error_reason == f"{CODE}_channel_closing":
            server.channels.saw(row.channel_id, state="closing")
            await _seal(server, facilitator, row, done)
        elif answer.error_reason not in ("duplicate_settlement", "settlement_pending"):
            done.problems[row.channel_id] = answer.error_reason or "settlement_failed"


async def _seal(server: BatchServer, facilitator: Any, row: PaidChannel, done: Redeemed) -> None:
    terms = _terms(row)
    entry, voucher = _entry(row), _voucher(row)
    read = read_config(
        entry["channelConfig"], terms, server.program, Pubkey.from_string(row.token_program)
    )
    payment = BatchPayment("refund", row.network, read, 0, row.charged, str(row.signature))
    close = server.close_authorization(payment, _TIMEOUT)
    answer = await _settle(
        facilitator,
        terms,
        {"type": "seal", **entry, "voucher": voucher, "closeAuthorization": close},
    )
    if answer.success:
        server.channels.saw(
            row.channel_id, state="closed", claimed=row.charged, paid_out=row.charged
        )
        done.sealed += 1
    else:
        done.problems[row.channel_id] = answer.error_reason or "settlement_failed"


async def _settle(
    facilitator: Any, terms: PaymentRequirements, payload: dict[str, Any]
) -> SettleResponse:
    answer: SettleResponse = await facilitator.settle(
        PaymentPayload(payload=payload, accepted=terms), terms
    )
    return answer


def _grouped(rows: Iterable[PaidChannel]) -> list[tuple[PaymentRequirements, list[PaidChannel]]]:
    """By the terms that one request to the facilitator can name."""
    groups: dict[tuple[object, ...], list[PaidChannel]] = {}
    for r in rows:
        key = (
            r.network,
            r.fee_payer,
            r.asset,
            r.pay_to,
            r.receiver_authorizer,
            r.withdraw_delay,
            r.token_program,
        )
        groups.setdefault(key, []).append(r)
    return [(_terms(found[0]), found) for found in groups.values()]


def _batches(rows: Sequence[PaidChannel]) -> list[Sequence[PaidChannel]]:
    return [rows[at : at + MOST] for at in range(0, len(rows), MOST)]


def _terms(row: PaidChannel) -> PaymentRequirements:
    return PaymentRequirements(
        scheme=SCHEME,
        network=row.network,
        asset=row.asset,
        amount="0",
        pay_to=row.pay_to,
        max_timeout_seconds=_TIMEOUT,
        extra={
            "feePayer": row.fee_payer,
            "receiverAuthorizer": row.receiver_authorizer,
            "withdrawDelay": row.withdraw_delay,
            "tokenProgram": row.token_program,
        },
    )


def _entry(row: PaidChannel) -> dict[str, Any]:
    return {
        "channelId": row.channel_id,
        "channelConfig": config_of(_parties(row), row.withdraw_delay, row.receiver_authorizer),
    }


def _parties(row: PaidChannel) -> Parties:
    return Parties(
        payer=Pubkey.from_string(row.payer),
        sponsor=Pubkey.from_string(row.fee_payer),
        mint=Pubkey.from_string(row.asset),
        signer=Pubkey.from_string(row.signer),
        salt=int(row.salt),
        open_slot=row.open_slot,
        pay_to=Pubkey.from_string(row.pay_to),
        token_program=Pubkey.from_string(row.token_program),
    )


def _voucher(row: PaidChannel) -> dict[str, Any]:
    return voucher_of(Pubkey.from_string(row.channel_id), row.charged, str(row.signature))


# -- the sponsor's side


def tidy(
    desk: ChannelDesk,
    channels: SponsoredChannels,
    *,
    clock: Callable[[], float] = time.time,
    limit: int = 500,
) -> dict[str, str]:
    """Closes what was abandoned and takes back the rent of what is over; returns what was done, by channel.

    A ceiling (`upto`) that nobody claimed two minutes after its expiry is closed without a charge, and its payer gets
    everything back. A channel of `batch-settlement` is closed at what was claimed when it lay idle for *desk.max_idle*
    seconds (never, where that is not advertised), or when its payer's grace period is over.
    """
    done: dict[str, str] = {}
    for row in channels.all(desk.chain.network, limit):
        if row.scheme != desk.scheme:
            continue
        try:
            step = _tidy_one(desk, channels, row, int(clock()))
        except PaymentError as error:
            step = error.code
        except ChainUnavailable:
            break
        if step is not None:
            done[row.channel_id] = step
    return done


def _tidy_one(
    desk: ChannelDesk, channels: SponsoredChannels, row: Sponsored, now: int
) -> str | None:
    found = desk.program.fetch(desk.chain, row.channel_id)
    if found is None:
        if _may_yet_open(row, channels.now_ms()):
            return None
        channels.forget(row.network, row.channel_id)
        return "gone"
    parties = Parties(
        payer=found.payer,
        sponsor=found.payee,
        mint=found.mint,
        signer=found.authorized_signer,
        salt=found.salt,
        open_slot=found.open_slot,
        pay_to=Pubkey.from_string(row.pay_to),
        token_program=Pubkey.from_string(row.token_program),
    )
    return desk.finish(parties, found, _is_abandoned(desk, row, now, channels.now_ms()))


def _may_yet_open(row: Sponsored, now_ms: int) -> bool:
    """Its opening may still be on its way: a blockhash lives for some 90 seconds."""
    return now_ms - row.touched_ms < 300_000


def _is_abandoned(desk: ChannelDesk, row: Sponsored, now: int, now_ms: int) -> bool:
    if row.expires_at:
        return now > row.expires_at + ABANDONED
    idle: int | None = getattr(desk, "max_idle", None)
    return idle is not None and now_ms - row.touched_ms > idle * 1000
