"""`Data`: the bytes of accounts and instructions, of which bodies read numbers, addresses and parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpsol_py.bodies import numbers
from mcpsol_py.bodies.addresses import Pubkey

__all__ = ["READS", "Data", "DataTooShort"]

#: The numbers that bodies read from data, by the name of the method. They are little-endian if not asked otherwise.
READS = ("u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128")


class DataTooShort(Exception):
    """A body reads behind the end of data."""


if TYPE_CHECKING:
    from typing import TypeAlias, overload

    _At: TypeAlias = int | numbers.u64

    class Data:
        """The bytes of an account or an instruction: `account.data`."""

        # type checkers see bytes of a fixed length as a u8
        def __init__(self, data: bytes | numbers.u8, /) -> None: ...
        @overload
        def __getitem__(self, at: _At, /) -> numbers.u8: ...
        @overload
        def __getitem__(self, part: slice, /) -> Data: ...
        def __getitem__(self, key: object, /) -> object: ...
        def __len__(self) -> int: ...
        def __bytes__(self) -> bytes: ...
        def __eq__(self, other: bytes | Data) -> bool: ...  # type: ignore[override]  # no other type
        def __ne__(self, other: bytes | Data) -> bool: ...  # type: ignore[override]  # no other type
        def u8(self, at: _At, /, *, big_endian: bool = False) -> numbers.u8: ...
        def u16(self, at: _At, /, *, big_endian: bool = False) -> numbers.u16: ...
        def u32(self, at: _At, /, *, big_endian: bool = False) -> numbers.u32: ...
        def u64(self, at: _At, /, *, big_endian: bool = False) -> numbers.u64: ...
        def u128(self, at: _At, /, *, big_endian: bool = False) -> numbers.u128: ...
        def i8(self, at: _At, /, *, big_endian: bool = False) -> numbers.i8: ...
        def i16(self, at: _At, /, *, big_endian: bool = False) -> numbers.i16: ...
        def i32(self, at: _At, /, *, big_endian: bool = False) -> numbers.i32: ...
        def i64(self, at: _At, /, *, big_endian: bool = False) -> numbers.i64: ...
        def i128(self, at: _At, /, *, big_endian: bool = False) -> numbers.i128: ...
        def pubkey(self, at: _At, /) -> Pubkey: ...

else:

    class Data(bytes):
        """The bytes of an account or an instruction."""

        def __getitem__(self, key):
            if not isinstance(key, slice):
                return self.u8(key)
            start = 0 if key.start is None else int(key.start)
            return self._part(start, len(self) if key.stop is None else int(key.stop))

        def _part(self, start, stop):
            if not 0 <= start <= stop <= len(self):
                raise DataTooShort(f"bytes {start} to {stop} of {len(self)}")
            return Data(super().__getitem__(slice(start, stop)))

        def pubkey(self, at):
            """Return the address at an offset."""
            return Pubkey(self._part(int(at), int(at) + 32))

    def _reader(number):
        def read(self, at, *, big_endian=False):
            part = self._part(int(at), int(at) + number.bits // 8)
            order = "big" if big_endian else "little"
            return number(int.from_bytes(part, order, signed=number.signed))

        return read

    for _name in READS:
        setattr(Data, _name, _reader(getattr(numbers, _name)))
