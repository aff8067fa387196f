"""A program at another address: all that the source says of its own address is of the new one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcpsol_py import load
from mcpsol_py.model.serial import model_to_json
from mcpsol_py.sources.relocate import at_address

REPO = Path(__file__).resolve().parents[3]
NEW = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"


def test_the_program_itself_is_elsewhere() -> None:
    model = load(REPO / "programs/x402/spec.py").model
    assert model.address is not None
    moved = at_address(model, NEW)
    before, after = (json.dumps(model_to_json(each)) for each in (model, moved))
    # Its own, and an account of two instructions.
    assert before.count(model.address) == 3
    assert after == before.replace(model.address, NEW)


def test_it_moves_back() -> None:
    model = load(REPO / "programs/x402/spec.py").model
    assert model.address is not None
    assert at_address(at_address(model, NEW), model.address) == model


def test_an_address_that_is_none_is_refused() -> None:
    model = load(REPO / "programs/counter/spec.py").model
    with pytest.raises(ValueError):
        at_address(model, "no address")
