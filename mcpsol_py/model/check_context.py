"""What the checks of a program share: the model, paths into its document, and the checks of names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from mcpsol_py.errors import abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.findings import Findings, Level
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.source_paths import SourcePaths
from mcpsol_py.names import RUST_KEYWORDS, snake

__all__ = ["CheckContext"]

T = TypeVar("T")

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


class CheckContext:
    """The program under check and the findings so far."""

    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self.paths = SourcePaths(model)
        self.resolver = Resolver(model)
        self.findings = Findings()
        #: the names of the defined types, in order
        self.type_names = dict.fromkeys(names_of(model.types))

    def unique(
        self,
        items: Sequence[T],
        name: Callable[[T], str],
        path: str,
        what: str,
        level: Level = "error",
        rule: str = "duplicate-name",
    ) -> None:
        """Report names that repeat (with *level* and *rule*), and names that are equal in snake_case."""
        first: dict[str, int] = {}
        first_in_snake: dict[str, int] = {}
        for i, item in enumerate(items):
            text = name(item)
            here = f"{path}[{i}]"
            at = first.setdefault(text, i)
            if at != i:
                same = items[at] == item
                how = "identically" if same else "differently"
                message = f"{what} {abbr(text, 60)} is defined at [{at}] already, {how}"
                self.findings.add(
                    _milder(level) if same else level, here, message, rule
                )
                continue
            other = first_in_snake.setdefault(snake(text), i)
            if other != i:
                names = (
                    f"{abbr(text, 60)} and {abbr(name(items[other]), 60)} at [{other}]"
                )
                message = f"{what} {names} have the same name in snake_case"
                self.findings.warning(here, message, "colliding-names")

    def word(self, name: str, path: str) -> None:
        """Report a name that Rust cannot use as it is."""
        if name in RUST_KEYWORDS:
            message = f"{name!r} is a reserved word in Rust; Rust code calls it r#{name} or {name}_"
            self.findings.info(path, message, "reserved-word")
        elif not _IDENTIFIER.match(name):
            message = f"{abbr(name, 60)} is not an identifier; code uses a cleaned name"
            self.findings.info(path, message, "reserved-word")


def _milder(level: Level) -> Level:
    """A repetition that changes nothing is at most a warning."""
    return "warning" if level == "error" else level
