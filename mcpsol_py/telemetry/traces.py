"""Send spans to OpenTelemetry.

The MCP SDK opens a span for each request, with the trace context from the request's `_meta`. Our
spans are its children.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SpanExporter,
    SpanExportResult,
)

from mcpsol_py import telemetry
from mcpsol_py.errors import SourceError, suggest
from mcpsol_py.items import items_by_name
from mcpsol_py.telemetry.redaction import clean

__all__ = ["set_up"]


def set_up(
    exporter: SpanExporter | str, *, service: str = "idl2mcp", version: str = ""
) -> None:
    """Collect spans from now on. Call it once in a process.

    *exporter* is an object, or the name of an installed exporter ("otlp", "console", …), which reads
    OpenTelemetry's own variables such as $OTEL_EXPORTER_OTLP_ENDPOINT. Raises SourceError if no
    exporter of that name is installed.
    """
    sink = _installed(exporter) if isinstance(exporter, str) else exporter
    resource = Resource.create(
        {"service.name": service, "service.version": version or "0"}
    )
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(_Cleaned(sink)))
    trace.set_tracer_provider(provider)
    tracer = provider.get_tracer("mcpsol_py", version or None)

    @contextmanager
    def open_span(
        name: str, attributes: dict[str, telemetry.Value]
    ) -> Iterator[telemetry.Span]:
        with tracer.start_as_current_span(
            name,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as found:
            try:
                yield _Open(found)
            except BaseException as error:
                found.set_attribute(
                    "error.type", str(getattr(error, "reason", type(error).__name__))
                )
                found.set_status(trace.StatusCode.ERROR)
                raise

    def mark(attributes: dict[str, telemetry.Value]) -> None:
        trace.get_current_span().set_attributes(attributes)

    telemetry.collect_spans(open_span, mark)


class _Open:
    def __init__(self, span: Any) -> None:
        self._span = span

    def set(self, **attributes: telemetry.Value) -> None:
        self._span.set_attributes(attributes)


def _installed(name: str) -> SpanExporter:
    from importlib.metadata import entry_points

    if name == "console":
        return ConsoleSpanExporter(out=sys.stderr)  # stdout may carry MCP
    found = items_by_name(entry_points(group="opentelemetry_traces_exporter"))
    if name == "otlp":
        name = next(
            (n for n in ("otlp", "otlp_proto_http", "otlp_proto_grpc") if n in found),
            name,
        )
    if name not in found:
        advice = " It comes with the extra otlp." if name == "otlp" else ""
        raise SourceError(
            f"no exporter of this name is installed.{advice} {suggest(name, found)}",
            path="traces",
        )
    made: SpanExporter = found[name].load()()
    return made


class _Cleaned(SpanExporter):
    """An exporter that masks secrets in spans, then passes them to *sink*."""

    def __init__(self, sink: SpanExporter) -> None:
        self._sink = sink

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return self._sink.export(list(map(_cleaned, spans)))

    def shutdown(self) -> None:
        self._sink.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._sink.force_flush(timeout_millis)


def _cleaned(span: ReadableSpan) -> ReadableSpan:
    def attributes(found: Any) -> dict[str, Any]:
        return {key: clean(value, name=key) for key, value in (found or {}).items()}

    return ReadableSpan(
        name=clean(span.name),
        context=span.get_span_context(),
        parent=span.parent,
        resource=span.resource,
        attributes=attributes(span.attributes),
        events=[
            Event(e.name, attributes(e.attributes), e.timestamp) for e in span.events
        ],
        links=span.links,
        kind=span.kind,
        status=trace.Status(span.status.status_code, clean(span.status.description)),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )
