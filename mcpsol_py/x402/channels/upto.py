"""The `upto` scheme as plug-ins of the official `x402` core: a ceiling is escrowed, what was used is charged.

One channel a request (scheme_upto_svm). The payer signs `open` with the ceiling as deposit. Before the tool runs the
facilitator lands it; afterwards the seller's key signs a voucher of what was used, and the facilitator closes the
channel with it: the payee gets that, the payer the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from solders.pubkey import Pubkey
from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
    VerifyResponse,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.chain.program import ed25519_instruction, voucher_bytes
from mcpsol_py.x402.channels.channel_facilitator import (
    ChannelDesk,
    address,
    operation_key,
    read_delay,
    read_note,
)
from mcpsol_py.x402.channels.program import (
    OPEN,
    Channel,
    ChannelProgram,
    Parties,
    open_data,
    read_clock,
)
from mcpsol_py.x402.channels.sponsored import (
    SponsoredTransaction,
    build_setup,
    random_salt,
    read_sponsored,
)
from mcpsol_py.x402.channels.voucher import (
    Signer,
    checks,
    read_u64,
    sign_voucher,
    voucher_signature,
)
from mcpsol_py.x402.exact.mechanism import ExactServer, Mints
from mcpsol_py.x402.protocol.networks import TOKEN, asset_by_mint, caip2
from mcpsol_py.x402.store.channels import Sponsored

__all__ = ["UptoClient", "UptoFacilitator", "UptoServer"]

#: An open takes 51,000 to 90,000 units (X402.md 4.2), closing and paying out less than 100,000.
OPEN_UNITS, CLAIM_UNITS = 90_000, 120_000
LEAST_DELAY = 900
_TERMS = "invalid_upto_svm_payment_requirements"


class UptoClient:
    """Pays: opens a channel of the ceiling. Sends nothing."""

    scheme = "upto"

    def __init__(
        self,
        payer: Signer,
        chain: PaymentChain,
        program: ChannelProgram,
        *,
        max_delay: int = 86_400,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """*max_delay*: the longest grace period in seconds that the payer would wait for its money."""
        self._payer, self._chain, self._program = payer, chain, program
        self._max_delay, self._clock = max_delay, clock
        self._mints = Mints(chain)

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """What x402's client spends on without being told."""
        known = asset_by_mint(network, asset)
        return (
            {"asset": known.mint, "decimals": known.decimals, "symbol": known.symbol}
            if known
            else None
        )

    def create_payment_payload(self, requirements: PaymentRequirements) -> dict[str, Any]:
        """The payload of scheme_upto_svm 4.2. Raises PaymentError when the requirements cannot be met."""
        bad = "invalid_payment_requirements"
        if caip2(str(requirements.network)) != self._chain.network:
            raise PaymentError(
                "network_mismatch",
                f"asked to pay on {requirements.network}; this wallet is on {self._chain.network}",
            )
        extra = requirements.extra or {}
        amount = read_u64(requirements.amount)
        if not amount:
            raise PaymentError(bad, "the amount is no positive u64")
        token_program, _ = self._mints.get(requirements.asset)
        if extra.get("tokenProgram", str(token_program)) != str(token_program):
            raise PaymentError(bad, "extra.tokenProgram does not own the mint")
        slot = _slot(extra.get("recentSlot"))
        parties = Parties(
            payer=self._payer.pubkey(),
            sponsor=address(extra.get("feePayer"), bad, "extra.feePayer"),
            mint=address(requirements.asset, bad, "asset"),
            signer=address(extra.get("receiverAuthorizer"), bad, "extra.receiverAuthorizer"),
            salt=random_salt(),
            open_slot=slot if slot is not None else read_clock(self._chain).slot,
            pay_to=address(requirements.pay_to, bad, "payTo"),
            token_program=token_program,
        )
        if parties.sponsor == parties.payer:
            raise PaymentError(bad, "extra.feePayer is the payer; a sponsor signs apart")
        delay = read_delay(extra, bad, high=self._max_delay)
        hint = extra.get("recentBlockhash")
        blockhash = hint if isinstance(hint, str) and hint else str(self._chain.latest_blockhash())
        text = build_setup(
            self._program.open(parties, amount, delay),
            self._payer,
            parties.sponsor,
            blockhash,
            units=OPEN_UNITS,
            note=read_note(extra, bad),
        )
        now = int(self._clock())
        after = extra.get("validAfter")
        return {
            "from": str(parties.payer),
            "maxAmount": str(amount),
            "expiresAt": now + requirements.max_timeout_seconds,
            "validAfter": after if isinstance(after, int) else now,
            "nonce": str(parties.salt),
            "openSlot": str(parties.open_slot),  # text: npm @x402/svm takes no number
            "channelId": str(self._program.address(parties)),
            "deposit": str(amount),
            "authorizedSigner": str(parties.signer),
            "openTransaction": text,
        }

    def charged(self, payment: Any) -> int | None:
        """What the chain proves to be charged of this payment: its channel is closed, at that sum. None: not yet, or
        the account is gone already."""
        found = self._program.fetch(self._chain, str(payment.payload.get("channelId")))
        return (
            found.settled
            if found is not None and found.status in ("sealed", "distributed")
            else None
        )


