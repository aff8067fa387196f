"""Errors under the names of older clients."""

from __future__ import annotations

import pytest
from x402.schemas import PaymentPayload, PaymentRequired

from mcpsol_py.x402.protocol.older_names import older_error
from tests.unit.x402.payments import World


@pytest.mark.parametrize(
    ("offered", "code"),
    [
        ("9999", "PAYMENT_INSUFFICIENT"),
        ("10000", "PAYMENT_INVALID"),
        ("²", "PAYMENT_INVALID"),
        ("-1", "PAYMENT_INVALID"),
        ("9" * 5_000, "PAYMENT_INVALID"),
    ],
    ids=["too little", "as asked", "no ASCII digit", "negative", "5,000 digits"],
)
def test_a_payment_for_other_terms_has_a_code(offered: str, code: str) -> None:
    terms = World().requirements(10_000)
    payment = PaymentPayload(
        payload={}, accepted=terms.model_copy(update={"amount": offered})
    )
    error = older_error(
        PaymentRequired(accepts=[terms]), "no_matching_requirements", payment
    )
    assert error["code"] == code
