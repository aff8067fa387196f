"""Visitors over the kinds of type, and the helpers that recurse."""

import pytest

from mcpsol_py.model.types import (
    BORSH_STRING,
    PUBKEY,
    U8,
    U64,
    Array,
    Enum,
    Field,
    Generic,
    Int,
    Link,
    Map,
    Offset,
    Option,
    Struct,
    Tuple,
    Type,
    TypeArg,
    Unsupported,
    Variant,
    vec,
)
from mcpsol_py.model.visit import (
    KINDS,
    GroupVisitor,
    ListType,
    OptionalType,
    ProductType,
    ScalarType,
    TypeVisitor,
    WrapperType,
    children,
    map_children,
    method_name,
    walk,
)

ROUND = Enum(
    (
        Variant("Idle"),
        Variant("Open", Struct((Field("at", U64, ("when",)),)), value=7, docs=("on",)),
    )
)


class Depth(GroupVisitor[[int], int]):
    """How deep types nest, plus a start value."""

    def visit_scalar(self, node: ScalarType, start: int) -> int:
        return start

    def deepest(self, node: Type, start: int) -> int:
        return 1 + max(
            (self.visit(child, start) for child in children(node)), default=start
        )

    def visit_wrapper(self, node: WrapperType, start: int) -> int:
        return self.visit(node.item, start)

    def visit_optional(self, node: OptionalType, start: int) -> int:
        return self.deepest(node, start)

    def visit_list(self, node: ListType, start: int) -> int:
        return self.deepest(node, start)

    def visit_product(self, node: ProductType, start: int) -> int:
        return self.deepest(node, start)

    visit_map = visit_enum = visit_link = visit_generic = visit_unsupported = deepest


class Offsets(Depth):
    def visit_offset(self, node: Offset, start: int) -> int:
        return -1


class TestTypeVisitor:
    def test_it_has_one_abstract_method_for_each_kind(self) -> None:
        assert TypeVisitor.__abstractmethods__ == {method_name(kind) for kind in KINDS}

    @pytest.mark.parametrize(
        ("kind", "name"), [(Int, "visit_int"), (Map, "visit_map"), (Link, "visit_link")]
    )
    def test_a_method_is_named_after_its_kind(self, kind: type, name: str) -> None:
        assert method_name(kind) == name

    def test_names_of_several_words_are_in_snake_case(self) -> None:
        names = {kind.__name__: method_name(kind) for kind in KINDS}
        assert names["ShortU16"] == "visit_short_u16"
        assert names["ZeroableOption"] == "visit_zeroable_option"

    def test_a_visitor_that_lacks_a_kind_cannot_be_created(self) -> None:
        class Partial(TypeVisitor[[], None]):
            def visit_int(self, node: Int) -> None: ...

        with pytest.raises(TypeError, match="visit_short_u16"):
            Partial()  # type: ignore[abstract]  # the mistake under test

    def test_a_value_that_is_not_a_type_is_refused(self) -> None:
        with pytest.raises(TypeError, match="expected a type node .* got str"):
            Depth().visit("u64", 0)  # type: ignore[arg-type]  # the mistake under test


class TestGroupVisitor:
    def test_the_method_of_the_group_is_called(self) -> None:
        assert Depth().visit(Option(vec(Tuple((U8, PUBKEY)))), 0) == 3

    def test_arguments_after_the_node_are_passed_on(self) -> None:
        assert Depth().visit(BORSH_STRING, 5) == 5

    def test_a_subclass_may_take_one_kind_out_of_its_group(self) -> None:
        assert (
            Offsets().visit(Tuple((Offset(U8, 1, "pre", "padded"), BORSH_STRING)), 0)
            == 1
        )
        assert Offsets().visit(Offset(U8, 1, "pre", "padded"), 0) == -1


CHILDREN = [
    (U8, ()),
    (BORSH_STRING, (BORSH_STRING.item,)),
    (Option(U64), (U64,)),
    (Array(U64, 4), (U64,)),
    (Map(U8, PUBKEY, None), (U8, PUBKEY)),
    (Tuple((U8, U64)), (U8, U64)),
    (Struct((Field("a", U8), Field("b", U64))), (U8, U64)),
    (ROUND, (Struct((Field("at", U64, ("when",)),)),)),
    (Link("Box", (TypeArg(U8), TypeArg(3))), (U8,)),
    (Generic("T"), ()),
    (Unsupported("u24", "not known"), ()),
]


@pytest.mark.parametrize(("node", "expected"), CHILDREN)
def test_children(node: Type, expected: tuple[Type, ...]) -> None:
    assert children(node) == expected


@pytest.mark.parametrize("node", [node for node, _ in CHILDREN])
def test_map_children_keeps_everything_but_the_children(node: Type) -> None:
    assert map_children(node, lambda child: child) == node
    assert children(map_children(node, Option)) == tuple(map(Option, children(node)))


def test_walk_gives_each_type_before_those_inside_it() -> None:
    node = Tuple((Option(U8), Map(PUBKEY, vec(U64), 2)))
    assert list(walk(node)) == [
        node,
        Option(U8),
        U8,
        Map(PUBKEY, vec(U64), 2),
        PUBKEY,
        vec(U64),
        U64,
    ]
