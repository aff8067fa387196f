from dataclasses import replace

import pytest

from mcpsol_py.errors import MalformedPage
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    Discriminator,
    ErrorCode,
    Instruction,
    ProgramModel,
)
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import page_set, write_pages
from mcpsol_py.schema.stream import stream_ref

DISC = Discriminator(bytes(range(8)))
MODEL = ProgramModel(
    "vault",
    (Instruction("go", DISC),),
    errors=(ErrorCode(1, "No"),),
    docs=("Keeps things.",),
)


def test_groups_stand_again_as_they_were() -> None:
    items = (
        Account("a"),
        AccountGroup(
            "g",
            (
                Account("a"),
                AccountGroup("h", (Account("a", writable=True),)),
                Account("b"),
            ),
        ),
        AccountGroup("h", (Account("a"),)),
        Account("z"),
    )
    model = ProgramModel("x", (Instruction("go", DISC, (), items),))
    assert lift(write_pages(model)).instructions[0].accounts == items


def test_pages_alone_say_what_is_not_in_them() -> None:
    lifted = lift(write_pages(MODEL))
    assert lifted.errors == ()
    assert lifted.findings == (
        (
            "",
            "info",
            "read from JSON pages: accounts' data, events, error names and constants are not in them",
        ),
    )
    assert lifted.dialect == "list_tools pages"


def test_the_stream_says_all() -> None:
    pages = page_set(MODEL)
    lifted = lift(pages.json_pages, pages.stream_pages)
    assert lifted == MODEL
    assert lifted.findings == ()
    assert lifted.dialect == "list_tools stream"


def test_a_program_that_shows_two_faces_is_reported() -> None:
    honest = page_set(MODEL)
    other = replace(MODEL, instructions=(Instruction("drain", DISC),))
    pages = write_pages(other, stream_ref=stream_ref(MODEL))
    lifted = lift(pages, honest.stream_pages)
    assert [i.name for i in lifted.instructions] == ["go"]
    assert [(level, "drain" in why) for _, level, why in lifted.findings] == [
        ("warning", True)
    ]


def test_stream_pages_without_a_stream_on_page_0_are_refused() -> None:
    pages = page_set(MODEL)
    with pytest.raises(MalformedPage, match="page 0 names no stream"):
        lift(page_set(MODEL, lossless=False).json_pages, pages.stream_pages)
    with pytest.raises(MalformedPage, match="page 0 names no stream"):
        lift([], pages.stream_pages)
