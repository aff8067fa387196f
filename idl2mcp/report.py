"""Output of commands: results on stdout, everything else on stderr, and exit codes.

Exit codes: 0 success, 1 wrong input, 2 wrong usage (click), 3 chain or network. With ``--json``, a result is one JSON
document on stdout. A failure is ``{"error": {"reason", "message", …}}`` on stdout and a sentence on stderr.
"""

from __future__ import annotations

import re
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
    "in_colour",
    "json_option",
    "note",
    "on_terminal",
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

_CHAIN_ERRORS = (
    TransportError,
    NoProgram,
    NoSchema,
    SendUnknown,
    LandedDifferently,
    ProgramFailed,
)


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--json``; the command's parameter is `as_json`."""
    return click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON document instead of text.",
    )(function)


def as_json_text(document: object, *, indent: bool = True) -> str:
    """Return *document* as JSON text. Bytes become "0x" hex, other unknown objects their str().

    Invisible characters are escaped, so that the text is safe to print and means the same.
    """
    return escape_invisible(_json_text(document, indent=indent))


def _json_text(document: object, *, indent: bool) -> str:
    import orjson

    def other(value: object) -> str:
        return (
            "0x" + bytes(value).hex()
            if isinstance(value, (bytes, bytearray))
            else str(value)
        )

    options = orjson.OPT_NON_STR_KEYS | (orjson.OPT_INDENT_2 if indent else 0)
    try:
        return orjson.dumps(document, default=other, option=options).decode()
    except TypeError:
        # An integer of more than 64 bits; the standard library can write it.
        import json

        return json.dumps(
            document, default=other, indent=2 if indent else None, ensure_ascii=False
        )


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
    _write(clean_text(text, _MESSAGE).rstrip("\n") + "\n")


def _write(text: str) -> None:
    """Write to stderr, in place of a line of progress."""
    with _writing:
        if _painted.is_set():
            _painted.clear()
            text = _CLEAR + text
        sys.stderr.write(text)
        sys.stderr.flush()


def in_colour(text: str, code: str) -> str:
    """Return *text* in a colour (an ANSI code) if stderr is a terminal and the person wants colours ($NO_COLOR)."""
    import os

    plain = (
        not on_terminal()
        or os.environ.get("NO_COLOR")
        or os.environ.get("TERM") == "dumb"
    )
    return text if plain else f"\x1b[{code}m{text}\x1b[0m"


def on_terminal() -> bool:
    """Return True if stderr is a terminal, where progress stays in one place."""
    return sys.stderr.isatty()


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
            lines += [
                "  the last lines of its log:",
                *(f"    {at}" for at in error.logs[-6:]),
            ]
    said = clean_text("\n".join(lines), _MESSAGE).removeprefix("Error:").rstrip("\n")
    _write(in_colour("Error:", "1;31") + said + "\n")
    if as_json:
        sys.stdout.write(
            as_json_text({"error": clean_json(dict(details), _MESSAGE)}) + "\n"
        )
    return exit_code(error)


def _os_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return (
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        )
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
    rows: Sequence[Sequence[str]],
    *,
    indent: str = "  ",
    gap: str = "  ",
    widest: int = 48,
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


#: Clears the line of a terminal.
_CLEAR = "\r\x1b[2K"
#: A count in the words of a step: "writing: 12 of 40 parts".
_COUNT = re.compile(r"([0-9][0-9,]*)(?: of |/)([0-9][0-9,]*)")
_BAR = 20
#: Set while a line of progress is on the terminal.
_painted = threading.Event()
_writing = threading.RLock()


class Progress:
    """Progress on stderr, after one second. Fast work prints nothing, so that scripts see a clean stderr.

    On a terminal it is one line that changes in its place; a count ("12 of 40") gets a bar and an estimate. Elsewhere
    it is a line every five seconds. At the end comes the total time.
    """

    FIRST, AGAIN, REPAINT = 1.0, 5.0, 0.25

    def __init__(self, doing: str) -> None:
        self.doing = doing
        self._started = time.monotonic()
        self._shown = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._in_place = on_terminal()
        #: When the count was first seen, the count, and how many there are.
        self._counted: tuple[float, int, int] | None = None

    def step(self, doing: str) -> None:
        """Name the current step. It is shown at once if progress was shown before."""
        self.doing = doing
        if self._shown:
            self._show()

    def _show(self) -> None:
        if _asking.is_set():
            return
        self._shown = True
        text = f"… {self.doing} ({time.monotonic() - self._started:.0f} s)"
        if self._in_place:
            self._paint(clean_text(text, _MESSAGE) + self._estimate())
        else:
            note(text)

    def _paint(self, text: str) -> None:
        """Write a line in the place of the last one."""
        import shutil

        width = shutil.get_terminal_size().columns - 1
        line = text.replace("\n", " ")
        with _writing:
            if _asking.is_set():
                return
            sys.stderr.write(_CLEAR + in_colour(line[:width], "2"))
            sys.stderr.flush()
            _painted.set()

    def _estimate(self) -> str:
        """Return a bar and the time that is left, if the step has a count."""
        found = _COUNT.search(self.doing)
        if found is None:
            return ""
        done, total = (int(number.replace(",", "")) for number in found.groups())
        now = time.monotonic()
        if (
            self._counted is None
            or self._counted[2] != total
            or done < self._counted[1]
        ):
            self._counted = now, done, total
        since, first, _ = self._counted
        full = _BAR * min(done, total) // max(total, 1)
        bar = f"  {'█' * full}{'░' * (_BAR - full)}"
        if done <= first:
            return bar
        left = (now - since) / (done - first) * (total - done)
        return f"{bar}  about {max(left, 0):.0f} s left"

    def _run(self) -> None:
        wait = self.FIRST
        while not self._done.wait(wait):
            self._show()
            wait = self.REPAINT if self._in_place else self.AGAIN

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
        _write("")


#: Set while a person is asked.
_asking = threading.Event()


@contextmanager
def paused() -> Iterator[None]:
    """Show no progress meanwhile, because a person is asked at the terminal."""
    _asking.set()
    _write("")
    try:
        yield
    finally:
        _asking.clear()


@contextmanager
def progress(doing: str) -> Iterator[Progress]:
    """``with progress("compiling vault"):`` around work that may take over a second."""
    with Progress(doing) as running:
        yield running
