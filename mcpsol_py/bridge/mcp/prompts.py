"""Prompts that walk through what the programs are usually used for: a program's task in words, one instruction with its
arguments, an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcpsol_py.bridge.mcp.completion import parameters
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.errors import anchor_error
from mcpsol_py.errors import UnknownName
from mcpsol_py.model.type_text import type_text
from mcpsol_py.names import clean_text
from mcpsol_py.schema.json_schema import quoted
from mcpsol_py.schema.mcp_tools import shown

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["Prompts"]

#: instructions that a prompt lists before it points to the search
_LISTED = 60
#: instructions that a prompt lists of those that fit a task; account readers that it names
_FITTING, _READERS = 8, 12
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|0|[1-9][0-9]{0,9}")

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
    "Ask me for what is missing; never make up an address."
    " Read accounts before and after where that shows the effect."
)


#: what comes after the call
_AFTER = {
    "describe": "say what each account and argument is for",
    "build": "give me the unsigned transaction, and say who must sign it",
    "send": "say whether it is confirmed, with its signature; if its outcome is unknown, look the signature up first",
}


def _required(tool: BridgeTool, known: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The parameters that a call must have."""
    schema = tool.definition["inputSchema"]
    accounts = schema["properties"].get("accounts", {}).get("required", [])
    needed = [name for name in schema.get("required", []) if name in known]
    return needed + [name for name, inner in known.items() if inner.get("x-account") in accounts]


def _call_row(tool: BridgeTool) -> dict[str, Any]:
    known = parameters(tool)
    required = _required(tool, known)
    rows = [
        {
            "name": name,
            "description": clean_text(
                str(schema.get("description", "an account" if "x-account" in schema else "")), 200
            ),
            "required": name in required,
        }
        for name, schema in known.items()
    ]
    return {
        "name": f"call_{tool.name}",
        "title": f"Call {tool.name}",
        "description": f"Call {tool.name} step by step: read, build, look at what it changes",
        "arguments": rows,
    }


