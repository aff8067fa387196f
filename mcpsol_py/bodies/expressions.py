"""Checks the expressions of a body, and makes their typed trees. Expressions change nothing; they may fail."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.function import Context
from mcpsol_py.bodies.scope import (
    ConstantName,
    ErrorName,
    NumberName,
    is_usable,
    type_name,
)
from mcpsol_py.bodies.tree import LITERAL, NOTHING, UNKNOWN, BodyType, Expression
from mcpsol_py.errors import suggest
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import BOOL, PUBKEY, Int, Type

__all__ = ["Expressions", "bounds"]

_CHECKED: dict[type[ast.operator], Literal["add", "sub", "mul", "div", "rem"]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.FloorDiv: "div",
    ast.Mod: "rem",
}
_BITS: dict[type[ast.operator], Literal["&", "|", "^"]] = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
}
_SIGNS: dict[type[ast.cmpop], Literal["<", "<=", ">", ">=", "==", "!="]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_FOLDS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: int.__add__,
    ast.Sub: int.__sub__,
    ast.Mult: int.__mul__,
}
_NO_OPERATOR = {
    ast.Div: "bodies have no /: use //, which rounds down",
    ast.Pow: "bodies have no **: multiply",
    ast.LShift: "bodies have no <<: multiply by a power of two",
    ast.RShift: "bodies have no >>: divide by a power of two with //",
    ast.MatMult: "bodies have no @",
}
_NO_COMPARISON = {
    ast.Is: "`is` compares objects: use ==",
    ast.IsNot: "`is not` compares objects: use !=",
    ast.In: "bodies have no `in`: compare with == and `or`",
    ast.NotIn: "bodies have no `not in`: compare with != and `and`",
}
_NO_EXPRESSION = {
    ast.Lambda: "bodies have no lambda: write a function of the module",
    ast.NamedExpr: "bodies have no :=, because expressions change nothing: assign first",
    ast.JoinedStr: "bodies have no f-strings: a program has no text",
    ast.List: "a list cannot be made in a body",
    ast.Tuple: "a tuple cannot be made in a body",
    ast.Dict: "a dict cannot be made in a body",
    ast.Set: "a set cannot be made in a body",
    ast.ListComp: "bodies have no comprehensions",
    ast.SetComp: "bodies have no comprehensions",
    ast.DictComp: "bodies have no comprehensions",
    ast.GeneratorExp: "bodies have no comprehensions",
    ast.Await: "bodies have no await",
    ast.Yield: "bodies have no yield",
    ast.YieldFrom: "bodies have no yield",
    ast.Starred: "bodies have no *",
    ast.Subscript: "[…] cannot be used in a body yet",
}
#: LLVM's multiplication of i128 is wrong on the SVM, so the build refuses programs that have one.
_NO_I128_PRODUCT = "the SVM's compiler cannot multiply i128: use i64 or u128"
_SIGNED_DIVISION = "signed numbers do not divide: Python rounds down and Rust to zero"


def bounds(node: Int) -> tuple[int, int]:
    """Return the smallest and the largest value of a number type."""
    low = -(1 << (node.bits - 1)) if node.signed else 0
    return low, low + (1 << node.bits) - 1


class Expressions:
    """Checks the expressions of one function. `call`: checks the calls among them."""

    def __init__(self, context: Context, call: Callable[[ast.Call], Expression]) -> None:
        self.context = context
        self.refuse = context.refuse
        self._call = call

    def value(self, node: ast.expr) -> Expression:
        """Return the tree of an expression. What is refused becomes Unknown."""
        check = _CHECKS.get(type(node))
        if check is None:
            return self.refuse(
                node, _NO_EXPRESSION.get(type(node), "this cannot be used in a body")
            )
        return check(self, node)

    def typed(self, node: ast.expr, wanted: BodyType) -> Expression:
        """Return the tree of an expression that must have the type *wanted*."""
        return self.fits(node, self.value(node), wanted)

    def condition(self, node: ast.expr) -> Expression:
        """Return the tree of a condition."""
        found = self.value(node)
        if found.type in (BOOL, UNKNOWN):
            return found
        if isinstance(found.type, Int) or found.type is LITERAL:
            return self.refuse(node, f"a number is not a condition: write {ast.unparse(node)} != 0")
        return self.refuse(node, f"expected a condition, got {type_name(found.type)}")

    def fits(self, node: ast.expr, found: Expression, wanted: BodyType) -> Expression:
        """Return *found* if it has the type *wanted*, else refuse it."""
        if found.type == wanted or UNKNOWN in (found.type, wanted):
            return found
        name = type_name(wanted)
        if found.type is LITERAL:
            shown = ast.unparse(node)
            how = f"write {name}({shown})" if isinstance(wanted, Int) else f"expected {name}"
            return self.refuse(node, f"{shown} has no width: {how}")
        hint = ""
        if isinstance(wanted, Int) and isinstance(found.type, Int):
            hint = f": convert it with {name}(…)"
        return self.refuse(node, f"expected {name}, got {type_name(found.type)}{hint}")

    def as_literal(self, node: ast.expr, found: Expression, wanted: Int) -> Expression:
        """Give a number without a width the type *wanted*; other expressions stay as they are."""
        if not isinstance(found, tree.NumberValue) or found.type is not LITERAL:
            return found
        low, high = bounds(wanted)
        if not low <= found.value <= high:
            return self.refuse(node, f"{found.value} does not fit {type_name(wanted)}")
        return tree.NumberValue(found.value, wanted)

    # --- names

    def constant(self, node: ast.Constant) -> Expression:
        value = node.value
        if value is True or value is False:
            return tree.Flag(value)
        if isinstance(value, int):
            return tree.NumberValue(value, LITERAL)
        if value is None:
            return self.refuse(node, "None cannot be used in a body yet")
        return self.refuse(node, f"bodies have no values like {ast.unparse(node)}")

    def name(self, node: ast.Name) -> Expression:
        name, context = node.id, self.context
        if name in context.arguments:
            return self.argument(node, name, context.arguments[name])
        if name in context.accounts:
            hint = f"use {name}.address or one of its fields"
            return self.refuse(node, f"an account is not a value: {hint}")
        if name in context.local_names:
            return self._local(node, name)
        return self._of_spec(node, name)

    def argument(self, node: ast.expr, name: str, kind: Type) -> Expression:
        if not is_usable(kind):
            why = f"{name!r} is {type_name(kind)}, which cannot be used in a body yet"
            return self.refuse(node, why)
        return tree.Argument(name, kind)

    def _local(self, node: ast.expr, name: str) -> Expression:
        variable = self.context.locals.get(name)
        if variable is None or name not in self.context.assigned:
            return self.refuse(node, f"{name!r} may have no value here: assign it on every path")
        return tree.LocalName(name, variable.type)

    def _of_spec(self, node: ast.expr, name: str) -> Expression:
        match self.context.meaning(node):
            case ConstantName(value=bytes(value)):
                return tree.FixedAddress(value)
            case ConstantName(value=int(value), type=kind):
                return self._number_constant(node, value, kind)
            case ErrorName():
                return self.refuse(
                    node, f"an error is not a value: write raise {ast.unparse(node)}"
                )
            case None:
                known = [*self.context.arguments, *self.context.accounts, *self.context.assigned]
                return self.refuse(
                    node, f"{name!r} is not known here. {suggest(name, known)}".strip()
                )
            case _:
                return self.refuse(node, f"{ast.unparse(node)} is not a value")

    def _number_constant(self, node: ast.expr, value: int, kind: BodyType) -> Expression:
        if kind == BOOL:
            return tree.Flag(bool(value))
        if kind is not LITERAL and not is_usable(kind):
            return self.refuse(node, f"{type_name(kind)} cannot be used in a body")
        return tree.NumberValue(value, kind)

    def attribute(self, node: ast.Attribute) -> Expression:
        match node.value:
            case ast.Name(name) if name in self.context.accounts:
                return self._of_account(node, name, self.context.accounts[name])
            case ast.Name("self") if self.context.is_method:
                return self._member(node)
            case _:
                pass
        owner = self.context.meaning(node.value)
        if isinstance(owner, NumberName) and node.attr in ("MIN", "MAX"):
            return tree.NumberValue(bounds(owner.type)[node.attr == "MAX"], owner.type)
        if self.context.meaning(node) is not None:
            return self._of_spec(node, node.attr)
        return self._of_value(node)

    def _member(self, node: ast.Attribute) -> Expression:
        if self.context.meaning(node) is None:
            near = suggest(node.attr, list(self.context.scope.members))
            return self.refuse(node, f"the program has no {node.attr!r}. {near}".strip())
        return self._of_spec(node, node.attr)

    def _of_account(self, node: ast.Attribute, name: str, account: Account) -> Expression:
        if account.optional:
            return self.refuse(node, f"{name} is optional, and cannot be used in a body yet")
        if node.attr == "amount" and _is_token_account(account):
            return tree.TokenAmount(name)
        fields = self.context.scope.state_fields(account) or {}
        if node.attr in fields:
            if node.attr == "address":
                return self.refuse(node, "this state has a field `address`: give it another name")
            return self.state_field(node, name, fields[node.attr])
        if node.attr == "address":
            return tree.Address(name)
        return self.refuse(node, self._no_field(node.attr, name, account, fields))

    def _no_field(self, attr: str, name: str, account: Account, fields: dict[str, Type]) -> str:
        """Return why an account has no field *attr*."""
        if not fields and account.constraints is not None and account.constraints.state:
            return f"the state of {name} has no fixed size: bodies cannot read it yet"
        return f"{name} has no field {attr!r}. {suggest(attr, ['address', *fields])}".strip()

    def state_field(self, node: ast.Attribute, name: str, kind: Type) -> Expression:
        if not is_usable(kind):
            why = f"{name}.{node.attr} is {type_name(kind)}, which cannot be used in a body yet"
            return self.refuse(node, why)
        return tree.StateField(name, node.attr, kind)

    def _of_value(self, node: ast.Attribute) -> Expression:
        found = self.value(node.value)
        if found.type is UNKNOWN:
            return found
        if found.type is tree.CLOCK and node.attr in tree.CLOCK_FIELDS:
            return tree.ClockField(found, node.attr, tree.CLOCK_FIELDS[node.attr])
        return self.refuse(node, f"{type_name(found.type)} has no {node.attr!r}")

    # --- operators

    def operands(self, left: ast.expr, right: ast.expr) -> tuple[Expression, Expression, BodyType]:
        """Return two operands and their common type; a literal takes the type of the other one."""
        a, b = self.value(left), self.value(right)
        if isinstance(a.type, Int):
            b = self.as_literal(right, b, a.type)
        elif isinstance(b.type, Int):
            a = self.as_literal(left, a, b.type)
        if UNKNOWN in (a.type, b.type):
            return a, b, UNKNOWN
        if a.type != b.type:
            names = f"{type_name(a.type)} and {type_name(b.type)}"
            hint = f", as in {type_name(a.type)}(…)" if isinstance(a.type, Int) else ""
            self.refuse(right, f"{names} do not mix: convert one of them{hint}")
            return a, b, UNKNOWN
        return a, b, a.type

    def binary(self, node: ast.BinOp) -> Expression:
        why = _NO_OPERATOR.get(type(node.op))
        if why is not None:
            self.operands(node.left, node.right)
            return self.refuse(node, why)
        left, right, kind = self.operands(node.left, node.right)
        if kind is UNKNOWN:
            return tree.Unknown()
        if kind is LITERAL:
            return self._folded(node, left, right)
        if not isinstance(kind, Int):
            return self.refuse(node, f"{type_name(kind)} has no such operator")
        if type(node.op) in _BITS:
            return tree.Bits(_BITS[type(node.op)], left, right, kind)
        return self.arithmetic(node, _CHECKED[type(node.op)], "checked", left, right, kind)

    def _folded(self, node: ast.BinOp, left: Expression, right: Expression) -> Expression:
        """Two numbers without a width, such as `24 * 60`: another number without a width."""
        fold = _FOLDS.get(type(node.op))
        assert isinstance(left, tree.NumberValue)
        assert isinstance(right, tree.NumberValue)
        if fold is None:
            return self.refuse(node, "the numbers have no width: write u64(…)")
        return tree.NumberValue(fold(left.value, right.value), LITERAL)

    def arithmetic(
        self,
        node: ast.expr,
        operation: Literal["add", "sub", "mul", "div", "rem"],
        how: Literal["checked", "wrapping", "saturating"],
        left: Expression,
        right: Expression,
        kind: Int,
    ) -> Expression:
        if kind.signed and operation in ("div", "rem"):
            return self.refuse(node, _SIGNED_DIVISION)
        if kind == Int(128, signed=True) and operation == "mul":
            return self.refuse(node, _NO_I128_PRODUCT)
        return tree.Arithmetic(operation, how, left, right, self.context.overflow, kind)

    def unary(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not):
            return tree.Not(self.condition(node.operand))
        found = self.value(node.operand)
        if found.type is UNKNOWN:
            return found
        if not isinstance(node.op, ast.USub):
            return self.refuse(node, "bodies have no + or ~ before a value")
        if isinstance(found, tree.NumberValue) and found.type is LITERAL:
            return tree.NumberValue(-found.value, LITERAL)
        if not isinstance(found.type, Int) or not found.type.signed:
            return self.refuse(node, f"{type_name(found.type)} has no negative")
        return tree.Negate(found, self.context.overflow, found.type)

    def comparison(self, node: ast.Compare) -> Expression:
        sides = [node.left, *node.comparators]
        parts = [
            self._compared(op, left, right)
            for op, left, right in zip(node.ops, sides, sides[1:], strict=False)
        ]
        for middle, part in zip(sides[1:-1], parts, strict=False):
            if isinstance(part, tree.Compare) and not _is_simple(part.right):
                why = "the middle of a chained comparison must be a name, a field or a number"
                self.refuse(middle, f"{why}: assign it first")
        return parts[0] if len(parts) == 1 else tree.Logic("&&", tuple(parts))

    def _compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Expression:
        if type(op) in _NO_COMPARISON:
            self.value(left)
            return self.refuse(right, _NO_COMPARISON[type(op)])
        a, b, kind = self.operands(left, right)
        if kind is UNKNOWN:
            return tree.Unknown()
        sign = _SIGNS[type(op)]
        if kind is LITERAL:
            return self.refuse(left, "both numbers are written out: compare a value")
        if not isinstance(kind, Int) and (kind not in (BOOL, PUBKEY) or sign not in ("==", "!=")):
            return self.refuse(right, f"{type_name(kind)} has no order: use == or !=")
        return tree.Compare(sign, a, b)

    def logic(self, node: ast.BoolOp) -> Expression:
        parts = tuple(map(self.condition, node.values))
        return tree.Logic("&&" if isinstance(node.op, ast.And) else "||", parts)

    def choice(self, node: ast.IfExp) -> Expression:
        test = self.condition(node.test)
        yes, no = self.value(node.body), self.value(node.orelse)
        for side, found in ((node.body, yes), (node.orelse, no)):
            if found.type is LITERAL:
                return self.refuse(side, f"{ast.unparse(side)} has no width: write u64(…)")
        if UNKNOWN in (yes.type, no.type):
            return tree.Unknown()
        if yes.type != no.type:
            names = f"{type_name(yes.type)} and {type_name(no.type)}"
            return self.refuse(node.orelse, f"both values need one type, got {names}")
        return tree.Choice(test, yes, no, yes.type)

    def call(self, node: ast.Call) -> Expression:
        found = self._call(node)
        if found.type is NOTHING:
            return self.refuse(node, f"{ast.unparse(node.func)}(…) has no value")
        return found


def _is_token_account(account: Account) -> bool:
    constraints = account.constraints
    return constraints is not None and constraints.token_kind in ("account", "associated")


def _is_simple(node: Expression) -> bool:
    simple = (tree.NumberValue, tree.LocalName, tree.Argument, tree.StateField, tree.Address)
    return isinstance(node, (*simple, tree.FixedAddress, tree.Flag, tree.Unknown))


_CHECKS: dict[type[ast.expr], Callable[[Expressions, ast.expr], Expression]] = {
    ast.Constant: Expressions.constant,  # type: ignore[dict-item]  # each takes its own node
    ast.Name: Expressions.name,  # type: ignore[dict-item]
    ast.Attribute: Expressions.attribute,  # type: ignore[dict-item]
    ast.BinOp: Expressions.binary,  # type: ignore[dict-item]
    ast.UnaryOp: Expressions.unary,  # type: ignore[dict-item]
    ast.Compare: Expressions.comparison,  # type: ignore[dict-item]
    ast.BoolOp: Expressions.logic,  # type: ignore[dict-item]
    ast.IfExp: Expressions.choice,  # type: ignore[dict-item]
    ast.Call: Expressions.call,  # type: ignore[dict-item]
}
