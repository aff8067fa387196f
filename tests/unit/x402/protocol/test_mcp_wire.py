"""Demands for payment: what can be read of them is used, the rest is left out."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.protocol.bazaar import read_service
from mcpsol_py.x402.protocol.http_wire import read_http_demand, read_http_receipt
from mcpsol_py.x402.protocol.json_form import MAX_DEPTH, encode_object
from mcpsol_py.x402.protocol.mcp_wire import parse_demand, parse_payment, read_receipt
from mcpsol_py.x402.protocol.networks import DEVNET
from tests.unit.x402.payments import USDC

GOOD: dict[str, Any] = {
    "scheme": "exact",
    "network": DEVNET,
    "amount": "10000",
    "asset": str(USDC),
    "payTo": "GyGKxMyg1p9SsHfm15MkNUu1u9TN2JtTspcdmrtGUdse",
    "maxTimeoutSeconds": 60,
    "extra": {"feePayer": "9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu"},
}
GOOD_V1: dict[str, Any] = {
    **{key: value for key, value in GOOD.items() if key != "amount"},
    "network": "solana-devnet",
    "maxAmountRequired": "10000",
    "resource": "mcp://tool/quote",
}
UNREADABLE: list[Any] = [
    {**GOOD, "amount": 10_000},
    {**GOOD, "amount": None},
    {**GOOD, "extra": "none"},
    {key: value for key, value in GOOD.items() if key != "payTo"},
    {"scheme": "lightning", "invoice": "lnbc1"},
    "exact",
    None,
    [],
]


@pytest.mark.parametrize("odd", UNREADABLE)
def test_terms_that_cannot_be_read_are_left_out(odd: Any) -> None:
    for version, good in ((2, GOOD), (1, GOOD_V1)):
        demand = {"x402Version": version, "error": "pay", "accepts": [odd, good, odd]}
        found = parse_demand(demand)
        assert found is not None
        assert [terms.get_amount() for terms in found.accepts] == ["10000"]


def test_a_demand_of_which_no_terms_can_be_read_is_still_a_demand() -> None:
    found = parse_demand({"x402Version": 2, "accepts": UNREADABLE})
    assert found is not None
    assert found.accepts == []


@pytest.mark.parametrize(
    "other", [{}, {"accepts": []}, {"accepts": ["application/json"]}, []]
)
def test_an_answer_of_another_kind_is_not_a_demand(other: Any) -> None:
    assert parse_demand(other) is None


@pytest.mark.parametrize(
    "part",
    [
        {"resource": "https://a"},
        {"resource": {}},
        {"extensions": []},
        {"error": {}},
        {"error": None},
    ],
)
def test_optional_parts_that_cannot_be_read_are_left_out(part: dict[str, Any]) -> None:
    found = parse_demand({"x402Version": 2, "accepts": [GOOD], **part})
    assert found is not None
    assert (len(found.accepts), found.error) == (1, None)


def test_fields_that_are_null_count_as_absent() -> None:
    found = parse_demand(
        {"x402Version": 2, "accepts": [{**GOOD, "extra": None}], "resource": None}
    )
    assert found is not None
    assert found.accepts[0].extra == {}


def test_the_terms_of_the_body_count_if_those_of_the_header_cannot_be_read() -> None:
    header = encode_object({"x402Version": 2, "accepts": [{"scheme": "exact"}]})
    body = b'{"x402Version":1,"accepts":[' + orjson.dumps(GOOD_V1) + b"]}"
    found = read_http_demand("https://a", {"payment-required": header}, body)
    assert found is not None
    assert found.required.x402_version == 1
    assert len(found.required.accepts) == 1


# --- nesting ---------------------------------------------------------------------------------------------------------


def nested(levels: int) -> Any:
    """Objects and lists inside each other."""
    value: Any = 1
    for level in range(levels):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("levels", [MAX_DEPTH, 300, 900, 5_000])
def test_what_nests_too_deep_is_not_read(levels: int) -> None:
    """Libraries that write JSON, and `repr`, end at some depth with errors of their own."""
    deep = nested(levels)
    receipt = {
        "success": True,
        "transaction": "x",
        "network": DEVNET,
        "extensions": deep,
    }
    demand = {
        "x402Version": 2,
        "accepts": [{**GOOD, "extra": {**GOOD["extra"], "a": deep}}],
    }
    assert parse_demand(demand) is None
    assert (
        parse_demand({"x402Version": 2, "accepts": [GOOD], "extensions": deep}) is None
    )
    assert read_receipt({"_meta": {"x402/payment-response": receipt}}) is None
    assert (
        read_service({"resource": deep, "accepts": [GOOD], "type": "http"}, DEVNET)
        is None
    )
    with pytest.raises(PaymentError) as caught:
        parse_payment({"x402Version": 2, "payload": {"a": deep}, "accepted": GOOD})
    assert caught.value.code == "invalid_payload"
    text = ('{"a":' * levels + "1" + "}" * levels).encode()
    body = (
        b'{"x402Version": 2, "accepts": ['
        + orjson.dumps(GOOD)
        + b'], "extensions": '
        + text
    )
    assert read_http_demand("https://shop.example/", {}, body + b"}") is None
    packed = base64.b64encode(
        b'{"success": true, "transaction": "x", "extensions": ' + text + b"}"
    )
    assert read_http_receipt({"payment-response": packed.decode()}) is None


def test_what_nests_less_is_read() -> None:
    extensions = {"a": nested(MAX_DEPTH - 4)}
    demand = parse_demand(
        {"x402Version": 2, "accepts": [GOOD], "extensions": extensions}
    )
    assert demand is not None
    assert encode_object(demand.model_dump(mode="json"))
