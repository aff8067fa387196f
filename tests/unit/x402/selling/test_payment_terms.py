"""The requirements of a price."""

from __future__ import annotations

import pytest
from x402 import x402ResourceServer
from x402.schemas import SupportedResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import MAX_UNITS
from mcpsol_py.x402.exact.mechanism import ExactServer
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.payment_terms import payment_terms
from tests.unit.x402.payments import keypair

EXTRA = {"feePayer": str(keypair(2).pubkey())}
OLD_KIND = {
    "x402Version": 1,
    "scheme": "exact",
    "network": "solana-devnet",
    "extra": EXTRA,
}


class OfVersion1:
    """A facilitator that supports version 1 alone, as npm's x402 makes one."""

    def get_supported(self) -> SupportedResponse:
        return SupportedResponse.model_validate({"kinds": [OLD_KIND]})


def test_a_facilitator_of_version_1_alone_is_named_as_the_reason() -> None:
    core = x402ResourceServer(OfVersion1())  # type: ignore[arg-type]  # it is asked for nothing else
    core.register(DEVNET, ExactServer())
    core.initialize()
    with pytest.raises(PaymentError, match="in version 2 of x402") as caught:
        payment_terms(core, "$0.001", pay_to=str(keypair(3).pubkey()), network=DEVNET)
    assert caught.value.code == "invalid_settlement"


def test_a_price_beyond_what_a_database_holds_is_refused() -> None:
    core = x402ResourceServer(OfVersion1())  # type: ignore[arg-type]  # it is asked for nothing
    price = {"amount": str(MAX_UNITS + 1), "asset": "x"}
    with pytest.raises(PaymentError, match=f"at most {MAX_UNITS} base units") as caught:
        payment_terms(core, price, pay_to=str(keypair(3).pubkey()), network=DEVNET)
    assert caught.value.code == "invalid_price"
