"""Identifying payments and requests: the key of a payment, the id that it names, the fingerprint of
a request.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, TypeGuard

import orjson
from x402.extensions.payment_identifier import PAYMENT_IDENTIFIER
from x402.schemas import PaymentPayload, PaymentRequirements
from x402.schemas.v1 import PaymentPayloadV1

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.protocol.json_form import mapping_at, text_at
from mcpsol_py.x402.protocol.payment_transaction import message_hash, read_transaction

__all__ = [
    "Payment",
    "check_payment_id",
    "claimed_payer",
    "fingerprint",
    "is_payment_id",
    "named_id",
    "payment_key",
    "transaction_text",
]

#: A payment as a peer sent it, in either version of the protocol.
Payment = PaymentPayload | PaymentPayloadV1


_PAYMENT_ID = re.compile(r"[A-Za-z0-9_-]{16,128}")
#: The fields of a payer's payload, by scheme.
_FIELDS: Mapping[str, frozenset[str]] = {
    "exact": frozenset({"transaction"}),
    "upto": frozenset(
        {
            "type",
            "from",
            "maxAmount",
            "expiresAt",
            "validAfter",
            "nonce",
            "openSlot",
            "channelId",
            "deposit",
            "authorizedSigner",
            "openTransaction",
            "voucherSignature",
        }
    ),
    "batch-settlement": frozenset(
        {
            "type",
            "channelConfig",
            "voucher",
            "deposit",
            "transaction",
            "authorization",
            "amount",
        }
    ),
}
_ALL_FIELDS = frozenset().union(*_FIELDS.values())
#: The field with the transaction of a payment, for the schemes that have one.
_TRANSACTION = {"exact": "transaction", "upto": "openTransaction"}


def payment_key(payment: Payment) -> str:
    """Return a key that is the same for the same payment, however it is encoded.

    The key depends only on what the payment's scheme verifies: the signed message of a transaction,
    or the channel and sum of a voucher. Other fields could be changed at will, and one payment
    would get several keys.

    Raises PaymentError: unsupported_scheme; invalid_payload for a payload with fields of another
    scheme; the errors of read_transaction.
    """
    if payment.get_scheme() == "batch-settlement":
        return "voucher:" + _sha256(_voucher_text(_own_payload(payment)).encode())
    return "tx:" + message_hash(read_transaction(transaction_text(payment)))


def transaction_text(payment: Payment) -> Any:
    """Return the transaction of a payment in base64, unchecked, or None if its scheme has none.

    Raises PaymentError as payment_key does.
    """
    field = _TRANSACTION.get(payment.get_scheme())
    payload = _own_payload(payment)
    return None if field is None else payload.get(field)


def claimed_payer(payment: Payment) -> str | None:
    """Return the wallet that a payment says it is from, before anything is verified.

    None if it names none. Raises PaymentError as payment_key does.
    """
    payload = _own_payload(payment)
    match payment.get_scheme():
        case "exact":
            message = read_transaction(payload.get("transaction")).message
            signers = message.account_keys[: message.header.num_required_signatures]
            return str(signers[1]) if len(signers) == 2 else None
        case "upto":
            return text_at(payload, "from")
    return text_at(payload, "channelConfig", "payer")


def _own_payload(payment: Payment) -> dict[str, Any]:
    """Return the payload of a payment that has no field of another scheme."""
    scheme, payload = payment.get_scheme(), payment.payload
    if scheme not in _FIELDS:
        raise PaymentError(
            "unsupported_scheme",
            f"expected a payment of scheme {' or '.join(sorted(_FIELDS))}, got {scheme[:40]!r}",
        )
    foreign = sorted(payload.keys() & (_ALL_FIELDS - _FIELDS[scheme]))
    if foreign:
        raise PaymentError(
            "invalid_payload",
            f"a payment of scheme {scheme!r} must not have the field {foreign[0]!r}, which belongs "
            "to another scheme",
        )
    return payload


def _voucher_text(payload: Mapping[str, Any]) -> str:
    voucher = payload.get("voucher")
    if not isinstance(voucher, Mapping):
        raise PaymentError(
            "invalid_payload", "a payment of 'batch-settlement' needs a voucher"
        )
    is_refund = payload.get("type") == "refund"
    return f"{is_refund}:{voucher.get('channelId')}:{voucher.get('maxClaimableAmount')}"


def fingerprint(
    resource: str, arguments: object, requirements: PaymentRequirements
) -> str:
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


def is_payment_id(value: object) -> TypeGuard[str]:
    """Is *value* a payment id, 16 to 128 characters of A-Z a-z 0-9 _ -?

    >>> is_payment_id("pay_0123456789ab"), is_payment_id("pay_0123456789ab\\n")
    (True, False)
    """
    return isinstance(value, str) and _PAYMENT_ID.fullmatch(value) is not None


def check_payment_id(value: str) -> None:
    """Raise PaymentError (INVALID_PARAMETERS) unless *value* is a payment id."""
    if not is_payment_id(value):
        raise PaymentError(
            "INVALID_PARAMETERS",
            f"expected a payment id of 16 to 128 characters of A-Z a-z 0-9 _ -, got {abbr(value)}",
        )


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
