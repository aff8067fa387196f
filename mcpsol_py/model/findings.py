"""Findings about a program, and the list that collects them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["MAX_FINDINGS", "Finding", "Findings", "Level"]

Level = Literal["error", "warning", "info"]

MAX_FINDINGS = 2000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a program that its author or user should know."""

    level: Level
    path: str
    message: str
    rule: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.level}: {where}{self.message} [{self.rule}]"


class Findings:
    """Collects findings in order, at most `MAX_FINDINGS`."""

    def __init__(self) -> None:
        self.items: list[Finding] = []

    def add(self, level: Level, path: str, message: str, rule: str) -> None:
        """Add a finding, unless there are too many already."""
        if len(self.items) < MAX_FINDINGS:
            self.items.append(Finding(level, path, message, rule))

    def error(self, path: str, message: str, rule: str) -> None:
        """Add an error."""
        self.add("error", path, message, rule)

    def warning(self, path: str, message: str, rule: str) -> None:
        """Add a warning."""
        self.add("warning", path, message, rule)

    def info(self, path: str, message: str, rule: str) -> None:
        """Add a piece of information."""
        self.add("info", path, message, rule)
