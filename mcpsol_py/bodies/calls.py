"""Checks the calls in a body: conversions, helpers, the words of the language, and calls of other programs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.expressions import Expressions, bounds
from mcpsol_py.bodies.function import Context
from mcpsol_py.bodies.scope import (
    ErrorName,
    EventName,
    HelperName,
    NumberName,
    Word,
    is_usable,
    type_name,
)
from mcpsol_py.bodies.tree import NOTHING, UNKNOWN, Expression, Statement
from mcpsol_py.errors import suggest
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import U64, Int, Type
from mcpsol_py.solana import ids

__all__ = ["PROGRAM_CALLS", "Calls", "ProgramCall"]


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """An instruction of another program: the roles of its accounts, and its arguments.

    `written`: the roles that it writes. `kinds`: what the accounts of some roles must be.
    """

    accounts: tuple[str, ...]
    authority: str
    written: frozenset[str]
    kinds: dict[str, Literal["account", "mint"]]
    values: dict[str, Type]


_AMOUNT: dict[str, Type] = {"amount": U64}
#: The instructions of SPL Token that bodies call, by their names there.
PROGRAM_CALLS: dict[str, ProgramCall] = {
    "transfer": ProgramCall(
        ("source", "destination", "authority"),
        "authority",
        frozenset({"source", "destination"}),
        {"source": "account", "destination": "account"},
        _AMOUNT,
    ),
    "mint_to": ProgramCall(
        ("mint", "account", "mint_authority"),
        "mint_authority",
        frozenset({"mint", "account"}),
        {"mint": "mint", "account": "account"},
        _AMOUNT,
    ),
    "burn": ProgramCall(
        ("account", "mint", "authority"),
        "authority",
        frozenset({"account", "mint"}),
        {"mint": "mint", "account": "account"},
        _AMOUNT,
    ),
    "close_account": ProgramCall(
        ("account", "destination", "authority"),
        "authority",
        frozenset({"account", "destination"}),
        {"account": "account"},
        {},
    ),
}
_KIND_NAMES = {"account": "TokenAccount", "mint": "Mint"}
_HOW: dict[str, tuple[Literal["wrapping", "saturating"], Literal["add", "sub", "mul"]]] = {
    "wrapping_add": ("wrapping", "add"),
    "wrapping_sub": ("wrapping", "sub"),
    "wrapping_mul": ("wrapping", "mul"),
    "saturating_add": ("saturating", "add"),
    "saturating_sub": ("saturating", "sub"),
    "saturating_mul": ("saturating", "mul"),
}


class Calls:
    """Checks the calls of one function."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.refuse = context.refuse
        self.expressions = Expressions(context, self.value)

    # --- calls that have a value

    def value(self, node: ast.Call) -> Expression:
        """Return the tree of a call inside an expression."""
        meaning = self.context.meaning(node.func)
        match meaning:
            case NumberName(kind):
                return self._conversion(node, kind)
            case HelperName(name):
                return self._helper(node, name)
            case Word("min" | "max" as name):
                return self._min_max(node, name)
            case Word() | EventName():
                return self.refuse(node, f"{ast.unparse(node.func)}(…) is a statement of its own")
        match node.func:
            case ast.Attribute(ast.Name() as owner, "get") if self._is_clock(owner):
                return self._clock(node)
            case ast.Attribute(receiver, name) if name in _HOW:
                return self._arithmetic_method(node, receiver, name)
            case _:
                return self.unknown(node)

    def unknown(self, node: ast.Call) -> Expression:
        """Refuse a call of something that bodies do not know."""
        shown = ast.unparse(node.func)
        near = suggest(shown, [*self.context.scope.names, *self.context.scope.members])
        return self.refuse(node, f"{shown}(…) is not known in a body. {near}".strip())

    def _is_clock(self, node: ast.expr) -> bool:
        return self.context.meaning(node) == Word("Clock")

    def _clock(self, node: ast.Call) -> Expression:
        self.positional(node, 0)
        return tree.ClockNow()

    def positional(self, node: ast.Call, count: int) -> bool:
        """Return whether a call has *count* arguments by position, and none by name."""
        has_star = any(isinstance(arg, ast.Starred) for arg in node.args)
        if len(node.args) == count and not node.keywords and not has_star:
            return True
        shown = "argument" if count == 1 else "arguments"
        self.refuse(node, f"{ast.unparse(node.func)}(…) takes {count} {shown} by position")
        return False

    def _conversion(self, node: ast.Call, kind: Int) -> Expression:
        if not self.positional(node, 1):
            return tree.Unknown()
        if not is_usable(kind):
            return self.refuse(node, f"{type_name(kind)} cannot be used in a body")
        found = self.expressions.as_literal(
            node.args[0], self.expressions.value(node.args[0]), kind
        )
        if found.type in (kind, UNKNOWN):
            return found
        if not isinstance(found.type, Int):
            return self.refuse(node.args[0], f"{type_name(found.type)} is not a number")
        (low, high), (to_low, to_high) = bounds(found.type), bounds(kind)
        widens = to_low <= low and high <= to_high
        return tree.Convert(found, widens, self.context.overflow, kind)

    def _min_max(self, node: ast.Call, name: Literal["min", "max"]) -> Expression:
        if not self.positional(node, 2):
            return tree.Unknown()
        for arg in node.args:
            if self._is_bare(arg):
                shown = ast.unparse(arg)
                return self.refuse(arg, f"{shown} has no width: write u64({shown})")
        left, right, kind = self.expressions.operands(*node.args)
        if kind is UNKNOWN:
            return tree.Unknown()
        if not isinstance(kind, Int):
            return self.refuse(node, f"{name} takes numbers, not {type_name(kind)}")
        return tree.MinMax(name, left, right, kind)

    def _is_bare(self, node: ast.expr) -> bool:
        """Return whether a number has no width; `min(x, 5)` would be an int in Python."""
        inner = node.operand if isinstance(node, ast.UnaryOp) else node
        return isinstance(inner, ast.Constant) and type(inner.value) is int

    def _arithmetic_method(self, node: ast.Call, receiver: ast.expr, name: str) -> Expression:
        if not self.positional(node, 1):
            return tree.Unknown()
        left = self.expressions.value(receiver)
        right = self.expressions.value(node.args[0])
        if UNKNOWN in (left.type, right.type):
            return tree.Unknown()
        if not isinstance(left.type, Int):
            return self.refuse(node, f"{type_name(left.type)} has no {name}")
        right = self.expressions.as_literal(node.args[0], right, left.type)
        right = self.expressions.fits(node.args[0], right, left.type)
        how, operation = _HOW[name]
        return self.expressions.arithmetic(node, operation, how, left, right, left.type)

    def _helper(self, node: ast.Call, name: str) -> Expression:
        signature = self.context.scope.signature(name)
        if isinstance(signature, str):
            return self.refuse(node, signature)
        self.context.called.setdefault(name, node)
        kinds = list(signature.arguments.values())
        returns = NOTHING if signature.returns is None else signature.returns
        if not self.positional(node, len(kinds)):
            return tree.Unknown()
        given = zip(node.args, kinds, strict=True)
        values = tuple(self.expressions.typed(arg, kind) for arg, kind in given)
        return tree.HelperCall(name, values, self.context.overflow, returns)

    # --- calls that are statements

    def statement(self, node: ast.Call) -> Statement | None:
        """Return the tree of a call that is a statement; None if it is refused."""
        match self.context.meaning(node.func):
            case Word(name) if name in _STATEMENTS:
                return _STATEMENTS[name](self, node)
            case Word(name):
                self.refuse(node, f"the result of {name}(…) is not used")
                return None
            case _:
                pass
        match node.func:
            case ast.Attribute(ast.Name(program), name) if program in self.context.accounts:
                return self._program_call(node, program, name)
            case _:
                return self._perform(node)

    def _perform(self, node: ast.Call) -> Statement | None:
        found = self.value(node)
        if found.type is UNKNOWN:
            return None
        if isinstance(found, tree.HelperCall) and found.type is NOTHING:
            return tree.Perform(found)
        self.refuse(node, f"the result of {ast.unparse(node.func)}(…) is not used")
        return None

    def error(self, node: ast.expr) -> str | None:
        """Return the name of one of the program's errors; None if it is refused."""
        found = self.context.meaning(node)
        if isinstance(found, ErrorName):
            return found.name
        errors = [f"self.{e.name}" for e in self.context.scope.model.errors]
        near = suggest(ast.unparse(node), errors)
        self.refuse(node, f"{ast.unparse(node)} is not an error of the program. {near}".strip())
        return None

    def require(self, node: ast.Call) -> Statement | None:
        """`require(condition, error)`."""
        if not self.positional(node, 2):
            return None
        condition = self.expressions.condition(node.args[0])
        error = self.error(node.args[1])
        return None if error is None else tree.Require(condition, error)

    def emit(self, node: ast.Call) -> Statement | None:
        """`emit(self.Event(field=…))`."""
        if not self.positional(node, 1):
            return None
        made = node.args[0]
        event = self.context.meaning(made.func) if isinstance(made, ast.Call) else None
        if not isinstance(made, ast.Call) or not isinstance(event, EventName):
            shown = ast.unparse(made.func if isinstance(made, ast.Call) else made)
            near = suggest(shown, [f"self.{e.name}" for e in self.context.scope.model.events])
            self.refuse(made, f"{shown} is not an event of the program. {near}".strip())
            return None
        fields = self.context.scope.event_fields(event.name)
        given = self._by_name(made, fields, f"{event.name}(…)")
        values = [
            (name, self._event_value(event.name, name, arg, fields[name]))
            for name, arg in given.items()
        ]
        return tree.Emit(event.name, tuple(values)) if len(given) == len(fields) else None

    def _event_value(self, event: str, name: str, node: ast.expr, kind: Type) -> Expression:
        if is_usable(kind):
            return self.expressions.typed(node, kind)
        why = f"{event}.{name} is {type_name(kind)}, which cannot be used in a body yet"
        return self.refuse(node, why)

    def _by_name(self, node: ast.Call, wanted: dict[str, Type], shown: str) -> dict[str, ast.expr]:
        """Return the arguments of a call that gives each of them by name."""
        if node.args:
            self.refuse(node.args[0], f"{shown} takes its arguments by name, as in name=value")
        given: dict[str, ast.expr] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in wanted:
                name = "**" if keyword.arg is None else keyword.arg
                self.refuse(
                    keyword.value, f"{shown} has no {name!r}. {suggest(name, wanted)}".strip()
                )
            else:
                given[keyword.arg] = keyword.value
        for name in wanted:
            if name not in given and not node.args:
                self.refuse(node, f"{shown} needs {name!r}")
        return given

    # --- calls of other programs

    def _program_call(self, node: ast.Call, program: str, name: str) -> Statement | None:
        account = self.context.accounts[program]
        call = PROGRAM_CALLS.get(name)
        if account.address != ids.TOKEN_PROGRAM or account.optional:
            what = "only a TokenProgram can be called from a body yet"
            self.refuse(node, f"{program}.{name}(…) cannot be called: {what}")
            return None
        if call is None:
            near = suggest(name, PROGRAM_CALLS)
            self.refuse(
                node, f"{program}.{name}(…) cannot be called from a body yet. {near}".strip()
            )
            return None
        roles = dict.fromkeys(call.accounts, U64)
        given = self._by_name(node, {**roles, **call.values}, f"{program}.{name}(…)")
        if len(given) != len(roles) + len(call.values):
            return None
        accounts = self._roles(call, given)
        values = tuple(
            (key, self.expressions.typed(value, call.values[key]))
            for key, value in given.items()
            if key in call.values
        )
        if len(accounts) != len(roles):
            return None
        signer = self._signer(given[call.authority], accounts[call.authority])
        ordered = tuple((role, accounts[role]) for role in call.accounts)
        return tree.CallProgram(program, name, ordered, values, signer)

    def _roles(self, call: ProgramCall, given: dict[str, ast.expr]) -> dict[str, str]:
        """Return the account of each role; those that are refused are left out."""
        accounts: dict[str, str] = {}
        for role in call.accounts:
            node = given[role]
            if not isinstance(node, ast.Name) or node.id not in self.context.accounts:
                self.refuse(node, f"{role} is one of the instruction's accounts")
                continue
            why = _unfit(call, role, node.id, self.context.accounts[node.id])
            if why:
                self.refuse(node, why)
            else:
                accounts[role] = node.id
        return accounts

    def _signer(self, node: ast.expr, name: str) -> str | None:
        """Return the authority if the program signs for it, None if it signs the transaction."""
        account = self.context.accounts[name]
        if account.signer is True:
            return None
        if account.pda is None or account.pda.program is not None:
            self.refuse(node, f"{name} neither signs nor has seeds, so nobody can sign for it")
        return name


def _unfit(call: ProgramCall, role: str, name: str, account: Account) -> str:
    """Return why an account cannot have this role in a call; "" if it can."""
    if account.optional:
        return f"{name} is optional, and cannot be used in a body yet"
    if role in call.written and not account.writable:
        return f"{role} is written: declare {name} as Mut[…]"
    wanted = call.kinds.get(role)
    found = "" if account.constraints is None else account.constraints.token_kind
    if wanted and {"associated": "account"}.get(found, found) != wanted:
        return f"{role} is a {_KIND_NAMES[wanted]}, which {name} is not"
    return ""


_STATEMENTS: dict[str, Callable[[Calls, ast.Call], Statement | None]] = {
    "require": Calls.require,
    "emit": Calls.emit,
}
