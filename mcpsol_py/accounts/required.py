"""Decides which accounts a caller must give, and which ones a call fills in by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcpsol_py.accounts.conventions import (
    ata_of,
    event_part,
    held_token,
    is_payer,
    wallet_may_sign,
)
from mcpsol_py.accounts.known_names import known_address
from mcpsol_py.accounts.leaf import MAX_DEPTH, Leaf
from mcpsol_py.accounts.seeds import names_itself
from mcpsol_py.model.program import (
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    IdentityValue,
    PayerValue,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramIdValue,
    Seed,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.seed_types import is_plain_seed
from mcpsol_py.model.types import Type

if TYPE_CHECKING:
    from mcpsol_py.accounts.plan import Plan

__all__ = ["FillCheck"]


class FillCheck:
    """Checks which accounts are filled in, if all arguments are given.

    *wallet*: the caller has a wallet. *online*: account data can be read. What resolution.py fills
    in, and in which order, must be the same here.
    """

    def __init__(self, plan: Plan, *, wallet: bool, online: bool) -> None:
        self.plan = plan
        self.wallet = wallet
        self.online = online
        #: index -> the answer, or None while it is being worked out
        self._answers: dict[int, bool | None] = {}
        self._depth = 0  # how many accounts are being worked out

    def fills(self, leaf: Leaf) -> bool:
        """Return whether a call finds the address of *leaf* by itself."""
        if leaf.index in self._answers:
            # None: derived from itself in a ring.
            return bool(self._answers[leaf.index])
        if self._depth > MAX_DEPTH:
            return False  # as in a resolution, which refuses it
        self._answers[leaf.index] = None
        self._depth += 1
        self._answers[leaf.index] = answer = self._fills_anew(leaf)
        self._depth -= 1
        return answer

    def _fills_anew(self, leaf: Leaf) -> bool:
        account = leaf.account
        if account.address is not None:
            return True
        if account.pda is not None:
            return self._pda_fills(account.pda, leaf)
        if account.default is not None and self._value_fills(account.default, leaf):
            return True
        return self._token_fills(leaf) or self._fills_by_role(leaf)

    def _token_fills(self, leaf: Leaf) -> bool:
        """Check the associated token account of an owner and a mint that the call has."""
        token = held_token(leaf)
        if token is None or not token.mint or not (token.authority or self.wallet):
            return False
        names = filter(None, (token.mint, token.authority))
        return all(self._account_fills((name,), leaf, read=False) for name in names)

    def _fills_by_role(self, leaf: Leaf) -> bool:
        """Check the signature of the wallet, relations, and what names mean."""
        if leaf.account.signer and self.wallet and wallet_may_sign(self.plan, leaf):
            return True
        if self.online and self._is_in_given_data(leaf):
            return True
        mints = self.plan.token_program_mints.get(leaf.index)
        if mints is not None:
            return self.online and all(
                self._seed_fills(mint.seed, mint.leaf) for mint in mints
            )
        if is_payer(leaf) and self.wallet:
            return True
        if known_address(leaf.account.name) is not None or event_part(self.plan, leaf):
            return True
        return ata_of(self.plan, leaf) is not None

    def _is_in_given_data(self, leaf: Leaf) -> bool:
        """Return whether a related account must be given anyway. Its data has this address."""
        return any(
            self._is_given(one.account, leaf) for one in self.plan.relations(leaf)
        )

    def _is_given(self, path: tuple[str, ...], leaf: Leaf) -> bool:
        """Return whether the account at *path* must be given.

        If it is derived from *leaf*, one of the two must be given, and that is *leaf*.
        """
        other = self._other(path, leaf)
        if other is None:
            return False
        return other.account.optional or not self.fills(other)

    def _other(self, path: tuple[str, ...], leaf: Leaf) -> Leaf | None:
        """Return the account at *path*, or None if its answer depends on that of *leaf*."""
        index = self.plan.locate(path, leaf)
        if index is None or self._answers.get(index, False) is None:
            return None
        return self.plan.leaves[index]

    def _account_fills(self, path: tuple[str, ...], leaf: Leaf, *, read: bool) -> bool:
        """Check an account that *leaf* is derived from. The caller may have to give that one.

        *read*: a field of its data is needed.
        """
        other = self._other(path, leaf)
        if other is None or (read and not self.online):
            return False
        self.fills(other)
        return True

    def _pda_fills(self, pda: Pda, leaf: Leaf) -> bool:
        if not all(self._seed_fills(seed, leaf) for seed in pda.seeds):
            return False
        return pda.program is None or self._value_fills(pda.program, leaf)

    def _seed_fills(self, seed: Seed, leaf: Leaf) -> bool:
        return _SEED_CHECKS[type(seed)](self, seed, leaf)

    # --- values --------------------------------------------------------------------------------

    def _value_fills(self, value: Value, leaf: Leaf) -> bool:
        return _VALUE_CHECKS.get(type(value), FillCheck.never)(self, value, leaf)

    def never(self, value: Value | UnknownSeed, leaf: Leaf) -> bool:
        """Check a value that needs the caller, such as one from a resolver."""
        return False

    def always(
        self, value: ConstValue | ProgramIdValue | ConstSeed | ProgramIdSeed, leaf: Leaf
    ) -> bool:
        """Check a value that is known before the call."""
        return True

    def with_wallet(self, value: IdentityValue | PayerValue, leaf: Leaf) -> bool:
        """Check a value that is the wallet."""
        return self.wallet

    def argument(self, value: ArgValue | ArgSeed, leaf: Leaf) -> bool:
        """Check an argument of the instruction."""
        return self.plan.knows_arg(value.path)

    def account(self, value: AccountValue | AccountSeed, leaf: Leaf) -> bool:
        """Check another account, or a field of its data."""
        return self._account_fills(value.account, leaf, read=bool(value.field))

    def argument_seed(self, seed: ArgSeed, leaf: Leaf) -> bool:
        """Check an argument as a seed: its type must have one form."""
        return self.argument(seed, leaf) and self._is_plain(
            seed, self.plan.arg_type(seed.path)
        )

    def account_seed(self, seed: AccountSeed, leaf: Leaf) -> bool:
        """Check another account as a seed, or a field of its data, whose type must have one form."""
        if self.wallet and seed.field and names_itself(self.plan, seed, leaf):
            return True
        state = self.plan.state_type(seed.account_type or "")
        field = self.plan.walk_type(state, seed.field) if seed.field else None
        return self.account(seed, leaf) and self._is_plain(seed, field)

    def _is_plain(self, seed: ArgSeed | AccountSeed, node: Type | None) -> bool:
        if node is None or seed.type is not None:
            return True
        return is_plain_seed(self.plan.codecs.layouts.resolver, node)

    def derived(self, value: PdaValue, leaf: Leaf) -> bool:
        """Check a derived address."""
        return self._pda_fills(value.pda, leaf)

    def conditional(self, value: ConditionalValue, leaf: Leaf) -> bool:
        """Check both branches: the condition is known in the call only."""
        branches = (value.then, value.otherwise)
        return all(
            branch is not None and self._value_fills(branch, leaf)
            for branch in branches
        )


_SEED_CHECKS: Mapping[type[Any], Callable[[FillCheck, Any, Leaf], bool]] = {
    ConstSeed: FillCheck.always,
    ProgramIdSeed: FillCheck.always,
    ArgSeed: FillCheck.argument_seed,
    AccountSeed: FillCheck.account_seed,
    UnknownSeed: FillCheck.never,
}
#: Kinds of value that can be filled in -> the check.
_VALUE_CHECKS: Mapping[type[Any], Callable[[FillCheck, Any, Leaf], bool]] = {
    ConstValue: FillCheck.always,
    ProgramIdValue: FillCheck.always,
    IdentityValue: FillCheck.with_wallet,
    PayerValue: FillCheck.with_wallet,
    ArgValue: FillCheck.argument,
    AccountValue: FillCheck.account,
    PdaValue: FillCheck.derived,
    ConditionalValue: FillCheck.conditional,
}
