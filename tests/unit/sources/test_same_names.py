"""Instructions of one name: kept apart by their discriminators, disabled where those are equal."""

from __future__ import annotations

from typing import Any

from mcpsol_py.program import Program, load


def _shop(*instructions: tuple[str, int, str]) -> Program:
    """A program of instructions: name, first byte of the discriminator, type of the argument."""
    items: list[dict[str, Any]] = [
        {
            "name": name,
            "discriminator": [byte] * 8,
            "accounts": [],
            "args": [{"name": "amount", "type": kind}],
        }
        for name, byte, kind in instructions
    ]
    metadata = {"name": "shop", "version": "0.1.0", "spec": "0.1.0"}
    return load({"address": "1" * 32, "metadata": metadata, "instructions": items})


def _found(program: Program) -> list[tuple[str, str]]:
    return [(path, level) for path, level, _ in program.model.findings]


def test_instructions_that_differ_in_their_data_are_both_kept() -> None:
    program = _shop(
        ("buy", 1, "u8"), ("buy_2", 2, "u8"), ("buy", 3, "u16"), ("buy", 4, "u8")
    )
    assert program.instructions == ["buy", "buy_2", "buy_3", "buy_4"]
    assert program.instruction("buy").encode({"amount": 5}) == bytes([1] * 8 + [5])
    assert program.instruction("buy_3").encode({"amount": 5}) == bytes([3] * 8 + [5, 0])
    assert program.decode_instruction(bytes([4] * 8 + [5]))[0] == "buy_4"
    assert _found(program) == [
        ("instructions[2].name", "warning"),
        ("instructions[3].name", "warning"),
    ]


def test_instructions_with_one_discriminator_are_both_disabled() -> None:
    program = _shop(("buy", 1, "u8"), ("sell", 2, "u8"), ("buy", 1, "u16"))
    assert program.unusable().keys() == {"buy", "buy_2"}
    assert "the same name and discriminator" in program.unusable()["buy"]
    assert _found(program) == [("instructions[2].name", "error")]


def test_a_repeated_instruction_is_read_once() -> None:
    program = _shop(("buy", 1, "u8"), ("buy", 1, "u8"))
    assert program.instructions == ["buy"]
    assert program.unusable() == {}
    assert _found(program) == [("instructions[1].name", "warning")]
