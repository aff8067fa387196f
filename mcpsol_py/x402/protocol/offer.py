"""What a call is sold for, and the replies to one request: an answer, a demand for payment, or a
refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from x402.extensions.payment_identifier import (
    PAYMENT_IDENTIFIER,
    declare_payment_identifier_extension,
)
from x402.schemas import (
    PaymentRequired,
    PaymentRequirements,
    ResourceInfo,
    SettleResponse,
)
from x402.schemas.v1 import PaymentRequirementsV1

from mcpsol_py.x402.protocol.json_form import extra_of, json_of
from mcpsol_py.x402.protocol.networks import v1_name
from mcpsol_py.x402.protocol.older_names import older_terms
from mcpsol_py.x402.protocol.proof import SIGN_IN_WITH_X, challenge
from mcpsol_py.x402.protocol.receipts import OFFER_RECEIPT, Signatory

__all__ = ["Answer", "Offer", "PaymentRequiredReply", "Refused", "Reply"]


@dataclass(frozen=True, slots=True)
class Offer:
    """Something for sale. `accepts` are the ways to pay; the payer chooses one.

    `broadcasts`: the tool sends a transaction, so its call is settled before it runs.
    """

    resource: ResourceInfo
    accepts: tuple[PaymentRequirements, ...]
    broadcasts: bool = False
    payment_id_required: bool = False
    extensions: Mapping[str, Any] = field(default_factory=dict)
    #: Plans whose subscribers call without paying, and the domain that their proofs name.
    plans: tuple[str, ...] = ()
    domain: str = ""
    #: Shown to buyers instead of `resource`: an address from outside, for catalogs.
    public: ResourceInfo | None = None
    #: Signs the offers and the receipts (receipts.py).
    signatory: Signatory | None = None
    #: Terms that were offered before with another fee payer. They are accepted, but not shown.
    earlier: tuple[PaymentRequirements, ...] = ()

    def payment_required(self, error: str) -> PaymentRequired:
        """Return the 402 body."""
        extensions = dict(self.extensions)
        extensions[PAYMENT_IDENTIFIER] = declare_payment_identifier_extension(
            required=self.payment_id_required
        )
        if self.plans:
            networks = sorted({r.network for r in self.accepts})
            extensions[SIGN_IN_WITH_X] = challenge(
                self.domain, self.resource.url, networks
            )
        if self.signatory is not None:
            extensions[OFFER_RECEIPT] = self.signatory.offers(
                self.resource.url, self.accepts
            )
        return PaymentRequired(
            error=error,
            resource=self.public or self.resource,
            accepts=list(self.accepts),
            extensions=extensions,
        )

    def listed(self) -> dict[str, Any]:
        """Return the terms as lists of tools show them: as x402 writes them, and the first one by
        itself, also under the names of older clients.
        """
        return {
            "x402Version": 2,
            "resource": json_of(self.public or self.resource),
            "accepts": list(map(json_of, self.accepts)),
            "scheme": self.accepts[0].scheme,
            "asset": self.accepts[0].asset,
            "payTo": self.accepts[0].pay_to,
            **({"domain": self.domain} if self.plans else {}),
            **older_terms(self.accepts[0], self.resource.description),
        }

    def receipted(self, settled: SettleResponse) -> SettleResponse:
        """Return a settlement that succeeded, with a signed receipt if this offer has a
        signatory.
        """
        if self.signatory is None:
            return settled
        return self.signatory.signed(self.resource.url, settled)

    def v1(self) -> list[PaymentRequirementsV1]:
        """Return `accepts` for peers of protocol version 1, which has the scheme "exact" and named
        networks only.
        """
        return [v1 for v1, _ in self.v1_terms()]

    def v1_terms(self) -> list[tuple[PaymentRequirementsV1, PaymentRequirements]]:
        """Return each of the terms in `v1`, with those of `accepts` that it was made of."""
        found = []
        for terms in self.accepts:
            network = v1_name(terms.network)
            if network is not None and terms.scheme == "exact":
                found.append((self._v1_terms(terms, network), terms))
        return found

    def _v1_terms(
        self, terms: PaymentRequirements, network: str
    ) -> PaymentRequirementsV1:
        extra = dict(extra_of(terms))
        extra.pop("paymentFlow", None)
        return PaymentRequirementsV1(
            scheme=terms.scheme,
            network=network,
            max_amount_required=terms.amount,
            resource=self.resource.url,
            description=self.resource.description or "",
            mime_type=self.resource.mime_type or "application/json",
            pay_to=terms.pay_to,
            max_timeout_seconds=terms.max_timeout_seconds,
            asset=terms.asset,
            extra=extra,
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """The tool's result and the receipt. `repeated`: from an earlier call with the same
    payment id.
    """

    result: dict[str, Any]
    receipt: SettleResponse | None
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class PaymentRequiredReply:
    """402: what to pay, and the reason code for which the payment was rejected, or
    "payment_required".

    `failed` is the settlement that failed, if there was one.
    """

    required: PaymentRequired
    reason: str
    failed: SettleResponse | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """Neither an answer nor a 402: paying again does not help.

    `code`: "payment_id_conflict", "in_progress", "settlement_pending", "outcome_unknown",
    "proof_required", "storage_unavailable". `receipt` is of the payment that was made already.
    """

    code: str
    message: str
    receipt: SettleResponse | None = None


Reply: TypeAlias = Answer | PaymentRequiredReply | Refused
