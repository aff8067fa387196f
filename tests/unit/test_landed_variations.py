"""Data as chains hold them and IDLs do not foresee: each is read as far as it goes, and the rest is told."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.client.errors import explain
from mcpsol_py.client.events import read_events
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import DecodeError
from mcpsol_py.solana.ids import EVENT_CPI_TAG

SHOP, OTHER = Pubkey(bytes([5] * 32)), Pubkey(bytes([6] * 32))
EVENT, ACCOUNT, CALL = bytes([3] * 8), bytes([2] * 8), bytes([1] * 8)


def of(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    rows = [{"name": field, "type": kind} for field, kind in fields.items()]
    return {"name": name, "type": {"kind": "struct", "fields": rows}}


SIDE = {
    "name": "Side",
    "type": {
        "kind": "enum",
        "variants": [{"name": "Buy"}, {"name": "Sell", "fields": ["u16"]}],
    },
}
PROGRAM = load(
    {
        "address": str(SHOP),
        "metadata": {"name": "shop", "version": "1.0.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": "trade",
                "discriminator": list(CALL),
                "accounts": [],
                "args": [
                    {"name": "side", "type": {"defined": {"name": "Side"}}},
                    {"name": "n", "type": "u32"},
                ],
            }
        ],
        "accounts": [{"name": "Book", "discriminator": list(ACCOUNT)}],
        "events": [{"name": "Sold", "discriminator": list(EVENT)}],
        "types": [
            SIDE,
            of("Book", {"owner": "pubkey", "rows": {"vec": "u64"}, "fee": "u16"}),
            of("Sold", {"n": "u32", "note": "string"}),
        ],
        "errors": [{"code": 6000, "name": "Closed", "msg": "The shop is closed"}],
    }
)
SOLD = (7).to_bytes(4, "little") + (2).to_bytes(4, "little") + b"ok"
BOOK = bytes(SHOP) + (1).to_bytes(4, "little") + (9).to_bytes(8, "little") + b"\5\0"


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def logs(*lines: str, program: Pubkey = SHOP) -> list[str]:
    return [f"Program {program} invoke [1]", *lines, f"Program {program} success"]


# --- events --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "parts",
    [
        [EVENT + SOLD],
        [EVENT, SOLD],
        [EVENT, SOLD[:4], SOLD[4:]],
        [EVENT[:3], EVENT[3:] + SOLD[:1], SOLD[1:]],
        [EVENT, b"", SOLD],
    ],
)
def test_an_event_in_slices_of_any_cut_is_one_event(parts: list[bytes]) -> None:
    line = "Program data: " + " ".join(map(b64, parts))
    (found,) = read_events(PROGRAM, SHOP, logs(line))
    assert (found.name, found.value, found.is_whole) == (
        "Sold",
        {"n": 7, "note": "ok"},
        True,
    )


def test_an_event_of_an_inner_program_is_its_own_and_not_the_callers() -> None:
    line = f"Program data: {b64(EVENT + SOLD)}"
    inner = [f"Program {OTHER} invoke [2]", line, f"Program {OTHER} success"]
    assert list(read_events(PROGRAM, SHOP, logs(*inner))) == []
    assert len(list(read_events(PROGRAM, SHOP, logs(*inner, line)))) == 1


def test_an_event_by_a_call_to_itself_is_read_and_one_to_another_program_is_not() -> (
    None
):
    data = EVENT_CPI_TAG + EVENT + SOLD
    (found,) = read_events(PROGRAM, SHOP, logs(), [(SHOP, data)])
    assert found.value["n"] == 7
    assert list(read_events(PROGRAM, SHOP, logs(), [(OTHER, data)])) == []


def test_events_of_older_and_newer_versions_say_what_is_missing_or_left() -> None:
    older = PROGRAM.read_event(EVENT + SOLD[:4])
    assert older.value == {"n": 7}
    assert any("note" in note for note in older.notes)
    newer = PROGRAM.read_event(EVENT + SOLD + b"\1\2\3")
    assert (newer.value, bytes(newer.rest)) == ({"n": 7, "note": "ok"}, b"\1\2\3")
    assert newer.notes


def test_text_of_an_event_that_is_no_utf8_is_told() -> None:
    found = PROGRAM.read_event(EVENT + SOLD[:8] + b"\xff\xfe")
    assert found.value["n"] == 7
    assert found.notes


def test_a_length_that_is_longer_than_the_data_takes_nothing_but_time() -> None:
    found = PROGRAM.read_event(EVENT + SOLD[:4] + b"\xff\xff\xff\xff" + b"ok")
    assert found.value["n"] == 7
    assert found.notes


# --- instructions --------------------------------------------------------------------------------


@pytest.mark.parametrize("tag", [2, 9, 255])
def test_an_unknown_variant_keeps_its_tag_and_its_bytes(tag: int) -> None:
    found = PROGRAM.read_instruction(CALL + bytes([tag, 1, 2, 3, 4, 5, 6]))
    said = str(found.json())
    assert str(tag) in said
    assert "01020304" in said + bytes(found.rest).hex()
    assert found.notes
    assert not found.is_whole


def test_a_known_variant_with_fewer_bytes_than_it_needs_is_told() -> None:
    found = PROGRAM.read_instruction(CALL + b"\1\2")
    assert found.notes
    assert "n" not in found.value


def test_data_of_no_instruction_are_refused_and_not_guessed() -> None:
    for data in (b"", CALL[:7], bytes(8), b"\xff" * 40):
        with pytest.raises(DecodeError):
            PROGRAM.read_instruction(data)


# --- accounts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", range(len(BOOK)))
def test_an_account_that_ends_early_anywhere_never_shows_a_value_that_is_not_there(
    end: int,
) -> None:
    found = PROGRAM.read_account(ACCOUNT + BOOK[:end])
    assert found.notes
    assert "fee" not in found.value


def test_space_after_an_account_is_left_over_with_a_note() -> None:
    found = PROGRAM.read_account(ACCOUNT + BOOK + bytes(100))
    assert found.value["rows"] == [9]
    assert len(found.rest) == 100
    assert found.notes


def test_an_account_of_megabytes_is_read_whole() -> None:
    many = 200_000
    data = bytes(SHOP) + many.to_bytes(4, "little") + bytes(8 * many) + b"\5\0"
    found = PROGRAM.read_account(ACCOUNT + data)
    assert (len(found.value["rows"]), found.value["fee"], found.notes) == (many, 5, ())


# --- errors --------------------------------------------------------------------------------------


def failed(code: int, program: Pubkey | None, *, cut: bool = False) -> str:
    lines = [f"Program {SHOP} invoke [1]"]
    if program is not None and program != SHOP:
        lines += [f"Program {program} invoke [2]"]
    if cut:
        lines += ["Log truncated"]
    else:
        failing = program or SHOP
        lines += [f"Program {failing} failed: custom program error: {hex(code)}"]
    outcome = Outcome(
        err={"InstructionError": [0, {"Custom": code}]}, logs=tuple(lines)
    )
    found = explain(outcome, programs=[SHOP], own={str(SHOP): PROGRAM.error})
    assert found is not None
    return f"{found.program_id} {found.name} {found}"


def test_an_error_is_named_by_the_program_that_raised_it_alone() -> None:
    assert "Closed" in failed(6000, SHOP)
    assert "Closed" not in failed(6000, OTHER)
    assert str(OTHER) in failed(6000, OTHER)


def test_where_the_log_was_cut_the_error_is_not_given_to_a_program_for_sure() -> None:
    said = failed(6000, OTHER, cut=True)
    assert "Closed" not in said.split(" ")[1]
