"""The tables of the pages on payments: every row names a test, and the tests that they name are there."""

import re
from pathlib import Path

import pytest

#: page -> the headings of its tables whose last column names tests
TABLES = {
    "docs/x402.md": ("## Peers", "## Faults"),
    "docs/x402-storage.md": ("## Faults of the database",),
}
TEST = re.compile(r"`(test_\w+)`")


def _tests(repo: Path) -> set[str]:
    """The names of all tests."""
    found = re.compile(r"^\s*(?:async )?def (test_\w+)\(", re.MULTILINE)
    files = (repo / "tests").rglob("test_*.py")
    return {
        name
        for file in files
        for name in found.findall(file.read_text(encoding="utf-8"))
    }


def _rows(page: str, heading: str) -> list[str]:
    """The last column of the first table under a heading."""
    lines = page.split(heading + "\n", 1)[1].splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("|"))
    table = lines[first:]
    last = next(
        (n for n, line in enumerate(table) if not line.startswith("|")), len(table)
    )
    return [line.strip("|").rsplit("|", 1)[1].strip() for line in table[2:last]]


@pytest.mark.parametrize(
    ("page", "heading"), [(p, h) for p, headings in TABLES.items() for h in headings]
)
def test_every_row_names_a_test_that_exists(
    repo: Path, page: str, heading: str
) -> None:
    there = _tests(repo)
    rows = _rows((repo / page).read_text(encoding="utf-8"), heading)
    assert len(rows) >= 5
    for number, row in enumerate(rows, 1):
        named = TEST.findall(row)
        assert named or row == "the same", (
            f"{page}, {heading}, row {number} names no test: {row}"
        )
        assert set(named) <= there, (
            f"{page}, {heading}, row {number}: no test {set(named) - there}"
        )


def test_what_the_page_on_channels_names_exists(repo: Path) -> None:
    named = set(
        TEST.findall((repo / "docs/x402-channels.md").read_text(encoding="utf-8"))
    )
    assert len(named) >= 5
    assert named <= _tests(repo)
