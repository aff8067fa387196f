"""A stateful test that is generated from a spec: calls its instructions in any order, as several users, on both sides.

class Machine(ProgramMachine):
    spec = spec_near(__file__)

    @invariant()
    def all_tokens_are_there(self): ...

TestMachine = Machine.TestCase
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.codec.json_values import int_range
from mcpsol_py.errors import ClientError, NotUsable
from mcpsol_py.model.program import Account, Constraints
from mcpsol_py.model.types import Int
from mcpsol_py.program import Program
from mcpsol_py.testing.call_strategies import Strategies, strategies
from mcpsol_py.testing.keys import address
from mcpsol_py.testing.project import compiled_beside
from mcpsol_py.testing.reached import note_skipped
from mcpsol_py.testing.spec_program import read_program
from mcpsol_py.testing.twin import CallOutcome, TwinProgram

__all__ = ["ProgramMachine"]

#: The tokens of each user, in each mint.
_PURSE = 10**6
_NAMES = ("alice", "bob", "carol", "dave", "erin", "frank")


class ProgramMachine(RuleBasedStateMachine):
    """Calls the instructions of a spec that have bodies, and compares what they do in Python and in the SVM.

    Most calls are as they should be: the users sign, addresses follow from the seeds, token accounts have the right
    mint. Some have another user, another account or a missing signature. Set `spec`; `elf` is the compiled program
    beside it if not given. Methods with Hypothesis's `@invariant()` are checked after every call.

    `program` is the `TwinProgram`, `wallets` and `mints` are the users and their mints, and `outcomes` counts how calls
    ended, by the name of the error. `skipped` counts what the simulator cannot run, by the reason; each is warned of.
    """

    spec: ClassVar[type | str | PathLike[str]]
    elf: ClassVar[bytes | str | PathLike[str] | None] = None
    users: ClassVar[int] = 3

    def __init__(self) -> None:
        super().__init__()
        elf = self.elf
        if elf is None and not isinstance(self.spec, type):
            elf = compiled_beside(Path(self.spec))
        self.program = TwinProgram(self._spec_class(), elf)
        self.wallets: list[Keypair] = [
            self.program.wallet(name) for name in _NAMES[: self.users]
        ]
        self.mints: list[Pubkey] = []
        self.token_accounts: list[Pubkey] = []
        self.outcomes: Counter[str] = Counter()
        self._calls = _strategies(self.program.program)
        self.skipped: Counter[str] = Counter()
        self._callable = list(
            filter(self._can_run, sorted(self.program.program.instructions))
        )
        self._needs = {name: self._states_of(name) for name in self._callable}
        self.start()

    @classmethod
    @cache
    def _spec_class(cls) -> type:
        """Return the class of the spec, which is read once for all runs of this machine."""
        return read_program(cls.spec).cls

    def start(self) -> None:
        """Set the scene: two mints, and tokens of both for each user, if the program uses tokens.

        A machine whose program needs more overrides this.
        """
        if any(map(_is_token, self._accounts())):
            self.mints = [
                self.program.mint(name, authority=self.wallets[0]) for name in "ab"
            ]
        for wallet, mint in product(self.wallets, self.mints):
            purse = self.program.token_account(mint, wallet, _PURSE)
            self.token_accounts.append(purse)

    def _can_run(self, instruction: str) -> bool:
        """Can an instruction be called on both sides? If not, say why."""
        try:
            _ = self._calls[instruction]
            self.program.simulator.check_runs(instruction)
        except NotUsable as unusable:
            self._skip(unusable)
            return False
        return True

    def _states_of(self, instruction: str) -> set[str]:
        """Return the kinds of state that must exist before a call."""
        leaves = self.program.program.instruction(instruction).plan.leaves
        rules = [leaf.account.rules for leaf in leaves if not leaf.account.optional]
        return {each.state for each in rules if each.state and each.init is None}

    def _instructions(self) -> list[str]:
        """Return the instructions to draw from: mostly those whose state exists."""
        states = self.program.simulator.ledger.states.values()
        known = {type(state).__name__ for state in states}
        ready = [name for name, needs in self._needs.items() if needs <= known]
        return ready * 9 + self._callable

    def _amounts(self, data: st.DataObject, name: str) -> dict[str, int]:
        """Draw, half the time, a number that a token account can pay in place of one that it mostly cannot."""
        tokens = self.program.simulator.ledger.tokens.values()
        held = sorted({int(account.amount) for account in tokens} - {0})
        found = {}
        for arg in self.program.program.instruction(name).model.args if held else ():
            if not isinstance(arg.type, Int) or arg.default is not None:
                continue
            if data.draw(st.booleans(), label="payable"):
                most = min(data.draw(st.sampled_from(held)), int_range(arg.type)[1])
                found[arg.name] = data.draw(st.integers(1, most), label=arg.name)
        return found

    def _skip(self, unusable: NotUsable) -> None:
        """Count what is left out, and warn of it the first time."""
        what = str(unusable)
        if not self.skipped[what]:
            warnings.warn(
                f"{type(self).__name__} leaves out calls: {what}", stacklevel=2
            )
        self.skipped[what] += 1
        note_skipped(what)

    def called(self, instruction: str, outcome: CallOutcome) -> None:
        """Take note of a call that was made. Override it to keep sums for an invariant."""

    # --- rules

    @rule(data=st.data())
    def call(self, data: st.DataObject) -> None:
        """Call any instruction."""
        name = data.draw(st.sampled_from(self._instructions()), label="instruction")
        args = data.draw(self._calls[name].args, label="arguments")
        args |= self._amounts(data, name)
        accounts = _Choice(self, data, name).accounts()
        signs = data.draw(_mostly(True, False), label="all sign")
        try:
            outcome = self.program.call(
                name, accounts=accounts, args=args, signers=None if signs else ()
            )
        except NotUsable as unusable:
            self._skip(unusable)
            return
        except ClientError:
            return  # nobody can make such a call: an address follows from state that does not exist
        self.outcomes[outcome.error] += 1
        self.called(name, outcome)

    @rule(seconds=st.sampled_from([1, 60, 86_400]))
    def time_passes(self, seconds: int) -> None:
        """Let time pass."""
        now = self.program.simulator.time
        self.program.set_clock(
            unix_timestamp=int(now.unix_timestamp) + seconds,
            slot=int(now.slot) + 2 * seconds,
        )

    def _accounts(self) -> Iterator[Account]:
        for instruction in self.program.program.model.instructions:
            yield from (
                item for item in instruction.accounts if isinstance(item, Account)
            )


@lru_cache(maxsize=64)
def _strategies(program: Program) -> Strategies:
    """Return the strategies of a program. Hypothesis looks into each strategy once, which takes longer than a call."""
    return strategies(program)


def _is_token(account: Account) -> bool:
    return account.rules.token is not None


def _mostly(usual: Any, other: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from([usual] * 9 + [other])


class _Choice:
    """Chooses the accounts of one call. Addresses that follow from others are mostly left out."""

    def __init__(self, machine: ProgramMachine, data: st.DataObject, name: str) -> None:
        self.machine, self.data = machine, data
        self.program = machine.program
        self.leaves = self.program.program.instruction(name).plan.leaves
        users = [wallet.pubkey() for wallet in machine.wallets]
        self.users = users
        self.actor = data.draw(st.sampled_from(users), label="user")
        self.chosen: dict[str, Pubkey] = {}

    def accounts(self) -> dict[str, Pubkey]:
        """Return the chosen accounts by name.

        State comes first, since it names other accounts. Token accounts come last, since
        they depend on mints and owners.
        """
        for leaf in sorted(self.leaves, key=_rank):
            if leaf.account.address is None and not _rules(leaf).one_of:
                self._choose(leaf)
        return self.chosen

    def _choose(self, leaf: Leaf) -> None:
        among = [] if leaf.name in self.chosen else self._among(leaf)
        if among:
            drawn = self.data.draw(st.sampled_from(among), label=leaf.name)
            self.chosen[leaf.name] = drawn
            self._follow(leaf, drawn)

    def _follow(self, leaf: Leaf, at: Pubkey) -> None:
        """Choose, mostly, the accounts that the state at an address names by `has_one`."""
        state = self._known_states().get(at)
        for field, name in _rules(leaf).has_one if state is not None else ():
            if self.data.draw(_mostly(True, False), label=f"its {name}"):
                self.chosen.setdefault(name, address(getattr(state, field)))

    def _known_states(self) -> dict[Pubkey, object]:
        states = self.program.simulator.ledger.states
        return {address(at): state for at, state in states.items()}

    def _among(self, leaf: Leaf) -> list[Pubkey]:
        """Return the addresses from which a leaf's is drawn; [] to leave it out."""
        rules = _rules(leaf)
        if rules.state is not None:
            return self._states(leaf, rules.state)
        if rules.token_kind == "mint":
            return [] if leaf.account.pda is not None else self.machine.mints
        if _is_token_account(leaf):
            return self._token_accounts(leaf)
        if leaf.account.pda is not None:
            return []
        return [self.actor] * 12 + self.users

    def _states(self, leaf: Leaf, kind: str) -> list[Pubkey]:
        """Addresses of this kind of state.

        A derived one is mostly left to follow from its seeds, unless it names the accounts that go with it.
        """
        states = self._known_states().items()
        known = [at for at, state in states if type(state).__name__ == kind]
        if leaf.account.pda is None or _seeds_of_itself(leaf):
            return known or self.users
        names_others = bool(_rules(leaf).has_one)
        is_known = _mostly(names_others, not names_others)
        return known if known and self.data.draw(is_known, label="known") else []

    def _token_accounts(self, leaf: Leaf) -> list[Pubkey]:
        if leaf.account.pda is not None:
            return []
        token, ledger = _rules(leaf).token, self.program.simulator.ledger
        assert token is not None
        known = {address(at): held for at, held in ledger.tokens.items()}
        wanted = (
            self.chosen.get(token.mint or ""),
            self.chosen.get(token.authority or ""),
        )
        fitting = [
            at
            for at, held in known.items()
            if wanted[0] in (None, address(held.mint))
            and wanted[1] in (None, address(held.owner))
        ]
        return fitting * 8 + list(known)


def _rules(leaf: Leaf) -> Constraints:
    return leaf.account.rules


def _is_token_account(leaf: Leaf) -> bool:
    return _rules(leaf).token_kind in ("account", "associated")


def _rank(leaf: Leaf) -> int:
    """The place of an account in the order of choice: state, others, token accounts."""
    return 0 if _rules(leaf).state is not None else 1 + _is_token_account(leaf)


def _seeds_of_itself(leaf: Leaf) -> bool:
    """Is a leaf's address derived from its own state, so that only the caller can know it?"""
    pda = leaf.account.pda
    assert pda is not None
    return any(getattr(seed, "account", ())[:1] == leaf.path for seed in pda.seeds)
