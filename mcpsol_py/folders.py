"""Writing into a folder without following the symbolic links by which a path would lead out of it."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

__all__ = ["obstacle_below", "remove_below", "write_below"]

_DESCENDS = os.open in os.supports_dir_fd
_A_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)


def obstacle_below(folder: Path, name: str) -> str | None:
    """Return in words what keeps the file *name* in *folder* from being written, None if nothing does.

    It is a symbolic link on the way, or something else than a file at its end, such as a pipe. *folder* itself may be a
    link: its owner named it.
    """
    path = folder
    for part in Path(name).parts:
        path = path / part
        if path.is_symlink():
            return f"{path} is a symbolic link, and no file is written through one"
    if path.exists() and not path.is_file():
        return f"{path} is not a file"
    return None


def write_below(folder: Path, name: str, data: bytes, *, new: bool = False) -> None:
    """Write the file *name* in *folder*, and make the folders on the way. With *new*, no older file is replaced.

    An older file is replaced in one step, so its other names (hard links) keep their content. Raises OSError for an
    obstacle, also for one that is put there while this runs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _parent(folder, name, make=True) as (inside, last):
        mode = _mode(last, inside)
        place = last if new else f"{last}.{secrets.token_hex(8)}"
        handle = os.open(place, _NEW_FILE, mode, dir_fd=inside)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            if not new:
                os.replace(place, last, src_dir_fd=inside, dst_dir_fd=inside)
        except BaseException:
            os.unlink(place, dir_fd=inside)
            raise


def remove_below(folder: Path, name: str) -> None:
    """Remove the file *name* in *folder*. Raises OSError for a symbolic link on the way."""
    with _parent(folder, name) as (inside, last):
        os.unlink(last, dir_fd=inside)


@contextmanager
def _parent(
    folder: Path, name: str, *, make: bool = False
) -> Iterator[tuple[int | None, str]]:
    """Open the folder of the file *name*, each folder from the one above it, and give the file's name in it.

    Windows has no such way. There obstacles are only looked for, and the name is the whole path.
    """
    path = folder / name
    *folders, last = Path(name).parts
    with ExitStack() as opened, _explaining(folder, name):
        if not _DESCENDS:
            if obstacle_below(folder, name) is not None:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            path.parent.mkdir(parents=make, exist_ok=True)
            yield None, str(path)
            return
        inside = _opened(opened, str(folder), os.O_RDONLY | os.O_DIRECTORY)
        for part in folders:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, dir_fd=inside)
            inside = _opened(opened, part, os.O_RDONLY | _A_FOLDER, dir_fd=inside)
        yield inside, last


@contextmanager
def _explaining(folder: Path, name: str) -> Iterator[None]:
    """Give an OSError, which knows its last part only, the whole path, and the obstacle in words."""
    try:
        yield
    except OSError as error:
        why = obstacle_below(folder, name) or error.strerror
        raise OSError(error.errno, why, str(folder / name)) from error


def _opened(
    opened: ExitStack, part: str, flags: int, *, dir_fd: int | None = None
) -> int:
    """Open a folder, and close it with *opened*."""
    handle = os.open(part, flags, dir_fd=dir_fd)
    opened.callback(os.close, handle)
    return handle


def _mode(last: str, inside: int | None) -> int:
    """Return the permissions of the file that is there, or those of a new one. Raises OSError for something else."""
    try:
        mode = os.stat(last, dir_fd=inside, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0o666
    if not stat.S_ISREG(mode):
        wrong = errno.ELOOP if stat.S_ISLNK(mode) else errno.EEXIST
        raise OSError(wrong, os.strerror(wrong))
    return stat.S_IMODE(mode)
