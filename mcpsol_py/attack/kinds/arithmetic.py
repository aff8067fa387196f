"""Attacks with the largest and smallest numbers, in arguments, in state and in token accounts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from solders.account import Account
from solders.instruction import AccountMeta
from solders.pubkey import Pubkey

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.attack.derivation import NoBaseline, has_address, state_struct
from mcpsol_py.attack.kinds.variations import (
    Attack,
    Trial,
    Variations,
    state_accounts,
    with_data,
)
from mcpsol_py.attack.sandbox import Snapshot
from mcpsol_py.errors import McpsolError
from mcpsol_py.model.types import Amount, DateTime, Int, Type
from mcpsol_py.solana import tokens
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM, TOKEN_PROGRAM

__all__ = ["arithmetic"]

_U64_MAX = 2**64 - 1
#: The argument's value when a field of state is at its edge.
_STEP = 7


@dataclass(frozen=True, slots=True)
class _Varied:
    """The good call with another value of one argument. `placed`: accounts that move with it."""

    calls: Variations
    metas: list[AccountMeta]
    placed: Snapshot
    data: bytes

    def account(self, key: Pubkey) -> Account | None:
        """Return an account as it is before this call."""
        return self.placed.get(key) or self.calls.scene.account(key)

    def trial(self, placed: Snapshot, after: Callable[[], str]) -> Trial:
        """Make a trial of this call, with other accounts on the chain."""
        return self.calls.trial(
            self.metas, self.data, self.placed | placed, after=after
        )

    def conserving(self, placed: Snapshot) -> Trial:
        """Make a trial after which each mint must have as many tokens as before."""
        return self.trial(
            placed, _is_conserved(self.calls, self.metas, self.placed | placed)
        )


def arithmetic(calls: Variations) -> Iterator[Attack]:
    """Each integer argument is at its edges, also against the edges of state and token accounts.

    The call succeeds or is refused by a name. No number wraps around, and no token appears or vanishes.
    """
    for arg in calls.base.instruction.model.args:
        number = _integer(calls, arg.type)
        if number is not None:
            yield from _edges(calls, arg.name, number)
            yield from _wraps(calls, arg.name)


def _edges(calls: Variations, name: str, number: Int) -> Iterator[Attack]:
    low, top = _range(number)
    for value in dict.fromkeys((0, 1, top, low, -1) if number.signed else (0, 1, top)):
        varied = _with_argument(calls, name, value)
        if varied is None:
            continue
        shown = {low: "the smallest", 0: "0", top: "the largest"}.get(value, str(value))
        trial = varied.conserving({})
        yield calls.attack(
            kind="arithmetic",
            target=name,
            what=f"is {shown}",
            expected=set(),
            trial=trial,
            may_pass=True,
        )
        if value == top:
            yield from _largest_of_all_tokens(calls, name, varied)


def _largest_of_all_tokens(
    calls: Variations, name: str, varied: _Varied
) -> Iterator[Attack]:
    for holder, balances in _all_in_one(varied):
        trial = varied.conserving(balances)
        yield calls.attack(
            kind="arithmetic",
            target=name,
            what=f"is the largest, and {holder} holds all tokens that there can be",
            expected=set(),
            trial=trial,
            may_pass=True,
        )


def _integer(calls: Variations, node: Type) -> Int | None:
    target = calls.scene.program.codecs.layouts.resolver.target(node)
    if isinstance(target, (Amount, DateTime)):
        target = target.number
    return target if isinstance(target, Int) else None


def _range(number: Int) -> tuple[int, int]:
    """Return the smallest and the largest value of a type."""
    if number.signed:
        return -(2 ** (number.bits - 1)), 2 ** (number.bits - 1) - 1
    return 0, 2**number.bits - 1


def _with_argument(calls: Variations, name: str, value: int) -> _Varied | None:
    """Return the call with another argument, and the accounts moved whose seeds have it. None if it cannot be made."""
    base = calls.base
    args = base.args | {name: value}
    try:
        data = bytes(base.instruction.encode(args))
        addresses = _addresses_with(calls, name, args)
    except (NoBaseline, McpsolError):
        return None
    return _Varied(calls, base.metas(addresses), calls.moved_accounts(addresses), data)


def _addresses_with(
    calls: Variations, name: str, args: dict[str, object]
) -> list[Pubkey]:
    """Derive the addresses whose seeds have the argument, then those that follow from them."""
    addresses = list(calls.base.addresses)
    derived = list(filter(has_address, calls.base.present))
    direct = [leaf for leaf in derived if calls.names.seeds_use_argument(leaf, name)]
    for leaf in direct:
        addresses[leaf.index], _ = calls.base.derivation(addresses, args).derive(leaf)
    for leaf in derived:
        if leaf not in direct and calls.follows_seeds(leaf):
            addresses[leaf.index], _ = calls.base.derivation(addresses).derive(leaf)
    return addresses


# --- tokens -----------------------------------------------------------------------------------------------------------


def _all_in_one(varied: _Varied) -> Iterator[tuple[str, Snapshot]]:
    """For each token account of the call: it holds 2**64 - 1 base units and the others none, as the mints' supplies
    say. If all of them held so much, there would be more tokens than a mint can have."""
    holders: dict[str, tuple[Pubkey, Account]] = {}
    supplies: Snapshot = {}
    for leaf in varied.calls.base.present:
        key = varied.metas[leaf.index].pubkey
        account = varied.account(key)
        if account is None:
            continue
        if _is_token_account(account):
            holders[leaf.name] = (key, account)
        elif _is_mint(account):
            supplies[key] = with_data(
                account, tokens.patch_mint(account.data, supply=_U64_MAX)
            )
    for name in holders:
        yield name, supplies | _balances(holders, name)


def _balances(holders: dict[str, tuple[Pubkey, Account]], rich: str) -> Snapshot:
    """Give all tokens to one holder."""
    placed: Snapshot = {}
    for name, (key, account) in holders.items():
        amount = _U64_MAX if name == rich else 0
        data = tokens.patch_token_account(account.data, amount=amount)
        placed[key] = with_data(account, data)
    return placed


def _is_token_account(account: Account) -> bool:
    return (
        _is_of_token_program(account) and len(account.data) >= tokens.TOKEN_ACCOUNT_SIZE
    )


def _is_mint(account: Account) -> bool:
    return _is_of_token_program(account) and len(account.data) == tokens.MINT_SIZE


def _is_of_token_program(account: Account) -> bool:
    return account.owner in (TOKEN_PROGRAM, TOKEN_2022_PROGRAM)


def _is_conserved(
    calls: Variations, metas: list[AccountMeta], placed: Snapshot
) -> Callable[[], str]:
    """Check that each mint's tokens change by as much as its supply."""
    keys = list(dict.fromkeys(meta.pubkey for meta in metas))
    before = _unbacked(
        {key: placed.get(key) or calls.scene.account(key) for key in keys}
    )

    def check() -> str:
        after = _unbacked({key: calls.scene.account(key) for key in keys})
        return "" if after == before else "tokens appeared or vanished"

    return check


