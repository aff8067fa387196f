"""Signed offers and receipts (the `offer-receipt` extension): JWS with EdDSA, with keys named as
did:key.

A seller signs its offers and the receipts of payments, so that a buyer can show both to anyone. If
the key is the one that is paid (`payTo`), the reader of a receipt needs to know nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import orjson
from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements, SettleResponse

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.base58 import b58decode, b58encode
from mcpsol_py.x402.protocol.json_form import list_at, mapping_at
from mcpsol_py.x402.protocol.networks import caip2

if TYPE_CHECKING:
    from solders.keypair import Keypair

__all__ = ["OFFER_RECEIPT", "Signatory", "read_offers", "read_receipt", "verify_jws"]

OFFER_RECEIPT = "offer-receipt"
VERSION = 1
#: The multicodec prefix ed25519-pub.
_ED25519 = b"\xed\x01"


class Signatory:
    """Signs for a seller with *keypair*. An offer is valid for *offer_seconds*.

    *with_transaction*: a receipt names the transaction, so that the amount can be looked up on
    chain.
    """

    def __init__(
        self,
        keypair: Keypair,
        *,
        offer_seconds: int = 300,
        with_transaction: bool = True,
    ) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        self._key = Ed25519PrivateKey.from_private_bytes(keypair.secret())
        self._seconds, self._with_transaction = offer_seconds, with_transaction
        did = "did:key:z" + b58encode(_ED25519 + bytes(keypair.pubkey()))
        self.kid = f"{did}#{did.removeprefix('did:key:')}"

    def offers(
        self, resource: str, accepts: Sequence[PaymentRequirements]
    ) -> dict[str, Any]:
        """Return the extension for a 402: {"info": {"version", "offers": […]}}, one offer for each
        of *accepts*.
        """
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
            rows.append(
                {"format": "jws", "acceptIndex": index, "signature": self._jws(payload)}
            )
        return {"info": {"version": VERSION, "offers": rows}}

    def signed(self, resource: str, settled: SettleResponse) -> SettleResponse:
        """Return a settlement that succeeded, with its signed receipt among the extensions."""
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
            update={
                "extensions": {
                    **mapping_at(settled.extensions),
                    OFFER_RECEIPT: extension,
                }
            }
        )

    def _jws(self, payload: Mapping[str, Any]) -> str:
        from jwt.api_jws import PyJWS

        text = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
        return PyJWS().encode(
            text, self._key, algorithm="EdDSA", headers={"kid": self.kid, "typ": ""}
        )


def verify_jws(jws: str, signers: Collection[str]) -> dict[str, Any]:
    """Return the payload of a signed offer or receipt, if one of *signers* (addresses) made it.

    Raises PaymentError (invalid_signature) if it is not a JWS, uses another algorithm, has a wrong
    signature, or if its key is not a did:key or not among the signers.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from jwt import InvalidTokenError
    from jwt.api_jws import PyJWS

    try:
        address = _address(PyJWS().get_unverified_header(jws).get("kid"))
        if address not in signers:
            raise PaymentError(
                "invalid_signature",
                f"it is signed by {address}, which is not a key of this seller",
            )
        key = Ed25519PublicKey.from_public_bytes(bytes(Pubkey.from_string(address)))
        payload = orjson.loads(PyJWS().decode(jws, key, algorithms=["EdDSA"]))
    except (InvalidTokenError, ValueError, TypeError) as error:
        raise PaymentError(
            "invalid_signature",
            f"not a signed offer or receipt: {type(error).__name__}",
        ) from error
    if not isinstance(payload, dict):
        raise PaymentError(
            "invalid_signature",
            f"expected an object in a signed offer or receipt, got {type(payload).__name__}",
        )
    return payload


def _address(kid: object) -> str:
    """The address of the key that a did:key URL names. Raises ValueError."""
    text = str(kid).partition("#")[0]
    if not text.startswith("did:key:z"):
        raise ValueError("the key is not named as did:key")
    raw = b58decode(text.removeprefix("did:key:z"))
    if raw[:2] != _ED25519 or len(raw) != 34:
        raise ValueError("not an Ed25519 key")
    return str(Pubkey.from_bytes(raw[2:]))


def read_receipt(
    settled: SettleResponse, signers: Collection[str]
) -> dict[str, Any] | None:
    """Return the payload of a settlement's receipt, or None if it has none. Raises as
    verify_jws.
    """
    receipt = mapping_at(settled.extensions, OFFER_RECEIPT, "info").get("receipt")
    return (
        verify_jws(str(receipt.get("signature")), signers) if _is_jws(receipt) else None
    )


def read_offers(
    extensions: Mapping[str, Any] | None, signers: Collection[str]
) -> list[dict[str, Any]]:
    """Return the payloads of a 402's signed offers. Raises as verify_jws for the first that is not
    valid.
    """
    offers = list_at(extensions, OFFER_RECEIPT, "info", "offers")
    return [
        verify_jws(str(row.get("signature")), signers)
        for row in filter(_is_jws, offers)
    ]


def _is_jws(row: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(row, Mapping) and row.get("format") == "jws"
