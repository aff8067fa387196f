"""Who asks: a wallet's signature over one request, in the form of x402's extension `sign-in-with-x` (X402.md 5).

The message is Sign-In-With-Solana text, as the official SDKs write it, so their clients sign it too. It cannot be
forged, since the wallet signs; it cannot be used elsewhere, since it names the seller's domain and the resource; it
cannot be used twice, since its nonce names one call for ever (grants.py). Our client also signs `requestId`, a hash of
the arguments, so that nobody on the way can change them.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from pydantic import ValidationError
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from x402.extensions.sign_in_with_x import (
    SIGN_IN_WITH_X,
    SIWxPayload,
    build_siwx_schema,
    format_siws_message,
)

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.mcp_wire import MAX_PAYMENT_BYTES, decode_object

__all__ = [
    "PROOF_HEADER",
    "PROOF_META",
    "SIGN_IN_WITH_X",
    "challenge",
    "check_proof",
    "proof_meta",
    "read_proof",
    "read_proof_header",
    "request_mark",
    "sign_proof",
]

PROOF_META = "x402/sign-in-with-x"
PROOF_HEADER = "sign-in-with-x"
#: A proof is this old at most, and clocks may be this far apart, in milliseconds each.
MAX_AGE_MS = 300_000
SKEW_MS = 300_000


def challenge(
    domain: str, uri: str, networks: list[str], statement: str = "Use my subscription"
) -> dict[str, Any]:
    """The extension as it stands in a demand's `extensions`: what to sign, with a nonce of its own."""
    info = {
        "domain": domain,
        "uri": uri,
        "version": "1",
        "statement": statement,
        "nonce": secrets.token_hex(16),
        "issuedAt": _iso(datetime.now(UTC)),
    }
    chains = [
        {"chainId": network, "type": "ed25519", "signatureScheme": "siws"} for network in networks
    ]
    return {"info": info, "supportedChains": chains, "schema": build_siwx_schema()}


def request_mark(uri: str, arguments: object) -> str:
    """What `requestId` says of a request: hex of SHA-256 over the resource and its arguments."""
    return hashlib.sha256(orjson.dumps([uri, arguments], option=orjson.OPT_SORT_KEYS)).hexdigest()


def sign_proof(
    wallet: Keypair,
    info: Mapping[str, Any],
    network: str,
    *,
    request_id: str | None = None,
    nonce: str | None = None,
) -> dict[str, Any]:
    """Signs a challenge's `info` for *network* (CAIP-2). *nonce*: of ours, to name a call that is repeated as one."""
    body = {k: v for k, v in info.items() if v is not None}
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
    unsigned = SIWxPayload.model_validate({**body, "signature": ""})
    signature = wallet.sign_message(format_siws_message(unsigned, unsigned.address).encode())
    return {**body, "signature": str(signature)}


def proof_meta(proof: Mapping[str, Any]) -> dict[str, Any]:
    """`_meta` for a request that proves who asks."""
    return {PROOF_META: dict(proof)}


def read_proof(meta: Mapping[str, Any] | None) -> SIWxPayload | None:
    """The proof of a request's `_meta`, None where there is none. Raises PaymentError (invalid_siwx)."""
    value = (meta or {}).get(PROOF_META)
    return None if value is None else _parse(value)


def read_proof_header(headers: Mapping[str, str]) -> SIWxPayload | None:
    """The proof of HTTP headers (names in lower case), None where there is none. Raises PaymentError (invalid_siwx)."""
    value = headers.get(PROOF_HEADER)
    return None if value is None else _parse(value)


def _parse(value: object) -> SIWxPayload:
    try:
        found = decode_object(value, "the proof")
        if len(orjson.dumps(found, default=str)) > MAX_PAYMENT_BYTES:
            raise PaymentError(
                "invalid_siwx", f"the proof takes more than {MAX_PAYMENT_BYTES:,} bytes"
            )
        return SIWxPayload.model_validate(found)
    except ValidationError as error:
        where = ", ".join(".".join(map(str, e["loc"])) for e in error.errors()[:5])
        raise PaymentError(
            "invalid_siwx", f"the proof lacks or misstates: {where}"
        ) from None  # it repeats the input
    except PaymentError as error:
        raise PaymentError("invalid_siwx", str(error)) from None


def check_proof(
    proof: SIWxPayload,
    *,
    domain: str,
    uri: str,
    networks: list[str],
    arguments: object,
    now_ms: int,
) -> str:
    """The wallet that signed, when the proof is one for this request now. Raises PaymentError with the protocol's
    reason (`invalid_siwx_…`)."""
    if proof.domain != domain:
        raise _refuse(
            "domain_mismatch", f"the proof is for domain {proof.domain[:80]!r}, not {domain!r}"
        )
    if proof.uri != uri:
        raise _refuse("uri_mismatch", f"the proof is for {proof.uri[:120]!r}, not {uri!r}")
    if proof.chain_id not in networks or proof.type != "ed25519":
        raise _refuse(
            "unsupported_chain",
            f"the proof is of chain {proof.chain_id[:80]!r}; {networks} are known here",
        )
    if not 8 <= len(proof.nonce) <= 128 or not proof.nonce.isascii() or not proof.nonce.isalnum():
        raise _refuse("nonce", "a nonce is 8 to 128 letters and digits")
    issued = _read_time(proof.issued_at, "issued_at")
    if now_ms - issued > MAX_AGE_MS + SKEW_MS:
        raise _refuse(
            "issued_at_too_old", f"the proof is {(now_ms - issued) // 1000:,} s old; sign a new one"
        )
    if issued - now_ms > SKEW_MS:
        raise _refuse(
            "issued_at_in_future",
            f"the proof's time is {(issued - now_ms) // 1000:,} s ahead of ours",
        )
    if (
        proof.expiration_time is not None
        and _read_time(proof.expiration_time, "expiration_time") + SKEW_MS < now_ms
    ):
        raise _refuse("expired", "the proof has expired")
    if (
        proof.not_before is not None
        and _read_time(proof.not_before, "not_before") - SKEW_MS > now_ms
    ):
        raise _refuse("not_yet_valid", "the proof is not valid yet")
    if proof.request_id is not None and proof.request_id != request_mark(uri, arguments):
        raise _refuse("request_mismatch", "the proof is for a request with other arguments")
    try:
        wallet, signature = (
            Pubkey.from_string(proof.address),
            Signature.from_string(proof.signature),
        )
    except ValueError:
        raise _refuse("malformed_signature", "address or signature cannot be read") from None
    if not signature.verify(wallet, format_siws_message(proof, proof.address).encode()):
        raise _refuse("signature", "the signature does not sign this proof")
    return str(wallet)


def _read_time(text: str, what: str) -> int:
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise _refuse(what, f"{what} is no time in ISO 8601") from None
    aware = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)
    return int(aware.timestamp() * 1000)


def _iso(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _refuse(code: str, message: str) -> PaymentError:
    return PaymentError(f"invalid_siwx_{code}", message)
