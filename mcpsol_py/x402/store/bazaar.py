"""A facilitator's catalog in SQL: services that were paid through it and asked to be listed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from mcpsol_py.utc import time_of
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.schema import catalog as table

__all__ = ["ServiceCatalog"]

#: Rows that a search looks at: those paid most recently.
_SEARCHED = 5_000
_FILTERS = {
    "type": table.c.type,
    "network": table.c.network,
    "scheme": table.c.scheme,
    "payTo": table.c.pay_to,
}


class ServiceCatalog:
    """The services that a facilitator lists. Methods raise StorageError."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def enter(self, row: Mapping[str, Any]) -> None:
        """List a service (a row of protocol.bazaar), or update its listing."""
        terms = row["accepts"][0]
        key = {"resource": row["resource"], "tool": row.get("toolName", "")}
        words = " ".join(
            (key["resource"], key["tool"], row.get("description", ""))
        ).lower()

        def work(connection: Connection, _again: bool) -> None:
            now = self._db.now_ms(connection)
            values = {
                "type": row["type"],
                "network": terms["network"],
                "scheme": terms["scheme"],
                "pay_to": terms["payTo"],
                "words": words,
                "body": orjson.dumps(row).decode(),
                "touched_ms": now,
            }
            its = (table.c.resource == key["resource"]) & (table.c.tool == key["tool"])
            if (
                connection.execute(update(table).where(its).values(values)).rowcount
                == 0
            ):
                connection.execute(insert(table).values({**key, **values}))

        self._db.run(work)

    def listed(
        self, wanted: Mapping[str, str], limit: int, offset: int
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return the number of matching services and one page of them, the last paid first.

        *wanted* filters by type, network, scheme or payTo.
        """
        conditions = _conditions(wanted)

        def work(
            connection: Connection, _again: bool
        ) -> tuple[int, list[dict[str, Any]]]:
            total = connection.execute(
                select(func.count()).select_from(table).where(*conditions)
            ).scalar_one()
            newest = (
                select(table)
                .where(*conditions)
                .order_by(table.c.touched_ms.desc(), table.c.resource, table.c.tool)
            )
            page = connection.execute(newest.limit(limit).offset(offset)).all()
            return int(total), list(map(_row, page))

        return self._db.run(work)

    def search(
        self, text: str, wanted: Mapping[str, str], limit: int
    ) -> list[dict[str, Any]]:
        """Return the services with the most words of *text*; among equals, the last paid first."""
        words = text.lower().split()[:20]
        newest = (
            select(table)
            .where(*_conditions(wanted))
            .order_by(table.c.touched_ms.desc())
            .limit(_SEARCHED)
        )
        rows = self._db.run(lambda connection, _: connection.execute(newest).all())
        scored = [(sum(word in row.words for word in words), row) for row in rows]
        found = sorted((s for s in scored if s[0] or not words), key=lambda s: -s[0])
        return [_row(row) for _, row in found[:limit]]


def _conditions(wanted: Mapping[str, str]) -> list[ColumnElement[bool]]:
    return [
        column == wanted[name] for name, column in _FILTERS.items() if name in wanted
    ]


def _row(row: Any) -> dict[str, Any]:
    return {**orjson.loads(row.body), "lastUpdated": time_of(row.touched_ms)}
