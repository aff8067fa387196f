"""The pages on subscriptions and storage: their code runs, and what they name is there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any
from unittest.mock import Mock

from mcp.server import Server
from x402.schemas import ResourceInfo

from idl2mcp.config.payments import read_payments
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.mcp_seller import Paid
from mcpsol_py.x402.selling.paid_calls import PaidCalls
from mcpsol_py.x402.store.database import Database
from mcpsol_py.x402.store.executions import Executions
from mcpsol_py.x402.store.schema import metadata
from mcpsol_py.x402.store.webhooks import BACKOFF_S
from mcpsol_py.x402.subscriptions.charging import BACKOFF_MS
from mcpsol_py.x402.subscriptions.grants import Grants
from mcpsol_py.x402.subscriptions.store import SubscriptionStore
from mcpsol_py.x402.subscriptions.terms import SubscriptionPlan
from mcpsol_py.x402.subscriptions.tools import ERROR_CODES, TOOLS, SubscriptionTools
from mcpsol_py.x402.worker import merchant_jobs
from tests.support.x402_shop import Shop
from tests.unit.x402.payments import USDC

DOCS = Path(__file__).resolve().parents[3] / "docs"
SUBSCRIPTIONS = (DOCS / "x402-subscriptions.md").read_text(encoding="utf-8")
STORAGE = (DOCS / "x402-storage.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"```{language}\n(.*?)```", SUBSCRIPTIONS, re.S)
    return str(found)


def test_the_configuration_is_read() -> None:
    payments = read_payments(tomllib.loads(block("toml"))["payments"])
    (entry,) = payments.plans
    plan = entry.plan(str(USDC), DEVNET)
    assert (plan.price, plan.period, plan.quota, plan.trial_ms) == (
        5_000_000,
        "monthly",
        1000,
        7 * 86_400_000,
    )
    assert (entry.tools, payments.domain, payments.collector) == (
        ("vault_*",),
        "tools.example",
        "9hSR…",
    )


def test_the_python_runs(tmp_path: Path) -> None:
    shop = Shop(tmp_path / "payments.db")
    names: dict[str, Any] = {
        **{
            c.__name__: c
            for c in (
                SubscriptionStore,
                SubscriptionPlan,
                PaidCalls,
                Grants,
                Paid,
                Offer,
                SubscriptionTools,
            )
        },
        "database": shop.database,
        "executions": Executions(shop.database),
        "network": DEVNET,
        "mint": str(USDC),
        "pay_to": str(shop.world.payee.pubkey()),
        "server": Server("shop"),
        "resource": ResourceInfo(url="mcp://tool/quote"),
        "requirements": (shop.world.requirements(),),
        "requirements_of": lambda plan: shop.world.requirements(plan.price),
    }
    exec(block("python"), names)
    assert [p.id for p in names["store"].plans()] == ["pro"]
    assert len(names["server"].middleware) >= 2
    shop.database.close()


def test_the_tests_that_the_fault_table_names_are_there() -> None:
    source = (
        Path(__file__).with_name("test_store_faults.py").read_text(encoding="utf-8")
    )
    named = re.findall(r"`(test_\w+)`", STORAGE)
    assert len(named) >= 9
    for name in named:
        assert f"def {name}(" in source, name


def test_what_is_listed_is_what_there_is() -> None:
    for name in (*ERROR_CODES, *(t["name"] for t in TOOLS)):
        assert f"`{name}`" in SUBSCRIPTIONS, name
    for table in metadata.tables:
        assert f"`{table}`" in STORAGE, table
    every = {
        name: int(seconds)
        for name, seconds in re.findall(r"\| `(\w+)` \| (\d+) s \|", SUBSCRIPTIONS)
    }
    database = Mock(spec=Database)  # only the jobs' times are looked at
    jobs = merchant_jobs(database, chains={})
    assert {job.name: job.every for job in jobs}.items() <= every.items()
    assert BACKOFF_S == (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
    assert [ms // 60_000 for ms in BACKOFF_MS] == [1, 5, 30, 120, 360]
