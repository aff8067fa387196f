"""The model of a facade: "this program" becomes the program behind, and nothing else changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.model.check import only_itself
from mcpsol_py.model.facade import BEHIND, facade_model
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountType,
    ConditionalValue,
    Constraints,
    ConstSeed,
    ConstValue,
    Discriminator,
    Instruction,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    ProgramModel,
    RemainingAccounts,
)
from mcpsol_py.model.types import U64, Field
from mcpsol_py.names import forms
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import page_set
from mcpsol_py.solana.base58 import address_bytes

ID = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
OTHER = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"


def one(*accounts: Any, **more: Any) -> Instruction:
    return Instruction("go", Discriminator(b"\1"), accounts=accounts, **more)


def served(ix: Instruction) -> Instruction:
    return facade_model(ProgramModel("p", (ix,)), ID).instructions[0]


def test_the_program_behind_comes_first_and_the_rest_stays() -> None:
    ix = one(
        Account("a", writable=True),
        AccountGroup("g", (Account("b", signer=True),)),
        docs=("Does it.",),
    )
    found = served(ix)
    assert found.accounts[0] == Account(
        BEHIND, address=ID, docs=("The program that this call is passed on to.",)
    )
    assert dataclasses.replace(found, accounts=found.accounts[1:]) == ix


def test_this_program_is_named_wherever_it_is_meant() -> None:
    own = Pda((ConstSeed(b"x"), ProgramIdSeed()))
    named = Pda((ConstSeed(b"x"), ConstSeed(address_bytes(ID))), ConstValue(ID))
    foreign = Pda((ConstSeed(b"x"),), ConstValue(OTHER))
    ix = one(
        Account("derived", pda=own),
        AccountGroup("inner", (Account("deep", default=PdaValue(own)),)),
        Account("foreign", pda=foreign),
        Account(
            "either",
            default=ConditionalValue(
                ProgramIdValue(), None, ProgramIdValue(), PdaValue(own)
            ),
        ),
        Account("state", constraints=Constraints(owner="")),
        arg_values=(("x", ProgramIdValue()),),
    )
    _, derived, inner, other, either, state = (found := served(ix)).accounts
    assert isinstance(derived, Account)
    assert derived.pda == named
    assert isinstance(inner, AccountGroup)
    assert inner.accounts == (Account("deep", default=PdaValue(named)),)
    assert isinstance(other, Account)
    assert other.pda == foreign
    assert isinstance(either, Account)
    assert either.default == ConditionalValue(
        ConstValue(ID), None, ConstValue(ID), PdaValue(named)
    )
    assert isinstance(state, Account)
    assert state.constraints == Constraints(owner=ID)
    assert found.arg_values == (("x", ConstValue(ID)),)
    kinds = (AccountType("S", Discriminator(), U64, pda=own),)
    model = facade_model(
        ProgramModel("p", (ix,), kinds, pdas=(own,), address=OTHER), ID
    )
    assert (model.accounts[0].pda, model.pdas, model.address, model.facade_of) == (
        named,
        (named,),
        None,
        ID,
    )


def test_anchors_event_pair_is_the_program_behinds() -> None:
    _, authority, program = served(
        one(Account("eventAuthority"), Account("program"))
    ).accounts
    assert isinstance(authority, Account)
    assert isinstance(program, Account)
    assert authority.pda == Pda((ConstSeed(b"__event_authority"),), ConstValue(ID))
    assert program.default == ConstValue(ID)
    # alone neither is what its name says
    for lone in (
        (Account("event_authority"),),
        (Account("program"),),
        (Account("program"), Account("x")),
    ):
        assert served(one(*lone)).accounts[1:] == lone


def test_what_only_the_program_behind_signs_for_is_known_still() -> None:
    ix = one(Account("authority", signer=True, pda=Pda((ConstSeed(b"x"),))))
    assert only_itself(ix)
    assert only_itself(served(ix), ID)
    assert only_itself(one(Account("authority", signer=True)), ID) is None


NAMES = st.sampled_from(
    [
        BEHIND,
        "targetProgram",
        "TargetProgram",
        "target_program_2",
        "targetProgram3",
        "x",
    ]
)


@given(st.lists(NAMES), st.lists(NAMES), st.lists(NAMES))
def test_its_name_is_free(
    accounts: list[str], args: list[str], rest: list[str]
) -> None:
    ix = one(
        *map(Account, accounts),
        args=tuple(Field(name, U64) for name in args),
        remaining=tuple(map(RemainingAccounts, rest)),
    )
    name = served(ix).accounts[0].name
    assert name.startswith(BEHIND)
    assert not {f for n in (*accounts, *args, *rest) for f in forms(n)} & set(
        forms(name)
    )


def test_pages_that_were_read_are_written_again_the_same() -> None:
    pages = page_set(
        facade_model(ProgramModel("p", (one(docs=("Does it.",)), one())), ID),
        lossless=False,
    ).json_pages
    assert page_set(lift(pages), lossless=False).json_pages == pages


def test_a_facade_of_a_facade_or_of_no_address_is_refused() -> None:
    model = ProgramModel("p", (one(),))
    with pytest.raises(ValueError, match="is a facade already"):
        facade_model(facade_model(model, ID), ID)
    for wrong in ("", "nonsense", ID[:-1], ID + "1", "0" * 44):
        with pytest.raises(ValueError):
            facade_model(model, wrong)


def nodes(value: Any) -> Iterator[Any]:
    yield value
    if dataclasses.is_dataclass(value):
        for f in dataclasses.fields(value):
            yield from nodes(getattr(value, f.name))
    elif isinstance(value, tuple):
        for item in value:
            yield from nodes(item)


def test_real_programs_keep_nothing_of_this_program(shared_idl: Any) -> None:
    from mcpsol_py.sources.detect import read

    model = read(shared_idl)
    facade = facade_model(model, ID)
    parts = [
        n for ix in facade.instructions for n in nodes((ix.accounts, ix.arg_values))
    ]
    assert not any(isinstance(n, ProgramIdValue | ProgramIdSeed) for n in parts)
    assert all(n.program is not None for n in parts if isinstance(n, Pda))
    if len(model.instructions) <= 8:  # the pages on the chain give the served model
        pages = page_set(facade)
        assert lift(pages.json_pages[:1], pages.stream_pages) == facade
        assert lift(pages.json_pages).facade_of == ID
