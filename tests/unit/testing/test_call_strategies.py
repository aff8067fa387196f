from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from solders.pubkey import Pubkey

from mcpsol_py import load
from mcpsol_py.errors import MissingAccount, NotUsable, PdaError, UnknownName
from mcpsol_py.program import Program
from mcpsol_py.testing import strategies

REPO = Path(__file__).resolve().parents[3]
VAULT = load(REPO / "programs/vault/spec.py")
AT = Pubkey([7] * 32)


@given(st.data())
def test_arguments_and_accounts_make_a_call(data: st.DataObject) -> None:
    calls = strategies(VAULT)
    name = data.draw(st.sampled_from(sorted(calls)))
    args, accounts = data.draw(calls[name].args), data.draw(calls[name].accounts)
    instruction = VAULT.instruction(name)
    assert instruction.decode(instruction.encode(args)) == args
    assert set(accounts) >= set(instruction.must_give(wallet=False, online=False))


def test_every_usable_instruction_is_there() -> None:
    assert list(strategies(VAULT)) == ["initialize", "deposit", "withdraw"]


def test_an_unknown_instruction_is_refused() -> None:
    with pytest.raises(UnknownName):
        strategies(VAULT)["steal"]


def test_an_instruction_that_cannot_be_used_says_why() -> None:
    program = load(
        {
            "version": "0.1.0",
            "name": "odd",
            "instructions": [
                {"name": "f", "accounts": [], "args": [{"name": "a", "type": "u24"}]}
            ],
        }
    )
    assert list(strategies(program)) == []
    with pytest.raises(NotUsable):
        strategies(program)["f"]


#: Few examples each: there are many files.
FEW = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)


def check(program: Program, data: st.DataObject) -> None:
    calls = strategies(program)
    name = data.draw(st.sampled_from(sorted(calls)))
    args, accounts = data.draw(calls[name].args), data.draw(calls[name].accounts)
    instruction = program.instruction(name)
    if not instruction.model.arg_values:
        read = instruction.decode(instruction.encode(args))
        assert {key: value for key, value in read.items() if key in args} == args
    try:
        built = instruction.build(args, accounts, AT)
    except (MissingAccount, PdaError):
        return  # an address that depends on an account's data, or a seed of no fixed length
    assert built.program_id == AT


def try_calls(path: Path) -> int:
    """Make calls of the program of an IDL, and return how many of its instructions can be called."""
    program = load(path)
    calls = strategies(program)
    if calls:
        FEW(given(st.data())(lambda data: check(program, data)))()
    else:
        assert set(program.unusable()) == set(program.instructions)
    return len(calls)


def test_calls_of_every_known_program_are_made(shared_idl: Path) -> None:
    try_calls(shared_idl)


@pytest.mark.slow
def test_calls_of_every_program_of_the_catalogue_are_made(shared_idls: Path) -> None:
    """Takes about 40 seconds."""
    found = {
        path.name: try_calls(path)
        for path in sorted((shared_idls.parent / "catalog").glob("*.json"))
    }
    assert len(found) > 150
    assert sum(found.values()) > 3000
