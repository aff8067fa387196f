from __future__ import annotations

import base64
import struct

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.client.call_stack import is_cut
from mcpsol_py.client.events import events_of, logged_data, read_events
from mcpsol_py.errors import NotUsable
from mcpsol_py.model import program as model
from mcpsol_py.model.types import PUBKEY, U64, Field, Struct, Unsupported
from mcpsol_py.program import Program
from mcpsol_py.solana.ids import EVENT_CPI_TAG

PROGRAM, OTHER = Pubkey.new_unique(), Pubkey.new_unique()
PAID = model.Event(
    "Paid",
    model.Discriminator(b"paid_ds_"),
    Struct((Field("amount", U64), Field("to", PUBKEY))),
)
ODD = model.Event(
    "Odd",
    model.Discriminator(b"odd_ds__"),
    Struct((Field("odd", Unsupported("f16", "half a float")),)),
)
BANK = Program(model.ProgramModel("bank", (), events=(PAID, ODD), address=str(PROGRAM)))


def logged(*lines: str) -> tuple[str, ...]:
    return (f"Program {PROGRAM} invoke [1]", *lines, f"Program {PROGRAM} success")


def data_line(data: bytes) -> str:
    return f"Program data: {base64.b64encode(data).decode()}"


def paid(amount: int) -> bytes:
    return b"paid_ds_" + struct.pack("<Q", amount) + bytes(OTHER)


def test_data_lines_belong_to_the_program_on_top_of_the_stack() -> None:
    logs = logged(
        f"Program {OTHER} invoke [2]",
        data_line(b"a"),
        f"Program {OTHER} success",
        data_line(b"b"),
        "Program data: ???",
    )
    assert list(logged_data(logs, str(PROGRAM))) == [b"b"]
    assert list(logged_data(logs, str(OTHER))) == [b"a"]


def test_what_was_logged_comes_before_what_was_sent_by_cpi_and_both_have_json_forms() -> (
    None
):
    inner = [
        (PROGRAM, EVENT_CPI_TAG + paid(2)),
        (OTHER, EVENT_CPI_TAG + paid(3)),
        (PROGRAM, paid(4)),
    ]
    logs = logged(data_line(paid(2**60)))
    assert list(events_of(BANK, PROGRAM, logs, inner)) == [
        ("Paid", {"amount": 2**60, "to": OTHER}),
        ("Paid", {"amount": 2, "to": OTHER}),
    ]
    assert list(events_of(BANK, PROGRAM, logs, inner, json=True)) == [
        ("Paid", {"amount": str(2**60), "to": str(OTHER)}),
        ("Paid", {"amount": "2", "to": str(OTHER)}),
    ]


def test_an_event_that_cannot_be_read_takes_no_other_along() -> None:
    """Of a type that the model cannot say; cut short; of nobody. What happened on the chain has happened.

    The one that was cut short has the fields that are there.
    """
    with pytest.raises(NotUsable):
        BANK.decode_event(b"odd_ds__\1\2")
    logs = logged(
        *map(data_line, (b"odd_ds__\1\2", paid(1)[:-1], b"nobody's", b"", paid(5)))
    )
    assert [fields["amount"] for _, fields in events_of(BANK, PROGRAM, logs)] == [1, 5]


def test_slices_are_base64_each_and_joined() -> None:
    for slices in ((b"abc", b"de"), (b"abcd", b"e"), (b"", b"a", b"")):
        line = " ".join(
            ["Program data:", *(base64.b64encode(part).decode() for part in slices)]
        )
        assert list(logged_data(logged(line), str(PROGRAM))) == [b"".join(slices)]


def test_events_of_old_anchor_are_text_lines() -> None:
    texts = [
        base64.b64encode(data).decode() for data in (paid(7), paid(8)[:-1], b"short")
    ]
    logs = logged(*(f"Program log: {text}" for text in (*texts, "Instruction: Pay")))
    assert [fields["amount"] for _, fields in events_of(BANK, PROGRAM, logs)] == [7]


def test_events_have_notes_and_a_cut_log_is_known() -> None:
    logs = logged(
        data_line(paid(1) + b"new"), data_line(b"odd_ds__\1\2"), "Log truncated"
    )
    assert is_cut(logs)
    assert not is_cut(logged("Program log: Log truncated"))
    longer, odd = read_events(BANK, PROGRAM, logs)
    assert (longer.rest, odd.value) == (b"new", None)
    assert longer.notes
    assert odd.notes
