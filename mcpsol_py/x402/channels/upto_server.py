"""The seller of `upto`: its key signs a voucher for the sum that was used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from x402.schemas import AssetAmount, PaymentRequirements, SupportedKind

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import read_u64
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.terms import address, is_time
from mcpsol_py.x402.channels.voucher import VoucherSigner, sign_voucher
from mcpsol_py.x402.exact.mechanism import ExactServer, Mints
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.networks import TOKEN

__all__ = ["UptoServer"]

_LEAST_DELAY = 900
_TERMS = "invalid_upto_svm_payment_requirements"


class UptoServer:
    """Sells: *authorizer* signs the sum that was used. *chain* is asked for a mint's token program."""

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
        authorizer: VoucherSigner,
        chain: PaymentChain | None = None,
        *,
        withdraw_delay: int | None = None,
    ) -> None:
        self._authorizer, self._delay = authorizer, withdraw_delay
        self._mints = Mints(chain) if chain is not None else None
        self._prices = ExactServer()

    def get_asset_decimals(self, asset: str, network: str) -> int | None:
        """Return the decimals of a known asset."""
        return self._prices.get_asset_decimals(asset, network)

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        """Read the highest price. See price.parse_price."""
        return self._prices.parse_price(price, network)

    def validate_facilitator_support(
        self, network: str, kind: SupportedKind, extensions: list[str]
    ) -> str | None:
        """Return a problem that would make every payment fail, or None."""
        fee_payer = extra_of(kind).get("feePayer")
        try:
            address(fee_payer, _TERMS, "feePayer")
        except PaymentError:
            return f"the facilitator offers no feePayer for upto on {network}"
        return None

    def enhance_payment_requirements(
        self,
        requirements: PaymentRequirements,
        supported_kind: SupportedKind,
        extensions: list[str],
    ) -> PaymentRequirements:
        """Add sponsor, voucher signer, grace period and token program."""
        extra = dict(extra_of(requirements))
        extra["feePayer"] = extra_of(supported_kind).get("feePayer")
        extra["receiverAuthorizer"] = str(self._authorizer.pubkey())
        extra["withdrawDelay"] = self._delay or max(
            _LEAST_DELAY, requirements.max_timeout_seconds
        )
        program = (
            str(self._mints.get(requirements.asset)[0])
            if self._mints is not None
            else TOKEN
        )
        extra.setdefault("tokenProgram", program)
        return requirements.model_copy(update={"extra": extra})

    def settle_on_cancel(self, context: Any) -> PaymentRequirements | None:
        """Charge nothing if the tool failed after the deposit: the payer gets all of it back at
        once.
        """
        requirements: PaymentRequirements = context.requirements
        return requirements.model_copy(update={"amount": "0"})

    def enrich_settlement_payload(self, context: Any) -> dict[str, Any]:
        """Name the kind of settlement, and sign the voucher for the sum that was used.

        Raises PaymentError if the charge exceeds the escrow, or the channel has another voucher
        signer.
        """
        if context.phase == "before-handler":
            return {"type": "deposit"}
        payload = context.payment_payload.payload
        charge, ceiling = (
            read_u64(context.requirements.amount),
            read_u64(payload.get("maxAmount")),
        )
        if charge is None or ceiling is None or charge > ceiling:
            raise PaymentError(
                "invalid_upto_svm_payload_settlement_exceeds_amount",
                f"the charge of {charge} exceeds the highest price of {ceiling}",
            )
        if payload.get("authorizedSigner") != str(self._authorizer.pubkey()):
            raise PaymentError(
                "invalid_upto_svm_payload_receiver_authorizer",
                "the channel has another voucher signer",
            )
        channel = address(
            payload.get("channelId"), "invalid_upto_svm_payload_channel_id", "channelId"
        )
        expires = payload.get("expiresAt")
        if not is_time(expires):
            raise PaymentError(
                "invalid_upto_svm_payload_expired",
                "expiresAt must be seconds since 1970",
            )
        signature = sign_voucher(self._authorizer, channel, charge, expires)
        return {"type": "claim", "voucherSignature": signature}
