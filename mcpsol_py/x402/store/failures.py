"""Why a transaction of a database failed: whether it may be tried again, and whether it may have been committed."""

from __future__ import annotations

from typing import Literal, TypeAlias

from sqlalchemy.exc import DBAPIError, OperationalError

__all__ = ["FAILURE_MESSAGES", "Failure", "failure_of"]

#: "busy": nothing was done. "lost": it may have been committed. "full": no disk space. "other": the statement itself
#: is wrong.
Failure: TypeAlias = Literal["busy", "lost", "full", "other"]

# PostgreSQL's error codes (https://www.postgresql.org/docs/current/errcodes-appendix.html).
#: Serialization failure, deadlock, lock not available, too many connections.
_BUSY_STATES = ("40001", "40P01", "55P03", "53300")
#: Shutting down, crashed, starting up.
_LOST_STATES = ("57P01", "57P02", "57P03")
#: Class 08: connection exceptions.
_CONNECTION_CLASS = "08"
_FULL_STATES = ("53100", "53200")
_LOCKED_TEXTS = ("database is locked", "database table is locked")

FAILURE_MESSAGES = {
    "busy": "another process holds it locked",
    "lost": "it does not answer",
    "full": "its disk is full",
}


def failure_of(error: DBAPIError) -> Failure:
    """Classify *error*: may the transaction be tried again, and may it have been committed?"""
    message = str(error.orig).lower()
    state = getattr(error.orig, "sqlstate", None) or ""
    if "disk is full" in message or state in _FULL_STATES:
        return "full"
    if state in _BUSY_STATES or any(text in message for text in _LOCKED_TEXTS):
        return "busy"
    if (
        error.connection_invalidated
        or state in _LOST_STATES
        or state.startswith(_CONNECTION_CLASS)
    ):
        return "lost"
    return "lost" if not state and _is_psycopgs_own(error) else "other"


def _is_psycopgs_own(error: DBAPIError) -> bool:
    """Whether psycopg itself reports it: the connection could not be made, or broke."""
    return isinstance(error, OperationalError) and type(
        error.orig
    ).__module__.startswith("psycopg")
