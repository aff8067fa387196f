"""The documentation site shows what the repository has: every page, and links that work."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def docs_site(repo: Path) -> ModuleType:
    """.ci/docs_site.py, which is not in a package."""
    spec = importlib.util.spec_from_file_location(
        "docs_site", repo / ".ci/docs_site.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_page_is_in_the_navigation(repo: Path) -> None:
    navigation = (
        (repo / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    )
    listed = set(re.findall(r": ([\w-]+\.md)$", navigation, re.MULTILINE))
    assert listed == {page.name for page in (repo / "docs").glob("*.md")} | {"index.md"}


def test_the_home_page_links_to_pages_beside_it(docs_site: ModuleType) -> None:
    assert docs_site.home_page("[a](docs/a.md#b) [c](#d)") == "[a](a.md#b) [c](#d)"


def test_links_out_of_the_site_become_text(docs_site: ModuleType) -> None:
    assert docs_site.home_page("see [LICENSE](LICENSE)") == "see LICENSE"
    assert docs_site.page("see [a test](../tests/test_a.py)") == "see a test"


def test_links_to_the_readme_lead_to_the_home_page(docs_site: ModuleType) -> None:
    assert (
        docs_site.page("[Install](../README.md#install)")
        == "[Install](index.md#install)"
    )


def test_links_to_the_web_stay(docs_site: ModuleType) -> None:
    text = "[x402](https://x402.org/a) and [mail](mailto:a@b.example)"
    assert docs_site.page(text) == text
    assert docs_site.home_page(text) == text
