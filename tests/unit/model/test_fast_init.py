import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from mcpsol_py.model.fast_init import quicken
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import U8, Field


@dataclass(frozen=True, slots=True)
class Slow:
    name: str
    kind: object = U8
    docs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    kind: object = U8
    docs: tuple[str, ...] = ()


quicken(Quick)


def test_objects_are_as_before() -> None:
    made = Quick("a", docs=("d",))
    assert type(made) is Quick
    assert (made.name, made.kind, made.docs) == ("a", U8, ("d",))
    assert made == Quick("a", U8, ("d",))
    assert hash(made) == hash(Slow("a", U8, ("d",)))
    assert repr(made) == repr(Slow("a", U8, ("d",))).replace("Slow", "Quick")
    assert replace(made, name="b") == Quick("b", docs=("d",))


def test_they_stay_frozen() -> None:
    for made in (Account("a"), Field("a", U8)):
        with pytest.raises(FrozenInstanceError):
            made.name = "b"  # type: ignore[misc]  # that is the point
        assert made.name == "a"


def test_signatures_copies_and_pickles() -> None:
    assert inspect.signature(Quick) == inspect.signature(Slow)
    account = Account("a", writable=True)
    assert pickle.loads(pickle.dumps(account)) == copy.deepcopy(account) == account
    with pytest.raises(
        TypeError, match="missing 1 required positional argument: 'name'"
    ):
        Account()  # type: ignore[call-arg]  # that is the point


def test_defaults_of_a_factory_are_made_each_time() -> None:
    @dataclass(frozen=True, slots=True)
    class Made:
        name: str
        items: list[int] = field(default_factory=list)

    quicken(Made)
    first, second = Made("a"), Made("b", [1])
    first.items.append(2)
    assert (Made("c").items, second.items) == ([], [1])
    assert (
        str(inspect.signature(Made).parameters["items"])
        == "items: list[int] = <factory>"
    )
