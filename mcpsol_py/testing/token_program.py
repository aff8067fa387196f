"""SPL Token as a simulated program calls it, with its own errors."""

from __future__ import annotations

from collections.abc import Callable

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.bodies.numbers import u64
from mcpsol_py.testing.ledger import Ledger, TokenState

__all__ = ["TOKEN_CALLS", "TokenFailure"]


class TokenFailure(Exception):
    """The token program refuses a call. `name` and `code` are its own error's."""

    def __init__(self, name: str, code: int) -> None:
        self.name, self.code = name, code
        super().__init__(f"{name} ({code})")


def _need(condition: bool, name: str, code: int) -> None:
    if not condition:
        raise TokenFailure(name, code)


def _account(ledger: Ledger, at: Pubkey) -> TokenState:
    """Return a token account, which an earlier call may have closed."""
    _need(at in ledger.tokens, "InvalidAccountData", 0)
    return ledger.tokens[at]


def transfer(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Move tokens. An account may send to itself."""
    source = _account(ledger, roles["source"])
    destination = _account(ledger, roles["destination"])
    _need(source.amount >= amount, "InsufficientFunds", 1)
    _need(source.mint == destination.mint, "MintMismatch", 3)
    _need(source.owner == roles["authority"], "OwnerMismatch", 4)
    if source is not destination:
        source.amount -= amount
        destination.amount += amount


def mint_to(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Make new tokens."""
    mint, account = ledger.mints[roles["mint"]], _account(ledger, roles["account"])
    _need(account.mint == roles["mint"], "MintMismatch", 3)
    _need(mint.authority is not None, "FixedSupply", 5)
    _need(mint.authority == roles["mint_authority"], "OwnerMismatch", 4)
    _need(int(mint.supply) + int(amount) <= int(u64.MAX), "Overflow", 14)
    mint.supply += amount
    account.amount += amount


def burn(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Destroy tokens."""
    mint, account = ledger.mints[roles["mint"]], _account(ledger, roles["account"])
    _need(account.amount >= amount, "InsufficientFunds", 1)
    _need(account.mint == roles["mint"], "MintMismatch", 3)
    _need(account.owner == roles["authority"], "OwnerMismatch", 4)
    account.amount -= amount
    mint.supply -= amount


def close_account(ledger: Ledger, roles: dict[str, Pubkey], amount: u64) -> None:
    """Close an empty token account."""
    account = _account(ledger, roles["account"])
    _need(account.amount == 0, "NonNativeHasBalance", 11)
    _need(account.owner == roles["authority"], "OwnerMismatch", 4)
    ledger.move(roles["account"], roles["destination"], ledger.lamports.get(roles["account"], 0))
    del ledger.tokens[roles["account"]]


#: By the names that bodies use.
TOKEN_CALLS: dict[str, Callable[[Ledger, dict[str, Pubkey], u64], None]] = {
    "transfer": transfer,
    "mint_to": mint_to,
    "burn": burn,
    "close_account": close_account,
}
