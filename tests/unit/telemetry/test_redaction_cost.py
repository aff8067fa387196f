"""The cost of masking is bounded, whatever another party puts into a log line."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.telemetry import redaction
from mcpsol_py.telemetry.redaction import MASK, clean, clean_fields

HOSTILE = [
    "eyJaaaaaaaa-",
    "bearer ",
    "http://",
    "[1,",
    "[ ",
    "1, ",
    "a@",
    "0x0",
    "\\b-",
]


class _Counting:
    """A pattern that notes how much text it is given."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def sub(self, instead: str, text: str) -> str:
        self.lengths.append(len(text))
        return text

    def search(self, text: str) -> None:
        self.lengths.append(len(text))


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_pattern_sees_a_text_of_any_length(
    piece: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = piece * (1_000_000 // len(piece))
    pattern = _Counting()
    monkeypatch.setattr(redaction, "_SHAPES", [(pattern, MASK)])
    monkeypatch.setattr(redaction, "_NAME", pattern)
    clean_fields(
        {"id": text, text: [text], "inner": {"x": (text,), "e": ValueError(text)}}
    )
    assert len(pattern.lengths) >= 8
    assert max(pattern.lengths) <= 4096


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_long_text_is_still_cut_and_masked(piece: str) -> None:
    shown = clean("Bearer abcdefghijklmnop " + piece * 100_000)
    assert "abcdefgh" not in shown
    assert len(shown) <= 2001
    assert shown.endswith("…")


@pytest.mark.parametrize("at", range(3_900, 4_100, 20))
def test_a_secret_at_the_cut_is_not_shown_in_part(at: int) -> None:
    key = "5" * 88
    # Masked, so that what follows moves to the front.
    urls = "http://a/" + "x" * 90 + " "
    text = (urls * 100)[:at] + " " + key
    assert "5555" not in clean(text + " " * 5_000)


def test_deep_nesting_is_cut() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    assert "…" in str(clean(deep))
    table: dict[str, Any] = {}
    for _ in range(10_000):
        table = {"a": table}
    assert "…" in str(clean_fields(table))
