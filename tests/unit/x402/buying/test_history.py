"""The history of a wallet: filters, pages and totals, compared with a plain model."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana import ids
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.history import STATES, History, HistoryFilter
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.unit.x402.conftest import Storage

USDC, USDG = ids.DEVNET_USDC, ids.DEVNET_USDG
DAY = 86_400_000
T0 = 1_800_000_000_000 - 1_800_000_000_000 % DAY
WALLET = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin"


@pytest.fixture
def database(storage: Storage) -> Database:
    return storage.open()


def filled(database: Database, count: int = 40) -> list[Spending]:
    """Payments of three days and two tokens, some at the same moment, in every state; newest first."""
    chance, clock = random.Random(7), [T0]
    limits = SpendingLimits({mint: SpendingLimit() for mint in (USDC, USDG)})
    budgets = [
        Budget(database, wallet, limits, session="s", clock_ms=lambda: clock[0])
        for wallet in (WALLET, "another")
    ]
    for n in range(count):
        clock[0] += chance.choice([0, 1, DAY // 15])
        host = chance.choice(["a.example", "a.example:81", "b.example", ""])
        tool = chance.choice(["quote", "news", ""])
        asset, amount = chance.choice([USDC, USDG]), chance.randrange(1, 1000)
        budget = budgets[n % 7 == 6]
        payment_id = f"pay_{chance.randrange(10**9):016}"
        known = (
            budget.wallet,
            payment_id,
            "s",
            DEVNET,
            asset,
            amount,
            "payee",
            "resource",
            "q",
        )
        budget.reserve(Spending(*known, host=host, tool=tool))
        # A reservation ends while the clock moves on, so the last one is left to be one.
        _move(
            budget, payment_id, "reserved" if n == count - 1 else chance.choice(STATES)
        )
    rows = [row for row in budgets[0].history(1000) if row.wallet == WALLET]
    assert {row.state for row in rows} == set(STATES)
    return rows


def _move(budget: Budget, payment_id: str, state: str) -> None:
    if state == "released":
        budget.abandon(payment_id)
    if state in ("signed", "spent"):
        budget.signed(payment_id, {"secret": 1}, f"tx:{payment_id}")
    if state == "spent":
        budget.spent(payment_id, "sig")


FILTERS: list[tuple[dict[str, Any], Any]] = [
    ({}, lambda row: True),
    *(
        ({"state": state}, lambda row, state=state: row.state == state)
        for state in STATES
    ),
    ({"host": "A.example"}, lambda row: row.host in ("a.example", "a.example:81")),
    ({"host": "a.example:81"}, lambda row: row.host == "a.example:81"),
    ({"host": "%"}, lambda row: False),
    ({"tool": "quote"}, lambda row: row.tool == "quote"),
    ({"token": "usdc"}, lambda row: row.asset == USDC),
    ({"token": USDG}, lambda row: row.asset == USDG),
    ({"since_ms": T0 + DAY, "until_ms": T0 + 2 * DAY}, lambda row: _day(row) == 1),
    (
        {"tool": "news", "state": "spent"},
        lambda row: (row.tool, row.state) == ("news", "spent"),
    ),
]


def _day(row: Spending) -> int:
    return (row.created_ms - T0) // DAY


def test_each_filter_and_every_page(database: Database) -> None:
    rows, history = filled(database), History(database, WALLET)
    for given, keeps in FILTERS:
        where, wanted = HistoryFilter(**given), [row for row in rows if keeps(row)]
        for limit in (1, 7, 1000):
            found: list[Spending] = []
            after: str | None = None
            while True:
                page = history.page(limit, where=where, after=after)
                assert len(page.rows) <= limit
                found += page.rows
                if page.after is None:
                    break
                after = page.after
            assert found == wanted


def test_totals_by_day_are_the_sums_of_the_payments(database: Database) -> None:
    rows, history = filled(database), History(database, WALLET)
    for given, keeps in FILTERS:
        wanted: Counter[tuple[int, str, str]] = Counter()
        for row in rows:
            if keeps(row) and row.state != "released":
                kind = "spent" if row.state == "spent" else "pending"
                wanted[_day(row), row.asset, kind] += row.amount
                wanted[_day(row), row.asset, "payments"] += 1
        found: Counter[tuple[int, str, str]] = Counter()
        for total in history.days(where=HistoryFilter(**given)):
            day = int(total.day[-2:]) - 15  # T0 is on the 15th
            for kind in ("spent", "pending", "payments"):
                found[day, total.asset, kind] += getattr(total, kind)
        assert found == wanted


@pytest.mark.parametrize(
    "ask",
    [
        lambda history: history.page(where=HistoryFilter(state="paid")),
        lambda history: history.page(where=HistoryFilter(token="DOGE")),
        lambda history: history.page(after="x"),
        lambda history: history.page(after="²." + "p"),
        lambda history: history.page(after="9" * 30 + ".p"),
    ],
)
def test_what_cannot_be_asked_is_named(database: Database, ask: Any) -> None:
    with pytest.raises(PaymentError) as caught:
        ask(History(database, WALLET))
    assert caught.value.code == "INVALID_PARAMETERS"
