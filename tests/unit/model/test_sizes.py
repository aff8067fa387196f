"""How many bytes values take: held against what the codec writes of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size, least_size
from mcpsol_py.model.types import (
    U8,
    Array,
    Field,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Sentinel,
    Set,
    Struct,
    Tuple,
    Type,
    TypeDef,
)
from tests.strategies import Values, programs, types


@given(st.data())
def test_no_value_is_shorter_than_the_least_and_all_have_the_fixed_size(
    data: st.DataObject,
) -> None:
    model, node = data.draw(
        st.one_of(programs(), types().map(lambda t: (ProgramModel("plain"), t)))
    )
    codecs, resolver = Codecs(model), Resolver(model)
    written = len(codecs.codec(node).encode(data.draw(Values(codecs).of(node))))
    assert least_size(resolver, node) <= written
    assert fixed_size(resolver, node) in (None, written)


@pytest.mark.parametrize(
    ("node", "fixed", "least"),
    [
        (Array(Option(U8), 0), 0, 0),
        (Array(Option(U8), 3), None, 3),
        (Array(Option(U8), Int(16)), None, 2),
        (Array(U8, None), None, 0),
        (Set(Tuple((U8, Option(U8))), 2), None, 4),
        (Map(U8, Int(64), 2), 18, 18),
        (Map(U8, Option(U8), 2), None, 4),
        (Sentinel(Array(U8, None), b"end"), None, 3),
        (Offset(U8, -1, "post", "padded"), None, 0),
        (Link("Absent"), None, 0),
        (Link("Me"), None, 5),
    ],
)
def test_sizes_where_the_count_a_mark_or_a_link_decides(
    node: Type, fixed: int | None, least: int
) -> None:
    me = TypeDef(
        "Me",
        Struct(
            (Field("a", Int(32)), Field("b", Option(Link("Me"), Int(8), fixed=True)))
        ),
    )
    resolver = Resolver(ProgramModel("sizes", types=(me,)))
    assert (fixed_size(resolver, node), least_size(resolver, node)) == (fixed, least)
