"""Spans, events and counters of a running process. Off until a program sets them up.

    with telemetry.span("simulate", program="vault") as step:  # a child of this task's open span
        ...
        step.set(units=1_234)

    telemetry.event("payment settled", network="solana:…", outcome="ok")  # a log line

`traces.set_up` sends spans to OpenTelemetry. `logs.set_up` writes events, and all other logging, to
stderr through structlog. `metrics` has the counters of /metrics. If nothing is set up, a span or an
event costs one test of a variable.

Attributes and fields are names, numbers and outcomes, never a key, a payload, an argument or a
whole URL. All outputs go through `redaction` as well.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal, ParamSpec, Protocol, TypeVar

from mcpsol_py.telemetry.redaction import hide

__all__ = [
    "Span",
    "bind",
    "collect_spans",
    "event",
    "hide",
    "mark",
    "span",
    "spans_are_collected",
    "traced",
    "write_events",
]

Value = str | int | float | bool
Level = Literal["debug", "info", "warning", "error"]
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Span(Protocol):
    """A step that takes time."""

    def set(self, **attributes: Value) -> None:
        """Add attributes that became known during the step."""


class _NoSpan:
    """The span that `span` returns if no spans are collected."""

    def set(self, **attributes: Value) -> None:
        pass

    def __enter__(self) -> _NoSpan:
        return self

    def __exit__(self, *_: object) -> None:
        pass


_NO_SPAN = _NoSpan()
OpenSpan = Callable[[str, dict[str, Value]], AbstractContextManager[Span]]
MarkSpan = Callable[[dict[str, Value]], None]
WriteEvent = Callable[[str, Level, dict[str, Value]], None]
_open: OpenSpan | None = None
_mark: MarkSpan | None = None
_write: WriteEvent | None = None
_bound: ContextVar[dict[str, Value]] = ContextVar("mcpsol_telemetry", default={})  # noqa: B039  # is never changed


def collect_spans(open_span: OpenSpan, mark_span: MarkSpan) -> None:
    """Open spans with *open_span*, and add attributes to the open one with *mark_span*."""
    global _open, _mark
    _open, _mark = open_span, mark_span


def spans_are_collected() -> bool:
    """Whether `collect_spans` was called."""
    return _open is not None


def write_events(write: WriteEvent) -> None:
    """Write events with *write* from now on."""
    global _write
    _write = write


def span(name: str, /, **attributes: Value) -> AbstractContextManager[Span]:
    """Open a child of the open span. An exception marks it as failed, with its reason or class."""
    return _NO_SPAN if _open is None else _open(name, attributes)


def mark(**attributes: Value) -> None:
    """Add *attributes* to the span that is open in this task."""
    if _mark is not None:
        _mark(attributes)


def traced(
    name: str, /, **attributes: Value
) -> Callable[
    [Callable[_P, Coroutine[Any, Any, _T]]], Callable[_P, Coroutine[Any, Any, _T]]
]:
    """Decorate a coroutine function: each run is a span."""

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
    """Write a log line with these fields and the bound ones."""
    if _write is not None:
        _write(name, level, {**_bound.get(), **fields})


class bind:  # a class is twice as fast as a generator's context manager
    """Add *fields*, such as a request's id, to every event inside, in this task and its children."""

    def __init__(self, **fields: Value) -> None:
        self._fields = fields

    def __enter__(self) -> None:
        self._token = _bound.set({**_bound.get(), **self._fields})

    def __exit__(self, *_: object) -> None:
        _bound.reset(self._token)
