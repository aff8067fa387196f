"""The accounts of an instruction in order, and the names by which a caller can give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.errors import EncodeError, UnknownName
from mcpsol_py.items import items_by_name, names_of
from mcpsol_py.model.program import AccountGroup, AccountItem, Instruction
from mcpsol_py.names import ByName

__all__ = ["AccountNames"]


class _Group:
    """The names inside one group, or at the top of the instruction."""

    def __init__(self) -> None:
        self.items: dict[str, _Place] = {}
        #: the account or group of a name
        self.find = ByName(self.items).get


#: The index of an account, or a group.
_Place: TypeAlias = "int | _Group"


class AccountNames:
    """The accounts of one instruction, in order and by name.

    An account in a group has a dotted name ("pool.mint"). It can also be given in a nested object,
    or by its own name if no other account has that name.
    """

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.leaves: list[Leaf] = []
        self._root = self._read_group(instruction.accounts, ())
        self.by_path = {leaf.path: leaf.index for leaf in self.leaves}
        self.remaining = items_by_name(instruction.remaining)
        self._remaining_names = ByName(self.remaining)
        self._by_own_name = _unique_names(self.leaves)

    def _read_group(
        self, items: Sequence[AccountItem], path: tuple[str, ...]
    ) -> _Group:
        group = _Group()
        for item in items:
            item_path = (*path, item.name)
            if isinstance(item, AccountGroup):
                group.items.setdefault(
                    item.name, self._read_group(item.accounts, item_path)
                )
                continue
            leaf = Leaf(len(self.leaves), item_path, item)
            self.leaves.append(leaf)
            group.items.setdefault(item.name, leaf.index)
        return group

    def names(self) -> list[str]:
        """Return the names of all accounts, dotted, then those of the remaining accounts."""
        return names_of(self.leaves) + list(self.remaining)

    # --- what a caller gave --------------------------------------------------------------------

    def collect(
        self, given: Mapping[str, Any]
    ) -> tuple[dict[int, Any], dict[str, Sequence[Any]]]:
        """Return the given values by index, and the named lists of remaining accounts.

        Raises UnknownName for a key that is not one of `names`.
        """
        found: dict[int, Any] = {}
        rest: dict[str, Sequence[Any]] = {}
        for key, value in given.items():
            place = self._root.find(key)
            if place is None:
                place = self._find_elsewhere(key)
            if place is not None:
                self._collect_at(place, key, value, found)
                continue
            name = self._remaining_names.name(key)
            if name is None:
                raise UnknownName("account", key, self.names(), self.instruction.name)
            if name in rest:
                raise self._given_twice(name, value)
            rest[name] = () if value is None else value
        return found, rest

    def _collect_at(
        self, place: _Place, key: str, value: Any, found: dict[int, Any]
    ) -> None:
        if isinstance(place, _Group):
            self._collect_group(place, key, value, found)
            return
        if place in found:
            raise self._given_twice(self.leaves[place].name, value)
        found[place] = value

    def _given_twice(self, name: str, value: Any) -> EncodeError:
        why = (
            "the account is given twice, under two spellings of its name; give it once"
        )
        return EncodeError(
            why, value=value, path=f"{self.instruction.name}.{name}", type="pubkey"
        )

    def _collect_group(
        self, group: _Group, key: str, value: Any, found: dict[int, Any]
    ) -> None:
        if value is None:
            return
        path = f"{self.instruction.name}.{key}"
        if not isinstance(value, Mapping):
            expected = f"expected an object with {', '.join(group.items)}"
            message = f"{expected}, got {type(value).__name__}"
            raise EncodeError(message, value=value, path=path, type="accounts")
        for name, inner in value.items():
            place = group.find(name)
            if place is None:
                raise UnknownName("account", name, group.items, path)
            self._collect_at(place, f"{key}.{name}", inner, found)

    # --- finding accounts ----------------------------------------------------------------------

    def locate(
        self, path: tuple[str, ...], seen_from: Leaf | None = None
    ) -> int | None:
        """Return the index of the account at *path*, or None.

        It is looked up in the group of *seen_from* first, then in the groups around it.
        """
        scopes = () if seen_from is None else seen_from.path[:-1]
        for depth in range(len(scopes), -1, -1):
            place = self._follow((*scopes[:depth], *path))
            if isinstance(place, int):
                return place
        return self._by_own_name.get(path[0]) if len(path) == 1 else None

    def _find_elsewhere(self, key: str) -> _Place | None:
        """Return the account or group of a dotted path, or the account of that name in any group."""
        return (
            self._follow(key.split(".")) if "." in key else self._by_own_name.get(key)
        )

    def _follow(self, path: Iterable[str]) -> _Place | None:
        place: _Place | None = self._root
        for step in path:
            if not isinstance(place, _Group):
                return None
            place = place.find(step)
        return place


def _unique_names(leaves: Sequence[Leaf]) -> ByName[int]:
    """Return the index of each account by its own name, for names that only one has."""
    by_name: dict[str, list[int]] = {}
    for leaf in leaves:
        by_name.setdefault(leaf.path[-1], []).append(leaf.index)
    return ByName(
        {name: indexes[0] for name, indexes in by_name.items() if len(indexes) == 1}
    )
