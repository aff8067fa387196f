"""Databases that a test opened are closed when it is over: from Python 3.13 on, SQLite complains of those left open.

Those of fixtures that last longer are left to them.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

_opened: list[Any] = []
_wider = 0


def pytest_configure() -> None:
    """Every Database that is made from now on is known."""
    try:
        from mcpsol_py.x402.store.database import Database
    except ImportError:  # an environment without the extra has none
        return
    made = Database.__init__

    def __init__(self: Database, *args: Any, **options: Any) -> None:
        if not _wider:
            _opened.append(self)
        made(self, *args, **options)

    Database.__init__ = __init__  # type: ignore[method-assign]


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any],
) -> Generator[None, object, object]:
    """What a module's or the session's fixture opens is its own."""
    global _wider
    wider = fixturedef.scope != "function"
    _wider += wider
    try:
        return (yield)
    finally:
        _wider -= wider


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """After the fixtures of the test itself."""
    try:
        return (yield)
    finally:
        while _opened:
            database = _opened.pop()
            if hasattr(database, "engine"):  # else it never opened
                database.close()
