"""The arguments of a call: given ones, defaults, and those that the IDL derives from accounts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mcpsol_py.accounts.leaf import Leaf
from mcpsol_py.accounts.members import member_at
from mcpsol_py.accounts.values import value_of
from mcpsol_py.errors import MissingAccount, PdaError
from mcpsol_py.model.program import Account
from mcpsol_py.model.types import Type

if TYPE_CHECKING:
    from mcpsol_py.accounts.plan import Plan
    from mcpsol_py.accounts.resolution import Resolution

__all__ = ["Arguments", "FoundArgument"]


class FoundArgument(NamedTuple):
    """The value at a path of the arguments (None if it is not given), and its type (None if unknown)."""

    value: Any
    type: Type | None


class Arguments:
    """The arguments of one call, by name in any case style."""

    def __init__(
        self, resolution: Resolution, plan: Plan, given: Mapping[str, Any]
    ) -> None:
        self._resolution = resolution
        self._plan = plan
        self._given = given
        #: argument -> its key in `given`
        self._keys = {plan.arg_names.name(key): key for key in given}
        #: derived arguments that are being derived, against rings
        self._open: set[str] = set()

    def find(self, path: tuple[str, ...]) -> FoundArgument:
        """Return the argument at *path*, or the part of one."""
        if not path:
            return FoundArgument(None, None)
        first, *inner = path
        name = self._plan.arg_names.name(first)
        if name is None:
            # An argument that is not in the data (one of Codama's extra arguments).
            return FoundArgument(self._given.get(first), None)
        value = self._find_whole(name)
        node = self._plan.walk_type(self._plan.args[name].type, inner)
        return FoundArgument(member_at(value, inner), node)

    def _find_whole(self, name: str) -> Any:
        if name in self._keys:
            return self._given[self._keys[name]]
        default = self._plan.args[name].default
        return self._derive(name) if default is None else default.value

    def _derive(self, name: str) -> Any:
        """Return the value of an argument that the IDL derives: from accounts, the wallet, a bump.

        Returns None if it cannot be derived. The codec then reports it as missing.
        """
        if name not in self._plan.arg_values or name in self._open:
            return None
        self._open.add(name)
        try:
            asking = Leaf(-1, (name,), Account(name))
            return value_of(self._resolution, self._plan.arg_values[name], asking)
        except (MissingAccount, PdaError):
            return None
        finally:
            self._open.remove(name)

    def complete(self) -> dict[str, Any]:
        """Return the given arguments, and those that the IDL derives."""
        out = dict(self._given)
        for name in self._plan.arg_values:
            if name in self._keys:
                continue
            value = self._derive(name)
            if value is not None:
                out[name] = value
        return out
