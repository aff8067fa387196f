"""The facilitator of `upto`: opens a channel before the tool runs, and closes it at the charge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from x402.schemas import (
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    VerifyResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.chain.program import ed25519_instruction, voucher_bytes
from mcpsol_py.x402.channels.channel_facilitator import (
    ChannelFacilitator,
    operation_key,
)
from mcpsol_py.x402.channels.program import OPEN, Channel, Parties, open_data
from mcpsol_py.x402.channels.sponsored import SponsoredTransaction, read_sponsored
from mcpsol_py.x402.channels.terms import (
    address,
    is_time,
    read_delay,
    read_note,
    read_slot,
)
from mcpsol_py.x402.channels.voucher import checks, voucher_signature
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.store.channels import Sponsored

__all__ = ["UptoFacilitator"]

#: Compute units for closing a channel and paying out, which take less than 120,000.
_CLAIM_UNITS = 160_000
_TERMS = "invalid_upto_svm_payment_requirements"
_STATE = "invalid_upto_svm_channel_state"
_SIMULATION = "invalid_upto_svm_settlement_simulation"
_PAYLOAD = "invalid_upto_svm_payload"

SettlementKind = Literal["deposit", "claim"]


@dataclass(frozen=True, slots=True)
class _Authorization:
    """A client's payload that agrees with the terms."""

    parties: Parties
    channel: Pubkey
    ceiling: int
    delay: int
    expires_at: int
    valid_after: int
    setup: SponsoredTransaction


