from __future__ import annotations

from pathlib import Path
from typing import Any

from mcpsol_py import load
from mcpsol_py.model.program import LIST_TOOLS
from mcpsol_py.model.usable import for_callers
from mcpsol_py.schema.anchor_idl import to_anchor

REPO = Path(__file__).resolve().parents[3]


def built_by_anchor(spec: Path) -> dict[str, Any]:
    """The IDL that `anchor build` writes of a rendered program: it lists list_tools and its cursor too."""
    document, _ = to_anchor(load(spec).model)
    own = {
        "name": "list_tools",
        "discriminator": list(LIST_TOOLS),
        "accounts": [],
        "args": [{"name": "cursor", "type": {"defined": {"name": "Cursor"}}}],
    }
    cursor = {
        "name": "Cursor",
        "type": {"kind": "struct", "fields": [{"name": "page", "type": "u16"}]},
    }
    document["instructions"].append(own)
    document["types"].append(cursor)
    return document


def test_list_tools_of_an_anchor_build_is_left_out() -> None:
    spec = REPO / "programs/counter/spec.py"
    found, plain = load(built_by_anchor(spec)), load(to_anchor(load(spec).model)[0])
    assert found.instructions == plain.instructions
    assert found.model.types == plain.model.types


def test_a_cursor_that_others_use_stays() -> None:
    document = built_by_anchor(REPO / "programs/counter/spec.py")
    document["instructions"][0]["args"].append(
        {"name": "from", "type": {"defined": {"name": "Cursor"}}}
    )
    assert "Cursor" in [definition.name for definition in load(document).model.types]


def test_what_only_the_program_calls_is_left_out_for_callers() -> None:
    model = load(REPO / "programs/x402/spec.py").model
    left = {ix.name for ix in model.instructions} - {
        ix.name for ix in for_callers(model).instructions
    }
    assert left == {"emit_event"}
    document, losses = to_anchor(model)
    assert [loss.message for loss in losses if "emit_event" in loss.message] == [
        "emit_event: only the program itself can sign for 'event_authority', so nobody else can call it"
    ]
    assert "emit_event" not in str(document)
    assert "RawBytes" not in str(document)
    assert len(document["events"]) == len(model.events)


def test_a_program_without_such_instructions_stays_as_it_is() -> None:
    model = load(REPO / "programs/counter/spec.py").model
    assert for_callers(model) is model
