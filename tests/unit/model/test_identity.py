"""The identity of a model: every part of it counts, also parts that are added to its classes later."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass, make_dataclass, replace
from functools import partial
from typing import Any, get_type_hints

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcpsol_py.model import program as p
from mcpsol_py.model import types as t
from mcpsol_py.model.identity import model_hash
from mcpsol_py.model.serial import model_from_json, model_to_json
from tests.models import anything

Rebuild = Callable[[Any], p.ProgramModel]

#: What a hash leaves out: for people's eyes only, and the bodies, of which a lock has the compiled code.
LEFT_OUT = {
    "ProgramModel.origin",
    "ProgramModel.origins",
    "ProgramModel.dialect",
    "ProgramModel.findings",
    "ProgramModel.bodies",
}


@dataclass
class Spot:
    """One field of one object in a model, and the model with another value there."""

    kind: Any
    value: Any
    with_value: Rebuild


def spots(node: Any, rebuild: Rebuild) -> Iterator[Spot]:
    """Yield every field of every object under *node*, found through the dataclasses themselves."""
    if isinstance(node, tuple):
        for at, item in enumerate(node):
            yield from spots(item, partial(_put_item, rebuild, node, at))
    if not is_dataclass(node):
        return
    hints = get_type_hints(type(node))
    for field in fields(node):
        if field.compare:
            value = getattr(node, field.name)

            def put(new: Any, name: str = field.name) -> p.ProgramModel:
                return rebuild(replace(node, **{name: new}))  # type: ignore[type-var]

            yield Spot(hints[field.name], value, put)
            yield from spots(value, put)


def _put_item(
    rebuild: Rebuild, items: tuple[Any, ...], at: int, new: Any
) -> p.ProgramModel:
    return rebuild((*items[:at], new, *items[at + 1 :]))


_models = anything(p.ProgramModel).filter(
    lambda m: m.instructions or m.types or m.accounts
)


@given(_models, st.data())
def test_any_field_anywhere_changes_the_hash(
    model: p.ProgramModel, data: st.DataObject
) -> None:
    spot = data.draw(st.sampled_from(list(spots(model, lambda new: new))))
    other = data.draw(anything(spot.kind))
    assume(other != spot.value)
    assert model_hash(spot.with_value(other)) != model_hash(model)


@given(_models, st.data())
def test_the_order_and_number_of_things_change_the_hash(
    model: p.ProgramModel, data: st.DataObject
) -> None:
    lists = [
        s
        for s in spots(model, lambda new: new)
        if isinstance(s.value, tuple) and s.value
    ]
    spot = data.draw(st.sampled_from(lists))
    turned = tuple(reversed(spot.value))
    for other in (turned, spot.value[1:], (*spot.value, spot.value[0])):
        if other != spot.value:
            assert model_hash(spot.with_value(other)) != model_hash(model)


@given(_models)
def test_a_model_that_is_written_and_read_keeps_its_hash(model: p.ProgramModel) -> None:
    assert model_hash(model_from_json(model_to_json(model))) == model_hash(model)


def _with_default(value: object, kind: t.Type = t.U64) -> p.ProgramModel:
    args = (t.Field("a", kind, default=t.Default(value)),)
    return p.ProgramModel("p", (p.Instruction("go", p.Discriminator(b"\1"), args),))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, 1),
        (1, 1.0),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),  # for a map, the order of its bytes
        ("1", 1),
        (b"\1", "01"),
        ([1], (1,)),
        ({"$hex": "01"}, b"\1"),
        ("\ud83d\ude00", "😀"),
        (None, []),
    ],
)
def test_values_that_only_look_alike_have_different_hashes(
    one: object, other: object
) -> None:
    assert model_hash(_with_default(one)) != model_hash(_with_default(other))


def test_only_what_is_for_people_is_left_out() -> None:
    classes: list[Any] = [
        c for m in (p, t) for _, c in inspect.getmembers(m, is_dataclass)
    ]
    left_out = {
        f"{c.__name__}.{f.name}" for c in classes for f in fields(c) if not f.compare
    }
    assert left_out == LEFT_OUT
    told = replace(
        _with_default(1), origin="x", dialect="anchor", findings=(("a", "info", "b"),)
    )
    assert model_hash(told) == model_hash(_with_default(1))


@pytest.mark.parametrize(
    "kind", [p.Instruction, p.Account, t.Field, t.Int, p.ConstSeed]
)
def test_a_field_that_is_added_later_is_covered(kind: Any, monkeypatch: Any) -> None:
    from mcpsol_py.model import serial, serial_shapes

    later: Any = make_dataclass(
        kind.__name__, [("later", int, 0)], bases=(kind,), frozen=True, slots=True
    )
    if kind in serial_shapes.TAGS:  # as the class itself has one
        monkeypatch.setitem(serial_shapes.TAGS, later, serial_shapes.TAGS[kind])
    if kind in serial_shapes.ROWS:
        monkeypatch.setattr(serial, "ROWS", serial_shapes.ROWS | {later})
    arguments: dict[Any, tuple[Any, ...]] = {
        p.Instruction: ("go", p.Discriminator(b"\1")),
        p.Account: ("user",),
        t.Field: ("a", t.U8),
        t.Int: (8,),
        p.ConstSeed: (b"x",),
    }
    given = arguments[kind]
    forms = [serial.to_json(later(*given)), serial.to_json(later(*given, later=1))]
    assert forms[0] != forms[1]
