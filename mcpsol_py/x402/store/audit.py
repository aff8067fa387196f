"""Who did what to a merchant's plans, subscriptions and webhooks: rows that are added, never changed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, insert, select

from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import audit_log as table

__all__ = ["AuditEntry", "AuditLog", "note"]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One action. `at_ms` in UTC milliseconds since 1970."""

    at_ms: int
    actor: str
    action: str
    subject: str
    details: dict[str, Any]


def note(
    connection: Connection,
    tenant: str,
    now_ms: int,
    actor: str,
    action: str,
    subject: str,
    **details: Any,
) -> None:
    """Adds an entry in the caller's transaction: it is there if and only if what it tells of is. No secrets here."""
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


class AuditLog:
    """The log of one merchant. Raises StorageError."""

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self._db, self.tenant = database, tenant

    def history(self, limit: int = 100, *, subject: str | None = None) -> list[AuditEntry]:
        """The newest first."""
        wanted = select(table).where(table.c.tenant == self.tenant)
        if subject is not None:
            wanted = wanted.where(table.c.subject == subject)
        wanted = wanted.order_by(table.c.at_ms.desc(), table.c.id).limit(limit)
        rows = self._db.run(lambda c, _: c.execute(wanted).all(), self.tenant)
        return [
            AuditEntry(int(r.at_ms), r.actor, r.action, r.subject, orjson.loads(r.details))
            for r in rows
        ]
