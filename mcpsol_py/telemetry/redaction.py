"""Mask secrets in logs and spans: by field name, by shape, and texts registered with `hide`."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

__all__ = ["clean", "clean_fields", "hide"]

MASK = "[hidden]"
_LONGEST = 2000
#: The characters of a text that are searched for secrets, which bounds the patterns' cost. Of a longer
#: text the last `_MARGIN` are left out: a secret may be cut there, so that no pattern finds it.
_SEARCHED = 4096
_MARGIN = 1024
_MAX_DEPTH = 16

#: Tokens and passphrases that this process was given.
_hidden: list[str] = []

_NAME = re.compile(
    r"(?i)(secret|passw|passphrase|private|mnemonic|seed_?phrase|authori[sz]ation|cookie|api[_-]?key|bearer|^token$|_token$)"
)
_SHAPES = [
    # an Authorization header, or its value
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {MASK}"),
    # user, path and query of a URL: providers put API keys there, databases a password; the host stays
    (
        re.compile(
            r"(?i)\b(https?|wss?|postgres(?:ql)?(?:\+\w{1,20})?)://(?:[^\s/@\"']+@)?([^\s/?#\"']+)([/?#][^\s\"')]*)?"
        ),
        r"\1://\2",
    ),
    # a JSON Web Token
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    # a webhook's secret
    (re.compile(r"\bwhsec_[A-Za-z0-9+/_-]{16,}={0,2}"), MASK),
    # a payment or a signed transaction in base64
    (re.compile(r"\b[A-Za-z0-9+/_-]{200,}={0,2}"), MASK),
    # a key as solana-keygen writes it: 64 numbers
    (re.compile(r"\[\s*(?:\d{1,3}\s*,\s*){31,63}\d{1,3}\s*\]"), MASK),
    # 64 bytes in base58 or hex: a key pair; a signature looks the same, see `_text`
    (re.compile(r"\b[1-9A-HJ-NP-Za-km-z]{86,88}\b"), MASK),
    (re.compile(r"\b(?:0x)?[0-9a-fA-F]{128}\b"), MASK),
]


def hide(secret: str) -> None:
    """Mask *secret* in all log lines and spans from now on, if it has six characters or more."""
    if len(secret) >= 6 and secret not in _hidden:
        _hidden.append(secret)
        _hidden.sort(key=len, reverse=True)  # longest first: one may contain another


def clean(value: Any, *, name: str = "", depth: int = 0) -> Any:
    """Return *value* with secrets masked, in containers too, and long texts and deep nesting cut."""
    match value:
        case str():
            return _text(value, name)
        case None | bool() | int() | float():
            return value
        case bytes() | bytearray() | memoryview():
            return f"{len(value)} bytes"
    if depth > _MAX_DEPTH:
        return "…"
    match value:
        case dict():
            return clean_fields(value, depth=depth + 1)
        case list() | tuple() | set() | frozenset():
            return (
                MASK
                if _is_key(value)
                else [clean(item, depth=depth + 1) for item in value]
            )
    return _text(str(value), name)


def _is_key(items: Collection[object]) -> bool:
    """Return whether *items* may be the bytes of a key as numbers."""
    return len(items) in (32, 64) and set(map(type, items)) == {int}


def clean_fields(fields: dict[str, Any], *, depth: int = 0) -> dict[str, Any]:
    """Return a copy: values under names that sound secret are masked, others cleaned."""
    return {
        key: MASK if _NAME.search(key) else clean(value, name=key, depth=depth)
        for key, value in (
            (str(key)[:_LONGEST], value) for key, value in fields.items()
        )
    }


def _text(text: str, name: str) -> str:
    is_long = len(text) > _SEARCHED
    text = text[:_SEARCHED]
    for secret in _hidden:
        text = text.replace(secret, MASK)
    if name != "signature":
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
    shown = text[: max(0, len(text) - _MARGIN)] if is_long else text
    return shown if len(shown) <= _LONGEST and not is_long else shown[:_LONGEST] + "…"
