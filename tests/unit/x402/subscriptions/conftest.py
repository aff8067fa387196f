"""A merchant on each of the two databases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.x402_shop import Shop
from tests.unit.x402.conftest import Storage
from tests.unit.x402.subscriptions.merchant import Merchant


@pytest.fixture
def merchant(tmp_path: Path, storage: Storage) -> Merchant:
    return Merchant(Shop(tmp_path / "payments.db", storage=storage))


@pytest.fixture
def sqlite_merchant(tmp_path: Path, sqlite_storage: Storage) -> Merchant:
    """For what no database decides."""
    return Merchant(Shop(tmp_path / "payments.db", storage=sqlite_storage))
