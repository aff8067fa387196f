"""Compares two programs by their facts, and gives each difference a kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from mcpsol_py.schema.comparison.facts import comparable, facts

__all__ = [
    "ABSENT",
    "KINDS",
    "Difference",
    "comparable",
    "differences",
    "facts",
    "kind_of",
]

#: Shown for a side that lacks a part.
ABSENT = "nothing"

#: Every kind of difference, and its meaning for callers.
KINDS: dict[str, str] = {
    "address": "the address is a different one",
    "added-instruction": "only this side has the instruction",
    "removed-instruction": "only the other side has the instruction",
    "discriminator": "the same instruction has different discriminators",
    "argument": "an argument was added, removed or renamed",
    "argument-order": "the same arguments have a different order",
    "argument-type": "an argument is encoded differently",
    "account": "an account was added, removed or renamed",
    "account-order": "the same accounts have a different order",
    "account-flags": "signer, writable, optional or a fixed address differs",
    "default": "what a call fills in for an argument or account that is not given",
    "remaining-accounts": "the accounts after the named ones",
    "seeds": "an address is derived differently, or only on one side",
    "return-type": "the return value is encoded differently",
    "account-type": "an account type has another discriminator or layout",
    "event": "an event has another discriminator or layout",
    "error": "an error code means something else",
    "type": "a defined type has another layout",
    "constant": "a constant has another type or value",
    "order": "the same parts have a different order",
    "model": "another part of the program's model",
    "docs": "descriptions for people and agents",
    "code": "the bytes of the compiled programs",
    "program-id": "the program runs at a different address than the locked one",
    "cluster": "the program runs on a different cluster than the locked one",
    "redeployed": "the program was deployed again after it was locked",
}
_SECTION_KINDS = {
    "accounts": "account-type",
    "events": "event",
    "errors": "error",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One fact that differs. A side without it has "nothing". `kind` is one of KINDS."""

    path: str
    left: str
    right: str
    kind: str = ""


def differences(
    left: Mapping[str, str], right: Mapping[str, str], ignore: Iterable[str] = ()
) -> list[Difference]:
    """Return the facts that differ: in the order of *left*, then those that only *right* has; docs last.

    *ignore* are kinds that do not count.
    """
    ignored = set(ignore)
    found = [row for row in _differing(left, right) if row.kind not in ignored]
    return sorted(_without_details(found), key=lambda row: row.kind == "docs")


def _differing(left: Mapping[str, str], right: Mapping[str, str]) -> list[Difference]:
    rows: list[Difference] = []
    for path in dict.fromkeys((*left, *right)):
        one, other = left.get(path, ABSENT), right.get(path, ABSENT)
        if one != other:
            rows.append(Difference(path, one, other, kind_of(path, one, other)))
    return rows


def _without_details(rows: list[Difference]) -> list[Difference]:
    """Leave out what another row tells: parts of facts that one side lacks, and the bytes of a type that is shown."""
    lacking = tuple(f"{row.path}." for row in rows if ABSENT in (row.left, row.right))
    told = {f"{row.path} (bytes)" for row in rows}
    return [
        row for row in rows if not row.path.startswith(lacking) and row.path not in told
    ]


def kind_of(path: str, left: str, right: str) -> str:
    """Return the kind (see KINDS) of a differing fact, by its path."""
    section, *parts = path.split(".")
    if parts[-1:] == ["docs"] and len(parts) > 1:
        return "docs"
    if section == "instructions":
        return _instruction_kind(parts[1:], left, right)
    return _SECTION_KINDS.get(section, "address")


def _instruction_kind(parts: list[str], left: str, right: str) -> str:
    """Return the kind of a difference in an instruction; *parts* is the path behind its name."""
    match parts:
        case []:
            if ABSENT not in (left, right):
                return "discriminator"
            return "added-instruction" if right == ABSENT else "removed-instruction"
        case ["args"]:
            return _list_kind("argument", left, right)
        case ["accounts"]:
            return _list_kind("account", left, right)
        case ["accounts", *_, "seeds"]:
            return "seeds"
        case [*_, "default"] | ["constant", *_]:
            return "default"
        case ["remaining", *_]:
            return "remaining-accounts"
        case ["optional_accounts"]:
            return "account-flags"
        case ["args", *_]:
            return "argument" if ABSENT in (left, right) else "argument-type"
        case ["accounts", *_]:
            return "account" if ABSENT in (left, right) else "account-flags"
    return "return-type"


def _list_kind(item: str, left: str, right: str) -> str:
    same_items = sorted(left.split(", ")) == sorted(right.split(", "))
    return f"{item}-order" if same_items else item
