"""One account of an instruction, where its groups are opened."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.model.program import Account

__all__ = ["Leaf"]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One account of the flat list: `path` from the outermost group, `name` dotted."""

    index: int
    path: tuple[str, ...]
    account: Account

    @property
    def name(self) -> str:
        """The path as text, for messages."""
        return ".".join(self.path)
