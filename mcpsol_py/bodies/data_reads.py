"""Checks the reads of data in a body: the bytes of accounts, and of the transaction's instructions."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.data import READS
from mcpsol_py.bodies.scope import Word, is_bytes, type_name
from mcpsol_py.bodies.tree import DATA, BodyType, Expression, Statement, find
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import INTS, PUBKEY, U8, U64, Array, Type
from mcpsol_py.solana import ids

if TYPE_CHECKING:
    from mcpsol_py.bodies.expressions import Expressions

__all__ = ["DATA_METHODS", "TRANSACTION_METHODS", "DataReads", "calls_programs"]

#: The methods of data, and the types that they return.
DATA_METHODS: dict[str, Type] = {
    **{name: INTS[name] for name in READS},
    "pubkey": PUBKEY,
}
_Method: TypeAlias = Literal["program_at", "data_at"]
#: The methods of the instructions sysvar.
TRANSACTION_METHODS: dict[str, BodyType] = {"program_at": PUBKEY, "data_at": DATA}
_LENGTH = tree.Counter(U64, "a length")


def calls_programs(statements: Iterable[Statement]) -> bool:
    """Return whether these statements call another program, or close an account."""
    return any(find(statements, tree.CALLS))


class DataReads:
    """Checks the reads of data in one function."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self.context = expressions.context
        self.refuse, self.need, self.stopped = (
            expressions.refuse,
            expressions.need,
            expressions.stopped,
        )

    # --- accounts

    def of_account(
        self, node: ast.Attribute, name: str, account: Account
    ) -> Expression | None:
        """`account.data`, `account.program`, `sysvar.current_index`; None for other attributes."""
        if node.attr == "current_index" and _is_instructions(account):
            return tree.TransactionRead(name, "current_index", None, INTS["u16"])
        if node.attr not in ("data", "program") or account.rules.state is not None:
            return None
        is_known = bool(
            account.address or account.rules.one_of or account.rules.executable
        )
        why = f"{name} is a program or a sysvar: bodies read the data of other accounts"
        self.need(not is_known, node, why)
        if node.attr == "program":
            return tree.AccountProgram(name)
        self.context.need_closed(node, name)
        is_signer = account.signer and not self.context.is_method
        self.need(not is_signer, node, f"{name} only signs here: take it as Unchecked")
        return tree.AccountData(name)

    def of_transaction(self, node: ast.Call, name: str, method: str) -> Expression:
        """`sysvar.program_at(index)` and `sysvar.data_at(index)`. Raises Stopped."""
        account = self.context.accounts[name]
        why = f"{name} is not the instructions sysvar: declare it as Instructions"
        self.need(_is_instructions(account) and not account.optional, node, why)
        self._positional(node)
        at, u16 = node.args[0], INTS["u16"]
        index = self.expressions.as_literal(at, self.expressions.value(at), u16)
        index = self.expressions.fits(at, index, u16)
        kind = TRANSACTION_METHODS[method]
        return tree.TransactionRead(name, cast(_Method, method), index, kind)

    def _positional(self, node: ast.Call) -> None:
        given = (
            len(node.args),
            len(node.keywords),
            ast.Starred in map(type, node.args),
        )
        why = f"{ast.unparse(node.func)}(…) takes 1 argument by position"
        self.need(given == (1, 0, False), node, why)

    # --- data

    def _data(self, node: ast.expr) -> Expression:
        """Return the tree of an expression that is data. Raises Stopped."""
        match node:
            case ast.Call(func, [_], []) if self.context.meaning(func) == Word("Data"):
                return self._bytes(node.args[0])
        found = self.expressions.value(node)
        self.expressions.known(found)
        shown = ast.unparse(node)
        hint = f"write Data({shown})" if is_bytes(found.type) else "it has no bytes"
        self.need(found.type is DATA, node, f"expected data, got {shown}: {hint}")
        return found

    def _bytes(self, node: ast.expr) -> Expression:
        """Return the data of `Data(bytes)`, which bodies read but do not keep. Raises Stopped."""
        found = self.expressions.value(node)
        self.expressions.known(found)
        why = f"expected bytes of a fixed length, got {type_name(found.type)}"
        self.need(is_bytes(found.type), node, why)
        return tree.BytesData(found)

    def method(self, node: ast.Call, receiver: ast.expr, name: str) -> Expression:
        """`data.u64(at)`, `data.u64(at, big_endian=True)`."""
        data, kind = self._data(receiver), DATA_METHODS[name]
        match node.keywords:
            case [ast.keyword("big_endian", ast.Constant(bool(value)))] if (
                kind != PUBKEY
            ):
                is_big = value
                node = ast.copy_location(ast.Call(node.func, node.args, []), node)
            case _:
                is_big = False
        self._positional(node)
        return tree.DataRead(data, self._offset(node.args[0]), kind, is_big)

    def length(self, node: ast.Call) -> Expression:
        """`len(data)` and `len(items)`."""
        self._positional(node)
        sequence = self.expressions.sequence(node.args[0])
        if sequence is not None:
            return tree.DataLength(sequence, _LENGTH)
        return tree.DataLength(self._data(node.args[0]), _LENGTH)

    def subscript(self, node: ast.Subscript) -> Expression:
        """`data[at]` and `data[start:stop]`."""
        data = self._data(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._part(node, node.slice, data)
        return tree.DataRead(data, self._offset(node.slice), U8)

    def _part(
        self, node: ast.Subscript, part: ast.Slice, data: Expression
    ) -> Expression:
        """A part with two written bounds has a fixed length, and is a value; another one is data."""
        if part.step is not None:
            raise self.stopped(part.step, "a part of data has no step")
        zero = ast.copy_location(ast.Constant(0), node)
        start = self._offset(part.lower or zero)
        is_data = not isinstance(data, tree.BytesData)
        why = "a part of bytes has two written bounds, as in Data(x)[0:8]"
        if part.upper is None:
            self.need(is_data, node, why)
            return tree.DataPart(data, start, None)
        stop = self._offset(part.upper)
        if not isinstance(start, tree.NumberValue) or not isinstance(
            stop, tree.NumberValue
        ):
            self.need(is_data, node, why)
            return tree.DataPart(data, start, stop)
        count = stop.value - start.value
        self.need(count > 0, node, f"{ast.unparse(node)} has no bytes")
        self.context.need_room(node, count)
        return tree.DataRead(data, start, Array(U8, count))

    def _offset(self, node: ast.expr) -> Expression:
        """Return an offset: a number without a width, or u64."""
        is_negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        why = "an offset is not negative: it counts from the first byte"
        self.need(not is_negative, node, why)
        found = self.expressions.as_literal(node, self.expressions.value(node), U64)
        self.expressions.known(found)
        return self.expressions.fits(node, found, U64)

    def fixed(self, node: ast.Constant) -> Expression:
        """`b"…"`."""
        assert isinstance(node.value, bytes)
        self.need(bool(node.value), node, "expected at least one byte, got none")
        return tree.FixedBytes(node.value, Array(U8, len(node.value)))

    # --- for how long

    def end(self, statements: Iterable[Statement]) -> None:
        """Forget the data that local variables hold if *statements* call another program, which may change it."""
        if calls_programs(statements):
            self.context.assigned -= self._held()

    def end_in_loop(
        self, node: ast.For, before: set[str], body: tuple[Statement, ...]
    ) -> None:
        """Refuse a loop that calls programs and uses data that was read before it."""
        if not calls_programs(body):
            return
        used = (
            {each.name for each in find(body, tree.LocalName)} & before & self._held()
        )
        for name in sorted(used):
            self.refuse(
                node, f"a loop that calls a program reads data itself: {name!r} is old"
            )

    def _held(self) -> set[str]:
        """Return the names of local variables that hold data."""
        return {
            name for name, found in self.context.locals.items() if found.type is DATA
        }


def _is_instructions(account: Account) -> bool:
    return account.address == ids.INSTRUCTIONS_SYSVAR