class Prompts:
    """The prompts of a bridge: one a program, one an instruction (listed where they are few), and one that explains an
    error.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def listed(self) -> list[dict[str, Any]]:
        """What prompts/list answers."""
        rows = [
            {
                "name": f"use_{label}",
                "title": f"Use {clean_text(served.program.name, 60)}",
                "description": f"Do something with the program {shown(served.program.name)}, step by step",
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
        if not self.bridge.box.lazy:
            rows += [_call_row(tool) for tool in self._instructions()]
        rows.append(
            {
                "name": "explain_error",
                "title": "Explain an error",
                "description": "What a program's error number means",
                "arguments": [
                    {"name": "program", "description": "which program", "required": True},
                    {
                        "name": "code",
                        "description": "the number or name, like 6001 or 0x1771",
                        "required": True,
                    },
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
        tool = self.bridge.box.tools.get(name.removeprefix("call_"))
        if name.startswith("call_") and tool is not None and tool.kind == "instruction":
            return self._call(tool, arguments)
        label = name.removeprefix("use_")
        if not name.startswith("use_") or label not in labels:
            raise UnknownName("prompt", name[:80], [p["name"] for p in self.listed()])
        return self._use(labels[label], clean_text(arguments.get("task", ""), 500))

    def _instructions(self) -> list[BridgeTool]:
        return [tool for tool in self.bridge.box.tools.values() if tool.kind == "instruction"]

    def _call(self, tool: BridgeTool, arguments: Mapping[str, str]) -> str:
        """One instruction, step by step, with what was filled in."""
        served = tool.served
        assert served is not None
        known = parameters(tool)
        for given in arguments:
            if given not in known:
                raise UnknownName("argument", given[:80], known, f"call_{tool.name}")
        lines = [
            f"Help me call {tool.name} of the Solana program {shown(served.program.model.name)}.",
            "",
        ]
        lines += [
            f"- {name}: {clean_text(value, 300)}" for name, value in arguments.items() if value
        ]
        missing = [name for name in _required(tool, known) if not arguments.get(name)]
        if missing:
            lines.append(f"Missing, ask me for: {', '.join(missing)}.")
        readers = {
            t.name
            for t in self.bridge.box.tools.values()
            if t.served is served and t.kind in ("get", "list")
        }
        steps = [
            f"call {tool.name} and show me its summary and its balance changes",
            _AFTER[self.bridge.mode],
        ]
        if readers:
            steps.insert(0, f"read the accounts it concerns ({', '.join(sorted(readers)[:12])})")
        lines += [
            "",
            _RULES[self.bridge.mode],
            *(f"{n}. {step}." for n, step in enumerate(steps, 1)),
            "",
            _ADVICE,
        ]
        return "\n".join(lines)

    def _use(self, served: ServedProgram, task: str) -> str:
        model = served.program.model
        box = self.bridge.box
        lines = [
            f"Help me with the Solana program {shown(model.name)}" + (f": {task}" if task else ".")
        ]
        lines += [
            "",
            _RULES[self.bridge.mode],
            "Amounts are base units, as decimal strings; addresses are base58.",
            "",
        ]
        tools: dict[str, str] = {}
        for tool in box.tools.values():
            if tool.served is served and tool.kind == "instruction":
                tools.setdefault(
                    tool.target, tool.name
                )  # before what only looks at the same instruction
        known = [ix for ix in model.instructions if ix.name in tools]
        fitting = self._fitting(served, task)
        if fitting:
            lines.append("These may be what it takes, the likeliest first:")
            known = [ix for name in fitting for ix in known if tools[ix.name] == name]
        for ix in known[:_LISTED]:
            args = ", ".join(
                f"{clean_text(a.name, 60)}: {clean_text(type_text(a.type), 80)}" for a in ix.args
            )
            when = quoted([text for key, text in ix.hints if key == "when"] or ix.docs, 160)
            lines.append(f"- {tools[ix.name]}({args})" + (f" {when}" if when else ""))
        if len(tools) > len(known[:_LISTED]):
            lines.append(f"- and {len(tools) - len(known[:_LISTED])} more")
        readers = [
            t.name for t in box.tools.values() if t.served is served and t.kind in ("get", "list")
        ]
        if readers and not box.lazy:
            lines.append(f"Accounts are read with {', '.join(readers[:_READERS])}.")
        if box.lazy:
            lines.append(
                "Find tools with search_tools, look at them with describe_tool, call them with call_tool."
            )
        lines += ["", _ADVICE]
        return "\n".join(lines)

    def _fitting(self, served: ServedProgram, task: str) -> list[str]:
        """The program's instructions that a task is about, best first; empty where it names none."""
        box = self.bridge.box
        hits = [box.tools[hit.name] for hit in box.search(task, 4 * _FITTING)] if task else []
        return [t.name for t in hits if t.served is served and t.kind == "instruction"][:_FITTING]

    def _error(self, served: ServedProgram, code: str) -> str:
        """By number (also as the runtime writes it, "custom program error: 0x1771") or by name."""
        errors = served.program.model.errors
        last = code.split()[-1] if code.split() else ""
        number = int(last, 0) if _NUMBER.fullmatch(last) else -1
        error = served.program.error(number) or next(
            (e for e in errors if e.name.lower() == last.lower()), None
        )
        name = shown(served.program.name)
        if error is not None:
            words = quoted([error.message], 300)
            what = f"{shown(error.name)} ({error.code}) of the program {name}. {words}"
        elif (known := anchor_error(number)) is not None:
            what = f"{known[0]} ({number}), an error of the Anchor framework in the program {name}"
            what += f": {known[1]}." if known[1] else "."
        else:
            raise UnknownName("error", code[:20], [str(e.code) for e in errors], name)
        return (
            f"A transaction failed with {what} Explain what it means and what I can do. If you can call the tool that "
            "failed again, its answer says which account or argument it is about."
        )
