"""The counters and histograms of /metrics, kept by Prometheus' client library.

Metrics that other modules declare with `prometheus_client` are on the same page. `Bounded` limits
how many values a label has.
"""

from __future__ import annotations

from functools import cache

from prometheus_client import Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as CONTENT_TYPE

__all__ = [
    "CONTENT_TYPE",
    "Bounded",
    "exposition",
    "observe_call",
    "observe_response",
    "running",
]

#: Seconds. An offline build takes a millisecond, a send half a minute.
_BUCKETS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    30,
    60,
)

_calls = Counter(
    "idl2mcp_tool_calls", "Tool calls that were answered.", ["tool", "outcome"]
)
_seconds = Histogram(
    "idl2mcp_tool_seconds", "How long they took.", ["tool", "outcome"], buckets=_BUCKETS
)
running = Gauge("idl2mcp_tool_calls_running", "Tool calls that are being answered.")
_responses = Counter(
    "idl2mcp_http_responses", "HTTP responses, by their status.", ["status"]
)


class Bounded:
    """The values of a label: the first *most* are kept, later ones become "other"."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        if value not in self._known:
            if len(self._known) >= self._most:
                return "other"
            self._known.add(value)
        return value


_tool, _outcome = Bounded(400), Bounded(60)


# Cached, because the library takes a lock to find a label's counter.
@cache
def _of_call(tool: str, outcome: str) -> tuple[Counter, Histogram]:
    return _calls.labels(tool, outcome), _seconds.labels(tool, outcome)


@cache
def _of_response(status: int) -> Counter:
    return _responses.labels(str(status))


def observe_call(tool: str, outcome: str, seconds: float) -> None:
    """Count a call of *tool* ("unknown" if no tool has the name).

    *outcome* is "ok" or the error's reason.
    """
    calls, took = _of_call(_tool(tool), _outcome(outcome))
    calls.inc()
    took.observe(seconds)


def observe_response(status: int) -> None:
    """Count an HTTP response: 401 and 403 are refused tokens, 429 the rate limit, 413 a long body."""
    _of_response(status).inc()


def exposition() -> bytes:
    """Return the page in Prometheus' text format."""
    return generate_latest()
