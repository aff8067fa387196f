"""Proving who asks: a wallet's signature over one request, in the form of x402's extension
`sign-in-with-x`.

The message is Sign-In-With-Solana text, as the official SDKs write it, so their clients can sign it
too. The wallet's signature cannot be forged. The proof cannot be used elsewhere, because it names
the seller's domain and the resource. It cannot be used twice, because its nonce names one call for
ever (subscriptions/grants.py). Our client also signs `requestId`, a hash of the arguments, so that
nobody on the way can change them.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson
from pydantic import ValidationError
from solders.pubkey import Pubkey
from solders.signature import Signature
from x402.extensions.sign_in_with_x import (
    SIGN_IN_WITH_X,
    SIWxPayload,
    build_siwx_schema,
    format_siws_message,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.items import without_nulls
from mcpsol_py.x402.protocol.json_form import (
    MAX_PAYMENT_BYTES,
    decode_object,
    faulty_fields,
    mapping_at,
)

__all__ = [
    "PROOF_HEADER",
    "PROOF_META",
    "SIGN_IN_WITH_X",
    "MessageSigner",
    "challenge",
    "check_proof",
    "parse_proof",
    "proof_meta",
    "read_proof",
    "read_proof_header",
    "request_mark",
    "sign_proof",
]

PROOF_META = "x402/sign-in-with-x"
PROOF_HEADER = "sign-in-with-x"
#: The greatest age of a proof, in milliseconds.
MAX_AGE_MS = 300_000
#: How far the signer's clock may be off, in milliseconds.
SKEW_MS = 300_000
#: The greatest length of a field that is signed.
MAX_FIELD_CHARS = 4096
_NONCE = re.compile(r"[0-9A-Za-z]{8,128}")


def challenge(
    domain: str, uri: str, networks: list[str], statement: str = "Use my subscription"
) -> dict[str, Any]:
    """Return the extension for a demand's `extensions`: what to sign, with a new nonce."""
    info = {
        "domain": domain,
        "uri": uri,
        "version": "1",
        "statement": statement,
        "nonce": secrets.token_hex(16),
        "issuedAt": _iso(datetime.now(UTC)),
    }
    chains = [
        {"chainId": network, "type": "ed25519", "signatureScheme": "siws"}
        for network in networks
    ]
    return {"info": info, "supportedChains": chains, "schema": build_siwx_schema()}


def request_mark(uri: str, arguments: object) -> str:
    """Return the `requestId` of a request: SHA-256 of the resource and its arguments, as hex."""
    return hashlib.sha256(
        orjson.dumps([uri, arguments], option=orjson.OPT_SORT_KEYS)
    ).hexdigest()


class MessageSigner(Protocol):
    """A wallet that signs messages: a solders Keypair, for example."""

    def pubkey(self) -> Pubkey:
        """Return its address."""

    def sign_message(self, message: bytes) -> Signature:
        """Return the signature over *message*."""


def sign_proof(
    wallet: MessageSigner,
    info: Mapping[str, Any],
    network: str,
    *,
    request_id: str | None = None,
    nonce: str | None = None,
) -> dict[str, Any]:
    """Sign a challenge's `info` for *network* (CAIP-2) and return the proof.

    *nonce* replaces the challenge's. It makes a repeated call the same call. Raises PaymentError
    (invalid_siwx, invalid_siwx_text) if a field is missing, has control characters or is too long.
    """
    body = without_nulls(info)
    body |= {
        "chainId": network,
        "type": "ed25519",
        "signatureScheme": "siws",
        "address": str(wallet.pubkey()),
    }
    if nonce is not None:
        body |= {"nonce": nonce, "issuedAt": _iso(datetime.now(UTC))}
    if request_id is not None:
        body["requestId"] = request_id
    try:
        unsigned = SIWxPayload.model_validate({**body, "signature": ""})
    except ValidationError as error:
        raise _unreadable(error) from None
    signature = wallet.sign_message(_signed_text(unsigned))
    return {**body, "signature": str(signature)}


def _signed_text(proof: SIWxPayload) -> bytes:
    """Return the text that the wallet signs. Each field is one line of it, or a part of one.

    Raises PaymentError (invalid_siwx_text) if a field could write lines of its own: the same
    signature would then be good for another proof.
    """
    texts = proof.model_dump(exclude={"signature", "resources"}, exclude_none=True)
    texts |= {f"resources[{i}]": text for i, text in enumerate(proof.resources or ())}
    for name, text in texts.items():
        if not text.isprintable() or len(text) > MAX_FIELD_CHARS:
            raise _refuse(
                "text",
                f"expected {name} as one line of at most {MAX_FIELD_CHARS:,} printable characters",
            )
    return format_siws_message(proof, proof.address).encode()


