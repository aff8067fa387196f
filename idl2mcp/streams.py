"""Input that can be read only once: stdin (`-`), and pipes such as those of `<(command)`."""

from __future__ import annotations

import stat
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from mcpsol_py.errors import SourceError

__all__ = ["is_stream", "kept_in_file", "name_of", "read_stream"]

#: The largest compiled program is smaller.
MAX_BYTES = 64 * 1024 * 1024


def is_stream(text: str) -> bool:
    """Return whether *text* is `-`, or the path of something other than a regular file or a folder."""
    if text == "-":
        return True
    try:
        mode = Path(text).stat().st_mode
    except (OSError, ValueError):  # ValueError: a NUL
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def name_of(text: str) -> str:
    """Return the name of a stream in messages."""
    return "stdin" if text == "-" else text


def read_stream(text: str) -> bytes:
    """Return all bytes of a stream. The same command gets the same bytes again. Raises SourceError."""
    kept = _kept()
    if text not in kept:
        kept[text] = _read(text)
    data: bytes = kept[text]
    return data


def _kept() -> dict[str, Any]:
    """Return what the running command has read."""
    context = click.get_current_context(silent=True)
    found: dict[str, Any] = {} if context is None else context.find_root().meta
    kept: dict[str, Any] = found.setdefault(__name__, {})
    return kept


def _read(text: str) -> bytes:
    try:
        if text == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(text).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise SourceError(
            f"cannot be read: {error.strerror}", origin=name_of(text)
        ) from error
    if len(data) > MAX_BYTES:
        raise SourceError(f"has more than {MAX_BYTES:,} bytes", origin=name_of(text))
    return data


def kept_in_file(data: bytes, suffix: str) -> Path:
    """Return a temporary file with the bytes of a stream, for readers that need a file. It ends with the process."""
    kept = tempfile.NamedTemporaryFile(suffix=suffix)  # noqa: SIM115  # open as long as the process
    kept.write(data)
    kept.flush()
    _FILES.append(kept)
    return Path(kept.name)


_FILES: list[object] = []
