"""Locks: which program they accept, and how they explain that another one is not accepted."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idl2mcp.lock_file import Locked, Place
from idl2mcp.model_diff import model_differences
from mcpsol_py.model import program as p
from mcpsol_py.model import types as t
from mcpsol_py.model.identity import model_hash
from mcpsol_py.schema.comparison.diff import KINDS
from tests.models import anything

ADDRESS = "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z"
SIDE = t.Enum((t.Variant("buy", value=0), t.Variant("sell", value=1)))
SWAP = p.Instruction(
    "swap",
    p.Discriminator(b"\7"),
    (t.Field("side", SIDE), t.Field("slip", t.U64, default=t.Default(1, omitted=True))),
    (
        p.Account("user", signer=True),
        p.Account("treasury", default=p.ConstValue(ADDRESS)),
    ),
)
MODEL = p.ProgramModel(
    "dex",
    (SWAP,),
    accounts=(p.AccountType("State", p.Discriminator(), t.Struct(()), size=100),),
    constants=(p.Constant("FEE", t.U64, "30"),),
)


def locked(model: p.ProgramModel = MODEL, **more: Any) -> Locked:
    return Locked(model, model_hash(model), {}, **more)


def swap(**changes: Any) -> p.ProgramModel:
    return replace(MODEL, instructions=(replace(SWAP, **changes),))


@pytest.mark.parametrize(
    ("other", "kind", "path"),
    [
        (swap(args=SWAP.args[:1]), "argument", "instructions.swap.args.slip"),
        (swap(args=SWAP.args[::-1]), "argument-order", "instructions.swap.args"),
        (
            swap(
                args=(
                    replace(SWAP.args[0], type=t.Enum(SIDE.variants, t.U32)),
                    SWAP.args[1],
                )
            ),
            "argument-type",
            "instructions.swap.args.side.type",
        ),
        (
            swap(
                args=(SWAP.args[0], replace(SWAP.args[1], default=t.Default(9, True)))
            ),
            "default",
            "instructions.swap.args.slip.default",
        ),
        (
            swap(
                accounts=(
                    SWAP.accounts[0],
                    p.Account("treasury", default=p.PayerValue()),
                )
            ),
            "default",
            "instructions.swap.accounts.treasury.default",
        ),
        (
            swap(remaining=(p.RemainingAccounts("extra", signer=True),)),
            "remaining-accounts",
            "instructions.swap.remaining.extra",
        ),
        (
            swap(optional_accounts="omitted"),
            "account-flags",
            "instructions.swap.optional_accounts",
        ),
        (
            swap(also=(p.Discriminator(b"\1", offset=4),)),
            "discriminator",
            "instructions.swap.also",
        ),
        (swap(hints=(("when", "always"),)), "docs", "instructions.swap.hints"),
        (replace(MODEL, instructions=()), "removed-instruction", "instructions.swap"),
        (
            replace(MODEL, constants=(p.Constant("FEE", t.U64, "90"),)),
            "constant",
            "constants.FEE.value",
        ),
        (
            replace(MODEL, accounts=(replace(MODEL.accounts[0], size=9),)),
            "account-type",
            "accounts.State.size",
        ),
        (replace(MODEL, version="2"), "model", "version"),
        (replace(MODEL, address=ADDRESS), "address", "address"),
    ],
)
def test_each_change_has_a_kind_and_a_path(
    other: p.ProgramModel, kind: str, path: str
) -> None:
    assert [(d.kind, d.path) for d in locked().schema_changes(other, None)] == [
        (kind, path)
    ]
    assert kind in KINDS


@given(anything(p.ProgramModel), anything(p.ProgramModel))
def test_a_lock_fits_a_model_exactly_if_their_hashes_are_the_same(
    one: p.ProgramModel, other: p.ProgramModel
) -> None:
    rows = locked(one).schema_changes(other, None)
    assert bool(rows) == (model_hash(one) != model_hash(other))
    assert {row.kind for row in rows} <= set(KINDS)
    assert locked(one).schema_changes(one, None) == []


@given(anything(p.Instruction), anything(p.Instruction), st.booleans())
def test_what_is_ignored_hides_nothing_else(
    one: p.Instruction, other: p.Instruction, named: bool
) -> None:
    """Docs that differ may be ignored. If nothing else is left, the models without docs are the same."""
    other = replace(other, name=one.name)
    models = p.ProgramModel("x", (one,)), p.ProgramModel("x", (other,))
    rows = [row for row in model_differences(*models) if row.kind != "docs"]
    if not rows:
        plain = [
            model_hash(p.ProgramModel("x", (_without_docs(ix),))) for ix in (one, other)
        ]
        assert plain[0] == plain[1]


def _without_docs(ix: p.Instruction) -> p.Instruction:
    args = tuple(replace(arg, docs=()) for arg in ix.args)
    remaining = tuple(replace(each, docs=()) for each in ix.remaining)
    accounts = tuple(map(_account_without_docs, ix.accounts))
    plain = replace(ix, docs=(), hints=(), display=None)
    return replace(plain, args=args, accounts=accounts, remaining=remaining)


def _account_without_docs(item: p.AccountItem) -> p.AccountItem:
    if isinstance(item, p.Account):
        return replace(item, docs=())
    return replace(
        item, docs=(), accounts=tuple(map(_account_without_docs, item.accounts))
    )


def test_words_for_people_are_docs() -> None:
    """Words of every part count as docs, also those that wallets show."""
    accounts = (replace(SWAP.accounts[0], docs=("Who pays.",)), SWAP.accounts[1])
    other = swap(accounts=accounts, display=p.Display("Swap tokens"))
    assert {row.kind for row in locked().schema_changes(other, None)} == {"docs"}


def test_an_instruction_that_is_named_like_docs_is_no_docs() -> None:
    named = replace(SWAP, name="docs")
    rows = model_differences(replace(MODEL, instructions=(SWAP, named)), MODEL)
    assert [row.kind for row in rows] == ["added-instruction"]


def test_a_difference_that_only_the_hash_shows_is_a_difference() -> None:
    one, other = ({"a": 1, "b": 2}, {"b": 2, "a": 1})
    models = [
        swap(args=(t.Field("m", t.Map(t.U8, t.U8, t.U8), default=t.Default(value)),))
        for value in (one, other)
    ]
    assert locked(models[0]).schema_changes(models[1], None)


def test_the_id_and_the_cluster_are_held() -> None:
    place = Place(ADDRESS, 7, "genesis", "00")
    lock = locked(program_id=ADDRESS, deployed=place)
    assert lock.schema_changes(MODEL, ADDRESS) == []
    assert [d.kind for d in lock.schema_changes(MODEL, "1" * 32)] == ["program-id"]
    assert lock.cluster_changes("genesis") == []
    assert [d.kind for d in lock.cluster_changes("another")] == ["cluster"]


def test_every_part_of_a_lock_is_in_its_hash() -> None:
    place = Place(ADDRESS, 7, "genesis", "00")
    locks = [
        locked(),
        locked(program_id=ADDRESS),
        locked(deployed=place),
        locked(deployed=replace(place, slot=8)),
        locked(deployed=replace(place, cluster="another")),
        locked(deployed=replace(place, code="11")),
        locked(deployed=replace(place, program_id="1" * 32)),
        locked(swap(optional_accounts="omitted")),
        replace(locked(), facts={"a": "b"}),
    ]
    assert len({lock.sha256 for lock in locks}) == len(locks)
