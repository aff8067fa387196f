"""Counters of payments for /metrics (telemetry/metrics.py), with labels that take few values."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

from mcpsol_py.telemetry.metrics import Bounded

__all__ = ["observe_call", "observe_payment", "observe_settlement"]

_SECONDS = (
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
    "x402_paid_calls",
    "Requests for what costs something, by how they were answered.",
    ["outcome"],
)
_call_seconds = Histogram(
    "x402_paid_call_seconds", "How long they took.", ["outcome"], buckets=_SECONDS
)
_settlements = Counter(
    "x402_settlements", "Settlements that were asked for.", ["scheme", "outcome"]
)
_settle_seconds = Histogram(
    "x402_settlement_seconds", "How long they took.", ["scheme"], buckets=_SECONDS
)
_taken = Counter(
    "x402_taken_base_units",
    "What landed, in base units of each token.",
    ["network", "asset"],
)
_payments = Counter(
    "x402_payments", "Payments of our own, by how they ended.", ["outcome"]
)
_outcome, _scheme, _asset = Bounded(60), Bounded(10), Bounded(50)


def observe_call(outcome: str, seconds: float) -> None:
    """A request for something that costs: "answered", "repeated", or the reason of a demand or a refusal."""
    label = _outcome(outcome)
    _calls.labels(label).inc()
    _call_seconds.labels(label).observe(seconds)


def observe_settlement(
    scheme: str, outcome: str, seconds: float, network: str, asset: str, amount: int
) -> None:
    """A settlement: "ok", or the protocol's reason. *amount* landed, in base units of *asset*."""
    _settlements.labels(_scheme(scheme), _outcome(outcome)).inc()
    _settle_seconds.labels(_scheme(scheme)).observe(seconds)
    if outcome == "ok":
        _taken.labels(_asset(network), _asset(asset)).inc(amount)


def observe_payment(outcome: str) -> None:
    """A payment that this process made for a call: "paid", "free", "repeated", "granted" by a
    subscription, "failed" (answered without a receipt), or the error's code."""
    _payments.labels(_outcome(outcome)).inc()
