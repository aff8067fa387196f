"""Codama's display nodes: how wallets show an instruction and its numbers (sRFC-39)."""

from __future__ import annotations

from typing import Any

from mcpsol_py.model.program import Display
from mcpsol_py.model.types import Amount, DateTime, Int
from mcpsol_py.names import clean_text
from mcpsol_py.sources.codama.nodes import Node
from mcpsol_py.sources.numbers import is_digits

__all__ = ["read_display", "shown_number"]

_LONGEST = 512
_MOST_DECIMALS = 77  # digits of the largest number, a u256


def read_display(node: Node) -> Display | None:
    """Return how wallets show an instructionNode, or None if it does not say."""
    shown = _display(node)
    labels = [
        (f"{root}.{part['name']}", _text(_display(part).get("label")))
        for root, key in (("data", "arguments"), ("accounts", "accounts"))
        for part in node.get(key) or ()
        if type(part) is dict and type(part.get("name")) is str
    ]
    found = Display(
        _text(shown.get("intent")),
        _text(shown.get("interpolatedIntent")),
        tuple((clean_text(place, 200), label) for place, label in labels if label),
    )
    return None if found == Display() else found


def _display(node: Node) -> Node:
    shown = node.get("display")
    return shown if type(shown) is dict else {}


def _text(value: Any) -> str:
    """Return plain text, or the content of a textNode."""
    if type(value) is dict:
        value = value.get("content")
    return clean_text(value, _LONGEST) if type(value) is str else ""


def shown_number(number: Int, display: Any) -> Amount | DateTime | None:
    """Return *number* as the amount or time that its display node says, or None if the IDL alone does not say it.

    Decimals may come from elsewhere, such as the account of a mint. Without them the number stays as it is.
    """
    if type(display) is not dict:
        return None
    kind = display.get("kind")
    if kind == "dateTimeNumberDisplayNode" and display.get("ticksPerSecond", 1) == 1:
        return DateTime(number)
    if kind == "amountNumberDisplayNode":
        decimals = _constant(display.get("decimals"), 0)
        if type(decimals) is int and 0 <= decimals <= _MOST_DECIMALS:
            return Amount(number, decimals, _unit(display))
    if kind == "unitNumberDisplayNode":
        return Amount(number, 0, _unit(display))
    return None


def _unit(display: Node) -> str | None:
    unit = _constant(display.get("unit"), None)
    return clean_text(unit, 32) or None if type(unit) is str else None


def _constant(node: Any, absent: Any) -> Any:
    """Return the value of a numberValueNode, integerValueNode or stringValueNode; None for other nodes."""
    if node is None:
        return absent
    if type(node) is not dict:
        return None
    value = node.get("number", node.get("value", node.get("string")))
    if node.get("kind") == "integerValueNode" and is_digits(value, _MOST_DECIMALS):
        return int(value)
    return value
