"""Signed offers and receipts, checked by hand too: an Ed25519 of cryptography over the bytes that RFC 7515 says."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server import Server

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.offer import Answer, PaymentRequiredReply
from mcpsol_py.x402.protocol.receipts import (
    OFFER_RECEIPT,
    Signatory,
    read_offers,
    read_receipt,
    verify_jws,
)
from mcpsol_py.x402.store.receipts import Receipts
from tests.support.x402_shop import ID, Shop
from tests.unit.x402.payments import keypair

PAYEE = keypair(3)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


def parts(jws: str) -> tuple[dict[str, Any], dict[str, Any], bytes, bytes]:
    head, body, signature = jws.split(".")

    def raw(text: str) -> bytes:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    return (
        json.loads(raw(head)),
        json.loads(raw(body)),
        raw(signature),
        f"{head}.{body}".encode(),
    )


async def test_a_demand_and_its_receipt_are_signed_by_who_is_paid(shop: Shop) -> None:
    offer = shop.offer(signatory=Signatory(PAYEE))
    payee = str(PAYEE.pubkey())
    asked = await shop.paid_calls().call(offer, None, {}, shop.run)
    assert isinstance(asked, PaymentRequiredReply)
    (told,) = read_offers(asked.required.extensions, {payee})
    terms = asked.required.accepts[0]
    assert (told["payTo"], told["amount"], told["asset"]) == (
        terms.pay_to,
        terms.amount,
        terms.asset,
    )
    assert told["resourceUrl"] == "mcp://tool/quote"
    assert 0 < told["validUntil"] - time.time() <= 300
    reply = await shop.paid_calls().call(offer, shop.payment(), {}, shop.run)
    assert isinstance(reply, Answer)
    assert reply.receipt is not None
    receipt = read_receipt(reply.receipt, {payee})
    assert receipt is not None
    assert receipt["transaction"] == reply.receipt.transaction
    assert receipt["payer"] == str(shop.world.payer.pubkey())
    again = await shop.paid_calls().call(offer, shop.payment(), {}, shop.run)
    assert isinstance(again, Answer)
    assert again.receipt == reply.receipt  # the very same signature: it is kept
    kept = Receipts(shop.database).get(ID)
    assert kept is not None
    extensions = reply.receipt.extensions
    assert extensions is not None
    assert kept.jws == extensions[OFFER_RECEIPT]["info"]["receipt"]["signature"]


async def test_the_signature_holds_for_another_implementation(shop: Shop) -> None:
    extension = Signatory(PAYEE).offers(
        "https://shop.example/x", [shop.world.requirements()]
    )
    jws = extension["info"]["offers"][0]["signature"]
    head, body, signature, signed = parts(jws)
    assert head.keys() == {"alg", "kid"}
    assert head["alg"] == "EdDSA"
    # What every Ed25519 did:key begins with.
    assert head["kid"].startswith("did:key:z6Mk")
    Ed25519PublicKey.from_public_bytes(bytes(PAYEE.pubkey())).verify(signature, signed)
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(bytes(keypair(4).pubkey())).verify(
            signature, signed
        )
    assert body["network"] == shop.world.requirements().network


def jws_of(head: dict[str, Any], body: object = None) -> str:
    def text(value: object) -> str:
        return (
            base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
        )

    return f"{text(head)}.{text(body or {'version': 1})}.{text('x')}"


def signed_offer(shop: Shop, signatory: Signatory) -> str:
    offers = signatory.offers("u", [shop.world.requirements()])["info"]["offers"]
    signature: str = offers[0]["signature"]
    return signature


def mixed(good: str, other: str) -> dict[str, str]:
    """Signatures of nobody or of somebody else, by what is wrong with them."""
    head, body, signature = good.split(".")
    _, other_body, other_signature = other.split(".")
    kid = Signatory(PAYEE).kid
    return {
        "another signer": other,
        "another's signature": f"{head}.{body}.{other_signature}",
        "another body": f"{head}.{other_body[:-2]}aa.{signature}",
        "no algorithm": jws_of({"alg": "none", "kid": kid}),
        "another algorithm": jws_of({"alg": "HS256", "kid": kid}),
        "no key": jws_of({"alg": "EdDSA"}),
        "a key of the web": jws_of({"alg": "EdDSA", "kid": "did:web:shop.example#key"}),
        "a key that is none": jws_of({"alg": "EdDSA", "kid": "did:key:z111"}),
        "a number as key": jws_of({"alg": "EdDSA", "kid": 7}),
        "empty": "",
        "no base64": "a.b.c",
    }


WRONG = list(mixed("a.b.c", "a.b.c"))


@pytest.mark.parametrize("wrong", WRONG)
def test_what_another_signed_or_nobody_is_refused(shop: Shop, wrong: str) -> None:
    good, other = (
        signed_offer(shop, Signatory(PAYEE)),
        signed_offer(shop, Signatory(keypair(4))),
    )
    with pytest.raises(PaymentError) as caught:
        verify_jws(mixed(good, other)[wrong], {str(PAYEE.pubkey())})
    assert caught.value.code == "invalid_signature"


def test_what_the_payee_signed_is_taken(shop: Shop) -> None:
    good = signed_offer(shop, Signatory(PAYEE))
    assert verify_jws(good, {str(PAYEE.pubkey())})["version"] == 1


@given(st.text(max_size=200))
def test_no_text_is_taken_for_a_signature_or_crashes(text: str) -> None:
    with pytest.raises(PaymentError):
        verify_jws(text, {str(PAYEE.pubkey())})


async def test_a_buyer_over_mcp_gets_the_signed_receipt(shop: Shop) -> None:
    from mcpsol_py.x402.selling.mcp_seller import Paid
    from tests.support.x402_sellers import meta_of, paying, serve, wire

    server: Server[Any] = serve(shop)
    server.middleware[-1] = Paid(
        shop.paid_calls(), {"quote": shop.offer(signatory=Signatory(PAYEE))}
    )
    async with Client(server) as client:
        paid = wire(
            await client.call_tool(
                "quote", {"city": "Bern"}, meta=paying(meta_of(shop.payment()))
            )
        )
    jws = paid["_meta"]["x402/payment-response"]["extensions"][OFFER_RECEIPT]["info"][
        "receipt"
    ]["signature"]
    assert verify_jws(jws, {str(PAYEE.pubkey())})["resourceUrl"] == "mcp://tool/quote"
