"""Output of commands: results on stdout, everything else on stderr, and exit codes.

Exit codes: 0 success, 1 wrong input, 2 wrong usage (click), 3 chain or network. With ``--json``, a result is one JSON
document on stdout. A failure is ``{"error": {"reason", "message", …}}`` on stdout and a sentence on stderr.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import click

from mcpsol_py.errors import (
    LandedDifferently,
    McpsolError,
    NoProgram,
    NoSchema,
    ProgramFailed,
    SendUnknown,
    TransportError,
)
from mcpsol_py.names import clean_json, clean_text, escape_invisible

__all__ = [
    "CHAIN",
    "INPUT",
    "NOT_COMPARED",
    "OK",
    "USAGE",
    "Progress",
    "as_json_text",
    "count",
    "emit",
    "exit_code",
    "failure",
    "fields",
    "json_option",
    "note",
    "paused",
    "progress",
    "sol",
    "table",
    "write_whole",
]

OK, INPUT, USAGE, CHAIN, NOT_COMPARED = 0, 1, 2, 3, 4

#: How much of one text or line of a result is printed. An answer that was bought may be this long.
_LONGEST = 16 << 20
#: How much of a message is printed.
_MESSAGE = 1 << 16

_CHAIN_ERRORS = (TransportError, NoProgram, NoSchema, SendUnknown, LandedDifferently, ProgramFailed)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``; the command's parameter is `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON document instead of text."
    )(function)


def as_json_text(document: object, *, indent: bool = True) -> str:
    """Return *document* as JSON text. Bytes become "0x" hex, other unknown objects their str().

    Invisible characters are escaped, so that the text is safe to print and means the same.
    """
    return escape_invisible(_json_text(document, indent=indent))


def _json_text(document: object, *, indent: bool) -> str:
    import orjson

    def other(value: object) -> str:
        return "0x" + bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)

    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(document, default=other, option=options).decode()
    except TypeError:  # an integer of more than 64 bits; the standard library can write it
        import json

        return json.dumps(document, default=other, indent=2 if indent else None, ensure_ascii=False)


def emit(document: object, text: str | Iterable[str], *, as_json: bool) -> None:
    """Print a command's result: *document* with ``--json``, else *text* (a string or lines).

    A result may hold text of strangers (sellers, IDLs, chains), so all of its text is cleaned.
    """
    if as_json:
        sys.stdout.write(as_json_text(clean_json(document, _LONGEST)) + "\n")
        return
    lines = text.split("\n") if isinstance(text, str) else text
    body = "\n".join(clean_text(line, _LONGEST) for line in lines)
    sys.stdout.write(body if body.endswith("\n") or not body else body + "\n")


def note(text: str) -> None:
    """Print a message for people on stderr, so that it never mixes with a result."""
    sys.stderr.write(clean_text(text, _MESSAGE).rstrip("\n") + "\n")
    sys.stderr.flush()


def exit_code(error: BaseException) -> int:
    """Return the exit code for *error*."""
    if isinstance(error, _CHAIN_ERRORS):
        return CHAIN
    if isinstance(error, (ConnectionError, TimeoutError)):
        return CHAIN
    return INPUT


def failure(
    error: BaseException, *, as_json: bool, details: Mapping[str, Any] | None = None
) -> int:
    """Report *error* and return its exit code.

    Prints "Error: …" on stderr, and with ``--json`` also an ``error`` object on stdout.
    """
    if details is None:
        details = (
            error.details()
            if isinstance(error, McpsolError)
            else {"reason": "io_error", "message": _os_message(error)}
        )
    lines = ["Error: " + str(details["message"])]
    if isinstance(error, ProgramFailed):
        lines += [f"  look at: {hint}" for hint in error.hints]
        if error.logs:
            lines += ["  the last lines of its log:", *(f"    {at}" for at in error.logs[-6:])]
    note("\n".join(lines))
    if as_json:
        sys.stdout.write(as_json_text({"error": clean_json(dict(details), _MESSAGE)}) + "\n")
    return exit_code(error)


def _os_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def count(number: int, noun: str) -> str:
    """Return a number with its noun: "1 tool", "2 tools"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def sol(lamports: int) -> str:
    """Return lamports as text in SOL."""
    return f"{lamports / 1e9:.9f} SOL"


def fields(record: Any) -> dict[str, Any]:
    """Return a dataclass's fields as a dict."""
    from dataclasses import fields as fields_of

    return {f.name: getattr(record, f.name) for f in fields_of(record)}


def table(
    rows: Sequence[Sequence[str]], *, indent: str = "  ", gap: str = "  ", widest: int = 48
) -> list[str]:
    """Return rows as aligned lines. The last column has no padding; a cell over *widest* does not widen its column."""
    widths: dict[int, int] = {}
    for row in rows:
        for column, cell in enumerate(row[:-1]):
            if len(cell) <= widest:
                widths[column] = max(len(cell), widths.get(column, 0))
    return [(indent + gap.join(_padded(row, widths))).rstrip() for row in rows]


def _padded(row: Sequence[str], widths: Mapping[int, int]) -> Iterator[str]:
    for column, cell in enumerate(row[:-1]):
        yield cell.ljust(widths.get(column, 0))
    yield from row[-1:]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file in one step: a temporary file in the same folder, then a rename.

    After a failure the old file is unchanged, and no new one exists.
    """
    import os
    import tempfile

    handle, name = tempfile.mkstemp(
        dir=path.parent if str(path.parent) else ".", prefix=f".{path.name}."
    )
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        os.chmod(name, mode)  # noqa: PTH101  # mkstemp returns text
        os.replace(name, path)  # noqa: PTH105  # as above
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    import os

    mask = os.umask(0)
    os.umask(mask)
    return mask


class Progress:
    """Progress on stderr: after one second, then every five seconds, and the total time at the end.

    Fast work prints nothing, so that scripts see a clean stderr.
    """

    FIRST, AGAIN = 1.0, 5.0

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._started = time.monotonic()
        self._shown = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def step(self, doing: str) -> None:
        """Name the current step. It is shown at once if progress was shown before."""
        self.doing = doing
        if self._shown:
            self._show()

    def _show(self) -> None:
        if _asking.is_set():
            return
        self._shown = True
        note(f"… {self.doing} ({time.monotonic() - self._started:.0f} s)")

    def _run(self) -> None:
        wait = self.FIRST
        while not self._done.wait(wait):
            self._show()
            wait = self.AGAIN

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()
        if self._shown and error is None:
            note(f"… done in {time.monotonic() - self._started:.1f} s")


#: Set while a person is asked.
_asking = threading.Event()


@contextmanager
def paused() -> Iterator[None]:
    """Show no progress meanwhile, because a person is asked at the terminal."""
    _asking.set()
    try:
        yield
    finally:
        _asking.clear()


@contextmanager
def progress(doing: str) -> Iterator[Progress]:
    """``with progress("compiling vault"):`` around work that may take over a second."""
    with Progress(doing) as running:
        yield running
