"""Proving that a request for a stored answer comes from the wallet that paid for it.

The bytes of a payment are public once its transaction has landed, and a payment id is no secret. So a seller returns
the answer of an earlier call only to a request that also carries a proof: a signature of the payer's key over the
call's id. It has the form of the extension `sign-in-with-x`, with a domain of its own. A seller can thus never pass
it on as a sign-in to anybody else.
"""

from __future__ import annotations

import hashlib

from x402.schemas.v1 import PaymentPayloadV1

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.protocol.payment_ids import Payment, named_id, payment_key
from mcpsol_py.x402.protocol.proof import (
    MessageSigner,
    check_proof,
    parse_proof,
    sign_proof,
)

__all__ = ["EXTENSION", "PROOF_REQUIRED", "check_repeat_proof", "with_repeat_proof"]

#: The extension of a payment that holds the proof.
EXTENSION = "repeat-proof"
#: The code of the refusal that asks for this proof (protocol.offer.Refused).
PROOF_REQUIRED = "proof_required"
#: No server has a name that ends in .invalid (RFC 2606).
_DOMAIN = "paid-call.invalid"
_STATEMENT = "Repeat my paid call"


def with_repeat_proof(payment: Payment, wallet: MessageSigner, network: str) -> Payment:
    """Return *payment* with a new proof by *wallet* that its call may be repeated.

    *network* is the payment's, in CAIP-2. A payment of protocol version 1 has no room for a proof,
    and is returned as it is. Raises PaymentError if the payment cannot be read.
    """
    if isinstance(payment, PaymentPayloadV1):
        return payment
    name = named_id(payment)
    call_id = name if isinstance(name, str) else payment_key(payment)
    info = {
        "domain": _DOMAIN,
        "uri": _uri(call_id),
        "version": "1",
        "statement": _STATEMENT,
    }
    proof = sign_proof(wallet, info, network, nonce=_nonce(call_id))
    extensions = {**mapping_at(payment.extensions), EXTENSION: {"info": proof}}
    return payment.model_copy(update={"extensions": extensions})


def check_repeat_proof(
    payment: Payment, *, call_id: str, network: str, now_ms: int
) -> str | None:
    """Return the wallet whose proof for the call *call_id* comes with *payment*; None without one.

    Raises PaymentError (`invalid_siwx_…`) if the proof is not for this call, or not valid now.
    """
    given = mapping_at(getattr(payment, "extensions", None), EXTENSION).get("info")
    proof = parse_proof(given)
    if proof is None:
        return None
    if proof.nonce != _nonce(call_id) or proof.statement != _STATEMENT:
        raise PaymentError(
            "invalid_siwx_nonce", "the proof is not for repeating this call"
        )
    return check_proof(
        proof,
        domain=_DOMAIN,
        uri=_uri(call_id),
        networks=[network],
        arguments=None,
        now_ms=now_ms,
    )


def _uri(call_id: str) -> str:
    return f"x402:call/{_nonce(call_id)}"


def _nonce(call_id: str) -> str:
    return hashlib.sha256(f"repeat {call_id}".encode()).hexdigest()[:32]
