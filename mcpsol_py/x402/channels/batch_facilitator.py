"""The facilitator of `batch-settlement`: opens and tops up channels, claims, pays out, and closes.

It does not keep vouchers. The seller keeps them, and sends the newest one when it wants its money.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from x402.schemas import (
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    VerifyResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.program import ed25519_instruction, voucher_bytes
from mcpsol_py.x402.channels.batch import (
    CODE,
    SCHEME,
    BatchPayment,
    ChannelTerms,
    binding_memo,
    check_voucher,
    read_config,
    read_payment,
)
from mcpsol_py.x402.channels.channel_facilitator import (
    ChannelFacilitator,
    operation_key,
)
from mcpsol_py.x402.channels.program import (
    OPEN,
    REQUEST_CLOSE,
    TOP_UP,
    Channel,
    ChannelStatus,
    open_data,
    read_clock,
)
from mcpsol_py.x402.channels.sponsored import SponsoredTransaction, read_sponsored
from mcpsol_py.x402.channels.terms import is_int, read_note
from mcpsol_py.x402.channels.voucher import close_digest, voucher_signature
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.store.channels import Sponsored

__all__ = ["BatchFacilitator"]

#: Channels in one transaction of claims or payouts (scheme_batch_settlement_svm 4.5).
MOST = 4
_STATE = f"{CODE}_channel_state"
_SETUP = f"{CODE}_setup_transaction"
_READY = f"{CODE}_settlement_simulation"


class BatchFacilitator(ChannelFacilitator):
    """Verifies and settles. It answers with a reason instead of raising.

    *channels* stores who may ask for a close, and should outlive the process: other channels can
    only be closed by their payer, or after their grace period.
    """

    scheme = SCHEME

    def __init__(self, *args: Any, max_idle: int | None = None, **options: Any) -> None:
        """*max_idle*: seconds after which an unused channel may be closed (see redeem.tidy); None
        means never.
        """
        super().__init__(*args, **options)
        self.max_idle = max_idle

    def get_extra(self, network: str) -> dict[str, Any] | None:
        """Return a fee payer, and how long a channel may be idle."""
        extra = super().get_extra(network) or {}
        return (
            extra if self.max_idle is None else {**extra, "maxIdleSecs": self.max_idle}
        )

    def verify(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        context: object = None,
    ) -> VerifyResponse:
        """Check this payment against the chain."""

        def work() -> tuple[str, dict[str, Any] | None]:
            payment = self._read(payload, requirements)
            if payment.kind == "deposit":
                balance, settled, asked_at = self._check_deposit(payment, requirements)
            else:
                channel = self._bound(payment.terms)
                self._check_cumulative(payment, channel.deposit, channel.settled)
                self._check_status(
                    channel,
                    ("open",) if payment.kind == "voucher" else ("open", "closing"),
                )
                balance, settled, asked_at = (
                    channel.deposit,
                    channel.settled,
                    channel.closure_started_at,
                )
            return str(payment.terms.parties.payer), _snapshot(
                payment.channel_id, balance, settled, asked_at
            )

        return self._answer_verify(work)

    def settle(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        context: object = None,
    ) -> SettleResponse:
        """Run payload.type: deposit, claim, settle, seal or refund. The seller itself settles a
        voucher.
        """
        keys: list[str] = []
        acts: dict[
            str,
            Callable[[PaymentPayload, PaymentRequirements, list[str]], SettleResponse],
        ] = {
            "deposit": self._deposit,
            "claim": self._claim,
            "settle": self._pay_out,
            "seal": self._seal,
            "refund": self._refund,
        }
        kind = payload.payload.get("type")

        def work() -> SettleResponse:
            act = acts.get(kind) if isinstance(kind, str) else None
            if act is None:
                raise PaymentError(
                    f"{CODE}_payload_type",
                    f"payload.type is {str(kind)[:30]!r}; expected one of {', '.join(acts)}",
                )
            self._same_network(
                payload.accepted.scheme, payload.accepted.network, requirements
            )
            return act(payload, requirements, keys)

        return self._answer_settle(
            str(requirements.network),
            _payer_of(payload.payload) if kind in ("deposit", "refund") else "",
            lambda: keys[0] if keys else None,
            work,
        )

    # -- reading

    def _read(
        self, payload: PaymentPayload, requirements: PaymentRequirements
    ) -> BatchPayment:
        self._same_network(
            payload.accepted.scheme, payload.accepted.network, requirements
        )
        self._fee_payer(extra_of(requirements))
        token_program, _ = self._mints.get(requirements.asset)
        return read_payment(payload.payload, requirements, self.program, token_program)

    def _terms(self, entry: object, requirements: PaymentRequirements) -> ChannelTerms:
        if not isinstance(entry, Mapping):
            raise PaymentError(_STATE, "an entry is not an object")
        self._fee_payer(extra_of(requirements))
        token_program, _ = self._mints.get(requirements.asset)
        terms = read_config(
            entry.get("channelConfig"), requirements, self.program, token_program
        )
        if entry.get("channelId") != str(terms.channel):
            raise PaymentError(
                f"{CODE}_channel_id_mismatch",
                f"channelId is not {terms.channel}, the address derived from its terms",
            )
        return terms

    def _bound(self, terms: ChannelTerms) -> Channel:
        return self._channel(terms.channel, terms.parties, terms.delay, _STATE)

    @staticmethod
    def _check_status(channel: Channel, allowed: Sequence[ChannelStatus]) -> None:
        if channel.status == "closing" and "closing" not in allowed:
            raise PaymentError(
                f"{CODE}_channel_closing", "the payer has asked to close this channel"
            )
        if channel.status not in allowed:
            raise PaymentError(_STATE, f"the channel is {channel.status}")

    @staticmethod
    def _check_cumulative(payment: BatchPayment, deposit: int, settled: int) -> None:
        if payment.cumulative > deposit:
            raise PaymentError(
                f"{CODE}_cumulative_exceeds_deposit",
                f"the voucher is for {payment.cumulative:,}; {deposit:,} are deposited",
            )
        least = (
            settled
            if payment.kind == "refund"
            else max(settled + payment.price, settled + 1)
        )
        if payment.cumulative < least:
            raise PaymentError(
                f"{CODE}_cumulative_amount_mismatch",
                f"the voucher is for {payment.cumulative:,}; {settled:,} are claimed already",
            )

    def _setup(
        self, payment: BatchPayment, requirements: PaymentRequirements, *, is_open: bool
    ) -> SponsoredTransaction:
        terms, note = (
            payment.terms,
            read_note(extra_of(requirements), "invalid_payment_requirements"),
        )
        p = terms.parties
        setup = read_sponsored(
            payment.transaction,
            code=_SETUP,
            program_id=self.program.program_id,
            discriminator=TOP_UP if is_open else OPEN,
            accounts=self.program.top_up_accounts(p)
            if is_open
            else self.program.open_accounts(p),
            payer=p.payer,
            fee_payer=p.sponsor,
            note=note,
            worth=(requirements.asset, payment.deposit),
            binding=None if is_open else binding_memo(terms.receiver_authorizer),
            note_required=True,
            caps=self._caps,
        )
        wanted = (
            struct.pack("<Q", payment.deposit)
            if is_open
            else open_data(p, payment.deposit, terms.delay)
        )
        if setup.data != wanted:
            raise PaymentError(
                _SETUP, "the instruction has other amounts or parties than the terms"
            )
        return setup

    def _check_deposit(
        self, payment: BatchPayment, requirements: PaymentRequirements
    ) -> tuple[int, int, int]:
        """Check everything that must hold before tokens go into escrow.

        Return (deposit afterwards, settled, time at which a close was requested).
        """
        found = self.program.fetch(self.chain, payment.channel_id)
        setup = self._setup(payment, requirements, is_open=found is not None)
        if found is None:
            if self.chain.get_accounts([payment.channel_id])[0] is not None:
                raise PaymentError(
                    _STATE, "the channel's address holds another account"
                )
            balance, settled, asked_at = payment.deposit, 0, 0
        else:
            channel = self._bound(payment.terms)
            self._check_status(channel, ("open",))
            balance, settled = channel.deposit + payment.deposit, channel.settled
            asked_at = channel.closure_started_at
        self._check_cumulative(payment, balance, settled)
        self._check_accounts(payment.terms.parties, payment.deposit, _READY)
        self._check_setup(_READY)(self.chain, setup)
        return balance, settled, asked_at

    # -- settling

    def _deposit(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        payment = self._read(payload, requirements)
        terms = payment.terms
        found = self.program.fetch(self.chain, payment.channel_id)
        # A retry finds the channel that its own opening made, so the transaction decides which it
        # is.
        is_open = found is not None and not self._is_opening(payment, requirements)
        setup = self._setup(payment, requirements, is_open=is_open)
        keys.append(setup.key)
        if self.settlements.get(setup.key) is None:
            self._check_deposit(payment, requirements)
            if not is_open:
                self._bind(payment)
        settled = self._broadcast(setup, _READY)
        channel = self._bound(terms)
        self._check_status(channel, ("open",))
        state = _snapshot(
            payment.channel_id,
            channel.deposit,
            channel.settled,
            channel.closure_started_at,
        )
        return SettleResponse(
            success=True,
            transaction=settled.signature,
            network=requirements.network,
            payer=str(terms.parties.payer),
            amount=str(payment.deposit),
            extra={"channelState": state},
        )

    def _bind(self, payment: BatchPayment) -> None:
        """Record who may have the new channel closed."""
        terms, p = payment.terms, payment.terms.parties
        authorizer = str(terms.receiver_authorizer)
        row = Sponsored(
            self.chain.network,
            payment.channel_id,
            SCHEME,
            str(p.pay_to),
            str(p.token_program),
            authorizer,
        )
        if self.channels.keep(row) != authorizer:
            raise PaymentError(
                f"{CODE}_receiver_authorizer_mismatch",
                "the channel is bound to another receiver's authorizer",
            )

    def _is_opening(
        self, payment: BatchPayment, requirements: PaymentRequirements
    ) -> bool:
        try:
            self._setup(payment, requirements, is_open=False)
        except PaymentError:
            return False
        return True

    def _claim(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        entries = _entries(payload.payload.get("claims"))
        instructions: list[Instruction] = []
        names: list[object] = []
        accepts = []
        for entry in entries:
            terms = self._terms(entry, requirements)
            cumulative, signature = check_voucher(entry.get("voucher"), terms)
            channel = self._bound(terms)
            self._check_status(channel, ("open",))
            if not channel.settled < cumulative <= channel.deposit:
                raise PaymentError(
                    f"{CODE}_cumulative_amount_mismatch",
                    f"the voucher of {terms.channel} is for {cumulative:,}; "
                    f"{channel.settled:,} of {channel.deposit:,} are claimed",
                )
            instructions += [
                _proof(terms, cumulative, signature),
                self.program.settle(terms.channel),
            ]
            names += [terms.channel, cumulative]
            accepts.append(
                {"channelId": str(terms.channel), "totalClaimed": str(cumulative)}
            )
        keys.append(operation_key("batch:claim", self.chain.network, *names))
        fee_payer = self._fee_payer(extra_of(requirements))
        units = 40_000 * len(entries) + 20_000
        signed = self._submit(keys[0], "", fee_payer, lambda: instructions, units)
        return SettleResponse(
            success=True,
            transaction=signed,
            network=requirements.network,
            amount="",
            extra={"accepts": accepts},
        )

    def _pay_out(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        entries = _entries(payload.payload.get("channels"))
        instructions: list[Instruction] = []
        names: list[object] = []
        total = 0
        channels = []
        for entry in entries:
            terms = self._terms(entry, requirements)
            channel = self._bound(terms)
            self._check_status(channel, ("open", "sealed"))
            if channel.paid_out >= channel.settled:
                raise PaymentError(_STATE, f"{terms.channel} has nothing to pay out")
            total += channel.settled - channel.paid_out
            payout = self._payout(terms.parties, channel, channel.settled)
            instructions.append(payout.distribute())
            names += [terms.channel, channel.settled]
            channels.append(str(terms.channel))
        keys.append(operation_key("batch:settle", self.chain.network, *names))
        fee_payer = self._fee_payer(extra_of(requirements))
        units = 80_000 * len(entries) + 20_000
        signed = self._submit(keys[0], "", fee_payer, lambda: instructions, units)
        return SettleResponse(
            success=True,
            transaction=signed,
            network=requirements.network,
            amount=str(total),
            extra={"channels": channels},
        )

    def _seal(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        terms = self._terms(payload.payload, requirements)
        cumulative, signature = check_voucher(payload.payload.get("voucher"), terms)
        self._check_close(payload.payload, requirements, terms, cumulative)
        channel = self._bound(terms)
        deadline = channel.closure_started_at + channel.grace_period
        if channel.status != "closing" or read_clock(self.chain).unix_time >= deadline:
            raise PaymentError(
                f"{CODE}_close_state",
                f"the channel is {channel.status}, or its grace period is over",
            )
        return self._close(
            terms, channel, cumulative, signature, requirements, keys, of="seal"
        )

    def _refund(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        payment = self._read(payload, requirements)
        terms, inner = payment.terms, payload.payload
        bound = self.channels.bound(self.chain.network, payment.channel_id)
        if bound is None:
            if payment.transaction is None:
                raise PaymentError(
                    f"{CODE}_receiver_binding_unavailable",
                    "this facilitator does not know who may close this channel: "
                    "send a request_close that the payer signed",
                )
            return self._request_close(payment, requirements, keys)
        self._check_close(inner, requirements, terms, payment.cumulative)
        channel = self._bound(terms)
        self._check_status(channel, ("open", "closing"))
        return self._close(
            terms,
            channel,
            payment.cumulative,
            payment.signature,
            requirements,
            keys,
            of="refund",
        )

    def _check_close(
        self,
        inner: Mapping[str, Any],
        requirements: PaymentRequirements,
        terms: ChannelTerms,
        cumulative: int,
    ) -> None:
        """Check that the receiver's authorizer, bound at the opening, signed exactly this close."""
        code = f"{CODE}_close_authorization"
        bound = self.channels.bound(self.chain.network, str(terms.channel))
        if bound is None:
            raise PaymentError(
                f"{CODE}_receiver_binding_unavailable",
                "this facilitator does not know who may close this channel",
            )
        if bound != str(terms.receiver_authorizer):
            raise PaymentError(
                f"{CODE}_receiver_authorizer_mismatch",
                "the channel is bound to another receiver's authorizer",
            )
        given = inner.get("closeAuthorization")
        authorization: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        before = authorization.get("validBefore")
        now = int(self._clock())
        if not is_int(before):
            raise PaymentError(code, "closeAuthorization.validBefore is missing")
        if not now < before <= now + requirements.max_timeout_seconds:
            raise PaymentError(
                code,
                "closeAuthorization has expired, or is valid for over maxTimeoutSeconds",
            )
        signature = voucher_signature(authorization.get("signature"))
        digest = close_digest(
            self.chain.network,
            self.program.program_id,
            terms.parties.sponsor,
            terms.channel,
            cumulative,
            0,
            before,
        )
        if signature is None or not signature.verify(terms.receiver_authorizer, digest):
            raise PaymentError(
                code, "the receiver's authorizer did not sign this close"
            )

    def _close(
        self,
        terms: ChannelTerms,
        channel: Channel,
        cumulative: int,
        signature: str,
        requirements: PaymentRequirements,
        keys: list[str],
        *,
        of: str,
    ) -> SettleResponse:
        if not channel.settled <= cumulative <= channel.deposit:
            raise PaymentError(
                f"{CODE}_close_state",
                f"the voucher is for {cumulative:,}; "
                f"{channel.settled:,} of {channel.deposit:,} are claimed",
            )
        has_voucher = channel.settled < cumulative
        p = terms.parties
        payout = self._payout(p, channel, cumulative)
        # Nothing forces a close now, so it waits until both can be paid.
        if of == "refund":
            payout.check()
        proof = _proof(terms, cumulative, signature) if has_voucher else None
        keys.append(
            operation_key("batch:close", self.chain.network, terms.channel, cumulative)
        )
        close = partial(payout.close, proof)
        signed = self._submit(keys[0], str(p.payer), p.sponsor, close, 160_000)
        moved = (
            cumulative - channel.paid_out
            if of == "seal"
            else channel.deposit - cumulative
        )
        state = _snapshot(str(terms.channel), channel.deposit, cumulative, 0)
        return SettleResponse(
            success=True,
            transaction=signed,
            network=requirements.network,
            payer=str(p.payer),
            amount=str(moved),
            extra={"channelState": state, **payout.notice()},
        )

    def _request_close(
        self, payment: BatchPayment, requirements: PaymentRequirements, keys: list[str]
    ) -> SettleResponse:
        terms = payment.terms
        p = terms.parties
        setup = read_sponsored(
            payment.transaction,
            code=f"{CODE}_refund_transaction",
            program_id=self.program.program_id,
            discriminator=REQUEST_CLOSE,
            accounts=self.program.request_close_accounts(terms.channel, p.payer),
            payer=p.payer,
            fee_payer=p.sponsor,
            note=None,
            worth=(requirements.asset, 0),
            caps=self._caps,
        )
        channel = self._bound(terms)
        self._check_status(channel, ("open", "closing"))
        signed = ""
        if channel.status == "open":
            keys.append(setup.key)
            signed = self._broadcast(setup, f"{CODE}_refund_transaction").signature
            channel = self._bound(terms)
        state = _snapshot(
            str(terms.channel),
            channel.deposit,
            channel.settled,
            channel.closure_started_at,
        )
        return SettleResponse(
            success=True,
            transaction=signed,
            network=requirements.network,
            payer=str(p.payer),
            amount="",
            extra={"channelState": state},
        )


