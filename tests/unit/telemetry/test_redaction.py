"""What is secret by its name, by its shape, or because it was named so, and what stays readable."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.telemetry.redaction import MASK, clean, clean_fields, hide

KEY = Keypair.from_seed(bytes(range(32)))


@pytest.mark.parametrize(
    "text",
    [
        "authorization: Bearer abcdefgh12345",
        "Basic dXNlcjpwYXNzd29yZA==",
        f"the key {KEY} was read",
        json.dumps(list(bytes(KEY))),
        bytes(KEY).hex(),
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "header: " + base64.b64encode(bytes(range(200))).decode(),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    cleaned = clean(text)
    assert MASK in cleaned
    assert not {
        part for part in text.split() if len(part) > 15 or part == "abcdefgh12345"
    } & set(cleaned.split())


def test_a_url_keeps_its_host_only() -> None:
    cleaned = clean(
        "asked https://user:pw@rpc.example.com:8899/v1/K3Y?api-key=K3Y about it"
    )
    assert cleaned == "asked https://rpc.example.com:8899 about it"


def test_a_databases_url_keeps_its_host_only() -> None:
    for scheme in ("postgresql+psycopg", "postgresql", "postgres"):
        cleaned = clean(
            f"opened {scheme}://shop:p4ss@db.example.com:5432/shop?password=p4ss now"
        )
        assert cleaned == f"opened {scheme}://db.example.com:5432 now"


@pytest.mark.parametrize(
    "name",
    ["token", "Authorization", "api_key", "passphrase", "client_secret", "private_key"],
)
def test_a_name_that_sounds_secret_hides_any_value(name: str) -> None:
    assert clean_fields({name: "anything"}) == {name: MASK}
    assert clean_fields({"outer": {name: 5}}) == {"outer": {name: MASK}}


def test_what_was_named_secret_is_found_inside_other_text() -> None:
    hide("correct horse")
    hide("correct horse battery")
    assert clean({"why": ["no such file: correct horse battery.txt"]}) == {
        "why": [f"no such file: {MASK}.txt"]
    }


def test_keys_in_numbers_and_bytes_are_not_written_out() -> None:
    assert clean(list(bytes(KEY))) == MASK
    assert clean(bytes(KEY)) == "64 bytes"


@given(st.binary(min_size=32, max_size=32), st.text(max_size=40), st.integers())
def test_addresses_numbers_and_words_stay(
    address: bytes, word: str, number: int
) -> None:
    text = str(Pubkey.from_bytes(address))
    assert clean(text, name="program") == text
    assert clean(number) == number
    cleaned = clean(word)
    assert cleaned == word or MASK in cleaned or "://" in word


def test_a_signature_stays_under_its_name_only() -> None:
    signature = str(KEY.sign_message(b"m"))
    assert clean_fields({"signature": signature, "text": signature}) == {
        "signature": signature,
        "text": MASK,
    }