def _unbacked(accounts: Snapshot) -> dict[Pubkey, int]:
    """Return the tokens of each mint in these accounts, less its supply. Mints with a sum of 0 are left out."""
    total: defaultdict[Pubkey, int] = defaultdict(int)
    for key, account in accounts.items():
        if account is None:
            continue
        if _is_token_account(account):
            held = tokens.TokenAccount.from_bytes(bytes(account.data))
            total[held.mint] += held.amount
        elif _is_mint(account):
            total[key] -= tokens.Mint.from_bytes(bytes(account.data)).supply
    return {mint: amount for mint, amount in total.items() if amount}


# --- state ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Edge:
    """A field of state at its largest or smallest. `wrapped`: its value if a sum or a difference wraps around."""

    field: str
    name: str
    start: int
    wrapped: int


def _wraps(calls: Variations, name: str) -> Iterator[Attack]:
    """The argument is 7, and an integer of state is at its largest or smallest. It must not wrap around."""
    varied = _with_argument(calls, name, _STEP)
    if varied is None:
        return
    for leaf, account in state_accounts(calls.base):
        values = calls.base.fields(leaf, account)
        if values is None or not leaf.account.writable:
            continue
        key = varied.metas[leaf.index].pubkey
        for edge in _state_edges(calls, leaf):
            forged = calls.with_state(leaf, account, values | {edge.field: edge.start})
            trial = varied.trial(
                {key: forged}, _has_not_wrapped(calls, key, leaf, edge)
            )
            yield calls.attack(
                kind="arithmetic",
                target=name,
                what=f"is {_STEP} when {leaf.name}.{edge.field} has its {edge.name} value",
                expected=set(),
                trial=trial,
                may_pass=True,
            )


def _state_edges(calls: Variations, leaf: Leaf) -> Iterator[_Edge]:
    node = state_struct(calls.scene.program, calls.base.instruction, leaf)
    if node is None:
        return
    for field in node.fields:
        number = _integer(calls, field.type)
        if (
            number is not None
            and number.bits >= 16
            and field.name != leaf.account.stored_bump
        ):
            low, top = _range(number)
            yield _Edge(field.name, "largest", top, low + _STEP - 1)
            yield _Edge(field.name, "smallest", low, top - _STEP + 1)


def _has_not_wrapped(
    calls: Variations, key: Pubkey, leaf: Leaf, edge: _Edge
) -> Callable[[], str]:
    def check() -> str:
        found = calls.base.fields(leaf, calls.scene.account(key)) or {}
        if found.get(edge.field) == edge.wrapped:
            return f"{edge.field} wrapped around to {edge.wrapped}"
        return ""

    return check
