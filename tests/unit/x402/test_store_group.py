"""What is committed together on SQLite, and what waits for the disk."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from sqlalchemy import text

from mcpsol_py.x402.store.database import Database

NORMAL, FULL = 1, 2


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path / 'payments.db'}")


def level(database: Database) -> int:
    """How far a commit of this transaction reaches: FULL waits for the disk."""
    return database.run(
        lambda connection, _: int(
            connection.execute(text("PRAGMA synchronous")).scalar_one()
        )
    )


async def test_only_what_may_be_lost_does_not_wait_for_the_disk(
    database: Database,
) -> None:
    assert await database.grouped(level, database) == FULL
    assert await database.grouped(level, database, lasting=False) == NORMAL
    assert await database.grouped(level, database) == FULL
    assert await asyncio.to_thread(level, database) == FULL


async def test_one_lasting_piece_makes_its_whole_group_lasting(
    database: Database,
) -> None:
    levels = await asyncio.gather(
        *(database.grouped(level, database, lasting=n % 8 == 7) for n in range(64))
    )
    # A piece waits for the disk if it must; others do when they share its commit.
    for first in range(0, 64, 8):
        assert levels[first + 7] == FULL
    assert set(levels) <= {NORMAL, FULL}


async def test_a_failure_among_them_leaves_the_others_and_the_level(
    database: Database,
) -> None:
    def fails() -> None:
        raise ValueError("of this piece only")

    failed, held = await asyncio.gather(
        database.grouped(fails, lasting=False),
        database.grouped(level, database, lasting=False),
        return_exceptions=True,
    )
    assert isinstance(failed, ValueError)
    assert held == NORMAL
    assert await database.grouped(level, database) == FULL
