"""Writing into a folder without following the symbolic links by which a path would lead out of it."""

from __future__ import annotations

import errno
import os
from contextlib import ExitStack, suppress
from pathlib import Path

__all__ = ["link_below", "write_below"]


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


def write_below(folder: Path, name: str, data: bytes) -> None:
    """Write the file *name* in *folder*, and make the folders on the way.

    Raises OSError at a symbolic link, also at one that is put there while this runs: each folder is opened from the one
    above it. Windows has no such way, so there a link is only looked for.
    """
    path = folder / name
    if os.open not in os.supports_dir_fd:
        if link_below(folder, name) is not None:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return
    folder.mkdir(parents=True, exist_ok=True)
    *folders, last = Path(name).parts
    with ExitStack() as opened:
        try:
            inside = _opened(opened, str(folder), os.O_RDONLY | os.O_DIRECTORY)
            for part in folders:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=inside)
                inside = _opened(opened, part, os.O_RDONLY | _A_FOLDER, dir_fd=inside)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            with os.fdopen(os.open(last, flags, 0o666, dir_fd=inside), "wb") as file:
                file.write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error


_A_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


def _opened(opened: ExitStack, part: str, flags: int, *, dir_fd: int | None = None) -> int:
    """Open a folder, and close it with *opened*."""
    handle = os.open(part, flags, dir_fd=dir_fd)
    opened.callback(os.close, handle)
    return handle
