"""tests/vectors/pages*.json: the writer still writes them, the second reader and ours still read them."""

import json
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.model.serial import model_from_json
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import PageSet, read_page, read_schema, write_pages
from tests.functional.mcpsol_reader import Reader
from tests.vectors.regen_pages import CASES, OLD_CASES, _said

VECTORS = Path(__file__).resolve().parents[2] / "vectors"
OURS: list[dict[str, Any]] = json.loads((VECTORS / "pages.json").read_text())
OLD: list[dict[str, Any]] = json.loads((VECTORS / "pages_mcpsol.json").read_text())


def _named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        "vector", cases, ids=[c["case"].replace(" ", "_") for c in cases]
    )


def _pages(vector: dict[str, Any]) -> PageSet:
    return PageSet(
        [page.encode() for page in vector["json_pages"]],
        [bytes.fromhex(page) for page in vector["stream_pages"]],
        vector["stream_base"],
    )


def test_every_case_is_in_the_files() -> None:
    assert [c["case"] for c in OURS] == [case for case, _, _ in CASES]
    assert [c["case"] for c in OLD] == [case for case, _ in OLD_CASES]


@_named(OURS)
def test_the_writer_writes_these_bytes(vector: dict[str, Any]) -> None:
    pages = _pages(vector)
    # how well the stream packs depends on the zlib at hand, so what page 0 says of it is taken from the vector
    ref = read_page(pages.json_pages[0]).stream
    assert (
        write_pages(
            model_from_json(vector["model"]), form=vector["form"], stream_ref=ref
        )
        == pages.json_pages
    )


@_named(OURS)
def test_both_readers_read_them(vector: dict[str, Any]) -> None:
    pages = _pages(vector)
    assert lift(pages.json_pages, pages.stream_pages) == model_from_json(
        vector["model"]
    )
    reader = Reader(pages.get)
    assert reader.model() == vector["model"]
    assert reader.program() == vector["program"]


@_named(OLD)
def test_mcpsol_s_pages_say_this(vector: dict[str, Any]) -> None:
    tools = read_schema([page.encode() for page in vector["pages"]]).tools
    assert [_said(tool) for tool in tools] == vector["tools"]
