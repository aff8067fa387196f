"""Totals of sales by day and tool, compared with a plain model; spans of time."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert

from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.merchant_log import record_action
from mcpsol_py.x402.store.sales import Grouping, Sales
from mcpsol_py.x402.store.schema import executions, receipts
from mcpsol_py.x402.store.spans import Span
from tests.unit.x402.conftest import Storage

DAY = 86_400_000
START = 20_000 * DAY  # midnight, UTC
TOOLS = ("mcp://tool/a", "mcp://tool/b")
#: (milliseconds after START, tool, base units, refunded)
PAYMENTS = [
    (0, 0, 1_000, 0),
    (DAY - 1, 0, 2_000, 500),
    (DAY, 1, 4_000, 4_000),
    (DAY + 5, 0, 8_000, 0),
    (3 * DAY, 1, 2**62, 0),
]


@pytest.fixture
def database(storage: Storage) -> Database:
    opened = storage.open()
    # On PostgreSQL the login of these tests may act for one merchant only.
    for tenant in ("default", "another") if storage.is_sqlite else ("default",):
        for number, payment in enumerate(PAYMENTS):
            _enter(opened, tenant, f"pay_{tenant}_{number:08}", *payment)
    return opened


def _enter(
    database: Database,
    tenant: str,
    payment_id: str,
    at: int,
    tool: int,
    units: int,
    back: int,
) -> None:
    shared = {
        "tenant": tenant,
        "payment_id": payment_id,
        "network": "solana:x",
        "asset": "mint",
        "amount": units,
        "resource": TOOLS[tool],
    }
    receipt = {**shared, "body": "{}", "issued_ms": START + at}
    call = {
        **shared,
        "fingerprint": "f",
        "payment_key": payment_id,
        "state": "done",
        "owner": "o",
        "created_ms": START + at,
        "touched_ms": 0,
    }
    with database.begin(tenant) as connection:
        connection.execute(insert(receipts).values(receipt))
        connection.execute(insert(executions).values(call))
        for action in ["refund.landed", "refund.failed"] if back else []:
            record_action(
                connection, tenant, 0, "operator", action, payment_id, amount=str(back)
            )


@pytest.mark.parametrize(
    "by", [(), ("day",), ("tool",), ("day", "tool"), ("tool", "day")]
)
@pytest.mark.parametrize(
    "span", [Span(), Span(START + 1, START + 3 * DAY), Span(START + 9 * DAY)]
)
@pytest.mark.parametrize("tool", [None, 0])
def test_totals_are_those_of_a_plain_sum(
    database: Database, by: tuple[Grouping, ...], span: Span, tool: int | None
) -> None:
    payments, amounts, refunds = Counter[object](), Counter[object](), Counter[object]()
    for at, its_tool, units, back in PAYMENTS:
        if not span.since_ms <= START + at < span.until_ms or tool not in (
            None,
            its_tool,
        ):
            continue
        day = datetime.fromtimestamp((START + at) / 1000, UTC).date().isoformat()
        key = (day if "day" in by else None, TOOLS[its_tool] if "tool" in by else None)
        payments[key] += 1
        amounts[key] += units
        refunds[key] += back
    resource = None if tool is None else TOOLS[tool]
    totals = Sales(database).totals(by, span=span, resource=resource)
    found = {(t.day, t.resource): (t.payments, t.amount, t.refunded) for t in totals}
    assert found == {
        key: (payments[key], amounts[key], refunds[key]) for key in payments
    }


def test_calls_are_listed_newest_first_within_a_span(database: Database) -> None:
    sales = Sales(database)
    listed = [call.created_ms - START for call in sales.calls(3)]
    assert listed == [3 * DAY, DAY + 5, DAY]
    within = sales.calls(span=Span(START + DAY, START + DAY + 5), resource=TOOLS[1])
    assert [call.amount for call in within] == [4_000]
