"""The identity of a program model: two models with the same hash encode, resolve and read everything alike.

The hash covers the model's own JSON form (serial.py), so a new field of a class is covered at once. Object keys keep
their order, because a default for a map may be an object, whose order is the order of its bytes.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.serial import model_to_json

__all__ = ["form_hash", "model_hash"]


def model_hash(model: ProgramModel) -> str:
    """Return the sha256 of *model* in hex. The origin of the model and its reader's findings do not count."""
    return form_hash(model_to_json(model))


def form_hash(form: Any) -> str:
    """Return the sha256 in hex of a model's JSON form, as `model_to_json` returns it."""
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    # lone surrogates have no UTF-8 form, and each must still count
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
