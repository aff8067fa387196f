"""Logging and events to stderr: one line each, as text or as JSON (structlog).

structlog takes a fifth of a second to import, so it is imported with the first line.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import MutableMapping
from typing import Any, Literal

from mcpsol_py import telemetry
from mcpsol_py.telemetry.redaction import clean_fields

__all__ = ["set_up"]

Form = Literal["text", "json"]
_LOGGER = "mcpsol_py"
_LEVELS = logging.getLevelNamesMapping()


def set_up(form: Form = "text", level: str = "warning") -> None:
    """Write everything that is logged at *level* and above to stderr from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter(form))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    # They log each request; spans have that.
    for noisy in ("httpx", "httpx2", "httpcore"):
        logging.getLogger(noisy).setLevel(max(root.level, logging.WARNING))
    logger = logging.getLogger(_LOGGER)

    def write(
        name: str, level: telemetry.Level, fields: dict[str, telemetry.Value]
    ) -> None:
        logger.log(_LEVELS[level.upper()], name, extra={"fields": fields})

    telemetry.write_events(write)


class _Formatter(logging.Formatter):
    """structlog's formatter, created with the first line."""

    def __init__(self, form: Form) -> None:
        super().__init__()
        self._form = form
        self._made: Any = None

    def format(self, record: logging.LogRecord) -> str:
        if self._made is None:
            self._made = _formatter(self._form)
        return str(self._made.format(record))


def _formatter(form: Form) -> Any:
    import structlog

    last: list[Any] = (
        [structlog.processors.JSONRenderer(sort_keys=False, ensure_ascii=False)]
        if form == "json"
        else [
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), sort_keys=False)
        ]
    )
    return structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[
            structlog.stdlib.add_log_level,
            structlog.stdlib.add_logger_name,
        ],
        processors=[
            _fields,
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            redact,
            *last,
        ],
    )


def _fields(
    logger: Any, method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Add the fields of our events, which are on the `logging` record, to the line."""
    record: logging.LogRecord = line["_record"]
    line.update(getattr(record, "fields", {}))
    if record.exc_info:
        line["exc_info"] = record.exc_info
    if telemetry.spans_are_collected():
        from opentelemetry.trace import format_trace_id, get_current_span

        if trace := get_current_span().get_span_context().trace_id:
            line["trace_id"] = format_trace_id(trace)
    return line


def redact(
    logger: Any, method: str, line: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Mask secrets. Runs before the processor that prints the line."""
    return clean_fields(dict(line))
