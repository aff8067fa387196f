"""Expressions of bodies as Rust."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeGuard

from mcpsol_py.bodies import tree
from mcpsol_py.bodies.scope import type_name
from mcpsol_py.bodies.token_reads import without_none
from mcpsol_py.bodies.tree import BodyType, Expression
from mcpsol_py.model.types import BOOL, PUBKEY, Array, Int, Link, Option
from mcpsol_py.render.handlers.dialects import NOT_THERE, Dialect
from mcpsol_py.render.handlers.names import RustNames
from mcpsol_py.render.rust import byte_array, number

__all__ = ["Expressions", "Level", "Text", "is_bundled"]

#: The words that a helper's arguments take at most; more are one tuple. The SVM passes five, and one is for the result.
_MOST_WORDS = 4
#: The expressions that dereference an address.
_REFERENCES = (tree.AccountProgram, tree.DataRead, tree.TransactionRead)
#: How functions of a crate call token accounts and mints.
_TOKEN_NAMES = {"account": "token", "mint": "mint"}
#: The error of an overflow for which the body names none.
_OVERFLOW = "ProgramError::ArithmeticOverflow"


def is_list(kind: BodyType) -> TypeGuard[Array]:
    """Return whether a type is a list: its number of items is not fixed."""
    return isinstance(kind, Array) and not isinstance(kind.count, int)


def is_bundled(arguments: Iterable[BodyType]) -> bool:
    """Return whether a helper takes its arguments as one tuple, because they do not fit the SVM's words."""
    return sum(map(_words, arguments)) > _MOST_WORDS


def _words(kind: BodyType) -> int:
    """Return the most words in which Rust passes a value: two for wide numbers, data and small structs."""
    if isinstance(kind, Option):
        return 1 + _words(kind.item)
    is_wide = isinstance(kind, Int) and kind.bits > 64
    is_slice = kind is tree.DATA or is_list(kind)
    return 2 if is_wide or is_slice or isinstance(kind, Link) else 1


class Level(IntEnum):
    """How tightly the parts of an expression hold together. Beside an operator, a lower level needs parentheses."""

    BINARY = 0
    UNARY = 1
    ATOM = 2


@dataclass(frozen=True, slots=True)
class Text:
    """A Rust expression."""

    code: str
    level: Level = Level.ATOM

    def at(self, level: Level) -> str:
        """The expression where at least *level* is needed."""
        return self.code if self.level >= level else f"({self.code})"


