"""docs/start.md, run line by line in an empty folder; and what tests/functional/pages.py takes a page to say."""

from __future__ import annotations

from pathlib import Path

from tests.functional.pages import Command, File, expected, run_page, steps
from tests.ports import free_port


def test_what_a_page_shows_is_compared_line_by_line() -> None:
    shown = expected("first\n…\n  last: …, 3\n")
    assert shown.fullmatch("first\nand\nmore\n  last: 1, 2, 3\n")
    assert shown.fullmatch("first\n  last: , 3\n")
    assert not shown.fullmatch("first\n  last: 3\n")
    assert not shown.fullmatch("first\n  last: 1, 3\nand more\n")
    assert not expected("").fullmatch("a word\n")
    page = "`a/b.py`\n\n```python\nx\n```\n\n```toml\nread = 1\n```\n\n```console\n$ one \\\n  two\nout\n$ three\n```\n"
    assert list(steps(page)) == [
        File("a/b.py", "x\n"),
        Command("one \\\n  two", "out\n"),
        Command("three", ""),
    ]


def test_the_four_ways_in_run_line_by_line(repo: Path, tmp_path: Path) -> None:
    page, port = (repo / "docs" / "start.md").read_text(encoding="utf-8"), free_port()
    page = page.replace("--transport http", f"--transport http --port {port}").replace(
        ":8765/", f":{port}/"
    )
    folder = tmp_path / "empty"
    folder.mkdir()
    assert len(run_page(page, folder, port=port, home=tmp_path)) >= 10
