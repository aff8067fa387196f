"""Refunds of a merchant, in its audit log: one entry before a refund is sent, one when it has ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import orjson
from sqlalchemy import Connection, select

from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.schema import audit_log, receipts

__all__ = ["Refund", "RefundLog", "RefundState"]

RefundState: TypeAlias = Literal["sent", "landed", "failed"]
_SENT, _LANDED, _FAILED = "refund.sent", "refund.landed", "refund.failed"
_STATES: dict[str, RefundState] = {_LANDED: "landed", _FAILED: "failed"}
_ACTIONS = (_SENT, _LANDED, _FAILED)


@dataclass(frozen=True, slots=True)
class Refund:
    """One transfer back to a payer. `amount` in base units; `at_ms` is when it was signed, in UTC
    milliseconds since 1970. Its `blockhash` bounds the time in which it can land.
    """

    payment_id: str
    signature: str
    amount: int
    payer: str
    blockhash: str
    reason: str = ""
    state: RefundState = "sent"
    at_ms: int = 0


class RefundLog:
    """The refunds of one merchant. Methods raise StorageError."""

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self.database, self.tenant = database, tenant

    def of(self, payment_id: str) -> list[Refund]:
        """Return the refunds of a payment, the oldest first."""
        return self.database.run(lambda c, _: self._read(c, payment_id), self.tenant)

    def begin(self, refund: Refund, known: list[Refund]) -> bool:
        """Record that *refund* is about to be sent. Return False, and record nothing, if the
        payment has other refunds than *known* by now.
        """

        def work(connection: Connection, again: bool) -> bool:
            its = (receipts.c.tenant == self.tenant) & (
                receipts.c.payment_id == refund.payment_id
            )
            connection.execute(
                select(receipts.c.payment_id).where(its).with_for_update()
            )
            now = self._read(connection, refund.payment_id)
            if again and any(one.signature == refund.signature for one in now):
                return True
            if now != known:
                return False
            details = {
                "signature": refund.signature,
                "amount": str(refund.amount),
                "payer": refund.payer,
                "blockhash": refund.blockhash,
                "reason": refund.reason,
            }
            self._record(connection, _SENT, refund.payment_id, details)
            return True

        return self.database.run(work, self.tenant)

    def end(self, refund: Refund, *, landed: bool) -> None:
        """Record how a refund ended, once."""

        def work(connection: Connection, _again: bool) -> None:
            known = self._read(connection, refund.payment_id)
            if any(
                r.signature == refund.signature and r.state != "sent" for r in known
            ):
                return
            details = {"signature": refund.signature, "amount": str(refund.amount)}
            action = _LANDED if landed else _FAILED
            self._record(connection, action, refund.payment_id, details)

        self.database.run(work, self.tenant)

    def _record(
        self,
        connection: Connection,
        action: str,
        payment_id: str,
        details: dict[str, Any],
    ) -> None:
        now = self.database.now_ms(connection)
        record_action(
            connection, self.tenant, now, "operator", action, payment_id, **details
        )

    def _read(self, connection: Connection, payment_id: str) -> list[Refund]:
        wanted = select(audit_log).where(
            audit_log.c.tenant == self.tenant,
            audit_log.c.subject == payment_id,
            audit_log.c.action.in_(_ACTIONS),
        )
        rows = connection.execute(
            wanted.order_by(audit_log.c.at_ms, audit_log.c.id)
        ).all()
        entries = [(row, orjson.loads(row.details)) for row in rows]
        ended = {
            d["signature"]: _STATES[row.action]
            for row, d in entries
            if row.action != _SENT
        }
        return [
            Refund(
                payment_id=payment_id,
                signature=details["signature"],
                amount=int(details["amount"]),
                payer=details["payer"],
                blockhash=details["blockhash"],
                reason=details["reason"],
                state=ended.get(details["signature"], "sent"),
                at_ms=int(row.at_ms),
            )
            for row, details in entries
            if row.action == _SENT
        ]
