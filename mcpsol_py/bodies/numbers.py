"""The number types of specs: u8 to u256 and i8 to i256, with checked arithmetic when a body runs in Python.

At run time each type is a subclass of int that knows its width. Type checkers see a class that is
no int, so that widths cannot be mixed and an int without a width cannot be assigned.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, ClassVar, Self, SupportsIndex, SupportsInt

__all__ = [
    "ArithmeticOverflow",
    "Number",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "i256",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "u256",
]


class ArithmeticOverflow(ArithmeticError):
    """A result that its type cannot hold, or a division by zero.

    A program fails with this error unless the sum is inside `with overflow(…)`.
    """


if TYPE_CHECKING:

    class Number(SupportsIndex, SupportsInt, Hashable):
        """A number of a fixed width."""

        MIN: ClassVar[Self]
        MAX: ClassVar[Self]

        def __init__(self, value: int | Number, /) -> None: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __hash__(self) -> int: ...
        def __eq__(self, other: Self | int) -> bool: ...  # type: ignore[override]  # no other type
        def __ne__(self, other: Self | int) -> bool: ...  # type: ignore[override]  # no other type
        def __lt__(self, other: Self | int) -> bool: ...
        def __le__(self, other: Self | int) -> bool: ...
        def __gt__(self, other: Self | int) -> bool: ...
        def __ge__(self, other: Self | int) -> bool: ...
        def __add__(self, other: Self | int) -> Self: ...
        def __radd__(self, other: int) -> Self: ...
        def __sub__(self, other: Self | int) -> Self: ...
        def __rsub__(self, other: int) -> Self: ...
        def __mul__(self, other: Self | int) -> Self: ...
        def __rmul__(self, other: int) -> Self: ...
        def __and__(self, other: Self | int) -> Self: ...
        def __rand__(self, other: int) -> Self: ...
        def __or__(self, other: Self | int) -> Self: ...
        def __ror__(self, other: int) -> Self: ...
        def __xor__(self, other: Self | int) -> Self: ...
        def __rxor__(self, other: int) -> Self: ...
        def wrapping_add(self, other: Self | int, /) -> Self: ...
        def wrapping_sub(self, other: Self | int, /) -> Self: ...
        def wrapping_mul(self, other: Self | int, /) -> Self: ...
        def saturating_add(self, other: Self | int, /) -> Self: ...
        def saturating_sub(self, other: Self | int, /) -> Self: ...
        def saturating_mul(self, other: Self | int, /) -> Self: ...

    class Unsigned(Number):
        """A number from zero on. Only these divide."""

        def __floordiv__(self, other: Self | int) -> Self: ...
        def __rfloordiv__(self, other: int) -> Self: ...
        def __mod__(self, other: Self | int) -> Self: ...
        def __rmod__(self, other: int) -> Self: ...

    class Signed(Number):
        """A number with a sign. Python rounds a quotient down and Rust to zero, so it does not divide."""

        def __neg__(self) -> Self: ...

    class u8(Unsigned):
        """0 to 255."""

    class u16(Unsigned):
        """0 to 65,535."""

    class u32(Unsigned):
        """0 to 2**32 - 1."""

    class u64(Unsigned):
        """0 to 2**64 - 1."""

    class u128(Unsigned):
        """0 to 2**128 - 1."""

    class u256(Unsigned):
        """0 to 2**256 - 1."""

    class i8(Signed):
        """-128 to 127."""

    class i16(Signed):
        """-32,768 to 32,767."""

    class i32(Signed):
        """-2**31 to 2**31 - 1."""

    class i64(Signed):
        """-2**63 to 2**63 - 1."""

    class i128(Signed):
        """-2**127 to 2**127 - 1."""

    class i256(Signed):
        """-2**255 to 2**255 - 1."""

else:

    class Number(int):
        """An int of a fixed width: arithmetic keeps the type and fails instead of growing."""

        bits = 0
        signed = False

        def __new__(cls, value: int) -> Self:
            if type(value) is not int and not isinstance(value, Number):
                raise TypeError(
                    f"{cls.__name__}(…) takes a number, not {_shown(value)}"
                )
            return cls.checked(int(value))

        @classmethod
        def checked(cls, value: int) -> Self:
            """Return *value* in this type. Raises ArithmeticOverflow if it does not fit."""
            if not int(cls.MIN) <= value <= int(cls.MAX):
                raise ArithmeticOverflow(f"{value} does not fit {cls.__name__}")
            return int.__new__(cls, value)

        @classmethod
        def wrapping(cls, value: int) -> Self:
            """Return *value* with the bits that do not fit cut off."""
            value %= 1 << cls.bits
            if value > int(cls.MAX):
                value -= 1 << cls.bits
            return int.__new__(cls, value)

        @classmethod
        def saturating(cls, value: int) -> Self:
            """Return *value*, or the end of the type's range that it went over."""
            return int.__new__(cls, min(max(value, int(cls.MIN)), int(cls.MAX)))

        def compare(self, other: object, plain: Callable[[int, int], bool]) -> bool:
            """Compare with a number of this type or a literal. Other types are equal to nothing."""
            if type(other) is type(self) or type(other) is int:
                return plain(int(self), int(other))
            return self.operand(other) if isinstance(other, int) else NotImplemented

        def operand(self, other: object) -> int:
            """Return *other* as an int. Raises TypeError if it is of another type."""
            if type(other) is type(self):
                return int(other)
            if type(other) is not int:
                raise TypeError(
                    f"{type(self).__name__} and {_shown(other)} do not mix: convert one of them"
                )
            if not int(self.MIN) <= other <= int(self.MAX):
                raise TypeError(f"{other} does not fit {type(self).__name__}")
            return other

        def __repr__(self) -> str:
            return f"{type(self).__name__}({int(self)})"

        __str__ = int.__repr__
        __hash__ = int.__hash__

        def __neg__(self) -> Self:
            return self.checked(-int(self))

        def __reduce__(self) -> tuple[type, tuple[int]]:
            return type(self), (int(self),)

    def _shown(value: object) -> str:
        return type(value).__name__

    def _arithmetic(
        name: str, fit: str, *, swapped: bool = False
    ) -> Callable[[Any, Any], Any]:
        """An operator of int, on the same type or a literal, whose result is made to *fit*."""
        plain = getattr(int, name)

        def method(self: Number, other: object) -> Number:
            left, right = int(self), self.operand(other)
            if swapped:
                left, right = right, left
            try:
                value = plain(left, right)
            except ZeroDivisionError:
                raise ArithmeticOverflow("division by zero") from None
            return getattr(type(self), fit)(value)

        return method

    def _comparison(name: str) -> Callable[[Any, Any], bool]:
        plain = getattr(int, name)
        return lambda self, other: self.compare(other, plain)

    def _refused(why: str) -> Callable[..., Any]:
        def method(*_: object) -> None:
            raise TypeError(why)

        return method

    for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor"):
        _dunder = f"__{_name}__"
        setattr(Number, _dunder, _arithmetic(_dunder, "checked"))
        setattr(Number, f"__r{_name}__", _arithmetic(_dunder, "checked", swapped=True))
    for _name in ("add", "sub", "mul"):
        for _fit in ("wrapping", "saturating"):
            setattr(Number, f"{_fit}_{_name}", _arithmetic(f"__{_name}__", _fit))
    for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Number, f"__{_name}__", _comparison(f"__{_name}__"))
    for _name in ("truediv", "pow", "lshift", "rshift", "divmod"):
        for _side in ("", "r"):
            setattr(
                Number,
                f"__{_side}{_name}__",
                _refused("specs have no /, **, << and >>"),
            )
    Number.__bool__ = _refused("a number is not a condition: compare it, as in x != 0")

    class Unsigned(Number):
        """A number from zero on."""

        __neg__ = _refused("an unsigned number has no negative")

    class Signed(Number):
        """A number with a sign."""

    for _name in ("floordiv", "mod"):
        for _side in ("", "r"):
            _why = "signed numbers do not divide: Python rounds down and Rust to zero"
            setattr(Signed, f"__{_side}{_name}__", _refused(_why))

    def _class(kind: type[Number], bits: int) -> type[Number]:
        signed = kind is Signed
        name = f"{'i' if signed else 'u'}{bits}"
        made = type(
            name, (kind,), {"bits": bits, "signed": signed, "__module__": __name__}
        )
        low = -(1 << bits - 1) if signed else 0
        made.MIN = int.__new__(made, low)
        made.MAX = int.__new__(made, low + (1 << bits) - 1)
        made.__doc__ = f"{low} to {low} + 2**{bits} - 1."
        return made

    u8, u16, u32, u64, u128, u256 = (
        _class(Unsigned, b) for b in (8, 16, 32, 64, 128, 256)
    )
    i8, i16, i32, i64, i128, i256 = (
        _class(Signed, b) for b in (8, 16, 32, 64, 128, 256)
    )
