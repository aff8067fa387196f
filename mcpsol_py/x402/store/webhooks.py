"""The webhooks of a merchant, and the events to deliver to them.

`emit` writes an event in the same transaction as the change that it reports. So no event is lost, and none reports a
change that was rolled back. mcpsol_py.x402.worker.webhooks delivers them.
"""

from __future__ import annotations

import base64
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

import orjson
from sqlalchemy import Connection, delete, insert, select, update

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import deliveries, webhooks

__all__ = ["EVENTS", "Delivery", "Event", "Webhook", "Webhooks", "emit"]

#: An event of this library. A program that sells may emit events of its own, too.
Event = Literal[
    "subscription.opened",
    "subscription.charged",
    "subscription.changed",
    "subscription.past_due",
    "subscription.cancelled",
    "subscription.expired",
]
EVENTS: tuple[str, ...] = get_args(Event)

#: Seconds to the next try, after the first, second, … that failed; after the last one the event is dead.
BACKOFF_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)


@dataclass(frozen=True, slots=True)
class Webhook:
    """A URL that receives events. `secret` ("whsec_" and base64) signs them by HMAC-SHA256; it is shown only once."""

    id: str
    url: str
    events: tuple[str, ...]
    secret: str = field(repr=False)
    active: bool = True


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event for one webhook. `state`: "pending", "delivered" or "dead". `body` holds the exact text to send."""

    id: str
    webhook_id: str
    type: str
    body: str = field(repr=False)
    state: str
    attempts: int
    next_ms: int
    error: str | None


def emit(
    connection: Connection, tenant: str, now_ms: int, kind: str, data: Mapping[str, Any]
) -> int:
    """Write event *kind* for each webhook that wants it, in the caller's transaction. Return their number."""
    count = 0
    for hook in connection.execute(
        select(webhooks).where(webhooks.c.tenant == tenant, webhooks.c.active)
    ).all():
        wanted = orjson.loads(hook.events)
        if kind not in wanted and "*" not in wanted:
            continue
        when = datetime.fromtimestamp(now_ms / 1000, UTC).isoformat(
            timespec="milliseconds"
        )
        body = orjson.dumps(
            {"type": kind, "timestamp": when, "data": dict(data)},
            option=orjson.OPT_SORT_KEYS,
        )
        row = {
            "tenant": tenant,
            "id": f"msg_{uuid.uuid4().hex}",
            "webhook_id": hook.id,
            "type": kind,
            "body": body.decode(),
            "state": "pending",
            "attempts": 0,
            "next_ms": now_ms,
            "created_ms": now_ms,
            "touched_ms": now_ms,
        }
        connection.execute(insert(deliveries).values(row))
        count += 1
    return count


