"""Nothing secret in what is written: by name, by shape, and by what was named secret."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["clean", "clean_fields", "hide"]

MASK = "[hidden]"
_LONGEST = 2000

#: texts that no output may show: tokens and passphrases that this process was given
_hidden: list[str] = []

_NAME = re.compile(
    r"(?i)(secret|passw|passphrase|private|mnemonic|seed_?phrase|authori[sz]ation|cookie|api[_-]?key|bearer|^token$|_token$)"
)
_SHAPES = [
    # Authorization headers, in whole or in part
    (re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{6,}"), rf"\1 {MASK}"),
    # who logs in, the path and the query of a URL of a node (FIELD-NOTES C-63); its host stays
    (
        re.compile(r"(?i)\b(https?|wss?)://(?:[^\s/@\"']+@)?([^\s/?#\"']+)([/?#][^\s\"')]*)?"),
        r"\1://\2",
    ),
    # a JSON Web Token
    (re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*"), MASK),
    # a key as solana-keygen writes it: 64 numbers
    (re.compile(r"\[\s*(?:\d{1,3}\s*,\s*){31,63}\d{1,3}\s*\]"), MASK),
    # 64 bytes in base58 (a key; signatures look the same, and stand in fields of that name) or in hex
    (re.compile(r"\b[1-9A-HJ-NP-Za-km-z]{86,88}\b"), MASK),
    (re.compile(r"\b(?:0x)?[0-9a-fA-F]{128}\b"), MASK),
]


def hide(secret: str) -> None:
    """*secret* is in no log line and no span from now on. Texts under six characters would hide too much else."""
    if len(secret) >= 6 and secret not in _hidden:
        _hidden.append(secret)
        _hidden.sort(key=len, reverse=True)  # the whole of one before another that is a part of it


def clean(value: Any, *, name: str = "") -> Any:
    """*value* without what is secret: texts are masked and cut, containers gone through."""
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
            return MASK  # a key in numbers
        return [clean(item) for item in value]
    return _text(str(value), name)


def clean_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """A dict of which keys that sound secret are masked whole."""
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
