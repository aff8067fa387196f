"""What the commands say: results to stdout, everything else to stderr, and one exit code a failure.

0 fine; 1 the input's fault; 2 usage (click's own); 3 a chain or the network. With ``--json`` a result is one JSON
document on stdout, and so is a failure: ``{"error": {"reason", "message", …}}`` (beside the sentence on stderr).
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
    McpsolError,
    NoProgram,
    NoSchema,
    ProgramFailed,
    SendUnknown,
    TransportError,
)
from mcpsol_py.names import clean_text

__all__ = [
    "CHAIN",
    "INPUT",
    "OK",
    "USAGE",
    "Progress",
    "as_json_text",
    "emit",
    "exit_code",
    "failure",
    "fields",
    "json_option",
    "note",
    "progress",
    "sol",
    "table",
    "write_whole",
]

OK, INPUT, USAGE, CHAIN = 0, 1, 2, 3

_CHAIN_ERRORS = (TransportError, NoProgram, NoSchema, SendUnknown, ProgramFailed)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--json``, the same for every command; the parameter is `as_json`."""
    return click.option(
        "--json", "as_json", is_flag=True, help="One JSON document on stdout instead of text."
    )(function)


def as_json_text(document: object, *, indent: bool = True) -> str:
    """*document* as JSON text. Bytes are written as "0x" hex, other unknown objects by their str()."""
    import orjson

    def other(value: object) -> str:
        return "0x" + bytes(value).hex() if isinstance(value, (bytes, bytearray)) else str(value)

    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(document, default=other, option=options).decode()
    except TypeError:  # an integer beyond 64 bits, which the standard library writes
        import json

        return json.dumps(document, default=other, indent=2 if indent else None, ensure_ascii=False)


def emit(document: object, text: str | Iterable[str], *, as_json: bool) -> None:
    """Prints a command's result: *document* with ``--json``, else *text* (a string, or lines)."""
    if as_json:
        sys.stdout.write(as_json_text(document) + "\n")
        return
    body = text if isinstance(text, str) else "\n".join(text)
    sys.stdout.write(body if body.endswith("\n") or not body else body + "\n")


def note(text: str) -> None:
    """A line for people, on stderr: it never mixes with a result."""
    sys.stderr.write(clean_text(text, 1 << 16).rstrip("\n") + "\n")
    sys.stderr.flush()


def exit_code(error: BaseException) -> int:
    """The exit code that *error* stands for."""
    if isinstance(error, _CHAIN_ERRORS):
        return CHAIN
    if isinstance(error, (ConnectionError, TimeoutError)):
        return CHAIN
    return INPUT


def failure(
    error: BaseException, *, as_json: bool, details: Mapping[str, Any] | None = None
) -> int:
    """Says what went wrong, once: "Error: …" on stderr, with ``--json`` also an ``error`` object on stdout. Returns
    the exit code.
    """
    if details is None:
        details = (
            error.details()
            if isinstance(error, McpsolError)
            else {"reason": "io_error", "message": _os_message(error)}
        )
    lines = ["Error: " + str(details["message"])]
    if isinstance(error, ProgramFailed) and error.logs:
        lines += ["  the last lines of its log:"] + [f"    {line}" for line in error.logs[-6:]]
    note("\n".join(lines))
    if as_json:
        sys.stdout.write(as_json_text({"error": details}) + "\n")
    return exit_code(error)


def _os_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def sol(lamports: int) -> str:
    """Lamports as people read them."""
    return f"{lamports / 1e9:.9f} SOL"


def fields(record: Any) -> dict[str, Any]:
    """A dataclass's fields as JSON-safe values."""
    from dataclasses import fields as fields_of

    return {f.name: getattr(record, f.name) for f in fields_of(record)}


def table(
    rows: Sequence[Sequence[str]], *, indent: str = "  ", gap: str = "  ", widest: int = 48
) -> list[str]:
    """Rows as aligned lines; the last column is not padded. A cell over *widest* characters does not widen its
    column.
    """
    if not rows:
        return []
    columns = max(len(row) for row in rows)
    widths = [
        max((len(row[i]) for row in rows if i < len(row) - 1 and len(row[i]) <= widest), default=0)
        for i in range(columns)
    ]
    return [
        (
            indent
            + gap.join(
                cell.ljust(widths[i]) if i < len(row) - 1 else cell for i, cell in enumerate(row)
            )
        ).rstrip()
        for row in rows
    ]


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file in one step (a temporary file beside it, then a rename): after a failure the old one, or none, is
    there.
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
        os.chmod(name, mode)  # noqa: PTH101  # the name comes from mkstemp, as text
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
    """Says on stderr what is going on once it has taken over a second, then every five seconds, and how long it took.

    Nothing is written for what is quick, so that scripts see a clean stderr.
    """

    FIRST, AGAIN = 1.0, 5.0

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._started = time.monotonic()
        self._shown = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def step(self, doing: str) -> None:
        """What is being done now; shown at once if this run is a long one already."""
        self.doing = doing
        if self._shown:
            self._show()

    def _show(self) -> None:
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


@contextmanager
def progress(doing: str) -> Iterator[Progress]:
    """``with progress("compiling vault"):`` around whatever may take over a second."""
    with Progress(doing) as running:
        yield running
