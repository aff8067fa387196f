"""Identifying payments and requests: the key of a payment, the id that it names, the fingerprint of
a request.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
from x402.extensions.payment_identifier import PAYMENT_IDENTIFIER
from x402.schemas import PaymentPayload, PaymentRequirements
from x402.schemas.v1 import PaymentPayloadV1

from mcpsol_py.x402.protocol.json_form import mapping_at
from mcpsol_py.x402.protocol.payment_transaction import message_hash, read_transaction

__all__ = ["Payment", "fingerprint", "named_id", "payment_key"]

#: A payment as a peer sent it, in either version of the protocol.
Payment = PaymentPayload | PaymentPayloadV1


def payment_key(payment: Payment) -> str:
    """Return a key that is the same for the same payment, however it is encoded.

    It is made of the signed message for a transaction, of channel and sum for a voucher, and of the
    whole payload for anything else. Raises PaymentError if a transaction cannot be read.
    """
    payload = payment.payload
    voucher = payload.get("voucher")
    if isinstance(voucher, dict):
        return "voucher:" + _sha256(_voucher_text(payload, voucher).encode())
    text = payload.get("transaction", payload.get("openTransaction"))
    if text is not None:
        return "tx:" + message_hash(read_transaction(text))
    return "payload:" + _sha256(_sorted_json(payload))


def _voucher_text(payload: dict[str, Any], voucher: dict[str, Any]) -> str:
    is_refund = payload.get("type") == "refund"
    return f"{is_refund}:{voucher.get('channelId')}:{voucher.get('maxClaimableAmount')}"


def fingerprint(resource: str, arguments: object, requirements: PaymentRequirements) -> str:
    """Return the SHA-256 of a request, as hex: its resource, arguments and terms.

    A payment id that comes again must come with the same fingerprint, or one payment would pay for
    several requests.
    """
    terms = [
        requirements.scheme,
        requirements.network,
        requirements.asset,
        requirements.amount,
        requirements.pay_to,
    ]
    return _sha256(_sorted_json([resource, arguments, terms]))


def named_id(payment: Payment) -> object:
    """Return the id in the payment's payment-identifier extension, valid or not; None if it has
    none.
    """
    extensions = getattr(payment, "extensions", None)
    return mapping_at(extensions, PAYMENT_IDENTIFIER, "info").get("id")


def _sorted_json(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
