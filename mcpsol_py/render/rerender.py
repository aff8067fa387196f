"""Renders a crate anew from what it was rendered from: its generated files say which source that was."""

from __future__ import annotations

import re
from pathlib import Path

from mcpsol_py.errors import RenderError
from mcpsol_py.render.crate import render
from mcpsol_py.render.write import RenderResult
from mcpsol_py.schema.pages import Descriptions
from mcpsol_py.sources.detect import read

__all__ = ["render_again"]

_SOURCE = re.compile(r"^// Rendered by idl2mcp from ([^\n]*); edit the source\.")


def render_again(folder: str | Path, *, descriptions: Descriptions) -> RenderResult:
    """Renders the crate in *folder* for the target and in the form that it has, with these descriptions in its pages.

    Raises RenderError where the source is not in the folder, or nothing there was rendered; EditedByHand; SourceError.
    """
    folder = Path(folder)
    root = folder / "src" / "lib.rs"
    found = _SOURCE.match(root.read_text(encoding="utf-8")) if root.is_file() else None
    if found is None:
        raise RenderError(
            f"{root} was not rendered by idl2mcp: there are no pages to render with other descriptions."
        )
    source = folder / found[1]
    target = _target(folder)
    if target is None or not source.is_file():
        why = (
            "it is a facade"
            if target is None
            else f"{found[1]}, which it was rendered from, is not in it"
        )
        raise RenderError(
            f"{folder}: {why}; use `idl2mcp render … --out {folder} --descriptions {descriptions}`."
        )
    pages = folder / "src" / ("list_tools.bin" if target == "anchor" else "schema.rs")
    verbose = re.search(rb'\\?"parameters\\?":', pages.read_bytes()) is not None
    return render(
        read(source),
        target=target,
        out=folder,
        descriptions=descriptions,
        form="verbose" if verbose else "compact",
    )


def _target(folder: Path) -> str | None:
    """What the crate in *folder* is written with; None for a facade, which its source alone does not give."""
    files = folder / "src"
    if (files / "forward.rs").exists():
        return None
    if (files / "list_tools.rs").exists():
        return "anchor"
    entry = files / "entrypoint.rs"
    native = entry.is_file() and "solana_program::entrypoint!" in entry.read_text(encoding="utf-8")
    return "native" if native else "pinocchio"