def proof_meta(proof: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `_meta` of a request that proves who asks."""
    return {PROOF_META: dict(proof)}


def read_proof(meta: Mapping[str, Any] | None) -> SIWxPayload | None:
    """Return the proof in a request's `_meta`, or None if it has none. Raises PaymentError
    (invalid_siwx).
    """
    return parse_proof(mapping_at(meta).get(PROOF_META))


def read_proof_header(headers: Mapping[str, str]) -> SIWxPayload | None:
    """Return the proof in HTTP headers (names in lower case), or None if they have none. Raises
    PaymentError (invalid_siwx).
    """
    return parse_proof(headers.get(PROOF_HEADER))


def parse_proof(value: object) -> SIWxPayload | None:
    """Return the proof in *value* (an object, or base64 of one), or None if *value* is None.

    Raises PaymentError (invalid_siwx).
    """
    if value is None:
        return None
    try:
        found = decode_object(value, "the proof")
    except PaymentError as error:
        raise PaymentError("invalid_siwx", str(error)) from None
    size = len(orjson.dumps(found, default=str))
    if size > MAX_PAYMENT_BYTES:
        raise PaymentError(
            "invalid_siwx",
            f"the proof has {size:,} bytes; at most {MAX_PAYMENT_BYTES:,} are read",
        )
    try:
        return SIWxPayload.model_validate(found)
    except ValidationError as error:
        raise _unreadable(error) from None


def check_proof(
    proof: SIWxPayload,
    *,
    domain: str,
    uri: str,
    networks: list[str],
    arguments: object,
    now_ms: int,
) -> str:
    """Return the wallet that signed the proof, if the proof is valid for this request now.

    Raises PaymentError with the protocol's reason (`invalid_siwx_…`).
    """
    _check_place(proof, domain, uri, networks)
    _check_nonce(proof.nonce)
    _check_age(proof, now_ms)
    _check_validity(proof, now_ms)
    if proof.request_id is not None and proof.request_id != request_mark(
        uri, arguments
    ):
        raise _refuse(
            "request_mismatch", "the proof is for a request with other arguments"
        )
    return _signer(proof)


def _check_place(
    proof: SIWxPayload, domain: str, uri: str, networks: list[str]
) -> None:
    """The proof must be for this domain, resource and network."""
    if proof.domain != domain:
        raise _refuse(
            "domain_mismatch",
            f"the proof is for domain {proof.domain[:80]!r}, not {domain!r}",
        )
    if proof.uri != uri:
        raise _refuse(
            "uri_mismatch", f"the proof is for {proof.uri[:120]!r}, not {uri!r}"
        )
    if proof.chain_id not in networks or proof.type != "ed25519":
        raise _refuse(
            "unsupported_chain",
            f"the proof is for chain {proof.chain_id[:80]!r}; supported are {networks} with ed25519",
        )


def _check_nonce(nonce: str) -> None:
    if not _NONCE.fullmatch(nonce):
        raise _refuse("nonce", "a nonce is 8 to 128 letters and digits")


def _check_age(proof: SIWxPayload, now_ms: int) -> None:
    age = now_ms - _read_time(proof.issued_at, "issued_at")
    if age > MAX_AGE_MS + SKEW_MS:
        raise _refuse(
            "issued_at_too_old", f"the proof is {age // 1000:,} s old; sign a new one"
        )
    if age < -SKEW_MS:
        raise _refuse(
            "issued_at_in_future",
            f"the proof's time is {-age // 1000:,} s ahead of ours",
        )


def _check_validity(proof: SIWxPayload, now_ms: int) -> None:
    """`expirationTime` and `notBefore`, if the proof has them."""
    if proof.expiration_time is not None:
        expires = _read_time(proof.expiration_time, "expiration_time")
        if expires + SKEW_MS < now_ms:
            raise _refuse("expired", "the proof has expired")
    if proof.not_before is not None:
        begins = _read_time(proof.not_before, "not_before")
        if begins - SKEW_MS > now_ms:
            raise _refuse("not_yet_valid", "the proof is not valid yet")


def _signer(proof: SIWxPayload) -> str:
    try:
        wallet = Pubkey.from_string(proof.address)
        signature = Signature.from_string(proof.signature)
    except ValueError:
        raise _refuse(
            "malformed_signature", "address or signature cannot be read"
        ) from None
    if not signature.verify(wallet, _signed_text(proof)):
        raise _refuse("signature", "the signature is not of this proof")
    return str(wallet)


def _read_time(text: str, what: str) -> int:
    """Milliseconds since 1970 of a time in ISO 8601."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise _refuse(what, f"{what} is not a time in ISO 8601") from None
    aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _unreadable(error: ValidationError) -> PaymentError:
    """Raise it from None: pydantic's text repeats the input."""
    return PaymentError(
        "invalid_siwx",
        f"fields of the proof are missing or invalid: {faulty_fields(error)}",
    )


def _refuse(code: str, message: str) -> PaymentError:
    return PaymentError(f"invalid_siwx_{code}", message)
