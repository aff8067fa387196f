"""How an instruction's author words a call for wallets (Codama's display nodes, sRFC-39).

The words come from the program's IDL, so they are a claim and no fact. They are cleaned, bounded and quoted, and they
always stand beside the instruction's own name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.accounts.members import member_at
from mcpsol_py.calls.balances import ui_amount
from mcpsol_py.model.program import Display
from mcpsol_py.model.types import Amount, DateTime, Option, Type
from mcpsol_py.names import ByName, clean_text, json_text
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.sources.numbers import is_digits
from mcpsol_py.utc import seconds_text

__all__ = ["Words", "has_words", "words_for"]

_PLACEHOLDER = re.compile(r"\$\{\s*(\w+)((?:\.\w+|\[\d+\])+)\s*\}")
_STEP = re.compile(r"\w+")
_LONGEST_SENTENCE = 400
_LONGEST_VALUE = 100
_LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True)
class Words:
    """What wallets show of one call. `sentence` says what it does; `arguments` and `accounts` are notes by name."""

    sentence: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    accounts: Mapping[str, str] = field(default_factory=dict)


def has_words(ix: ProgramInstruction) -> bool:
    """Return whether a call has words of its author, or arguments that are shown with a unit or as a time."""
    shown = [arg for arg in ix.model.args if _shown_type(arg.type)]
    return ix.model.display is not None or bool(shown)


def words_for(
    ix: ProgramInstruction, args: Mapping[str, Any], addresses: Mapping[str, str]
) -> Words:
    """Return the author's words for a call. *args* are in JSON form, *addresses* are those of its accounts by name."""
    display = ix.model.display or Display()
    call = _Call(ix, ByName(args), ByName(addresses))
    labels = {
        place: f'"{_quoted(label, _LONGEST_LABEL)}"' for place, label in display.labels
    }
    return Words(
        sentence=_quoted(call.sentence(display), _LONGEST_SENTENCE),
        arguments=_notes(
            {name: (labels.get(f"data.{name}"), call.scaled(name)) for name in args}
        ),
        accounts=_notes(
            {name: (labels.get(f"accounts.{name}"),) for name in addresses}
        ),
    )


def _notes(parts: Mapping[str, tuple[str | None, ...]]) -> dict[str, str]:
    notes = {name: ", ".join(filter(None, texts)) for name, texts in parts.items()}
    return {name: note for name, note in notes.items() if note}


def _quoted(text: str, limit: int) -> str:
    """Return untrusted text on one line, without the quotes that we put around it."""
    return " ".join(clean_text(text, limit).replace('"', "'").split())


class _Unresolved(Exception):
    """A placeholder has no value in this call."""


@dataclass(frozen=True, slots=True)
class _Call:
    ix: ProgramInstruction
    args: ByName[Any]
    addresses: ByName[str]

    def sentence(self, display: Display) -> str:
        """Return the filled-in sentence, or the intent if a placeholder has no value here."""
        try:
            return _PLACEHOLDER.sub(self._value, display.sentence) or display.intent
        except _Unresolved:
            return display.intent

    def _value(self, placeholder: re.Match[str]) -> str:
        path = tuple(_STEP.findall(placeholder[2]))
        found = (
            self._account(path)
            if placeholder[1] == "accounts"
            else self._argument(path)
        )
        if found is None or placeholder[1] not in ("accounts", "data"):
            raise _Unresolved
        return found

    def _account(self, path: tuple[str, ...]) -> str | None:
        return self.addresses.get(path[0]) if len(path) == 1 else None

    def _argument(self, path: tuple[str, ...]) -> str | None:
        name = self.args.name(path[0])
        if name is None:
            return None
        value = member_at(self.args.values[name], path[1:])
        if value is None and len(path) > 1:
            return None
        return _value_text(self.ix.plan.arg_type(path), value)

    def scaled(self, name: str) -> str | None:
        """Return an argument as an amount with its unit or as a time, or None if it is neither."""
        return _scaled(self.ix.plan.arg_type((name,)), self.args.get(name))


def _value_text(node: Type | None, value: Any) -> str:
    if value is None:
        return "none"
    text = _scaled(node, value) or (
        value if isinstance(value, str) else json_text(value)
    )
    return clean_text(text, _LONGEST_VALUE)


def _scaled(node: Type | None, value: Any) -> str | None:
    shown = _shown_type(node)
    if shown is None or not _is_whole(value):
        return None
    if isinstance(shown, DateTime):
        return seconds_text(int(value))
    unit = _quoted(shown.unit or "", 20)
    return f"{ui_amount(int(value), shown.decimals)} {unit}".rstrip()


def _shown_type(node: Type | None) -> Amount | DateTime | None:
    """Return the type of a value, or of an option's, if it is an amount or a time."""
    inner = node.item if isinstance(node, Option) else node
    return inner if isinstance(inner, (Amount, DateTime)) else None


def _is_whole(value: Any) -> bool:
    return type(value) is int or is_digits(value, _LONGEST_VALUE)