class Expressions:
    """Writes the expressions of one function."""

    def __init__(self, names: RustNames, dialect: Dialect) -> None:
        self.names = names
        self.dialect = dialect

    def text(self, node: Expression) -> Text:
        """The expression as a value."""
        return _WRITERS[type(node)](self, node)

    def code(self, node: Expression) -> str:
        """The expression in a place without an operator beside it."""
        return self.text(node).code

    def typed(self, node: Expression) -> Text:
        """The expression in a place from which Rust cannot infer its type: a number gets a suffix."""
        if isinstance(node, tree.NumberValue):
            level = Level.ATOM if node.value >= 0 else Level.UNARY
            return Text(f"{number(node.value)}_{type_name(node.type)}", level)
        return self.text(node)

    def receiver(self, node: Expression) -> str:
        """The expression before a method's name, or on the left of an operator."""
        return self.typed(node).at(Level.ATOM)

    def reference(self, node: Expression) -> str:
        """A reference to an address."""
        if isinstance(node, tree.Address):
            return self.dialect.address_reference(self.names.accounts[node.account])
        if isinstance(node, _REFERENCES):
            return self.code(node).removeprefix("*")
        return f"&{self.text(node).at(Level.ATOM)}"

    def type(self, node: BodyType) -> str:
        """The Rust type of a value."""
        if node is tree.CLOCK:
            return self.dialect.clock
        if node is tree.DATA:
            return "&[u8]"
        if isinstance(node, tree.Counter):
            return type_name(node.number)
        if is_list(node):
            return f"&[{self.type(node.item)}]"
        if isinstance(node, Array):
            return f"[u8; {node.count}]"
        if isinstance(node, Link):
            return self.names.types[node.name].type
        if isinstance(node, Option):
            return f"Option<{self.type(node.item)}>"
        return self.dialect.address_type if node == PUBKEY else type_name(node)

    def error(self, name: str | None) -> str:
        """The error of an overflow."""
        return _OVERFLOW if name is None else self.names.errors[name]

    # --- values

    def number_value(self, node: tree.NumberValue) -> Text:
        return Text(number(node.value), Level.ATOM if node.value >= 0 else Level.UNARY)

    def flag(self, node: tree.Flag) -> Text:
        return Text("true" if node.value else "false")

    def fixed_address(self, node: tree.FixedAddress) -> Text:
        made = f"{self.dialect.address_type}::new_from_array({byte_array(node.value)})"
        return Text(f"const {{ {made} }}")

    def local(self, node: tree.LocalName) -> Text:
        return Text(self._again(self.names.locals[node.name], node.type))

    def argument(self, node: tree.Argument) -> Text:
        if is_list(node.type):
            return Text(f"&{self.names.arguments[node.name]}[..]", Level.UNARY)
        return _maybe_dereferenced(
            self._again(self.names.arguments[node.name], node.type)
        )

    def _again(self, place: str, kind: BodyType) -> str:
        """A value that stays where it is."""
        is_made = isinstance(without_none(kind), Link)
        return f"{place}{self.dialect.duplicate}" if is_made else place

    def address(self, node: tree.Address) -> Text:
        return _maybe_dereferenced(
            self.dialect.address(self.names.accounts[node.account])
        )

    def variant_value(self, node: tree.VariantValue) -> Text:
        names = self.names.types[node.type.name]
        return Text(f"{names.type}::{names.fields[node.name]}")

    def make_struct(self, node: tree.MakeStruct) -> Text:
        names = self.names.types[node.type.name]
        parts = [
            _field(names.fields[name], self.code(value)) for name, value in node.values
        ]
        return Text(f"{names.type} {{ {', '.join(parts)} }}", Level.BINARY)

    def field_of(self, node: tree.FieldOf) -> Text:
        assert isinstance(node.value.type, Link)
        name = self.names.types[node.value.type.name].fields[node.name]
        place = f"{self.text(node.value).at(Level.ATOM)}.{name}"
        return Text(self._again(place, node.type))

    def state_argument(self, node: tree.StateArgument) -> Text:
        text = self.dialect.state_argument(
            self.names, node.account, writes=node.type.writable
        )
        return Text(text, Level.UNARY)

    def state_field(self, node: tree.StateField) -> Text:
        place = self.dialect.field(self.names, node.account, node.name)
        return Text(self._again(place, node.type))

    def account_argument(self, node: tree.AccountArgument) -> Text:
        return Text(
            self.dialect.account_argument(self.names, node.account), Level.UNARY
        )

    def token_field(self, node: tree.TokenField) -> Text:
        function = f"{_TOKEN_NAMES[node.kind]}_{node.name}"
        return Text(self.dialect.ask(function, self.names.accounts[node.account]) + "?")

    def is_kind(self, node: tree.IsKind) -> Text:
        program = self.dialect.address_reference(self.names.accounts[node.program])
        account = self.names.accounts[node.account]
        return Text(
            self.dialect.ask(f"is_{_TOKEN_NAMES[node.kind]}", account, program) + "?"
        )

    def is_owned(self, node: tree.IsOwned) -> Text:
        account, program = (
            self.names.accounts[node.account],
            self.reference(node.program),
        )
        return Text(self.dialect.ask("is_owned", account, program))

    def find_address(self, node: tree.FindAddress) -> Text:
        seeds = ", ".join(map(self._bytes_of, node.seeds))
        return Text(f"crate::pda::find(&[{seeds}], {self.reference(node.program)})?")

    def is_before(self, node: tree.IsBefore) -> Text:
        left, right = (
            f"{self.reference(each).removeprefix('&')}.as_array()"
            for each in (node.left, node.right)
        )
        return Text(f"{left} < {right}", Level.BINARY)

    def is_new(self, node: tree.IsNew) -> Text:
        return Text(self.dialect.is_new(self.names.accounts[node.account]))

    def is_absent(self, node: tree.IsAbsent) -> Text:
        return Text(f"{self.names.optional[node.account]}.is_none()")

    def bump(self, node: tree.Bump) -> Text:
        return Text(self.names.bumps[node.account])

    def is_none(self, node: tree.IsNone) -> Text:
        return Text(f"{self.receiver(node.value)}.is_none()")

    def none_value(self, node: tree.NoneValue) -> Text:
        return Text("None")

    def some_of(self, node: tree.SomeOf) -> Text:
        return Text(f"Some({self.code(node.value)})")

    def present(self, node: tree.Present) -> Text:
        """A condition has shown that it is there, so LLVM leaves the error out."""
        return Text(f"{self.receiver(node.value)}.ok_or({NOT_THERE})?")

    def is_on_curve(self, node: tree.IsOnCurve) -> Text:
        return Text(f"{self.reference(node.address).removeprefix('&')}.is_on_curve()")

    def range(self, node: tree.Range) -> Text:
        start = self.text(node.start).at(Level.ATOM)
        return Text(f"{start}..{self.typed(node.stop).at(Level.ATOM)}", Level.BINARY)

    def items(self, node: tree.Items) -> Text:
        each = f"{self.names.arguments[node.sequence.name]}.iter()"
        if isinstance(node.type, tree.AccountItem):
            return Text(each)
        is_cloned = isinstance(node.type, Link) and bool(self.dialect.duplicate)
        return Text(f"{each}.{'cloned' if is_cloned else 'copied'}()")

    def turns(self, loop: tree.For | tree.Quantified) -> str:
        """What a loop goes over, as an iterator."""
        parts = loop.over.parts if isinstance(loop.over, tree.Zip) else (loop.over,)
        *others, joined = map(self.code, parts)
        for other in reversed(others):
            joined = f"crate::items::zip({other}, {joined})?"
        return joined if loop.index is None else f"(0_u64..).zip({joined})"

    def pattern(self, loop: tree.For | tree.Quantified) -> str:
        """The variables of a loop."""
        *others, pattern = (self.names.locals[name] for name in loop.names)
        for name in reversed(others):
            pattern = f"({name}, {pattern})"
        if loop.index is None:
            return pattern
        return f"({self.names.locals[loop.index]}, {pattern})"

    def quantified(self, node: tree.Quantified) -> Text:
        decides = "Ok"
        if node.condition is not None:
            decides = f"|{self.pattern(node)}| {self._decides(node, node.condition)}"
        return Text(f"crate::items::{node.which}({self.turns(node)}, {decides})?")

    def _decides(self, node: tree.Quantified, condition: Expression) -> str:
        """Whether the condition holds for one item, whose state is borrowed for it."""
        read = {each.account for each in tree.find([condition], tree.USES_STATE)}
        borrows = [
            line
            for name in node.names
            if name in read
            for line in self.dialect.borrow(self.names, name, writes=False)
        ]
        holds = f"Ok({self.code(condition)})"
        return "\n".join(["{", *borrows, holds, "}"]) if borrows else holds

    def extensions(self, node: tree.Extensions) -> Text:
        return Text(self.dialect.extensions(self.names.accounts[node.account]))

    def extension_kind(self, node: tree.ExtensionKind) -> Text:
        return Text(f"{self.receiver(node.extension)}.kind")

    def is_zero(self, node: tree.IsZero) -> Text:
        return Text(
            f"{self.receiver(node.extension)}.is_zero({node.start}, {node.stop})"
        )

    def clock_now(self, node: tree.ClockNow) -> Text:
        return Text(self.dialect.get_clock)

    def clock_field(self, node: tree.ClockField) -> Text:
        return Text(f"{self.text(node.clock).at(Level.ATOM)}.{node.name}")

    # --- operators

    def arithmetic(self, node: tree.Arithmetic) -> Text:
        divides = node.operation in ("div", "rem")
        right = self._divisor(node.right) if divides else self.code(node.right)
        call = f"{self.receiver(node.left)}.{node.how}_{node.operation}({right})"
        if node.how != "checked":
            return Text(call)
        return Text(f"{call}.ok_or({self.error(node.error)})?")

    def _divisor(self, node: Expression) -> str:
        """What a number is divided by.

        LLVM takes a division for one that cannot fail, and may move it out of a loop and before the check of its
        divisor. The SVM then ends the call. A number that LLVM does not know to be the same in each turn stays there.
        Wider numbers are divided by a call, which LLVM leaves in its place.
        """
        text = self.code(node)
        is_one_word = isinstance(node.type, Int) and node.type.bits <= 64
        may_move = is_one_word and not isinstance(node, tree.NumberValue)
        return f"core::hint::black_box({text})" if may_move else text

    def bits(self, node: tree.Bits) -> Text:
        left = self.receiver(node.left)
        return Text(
            f"{left} {node.sign} {self.text(node.right).at(Level.UNARY)}", Level.BINARY
        )

    def negate(self, node: tree.Negate) -> Text:
        return Text(
            f"{self.receiver(node.value)}.checked_neg().ok_or({self.error(node.error)})?"
        )

    def convert(self, node: tree.Convert) -> Text:
        wanted, value = type_name(node.type), self.typed(node.value).code
        if node.widens:
            return Text(f"{wanted}::from({value})")
        return Text(
            f"{wanted}::try_from({value}).map_err(|_| {self.error(node.error)})?"
        )

    def min_max(self, node: tree.MinMax) -> Text:
        return Text(f"{self.receiver(node.left)}.{node.which}({self.code(node.right)})")

    def compare(self, node: tree.Compare) -> Text:
        if isinstance(node.left.type, Option) or isinstance(node.right.type, Option):
            return self._compare_optional(node)
        if node.left.type == PUBKEY:
            left, right = self.reference(node.left), self.reference(node.right)
            same = self.dialect.same.format(a=left, b=right)
            level = Level.BINARY if "==" in same else Level.ATOM
            if node.sign == "==":
                return Text(same, level)
            return Text(f"!{Text(same, level).at(Level.ATOM)}", Level.UNARY)
        is_number = isinstance(node.left.type, Int)
        first = (
            self.receiver(node.left)
            if is_number
            else self.text(node.left).at(Level.UNARY)
        )
        return Text(
            f"{first} {node.sign} {self.text(node.right).at(Level.UNARY)}", Level.BINARY
        )

    def _compare_optional(self, node: tree.Compare) -> Text:
        """Two values, of which one or both may be None."""
        right = self.reference(node.right)
        if node.right.type == PUBKEY and "?" not in right:
            # A closure cannot end the handler.
            it = self.names.inner("it")
            condition = self.dialect.same.format(a=f"&{it}", b=right)
            same = Text(f"{self.receiver(node.left)}.is_some_and(|{it}| {condition})")
        else:
            joined = " == ".join(map(self._maybe, (node.left, node.right)))
            same = Text(joined, Level.BINARY)
        return (
            same if node.sign == "==" else Text(f"!{same.at(Level.ATOM)}", Level.UNARY)
        )

    def _maybe(self, node: Expression) -> str:
        """A value beside one that may be None."""
        if isinstance(node.type, Option):
            return self.text(node).at(Level.ATOM)
        return f"Some({self.code(node)})"

    def logic(self, node: tree.Logic) -> Text:
        parts = [self.text(part).at(Level.UNARY) for part in node.parts]
        return Text(f" {node.sign} ".join(parts), Level.BINARY)

    def negation(self, node: tree.Not) -> Text:
        return Text(f"!{self.text(node.value).at(Level.ATOM)}", Level.UNARY)

    def choice(self, node: tree.Choice) -> Text:
        yes, no = self.typed(node.yes).code, self.code(node.no)
        return Text(
            f"if {self.code(node.test)} {{ {yes} }} else {{ {no} }}", Level.BINARY
        )

    # --- data

    def fixed_bytes(self, node: tree.FixedBytes) -> Text:
        return Text(byte_array(node.value))

    def bytes_data(self, node: tree.BytesData) -> Text:
        return Text(f"&{self.text(node.value).at(Level.ATOM)}[..]", Level.UNARY)

    def state_bytes(self, node: tree.StateBytes) -> Text:
        return Text(self.dialect.state_bytes(self.names, node.account))

    def account_data(self, node: tree.AccountData) -> Text:
        return Text(f"crate::bytes::of({self._info(node.account)})?")

    def account_program(self, node: tree.AccountProgram) -> Text:
        return Text(f"*crate::bytes::program({self._info(node.account)})", Level.UNARY)

    def _info(self, account: str) -> str:
        return self.dialect.info(self.names.accounts[account])

    def data_read(self, node: tree.DataRead) -> Text:
        place = f"({self.code(node.data)}, {self.code(node.at)})?"
        if node.type == PUBKEY:
            return Text(f"*crate::bytes::address{place}", Level.UNARY)
        if isinstance(node.type, Array):
            return Text(f"crate::bytes::read::<{node.type.count}>{place}")
        order = "be" if node.big_endian else "le"
        read = f"crate::bytes::read{place}"
        return Text(f"{type_name(node.type)}::from_{order}_bytes({read})")

    def data_part(self, node: tree.DataPart) -> Text:
        data, start = self.code(node.data), self.code(node.start)
        if node.stop is None:
            return Text(f"crate::bytes::from({data}, {start})?")
        return Text(f"crate::bytes::part({data}, {start}, {self.code(node.stop)})?")

    def data_length(self, node: tree.DataLength) -> Text:
        if isinstance(node.data, tree.Argument) and node.data.type is not tree.DATA:
            return Text(
                f"crate::items::count({self.names.arguments[node.data.name]}.iter())"
            )
        return Text(f"crate::bytes::length({self.code(node.data)})")

    def hash(self, node: tree.Hash) -> Text:
        return Text(
            f"crate::hash::sha256(&[{', '.join(map(self._bytes_of, node.parts))}])"
        )

    def _bytes_of(self, node: Expression) -> str:
        """A reference to the bytes of a value."""
        if node.type is tree.DATA:
            return self.code(node)
        if is_list(node.type):
            return f"&{self.dialect.list_bytes(self.code(node), self._put(node.type.item))}?"
        if node.type == PUBKEY:
            return f"{self.reference(node).removeprefix('&')}.as_ref()"
        if node.type == BOOL:
            return f"&[u8::from({self.code(node)})]"
        if isinstance(node.type, Int):
            return f"&{self.receiver(node)}.to_le_bytes()"
        return f"&{self.text(node).at(Level.ATOM)}"

    def _put(self, kind: BodyType) -> str:
        """How an item of a list is written, as the body of a closure."""
        if isinstance(kind, Link):
            return "item.encode(w)"
        if kind == PUBKEY:
            return "w.put(item.as_ref())"
        if kind == BOOL:
            return "w.put(&[u8::from(*item)])"
        return "w.put(&item.to_le_bytes())"

    def transaction_read(self, node: tree.TransactionRead) -> Text:
        given = [self._info(node.account)]
        given += [] if node.index is None else [self.code(node.index)]
        call = f"crate::bytes::{node.what}({', '.join(given)})?"
        return Text(f"*{call}", Level.UNARY) if node.type == PUBKEY else Text(call)

    def helper_call(self, node: tree.HelperCall) -> Text:
        given = ", ".join(map(self.code, sorted(node.arguments, key=_is_state)))
        if is_bundled(each.type for each in node.arguments):
            given = f"({given})"
        call = f"crate::helpers::{self.names.helpers[node.name]}({given})"
        if node.error is None:
            return Text(f"{call}?")
        error = self.error(node.error)
        renamed = (
            f"if error == {self.dialect.overflow} {{ {error}.into() }} else {{ error }}"
        )
        return Text(f"{call}.map_err(|error| {renamed})?")


