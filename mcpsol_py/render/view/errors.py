"""The program's own errors, and the errors of the generated checks."""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.errors import abbr
from mcpsol_py.model.program import ErrorCode
from mcpsol_py.render.faults import CHECKS
from mcpsol_py.render.rust import IdentifierPool, Rust, code, string

__all__ = ["ErrorView", "check_views", "error_message", "error_views"]

#: Longer messages are cut: the log of a transaction has room for 10,000 bytes.
_LONGEST_MESSAGE = 200


@dataclass(frozen=True, slots=True)
class ErrorView:
    """One error: its variant, its number and its message in the log."""

    name: Rust
    code: Rust
    text: Rust


def check_views() -> tuple[ErrorView, ...]:
    """The errors of the generated checks."""
    return tuple(
        ErrorView(code(name), code(str(value)), string(text))
        for value, name, text in CHECKS
    )


def error_views(errors: tuple[ErrorCode, ...]) -> tuple[ErrorView, ...]:
    """The program's own errors, in the order of *errors*."""
    names = IdentifierPool()
    return tuple(
        ErrorView(
            names.take(error.name, "pascal"),
            code(str(error.code % 2**32)),
            string(error_message(error)),
        )
        for error in errors
    )


def error_message(error: ErrorCode) -> str:
    """The message of *error*, cut if it is long. Its name if it has no message."""
    message = error.message
    if len(message) > _LONGEST_MESSAGE:
        message = abbr(message, _LONGEST_MESSAGE)[1:-1]
    return message or error.name
