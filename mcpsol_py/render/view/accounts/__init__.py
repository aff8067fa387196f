"""One instruction's accounts as Rust: names, checks, and the creation, resizing and closing of accounts.

A bad call must fail as cheaply as it can, so checks come in this order: number of accounts, signers and writable
flags, addresses, owners, the same account twice, state and its fields, tokens, derived addresses. Accounts are resized
and created after all checks, and closed after the handler.
"""

from mcpsol_py.render.view.accounts.build import accounts_view
from mcpsol_py.render.view.accounts.views import AccountsView, Kept, SeedsView, Slot

__all__ = ["AccountsView", "Kept", "SeedsView", "Slot", "accounts_view"]
