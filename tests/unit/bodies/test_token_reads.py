"""What a condition shows about the kinds of accounts."""

from __future__ import annotations

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.token_reads import learned
from mcpsol_py.bodies.tree import Expression

TOKENS = tree.IsKind("purse", "account", "token_program")
MINT = tree.IsKind("coin", "mint", "token_program")
FLAG = tree.Flag(True)


def known(condition: Expression, outcome: bool) -> dict[str, str]:
    return dict(learned(condition, outcome))


def test_a_condition_shows_a_kind_only_where_it_holds() -> None:
    assert known(TOKENS, True) == {"purse": "account"}
    assert known(TOKENS, False) == {}
    assert known(tree.Not(TOKENS), False) == {"purse": "account"}
    assert known(tree.Not(TOKENS), True) == {}


def test_all_of_and_show_theirs_and_none_of_or() -> None:
    both = tree.Logic("&&", (TOKENS, FLAG, MINT))
    assert known(both, True) == {"purse": "account", "coin": "mint"}
    assert known(both, False) == {}
    either = tree.Logic("||", (TOKENS, MINT))
    assert known(either, True) == {}
    assert known(either, False) == {}
    neither = tree.Logic("||", (tree.Not(TOKENS), tree.Not(MINT)))
    assert known(neither, False) == {"purse": "account", "coin": "mint"}
