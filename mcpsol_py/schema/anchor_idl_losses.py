"""Losses: the facts that other Anchor tools do not learn from an IDL that we write. And small pieces of IDLs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Json", "Loss", "Losses", "docs_entry"]

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loss:
    """Something that other Anchor tools do not learn from the document. `path` is its place there."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class Losses:
    """Collects losses. `path` is the part of the document that is being written."""

    def __init__(self) -> None:
        self.items: list[Loss] = []
        self.path = ""

    def add(self, message: str, path: str | None = None) -> None:
        """Add a loss, at the current path unless *path* is given."""
        if path is None:
            path = self.path
        self.items.append(Loss(path, message))


def docs_entry(docs: tuple[str, ...]) -> Json:
    """Return {"docs": […]}, or {} without docs."""
    if not docs:
        return {}
    return {"docs": list(docs)}
