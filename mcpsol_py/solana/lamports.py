"""Whether an account exists, and its lamports: a cluster removes an account that has none."""

from __future__ import annotations

from solders.account import Account

__all__ = ["existing", "lamports_of"]


def lamports_of(account: Account | None) -> int:
    """Return the lamports of an account; an absent one has none."""
    return 0 if account is None else account.lamports


def existing(account: Account | None) -> Account | None:
    """Return the account, or None for one that is closed.

    LiteSVM keeps a closed account as an empty one of the System program; a cluster removes it.
    """
    if account is None or (account.lamports == 0 and not account.data):
        return None
    return account
