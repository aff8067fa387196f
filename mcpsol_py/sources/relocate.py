"""Moves a program to another address: what the source says of its own address holds of the new one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from mcpsol_py.model.program import ProgramModel
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["at_address"]


def at_address(model: ProgramModel, address: str) -> ProgramModel:
    """Return *model* at *address*: accounts and seeds that are the program itself move along.

    Bodies stay as they are. Raises ValueError if *address* is none.
    """
    new = address_bytes(address)
    moved = replace(model, address=address)
    if model.address is None:
        return moved
    renamed = {model.address: address, address_bytes(model.address): new}
    parts = {name: _renamed(getattr(moved, name), renamed) for name in _PARTS}
    return replace(moved, **parts)


#: The parts of a model that can hold its own address.
_PARTS = ("instructions", "pdas")


def _renamed(node: Any, renamed: dict[Any, Any]) -> Any:
    """Return *node* with some texts and bytes replaced, at any depth."""
    if isinstance(node, (str, bytes)):
        return renamed.get(node, node)
    if isinstance(node, tuple):
        return tuple(_renamed(item, renamed) for item in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    before = {each.name: getattr(node, each.name) for each in fields(node)}
    after = {name: _renamed(value, renamed) for name, value in before.items()}
    changed = {name: value for name, value in after.items() if value != before[name]}
    return replace(node, **changed) if changed else node
