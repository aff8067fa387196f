"""The part of a crate's README.md that says what no check holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.render import render_crate
from mcpsol_py.render.readme import readme
from tests.unit.render.idls import idl, kind

OPEN = idl(kind("A", "authority"), kind("B", "authority"))
CLOSED = idl(kind("Vault", "authority"))


def rendered(document: object, out: Path, target: str = "pinocchio") -> tuple[str, ...]:
    source = out.with_suffix(".json")
    source.write_text(json.dumps(document), encoding="utf-8")
    return render_crate(load(source), target=target, out=out).written


@pytest.mark.parametrize("target", ["pinocchio", "native", "anchor"])
def test_the_crate_says_what_is_not_checked(target: str, tmp_path: Path) -> None:
    out = tmp_path / "crate"
    assert "README.md" in rendered(OPEN, out, target)
    text = (out / "README.md").read_text(encoding="utf-8")
    assert text.startswith("# kept\n\n")
    assert "- withdraw: that the data of vault names authority" in text


def test_only_the_marked_part_is_written(tmp_path: Path) -> None:
    out = tmp_path / "crate"
    out.mkdir()
    (out / "README.md").write_text("# Mine\n\nAs I like it.\n", encoding="utf-8")
    rendered(OPEN, out)
    first = (out / "README.md").read_text(encoding="utf-8")
    assert first.startswith("# Mine\n\nAs I like it.\n\n<!-- NOT CHECKED")
    assert "README.md" not in rendered(OPEN, out)
    (out / "README.md").write_text(first + "\nMore of mine.\n", encoding="utf-8")
    rendered(CLOSED, out)
    last = (out / "README.md").read_text(encoding="utf-8")
    assert "NOT CHECKED" not in last
    assert last.split() == [
        "#",
        "Mine",
        "As",
        "I",
        "like",
        "it.",
        "More",
        "of",
        "mine.",
    ]


def test_a_program_that_is_checked_wholly_gets_no_file(tmp_path: Path) -> None:
    rendered(CLOSED, tmp_path / "crate")
    assert not (tmp_path / "crate/README.md").exists()


def test_words_of_a_stranger_are_no_markup(tmp_path: Path) -> None:
    (file,) = readme(tmp_path, "x", ["a: <b>`c`\n# d -->"])
    assert "- a: \\<b\\>\\`c\\` \\# d --\\>" in file.data.decode()
