"""Periodic jobs for channels: sellers turn vouchers into money, sponsors get their rent back.

Both may run at any time, in several processes at once, and again after a crash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from mcpsol_py.x402.channels.channel_facilitator import ChannelFacilitator
from mcpsol_py.x402.channels.payouts import PAYOUT_WAITS
from mcpsol_py.x402.channels.program import Channel, Parties
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.store.channels import (
    PaidChannel,
    PaidState,
    Sponsored,
    SponsoredChannels,
)

__all__ = ["Redeemed", "redeem", "tidy"]

#: Seconds that a close may take, and for which a CloseAuthorization is signed.
_TIMEOUT = 120
#: Seconds after a ceiling's expiry in which its seller may still send a claim.
ABANDONED = 120
#: The states in which a channel may be paid out, those that are paid first before the others.
_PAYABLE = ("open", "sealed")


@dataclass
class Redeemed:
    """The result of one pass, in base units and channels. `problems`: the facilitator's reasons, by
    channel.
    """

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
    """Claim the newest vouchers of a merchant's channels, pay them out, and seal channels that
    payers are closing.

    Vouchers do not expire. But a payer who asks for the close takes back, after its grace period,
    everything that no voucher proved on chain, and a facilitator closes idle channels: run this
    well within both times. *facilitator* is the one that the server settles with
    (FacilitatorClient). With *chain*, closes are noticed before a claim fails. *at_least*: base
    units below which a claim is not worth its fee; a closing channel is sealed for any sum.
    """
    job = _Redemption(server, facilitator, Redeemed())
    due = server.channels.due(limit)
    if chain is not None:
        due = [_refresh(server, chain, row) for row in due]
    await job.claim(
        [row for row in due if row.state == "open" and row.unclaimed >= at_least]
    )
    current = [server.channels.get(row.channel_id) or row for row in due]
    payable = [
        row for row in current if row.state in _PAYABLE and row.claimed > row.paid_out
    ]
    await job.pay_out(sorted(payable, key=lambda row: _PAYABLE.index(row.state)))
    for row in current:
        if row.state == "closing" and row.unclaimed > 0:
            await job.seal(row)
    return job.done


def _refresh(server: BatchServer, chain: PaymentChain, row: PaidChannel) -> PaidChannel:
    """Update a row from the chain. If the chain does not answer, the row stays as it is."""
    try:
        found = server.program.fetch(chain, row.channel_id)
    except ChainUnavailable:
        return row
    if found is None or found.status == "distributed":
        server.channels.saw(row.channel_id, state="closed")
    else:
        server.channels.saw(
            row.channel_id,
            deposit=found.deposit,
            claimed=found.settled,
            paid_out=found.paid_out,
            closing_at=found.closure_started_at,
            state=_state(found),
        )
    return server.channels.get(row.channel_id) or row


def _state(found: Channel) -> PaidState:
    """Return the state of a channel whose account exists; a sealed one may still owe its payout."""
    if found.status == "sealed":
        return "sealed" if found.settled > found.paid_out else "closed"
    return "closing" if found.status == "closing" else "open"


@dataclass(frozen=True, slots=True)
class _Redemption:
    """One pass over a merchant's channels."""

    server: BatchServer
    facilitator: Any
    done: Redeemed

    async def claim(self, rows: Sequence[PaidChannel]) -> None:
        """Claim each channel's newest voucher, several in one transaction."""
        for terms, batch in _batches(rows):
            answer = await self._claim_batch(terms, batch)
            if answer.success or len(batch) == 1:
                for row in batch:
                    await self._claimed(row, answer)
            else:
                # A channel that cannot be claimed must not block the others of its batch.
                for row in batch:
                    await self._claimed(row, await self._claim_batch(terms, [row]))

    async def _claim_batch(
        self, terms: PaymentRequirements, batch: Sequence[PaidChannel]
    ) -> SettleResponse:
        entries = [{**_entry(row), "voucher": _voucher(row)} for row in batch]
        return await self._settle(terms, {"type": "claim", "claims": entries})

    async def _claimed(self, row: PaidChannel, answer: SettleResponse) -> None:
        """Record the facilitator's answer to a claim."""
        channels = self.server.channels
        if answer.success:
            channels.saw(row.channel_id, claimed=row.charged)
            self.done.claimed += row.charged - row.claimed
        elif answer.error_reason == f"{CODE}_channel_closing":
            channels.saw(row.channel_id, state="closing")
            await self.seal(row)
        elif answer.error_reason not in ("duplicate_settlement", "settlement_pending"):
            self._failed(row, answer)

    async def pay_out(self, rows: Sequence[PaidChannel]) -> None:
        """Pay out claimed sums, several channels in one transaction."""
        for terms, batch in _batches(rows):
            payload = {"type": "settle", "channels": list(map(_entry, batch))}
            answer = await self._settle(terms, payload)
            for row in batch:
                if answer.success:
                    self.server.channels.saw(row.channel_id, paid_out=row.claimed)
                    self.done.paid_out += row.claimed - row.paid_out
                else:
                    self._failed(row, answer)

    async def seal(self, row: PaidChannel) -> None:
        """Close a channel at its newest voucher, before its payer takes the deposit back."""
        terms, entry, voucher = _terms(row), _entry(row), _voucher(row)
        config = read_config(
            entry["channelConfig"],
            terms,
            self.server.program,
            Pubkey.from_string(row.token_program),
        )
        payment = BatchPayment(
            "refund", row.network, config, 0, row.charged, str(row.signature)
        )
        close = self.server.close_authorization(payment, _TIMEOUT)
        answer = await self._settle(
            terms,
            {"type": "seal", **entry, "voucher": voucher, "closeAuthorization": close},
        )
        if not answer.success:
            self._failed(row, answer)
            return
        self.done.sealed += 1
        if "payoutWaits" in extra_of(answer):
            self.server.channels.saw(
                row.channel_id, state="sealed", claimed=row.charged
            )
            self.done.problems[row.channel_id] = PAYOUT_WAITS
            return
        self.server.channels.saw(
            row.channel_id, state="closed", claimed=row.charged, paid_out=row.charged
        )

    def _failed(self, row: PaidChannel, answer: SettleResponse) -> None:
        self.done.problems[row.channel_id] = answer.error_reason or "settlement_failed"

    async def _settle(
        self, terms: PaymentRequirements, payload: dict[str, Any]
    ) -> SettleResponse:
        answer: SettleResponse = await self.facilitator.settle(
            PaymentPayload(payload=payload, accepted=terms), terms
        )
        return answer


