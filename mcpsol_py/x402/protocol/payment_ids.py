"""What makes a payment this payment, and a call this call."""

from __future__ import annotations

import hashlib

import orjson
from x402.extensions.payment_identifier import PAYMENT_IDENTIFIER
from x402.schemas import PaymentPayload, PaymentRequirements
from x402.schemas.v1 import PaymentPayloadV1

from mcpsol_py.x402.protocol.payment_transaction import message_hash, read_transaction

__all__ = ["Payment", "fingerprint", "named_id", "payment_key"]

#: as a peer sent it, in either version of the protocol
Payment = PaymentPayload | PaymentPayloadV1


def payment_key(payment: Payment) -> str:
    """What makes a payment this payment: for transactions the hash of the signed message, for vouchers channel and sum,
    else the hash of the whole payload."""
    payload = payment.payload
    voucher = payload.get("voucher")
    if isinstance(voucher, dict):
        promised = f"{payload.get('type') == 'refund'}:{voucher.get('channelId')}:{voucher.get('maxClaimableAmount')}"
        return "voucher:" + hashlib.sha256(promised.encode()).hexdigest()
    text = payload.get("transaction", payload.get("openTransaction"))
    if text is not None:
        return "tx:" + message_hash(read_transaction(text))
    return (
        "payload:"
        + hashlib.sha256(orjson.dumps(payment.payload, option=orjson.OPT_SORT_KEYS)).hexdigest()
    )


def fingerprint(resource: str, arguments: object, requirements: PaymentRequirements) -> str:
    """What a payment id stands for: resource, arguments and terms (payment-identifier; seed 003). Hex of 32 bytes."""
    terms = [
        requirements.scheme,
        requirements.network,
        requirements.asset,
        requirements.amount,
        requirements.pay_to,
    ]
    return hashlib.sha256(
        orjson.dumps([resource, arguments, terms], option=orjson.OPT_SORT_KEYS)
    ).hexdigest()


def named_id(payment: Payment) -> object:
    """What the payment's payment-identifier extension says, valid or not; None where it says nothing."""
    extension = (getattr(payment, "extensions", None) or {}).get(PAYMENT_IDENTIFIER)
    info = extension.get("info") if isinstance(extension, dict) else None
    return info.get("id") if isinstance(info, dict) else None
