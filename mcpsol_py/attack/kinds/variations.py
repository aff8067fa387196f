"""Variations of one good call: other accounts, other data, other accounts on the chain.

A variation changes one thing and keeps the other constraints satisfied where possible: addresses that are derived from
a changed address are derived again, and the accounts move along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import (
    NoBaseline,
    constraints_of,
    has_address,
    is_created,
)
from mcpsol_py.attack.expect import Names
from mcpsol_py.attack.good_call import Baseline
from mcpsol_py.attack.sandbox import Snapshot
from mcpsol_py.errors import McpsolError

__all__ = [
    "Attack",
    "Trial",
    "Variations",
    "copy_at",
    "existing_accounts",
    "state_accounts",
    "with_data",
]


@dataclass(frozen=True, slots=True)
class Trial:
    """The transactions of one attack, in order; the last one is the attack.

    `accounts` are put on the chain first. `after` runs if the attack succeeds and may: it returns a fault that it finds
    on the chain, or "".
    """

    transactions: tuple[tuple[Instruction, ...], ...]
    accounts: Snapshot = field(default_factory=dict)
    after: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack. The program must refuse it by one of the names `expected`.

    `may_pass`: it may also succeed with nothing wrong afterwards, or be refused by any name of the program or of one
    that it calls. `open_is_fine`: it may succeed, and the report then lists the account as bound by nothing.
    """

    kind: str
    target: str
    what: str
    expected: frozenset[str]
    trial: Trial
    may_pass: bool = False
    open_is_fine: bool = False


