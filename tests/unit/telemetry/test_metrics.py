"""Counters and histograms as Prometheus reads them, and labels that stay few."""

from prometheus_client.parser import text_string_to_metric_families

from mcpsol_py.telemetry.metrics import (
    Bounded,
    exposition,
    observe_call,
    observe_response,
)


def samples() -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    families = text_string_to_metric_families(exposition().decode())
    return {
        (s.name, tuple(sorted(s.labels.items()))): s.value
        for f in families
        for s in f.samples
    }


def test_calls_are_counted_and_timed_by_tool_and_outcome() -> None:
    labels = (("outcome", "ok"), ("tool", 'odd"na\\me\n'))
    observe_call('odd"na\\me\n', "ok", 0.003)
    observe_call('odd"na\\me\n', "ok", 0.3)
    observe_response(429)
    found = samples()
    assert found["idl2mcp_tool_calls_total", labels] == 2
    assert found["idl2mcp_tool_seconds_sum", labels] == 0.303
    assert found["idl2mcp_tool_seconds_bucket", (("le", "0.005"), *labels)] == 1
    assert found["idl2mcp_tool_seconds_bucket", (("le", "0.5"), *labels)] == 2
    assert found["idl2mcp_http_responses_total", (("status", "429"),)] >= 1


def test_a_label_takes_no_more_values_than_it_may() -> None:
    fold = Bounded(2)
    assert [fold(v) for v in ("a", "b", "c", "a", "d")] == [
        "a",
        "b",
        "other",
        "a",
        "other",
    ]
