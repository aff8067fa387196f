"""Hypothesis strategies for the calls of any program: the arguments and the accounts of each of its instructions.

calls = strategies(load("idl.json"))

@given(args=calls["deposit"].args, accounts=calls["deposit"].accounts)
def test_deposits_are_read_as_they_were_written(args, accounts): ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.errors import McpsolError
from mcpsol_py.items import names_of
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.testing.keys import key_pair
from mcpsol_py.testing.values import Values

__all__ = ["CallStrategies", "Strategies", "strategies"]


@dataclass(frozen=True, slots=True)
class CallStrategies:
    """The strategies of one instruction.

    `args`: its arguments by name. `accounts`: by dotted name, the accounts that a call without a connection must give;
    an optional one may be None. The other accounts follow from them.
    """

    args: SearchStrategy[dict[str, Any]]
    accounts: SearchStrategy[dict[str, Pubkey | None]]


def strategies(program: Program, *, users: Sequence[Pubkey] = ()) -> Strategies:
    """Return the strategies of a program from any source. *users*: addresses that accounts often have."""
    return Strategies(program, users)


class Strategies(Mapping[str, CallStrategies]):
    """The strategies of a program's instructions, by name. Instructions that cannot be used are left out."""

    def __init__(self, program: Program, users: Sequence[Pubkey] = ()) -> None:
        self.program = program
        self._values = Values(program.codecs)
        self._users = list(users) or [key_pair(f"user {n}").pubkey() for n in range(3)]
        unusable = program.unusable()
        self._names = [name for name in program.instructions if name not in unusable]
        self._made: dict[str, CallStrategies] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, name: str) -> CallStrategies:
        """Return the strategies of an instruction. Raises UnknownName, and NotUsable for one that cannot be used."""
        if name not in self._made:
            instruction = self.program.instruction(name)
            _ = instruction.codec  # raises NotUsable
            self._made[name] = CallStrategies(
                self._args(instruction), self._accounts(instruction)
            )
        return self._made[name]

    def _args(self, instruction: ProgramInstruction) -> SearchStrategy[dict[str, Any]]:
        filled = {name for name, _ in instruction.model.arg_values}
        given = [
            arg
            for arg in instruction.model.args
            if arg.default is None and arg.name not in filled
        ]
        drawn = st.fixed_dictionaries(
            {arg.name: self._values.of(arg.type) for arg in given}
        )
        return drawn.filter(lambda args: bool(filled) or _is_encoded(instruction, args))

    def _accounts(
        self, instruction: ProgramInstruction
    ) -> SearchStrategy[dict[str, Pubkey | None]]:
        needed = set(names_of(instruction.plan.must_give(wallet=False, online=False)))
        leaves = [
            leaf
            for leaf in instruction.plan.leaves
            if _is_open(leaf) or leaf.name in needed
        ]
        return st.fixed_dictionaries(
            {leaf.name: self._account(leaf) for leaf in leaves}
        )

    def _account(self, leaf: Leaf) -> SearchStrategy[Pubkey | None]:
        known = st.sampled_from(self._users)
        found = known if leaf.account.signer is True else st.one_of(known, _ADDRESSES)
        return st.one_of(st.none(), found) if leaf.account.optional else found


_ADDRESSES = st.binary(min_size=32, max_size=32).map(Pubkey)


def _is_open(leaf: Leaf) -> bool:
    """Is this an optional account whose address only the caller knows?"""
    account = leaf.account
    return account.optional and account.pda is None and account.address is None


def _is_encoded(instruction: ProgramInstruction, args: dict[str, Any]) -> bool:
    """Do these arguments become data? A program's types may have rules between them."""
    try:
        instruction.encode(args)
    except McpsolError:
        return False
    return True
