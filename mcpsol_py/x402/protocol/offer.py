"""What a call is sold for, and what one request comes to: an answer, a demand for payment, or a refusal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from x402.extensions.payment_identifier import (
    PAYMENT_IDENTIFIER,
    declare_payment_identifier_extension,
)
from x402.schemas import PaymentRequired, PaymentRequirements, ResourceInfo, SettleResponse
from x402.schemas.v1 import PaymentRequirementsV1

from mcpsol_py.x402.protocol.networks import v1_name
from mcpsol_py.x402.protocol.proof import SIGN_IN_WITH_X, challenge
from mcpsol_py.x402.protocol.receipts import OFFER_RECEIPT, Signatory

__all__ = ["Answer", "PaymentRequiredReply", "Offer", "Refused", "Reply"]


@dataclass(frozen=True, slots=True)
class Offer:
    """What is sold: `accepts` are the ways to pay, any one of them does. `broadcasts`: it sends a transaction, so it is
    settled first.
    """

    resource: ResourceInfo
    accepts: tuple[PaymentRequirements, ...]
    broadcasts: bool = False
    payment_id_required: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict)
    #: Plans whose subscribers call without paying, and the domain that their proofs name (subscriptions/proof.py).
    plans: tuple[str, ...] = ()
    domain: str = ""
    #: What buyers are told instead of `resource`: an address from outside, for catalogs.
    public: ResourceInfo | None = None
    #: Signs what is asked and what was paid (receipts.py).
    signatory: Signatory | None = None

    def payment_required(self, error: str) -> PaymentRequired:
        """The 402 body."""
        extensions = dict(self.extensions)
        extensions[PAYMENT_IDENTIFIER] = declare_payment_identifier_extension(
            required=self.payment_id_required
        )
        if self.plans:
            networks = sorted({r.network for r in self.accepts})
            extensions[SIGN_IN_WITH_X] = challenge(self.domain, self.resource.url, networks)
        if self.signatory is not None:
            extensions[OFFER_RECEIPT] = self.signatory.offers(self.resource.url, self.accepts)
        shown = self.public or self.resource
        return PaymentRequired(
            error=error, resource=shown, accepts=list(self.accepts), extensions=extensions
        )

    def receipted(self, settled: SettleResponse) -> SettleResponse:
        """A settlement that succeeded, with a signed receipt where this offer has a signatory."""
        return (
            settled if self.signatory is None else self.signatory.signed(self.resource.url, settled)
        )

    def v1(self) -> list[PaymentRequirementsV1]:
        """The same for peers of protocol version 1; networks that version 1 does not name are left out."""
        found = []
        for r in self.accepts:
            name = v1_name(r.network)
            if name is not None and r.scheme == "exact":  # version 1 has no other scheme
                found.append(
                    PaymentRequirementsV1(
                        scheme=r.scheme,
                        network=name,
                        max_amount_required=r.amount,
                        resource=self.resource.url,
                        description=self.resource.description or "",
                        mime_type=self.resource.mime_type or "application/json",
                        pay_to=r.pay_to,
                        max_timeout_seconds=r.max_timeout_seconds,
                        asset=r.asset,
                        extra={k: v for k, v in (r.extra or {}).items() if k != "paymentFlow"},
                    )
                )
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """The tool's result, with the receipt. `repeated`: from an earlier call with the same payment id."""

    result: dict[str, Any]
    receipt: SettleResponse | None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class PaymentRequiredReply:
    """402: what to pay, and why what came did not do. `failed` is the settlement that failed, where there was one."""

    required: PaymentRequired
    reason: str
    failed: SettleResponse | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Neither 402 nor an answer. `code`: "payment_id_conflict", "in_progress", "settlement_pending", "outcome_unknown",
    "storage_unavailable". Paying again is never the remedy; `receipt` shows what was paid already."""

    code: str
    message: str
    receipt: SettleResponse | None = None


Reply: TypeAlias = Answer | PaymentRequiredReply | Refused
