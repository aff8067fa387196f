"""What a purchase says of its payment, and what it makes of hostile answers."""

from __future__ import annotations

import httpx
import pytest
from x402.schemas import PaymentRequired, SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.outcomes import Bought
from mcpsol_py.x402.buying.purchases import (
    PurchaseOptions,
    buy,
    cost_of,
    is_unconfirmed,
    purchase,
)
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.protocol.json_form import encode_object, json_of
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.unit.x402.payments import USDC, World

RECEIPT = SettleResponse(success=True, transaction="5sig", network=DEVNET)


@pytest.mark.parametrize(
    ("bought", "words", "unconfirmed"),
    [
        (Bought("answer", RECEIPT, 10, "mint", "pay_1"), "the payment settled", False),
        (
            Bought("answer", None, 0, "mint", "pay_1"),
            "payment pay_1 was sent and no receipt",
            True,
        ),
        (Bought("answer"), "nothing was paid", False),
        # A subscription granted it.
        (Bought("answer", RECEIPT), "nothing was paid", False),
    ],
)
def test_the_cost_is_never_called_nothing_while_a_payment_may_land(
    bought: Bought[str], words: str, unconfirmed: bool
) -> None:
    assert cost_of(bought).startswith(words)
    assert is_unconfirmed(bought) is unconfirmed


URL = "https://shop.example/report"


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize("status", [402, 409, 502])
@pytest.mark.parametrize("levels", [200, 900, 5_000])
async def test_an_answer_that_nests_without_end_is_no_crash(
    status: int, levels: int, opening: bytes
) -> None:
    """The seller demands payment properly, and answers the payment with such a body."""
    world = World()
    demand = PaymentRequired(accepts=[world.requirements(1_000)])

    def answer(request: httpx.Request) -> httpx.Response:
        if "payment-signature" in request.headers:
            return httpx.Response(status, content=opening * levels)
        return httpx.Response(
            402, headers={"payment-required": encode_object(json_of(demand))}
        )

    database = Database()
    limits = SpendingLimits({str(USDC): SpendingLimit()})
    budget = Budget(database, str(world.payer.pubkey()), limits, session="s")
    payer = wallet_payer(world.payer, world.chain, budget, database, patience=0.1)
    options = PurchaseOptions(
        lambda: httpx.AsyncClient(transport=httpx.MockTransport(answer))
    )
    if status == 409:
        bought = await buy(purchase({"url": URL}), payer, options)
        assert (bought.status, is_unconfirmed(bought.bought)) == (409, True)
    else:
        with pytest.raises(PaymentError) as caught:
            await buy(purchase({"url": URL}), payer, options)
        assert (
            caught.value.code
            == {402: "PAYMENT_REJECTED", 502: "OUTCOME_UNKNOWN"}[status]
        )
    assert [row.state for row in budget.history()] == ["signed"]
