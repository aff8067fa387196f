"""One good call of an instruction, and the chain right before it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    Derivation,
    NoBaseline,
    constraints_of,
    find_account,
)
from mcpsol_py.attack.sandbox import Outcome, Scene
from mcpsol_py.errors import McpsolError
from mcpsol_py.program import ProgramInstruction

__all__ = ["Baseline"]


@dataclass
class Baseline:
    """A call that succeeds, and the chain right before it. `addresses` lists the accounts' addresses in order."""

    scene: Scene
    instruction: ProgramInstruction
    args: dict[str, Any]
    addresses: list[Pubkey]
    remaining: list[AccountMeta] = field(default_factory=list)
    before: list[Instruction] = field(default_factory=list)
    #: Indexes of optional accounts that the call leaves out: the program's own id takes their place.
    absent: frozenset[int] = frozenset()
    outcome: Outcome = field(default_factory=lambda: Outcome(None, ()))

    @property
    def leaves(self) -> list[Leaf]:
        """The instruction's accounts in order."""
        return self.instruction.plan.leaves

    @property
    def present(self) -> list[Leaf]:
        """The accounts that this call has."""
        return [leaf for leaf in self.leaves if leaf.index not in self.absent]

    @property
    def data(self) -> bytes:
        """The instruction's data."""
        return bytes(self.instruction.encode(self.args))

    def metas(self, addresses: list[Pubkey] | None = None) -> list[AccountMeta]:
        """Return the named accounts, at *addresses* if given."""
        keys = addresses or self.addresses
        return [self._meta(leaf, keys[leaf.index]) for leaf in self.leaves]

    def _meta(self, leaf: Leaf, key: Pubkey) -> AccountMeta:
        if leaf.index in self.absent:
            return AccountMeta(self.scene.program_id, False, False)
        return AccountMeta(key, leaf.account.signer is True, leaf.account.writable)

    def call(
        self, metas: list[AccountMeta] | None = None, data: bytes | None = None
    ) -> Instruction:
        """Return the call itself, with other accounts or other data if given."""
        if metas is None:
            metas = self.metas()
        if data is None:
            data = self.data
        return Instruction(self.scene.program_id, data, [*metas, *self.remaining])

    def find(self, name: str | None, beside: Leaf) -> Leaf | None:
        """Return the account that a constraint of *beside* names."""
        return find_account(self.instruction, name, beside, self.absent)

    def account(self, leaf: Leaf) -> Account | None:
        """Return a leaf's account as it is before the call."""
        return self.scene.account(self.addresses[leaf.index])

    def fields(self, leaf: Leaf, account: Account | None) -> dict[str, Any] | None:
        """Decode *account* as the state of a leaf. None if it cannot be decoded."""
        state = constraints_of(leaf).state
        if state is None or account is None:
            return None
        try:
            return dict(
                self.scene.program.decode_account(bytes(account.data), state)[1]
            )
        except McpsolError:
            return None

    def derivation(
        self, addresses: list[Pubkey] | None = None, args: dict[str, Any] | None = None
    ) -> Derivation:
        """Return what derives this call's addresses, from other *addresses* or *args* if given.

        Fields of state are read from the chain.
        """
        keys = addresses or self.addresses
        return Derivation(
            self.scene,
            self.instruction,
            args or self.args,
            lambda other: keys[other.index],
            self._field_on_chain,
        )

    def _field_on_chain(self, owner: Leaf, name: str, leaf: Leaf) -> Any:
        found = self.fields(owner, self.account(owner))
        if found is None or name not in found:
            raise NoBaseline(
                f"{leaf.name}: a seed is the field {name!r} of {owner.name}, which holds no state"
            )
        return found[name]
