"""The attacks that the constraints of an instruction admit, by kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import must_sign
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.kinds.accounts import (
    look_alike,
    missing_signer,
    not_initialized,
    not_writable,
    short_account,
    wrong_owner,
)
from mcpsol_py.attack.kinds.addresses import (
    duplicate,
    fake_program,
    fake_sysvar,
    has_one_of_another,
    other_address,
    other_bump,
    unbound,
    wrong_address,
)
from mcpsol_py.attack.kinds.arithmetic import arithmetic
from mcpsol_py.attack.kinds.data import (
    bad_values,
    too_few_accounts,
    trailing_data,
    truncated_data,
    unknown_discriminator,
)
from mcpsol_py.attack.kinds.lifecycle import dust, re_initialise, resize, revival
from mcpsol_py.attack.kinds.remaining import remaining_accounts
from mcpsol_py.attack.kinds.strangers import (
    bump_argument,
    closed_by_anybody,
    left_out,
    strangers_state,
    two_roles,
)
from mcpsol_py.attack.kinds.token_accounts import wrong_tokens
from mcpsol_py.attack.kinds.variations import Attack, Trial, Variations

__all__ = [
    "KINDS",
    "Attack",
    "Trial",
    "attacks_on",
    "own_call_attacks",
    "unknown_instructions",
]

#: Each kind is a function from variations of a good call to attacks. The report keeps this order.
KINDS: tuple[Callable[[Variations], Iterator[Attack]], ...] = (
    missing_signer,
    not_writable,
    wrong_owner,
    not_initialized,
    look_alike,
    short_account,
    wrong_address,
    other_bump,
    bump_argument,
    other_address,
    fake_program,
    fake_sysvar,
    has_one_of_another,
    unbound,
    strangers_state,
    closed_by_anybody,
    left_out,
    duplicate,
    two_roles,
    wrong_tokens,
    re_initialise,
    dust,
    revival,
    resize,
    arithmetic,
    truncated_data,
    trailing_data,
    bad_values,
    too_few_accounts,
    remaining_accounts,
)


def attacks_on(base: Baseline) -> Iterator[Attack]:
    """Yield every attack that the constraints of an instruction admit, from its good call."""
    calls = Variations(base)
    for kind in KINDS:
        yield from kind(calls)


def own_call_attacks(base: Baseline) -> Iterator[Attack]:
    """Yield the attacks on an instruction that only the program itself can call, because one of its own addresses must
    sign: a stranger calls it without that signature, or with another key's."""
    calls = Variations(base)
    for leaf in filter(_signs_by_seeds, base.present):
        found = chain(missing_signer(calls), wrong_address(calls))
        yield from (attack for attack in found if attack.target == leaf.name)


def _signs_by_seeds(leaf: Leaf) -> bool:
    """Must one of the program's own addresses sign?"""
    pda = leaf.account.pda
    if pda is None or pda.program is not None:
        return False
    return must_sign(leaf)


def unknown_instructions(base: Baseline) -> Iterator[Attack]:
    """Yield calls with data that no instruction of the program begins with."""
    return unknown_discriminator(Variations(base))
