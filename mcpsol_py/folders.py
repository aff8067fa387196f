"""Writing into a folder: finds the symbolic links by which a path would lead out of it."""

from __future__ import annotations

from pathlib import Path

__all__ = ["link_below"]


def link_below(folder: Path, name: str) -> Path | None:
    """Return the first symbolic link on the way from *folder* to the file *name* in it, None if there is none.

    *folder* itself may be a link: its owner named it.
    """
    path = folder
    for part in Path(name).parts:
        path = path / part
        if path.is_symlink():
            return path
    return None
