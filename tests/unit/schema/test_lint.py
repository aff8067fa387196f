from pathlib import Path

import pytest

from mcpsol_py.errors import UnknownName
from mcpsol_py.model import types as t
from mcpsol_py.model.program import Account, Discriminator, Instruction, ProgramModel
from mcpsol_py.schema.lint import CLIENTS, lint
from tests.models import real


def test_mcpsol_s_own_clients_are_spoken_of_where_no_client_is_named() -> None:
    model = ProgramModel(
        "x",
        (
            Instruction("good", Discriminator(bytes(8)), (t.Field("a", t.U64),)),
            Instruction(
                "owned", Discriminator(b"12345678"), (t.Field("owner", t.PUBKEY),)
            ),
            Instruction("short", Discriminator(b"\1")),
            Instruction(
                "wide",
                Discriminator(b"23456789"),
                (),
                tuple(Account(f"account_{i}" * 3) for i in range(40)),
            ),
        ),
    )
    found = [(f.path, f.message) for f in lint(model) if f.rule == "mcpsol-client"]
    assert [path for path, _ in found] == [
        "instructions[1]",
        "instructions[2]",
        "instructions[3]",
    ]
    assert "'owner' is pubkey" in found[0][1]
    assert "1 bytes" in found[1][1]
    assert "do not fit" in found[2][1]
    assert [f for f in lint(model, "claude") if f.rule == "mcpsol-client"] == []


def test_instructions_that_cannot_be_served_are_reported() -> None:
    model = ProgramModel("x", (Instruction("a", Discriminator(), disabled="not yet"),))
    (finding,) = lint(model, "claude")
    assert (finding.rule, finding.path) == ("not-served", "instructions[0]")
    with pytest.raises(UnknownName):
        lint(model, "netscape")


def test_real_programs_have_no_errors(shared_idl: Path) -> None:
    model = real(shared_idl)
    for client in (None, *CLIENTS):
        assert [f for f in lint(model, client) if f.level == "error"] == []
