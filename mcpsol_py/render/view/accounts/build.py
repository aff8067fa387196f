"""Makes the view of one instruction's accounts: every check, then every change."""

from __future__ import annotations

from mcpsol_py.model.program import Instruction
from mcpsol_py.render.rust import Rust
from mcpsol_py.render.view.accounts.changes import add_changes, add_closings
from mcpsol_py.render.view.accounts.checks import add_checks
from mcpsol_py.render.view.accounts.derived import add_derived_addresses
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.render.view.accounts.state_checks import add_state_checks
from mcpsol_py.render.view.accounts.token_checks import add_token_checks
from mcpsol_py.render.view.accounts.views import AccountsView
from mcpsol_py.render.view.context import CrateContext

__all__ = ["accounts_view"]


def accounts_view(
    ix: Instruction, context: CrateContext, arg_names: dict[str, Rust] | None
) -> AccountsView:
    """The view of *ix*'s accounts. `arg_names`: the Rust names of its arguments, None if they are not decoded.

    Raises RenderError if a constraint of a spec cannot become code.
    """
    scope = Scope(ix, context, arg_names)
    add_checks(scope)
    add_state_checks(scope)
    add_token_checks(scope)
    add_derived_addresses(scope)
    add_changes(scope)
    add_closings(scope)
    return scope.view
