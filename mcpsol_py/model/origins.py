"""Finds the line of a spec that a finding is about: "spec.py:31" for the path `instructions[0].accounts[2]`."""

from __future__ import annotations

import re
from typing import Any

from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.usable import account_leaves

__all__ = ["origin_of", "path_of"]

_STEP = re.compile(r"(\w+)\[(\d+)\]")
#: The model's lists -> where `ProgramModel.origins` has their items. The types of accounts and events are classes.
_SECTIONS = {
    "instructions": "instructions",
    "accounts": "types",
    "events": "types",
    "types": "types",
    "errors": "errors",
    "constants": "constants",
}


def origin_of(model: ProgramModel, path: str) -> str:
    """Return "file:line" of *path*, or of the nearest part around it whose line is known.

    A spec without such a part gives its file. An IDL, which tools write, gives "".
    """
    names = _names(model, path)
    while names:
        found = model.origins.get(".".join(names))
        if found is not None:
            return found
        names.pop()
    return model.origin if model.origins else ""


def path_of(
    model: ProgramModel, instruction: str, account: tuple[str, ...] = ()
) -> str:
    """Return the path of an instruction, or of one of its accounts; "" if there is none of that name."""
    for i, ix in enumerate(model.instructions):
        if ix.name == instruction:
            leaf = dict(account_leaves(ix.accounts)).get(account)
            return (
                f"instructions[{i}].{leaf[1]}"
                if leaf is not None
                else f"instructions[{i}]"
            )
    return ""


def _names(model: ProgramModel, path: str) -> list[str]:
    """Return the section of *path* and the names of the items on it, as far as they exist."""
    steps = _STEP.findall(path)
    if not steps or steps[0][0] not in _SECTIONS:
        return []
    names, item = [_SECTIONS[steps[0][0]]], model
    for key, index in steps:
        item = _item(item, key, int(index))
        if item is None:
            break
        names.append(item.name)
    return names


def _item(holder: Any, key: str, index: int) -> Any:
    """Return an item of a list of *holder*, or of its type; None if there is none with a name."""
    for part in (holder, getattr(holder, "type", None)):
        items = getattr(part, key, ())
        if index < len(items) and hasattr(items[index], "name"):
            return items[index]
    return None
