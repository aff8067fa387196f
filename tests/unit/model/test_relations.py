"""Relations: which accounts store the address of another one, from Anchor's lists and from `has_one` in specs."""

from __future__ import annotations

import pytest

from mcpsol_py import load
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountItem,
    Constraints,
    Discriminator,
    Init,
    Instruction,
)
from mcpsol_py.model.relations import Relation, relations_of
from mcpsol_py.schema.anchor_idl import to_anchor


def instruction(*accounts: AccountItem) -> Instruction:
    return Instruction("act", Discriminator(b"\x01"), accounts=accounts)


def box(*pairs: tuple[str, str], init: Init | None = None) -> Account:
    return Account(
        "box", constraints=Constraints(state="Box", has_one=pairs, init=init)
    )


def test_both_forms_are_relations() -> None:
    anchor = Account("owner", relations=("vault",))
    found = relations_of(
        instruction(
            box(("owner", "owner"), ("mint", "token_mint")),
            anchor,
            Account("token_mint"),
        )
    )
    stored = {
        ("owner",): (Relation(("box",), "owner", "Box"), Relation(("vault",), "owner"))
    }
    assert found == stored | {("token_mint",): (Relation(("box",), "mint", "Box"),)}


def test_names_are_looked_up_in_the_group_first() -> None:
    group = AccountGroup(
        "inner", (box(("owner", "owner"), ("mint", "mint")), Account("owner"))
    )
    found = relations_of(instruction(group, Account("owner"), Account("mint")))
    assert found == {
        ("inner", "owner"): (Relation(("inner", "box"), "owner", "Box"),),
        ("mint",): (Relation(("inner", "box"), "mint", "Box"),),
    }


def test_a_new_account_stores_nothing_and_an_optional_one_stays_absent() -> None:
    assert (
        relations_of(
            instruction(box(("owner", "owner"), init=Init("payer")), Account("owner"))
        )
        == {}
    )
    assert (
        relations_of(
            instruction(box(("owner", "owner")), Account("owner", optional=True))
        )
        == {}
    )


#: Accounts to give before `has_one` was a relation: 6 and 49.
GIVEN = {"counter": 0, "vault": 3, "x402": 27}


@pytest.mark.parametrize("name", GIVEN)
def test_a_spec_needs_no_more_accounts_than_its_anchor_idl(
    repo: object, name: str
) -> None:
    spec = load(f"{repo}/programs/{name}/spec.py")
    document, _ = to_anchor(spec.model)
    anchor = load(document)
    needed = {ix: spec.instruction(ix).must_give() for ix in anchor.instructions}
    for (
        ix,
        given,
    ) in needed.items():  # a spec's token accounts say whose they are, an IDL's do not
        assert set(given) <= set(anchor.instruction(ix).must_give())
    assert sum(map(len, needed.values())) == GIVEN[name]
