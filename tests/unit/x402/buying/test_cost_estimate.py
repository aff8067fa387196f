"""Estimates: a way to pay is affordable only if the wallet would sign for it now, and nothing with a price is free."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import httpx
import mcp_types as types
import pytest
from solders.pubkey import Pubkey
from x402.schemas import PaymentRequired, PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.tokens import TokenAccountState
from mcpsol_py.x402.buying.cost_estimate import listed_price, price
from mcpsol_py.x402.buying.purchases import purchase
from mcpsol_py.x402.protocol.http_wire import demand_headers
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.subscriptions.subscriber import Subscriber
from tests.support.x402_shop import Shop
from tests.unit.x402.channel_payments import BatchShop, ChannelWorld, batch_client
from tests.unit.x402.payments import USDC, keypair
from tests.unit.x402.subscriptions.merchant import Merchant

URL = "https://shop.example/report"
NOT_YET = keypair(77).pubkey()


class Scheme(Protocol):
    """One of the schemes' clients."""

    def check(self, requirements: PaymentRequirements) -> None: ...

    def create_payment_payload(
        self, requirements: PaymentRequirements
    ) -> dict[str, Any]: ...


def exact(world: ChannelWorld) -> tuple[Scheme, PaymentRequirements]:
    return world.client, world.requirements(1_000)


def upto(world: ChannelWorld) -> tuple[Scheme, PaymentRequirements]:
    return world.upto_client(), world.ceiling(1_000)


def batch(world: ChannelWorld) -> tuple[Scheme, PaymentRequirements]:
    return batch_client(world), BatchShop(world, Database()).terms(1_000)


SCHEMES = {made.__name__: made for made in (exact, upto, batch)}
#: What a seller may ask for: changes of the terms, and of `extra` (None: left out).
TERMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "as they are": ({}, {}),
    "no sponsor": ({}, {"feePayer": None}),
    "the payer as sponsor": ({}, {"feePayer": str(keypair(1).pubkey())}),
    "a sponsor that is no address": ({}, {"feePayer": "nobody"}),
    "a memo that is too long": ({}, {"memo": "m" * 300}),
    "a payee that is no address": ({"pay_to": "nobody"}, {}),
    "a payee without an account": ({"pay_to": str(NOT_YET)}, {}),
    "more than there is": ({"amount": "1000001"}, {}),
    "a delay that is no number": ({}, {"withdrawDelay": "soon"}),
    "a delay of a year": ({}, {"withdrawDelay": 31_536_000}),
    "another token program": ({}, {"tokenProgram": str(NOT_YET)}),
    "no authorizer": ({}, {"receiverAuthorizer": None}),
    "a slot that is no number": ({}, {"recentSlot": "soon"}),
    "another network": ({"network": "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"}, {}),
}
#: Who has a token account that can take nothing.
FROZEN = {
    "payer": lambda world: world.payer.pubkey(),
    "payee": lambda world: world.payee.pubkey(),
    "treasury": lambda world: world.program.treasury_owner,
}


def asked(
    terms: PaymentRequirements, fields: dict[str, Any], extra: dict[str, Any]
) -> PaymentRequirements:
    kept = {k: v for k, v in {**terms.extra, **extra}.items() if v is not None}
    return terms.model_copy(update={**fields, "extra": kept})


def outcome(
    work: Callable[[PaymentRequirements], object], terms: PaymentRequirements
) -> str:
    try:
        work(terms)
    except PaymentError as error:
        return error.code
    return "paid"


@pytest.mark.parametrize("change", TERMS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_check_says_what_signing_would(scheme: str, change: str) -> None:
    client, terms = SCHEMES[scheme](ChannelWorld())
    wanted = asked(terms, *TERMS[change])
    checked = outcome(client.check, wanted)
    assert checked == outcome(client.create_payment_payload, wanted)
    assert (checked == "paid") >= (change == "as they are")


@pytest.mark.parametrize(
    ("scheme", "who", "code"),
    [
        ("exact", "payer", "ACCOUNT_FROZEN"),
        ("exact", "payee", "token_account_frozen"),
        ("exact", "treasury", "paid"),  # has no part in a transfer
        ("upto", "payer", "ACCOUNT_FROZEN"),
        ("upto", "payee", "token_account_frozen"),
        ("upto", "treasury", "token_account_frozen"),
        ("batch", "payer", "ACCOUNT_FROZEN"),
        ("batch", "payee", "token_account_frozen"),
        ("batch", "treasury", "token_account_frozen"),
    ],
)
def test_nothing_goes_where_it_could_not_be_paid_out(
    scheme: str, who: str, code: str
) -> None:
    world = ChannelWorld()
    client, terms = SCHEMES[scheme](world)
    owner: Pubkey = FROZEN[who](world)
    world.put(owner, 10_000, state=TokenAccountState.FROZEN)
    assert outcome(client.check, terms) == code
    assert outcome(client.create_payment_payload, terms) == code


# --- prices ----------------------------------------------------------------------------------------------------------


async def asked_at(
    answer: httpx.Response, *subscribers: Subscriber
) -> list[dict[str, Any]]:
    def http() -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=httpx.MockTransport(lambda _request: answer))

    return await price(purchase({"url": URL}), http, subscribers)


async def test_a_demand_that_cannot_be_read_is_not_free() -> None:
    bad = {
        "scheme": "exact",
        "network": "\x00",
        "asset": "\x00",
        "amount": "1",
        "payTo": "\x00",
    }
    body = {
        "x402Version": 2,
        "error": "pay",
        "accepts": [bad],
        "resource": {"url": URL},
    }
    with pytest.raises(PaymentError) as caught:
        await asked_at(httpx.Response(402, json=body))
    assert caught.value.code == "NO_REQUIREMENTS"


@pytest.mark.parametrize(
    ("accepts", "known"), [(None, False), ([], False), ("free", False), ([7], True)]
)
def test_a_listed_price_that_cannot_be_read_is_not_free(
    accepts: object, known: bool
) -> None:
    tool = types.Tool(
        name="quote", input_schema={}, _meta={"x402": {"accepts": accepts}}
    )
    if not known:
        # Nothing is listed: the tool itself is asked.
        assert listed_price(tool, ()) is None
        return
    with pytest.raises(PaymentError) as caught:
        listed_price(tool, ())
    assert caught.value.code == "NO_REQUIREMENTS"


async def test_a_seller_who_is_not_paid_has_no_estimate(tmp_path: Path) -> None:
    """Its plans name a domain that is not its host, so the wallet neither signs in nor pays there."""
    offer = Merchant(Shop(tmp_path / "shop.db")).offer()
    here = Subscriber(keypair(1), ["shop.example"], refuse_others=True)
    named = Subscriber(keypair(1), ["shop.example", offer.domain], refuse_others=True)
    required: PaymentRequired = offer.payment_required("pay")
    headers, body = demand_headers(offer, required, None, "https://shop.example")
    tool = types.Tool(name="quote", input_schema={}, _meta={"x402": offer.listed()})
    answer = httpx.Response(402, headers=headers, content=body)
    assert [terms["asset"] for terms in await asked_at(answer, named)] == [str(USDC)]
    assert [terms["asset"] for terms in listed_price(tool, [named]) or ()] == [
        str(USDC)
    ]
    for work in (lambda: asked_at(answer, here), lambda: _listed(tool, here)):
        with pytest.raises(PaymentError) as caught:
            await work()
        assert caught.value.code == "DOMAIN_NOT_ALLOWED"


async def _listed(tool: types.Tool, subscriber: Subscriber) -> None:
    listed_price(tool, [subscriber])
