"""Signed offers and receipts (the `offer-receipt` extension, X402.md 5): JWS with EdDSA, keys named as did:key.

A seller signs what it asks and what it was paid for, so that a buyer can show both to anyone. The key is best the one
that is paid (`payTo`): then whoever reads the receipt needs to know nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson
from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements, SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.base58 import b58decode, b58encode
from mcpsol_py.x402.protocol.networks import caip2

if TYPE_CHECKING:
    from solders.keypair import Keypair

__all__ = ["OFFER_RECEIPT", "Signatory", "read_offers", "read_receipt", "verify_jws"]

OFFER_RECEIPT = "offer-receipt"
VERSION = 1
#: multicodec ed25519-pub
_ED25519 = b"\xed\x01"


class Signatory:
    """Signs for a seller with *keypair*. An offer stands for *offer_seconds*. *with_transaction*: a receipt names the
    transaction, so that the amount can be looked up on chain.
    """

    def __init__(
        self, keypair: Keypair, *, offer_seconds: int = 300, with_transaction: bool = True
    ) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(keypair.secret())
        self._seconds, self._with_transaction = offer_seconds, with_transaction
        did = "did:key:z" + b58encode(_ED25519 + bytes(keypair.pubkey()))
        self.kid = f"{did}#{did.removeprefix('did:key:')}"

    def offers(self, resource: str, accepts: Sequence[PaymentRequirements]) -> dict[str, Any]:
        """The extension for a 402: {"info": {"version", "offers": […]}}, one for each of *accepts*."""
        until = int(time.time()) + self._seconds
        rows = []
        for index, terms in enumerate(accepts):
            payload = {
                "version": VERSION,
                "resourceUrl": resource,
                "scheme": terms.scheme,
                "network": terms.network,
                "asset": terms.asset,
                "payTo": terms.pay_to,
                "amount": terms.amount,
                "validUntil": until,
            }
            rows.append({"format": "jws", "acceptIndex": index, "signature": self._jws(payload)})
        return {"info": {"version": VERSION, "offers": rows}}

    def signed(self, resource: str, settled: SettleResponse) -> SettleResponse:
        """A settlement that succeeded, with its receipt among the extensions."""
        payload = {
            "version": VERSION,
            "network": caip2(str(settled.network)),
            "resourceUrl": resource,
            "payer": settled.payer or "",
            "issuedAt": int(time.time()),
        }
        if self._with_transaction and settled.transaction:
            payload["transaction"] = settled.transaction
        receipt = {"format": "jws", "signature": self._jws(payload)}
        extension = {"info": {"version": VERSION, "receipt": receipt}}
        return settled.model_copy(
            update={"extensions": {**(settled.extensions or {}), OFFER_RECEIPT: extension}}
        )

    def _jws(self, payload: Mapping[str, Any]) -> str:
        from jwt.api_jws import PyJWS

        text = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
        return PyJWS().encode(
            text, self._key, algorithm="EdDSA", headers={"kid": self.kid, "typ": ""}
        )


def verify_jws(jws: str, signers: Collection[str]) -> dict[str, Any]:
    """The payload of a signed offer or receipt, if one of *signers* (addresses) made it.

    Raises PaymentError(invalid_signature): no JWS, another algorithm, a key that is not named by itself (did:key) or is
    not among the signers, a signature that does not fit.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from jwt import InvalidTokenError
    from jwt.api_jws import PyJWS

    try:
        kid = PyJWS().get_unverified_header(jws).get("kid")
        address = _address(kid)
        if address not in signers:
            raise PaymentError(
                "invalid_signature",
                f"it is signed by {address}, who does not speak for this seller",
            )
        key = Ed25519PublicKey.from_public_bytes(bytes(Pubkey.from_string(address)))
        payload = orjson.loads(PyJWS().decode(jws, key, algorithms=["EdDSA"]))
    except (InvalidTokenError, ValueError, TypeError) as error:
        raise PaymentError(
            "invalid_signature", f"no signed offer or receipt: {type(error).__name__}"
        ) from error
    if not isinstance(payload, dict):
        raise PaymentError("invalid_signature", "a signed offer or receipt is an object")
    return payload


def _address(kid: object) -> str:
    """Whose key a did:key URL names. Raises ValueError."""
    text = str(kid).partition("#")[0]
    if not text.startswith("did:key:z"):
        raise ValueError("the key is not named as did:key")
    raw = b58decode(text.removeprefix("did:key:z"))
    if raw[:2] != _ED25519 or len(raw) != 34:
        raise ValueError("no Ed25519 key")
    return str(Pubkey.from_bytes(raw[2:]))


def read_receipt(settled: SettleResponse, signers: Collection[str]) -> dict[str, Any] | None:
    """The payload of a settlement's receipt; None where it has none. Raises as verify_jws."""
    receipt = _info(settled.extensions).get("receipt")
    if not isinstance(receipt, Mapping) or receipt.get("format") != "jws":
        return None
    return verify_jws(str(receipt.get("signature")), signers)


def read_offers(
    extensions: Mapping[str, Any] | None, signers: Collection[str]
) -> list[dict[str, Any]]:
    """The payloads of a 402's signed offers. Raises as verify_jws for the first that does not hold."""
    offers = _info(extensions).get("offers")
    rows = (
        [o for o in offers if isinstance(o, Mapping) and o.get("format") == "jws"]
        if isinstance(offers, list)
        else []
    )
    return [verify_jws(str(row.get("signature")), signers) for row in rows]


def _info(extensions: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = (extensions or {}).get(OFFER_RECEIPT)
    info = found.get("info") if isinstance(found, Mapping) else None
    return info if isinstance(info, Mapping) else {}
