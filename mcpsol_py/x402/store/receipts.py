"""Receipts of payments that landed, in SQL. They outlive the rows of their calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, bindparam, insert, select

from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.protocol.json_form import text_at
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import executions
from mcpsol_py.x402.store.schema import receipts as table
from mcpsol_py.x402.store.statements import Statement, row_of

__all__ = ["Receipt", "Receipts", "enter_receipt"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """One payment that landed. `body` is the SettleResponse as JSON, `jws` the signed receipt or None.

    `amount` in base units of `asset`; `issued_ms` in UTC milliseconds since 1970.
    """

    payment_id: str
    payer: str | None
    network: str | None
    asset: str | None
    pay_to: str | None
    amount: int | None
    resource: str
    signature: str | None
    body: dict[str, Any]
    jws: str | None
    issued_ms: int


def enter_receipt(
    connection: Connection,
    tenant: str,
    payment_id: str,
    settled: dict[str, Any],
    now_ms: int,
) -> None:
    """Add the receipt of the paid call *payment_id*, unless it exists, in the caller's transaction."""
    mine = {"t": tenant, "p": payment_id}
    if _KNOWN.one(connection, mine) is not None:
        return
    call = _CALL.one(connection, mine)
    amount = base_units(settled.get("amount"))
    values = {
        "tenant": tenant,
        "payment_id": payment_id,
        "payer": settled.get("payer") or call.payer,
        "network": settled.get("network") or call.network,
        "asset": call.asset,
        "pay_to": call.pay_to,
        "amount": call.amount if amount is None else amount,
        "resource": call.resource,
        "signature": settled.get("transaction") or None,
        "body": orjson.dumps(settled).decode(),
        "issued_ms": now_ms,
        "jws": _signed_form(settled),
    }
    _ENTER.count(connection, values)


def _signed_form(settled: dict[str, Any]) -> str | None:
    """Return the signed receipt (JWS) inside a settlement (protocol.receipts), or None."""
    return text_at(
        settled, "extensions", "offer-receipt", "info", "receipt", "signature"
    )


_KNOWN = Statement(
    select(table).where(
        table.c.tenant == bindparam("t"), table.c.payment_id == bindparam("p")
    ),
    row_of(table),
)
_CALL = Statement(
    select(executions).where(
        executions.c.tenant == bindparam("t"), executions.c.payment_id == bindparam("p")
    ),
    row_of(executions),
)
_ENTERED = (
    "tenant",
    "payment_id",
    "payer",
    "network",
    "asset",
    "pay_to",
    "amount",
    "resource",
    "signature",
    "body",
    "issued_ms",
    "jws",
)
_ENTER = Statement(insert(table).values({name: bindparam(name) for name in _ENTERED}))


class Receipts:
    """The receipts of one merchant. Methods raise StorageError."""

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self._db, self.tenant = database, tenant

    def get(self, payment_id: str) -> Receipt | None:
        """Return the receipt of a payment, or None."""
        return next(iter(self._find(table.c.payment_id == payment_id, limit=1)), None)

    def history(self, limit: int = 100, *, payer: str | None = None) -> list[Receipt]:
        """Return receipts, the newest first."""
        return self._find(
            *([] if payer is None else [table.c.payer == payer]), limit=limit
        )

    def _find(self, *conditions: Any, limit: int) -> list[Receipt]:
        wanted = (
            select(table)
            .where(table.c.tenant == self.tenant, *conditions)
            .order_by(table.c.issued_ms.desc(), table.c.payment_id)
            .limit(limit)
        )
        return self._db.fetch_all(wanted, _receipt, self.tenant)


def _receipt(row: Any) -> Receipt:
    return Receipt(
        payment_id=row.payment_id,
        payer=row.payer,
        network=row.network,
        asset=row.asset,
        pay_to=row.pay_to,
        amount=None if row.amount is None else int(row.amount),
        resource=row.resource,
        signature=row.signature,
        body=orjson.loads(row.body),
        jws=row.jws,
        issued_ms=int(row.issued_ms),
    )