class UptoServer:
    """Sells: *authorizer* signs what was used. *chain* tells which program a mint belongs to."""

    scheme = "upto"
    default_asset_transfer_method = "default"
    payment_flows: ClassVar[Mapping[str, Any]] = {
        "default": {"supported": ("escrow",), "default": "escrow"}
    }
    dynamic_extra_fields: ClassVar[list[str]] = [
        "recentBlockhash",
        "lastValidBlockHeight",
        "recentSlot",
    ]

    def __init__(
        self,
        authorizer: Signer,
        chain: PaymentChain | None = None,
        *,
        withdraw_delay: int | None = None,
    ) -> None:
        self._authorizer, self._delay = authorizer, withdraw_delay
        self._mints = Mints(chain) if chain is not None else None
        self._prices = ExactServer()

    def get_asset_decimals(self, asset: str, network: str) -> int | None:
        """Decimals of a known asset."""
        return self._prices.get_asset_decimals(asset, network)

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        """See price.parse_price: the ceiling."""
        return self._prices.parse_price(price, network)

    def validate_facilitator_support(
        self, network: str, kind: SupportedKind, extensions: list[str]
    ) -> str | None:
        """A problem that no payment could get over, or None."""
        fee_payer = (kind.extra or {}).get("feePayer")
        try:
            address(fee_payer, _TERMS, "feePayer")
        except PaymentError:
            return f"the facilitator names no feePayer for upto on {network}"
        return None

    def enhance_payment_requirements(
        self,
        requirements: PaymentRequirements,
        supported_kind: SupportedKind,
        extensions: list[str],
    ) -> PaymentRequirements:
        """Adds sponsor, voucher signer, grace period and token program."""
        extra = dict(requirements.extra or {})
        extra["feePayer"] = (supported_kind.extra or {}).get("feePayer")
        extra["receiverAuthorizer"] = str(self._authorizer.pubkey())
        extra["withdrawDelay"] = self._delay or max(LEAST_DELAY, requirements.max_timeout_seconds)
        program = str(self._mints.get(requirements.asset)[0]) if self._mints is not None else TOKEN
        extra.setdefault("tokenProgram", program)
        return requirements.model_copy(update={"extra": extra})

    def settle_on_cancel(self, context: Any) -> PaymentRequirements | None:
        """A tool that failed after the deposit: nothing is charged, the payer gets all of it back at once."""
        requirements: PaymentRequirements = context.requirements
        return requirements.model_copy(update={"amount": "0"})

    def enrich_settlement_payload(self, context: Any) -> dict[str, Any]:
        """Says which settlement this is, and signs the voucher of what was used. Raises PaymentError when more is to
        be charged than was escrowed, or the channel is not one of ours."""
        if context.phase == "before-handler":
            return {"type": "deposit"}
        payload = context.payment_payload.payload
        charge, ceiling = read_u64(context.requirements.amount), read_u64(payload.get("maxAmount"))
        if charge is None or ceiling is None or charge > ceiling:
            raise PaymentError(
                "invalid_upto_svm_payload_settlement_exceeds_amount",
                f"{charge} is more than the ceiling of {ceiling}",
            )
        if payload.get("authorizedSigner") != str(self._authorizer.pubkey()):
            raise PaymentError(
                "invalid_upto_svm_payload_receiver_authorizer",
                "the channel has another voucher signer",
            )
        channel = address(
            payload.get("channelId"), "invalid_upto_svm_payload_channel_id", "channelId"
        )
        signature = sign_voucher(self._authorizer, channel, charge, int(payload["expiresAt"]))
        return {"type": "claim", "voucherSignature": signature}


