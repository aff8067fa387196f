"""What the code tells of itself while it runs: spans, events and counters. Off until a surface sets it up, and then
nothing is paid but a test of a variable.

    with telemetry.span("simulate", program="vault") as step:   # a span below the one that is open in this task
        ...
        step.set(units=1_234)

    telemetry.event("payment settled", network="solana:…", outcome="ok")   # a line of the log

`traces.set_up` sends spans to OpenTelemetry, `logs.set_up` writes events (and everybody's logging) to stderr through
structlog, `metrics` holds what /metrics shows. Attributes and fields are names, numbers and outcomes: never a key, a
payload, an argument or a whole URL. All outputs go through `redaction` all the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from mcpsol_py.telemetry.redaction import hide

__all__ = ["Span", "bind", "event", "hide", "mark", "span", "traced"]

Value = str | int | float | bool
Level = Literal["debug", "info", "warning", "error"]
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Span(Protocol):
    """A step that takes time."""

    def set(self, **attributes: Value) -> None:
        """Adds what became known meanwhile."""


class _Nothing:
    """The span where none are collected."""

    def set(self, **attributes: Value) -> None:
        pass

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        pass


_NOTHING = _Nothing()
#: what `traces.set_up` and `logs.set_up` put in: how spans are opened, the open span is marked and events are written
_open: Callable[[str, dict[str, Value]], AbstractContextManager[Span]] | None = None
_mark: Callable[[dict[str, Value]], None] | None = None
_write: Callable[[str, Level, dict[str, Value]], None] | None = None
_bound: ContextVar[dict[str, Value]] = ContextVar("mcpsol_telemetry", default={})  # noqa: B039  # is never changed


def span(name: str, /, **attributes: Value) -> AbstractContextManager[Span]:
    """A span below the one that is open. What is raised inside marks it failed, by the error's class or reason."""
    return _NOTHING if _open is None else _open(name, attributes)


def mark(**attributes: Value) -> None:
    """Adds *attributes* to the span that is open in this task, whoever opened it."""
    if _mark is not None:
        _mark(attributes)


def traced(
    name: str, /, **attributes: Value
) -> Callable[[Callable[_P, Coroutine[Any, Any, _T]]], Callable[_P, Coroutine[Any, Any, _T]]]:
    """Makes each run of a coroutine function a span."""

    def wrap(
        function: Callable[_P, Coroutine[Any, Any, _T]],
    ) -> Callable[_P, Coroutine[Any, Any, _T]]:
        @functools.wraps(function)
        async def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            if _open is None:
                return await function(*args, **kwargs)
            with _open(name, dict(attributes)):
                return await function(*args, **kwargs)

        return run

    return wrap


def event(name: str, /, *, level: Level = "info", **fields: Value) -> None:
    """A line of the log, with the fields that are bound."""
    if _write is not None:
        _write(name, level, {**_bound.get(), **fields})


class bind:  # used as a function is; a generator's context takes twice as long
    """*fields* stand in every event inside, in this task and those that it starts: the request's id, say."""

    def __init__(self, **fields: Value) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token = _bound.set({**_bound.get(), **self._fields})

    def __exit__(self, *_: object) -> None:
        _bound.reset(self._token)
