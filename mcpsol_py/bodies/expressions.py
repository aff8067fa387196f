"""Checks the expressions of a body, and makes their typed trees. Expressions change nothing; they may fail."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Literal

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.data_reads import DataReads
from mcpsol_py.bodies.function import Context, Stopped, may_be_none
from mcpsol_py.bodies.scope import (
    ConstantName,
    ErrorName,
    NumberName,
    TypeName,
    is_bytes,
    type_name,
)
from mcpsol_py.bodies.token_reads import (
    kind_of,
    learned,
    optional,
    token_fields,
    without_none,
)
from mcpsol_py.bodies.tree import (
    LITERAL,
    NONE,
    NOTHING,
    UNKNOWN,
    BodyType,
    Expression,
)
from mcpsol_py.errors import suggest
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import BOOL, PUBKEY, Int, Link, Option, Type

__all__ = ["Expressions", "bounds", "is_simple"]

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
_JOINS: dict[type[ast.boolop], Literal["&&", "||"]] = {ast.And: "&&", ast.Or: "||"}
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
_NO_COMPREHENSION = "bodies have comprehensions only in all(…) and any(…), as in any(x > 0 for x in items)"
_NO_EXPRESSION = {
    ast.Lambda: "bodies have no lambda: write a function of the module",
    ast.NamedExpr: "bodies have no :=, because expressions change nothing: assign first",
    ast.JoinedStr: "bodies have no f-strings: a program has no text",
    ast.List: "a list cannot be made in a body",
    ast.Tuple: "a tuple cannot be made in a body",
    ast.Dict: "a dict cannot be made in a body",
    ast.Set: "a set cannot be made in a body",
    ast.ListComp: _NO_COMPREHENSION,
    ast.SetComp: _NO_COMPREHENSION,
    ast.DictComp: _NO_COMPREHENSION,
    ast.GeneratorExp: _NO_COMPREHENSION,
    ast.Await: "bodies have no await",
    ast.Yield: "bodies have no yield",
    ast.YieldFrom: "bodies have no yield",
    ast.Starred: "bodies have no *",
}
#: In place of a local variable that no line assigned so far.
_NO_LOCAL = tree.LocalVariable(UNKNOWN)
#: What is compared by order: numbers, and those that are an int in Python.
_NUMBERS = (Int, tree.Counter)
_NOT_NONE = "None is compared by `is None` and `is not None`"
_NO_ALL_DATA = "compare a part with two written bounds, as in data[0:4]"
#: LLVM's multiplication of i128 is wrong on the SVM, so the build refuses programs that have one.
_NO_I128_PRODUCT = "the SVM's compiler cannot multiply i128: use i64 or u128"
_SIGNED_DIVISION = "signed numbers do not divide: Python rounds down and Rust to zero"


def bounds(node: Int) -> tuple[int, int]:
    """Return the smallest and the largest value of a number type."""
    low = -(1 << (node.bits - 1)) if node.signed else 0
    return low, low + (1 << node.bits) - 1


class Expressions:
    """Checks the expressions of one function. `call`: checks the calls among them."""

    def __init__(
        self, context: Context, call: Callable[[ast.Call], Expression]
    ) -> None:
        self.context = context
        self.refuse, self.need, self.stopped = (
            context.refuse,
            context.need,
            context.stopped,
        )
        self._call = call
        self.data = DataReads(self)

    def value(self, node: ast.expr) -> Expression:
        """Return the tree of an expression. A refused one becomes Unknown."""
        try:
            return _CHECKS.get(type(node), Expressions.missing)(self, node)
        except Stopped:
            return tree.Unknown()

    def known(self, *found: Expression) -> None:
        """Raise Stopped if one of these expressions was refused."""
        if UNKNOWN in [each.type for each in found]:
            raise Stopped

    def missing(self, node: ast.expr) -> Expression:
        """Refuse an expression that bodies do not have."""
        raise self.stopped(
            node, _NO_EXPRESSION.get(type(node), "this cannot be used in a body")
        )

    def typed(self, node: ast.expr, wanted: BodyType) -> Expression:
        """Return the tree of an expression that must have the type *wanted*."""
        return self.fits(node, self.value(node), wanted)

    def condition(self, node: ast.expr) -> Expression:
        """Return the tree of a condition."""
        found = self.value(node)
        if found.type in (BOOL, UNKNOWN):
            return found
        if found.type == Option(BOOL):
            return self.refuse(node, may_be_none(node))
        if isinstance(found.type, Option):
            shown = ast.unparse(node)
            why = f"{shown} is not a condition: write {shown} is not None"
            return self.refuse(node, why)
        if isinstance(found.type, Int) or found.type is LITERAL:
            return self.refuse(
                node, f"a number is not a condition: write {ast.unparse(node)} != 0"
            )
        return self.refuse(node, f"expected a condition, got {type_name(found.type)}")

    def fits(self, node: ast.expr, found: Expression, wanted: BodyType) -> Expression:
        """Return *found* if it has the type *wanted*, else refuse it."""
        if isinstance(wanted, Option):
            found = self.as_optional(node, found, wanted)
        if found.type == wanted or UNKNOWN in (found.type, wanted):
            return found
        if isinstance(found.type, Option) and found.type.item == wanted:
            self.refuse(node, may_be_none(node))
            return tree.Unknown()
        name = type_name(wanted)
        if found.type is LITERAL:
            shown = ast.unparse(node)
            how = (
                f"write {name}({shown})"
                if isinstance(wanted, Int)
                else f"expected {name}"
            )
            return self.refuse(node, f"{shown} has no width: {how}")
        hint = ""
        if isinstance(wanted, Int) and isinstance(found.type, Int):
            hint = f": convert it with {name}(…)"
        elif isinstance(wanted, Int) and isinstance(found.type, tree.Counter):
            hint = f": {self.converted(node, wanted)}"
        return self.refuse(node, f"expected {name}, got {type_name(found.type)}{hint}")

    def as_optional(
        self, node: ast.expr, found: Expression, wanted: Option
    ) -> Expression:
        """Return *found* where an optional value is wanted: None, or a value of its type. Others stay as they are."""
        if found.type is NONE:
            return tree.NoneValue(wanted)
        if isinstance(wanted.item, Int) and found.type is LITERAL:
            return self.fits(node, found, wanted.item)
        return tree.SomeOf(found, wanted) if found.type == wanted.item else found

    def converted(self, node: ast.expr, kind: Int) -> str:
        """Return how an int becomes a number of the type *kind*."""
        return f"write {type_name(kind)}({ast.unparse(node)})"

    def there(self, node: ast.expr, found: Expression) -> None:
        """Refuse a value that may be None. Raises Stopped."""
        self.need(not isinstance(found.type, Option), node, may_be_none(node))

    def as_literal(
        self, node: ast.expr, found: Expression, wanted: Int | tree.Counter
    ) -> Expression:
        """Give a number without a width the type *wanted*; other expressions stay as they are."""
        if not isinstance(found, tree.NumberValue) or found.type is not LITERAL:
            return found
        low, high = bounds(
            wanted.number if isinstance(wanted, tree.Counter) else wanted
        )
        if not low <= found.value <= high:
            return self.refuse(node, f"{found.value} does not fit {type_name(wanted)}")
        return tree.NumberValue(found.value, wanted)

    # --- names

    def constant(self, node: ast.Constant) -> Expression:
        value = node.value
        if isinstance(value, bytes):
            return self.data.fixed(node)
        if value is True or value is False:
            return tree.Flag(value)
        if isinstance(value, int):
            return tree.NumberValue(value, LITERAL)
        if value is None:
            return tree.NoneValue()
        raise self.stopped(node, f"bodies have no values like {ast.unparse(node)}")

    def name(self, node: ast.Name) -> Expression:
        name, context = node.id, self.context
        if name in context.arguments:
            return self.argument(node, name, context.arguments[name])
        hint = f"use {name}.address or one of its fields"
        self.need(
            name not in context.accounts, node, f"an account is not a value: {hint}"
        )
        if name in context.local_names:
            return self._local(node, name)
        return self._of_spec(node, name)

    def argument(self, node: ast.expr, name: str, kind: BodyType) -> Expression:
        hint = f"go over it with `for`, or ask len({name})"
        self.need(not self._is_sequence(kind), node, f"{name!r} is not a value: {hint}")
        why = f"{name!r} is {type_name(kind)}, which cannot be used in a body yet"
        self.need(self.context.scope.is_usable(kind), node, why)
        return self._if_there(tree.Argument(name, optional(kind)))

    def _if_there(self, found: tree.Argument | tree.LocalName) -> Expression:
        """Return an optional value without its None, if a condition has shown that it is there."""
        is_there = (found.name, "there") in self.context.facts
        if not isinstance(found.type, Option) or not is_there:
            return found
        return tree.Present(found, found.type.item)

    def _is_sequence(self, kind: BodyType | None) -> bool:
        return isinstance(kind, tree.Accounts) or self.context.scope.is_list(kind)

    def sequence(self, node: ast.expr) -> tree.Argument | None:
        """Return the list, or the accounts after the named ones, that *node* names; None for other expressions."""
        kind = (
            self.context.arguments.get(node.id) if isinstance(node, ast.Name) else None
        )
        if (
            not isinstance(node, ast.Name)
            or kind is None
            or not self._is_sequence(kind)
        ):
            return None
        return tree.Argument(node.id, kind)

    def _local(self, node: ast.expr, name: str) -> Expression:
        why = f"{name!r} may have no value here: assign it on every path"
        if self.context.locals.get(name, _NO_LOCAL).type is tree.DATA:
            why = f"{why}, and again after a call of another program"
        self.need(name in self.context.assigned, node, why)
        return self._if_there(tree.LocalName(name, self.context.locals[name].type))

    def _of_spec(self, node: ast.expr, name: str) -> Expression:
        match self.context.meaning(node):
            case ConstantName(value=bytes(value), type=kind):
                return (
                    tree.FixedAddress(value)
                    if kind == PUBKEY
                    else tree.FixedBytes(value, kind)
                )
            case ConstantName(value=int(value), type=kind):
                return self._number_constant(node, value, kind)
            case ErrorName():
                raise self.stopped(
                    node, f"an error is not a value: write raise {ast.unparse(node)}"
                )
            case None:
                missing = self.context.scope.missing_import(node)
                self.need(not missing, node, missing)
                known = [
                    *self.context.arguments,
                    *self.context.accounts,
                    *self.context.assigned,
                ]
                raise self.stopped(
                    node, f"{name!r} is not known here. {suggest(name, known)}".strip()
                )
        raise self.stopped(node, f"{ast.unparse(node)} is not a value")

    def _number_constant(
        self, node: ast.expr, value: int, kind: BodyType
    ) -> Expression:
        if kind == BOOL:
            return tree.Flag(bool(value))
        can_hold = kind is LITERAL or self.context.scope.is_usable(kind)
        self.need(can_hold, node, f"{type_name(kind)} cannot be used in a body")
        return tree.NumberValue(value, kind)

    def attribute(self, node: ast.Attribute) -> Expression:
        match node.value:
            case ast.Name(name) if name in self.context.accounts:
                return self._of_account(node, name, self.context.accounts[name])
            case ast.Name("self") if self.context.is_method:
                return self._member(node)
        owner = self.context.meaning(node.value)
        if isinstance(owner, NumberName) and node.attr in ("MIN", "MAX"):
            return tree.NumberValue(bounds(owner.type)[node.attr == "MAX"], owner.type)
        if isinstance(owner, TypeName):
            return self._variant(node, owner.type)
        if self.context.meaning(node) is not None:
            return self._of_spec(node, node.attr)
        return self._of_value(node)

    def _member(self, node: ast.Attribute) -> Expression:
        if self.context.meaning(node) is None:
            near = suggest(node.attr, list(self.context.scope.members))
            raise self.stopped(
                node, f"the program has no {node.attr!r}. {near}".strip()
            )
        return self._of_spec(node, node.attr)

    def _of_account(
        self, node: ast.Attribute, name: str, account: Account
    ) -> Expression:
        self.context.need_there(node.value, account)
        of_tokens = token_fields(self.context, account)
        if node.attr in of_tokens:
            kind = kind_of(self.context, account) or ""
            return tree.TokenField(name, kind, node.attr, of_tokens[node.attr])
        fields = self.context.scope.state_fields(account) or {}
        is_gone = node.attr != "address" and name in self.context.closed
        self.need(not is_gone, node, f"{name} is closed: it has no state any more")
        if node.attr in fields:
            why = "this state has a field `address`: give it another name"
            self.need(node.attr != "address", node, why)
            return self.state_field(node, name, fields[node.attr])
        read = self.data.of_account(node, name, account)
        if read is not None:
            return read
        if node.attr == "bump" and self.context.is_method and _has_bump(account):
            self.context.need_required(node.value, name, "a body cannot use its bump")
            return tree.Bump(name)
        if node.attr == "address":
            why = "a helper knows no address of state: give it one as an argument"
            self.need(self.context.is_method or account.rules.state is None, node, why)
            return tree.Address(name)
        raise self.stopped(
            node, self._no_field(node.attr, name, account, fields | of_tokens)
        )

    def _no_field(
        self, attr: str, name: str, account: Account, fields: dict[str, Type]
    ) -> str:
        """Return why an account has no field *attr*."""
        if not fields and account.rules.state:
            return f"the state of {name} has no fixed size: bodies cannot read it yet"
        return f"{name} has no field {attr!r}. {suggest(attr, ['address', *fields])}".strip()

    def state_field(self, node: ast.Attribute, name: str, kind: Type) -> Expression:
        why = f"{name}.{node.attr} is {type_name(kind)}, which cannot be used in a body yet"
        self.need(self.context.scope.is_usable(kind), node, why)
        return tree.StateField(name, node.attr, optional(kind))

    def _variant(self, node: ast.Attribute, kind: Link) -> Expression:
        variants = self.context.scope.variants(kind)
        near = suggest(node.attr, variants)
        why = f"{kind.name} has no variant {node.attr!r} without values. {near}".strip()
        self.need(node.attr in variants, node, why)
        return tree.VariantValue(node.attr, kind)

    def _of_value(self, node: ast.Attribute) -> Expression:
        found = self.value(node.value)
        self.known(found)
        self.there(node.value, found)
        fields = self.context.scope.struct_fields(found.type)
        if node.attr in fields:
            return tree.FieldOf(found, node.attr, fields[node.attr])
        if found.type is tree.EXTENSION and node.attr == "kind":
            return tree.ExtensionKind(found)
        has_field = found.type is tree.CLOCK and node.attr in tree.CLOCK_FIELDS
        self.need(has_field, node, f"{type_name(found.type)} has no {node.attr!r}")
        return tree.ClockField(found, node.attr, tree.CLOCK_FIELDS[node.attr])

    # --- operators

    def operands(
        self, left: ast.expr, right: ast.expr
    ) -> tuple[Expression, Expression, BodyType]:
        """Return two operands and their common type; a literal takes the type of the other one. Neither may be None."""
        a, b, kind = self._sides(left, right)
        self.there(left, a)
        self.there(right, b)
        return a, b, kind

    def _sides(
        self, left: ast.expr, right: ast.expr
    ) -> tuple[Expression, Expression, BodyType]:
        """Return two values and their common type, of which each may be None."""
        a, b = self.value(left), self.value(right)
        of_a, of_b = without_none(a.type), without_none(b.type)
        if isinstance(of_a, _NUMBERS):
            b = self.as_literal(right, b, of_a)
        elif isinstance(of_b, _NUMBERS):
            a = self.as_literal(left, a, of_b)
        self.known(a, b)
        for side, found in ((left, a), (right, b)):
            self.need(found.type is not NONE, side, _NOT_NONE)
        names = f"{type_name(a.type)} and {type_name(b.type)}"
        hint = f", as in {type_name(a.type)}(…)" if isinstance(a.type, Int) else ""
        why = f"{names} do not mix: convert one of them{hint}"
        if tree.DATA in (a.type, b.type) and (is_bytes(of_a) or is_bytes(of_b)):
            why = _NO_ALL_DATA
        for side, found, other in ((left, a, of_b), (right, b, of_a)):
            if isinstance(found.type, tree.Counter) and isinstance(other, Int):
                why = f"{names} do not mix: {self.converted(side, other)}"
        kind = without_none(a.type)
        self.need(kind == without_none(b.type), right, why)
        return a, b, kind

    def binary(self, node: ast.BinOp) -> Expression:
        operator = type(node.op)
        if operator in _NO_OPERATOR:
            self.refuse(node, _NO_OPERATOR[operator])
            self.operands(node.left, node.right)
            raise Stopped
        left, right, kind = self.operands(node.left, node.right)
        if kind is LITERAL:
            return self._folded(node, left, right)
        why = f"{type_name(kind)} has no such operator"
        if isinstance(kind, tree.Counter):
            side = node.left if left.type == kind and _is_counted(left) else node.right
            why = f"{why}: {self.converted(side, kind.number)}"
        number = self.context.number(node, kind, why)
        if operator in _BITS:
            return tree.Bits(_BITS[operator], left, right, number)
        return self.arithmetic(node, _CHECKED[operator], "checked", left, right, number)

    def _folded(
        self, node: ast.BinOp, left: Expression, right: Expression
    ) -> Expression:
        """Two numbers without a width, such as `24 * 60`: another number without a width."""
        assert isinstance(left, tree.NumberValue)
        assert isinstance(right, tree.NumberValue)
        self.need(
            type(node.op) in _FOLDS, node, "the numbers have no width: write u64(…)"
        )
        return tree.NumberValue(_FOLDS[type(node.op)](left.value, right.value), LITERAL)

    def arithmetic(
        self,
        node: ast.expr,
        operation: Literal["add", "sub", "mul", "div", "rem"],
        how: Literal["checked", "wrapping", "saturating"],
        left: Expression,
        right: Expression,
        kind: Int,
    ) -> Expression:
        self.need(
            not (kind.signed and operation in ("div", "rem")), node, _SIGNED_DIVISION
        )
        is_i128_product = (kind, operation) == (Int(128, signed=True), "mul")
        self.need(not is_i128_product, node, _NO_I128_PRODUCT)
        return tree.Arithmetic(operation, how, left, right, self.context.overflow, kind)

    def unary(self, node: ast.UnaryOp) -> Expression:
        if isinstance(node.op, ast.Not):
            return tree.Not(self.condition(node.operand))
        found = self.value(node.operand)
        self.known(found)
        self.there(node.operand, found)
        self.need(
            isinstance(node.op, ast.USub), node, "bodies have no + or ~ before a value"
        )
        if isinstance(found, tree.NumberValue) and found.type is LITERAL:
            return tree.NumberValue(-found.value, LITERAL)
        why = f"{type_name(found.type)} has no negative"
        kind = self.context.number(node, found.type, why)
        self.need(kind.signed, node, why)
        return tree.Negate(found, self.context.overflow, kind)

    def comparison(self, node: ast.Compare) -> Expression:
        sides = [node.left, *node.comparators]
        parts = [
            self._compared(op, left, right)
            for op, left, right in zip(node.ops, sides, sides[1:], strict=False)
        ]
        for middle, part in zip(sides[1:-1], parts, strict=False):
            if isinstance(part, tree.Compare) and not is_simple(part.right):
                why = "the middle of a chained comparison must be a name, a field or a number"
                self.refuse(middle, f"{why}: assign it first")
        return parts[0] if len(parts) == 1 else tree.Logic("&&", tuple(parts))

    def _compared(self, op: ast.cmpop, left: ast.expr, right: ast.expr) -> Expression:
        if type(op) in _NO_COMPARISON:
            if isinstance(right, ast.Constant) and right.value is None:
                missing = self._is_none(left)
                return tree.Not(missing) if isinstance(op, ast.IsNot) else missing
            self.value(left)
            raise self.stopped(right, _NO_COMPARISON[type(op)])
        sign = _SIGNS[type(op)]
        for side in (left, right):
            is_none = isinstance(side, ast.Constant) and side.value is None
            self.need(not is_none, side, _NOT_NONE)
        find = self._sides if sign in ("==", "!=") else self.operands
        a, b, kind = find(left, right)
        if isinstance(b, tree.TokenField) and isinstance(b.type, Option):
            a, b = b, a
        self.need(
            kind is not LITERAL, left, "both numbers are written out: compare a value"
        )
        has_equality = kind in (BOOL, PUBKEY) or is_bytes(kind) or self.is_enum(kind)
        is_equality = has_equality and sign in ("==", "!=")
        why = f"{type_name(kind)} has no order: use == or !="
        if self.context.scope.struct_fields(kind):
            why = "structs are not compared: compare their fields"
        self.need(kind is not tree.DATA, right, _NO_ALL_DATA)
        self.need(isinstance(kind, _NUMBERS) or is_equality, right, why)
        return tree.Compare(sign, a, b)

    def _is_none(self, node: ast.expr) -> Expression:
        """`value is None`, or `account is None`."""
        if isinstance(node, ast.Name) and node.id in self.context.declared:
            why = f"{node.id} is never None: only an account with `| None` may be left out"
            self.need(self.context.declared[node.id].optional, node, why)
            return tree.IsAbsent(node.id)
        found = self.value(node)
        self.known(found)
        found = found.value if isinstance(found, tree.Present) else found
        self.need(
            isinstance(found.type, Option), node, f"{ast.unparse(node)} is never None"
        )
        return tree.IsNone(found)

    def is_enum(self, kind: BodyType) -> bool:
        """Return whether the type is an enum of the program."""
        return bool(self.context.scope.variants(kind))

    def logic(self, node: ast.BoolOp) -> Expression:
        """A later condition knows what the earlier ones have shown."""
        sign = _JOINS[type(node.op)]
        parts: list[Expression] = []
        for value in node.values:
            before = [known for part in parts for known in learned(part, sign == "&&")]
            with self.context.knowing(before):
                parts.append(self.condition(value))
        return tree.Logic(sign, tuple(parts))

    def choice(self, node: ast.IfExp) -> Expression:
        test = self.condition(node.test)
        with self.context.knowing(learned(test, True)):
            yes = self.value(node.body)
        with self.context.knowing(learned(test, False)):
            no = self.value(node.orelse)
        yes = self._alike(node.body, yes, no)
        no = self._alike(node.orelse, no, yes)
        # Once more: a None on the other side has a type only now.
        yes = self._alike(node.body, yes, no)
        for side, found in ((node.body, yes), (node.orelse, no)):
            why = f"{ast.unparse(side)} has no width: write u64(…)"
            self.need(found.type is not LITERAL, side, why)
            why = "None needs a value on the other side, as in u64(1) if x else None"
            self.need(found.type is not NONE, side, why)
        self.known(yes, no)
        names = f"{type_name(yes.type)} and {type_name(no.type)}"
        why = f"both values need one type, got {names}"
        self.need(yes.type == no.type, node.orelse, why)
        return tree.Choice(test, yes, no, yes.type)

    def _alike(
        self, node: ast.expr, found: Expression, other: Expression
    ) -> Expression:
        """Return one of two values, which may be None if the other one may be or is."""
        wanted: BodyType | None = other.type
        if other.type is NONE:
            wanted = self.context.scope.option_of(found.type)
        if isinstance(wanted, Option):
            return self.as_optional(node, found, wanted)
        return found

    def call(self, node: ast.Call) -> Expression:
        found = self._call(node)
        self.need(
            found.type is not NOTHING, node, f"{ast.unparse(node.func)}(…) has no value"
        )
        return found


def _is_counted(found: Expression) -> bool:
    """Return whether an expression is an int in Python, and no written number."""
    return isinstance(found.type, tree.Counter) and not isinstance(
        found, tree.NumberValue
    )


def _has_bump(account: Account) -> bool:
    """Return whether an account's address is derived from seeds of this program, and no state stores its bump."""
    pda = account.pda
    return pda is not None and pda.program is None and account.rules.state is None


_SIMPLE = (
    tree.Unknown,
    tree.NumberValue,
    tree.Flag,
    tree.FixedAddress,
    tree.VariantValue,
    tree.LocalName,
    tree.Argument,
    tree.Address,
    tree.StateField,
    tree.ExtensionKind,
)


def is_simple(node: Expression) -> bool:
    """Return whether an expression is a name, a field or a written value, which costs nothing to repeat."""
    if isinstance(node, (tree.FieldOf, tree.Present)):
        return is_simple(node.value)
    return isinstance(node, _SIMPLE)


#: Each takes its own kind of node.
_CHECKS: dict[type[ast.expr], Callable[[Expressions, Any], Expression]] = {
    ast.Constant: Expressions.constant,
    ast.Name: Expressions.name,
    ast.Attribute: Expressions.attribute,
    ast.BinOp: Expressions.binary,
    ast.UnaryOp: Expressions.unary,
    ast.Compare: Expressions.comparison,
    ast.BoolOp: Expressions.logic,
    ast.IfExp: Expressions.choice,
    ast.Call: Expressions.call,
    ast.Subscript: lambda checks, node: checks.data.subscript(node),
}