@dataclass(frozen=True, slots=True)
class _Authorization:
    """A client's payload that holds against the terms."""

    parties: Parties
    channel: Pubkey
    ceiling: int
    delay: int
    expires_at: int
    valid_after: int
    setup: SponsoredTransaction


class UptoFacilitator(ChannelDesk):
    """Verifies, opens and closes. Answers, never raises. *max_lifetime*: the longest that a channel may be asked for,
    in seconds, which bounds how long rent is bound."""

    scheme = "upto"
    max_lifetime = 3600

    def verify(
        self, payload: PaymentPayload, requirements: PaymentRequirements, context: object = None
    ) -> VerifyResponse:
        """Would this ceiling be escrowed now?"""

        def work() -> tuple[str, dict[str, Any] | None]:
            found = self._authorize(payload, requirements)
            self._check_new(payload, requirements, found)
            self._check_setup("invalid_upto_svm_settlement_simulation")(self.chain, found.setup)
            return str(found.parties.payer), None

        return self._answer_verify(work)

    def settle(
        self, payload: PaymentPayload, requirements: PaymentRequirements, context: object = None
    ) -> SettleResponse:
        """The deposit before the tool runs, or the claim after it (told apart as scheme_upto_svm 5 says)."""
        inner = payload.payload
        kind, voucher = inner.get("type"), inner.get("voucherSignature")
        if kind not in (None, "deposit", "claim"):
            kind = "wrong"
        elif kind is None:
            is_ceiling = requirements.amount == inner.get("maxAmount")
            kind = "claim" if voucher is not None else "deposit" if is_ceiling else "wrong"
        payer = inner.get("from") if isinstance(inner.get("from"), str) else ""
        keys: list[str] = []

        def work() -> SettleResponse:
            if kind == "wrong":
                raise PaymentError("invalid_upto_svm_payload_type", "neither a deposit nor a claim")
            act = self._deposit if kind == "deposit" else self._claim
            return act(payload, requirements, keys)

        return self._answer_settle(
            str(requirements.network), str(payer), lambda: keys[0] if keys else None, work
        )

    # -- one step each

    def _authorize(
        self, payload: PaymentPayload, requirements: PaymentRequirements, *, claim: bool = False
    ) -> _Authorization:
        """Everything that holds without asking the chain, but for the mint. The ceiling is what the payer signed,
        whatever is charged now."""
        self._same_network(payload.accepted.scheme, payload.accepted.network, requirements)
        inner, extra = payload.payload, requirements.extra or {}
        if extra.get("paymentFlow", "escrow") != "escrow":
            raise PaymentError(_TERMS, "extra.paymentFlow is not escrow")
        if not claim and "voucherSignature" in inner:
            raise PaymentError(
                "invalid_upto_svm_payload_unexpected_voucher", "a payer's payload has no voucher"
            )
        ceiling = read_u64(inner.get("maxAmount"))
        if not ceiling:
            raise PaymentError("invalid_upto_svm_payload_amount", "maxAmount is no positive u64")
        if read_u64(inner.get("deposit")) != ceiling:
            raise PaymentError(
                "invalid_upto_svm_payload_deposit_not_ceiling", "the deposit is not maxAmount"
            )
        if not claim and read_u64(requirements.amount) != ceiling:
            raise PaymentError(
                "invalid_upto_svm_payload_amount_mismatch",
                f"the ceiling is {ceiling:,}; {requirements.amount} is asked for",
            )
        salt, open_slot = read_u64(inner.get("nonce")), _slot(inner.get("openSlot"))
        if salt is None:
            raise PaymentError("invalid_upto_svm_payload_nonce", "nonce is no u64 in decimal text")
        if open_slot is None:
            raise PaymentError("invalid_upto_svm_payload_channel_seed", "openSlot is no slot")
        expires, after = inner.get("expiresAt"), inner.get("validAfter")
        if not _is_time(expires) or not _is_time(after) or expires == 0:
            raise PaymentError(
                "invalid_upto_svm_payload_expired",
                "expiresAt and validAfter are seconds since 1970",
            )
        authorizer = address(extra.get("receiverAuthorizer"), _TERMS, "extra.receiverAuthorizer")
        if inner.get("authorizedSigner") != str(authorizer):
            raise PaymentError(
                "invalid_upto_svm_payload_receiver_authorizer",
                "authorizedSigner is not extra.receiverAuthorizer",
            )
        delay = read_delay(extra, _TERMS)
        parties = Parties(
            payer=address(inner.get("from"), "invalid_upto_svm_payload_payer_mismatch", "from"),
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
                "invalid_upto_svm_payload_payer_mismatch", "the payer is one of the sponsors"
            )
        channel = self.program.address(parties)
        if inner.get("channelId") != str(channel):
            raise PaymentError(
                "invalid_upto_svm_payload_channel_id",
                f"channelId is not {channel}, as its terms give",
            )
        code = "invalid_upto_svm_payload_open_transaction"
        setup = read_sponsored(
            inner.get("openTransaction"),
            code=code,
            program_id=self.program.program_id,
            discriminator=OPEN,
            accounts=self.program.open_accounts(parties),
            payer=parties.payer,
            fee_payer=parties.sponsor,
            note=read_note(extra, _TERMS),
            caps=self._caps,
        )
        if setup.data != open_data(parties, ceiling, delay):
            raise PaymentError(
                code,
                "open does not say the salt, deposit, grace period, slot and payee of the terms",
            )
        assert isinstance(expires, int)  # _is_time, for mypy
        assert isinstance(after, int)
        return _Authorization(parties, channel, ceiling, delay, expires, after, setup)

    def _check_new(
        self, payload: PaymentPayload, requirements: PaymentRequirements, found: _Authorization
    ) -> None:
        """What else must hold before something is escrowed."""
        now, timeout = int(self._clock()), requirements.max_timeout_seconds
        if "type" in payload.payload and payload.payload["type"] != "deposit":
            raise PaymentError("invalid_upto_svm_payload_type", "a payer's payload has no type")
        if found.valid_after > now + self._skew:
            raise PaymentError(
                "invalid_upto_svm_payload_not_yet_active", "validAfter is in the future"
            )
        if found.expires_at <= now:
            raise PaymentError("invalid_upto_svm_payload_expired", "expiresAt is over")
        if timeout > self.max_lifetime or found.expires_at - now > self.max_lifetime:
            raise PaymentError(
                "invalid_upto_svm_payload_channel_lifetime_exceeded",
                f"a channel is kept for at most {self.max_lifetime:,} seconds",
            )
        if found.expires_at > now + timeout + self._skew:
            raise PaymentError(
                "invalid_upto_svm_payload_expires_at_mismatch",
                f"expiresAt is over {timeout:,} seconds away",
            )
        if self.chain.get_accounts([str(found.channel)])[0] is not None:
            raise PaymentError(
                "invalid_upto_svm_channel_already_open", f"there is a channel at {found.channel}"
            )
        self._check_accounts(found.parties, "invalid_upto_svm_settlement_simulation")

    def _deposit(
        self, payload: PaymentPayload, requirements: PaymentRequirements, keys: list[str]
    ) -> SettleResponse:
        found = self._authorize(payload, requirements)
        keys.append(found.setup.key)
        if self.settlements.get(found.setup.key) is None:
            self._check_new(payload, requirements, found)
            p = found.parties
            row = Sponsored(
                self.chain.network,
                str(found.channel),
                self.scheme,
                str(p.pay_to),
                str(p.token_program),
                str(p.signer),
                found.expires_at,
            )
            self.channels.keep(row)
        settled = self._broadcast(found.setup, "invalid_upto_svm_settlement_simulation")
        channel = self._bound(found)
        if channel.status != "open" or channel.deposit != found.ceiling or channel.settled:
            raise PaymentError(
                "invalid_upto_svm_channel_state",
                f"the channel is {channel.status}, not as it was opened",
            )
        return SettleResponse(
            success=True,
            transaction=settled.signature,
            network=requirements.network,
            payer=str(found.parties.payer),
            amount=str(found.ceiling),
        )

    def _bound(self, found: _Authorization) -> Channel:
        return self._channel(
            found.channel, found.parties, found.delay, "invalid_upto_svm_channel_state"
        )

    def _claim(
        self, payload: PaymentPayload, requirements: PaymentRequirements, keys: list[str]
    ) -> SettleResponse:
        found = self._authorize(payload, requirements, claim=True)
        charge = read_u64(requirements.amount)
        if charge is None:
            raise PaymentError("invalid_upto_svm_payload_amount", "the charge is no u64")
        if charge > found.ceiling:
            raise PaymentError(
                "invalid_upto_svm_payload_settlement_exceeds_amount",
                f"{charge:,} is more than the ceiling of {found.ceiling:,}",
            )
        signature = payload.payload.get("voucherSignature")
        if signature is None:
            raise PaymentError(
                "invalid_upto_svm_payload_missing_voucher", "a claim carries the seller's voucher"
            )
        p, expires = found.parties, found.expires_at
        if not checks(signature, p.signer, found.channel, charge, expires):
            raise PaymentError(
                "invalid_upto_svm_payload_voucher_signature",
                "extra.receiverAuthorizer did not sign this charge",
            )
        key = operation_key("upto:claim", self.chain.network, found.channel)
        keys.append(key)
        known = self.settlements.get(key)
        if known is None or known.state == "failed":
            channel = self._bound(found)
            if (
                channel.status not in ("open", "closing")
                or channel.deposit != found.ceiling
                or channel.settled
            ):
                raise PaymentError(
                    "invalid_upto_svm_channel_state", f"the channel is {channel.status}"
                )
        instructions = [
            self.program.settle_and_seal(found.channel, p.sponsor, has_voucher=charge > 0),
            self.program.distribute(p),
        ]
        if charge:
            read = voucher_signature(signature)
            message = voucher_bytes(found.channel, charge, expires)
            instructions.insert(
                0, ed25519_instruction(bytes(p.signer), bytes(read or b""), message)
            )
        signed = self._submit(key, str(p.payer), p.sponsor, instructions, CLAIM_UNITS)
        return SettleResponse(
            success=True,
            transaction=signed,
            network=requirements.network,
            payer=str(p.payer),
            amount=str(charge),
        )


def _slot(value: object) -> int | None:
    """A slot as number or decimal text: the specification says a number, npm @x402/svm writes text."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**64:
        return value
    return read_u64(value)


def _is_time(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53
