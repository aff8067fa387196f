"""Extensions as bodies read them: well-formed ones come back, and what cannot be read is the last."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bodies.extensions import Extension, read_extensions
from mcpsol_py.bodies.numbers import u16

UNREADABLE = Extension(u16(65_535))
LISTS = st.lists(st.tuples(st.integers(1, 65_535), st.binary(max_size=40)), max_size=5)


def listed(extensions: list[tuple[int, bytes]]) -> bytes:
    return b"".join(
        kind.to_bytes(2, "little") + len(data).to_bytes(2, "little") + data
        for kind, data in extensions
    )


@given(LISTS, st.sampled_from([b"", b"\0", b"\0\0", b"\0\0\x05\x06"]))
def test_what_is_listed_comes_back(
    extensions: list[tuple[int, bytes]], end: bytes
) -> None:
    found = list(read_extensions(listed(extensions) + end))
    assert [(int(each.kind), each.data) for each in found] == extensions


def test_what_cannot_be_read_is_the_last() -> None:
    whole = listed([(18, b"abc")])
    assert list(read_extensions(whole + b"\x07"))[1:] == [UNREADABLE]
    assert list(read_extensions(whole + b"\x07\0\x01"))[1:] == [UNREADABLE]
    cut = list(read_extensions(whole + b"\x07\0\x04\0abc"))[1:]
    assert cut == [Extension(u16(7)), UNREADABLE]


def test_zeros_are_there_and_zero() -> None:
    extension = Extension(u16(14), bytes(4) + b"\x01")
    assert extension.is_zero(0, 4)
    assert not extension.is_zero(3, 5)
    assert not extension.is_zero(2, 6)
    assert not Extension(u16(14)).is_zero(0, 1)
