"""Any model at all: accounts resolve, or an error of our own tree says why; nothing else is raised."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account as ChainAccount
from solders.pubkey import Pubkey

from mcpsol_py.accounts.plan import Plan
from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.errors import McpsolError, MissingAccount, PdaError
from mcpsol_py.model.program import (
    Account,
    AccountBumpValue,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    Discriminator,
    Instruction,
    Pda,
    PdaValue,
    ProgramIdValue,
    ProgramModel,
    ResolverValue,
    Value,
)
from tests.models import anything, programs

PROGRAM, WALLET, KEY = Pubkey.new_unique(), Pubkey.new_unique(), Pubkey.new_unique()


#: Instructions of every kind of seed, value and flag, well-formed or not, in a program with any accounts and types.
any_instruction = st.builds(
    lambda instruction, base: replace(base, instructions=(instruction,)),
    anything(Instruction),
    programs(),
)


@given(any_instruction | programs(), st.booleans(), st.binary(max_size=200))
def test_resolution_ends_in_addresses_or_in_our_own_errors(
    model: ProgramModel, online: bool, data: bytes
) -> None:
    codecs = Codecs(model)
    for instruction in model.instructions:
        plan = Plan(codecs, instruction)
        plan.must_give(online=online)
        try:
            resolution = plan.resolve(
                {}, {}, program_id=PROGRAM, wallet=WALLET, online=online
            )
            for _ in range(len(plan.leaves) + 2):
                wanted = resolution.wanted()
                if not wanted:
                    break
                resolution.supply(
                    [
                        (key, ChainAccount(lamports=1, data=data, owner=PROGRAM))
                        for key in wanted
                    ]
                )
            else:
                raise AssertionError("it asks on and on")
            metas = resolution.metas()
        except McpsolError:
            continue
        assert len(metas) <= len(plan.leaves)


ODD = [
    ArgValue(()),
    AccountValue(()),
    AccountValue((), ("x",)),
    PdaValue(Pda((ArgSeed(()),))),
    PdaValue(Pda((AccountSeed(()),))),
    PdaValue(Pda((AccountSeed(("a",), ()),))),
    PdaValue(Pda((ConstSeed(b""),), program=ConstValue("nonsense"))),
    ConditionalValue(ArgValue(()), None, None, None),
    ConditionalValue(AccountValue(()), None, ProgramIdValue(), None),
    AccountBumpValue(()),
    AccountBumpValue(("a",)),
    ConstValue(5),
    ConstValue(None),
    ResolverValue(""),
]


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("optional", [False, True])
def test_values_that_no_reader_writes_but_a_chain_may_serve(
    value: Value, optional: bool
) -> None:
    instruction = Instruction(
        "act",
        Discriminator(b"x"),
        (),
        (Account("a", default=value, optional=optional),),
    )
    plan = Plan(Codecs(ProgramModel("p", (instruction,))), instruction)
    plan.must_give()
    try:
        metas = plan.resolve({}, {}, program_id=PROGRAM, wallet=WALLET).metas()
    except McpsolError:
        return
    assert [m.pubkey for m in metas] == [PROGRAM]


@given(programs())
def test_all_given_by_dotted_name_is_taken_in_order(model: ProgramModel) -> None:
    codecs = Codecs(model)
    for instruction in model.instructions:
        plan = Plan(codecs, instruction)
        if len(plan.by_path) < len(plan.leaves) or len(set(plan.names())) < len(
            plan.names()
        ):
            continue  # two accounts of one name: check() reports it
        keys = [Pubkey.new_unique() for _ in plan.leaves]
        given_accounts = {
            leaf.name: key for leaf, key in zip(plan.leaves, keys, strict=True)
        }
        metas = plan.resolve({}, given_accounts, program_id=PROGRAM).metas()
        assert [m.pubkey for m in metas] == keys


@given(programs())
def test_what_must_be_given_is_enough_where_nothing_else_is_unknown(
    model: ProgramModel,
) -> None:
    """With those given, what is still missing is an argument, data on chain, a resolver, or unreadable seeds."""
    codecs = Codecs(model)
    for instruction in model.instructions:
        plan = Plan(codecs, instruction)
        names = [leaf.name for leaf in plan.must_give(wallet=True, online=False)]
        if len(plan.by_path) < len(plan.leaves) or len(set(names)) < len(names):
            continue
        resolution = plan.resolve(
            {}, dict.fromkeys(names, KEY), program_id=PROGRAM, wallet=WALLET
        )
        reasons = []
        for leaf in plan.leaves:
            try:
                resolution.address(leaf.name)
            except MissingAccount as error:
                reasons.append(error.why)
            except PdaError:
                continue
        assert [why for why in reasons if "neither the IDL nor its name" in why] == []