def _field(name: str, value: str) -> str:
    """Return a field of a struct that is made, short as rustfmt asks."""
    return name if value == name else f"{name}: {value}"


def _maybe_dereferenced(text: str) -> Text:
    return Text(text, Level.UNARY if text.startswith("*") else Level.ATOM)


def _is_state(node: Expression) -> bool:
    """State comes last, so that it is borrowed after the other arguments were read from it."""
    return isinstance(node, tree.StateArgument)


_WRITERS: dict[type, Callable[[Expressions, Any], Text]] = {
    tree.NumberValue: Expressions.number_value,
    tree.Flag: Expressions.flag,
    tree.FixedAddress: Expressions.fixed_address,
    tree.VariantValue: Expressions.variant_value,
    tree.MakeStruct: Expressions.make_struct,
    tree.FieldOf: Expressions.field_of,
    tree.StateArgument: Expressions.state_argument,
    tree.LocalName: Expressions.local,
    tree.Argument: Expressions.argument,
    tree.Address: Expressions.address,
    tree.StateField: Expressions.state_field,
    tree.AccountArgument: Expressions.account_argument,
    tree.TokenField: Expressions.token_field,
    tree.IsKind: Expressions.is_kind,
    tree.IsOwned: Expressions.is_owned,
    tree.FindAddress: Expressions.find_address,
    tree.IsBefore: Expressions.is_before,
    tree.IsNew: Expressions.is_new,
    tree.IsAbsent: Expressions.is_absent,
    tree.Bump: Expressions.bump,
    tree.IsNone: Expressions.is_none,
    tree.NoneValue: Expressions.none_value,
    tree.SomeOf: Expressions.some_of,
    tree.Present: Expressions.present,
    tree.IsOnCurve: Expressions.is_on_curve,
    tree.Range: Expressions.range,
    tree.Items: Expressions.items,
    tree.Extensions: Expressions.extensions,
    tree.Quantified: Expressions.quantified,
    tree.ExtensionKind: Expressions.extension_kind,
    tree.IsZero: Expressions.is_zero,
    tree.ClockNow: Expressions.clock_now,
    tree.ClockField: Expressions.clock_field,
    tree.Arithmetic: Expressions.arithmetic,
    tree.Bits: Expressions.bits,
    tree.Negate: Expressions.negate,
    tree.Convert: Expressions.convert,
    tree.MinMax: Expressions.min_max,
    tree.Compare: Expressions.compare,
    tree.Logic: Expressions.logic,
    tree.Not: Expressions.negation,
    tree.Choice: Expressions.choice,
    tree.FixedBytes: Expressions.fixed_bytes,
    tree.BytesData: Expressions.bytes_data,
    tree.StateBytes: Expressions.state_bytes,
    tree.AccountData: Expressions.account_data,
    tree.AccountProgram: Expressions.account_program,
    tree.DataRead: Expressions.data_read,
    tree.DataPart: Expressions.data_part,
    tree.DataLength: Expressions.data_length,
    tree.Hash: Expressions.hash,
    tree.TransactionRead: Expressions.transaction_read,
    tree.HelperCall: Expressions.helper_call,
}
