"""docs/interop.md says which versions of other people's packages are run: those of the lock files."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def interop_page(repo: Path) -> ModuleType:
    """.ci/interop_page.py, which is not in a package."""
    spec = importlib.util.spec_from_file_location(
        "interop_page", repo / ".ci/interop_page.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # a dataclass looks there for its module
    spec.loader.exec_module(module)
    return module


def test_the_versions_are_those_of_the_locks(
    repo: Path, interop_page: ModuleType
) -> None:
    page = (repo / "docs/interop.md").read_text(encoding="utf-8")
    assert interop_page.written(page) == page, "run .ci/interop_page.py"


def test_every_package_was_run_and_passed(repo: Path, interop_page: ModuleType) -> None:
    page = (repo / "docs/interop.md").read_text(encoding="utf-8")
    for row in interop_page.ROWS:
        (line,) = [
            line
            for line in page.partition(f"<!-- {row.table} -->")[2]
            .partition("<!-- end")[0]
            .splitlines()
            if line.startswith(
                f"| {interop_page.registry(row.lock)} | `{row.package}` |"
            )
        ]
        assert re.search(r"\| \d{4}-\d\d-\d\d: \d+ passed \|$", line), line


def test_a_run_is_written_beside_its_package(interop_page: ModuleType) -> None:
    ran = [
        (
            "test_x402_http_peers",
            "t.test_their_buyer_pays_our_shop[npm: @x402/fetch]",
            True,
        ),
        ("test_x402_http_peers", "t.test_x[npm: @x402/fetch-underpaid]", False),
        ("test_x402_http_peers", "t.test_x[npm: x402-fetch-underpaid]", True),
    ]
    tables = ("http", "mcp", "frameworks")
    page = "".join(
        f"<!-- {name} -->\n\n\n\n<!-- end of {name} -->\n" for name in tables
    )
    written = interop_page.written(page, ran, "2026-01-02")
    said = {
        line.split("`")[1]: line.rsplit("| ", 1)[1]
        for line in written.splitlines()
        if "`" in line
    }
    assert said["@x402/fetch"] == "2026-01-02: 1 passed, 1 FAILED |"
    assert said["x402-fetch"] == "2026-01-02: 1 passed |"
    assert said["@x402/axios"] == "not yet |"
    assert interop_page.written(written) == written
