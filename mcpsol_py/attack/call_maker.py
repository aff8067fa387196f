"""Makes one call of an instruction: takes what the scenario gives, and makes the rest up from the spec.

Addresses depend on one another (seeds name other accounts, `has_one` names fields of state), so each address is made
when it is first needed.
"""

from __future__ import annotations

from random import Random
from typing import Any

from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    Derivation,
    NoBaseline,
    constraints_of,
    find_account,
    has_address,
    has_fixed_address,
    is_created,
    is_mint,
    state_struct,
    token_program_of,
)
from mcpsol_py.attack.example_value import ExampleValue
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.sandbox import Call, Scene
from mcpsol_py.errors import SourceError
from mcpsol_py.items import types_by_name
from mcpsol_py.model.program import AccountBumpValue, ConstValue, TokenConstraint
from mcpsol_py.model.types import Pubkey as PubkeyType
from mcpsol_py.model.types import Type
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
)

__all__ = ["CallMaker"]

_FUNDED = 10**10


class CallMaker:
    """Makes one call. `numbers` are the value of each integer argument, and of each integer of state.

    With *chance*, some values are others, and some addresses in state are those of accounts of the call.
    """

    def __init__(
        self,
        scene: Scene,
        name: str,
        given: Call,
        numbers: tuple[int, int],
        chance: Random | None = None,
    ) -> None:
        self.scene = scene
        self.instruction = scene.program.instruction(name)
        self.plan = self.instruction.plan
        self.given = given
        self.number, self.stored = numbers
        self.resolver = scene.program.codecs.layouts.resolver
        self.examples = ExampleValue(scene, self.resolver, chance)
        collected, _ = self.plan.collect(given.accounts)
        self.absent = frozenset(i for i, value in collected.items() if value is None)
        self.known = {
            index: self._given_address(index, value)
            for index, value in collected.items()
            if value is not None
        }
        self.from_scenario = frozenset(self.known)
        self.bumps: dict[int, int] = {}
        self.values: dict[tuple[int, str], Any] = {}
        self._being_derived: set[int] = set()
        self.args = {**given.args, **self._missing_args()}
        self.derivation = Derivation(
            scene,
            self.instruction,
            self.args,
            self.address,
            lambda owner, field, _: self.field(owner, field),
        )

    def _given_address(self, index: int, value: object) -> Pubkey:
        found = address_of(value)
        if found is None:
            path = f"{self.instruction.name}.{self.plan.leaves[index].name}"
            raise SourceError(
                f"expected a Keypair, a Pubkey or base58 text, got {value!r}", path=path
            )
        if isinstance(value, Keypair):
            self.scene.keys[found] = value
        return found

    def _missing_args(self) -> dict[str, Any]:
        name = self.instruction.name
        return {
            arg.name: self.examples.make(arg.type, self.number, f"{name} {arg.name}")
            for arg in self.instruction.model.args
            if arg.name not in self.given.args and arg.default is None
        }

    def make(self) -> Baseline:
        """Make the call and put its accounts on the chain. Raises NoBaseline."""
        leaves = self.present()
        for leaf in leaves:
            self.address(leaf)
        self._set_bump_arguments()
        addresses = [
            self.known.get(leaf.index, self.scene.program_id)
            for leaf in self.plan.leaves
        ]
        # mints first, so that a token account finds its token program
        for leaf in sorted(leaves, key=is_mint, reverse=True):
            self._fill(leaf)
        return Baseline(
            self.scene,
            self.instruction,
            self.args,
            addresses,
            list(self.given.remaining),
            list(self.given.before),
            self.absent,
        )

    def present(self) -> list[Leaf]:
        """Return the accounts that the call has."""
        return [leaf for leaf in self.plan.leaves if leaf.index not in self.absent]

    def _set_bump_arguments(self) -> None:
        for name, value in self.instruction.model.arg_values:
            if isinstance(value, AccountBumpValue) and name not in self.given.args:
                derived = next(
                    leaf for leaf in self.plan.leaves if leaf.path == value.account
                )
                self._make_address(derived)
                self.args[name] = self.bumps.get(derived.index, self.args[name])

    # --- fields of state ----------------------------------------------------------------------------------------------

    def field(self, leaf: Leaf, name: str) -> Any:
        """Return a field of a leaf's state: the one on chain, or the one that `has_one`, seeds and the bump ask for,
        or one that is made up."""
        key = (leaf.index, name)
        if key in self.values:
            return self.values[key]
        stored = self._stored_fields(leaf)
        if stored is None:
            self.values[key] = self._make_field(leaf, name)
        else:
            self.values |= {
                (leaf.index, other): value for other, value in stored.items()
            }
        return self.values[key]

    def _stored_fields(self, leaf: Leaf) -> dict[str, Any] | None:
        """Decode the state of an account that the scenario gave. None for other accounts."""
        state = constraints_of(leaf).state
        if leaf.index not in self.from_scenario or state is None:
            return None
        account = self.scene.account(self.known[leaf.index])
        if account is None or not account.data:
            return None
        return dict(self.scene.program.decode_account(bytes(account.data), state)[1])

    def _make_field(self, leaf: Leaf, name: str) -> Any:
        named = self._has_one_target(leaf, name)
        if named is not None:
            return self.address(named)
        bump = self._bump(leaf, name)
        if bump is not None:
            return bump
        node = self._state_fields(leaf).get(name)
        if node is None:
            raise NoBaseline(f"{leaf.name}: its state has no field {name!r}")
        if isinstance(self.resolver.target(node), PubkeyType):
            named = self._account_in_field(leaf, name)
            if named is not None and self._may_hold(leaf, named):
                return self.address(named)
        return self.examples.make(
            node, self.stored, f"{self.instruction.name} {leaf.name} {name}"
        )

    def _account_in_field(self, leaf: Leaf, name: str) -> Leaf | None:
        """Return the account whose address a field keeps: usually they have the same name."""
        same_name = self._find(name, leaf)
        chance = self.examples.chance
        if same_name is None and chance is not None and self.examples.is_other():
            return chance.choice(self.present())
        return same_name

    def _has_one_target(self, leaf: Leaf, name: str) -> Leaf | None:
        targets = [
            target for field, target in constraints_of(leaf).has_one if field == name
        ]
        found = (self._find(target, leaf) for target in targets)
        return next(filter(None, found), None)

    def _bump(self, leaf: Leaf, name: str) -> int | None:
        if leaf.account.stored_bump != name:
            return None
        self.address(leaf)
        return self.bumps.get(leaf.index)

    def _may_hold(self, leaf: Leaf, other: Leaf) -> bool:
        return other.index != leaf.index and other.index not in self._being_derived

    def _state_fields(self, leaf: Leaf) -> dict[str, Type]:
        """Return the types of the fields of a leaf's state, by name."""
        node = state_struct(self.scene.program, self.instruction, leaf)
        if node is None:
            raise NoBaseline(f"{leaf.name}: its state is not a struct")
        return types_by_name(node.fields)

    # --- addresses ----------------------------------------------------------------------------------------------------

    def _find(self, name: str | None, beside: Leaf) -> Leaf | None:
        return find_account(self.instruction, name, beside, self.absent)

    def address(self, leaf: Leaf) -> Pubkey:
        """Return a leaf's address, and make it if it is not known yet."""
        if leaf.index in self.known:
            return self.known[leaf.index]
        if leaf.index in self._being_derived:
            raise NoBaseline(f"{leaf.name}: its address is derived from itself")
        self._being_derived.add(leaf.index)
        try:
            self.known[leaf.index] = self._make_address(leaf)
        finally:
            self._being_derived.discard(leaf.index)
        return self.known[leaf.index]

    def _make_address(self, leaf: Leaf) -> Pubkey:
        constraints = constraints_of(leaf)
        if leaf.account.address is not None:
            return Pubkey.from_string(leaf.account.address)
        if constraints.one_of:
            return self._one_of(constraints.one_of)
        if has_address(leaf):
            found, self.bumps[leaf.index] = self.derivation.derive(leaf)
            return found
        if constraints.executable:
            return TOKEN_PROGRAM  # the spec accepts any program
        return self.scene.key(f"{self.instruction.name} {leaf.name}").pubkey()

    def _one_of(self, texts: tuple[str, ...]) -> Pubkey:
        allowed = list(map(Pubkey.from_string, texts))
        return (
            self.scene.token_program
            if self.scene.token_program in allowed
            else allowed[0]
        )

    # --- accounts -----------------------------------------------------------------------------------------------------

    def _fill(self, leaf: Leaf) -> None:
        """Put the account that the instruction asks for at a leaf's address, unless there is one already."""
        key, constraints = self.known[leaf.index], constraints_of(leaf)
        if self._stays_as_it_is(leaf):
            return
        if constraints.state is not None:
            self._put_state(leaf, constraints.state)
        elif constraints.token is not None:
            self._put_token(leaf, constraints.token)
        elif self._is_associated_by_hand(leaf):
            self._put_associated(leaf)
        elif constraints.owner is not None:
            self.scene.put(key, b"", self._owner(leaf, constraints.owner), _FUNDED)
        elif leaf.account.pda is None:
            self.scene.put(key, b"", SYSTEM_PROGRAM, _FUNDED)

    def _stays_as_it_is(self, leaf: Leaf) -> bool:
        if leaf.index in self.from_scenario or is_created(leaf):
            return True
        exists = self.scene.account(self.known[leaf.index]) is not None
        return exists or has_fixed_address(leaf) or constraints_of(leaf).executable

    def _put_state(self, leaf: Leaf, state: str) -> None:
        values = {name: self.field(leaf, name) for name in self._state_fields(leaf)}
        data = self.scene.program.encode_account(state, values)
        sizes = {
            account.name: account.size for account in self.scene.program.model.accounts
        }
        size = sizes.get(state) or 0
        self.scene.put(
            self.known[leaf.index], data.ljust(size, b"\0"), self.scene.program_id
        )

    def _owner(self, leaf: Leaf, owner: str) -> Pubkey:
        if not owner:
            return self.scene.program_id
        named = self._find(owner, leaf)
        return Pubkey.from_string(owner) if named is None else self.address(named)

    def _token_program(self, leaf: Leaf) -> Pubkey:
        found = token_program_of(leaf, self.instruction)
        return self.address(found) if isinstance(found, Leaf) else found

    def _put_token(self, leaf: Leaf, token: TokenConstraint) -> None:
        key, program = self.known[leaf.index], self._token_program(leaf)
        named = self._find(token.authority, leaf)
        authority = None if named is None else self.address(named)
        if token.kind == "mint":
            decimals = 6 if token.decimals is None else token.decimals
            self.scene.mint(
                decimals=decimals, authority=authority, token_program=program, at=key
            )
            return
        mint = self._mint_of(leaf, token, program)
        owner = authority or self.scene.wallet(f"{leaf.name} owner").pubkey()
        self.scene.tokens(mint, owner, at=key, token_program=program)

    def _mint_of(self, leaf: Leaf, token: TokenConstraint, program: Pubkey) -> Pubkey:
        """Return the mint of a token account, after making it one. Without a name: the instruction's mint."""
        named = self._find(token.mint, leaf)
        mint = self._some_mint(program) if named is None else self.address(named)
        self._ensure_mint(mint, program)
        return mint

    def _some_mint(self, program: Pubkey) -> Pubkey:
        mint = next(filter(is_mint, self.present()), None)
        return (
            self.scene.mint(token_program=program)
            if mint is None
            else self.address(mint)
        )

    def _ensure_mint(self, key: Pubkey, program: Pubkey) -> None:
        """Put a mint at this address, in place of nothing or of an empty wallet."""
        there = self.scene.account(key)
        if there is None or (there.owner == SYSTEM_PROGRAM and not there.data):
            self.scene.mint(token_program=program, at=key)

    def _is_associated_by_hand(self, leaf: Leaf) -> bool:
        """Do the leaf's seeds spell out an associated token account?"""
        pda = leaf.account.pda
        if (
            pda is None
            or not isinstance(pda.program, ConstValue)
            or len(pda.seeds) != 3
        ):
            return False
        return str(pda.program.value) == str(ASSOCIATED_TOKEN_PROGRAM)

    def _put_associated(self, leaf: Leaf) -> None:
        owner, program, mint = map(Pubkey, self.derivation.seeds(leaf))
        self._ensure_mint(mint, program)
        self.scene.tokens(mint, owner, at=self.known[leaf.index], token_program=program)
