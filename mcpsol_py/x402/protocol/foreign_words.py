"""The words of other parties: bounded and cleaned before they are stored, logged or shown.

Names (schemes, networks, assets, addresses, transactions) must look like names. Sentences are cut, and
lose their control and invisible characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mcpsol_py.names import clean_json, clean_text
from mcpsol_py.x402.protocol.json_form import list_at, mapping_at

__all__ = [
    "MAX_WORDS",
    "cleaned_demand",
    "cleaned_receipt",
    "has_names",
    "is_name",
    "seller_words",
]

#: The characters of a seller's sentence that are kept: a reason, a description.
MAX_WORDS = 300
_MAX_URL = 2048
_NAME = re.compile(r"[A-Za-z0-9:._/-]{1,128}")
_TERMS = ("scheme", "network", "asset", "payTo")


def seller_words(text: object) -> str:
    """Return a sentence of another party, cleaned and cut to MAX_WORDS characters."""
    return clean_text(str(text), MAX_WORDS)


def has_names(terms: object) -> bool:
    """Are the scheme, network, asset and payee in *terms* (as JSON) names, as far as they are given?"""
    given = mapping_at(terms)
    return all(is_name(given[key]) for key in _TERMS if key in given)


def cleaned_demand(demand: Mapping[str, Any]) -> dict[str, Any]:
    """Return a demand as JSON, with clean texts, and without terms that have odd names."""
    out = {**demand, "accepts": list(filter(has_names, list_at(demand, "accepts")))}
    if isinstance(demand.get("error"), str):
        out["error"] = seller_words(demand["error"])
    resource = mapping_at(demand, "resource")
    if resource:
        out["resource"] = {key: _cleaned_field(text) for key, text in resource.items()}
    return out


def cleaned_receipt(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return a receipt as JSON. A transaction that is not a plain name becomes "". Other texts are cleaned."""
    out: dict[str, Any] = clean_json(dict(receipt))
    for key in ("errorReason", "errorMessage", "payer", "network"):
        if isinstance(out.get(key), str):
            out[key] = seller_words(out[key])
    if "transaction" in out and not is_name(out["transaction"]):
        out["transaction"] = ""
    return out


def is_name(text: object) -> bool:
    """Does *text* look like a name: a scheme, a network, an address, a transaction?"""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def _cleaned_field(value: object) -> object:
    return clean_text(value, _MAX_URL) if isinstance(value, str) else value
