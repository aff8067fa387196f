"""Two descriptions of one program agree if what both say is the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.errors import McpsolError
from mcpsol_py.model.program import (
    Account,
    ConstSeed,
    Discriminator,
    Instruction,
    Pda,
    ProgramModel,
)
from mcpsol_py.model.types import U8, U64, Default, Field, Struct, vec
from mcpsol_py.program import Program
from mcpsol_py.schema.comparison.agreement import contradictions
from mcpsol_py.schema.pages import write_pages

VAULT = Account("vault", writable=True, pda=Pda((ConstSeed(b"vault"),)))
DEPOSIT = Instruction(
    "deposit",
    Discriminator(b"\1"),
    (Field("amount", U64),),
    (Account("owner", signer=True), VAULT),
    docs=("Puts lamports in.",),
)
CLOSE = Instruction("close", Discriminator(b"\2"))
MODEL = ProgramModel("bank", instructions=(DEPOSIT, CLOSE))


def with_deposit(changed: Instruction) -> ProgramModel:
    return replace(MODEL, instructions=(changed, CLOSE))


def first_account(**changes: Any) -> Instruction:
    owner, vault = DEPOSIT.accounts
    assert isinstance(owner, Account)
    return replace(DEPOSIT, accounts=(replace(owner, **changes), vault))


SAME: dict[str, ProgramModel] = {
    "another order of the instructions": replace(MODEL, instructions=(CLOSE, DEPOSIT)),
    "a name in another case": with_deposit(replace(DEPOSIT, name="Deposit")),
    "no docs": with_deposit(replace(DEPOSIT, docs=())),
    "no seeds": with_deposit(
        replace(DEPOSIT, accounts=(DEPOSIT.accounts[0], replace(VAULT, pda=None)))
    ),
    "a helper type that has a name": with_deposit(
        replace(DEPOSIT, args=(Field("amount", U64, ("How much.",)),))
    ),
    "another version": replace(MODEL, version="9"),
}
OTHER: dict[str, tuple[ProgramModel, list[str]]] = {
    "another type": (
        with_deposit(replace(DEPOSIT, args=(Field("amount", U8),))),
        ["deposit.args.amount"],
    ),
    "another list of arguments": (
        with_deposit(replace(DEPOSIT, args=(*DEPOSIT.args, Field("more", U8)))),
        ["deposit.args"],
    ),
    "a signer that does not sign": (
        with_deposit(first_account(signer=False)),
        ["deposit.accounts.owner.signer"],
    ),
    "an account that is written": (
        with_deposit(first_account(writable=True)),
        ["deposit.accounts.owner.writable"],
    ),
    "other seeds": (
        with_deposit(
            replace(
                DEPOSIT,
                accounts=(
                    DEPOSIT.accounts[0],
                    replace(VAULT, pda=Pda((ConstSeed(b"safe"),))),
                ),
            )
        ),
        ["deposit.accounts.vault.seeds"],
    ),
    "another order of accounts": (
        with_deposit(replace(DEPOSIT, accounts=DEPOSIT.accounts[::-1])),
        ["deposit.accounts"],
    ),
    "another discriminator": (
        with_deposit(replace(DEPOSIT, discriminator=Discriminator(b"\3"))),
        ["deposit", "deposit"],
    ),
    "an instruction less": (replace(MODEL, instructions=(DEPOSIT,)), ["close"]),
}


@pytest.mark.parametrize("other", SAME.values(), ids=list(SAME))
def test_descriptions_that_say_the_same_agree(other: ProgramModel) -> None:
    assert contradictions(MODEL, other) == []
    assert contradictions(other, MODEL) == []


@pytest.mark.parametrize(("other", "paths"), OTHER.values(), ids=list(OTHER))
def test_what_both_say_differently_is_a_contradiction(
    other: ProgramModel, paths: list[str]
) -> None:
    assert contradictions(MODEL, other) == paths
    assert contradictions(other, MODEL) == paths


def test_a_list_of_tools_may_leave_out_instructions_but_has_none_of_its_own() -> None:
    fewer = replace(MODEL, instructions=(DEPOSIT,))
    assert contradictions(fewer, MODEL, lists_of_tools=(True, False)) == []
    assert contradictions(MODEL, fewer, lists_of_tools=(True, False)) == ["close"]
    assert contradictions(MODEL, fewer, lists_of_tools=(False, True)) == []


def test_a_list_of_tools_does_not_say_which_accounts_are_optional() -> None:
    optional = with_deposit(first_account(optional=True))
    assert contradictions(MODEL, optional) == ["deposit.accounts.owner.optional"]
    assert contradictions(MODEL, optional, lists_of_tools=(True, False)) == []


def test_arguments_of_an_instruction_that_cannot_be_served_are_not_known() -> None:
    unknown = replace(DEPOSIT, args=(), disabled="its parameters do not fit on a page")
    assert contradictions(MODEL, with_deposit(unknown)) == []


def test_a_constant_argument_is_part_of_the_discriminator() -> None:
    kind = Field("kind", U8, default=Default(1, omitted=True))
    spelt_out = with_deposit(replace(DEPOSIT, args=(kind, *DEPOSIT.args)))
    assert contradictions(MODEL, spelt_out) == []


def test_instructions_that_share_a_discriminator_are_told_apart_by_name() -> None:
    twin = replace(DEPOSIT, name="withdraw", args=(Field("rate", U8),))
    model = replace(MODEL, instructions=(DEPOSIT, twin))
    swapped = replace(MODEL, instructions=(twin, DEPOSIT))
    assert contradictions(model, swapped) == []


def test_a_nested_type_that_differs_is_found() -> None:
    def taking(item: Struct) -> ProgramModel:
        return with_deposit(replace(DEPOSIT, args=(Field("rows", vec(item)),)))

    one, other = Struct((Field("x", U8),)), Struct((Field("x", U64),))
    assert contradictions(taking(one), taking(other)) == ["deposit.args.rows"]


@pytest.mark.parametrize("write", [write_pages, lambda model: write_pages(model, form="verbose")])  # fmt: skip
def test_pages_of_real_programs_agree_with_their_idls(
    write: Callable[[ProgramModel], list[bytes]], shared_idls: Path
) -> None:
    """And no longer if an argument of one has another type."""
    compared = 0
    for path in sorted((shared_idls.parent / "catalog").glob("*.json"))[::6]:
        try:
            model = Program.from_idl(json.loads(path.read_text("utf-8"))).model
        except McpsolError:
            continue
        pages = Program.from_pages(write(model)).model
        assert contradictions(pages, model, lists_of_tools=(True, False)) == []
        compared += 1
    assert compared > 20
