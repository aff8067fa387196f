"""One account of an instruction in the flat list, with the groups around it."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcpsol_py.model.program import Account

__all__ = ["MAX_DEPTH", "Leaf"]

#: How deep the derivation of one address from others may go.
MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Leaf:
    """One account of the flat list. `index` is its place, `path` its name after those of its groups.

    `name` is the dotted path.
    """

    index: int
    path: tuple[str, ...]
    account: Account
    name: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", ".".join(self.path))
