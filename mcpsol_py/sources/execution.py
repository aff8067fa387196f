"""Decides whether Python files of others may run. Reading a spec runs it, so `no_execution` refuses specs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcpsol_py.errors import SourceError

__all__ = ["check_may_run", "no_execution"]

#: How many `no_execution` are entered. One number for all threads: servers read sources in several.
_forbidden: list[None] = []


@contextmanager
def no_execution() -> Iterator[None]:
    """Refuse every source that would have to be run, in all threads of this process."""
    _forbidden.append(None)
    try:
        yield
    finally:
        _forbidden.pop()


def check_may_run(origin: str) -> None:
    """Raise SourceError if the Python file or module *origin* must not run."""
    if _forbidden:
        raise SourceError(
            "reading Python code runs it, and --no-exec forbids that. Look at the code first and leave the option "
            "out, or give an IDL or the compiled .so",
            origin=origin,
        )
