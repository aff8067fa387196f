"""Prompts that walk through what the programs are usually used for, and completion of what people type into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcpsol_py.bridge.calls import Served
from mcpsol_py.errors import UnknownName
from mcpsol_py.model.types import type_text
from mcpsol_py.names import clean_text
from mcpsol_py.schema.json_schema import quoted

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["Prompts"]

#: completion answers no more (MCP)
_MOST = 100
#: instructions that a prompt lists before it points to the search
_LISTED = 60

_RULES = {
    "describe": "Calls say what they would be; no transaction is built.",
    "build": (
        "Each call is simulated and returns an unsigned transaction. Show its summary and its balance changes to the "
        "person, who signs elsewhere."
    ),
    "send": (
        "Each call is simulated, held against the owner's policy, signed and sent. Say what you are about to send, and "
        "why, first."
    ),
}
_ADVICE = (
    "Ask me for what is missing; never make up an address. Read accounts before and after where that shows the effect."
)


class Prompts:
    """The prompts of a bridge: one a program, and one that explains an error."""

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def listed(self) -> list[dict[str, Any]]:
        """What prompts/list answers."""
        rows = [
            {
                "name": f"use_{label}",
                "title": f"Use {clean_text(served.program.name, 60)}",
                "description": f"Do something with the program {clean_text(served.program.name, 60)}, step by step",
                "arguments": [
                    {
                        "name": "task",
                        "description": "what is to be done; an instruction's name helps",
                        "required": False,
                    }
                ],
            }
            for label, served in self.bridge.box.labels.items()
        ]
        rows.append(
            {
                "name": "explain_error",
                "title": "Explain an error",
                "description": "What a program's error number means",
                "arguments": [
                    {"name": "program", "description": "which program", "required": True},
                    {"name": "code", "description": "the number, like 6001", "required": True},
                ],
            }
        )
        return rows

    def get(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt, as its user would write it. Raises UnknownName."""
        labels = self.bridge.box.labels
        if name == "explain_error":
            label = arguments.get("program", "")
            if label not in labels:
                raise UnknownName("program", label[:80], labels, name)
            return self._error(labels[label], arguments.get("code", ""))
        label = name.removeprefix("use_")
        if not name.startswith("use_") or label not in labels:
            raise UnknownName("prompt", name[:80], [p["name"] for p in self.listed()])
        return self._use(labels[label], clean_text(arguments.get("task", ""), 500))

    def _use(self, served: Served, task: str) -> str:
        model = served.program.model
        box = self.bridge.box
        lines = [f"Help me with the Solana program {clean_text(model.name, 80)}" + (f": {task}" if task else ".")]
        lines += ["", _RULES[self.bridge.mode], "Amounts are base units, as decimal strings; addresses are base58.", ""]
        tools = {t.target: t.name for t in box.tools.values() if t.served is served and t.kind == "instruction"}
        known = [ix for ix in model.instructions if ix.name in tools]
        for ix in known[:_LISTED]:
            args = ", ".join(f"{clean_text(a.name, 60)}: {clean_text(type_text(a.type), 80)}" for a in ix.args)
            when = quoted([text for key, text in ix.hints if key == "when"] or ix.docs, 160)
            lines.append(f"- {tools[ix.name]}({args})" + (f" {when}" if when else ""))
        if len(known) > _LISTED:
            lines.append(f"- and {len(known) - _LISTED} more")
        if box.lazy:
            lines.append("Find tools with search_tools, look at them with describe_tool, call them with call_tool.")
        lines += ["", _ADVICE]
        return "\n".join(lines)

    def _error(self, served: Served, code: str) -> str:
        number = int(code, 0) if code.isdecimal() or code.lower().startswith("0x") else -1
        error = served.program.error(number)
        if error is None:
            names = [str(e.code) for e in served.program.model.errors]
            raise UnknownName("error", code[:20], names, clean_text(served.program.name, 80))
        words = quoted([error.message], 300)
        return (
            f"A transaction failed with {clean_text(error.name, 80)} ({error.code}) of the program "
            f"{clean_text(served.program.name, 80)}. {words} Explain what it means and what I can do."
        )

    def complete(self, reference: str, argument: str, typed: str, given: Mapping[str, str]) -> list[str]:
        """Values that begin with what was *typed*: for a prompt's or a resource template's argument. *reference*: its
        name or URI.
        """
        labels = self.bridge.box.labels
        label = given.get("program") or reference.removeprefix("use_")
        model = labels[label].program.model if label in labels else None
        names: list[str] = []
        if argument == "program":
            names = list(labels)
        elif model is not None and argument == "task":
            names = [ix.name for ix in model.instructions]
        elif model is not None and argument == "code":
            names = [str(e.code) for e in model.errors]
        elif model is not None and argument == "name":
            names = [t.name for t in model.types] + [a.name for a in model.accounts]
        return [clean_text(n, 200) for n in names if n.lower().startswith(typed.lower())][:_MOST]
