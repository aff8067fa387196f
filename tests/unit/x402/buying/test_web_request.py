"""HTTP requests of a buyer: bodies with their Content-Type, and what is refused."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.buying.web_request import web_request

URL = "https://shop.example/x"
_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(_TEXTS, st.lists(_TEXTS, min_size=1), min_size=1))
def test_a_form_is_what_its_reader_reads(fields: dict[str, list[str]]) -> None:
    request = web_request(URL, form=fields)
    read = parse_qs(
        request.content.decode(), keep_blank_values=True, max_num_fields=None
    )
    assert read == fields
    assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"


@given(st.recursive(st.none() | st.booleans() | st.text(), lambda v: st.lists(v)))
def test_json_is_what_its_reader_reads(value: Any) -> None:
    request = web_request(URL, json=value)
    assert (orjson.loads(request.content), request.method) == (value, "POST")
    assert request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    "given",
    [
        {"body": "a", "json": None},
        {"json": 1, "form": {}},
        {"form": {"a": {"b": 1}}},
        {"method": "GET /x"},
        {"headers": {"Host": "other"}},
        {"headers": {"payment-signature": "x"}},
        {"headers": {"Sign-In-With-X": "x"}},
        {"headers": {"a b": "c"}},
        {"headers": {"a": "b\nc"}},
        {"headers": {"a": 1}},
        {"headers": {f"h{n}": "x" for n in range(51)}},
    ],
)
def test_requests_that_cannot_be_sent_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(PaymentError) as caught:
        web_request(URL, **given)
    assert caught.value.code == "INVALID_PARAMETERS"


def test_no_message_shows_a_header_or_a_body() -> None:
    request = web_request(
        URL, headers={"Authorization": "Bearer SECRET"}, body="SECRET"
    )
    assert "SECRET" not in repr(request)
    with pytest.raises(PaymentError) as caught:
        web_request(URL, headers={"Authorization": "SECRET\n"})
    assert "SECRET" not in str(caught.value)
