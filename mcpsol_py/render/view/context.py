"""What the views of one crate share: its types, account types, names and addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from mcpsol_py.render.addresses import Addresses
from mcpsol_py.render.rust import Rust
from mcpsol_py.render.rust_types import Types
from mcpsol_py.render.targets import Target
from mcpsol_py.render.view.state import StateView

__all__ = ["AuthorCode", "CrateContext", "OwnErrors"]


@dataclass(frozen=True, slots=True)
class AuthorCode:
    """The Rust that the author wrote. Generated code that it names is kept."""

    text: str

    def names(self, *words: str) -> bool:
        """Does it contain one of these words?"""
        return re.search(rf"\b({'|'.join(words)})\b", self.text) is not None


@dataclass(frozen=True, slots=True)
class OwnErrors:
    """The program's own errors: the enum's name, and its variants by the source's names."""

    enum: Rust
    variants: dict[str, Rust]

    def path(self, name: str) -> str | None:
        """The path of the error that the source calls *name*; None if it has no such error."""
        variant = self.variants.get(name)
        return None if variant is None else f"{self.enum}::{variant}"

    def for_check(self, errors: tuple[tuple[str, str], ...], check: str) -> str | None:
        """The path of the error for a failed *check*. *errors* has pairs of a check and an error's name."""
        paths = (self.path(name) for key, name in errors if key == check)
        return next((path for path in paths if path is not None), None)


@dataclass(frozen=True, slots=True)
class CrateContext:
    """What the views of one crate share."""

    target: Target
    types: Types
    #: by the source's name
    states: dict[str, StateView]
    errors: OwnErrors
    author: AuthorCode
    addresses: Addresses = field(default_factory=Addresses)
    #: what has no Rust, and why: comments in lib.rs
    skipped: list[str] = field(default_factory=list)
