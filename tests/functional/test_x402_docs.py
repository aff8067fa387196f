"""docs/x402-program.md: the tests that its threat model names are there, and so are the errors and instructions."""

from __future__ import annotations

import re

from .x402_chain import REPO, spec

PAGE = (REPO / "docs/x402-program.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(Test\w+|test_\w+|\w+Machine)`", PAGE)


def test_each_test_that_the_threat_model_names_exists() -> None:
    files = (REPO / "tests").rglob("test_*.py")
    sources = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert len(NAMED) >= 20
    for name in NAMED:
        assert re.search(rf"^\s*(def|class) {name}\b", sources, re.M), name


def test_each_instruction_but_the_programs_own_is_explained() -> None:
    for ix in spec().model.instructions:
        assert ix.name in PAGE or ix.name == "emit_event", ix.name


def test_the_treasury_is_a_placeholder_that_the_page_warns_of() -> None:
    [treasury] = [c for c in spec().model.constants if c.name == "TREASURY_OWNER"]
    assert treasury.value == "DrLViEZBgqj6TgP8vKqu22uvLgV6p3tfkvCYfG8yqSUn"
    assert "placeholder" in PAGE
