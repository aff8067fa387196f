"""Programs of strangers that name themselves without end: refused, and never a RecursionError."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.errors import MissingAccount, NotUsable
from mcpsol_py.program import load

T = {"generic": "T"}


def defined(name: str, *arguments: Any) -> dict[str, Any]:
    return {
        "defined": {
            "name": name,
            "generics": [{"kind": "type", "type": a} for a in arguments],
        }
    }


def program(argument: Any, types: list[Any], accounts: list[Any]) -> dict[str, Any]:
    return {
        "address": "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb",
        "metadata": {"name": "evil", "version": "0.1.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": "go",
                "discriminator": [1] * 8,
                "accounts": accounts,
                "args": [{"name": "v", "type": argument}],
            }
        ],
        "types": types,
    }


def growing(inner: Any) -> dict[str, Any]:
    """A type R<T> that holds an optional R of *inner*."""
    field = {"name": "n", "type": {"option": defined("R", inner)}}
    return {
        "name": "R",
        "type": {"kind": "struct", "fields": [field]},
        "generics": [{"kind": "type", "name": "T"}],
    }


PAIR = {
    "name": "P",
    "type": {"kind": "struct", "fields": []},
    "generics": [{"kind": "type", "name": name} for name in "AB"],
}


@pytest.mark.parametrize(
    "inner",
    [{"vec": T}, {"option": T}, {"array": [T, 2]}, defined("P", T, T), defined("R", T)],
    ids=str,
)
def test_a_type_that_grows_without_end_is_refused(inner: Any) -> None:
    loaded = load(program(defined("R", "u8"), [growing(inner), PAIR], []))
    assert "go" in loaded.unusable()
    loaded.findings()
    instruction = loaded.instruction("go")
    for call in (lambda: instruction.encode({}), lambda: instruction.build()):
        with pytest.raises(NotUsable, match=r"deep|many|more than"):
            call()


def test_a_long_chain_of_addresses_is_refused() -> None:
    length = 600

    def account(i: int) -> dict[str, Any]:
        seed = {"kind": "account", "path": f"a{i + 1}"}
        return {"name": f"a{i}", "pda": {"seeds": [seed, seed]}}

    accounts = [*map(account, range(length)), {"name": f"a{length}"}]
    instruction = load(program("u8", [], accounts)).instruction("go")
    assert instruction.must_give()[-1] == f"a{length}"
    with pytest.raises(MissingAccount):
        instruction.address("a0")
    with pytest.raises(MissingAccount):
        instruction.build({"v": 1})


def test_a_short_chain_of_types_and_addresses_works() -> None:
    seed = {"kind": "account", "path": "b"}
    accounts = [{"name": "a", "pda": {"seeds": [seed]}}, {"name": "b"}]
    wrapper = {
        "name": "W",
        "type": {"kind": "struct", "fields": [{"name": "x", "type": T}]},
        "generics": [{"kind": "type", "name": "T"}],
    }
    nested: Any = "u8"
    for _ in range(20):
        nested = defined("W", nested)
    loaded = load(program(nested, [wrapper], accounts))
    assert loaded.unusable() == {}
    assert loaded.instruction("go").must_give() == ["b"]
