"""The merchant that each payment belongs to, over all merchants of a database.

The functions write in the caller's transaction, and raise IntegrityError if the payment has an owner.
"""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, insert

from mcpsol_py.x402.store.schema import payment_owners as table
from mcpsol_py.x402.store.statements import Statement

__all__ = ["own_channel", "own_payment"]

_OWN = Statement(insert(table).values(key=bindparam("key"), tenant=bindparam("tenant")))


def own_payment(connection: Connection, tenant: str, payment_key: str) -> None:
    """Enter a payment by its key.

    A voucher has no entry of its own, since its channel has one. The key of a call that a
    subscription grants holds for one merchant only.
    """
    if payment_key.startswith("tx:"):
        _OWN.count(connection, {"key": payment_key, "tenant": tenant})


def own_channel(connection: Connection, tenant: str, channel_id: str) -> None:
    """Enter a channel by its address."""
    _OWN.count(connection, {"key": channel_id, "tenant": tenant})
