"""What a purchase says of its payment."""

from __future__ import annotations

import pytest
from x402.schemas import SettleResponse

from mcpsol_py.x402.buying.outcomes import Bought
from mcpsol_py.x402.buying.purchases import cost_of, is_unconfirmed
from mcpsol_py.x402.protocol.networks import DEVNET

RECEIPT = SettleResponse(success=True, transaction="5sig", network=DEVNET)


@pytest.mark.parametrize(
    ("bought", "words", "unconfirmed"),
    [
        (Bought("answer", RECEIPT, 10, "mint", "pay_1"), "the payment settled", False),
        (Bought("answer", None, 0, "mint", "pay_1"), "payment pay_1 was sent and no receipt", True),
        (Bought("answer"), "nothing was paid", False),
        (Bought("answer", RECEIPT), "nothing was paid", False),  # a subscription granted it
    ],
)
def test_the_cost_is_never_called_nothing_while_a_payment_may_land(
    bought: Bought[str], words: str, unconfirmed: bool
) -> None:
    assert cost_of(bought).startswith(words)
    assert is_unconfirmed(bought) is unconfirmed
