"""What a simulation showed is told, also where the schema does not say how to read all of it."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Outcome
from mcpsol_py.model import program as model
from mcpsol_py.model.types import U64, Field, Struct, Type, Unsupported
from mcpsol_py.program import Program

PROGRAM = Pubkey.new_unique()
ODD = Unsupported("f16", "half a float")
EVENT = model.Event(
    "Odd", model.Discriminator(b"odd_ds__"), Struct((Field("odd", ODD),))
)


async def looked(returns: Type | None, data: bytes) -> dict[str, Any]:
    """The simulation of a call that returns *data*, and logs an event that cannot be decoded."""
    look = model.Instruction(
        "look", model.Discriminator(b"\2"), (), (), returns=returns
    )
    program = Program(
        model.ProgramModel("bank", (look,), events=(EVENT,), address=str(PROGRAM))
    )
    logs = (
        f"Program {PROGRAM} invoke [1]",
        f"Program data: {base64.b64encode(b'odd_ds__1').decode()}",
    )
    chain = ScriptedTransport(
        simulations=[Outcome(logs=logs, return_data=(PROGRAM, data))], identity=PROGRAM
    )
    reply = await Bridge(
        [ServedProgram(program, PROGRAM, chain, "a test's", "local")]
    ).call("look", {})
    assert not reply.is_error, reply.text
    assert reply.structured is not None
    found: dict[str, Any] = reply.structured["simulation"]
    return found


@pytest.mark.parametrize(
    ("returns", "data", "value", "note"),
    [
        (U64, bytes([5, *bytes(7)]), "5", None),
        (None, b"\5", "0x05", "does not say its type"),
        (ODD, b"\5", "0x05", "half a float"),
        (U64, b"\5" * 9, "0x" + "05" * 9, "left over"),
    ],
)
async def test_what_cannot_be_read_is_shown_as_bytes(
    returns: Type | None, data: bytes, value: str, note: str | None
) -> None:
    found = await looked(returns, data)
    assert (found["succeeded"], found["returns"]) == (True, value)
    assert "events" not in found
    if note is None:
        assert "returns_note" not in found
    else:
        assert note in found["returns_note"]
