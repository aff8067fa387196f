"""Renders a crate again from its source, which its generated files name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from mcpsol_py.errors import RenderError, abbr
from mcpsol_py.render.crate import render
from mcpsol_py.render.write import RenderResult
from mcpsol_py.schema.pages import Descriptions
from mcpsol_py.sources.detect import read

__all__ = ["is_older_than_spec", "render_again"]

_SOURCE = re.compile(r"^// Rendered by idl2mcp from ([ -~]*); edit the source\.")


def render_again(folder: str | Path, *, descriptions: Descriptions) -> RenderResult:
    """Render the crate in *folder* again with other descriptions in its pages. Target and form stay the same.

    Raises RenderError if *folder* has no rendered crate or no source; EditedByHand; SourceError.
    """
    folder = Path(folder)
    root = folder / "src" / "lib.rs"
    found = _SOURCE.match(root.read_text(encoding="utf-8")) if root.is_file() else None
    if found is None:
        raise RenderError(
            f"{root} was not rendered by idl2mcp, so it has no pages whose descriptions could change."
        )
    source = _inside(folder, found[1])
    target = _target(folder)
    if target is None or not source.is_file():
        why = (
            "it is a facade" if target is None else f"its source {found[1]} is missing"
        )
        raise RenderError(
            f"{folder}: {why}; use `idl2mcp render … --out {folder} --descriptions {descriptions}`."
        )
    pages = folder / "src" / ("list_tools.bin" if target == "anchor" else "schema.rs")
    verbose = re.search(rb'\\?"parameters\\?":', pages.read_bytes()) is not None
    model = read(source)
    address = _ADDRESS.search(root.read_text(encoding="utf-8"))
    if address is not None:  # the crate may have been rendered for another address
        model = replace(model, address=address[1] or address[2])
    return render(
        model,
        target=target,
        out=folder,
        descriptions=descriptions,
        form="verbose" if verbose else "compact",
    )


def is_older_than_spec(folder: str | Path) -> bool:
    """Return whether the rendered crate in *folder* is older than the spec.py there, or missing beside it.

    As `make` does, this compares the times of the files.
    """
    spec, source = Path(folder) / "spec.py", Path(folder) / "src"
    if not spec.is_file():
        return False
    rendered = [path for path in source.rglob("*.rs") if _is_rendered(path)]
    if not rendered:
        return not (Path(folder) / "Cargo.toml").exists()
    return spec.stat().st_mtime_ns > max(path.stat().st_mtime_ns for path in rendered)


def _is_rendered(path: Path) -> bool:
    with path.open(encoding="utf-8", errors="replace") as file:
        return _SOURCE.match(file.readline()) is not None


def _inside(folder: Path, name: str) -> Path:
    """Return the source in *folder*. Raises RenderError for one elsewhere: a comment must not choose what runs."""
    source = (folder / name).resolve()
    if not source.is_relative_to(folder.resolve()):
        why = f"src/lib.rs names a source outside the folder, {abbr(name)}, which is not read"
        raise RenderError(
            f"{folder}: {why}. Use `idl2mcp render SOURCE --out {folder}`."
        )
    return source


#: The address that lib.rs declares.
_ADDRESS = re.compile(
    r"""/// The program's address\.\n// (\w+)|^declare_id!\("(\w+)"\);""", re.MULTILINE
)


def _target(folder: Path) -> str | None:
    """The target of the crate in *folder*; None for a facade, which needs more than its source."""
    files = folder / "src"
    if (files / "forward.rs").exists():
        return None
    if (files / "list_tools.rs").exists():
        return "anchor"
    entry = files / "entrypoint.rs"
    native = entry.is_file() and "solana_program::entrypoint!" in entry.read_text(
        encoding="utf-8"
    )
    return "native" if native else "pinocchio"
