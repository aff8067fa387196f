"""Opening documents: the bytes of a file within a size limit, and the JSON value in them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import orjson

from mcpsol_py.errors import SourceError, abbr

__all__ = ["MAX_BYTES", "load_bytes", "parse_json"]

#: The largest known IDL takes 1.5 MB. A larger file is not an IDL and would only cost memory.
MAX_BYTES = 16 * 1024 * 1024

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def load_bytes(
    source: str | PathLike[str] | bytes | bytearray, origin: str = ""
) -> tuple[bytes, str]:
    """Return the bytes of a file (or those given) and the name to use for them in messages.

    Raises SourceError if the file cannot be read or is larger than MAX_BYTES.
    """
    if isinstance(source, (bytes, bytearray)):
        data = bytes(source)
    else:
        path = Path(fspath(source))
        origin = origin or str(path)
        data = _file_bytes(path, origin)
    if len(data) > MAX_BYTES:
        raise _too_large(len(data), origin)
    return data, origin


def _file_bytes(path: Path, origin: str) -> bytes:
    try:
        if path.is_dir():
            raise SourceError(
                "this is a folder. Give the IDL file in it.", origin=origin
            )
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise _too_large(size, origin)
        if size:
            return path.read_bytes()
        with path.open("rb") as file:  # a pipe has size 0 until it is read
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SourceError("no such file.", origin=origin) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        why = getattr(error, "strerror", None) or error
        raise SourceError(f"cannot read the file: {why}.", origin=origin) from error


def _too_large(size: int, origin: str) -> SourceError:
    return SourceError(
        f"the file has {size:,} bytes; the limit is {MAX_BYTES:,}. The largest known IDLs have "
        "under 2,000,000.",
        origin=origin,
    )


def parse_json(data: bytes, origin: str = "") -> Any:
    """Parse JSON. Raises SourceError, which tells a truncated file from one that is not JSON."""
    data = data.removeprefix(_UTF8_MARK)
    if data[:2] in _UTF16_MARKS:  # Windows shells write redirected output as UTF-16
        data = data.decode("utf-16", "replace").encode()
    if not data.strip():
        raise SourceError("the file is empty. An IDL is a JSON object.", origin=origin)
    if _LONG_NUMBER in data.translate(_DIGITS):
        with suppress(ValueError, RecursionError):
            return _exact(data)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if _SURROGATE.search(data):
            with suppress(ValueError, RecursionError):
                return _exact(data)
        raise SourceError(_why_not_json(data, error), origin=origin) from error


#: orjson reads numbers above a u64 as floats, and no text with half of a surrogate pair. A pattern of digits takes
#: longer to search than one text, so all digits are made zeros.
_LONG_NUMBER, _SURROGATE = b"0" * 19, re.compile(rb"\\u[dD][89a-fA-F]")
_DIGITS = bytes(ord("0") if chr(byte) in "0123456789" else 0 for byte in range(256))


def _exact(data: bytes) -> Any:
    """Parse JSON with whole numbers of any size. Half of a surrogate pair becomes "?". Raises ValueError."""
    found = json.loads(data, parse_constant=_no_constant)
    if not _SURROGATE.search(data):
        return found
    return json.loads(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"))


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _why_not_json(data: bytes, error: orjson.JSONDecodeError) -> str:
    place = f"line {error.lineno}, column {error.colno}"
    if error.lineno == error.colno == 1:
        start = abbr(data[:24])
        return f"not JSON: {error.msg}, at {place}. It starts with {start}; an IDL is a JSON object."
    if error.pos >= len(data.rstrip()) - 1 or "unexpected end" in error.msg:
        return f"the JSON ends too early, at {place}: the file is truncated. Fetch or build it again."
    return f"not JSON: {error.msg}, at {place}."