class UptoFacilitator(ChannelFacilitator):
    """Verifies, opens and closes. It answers with a reason instead of raising.

    *max_lifetime*: the longest time, in seconds, that a channel may be asked for. It limits how
    long rent is locked.
    """

    scheme = "upto"
    max_lifetime = 3600

    def verify(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        context: object = None,
    ) -> VerifyResponse:
        """Check whether the deposit of this payment would land now."""

        def work() -> tuple[str, dict[str, Any] | None]:
            found = self._authorize(payload, requirements)
            self._check_new(payload, requirements, found)
            self._check_setup(_SIMULATION)(self.chain, found.setup)
            return str(found.parties.payer), None

        return self._answer_verify(work)

    def settle(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        context: object = None,
    ) -> SettleResponse:
        """Land the deposit before the tool runs, or the claim after it."""
        inner = payload.payload
        payer = inner.get("from") if isinstance(inner.get("from"), str) else ""
        keys: list[str] = []

        def work() -> SettleResponse:
            kind = _settlement_kind(inner, requirements)
            act = self._deposit if kind == "deposit" else self._claim
            return act(payload, requirements, keys)

        return self._answer_settle(
            str(requirements.network),
            str(payer),
            lambda: keys[0] if keys else None,
            work,
        )

    # -- reading

    def _authorize(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        *,
        claim: bool = False,
    ) -> _Authorization:
        """Check everything that needs no chain, except for the mint.

        The ceiling is the price that the payer signed, independent of the charge.
        """
        self._same_network(
            payload.accepted.scheme, payload.accepted.network, requirements
        )
        inner, extra = payload.payload, extra_of(requirements)
        if extra.get("paymentFlow", "escrow") != "escrow":
            raise PaymentError(_TERMS, "extra.paymentFlow is not escrow")
        if not claim and "voucherSignature" in inner:
            raise PaymentError(
                f"{_PAYLOAD}_unexpected_voucher",
                "a payer's payload must not have a voucher",
            )
        ceiling = _read_ceiling(inner)
        if not claim and read_u64(requirements.amount) != ceiling:
            raise PaymentError(
                f"{_PAYLOAD}_amount_mismatch",
                f"maxAmount is {ceiling:,}; {requirements.amount} was asked for",
            )
        salt, open_slot = _read_seed(inner)
        expires_at, valid_after = _read_times(inner)
        delay, parties = self._read_parties(inner, requirements, salt, open_slot)
        channel = self.program.address(parties)
        if inner.get("channelId") != str(channel):
            raise PaymentError(
                f"{_PAYLOAD}_channel_id",
                f"channelId is not {channel}, the address derived from its terms",
            )
        setup = self._read_setup(inner, requirements, parties)
        if setup.data != open_data(parties, ceiling, delay):
            raise PaymentError(
                f"{_PAYLOAD}_open_transaction",
                "open has another salt, deposit, grace period, slot or payee than the terms",
            )
        return _Authorization(
            parties, channel, ceiling, delay, expires_at, valid_after, setup
        )

    def _read_parties(
        self,
        inner: Mapping[str, Any],
        requirements: PaymentRequirements,
        salt: int,
        open_slot: int,
    ) -> tuple[int, Parties]:
        """Return the grace period and the channel's parties."""
        extra = extra_of(requirements)
        authorizer = address(
            extra.get("receiverAuthorizer"), _TERMS, "extra.receiverAuthorizer"
        )
        if inner.get("authorizedSigner") != str(authorizer):
            raise PaymentError(
                f"{_PAYLOAD}_receiver_authorizer",
                "authorizedSigner is not extra.receiverAuthorizer",
            )
        delay = read_delay(extra, _TERMS)
        parties = Parties(
            payer=address(inner.get("from"), f"{_PAYLOAD}_payer_mismatch", "from"),
            sponsor=self._fee_payer(extra),
            mint=address(requirements.asset, _TERMS, "asset"),
            signer=authorizer,
            salt=salt,
            open_slot=open_slot,
            pay_to=address(requirements.pay_to, _TERMS, "payTo"),
            token_program=self._token_program(requirements, _TERMS),
        )
        if str(parties.payer) in self.sponsor.addresses():
            raise PaymentError(
                f"{_PAYLOAD}_payer_mismatch", "the payer is one of the sponsors"
            )
        return delay, parties

    def _read_setup(
        self,
        inner: Mapping[str, Any],
        requirements: PaymentRequirements,
        parties: Parties,
    ) -> SponsoredTransaction:
        return read_sponsored(
            inner.get("openTransaction"),
            code=f"{_PAYLOAD}_open_transaction",
            program_id=self.program.program_id,
            discriminator=OPEN,
            accounts=self.program.open_accounts(parties),
            payer=parties.payer,
            fee_payer=parties.sponsor,
            note=read_note(extra_of(requirements), _TERMS),
            worth=(requirements.asset, read_u64(requirements.amount) or 0),
            caps=self._caps,
        )

    def _check_new(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        found: _Authorization,
    ) -> None:
        """Check everything else that must hold before tokens go into escrow."""
        if "type" in payload.payload and payload.payload["type"] != "deposit":
            raise PaymentError(
                f"{_PAYLOAD}_type", "a payer's payload must not have a type"
            )
        self._check_times(found, requirements.max_timeout_seconds)
        if self.chain.get_accounts([str(found.channel)])[0] is not None:
            raise PaymentError(
                "invalid_upto_svm_channel_already_open",
                f"{found.channel} exists already",
            )
        self._check_accounts(found.parties, found.ceiling, _SIMULATION)

    def _check_times(self, found: _Authorization, timeout: int) -> None:
        now = int(self._clock())
        if found.valid_after > now + self._skew:
            raise PaymentError(
                f"{_PAYLOAD}_not_yet_active", "validAfter is in the future"
            )
        if found.expires_at <= now:
            raise PaymentError(f"{_PAYLOAD}_expired", "expiresAt has passed")
        if timeout > self.max_lifetime or found.expires_at - now > self.max_lifetime:
            raise PaymentError(
                f"{_PAYLOAD}_channel_lifetime_exceeded",
                f"a channel is kept for at most {self.max_lifetime:,} seconds",
            )
        if found.expires_at > now + timeout + self._skew:
            raise PaymentError(
                f"{_PAYLOAD}_expires_at_mismatch",
                f"expiresAt is more than {timeout:,} seconds away",
            )

    # -- settling

    def _deposit(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        found = self._authorize(payload, requirements)
        keys.append(found.setup.key)
        if self.settlements.get(found.setup.key) is None:
            self._check_new(payload, requirements, found)
            self.channels.keep(self._sponsored(found))
        settled = self._broadcast(found.setup, _SIMULATION)
        channel = self._bound(found)
        if (
            channel.status != "open"
            or channel.deposit != found.ceiling
            or channel.settled
        ):
            raise PaymentError(
                _STATE,
                f"the channel is {channel.status}, or its deposit or claim has changed",
            )
        return SettleResponse(
            success=True,
            transaction=settled.signature,
            network=requirements.network,
            payer=str(found.parties.payer),
            amount=str(found.ceiling),
        )

    def _sponsored(self, found: _Authorization) -> Sponsored:
        p = found.parties
        return Sponsored(
            self.chain.network,
            str(found.channel),
            self.scheme,
            str(p.pay_to),
            str(p.token_program),
            str(p.signer),
            found.expires_at,
        )

    def _bound(self, found: _Authorization) -> Channel:
        return self._channel(found.channel, found.parties, found.delay, _STATE)

    def _claim(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        keys: list[str],
    ) -> SettleResponse:
        found = self._authorize(payload, requirements, claim=True)
        charge = self._read_charge(found, requirements)
        signature = self._check_voucher(payload.payload, found, charge)
        key = operation_key("upto:claim", self.chain.network, found.channel)
        keys.append(key)
        p, notice = found.parties, dict[str, str]()

        def close() -> list[Instruction]:
            channel = self._bound(found)
            self._check_claimable(found, channel)
            payout = self._payout(p, channel, charge)
            notice.update(payout.notice())
            return payout.close(_proof(found, charge, signature) if charge else None)

        signed = self._submit(key, str(p.payer), p.sponsor, close, _CLAIM_UNITS)
        return SettleResponse(
            success=True,
            transaction=signed,
            network=requirements.network,
            payer=str(p.payer),
            amount=str(charge),
            extra=notice or None,
        )

    @staticmethod
    def _read_charge(found: _Authorization, requirements: PaymentRequirements) -> int:
        charge = read_u64(requirements.amount)
        if charge is None:
            raise PaymentError(f"{_PAYLOAD}_amount", "the charge is not a u64")
        if charge > found.ceiling:
            raise PaymentError(
                f"{_PAYLOAD}_settlement_exceeds_amount",
                f"the charge of {charge:,} exceeds the highest price of {found.ceiling:,}",
            )
        return charge

    @staticmethod
    def _check_voucher(
        inner: Mapping[str, Any], found: _Authorization, charge: int
    ) -> object:
        """Return the signature of the seller's voucher for *charge*."""
        signature: object = inner.get("voucherSignature")
        if signature is None:
            raise PaymentError(
                f"{_PAYLOAD}_missing_voucher", "a claim must have the seller's voucher"
            )
        signer = found.parties.signer
        if not checks(signature, signer, found.channel, charge, found.expires_at):
            raise PaymentError(
                f"{_PAYLOAD}_voucher_signature",
                "extra.receiverAuthorizer did not sign this charge",
            )
        return signature

    @staticmethod
    def _check_claimable(found: _Authorization, channel: Channel) -> None:
        is_open = channel.status in ("open", "closing")
        if not is_open or channel.deposit != found.ceiling or channel.settled:
            raise PaymentError(_STATE, f"the channel is {channel.status}")


def _proof(found: _Authorization, charge: int, signature: object) -> Instruction:
    """Return the instruction that proves the seller's voucher for *charge*."""
    message = voucher_bytes(found.channel, charge, found.expires_at)
    signed = bytes(voucher_signature(signature) or b"")
    return ed25519_instruction(bytes(found.parties.signer), signed, message)


def _settlement_kind(
    inner: Mapping[str, Any], requirements: PaymentRequirements
) -> SettlementKind:
    """Tell a deposit from a claim, as scheme_upto_svm, section 5 says."""
    kind = inner.get("type")
    if kind in ("deposit", "claim"):
        return "deposit" if kind == "deposit" else "claim"
    if kind is None and inner.get("voucherSignature") is not None:
        return "claim"
    if kind is None and requirements.amount == inner.get("maxAmount"):
        return "deposit"
    raise PaymentError(
        f"{_PAYLOAD}_type", "the payload is neither a deposit nor a claim"
    )


def _read_ceiling(inner: Mapping[str, Any]) -> int:
    ceiling = read_u64(inner.get("maxAmount"))
    if not ceiling:
        raise PaymentError(f"{_PAYLOAD}_amount", "maxAmount is not a positive u64")
    if read_u64(inner.get("deposit")) != ceiling:
        raise PaymentError(
            f"{_PAYLOAD}_deposit_not_ceiling", "the deposit is not maxAmount"
        )
    return ceiling


def _read_seed(inner: Mapping[str, Any]) -> tuple[int, int]:
    """Return the salt and the open slot, from which the channel's address is derived."""
    salt, open_slot = read_u64(inner.get("nonce")), read_slot(inner.get("openSlot"))
    if salt is None:
        raise PaymentError(f"{_PAYLOAD}_nonce", "nonce is not a u64 in decimal text")
    if open_slot is None:
        raise PaymentError(f"{_PAYLOAD}_channel_seed", "openSlot is not a slot")
    return salt, open_slot


def _read_times(inner: Mapping[str, Any]) -> tuple[int, int]:
    """Return expiresAt and validAfter, in seconds since 1970."""
    expires, after = inner.get("expiresAt"), inner.get("validAfter")
    if not is_time(expires) or not is_time(after) or expires == 0:
        raise PaymentError(
            f"{_PAYLOAD}_expired", "expiresAt and validAfter must be seconds since 1970"
        )
    return expires, after
