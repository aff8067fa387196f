"""A log of who did what to a merchant's plans, subscriptions, calls and webhooks. Rows are added,
never changed.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, insert, select

from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import audit_log as table

__all__ = ["MerchantAction", "MerchantLog", "record_action"]


@dataclass(frozen=True, slots=True)
class MerchantAction:
    """One action. `at_ms` in UTC milliseconds since 1970."""

    at_ms: int
    actor: str
    action: str
    subject: str
    details: dict[str, Any]


def record_action(
    connection: Connection,
    tenant: str,
    now_ms: int,
    actor: str,
    action: str,
    subject: str,
    **details: Any,
) -> None:
    """Add an entry in the caller's transaction, so that it exists if and only if the action does.
    Pass no secrets.
    """
    values = {
        "tenant": tenant,
        "id": uuid.uuid4().hex,
        "at_ms": now_ms,
        "actor": actor,
        "action": action,
        "subject": subject,
        "details": orjson.dumps(details).decode(),
    }
    connection.execute(insert(table).values(values))


class MerchantLog:
    """The log of one merchant. Its method raises StorageError."""

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self._db, self.tenant = database, tenant

    def history(
        self, limit: int = 100, *, subject: str | None = None
    ) -> list[MerchantAction]:
        """Return the newest entries, newest first; of *subject* only if it is given."""
        wanted = select(table).where(table.c.tenant == self.tenant)
        if subject is not None:
            wanted = wanted.where(table.c.subject == subject)
        wanted = wanted.order_by(table.c.at_ms.desc(), table.c.id).limit(limit)
        return self._db.fetch_all(wanted, _action, self.tenant)


def _action(row: Any) -> MerchantAction:
    return MerchantAction(
        int(row.at_ms), row.actor, row.action, row.subject, orjson.loads(row.details)
    )