def _batches(
    rows: Iterable[PaidChannel],
) -> Iterator[tuple[PaymentRequirements, Sequence[PaidChannel]]]:
    """Group channels by the terms that one request to the facilitator can have, `MOST` at a time."""
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
    for group in groups.values():
        for at in range(0, len(group), MOST):
            yield _terms(group[0]), group[at : at + MOST]


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
        "channelConfig": config_of(
            _parties(row), row.withdraw_delay, row.receiver_authorizer
        ),
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
    return voucher_of(
        Pubkey.from_string(row.channel_id), row.charged, str(row.signature)
    )


# --- the sponsor's side -----------------------------------------------------------------------


def tidy(
    facilitator: ChannelFacilitator,
    channels: SponsoredChannels,
    *,
    clock: Callable[[], float] = time.time,
    limit: int = 500,
) -> dict[str, str]:
    """Close abandoned channels and take back the rent of finished ones. Return the steps taken, by
    channel.

    A ceiling (`upto`) that nobody claimed within two minutes after its expiry is closed without a
    charge, and its payer gets everything back. A channel of `batch-settlement` is closed at the sum
    that was claimed, if it was idle for *facilitator.max_idle* seconds (never, if that is not
    advertised), or if its payer's grace period is over.
    """
    done: dict[str, str] = {}
    for row in channels.all(facilitator.chain.network, limit):
        if row.scheme != facilitator.scheme:
            continue
        try:
            step = _tidy_one(facilitator, channels, row, int(clock()))
        except PaymentError as error:
            step = error.code
        except ChainUnavailable:
            break
        if step is not None:
            done[row.channel_id] = step
    return done


def _tidy_one(
    facilitator: ChannelFacilitator,
    channels: SponsoredChannels,
    row: Sponsored,
    now: int,
) -> str | None:
    found = facilitator.program.fetch(facilitator.chain, row.channel_id)
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
    return facilitator.finish(
        parties, found, _is_abandoned(facilitator, row, now, channels.now_ms())
    )


def _may_yet_open(row: Sponsored, now_ms: int) -> bool:
    """Whether its opening may still land: a blockhash is valid for some 90 seconds."""
    return now_ms - row.touched_ms < 300_000


def _is_abandoned(
    facilitator: ChannelFacilitator, row: Sponsored, now: int, now_ms: int
) -> bool:
    if row.expires_at:
        return now > row.expires_at + ABANDONED
    idle: int | None = getattr(facilitator, "max_idle", None)
    return idle is not None and now_ms - row.touched_ms > idle * 1000