class Webhooks:
    """The webhooks and events of one merchant. Methods raise StorageError."""

    def __init__(self, database: Database, tenant: str = "default") -> None:
        self._db, self.tenant = database, tenant

    def add(
        self, url: str, events: Sequence[str] = ("*",), *, allow_http: bool = False
    ) -> Webhook:
        """Add a webhook with a new random secret. Raises PaymentError (INVALID_PARAMETERS) unless *url* is https.

        *allow_http* is for receivers on this machine and in private networks.
        """
        parts = urlsplit(url)
        schemes = ("https", "http") if allow_http else ("https",)
        if parts.scheme not in schemes or not parts.hostname:
            raise PaymentError(
                "INVALID_PARAMETERS", f"expected an https URL, got {abbr(url)}"
            )
        secret = "whsec_" + base64.b64encode(secrets.token_bytes(24)).decode()
        made = Webhook(uuid.uuid4().hex, url, tuple(events), secret)

        def work(connection: Connection, _again: bool) -> None:
            connection.execute(
                delete(webhooks).where(
                    webhooks.c.tenant == self.tenant, webhooks.c.id == made.id
                )
            )
            row = {
                "tenant": self.tenant,
                "id": made.id,
                "url": url,
                "secret": secret,
                "events": orjson.dumps(list(events)).decode(),
                "active": True,
                "created_ms": self._db.now_ms(connection),
            }
            connection.execute(insert(webhooks).values(row))

        self._db.run(work, self.tenant)
        return made

    def all(self) -> list[Webhook]:
        """Return all webhooks, the oldest first."""
        wanted = (
            select(webhooks)
            .where(webhooks.c.tenant == self.tenant)
            .order_by(webhooks.c.created_ms)
        )
        return self._db.fetch_all(wanted, _webhook, self.tenant)

    def remove(self, webhook_id: str) -> None:
        """Remove a webhook. Its pending events become dead."""
        its = delete(webhooks).where(
            webhooks.c.tenant == self.tenant, webhooks.c.id == webhook_id
        )
        self._db.run(lambda c, _: c.execute(its), self.tenant)

    def emit(self, kind: str, data: Mapping[str, Any]) -> int:
        """Write an event in a transaction of its own, for a change that no other row records."""
        return self._db.run(
            lambda c, _: emit(c, self.tenant, self._db.now_ms(c), kind, data),
            self.tenant,
        )

    def take_due(
        self, limit: int = 20, lease_s: float = 60.0
    ) -> list[tuple[Delivery, Webhook | None]]:
        """Take events that are due, each with its webhook (None if removed). Others do not see them for *lease_s*."""

        def work(connection: Connection, _again: bool) -> list[Any]:
            now = self._db.now_ms(connection)
            due = connection.execute(
                select(deliveries)
                .where(
                    deliveries.c.tenant == self.tenant,
                    deliveries.c.state == "pending",
                    deliveries.c.next_ms <= now,
                )
                .order_by(deliveries.c.next_ms)
                .limit(limit)
                .with_for_update(skip_locked=True)
            ).all()
            for row in due:
                hidden = update(deliveries).where(
                    deliveries.c.tenant == self.tenant, deliveries.c.id == row.id
                )
                connection.execute(
                    hidden.values(next_ms=now + int(lease_s * 1000), touched_ms=now)
                )
            return list(due)

        hooks = {h.id: h for h in self.all()}
        return [
            (_delivery(row), hooks.get(row.webhook_id))
            for row in self._db.run(work, self.tenant)
        ]

    def delivered(self, delivery_id: str) -> None:
        """Record that the receiver accepted an event."""
        self._set(delivery_id, state="delivered", error=None)

    def failed(self, delivery: Delivery, why: str) -> str:
        """Record a failed try and plan the next one, or give up. Return the new state."""
        attempts = delivery.attempts + 1
        dead = attempts > len(BACKOFF_S)
        wait = 0 if dead else BACKOFF_S[attempts - 1] * 1000
        self._set(
            delivery.id,
            state="dead" if dead else "pending",
            attempts=attempts,
            error=why[:300],
            wait=wait,
        )
        return "dead" if dead else "pending"

    def give_up(self, delivery: Delivery, why: str) -> None:
        """Give an event up, because nobody can receive it."""
        self._set(delivery.id, state="dead", error=why)

    def dead(self, limit: int = 100) -> list[Delivery]:
        """Return events that were given up."""
        return self.deliveries("dead", limit)

    def deliveries(self, state: str | None = None, limit: int = 100) -> list[Delivery]:
        """Return events, the newest first."""
        wanted = select(deliveries).where(deliveries.c.tenant == self.tenant)
        if state is not None:
            wanted = wanted.where(deliveries.c.state == state)
        wanted = wanted.order_by(deliveries.c.created_ms.desc(), deliveries.c.id).limit(
            limit
        )
        return self._db.fetch_all(wanted, _delivery, self.tenant)

    def again(self, delivery_id: str) -> None:
        """Queue a dead event again, at an operator's request."""
        self._set(delivery_id, state="pending", attempts=0, error=None, wait=0)

    def _set(self, delivery_id: str, *, wait: int | None = None, **values: Any) -> None:
        its = update(deliveries).where(
            deliveries.c.tenant == self.tenant, deliveries.c.id == delivery_id
        )

        def work(connection: Connection, _again: bool) -> None:
            now = self._db.now_ms(connection)
            next_ms = {} if wait is None else {"next_ms": now + wait}
            connection.execute(its.values(**values, **next_ms, touched_ms=now))

        self._db.run(work, self.tenant)


def _webhook(row: Any) -> Webhook:
    events = tuple(orjson.loads(row.events))
    return Webhook(row.id, row.url, events, row.secret, bool(row.active))


def _delivery(row: Any) -> Delivery:
    return Delivery(
        row.id,
        row.webhook_id,
        row.type,
        row.body,
        row.state,
        int(row.attempts),
        int(row.next_ms),
        row.error,
    )
