"""The refusals of bodies: what the language does not have, with file, line and column."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Node", "Refusal", "Refusals"]

#: What can be refused: every part of the syntax tree that has a place.
Node: TypeAlias = ast.expr | ast.stmt | ast.arg | ast.pattern


@dataclass(frozen=True, slots=True)
class Refusal:
    """One refusal. `line` and `column` count from 1."""

    line: int
    column: int
    why: str


class Refusals:
    """Collects the refusals of a spec, so that authors see all of them at once."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")  # as Python counts them
        self.found: list[Refusal] = []

    def add(self, node: Node, why: str) -> None:
        """Record that *node* is refused."""
        found = Refusal(node.lineno, self._column(node), why)
        if found not in self.found:
            self.found.append(found)

    def _column(self, node: Node) -> int:
        """Return the column in characters; the syntax tree counts bytes."""
        line = self._lines[node.lineno - 1] if node.lineno <= len(self._lines) else ""
        return len(line.encode()[: node.col_offset].decode(errors="ignore")) + 1