def _payer_of(inner: Mapping[str, Any]) -> str:
    config = inner.get("channelConfig") or {}
    payer = config.get("payer")
    return payer if isinstance(payer, str) else ""


def _entries(value: object) -> list[Mapping[str, Any]]:
    """Read the channels of a batch."""
    entries = value if isinstance(value, list) else []
    if not 1 <= len(entries) <= MOST or not all(
        isinstance(e, Mapping) for e in entries
    ):
        raise PaymentError(
            f"{CODE}_payload_type", f"expected a list of 1 to {MOST} channels"
        )
    if len({str(e.get("channelId")) for e in entries}) != len(entries):
        raise PaymentError(f"{CODE}_payload_type", "a channel is in the batch twice")
    return list(entries)


def _proof(terms: ChannelTerms, cumulative: int, signature: str) -> Instruction:
    parsed = voucher_signature(signature)
    signer: Pubkey = terms.parties.signer
    return ed25519_instruction(
        bytes(signer), bytes(parsed or b""), voucher_bytes(terms.channel, cumulative)
    )


def _snapshot(
    channel_id: str, balance: int, settled: int, asked_at: int
) -> dict[str, Any]:
    return {
        "channelId": channel_id,
        "balance": str(balance),
        "totalClaimed": str(settled),
        "withdrawRequestedAt": asked_at,
    }
