"""Checks `create` and `load`: an account without state in the signature gets state, or has it, and the body uses it."""

from __future__ import annotations

import ast

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.function import Context
from mcpsol_py.bodies.scope import StateName, Word
from mcpsol_py.errors import suggest
from mcpsol_py.items import names_of
from mcpsol_py.model.program import Account, Constraints
from mcpsol_py.solana import ids

__all__ = ["Opening", "is_free"]


def is_free(account: Account) -> bool:
    """Return whether an account may be anything: no constraint says what it holds or which program it is."""
    rules = account.rules
    held = (rules.state, rules.token, rules.owner, rules.sysvar, account.address)
    return not any((*held, account.signer, rules.executable, rules.one_of))


class Opening:
    """Checks the calls of `create` and `load` in one function."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.need, self.stopped = context.need, context.stopped

    def word(self, node: ast.expr) -> str | None:
        """Return "create" or "load" if *node* is a call of it."""
        meaning = (
            self.context.meaning(node.func) if isinstance(node, ast.Call) else None
        )
        is_opening = meaning in (Word("create"), Word("load"))
        return meaning.name if isinstance(meaning, Word) and is_opening else None

    def statement(self, node: ast.Call, target: ast.Name | None) -> tree.OpenState:
        """`name = create(self.State, account, payer=payer)`, `name = load(self.State, account)`. Raises Stopped."""
        is_new = self.word(node) == "create"
        kind, account = self._given(node, ["payer"] if is_new else [])
        state, name = self._state(kind), self._free(account)
        payer = None
        if is_new:
            self._need_signature(account, name)
            payer = self._payer(node.keywords[0].value)
        why = "a loop cannot open an account: it is opened once"
        self.need(not self.context.loops, node, why)
        self.need(self.context.is_method, node, "only a method opens accounts")
        self.context.need_closed(account, name)
        if target is not None:
            self._give_name(target, name, state)
        self.context.open_accounts.add(name)
        shown = None if target is None else target.id
        return tree.OpenState(shown, state, name, payer)

    def _given(self, node: ast.Call, named: list[str]) -> list[ast.expr]:
        """Return the arguments by position."""
        is_whole = len(node.args) == 2 and [k.arg for k in node.keywords] == named
        shown = ast.unparse(node.func)
        more = ", and payer= by name" if named else ""
        why = f"{shown}(…) takes a type of state and an account by position{more}"
        self.need(is_whole and ast.Starred not in map(type, node.args), node, why)
        return node.args

    def _state(self, node: ast.expr) -> str:
        """Return the name of a type of state that has a fixed size."""
        scope, found = self.context.scope, self.context.meaning(node)
        if not isinstance(found, StateName):
            shown = ast.unparse(node)
            near = suggest(shown, [f"self.{n}" for n in names_of(scope.model.accounts)])
            raise self.stopped(
                node, f"{shown} is no state of the program. {near}".strip()
            )
        why = f"{found.name} has no fixed size: bodies cannot open it yet"
        self.need(scope.fields_of(found.name) is not None, node, why)
        return found.name

    def _free(self, node: ast.expr) -> str:
        """Return the name of an account whose signature does not say what it holds."""
        name = ast.unparse(node)
        account = self.context.declared.get(name)
        if account is None or account.optional or not is_free(account):
            why = f"expected an Unchecked account that is always there, got {name}"
            raise self.stopped(node, why)
        return name

    def _need_signature(self, node: ast.expr, name: str) -> None:
        """The account is written, the program signs for its address, and the system program is there to be called."""
        account, pda = self.context.declared[name], self.context.declared[name].pda
        self.need(account.writable, node, f"{name} is written: declare it as Mut[…]")
        why = f"{name} has no seeds of this program, so nobody can sign for its address"
        self.need(pda is not None and pda.program is None, node, why)
        known = {each.address for each in self.context.declared.values()}
        why = "a new account needs the system program: declare an account of SystemProgram"
        self.need(ids.SYSTEM_PROGRAM in known, node, why)

    def _payer(self, node: ast.expr) -> str:
        """Return the name of a wallet that signs and can pay."""
        name = ast.unparse(node)
        account = self.context.declared.get(name, Account(""))
        can_pay = account.signer is True and account.writable and not account.optional
        why = (
            f"expected an account that signs and is written, such as Payer, got {name}"
        )
        self.need(can_pay, node, why)
        return name

    def _give_name(self, target: ast.Name, account: str, state: str) -> None:
        """Let the body use the state by this name from here on."""
        context, name = self.context, target.id
        is_parameter = name in {"self", *context.declared, *context.arguments}
        why = f"{name!r} has a value: give the state another name"
        has_value = is_parameter or name in context.locals
        self.need(not has_value and name.isascii(), target, why)
        held = Account(
            name,
            writable=context.declared[account].writable,
            constraints=Constraints(state=state),
        )
        before = context.opened.setdefault(name, (account, held))
        why = f"{name!r} is {before[1].rules.state} in {before[0]}: use another name"
        self.need(before == (account, held), target, why)
        context.assigned.add(name)
        context.maybe_assigned.add(name)
