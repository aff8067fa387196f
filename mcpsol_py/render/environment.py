"""The Jinja2 environment: templates print `Rust` and nothing else, and an unknown name is an error."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mcpsol_py.errors import RenderError
from mcpsol_py.render.rust import Rust

__all__ = ["environment", "only_rust", "templates_folder"]


def templates_folder() -> Path:
    """The folder templates/: in the wheel, or in the repository of an editable install. Raises RenderError."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_templates", package.parent / "templates"):
        if (folder / "pinocchio").is_dir():
            return folder
    raise RenderError(
        f"the templates are neither in {package / '_templates'} nor in {package.parent / 'templates'}."
    )


def only_rust(value: object) -> Rust:
    """*value*, if a template may print it: only text that render/rust.py made. Raises RenderError."""
    if not isinstance(value, Rust):
        raise RenderError(
            f"expected Rust in a template, got {type(value).__name__} {str(value)[:60]!r}; convert it in the view."
        )
    return value


def _finalize(value: object) -> object:
    return only_rust(value)


@lru_cache(maxsize=8)
def environment(*folders: str) -> Environment:
    """The environment of a target's templates: those of the first folder, else those of the next."""
    return Environment(
        loader=FileSystemLoader([templates_folder() / folder for folder in folders]),
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # the output is Rust; only_rust guards it
    )
