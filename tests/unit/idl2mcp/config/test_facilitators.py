"""The key `facilitators` of [payments]: URLs, presets and tables with secrets."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import pytest

from idl2mcp.config.facilitators import (
    FacilitatorEntry,
    open_facilitators,
    read_facilitators,
)
from mcpsol_py.errors import SourceError
from mcpsol_py.x402.selling.facilitator_auth import PRESETS

SECRET = base64.b64encode(bytes(range(64))).decode()


def test_texts_are_urls_presets_or_installed_names() -> None:
    entries = read_facilitators(["https://f.example", "payai", "mine"])
    assert [(e.url, e.preset, e.name) for e in entries] == [
        ("https://f.example", None, None),
        (None, "payai", None),
        (None, None, "mine"),
    ]


def test_secrets_come_from_the_text_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.token").write_text("of-a-file\n")
    monkeypatch.setenv("F_TOKEN", "of-the-environment")
    url = "https://f.example"
    tokens = ("as-it-is", "file:f.token", "env:F_TOKEN")
    read = read_facilitators(
        [{"url": url, "token": token} for token in tokens], tmp_path
    )
    assert [e.token for e in read] == ["as-it-is", "of-a-file", "of-the-environment"]
    assert "as-it-is" not in repr(read)


def test_headers_are_sent_with_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("F_KEY", "key-from-env")
    table = {
        "url": "https://f.example",
        "headers": {"X-Api-Key": "env:F_KEY"},
        "token": "t0ken-1",
    }
    (entry,) = read_facilitators([table])
    assert (dict(entry.headers), entry.token) == (
        {"X-Api-Key": "key-from-env"},
        "t0ken-1",
    )
    open_facilitators([entry])


@pytest.mark.parametrize(
    ("table", "path", "words"),
    [
        ({}, "", "needs a url, or a preset"),
        ({"url": "https://f", "preset": "cdp"}, "", "needs a url, or a preset"),
        ({"url": "https://f", "tokens": "x"}, ".tokens", "unknown key"),
        ({"preset": "CDP"}, ".preset", "one of cdp, payai"),
        ({"url": "https://f", "token": ""}, ".token", "empty"),
        (
            {"url": "https://f", "token": "env:NO_SUCH_VARIABLE"},
            ".token",
            "NO_SUCH_VARIABLE",
        ),
        ({"url": "https://f", "token": "file:no.such"}, ".token", "no such file"),
        ({"url": "https://f", "headers": {"A": 1}}, ".headers.A", "text"),
        (
            {"url": "https://f", "headers": {"A": "b\r\nC: d"}},
            ".headers.A",
            "printable",
        ),
        ({"url": "https://f", "headers": {"A B": "c"}}, ".headers.A B", "printable"),
        ({"url": "https://f", "key_id": "k"}, ".key_id", "preset"),
        ({"preset": "cdp", "token": "t", "key_id": "k"}, "", "both"),
        ({"url": "https://f", "timeout": 0}, ".timeout", "more than 0"),
        ({"url": "http://f.example", "token": "t"}, ".url", "https"),
        ({"url": "http://f.example", "headers": {"A": "b"}}, ".url", "https"),
    ],
)
def test_mistakes_have_their_path(table: dict[str, Any], path: str, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        read_facilitators([table])
    assert caught.value.path == f"payments.facilitators[0]{path}"


def test_a_token_may_go_to_this_machine_without_encryption() -> None:
    assert read_facilitators([{"url": "http://127.0.0.1:8402", "token": "t"}])


def test_a_preset_takes_its_key_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("CDP_API_KEY_ID", "CDP_API_KEY_SECRET"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SourceError, match="needs key_id and secret, or CDP_API_KEY_ID"):
        open_facilitators(read_facilitators(["cdp"]))
    monkeypatch.setenv("CDP_API_KEY_ID", "k")
    monkeypatch.setenv("CDP_API_KEY_SECRET", SECRET)
    open_facilitators(read_facilitators(["cdp"]))


def test_payai_serves_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PAYAI_API_KEY_ID", "PAYAI_API_KEY_SECRET"):
        monkeypatch.delenv(name, raising=False)
    open_facilitators(read_facilitators(["payai"]))
    with pytest.raises(SourceError, match="needs key_id and secret"):
        open_facilitators(read_facilitators([{"preset": "payai", "key_id": "k"}]))


def test_a_secret_that_is_no_key_is_refused_without_showing_it() -> None:
    table = {"preset": "cdp", "key_id": "k", "secret": "hunter2-hunter2"}
    with pytest.raises(SourceError, match="secret of the cdp key") as caught:
        open_facilitators(read_facilitators([table]))
    assert caught.value.path == "payments.facilitators[0]"
    assert "hunter2" not in str(caught.value)


def test_an_unknown_name_is_refused_at_the_start() -> None:
    with pytest.raises(SourceError, match="not installed"):
        open_facilitators(
            [FacilitatorEntry("payments.facilitators[0]", name="no-such")]
        )


def test_urls_of_presets_are_encrypted() -> None:
    assert {httpx.URL(preset.url).scheme for preset in PRESETS.values()} == {"https"}
