"""What the views of one crate share: its types, account types, names and addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mcpsol_py.render.addresses import Addresses
from mcpsol_py.render.own_errors import OwnErrors
from mcpsol_py.render.rust_types import Types
from mcpsol_py.render.targets import Target
from mcpsol_py.render.view.state import StateView

__all__ = ["AuthorCode", "CrateContext"]


@dataclass(frozen=True, slots=True)
class AuthorCode:
    """The Rust that the author wrote. Generated code that it names is kept."""

    text: str

    def names(self, *words: str) -> bool:
        """Does it contain one of these words?"""
        return re.search(rf"\b({'|'.join(words)})\b", self.text) is not None


@dataclass(frozen=True, slots=True)
class CrateContext:
    """What the views of one crate share."""

    target: Target
    types: Types
    #: by the source's name
    states: dict[str, StateView]
    errors: OwnErrors
    author: AuthorCode
    #: the instructions that have a body in the source
    bodies: frozenset[str] = frozenset()
    addresses: Addresses = field(default_factory=Addresses)
    #: the account types that are not told apart from others, and why
    ambiguous: dict[str, str] = field(default_factory=dict)
    #: what has no Rust, and why: comments in lib.rs
    skipped: list[str] = field(default_factory=list)

    @property
    def checkable(self) -> set[str]:
        """The account types that a check can recognize and read."""
        return self.states.keys() - self.ambiguous.keys()
