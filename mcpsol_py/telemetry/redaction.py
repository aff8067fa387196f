"""Mask secrets in logs and spans: by field name, by shape, and texts registered with `hide`."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["clean", "clean_fields", "hide"]

MASK = "[hidden]"
_LONGEST = 2000

#: Tokens and passphrases that this process was given.
_hidden: list[str] = []

_NAME = re.compile(
    r"(?i)(secret|passw|passphrase|private|mnemonic|seed_?phrase|authori[sz]ation|cookie|api[_-]?key|bearer|^token$|_token$)"
)
_SHAPES = [
    # an Authorization header, or its value
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {MASK}"),
    # user, path and query of a URL: providers put API keys there; the host stays
    (
        re.compile(r"(?i)\b(https?|wss?)://(?:[^\s/@\"']+@)?([^\s/?#\"']+)([/?#][^\s\"')]*)?"),
        r"\1://\2",
    ),
    # a JSON Web Token
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
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


def clean(value: Any, *, name: str = "") -> Any:
    """Return *value* with secrets masked, in containers too, and long texts cut."""
    if isinstance(value, str):
        return _text(value, name)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{len(value)} bytes"
    if isinstance(value, dict):
        return clean_fields(value)
    if isinstance(value, (list, tuple, set, frozenset)):
        if len(value) in (32, 64) and all(isinstance(item, int) for item in value):
            return MASK  # a key as a list of numbers
        return [clean(item) for item in value]
    return _text(str(value), name)


def clean_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return a copy: values under names that sound secret are masked, others cleaned."""
    return {
        str(key): MASK if _NAME.search(str(key)) else clean(value, name=str(key))
        for key, value in fields.items()
    }


def _text(text: str, name: str) -> str:
    for secret in _hidden:
        text = text.replace(secret, MASK)
    if name != "signature":
        for shape, instead in _SHAPES:
            text = shape.sub(instead, text)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