class Variations:
    """Makes variations of one good call."""

    def __init__(self, base: Baseline) -> None:
        self.base = base
        self.names = Names(base)
        self.scene = base.scene
        self.model = base.scene.program.model

    # --- trials and attacks -------------------------------------------------------------------------------------------

    def trial(
        self,
        metas: list[AccountMeta] | None = None,
        data: bytes | None = None,
        accounts: Snapshot | None = None,
        *,
        first: int = 0,
        together: int = 1,
        between: tuple[Instruction, ...] = (),
        after: Callable[[], str] | None = None,
    ) -> Trial:
        """Make a trial of the call, with other accounts or data if given.

        *accounts* are put on the chain first. *first* good calls run in transactions before it. The attack repeats the
        call *together* times in one transaction, with the instructions *between* them.
        """
        good = (*self.base.before, self.base.call())
        changed = (*self.base.before, self.base.call(metas, data))
        attack = (*changed, *(between + changed) * (together - 1))
        return Trial((*[good] * first, attack), accounts or {}, after)

    def attack(
        self,
        *,
        kind: str,
        target: Leaf | str,
        what: str,
        expected: set[str] | str,
        trial: Trial,
        may_pass: bool = False,
    ) -> Attack:
        """Make an attack on an account, or on "data", "accounts" or an argument."""
        names = frozenset({expected} if isinstance(expected, str) else expected)
        name = target if isinstance(target, str) else target.name
        return Attack(kind, name, what, names, trial, may_pass)

    def open_attack(
        self, kind: str, target: Leaf | str, what: str, trial: Trial
    ) -> Attack:
        """Make an attack that the program may withstand or not, as its author decides."""
        name = target if isinstance(target, str) else target.name
        return Attack(
            kind, name, what, frozenset(), trial, may_pass=True, open_is_fine=True
        )

    def stranger(self, label: str) -> Pubkey:
        """Return a key of the attacker's."""
        return self.scene.key(f"attacker {label}").pubkey()

    # --- other accounts in the call -----------------------------------------------------------------------------------

    def with_meta(self, leaf: Leaf, **changed: bool) -> list[AccountMeta]:
        """Return the accounts with other flags (is_signer, is_writable) for a leaf.

        The same key elsewhere changes too, because it would lend its flags.
        """
        key = self.base.addresses[leaf.index]
        metas = self.base.metas()
        return [
            _flagged(meta, changed) if meta.pubkey == key else meta for meta in metas
        ]

    def same_key(self, leaf: Leaf) -> list[Leaf]:
        """Return all leaves at the same address."""
        key = self.base.addresses[leaf.index]
        return [
            other
            for other in self.base.present
            if self.base.addresses[other.index] == key
        ]

    def at(self, leaf: Leaf, key: Pubkey) -> list[AccountMeta]:
        """Return the accounts with another address in a leaf's place."""
        metas = self.base.metas()
        old = metas[leaf.index]
        metas[leaf.index] = AccountMeta(key, old.is_signer, old.is_writable)
        return metas

    def moved(
        self, leaf: Leaf, key: Pubkey, kept: Leaf | None = None
    ) -> tuple[list[AccountMeta], Snapshot]:
        """Return the call with *leaf* at another address.

        Addresses that are derived from it are derived again, and data that holds an old address holds the new one,
        except the data of *kept*.
        """
        addresses = list(self.base.addresses)
        addresses[leaf.index] = key
        # each round settles at least one address more
        for _ in self.base.present:
            if not self._derive_again(addresses, leaf):
                break
        placed = self.moved_accounts(addresses, self._with_new_bump, kept)
        return self.base.metas(addresses), placed

    def _derive_again(self, addresses: list[Pubkey], moved: Leaf) -> bool:
        """Derive the other addresses from *addresses*, in place. Did one of them change?"""
        before = list(addresses)
        for leaf in self.base.present:
            if (
                leaf.index != moved.index
                and has_address(leaf)
                and self.follows_seeds(leaf)
            ):
                addresses[leaf.index], _ = self.base.derivation(addresses).derive(leaf)
        return addresses != before

    def follows_seeds(self, leaf: Leaf) -> bool:
        """Is a leaf's address the one that its seeds give? One that only the handler checks may be another."""
        try:
            derived, _ = self.base.derivation().derive(leaf)
        except (NoBaseline, McpsolError):
            return False
        return derived == self.base.addresses[leaf.index]

    # --- other accounts on the chain ----------------------------------------------------------------------------------

    def moved_accounts(
        self,
        addresses: list[Pubkey],
        edit: Callable[
            [Leaf, Account, list[Pubkey]], Account
        ] = lambda leaf, account, _: account,
        kept: Leaf | None = None,
    ) -> Snapshot:
        """Return the accounts that differ when the call has these addresses.

        *edit* adjusts each of them. The data of *kept* holds the old addresses.
        """
        renamed = {
            old: new
            for old, new in zip(self.base.addresses, addresses, strict=True)
            if old != new
        }
        placed: Snapshot = {}
        for leaf, account in existing_accounts(self.base):
            if account.executable:
                continue
            data = bytes(account.data)
            moved = (
                account
                if leaf == kept
                else with_data(account, _replaced(data, renamed))
            )
            moved = edit(leaf, moved, addresses)
            target = addresses[leaf.index]
            if target != self.base.addresses[leaf.index] or moved.data != account.data:
                placed[target] = moved
        return placed

    def _with_new_bump(
        self, leaf: Leaf, account: Account, addresses: list[Pubkey]
    ) -> Account:
        """Store the bump of a leaf's new address in its state."""
        field, address = leaf.account.stored_bump, addresses[leaf.index]
        if field is None or address == self.base.addresses[leaf.index]:
            return account
        values = self.base.fields(leaf, account)
        if values is None:
            return account
        try:
            derived, bump = self.base.derivation(addresses).derive(leaf)
        except NoBaseline:
            return account
        if derived != address:
            return account
        return self.with_state(leaf, account, values | {field: bump})

    def with_state(
        self, leaf: Leaf, account: Account, values: dict[str, Any]
    ) -> Account:
        """Return a leaf's account with these fields of state, and its other bytes as they are."""
        state = constraints_of(leaf).state or ""
        made = bytes(self.scene.program.encode_account(state, values))
        return with_data(account, made + bytes(account.data)[len(made) :])

    def holding(self, leaf: Leaf, data: bytes) -> Trial:
        """Make a trial of the call with other data in a leaf's account."""
        account = self.base.account(leaf)
        assert account is not None
        return self.trial(
            accounts={self.base.addresses[leaf.index]: with_data(account, data)}
        )


def existing_accounts(base: Baseline) -> Iterator[tuple[Leaf, Account]]:
    """Yield the accounts that exist before the call and that it does not create."""
    for leaf in base.present:
        account = base.account(leaf)
        if account is not None and not is_created(leaf):
            yield leaf, account


def state_accounts(base: Baseline) -> Iterator[tuple[Leaf, Account]]:
    """Yield the existing accounts that hold state of the program."""
    for leaf, account in existing_accounts(base):
        if constraints_of(leaf).state is not None:
            yield leaf, account


def with_data(account: Account, data: bytes) -> Account:
    """Return *account* with other data."""
    return Account(account.lamports, data, account.owner)


def copy_at(key: Pubkey, account: Account | None) -> Snapshot:
    """Return a copy of *account* at another address; nothing for no account."""
    return {} if account is None else {key: with_data(account, bytes(account.data))}


def _flagged(meta: AccountMeta, flags: dict[str, bool]) -> AccountMeta:
    return AccountMeta(
        meta.pubkey,
        flags.get("is_signer", meta.is_signer),
        flags.get("is_writable", meta.is_writable),
    )


def _replaced(data: bytes, renamed: dict[Pubkey, Pubkey]) -> bytes:
    for old, new in renamed.items():
        data = data.replace(bytes(old), bytes(new))
    return data
