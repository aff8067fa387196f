"""The program's own errors, by the names that constraints use."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.render.rust import Rust

__all__ = ["OwnErrors"]


@dataclass(frozen=True, slots=True)
class OwnErrors:
    """The enum's name, and its variants by the source's names."""

    enum: Rust
    variants: dict[str, Rust]

    def for_check(self, errors: tuple[tuple[str, str], ...], check: str) -> str | None:
        """The path of the error for a failed *check*; None if the program has no error for it.

        *errors* holds pairs of a check and an error's name in the source.
        """
        for key, name in errors:
            variant = self.variants.get(name)
            if key == check and variant is not None:
                return f"{self.enum}::{variant}"
        return None
