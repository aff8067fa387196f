"""The text of a sign-in proof: what a wallet signs, and which texts no side accepts."""

from __future__ import annotations

import time
from typing import Any

import pytest
from solders.keypair import Keypair
from x402.extensions.sign_in_with_x import SIWxPayload, format_siws_message

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.proof import (
    MAX_FIELD_CHARS,
    challenge,
    check_proof,
    sign_proof,
)

DOMAIN, URI = "tools.example", "mcp://tool/weather"
BREAKS = [
    "\n",
    "\r\n",
    "\r",
    "\x85",
    "\u2028",
    "\u2029",
    "\x0b",
    "\x1b[2J",
    "\x00",
    "\u202e",
    "\u200b",
]
FIELDS = [
    "domain",
    "uri",
    "version",
    "statement",
    "nonce",
    "issuedAt",
    "expirationTime",
    "notBefore",
    "requestId",
]
LATER = "2999-01-01T00:00:00Z"


def info_with(field: str, text: str) -> dict[str, Any]:
    given = {
        "expirationTime": LATER,
        "notBefore": "2020-01-01T00:00:00Z",
        "requestId": "r",
    }
    info = {**challenge(DOMAIN, URI, [DEVNET])["info"], **given}
    return {**info, field: info[field] + text}


def signed_without_checks(wallet: Keypair, info: dict[str, Any]) -> SIWxPayload:
    """The proof that a wallet of somebody else would sign."""
    body = {
        **info,
        "chainId": DEVNET,
        "type": "ed25519",
        "signatureScheme": "siws",
        "address": str(wallet.pubkey()),
        "signature": "",
    }
    text = format_siws_message(SIWxPayload.model_validate(body), body["address"])
    signature = str(wallet.sign_message(text.encode()))
    return SIWxPayload.model_validate({**body, "signature": signature})


def check(proof: SIWxPayload) -> str:
    return check_proof(
        proof,
        domain=DOMAIN,
        uri=URI,
        networks=[DEVNET],
        arguments=None,
        now_ms=int(time.time() * 1000),
    )


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("text", BREAKS, ids=ascii)
def test_nothing_with_control_characters_is_signed(field: str, text: str) -> None:
    with pytest.raises(PaymentError, match=r"one line") as refused:
        sign_proof(Keypair(), info_with(field, text), DEVNET)
    assert refused.value.code == "invalid_siwx_text"


@pytest.mark.parametrize("text", BREAKS, ids=ascii)
def test_resources_and_the_request_id_are_checked_too(text: str) -> None:
    info = challenge(DOMAIN, URI, [DEVNET])["info"]
    for resources in ([text], ["x", f"y{text}"]):
        with pytest.raises(PaymentError, match=r"resources\["):
            sign_proof(Keypair(), {**info, "resources": resources}, DEVNET)
    with pytest.raises(PaymentError, match=r"request_id"):
        sign_proof(Keypair(), info, DEVNET, request_id=f"r{text}")
    with pytest.raises(PaymentError, match=r"chain_id"):
        sign_proof(Keypair(), info, DEVNET + text)


@pytest.mark.parametrize("text", BREAKS, ids=ascii)
def test_a_proof_with_control_characters_is_refused(text: str) -> None:
    wallet = Keypair()
    info = challenge(DOMAIN, URI, [DEVNET])["info"]
    assert check(signed_without_checks(wallet, info)) == str(wallet.pubkey())
    for changed in ({"statement": f"Hello{text}you"}, {"resources": [text]}):
        with pytest.raises(PaymentError, match=r"one line") as refused:
            check(signed_without_checks(wallet, {**info, **changed}))
        assert refused.value.code == "invalid_siwx_text"


def test_one_signature_is_not_good_for_another_tool() -> None:
    """A statement that writes the fields of another proof, as seen by that tool's seller."""
    wallet = Keypair()
    other = {
        **challenge(DOMAIN, "mcp://tool/other", [DEVNET])["info"],
        "statement": "Hi",
    }
    chain = DEVNET.split(":")[1]
    lines = ["Hi", "", f"URI: {URI}", "Version: 1", f"Chain ID: {chain}"]
    lines += [
        f"Nonce: {other['nonce']}",
        f"Issued At: {other['issuedAt']}",
        "Resources:",
        "- x",
    ]
    hostile = {**other, "statement": "\n".join(lines)}
    with pytest.raises(PaymentError, match=r"one line"):
        sign_proof(wallet, hostile, DEVNET)
    signed = signed_without_checks(wallet, hostile)
    text = format_siws_message(signed, signed.address)
    rest = text.split("\nResources:\n- ", 1)[1]
    forged = {**other, "uri": URI, "resources": [rest], "signature": signed.signature}
    proof = SIWxPayload.model_validate({**signed.model_dump(by_alias=True), **forged})
    # One signature, two meanings.
    assert format_siws_message(proof, proof.address) == text
    with pytest.raises(PaymentError, match=r"resources\[0\]"):
        check(proof)


def test_fields_are_bounded() -> None:
    info = challenge(DOMAIN, URI, [DEVNET], "x" * MAX_FIELD_CHARS)["info"]
    check(SIWxPayload.model_validate(sign_proof(Keypair(), info, DEVNET)))
    with pytest.raises(PaymentError, match=r"statement .*4,096"):
        sign_proof(
            Keypair(), {**info, "statement": "x" * (MAX_FIELD_CHARS + 1)}, DEVNET
        )


def test_a_challenge_without_its_fields_is_a_payment_error() -> None:
    with pytest.raises(PaymentError, match=r"version"):
        sign_proof(Keypair(), {"domain": DOMAIN, "uri": URI}, DEVNET)
