"""MCP prompts: do a task with a program, call one instruction step by step, explain an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import starmap
from typing import TYPE_CHECKING, Any

from mcpsol_py.bridge.mcp.prompt_arguments import PromptArgument, prompt_arguments
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.errors import anchor_error
from mcpsol_py.errors import UnknownName
from mcpsol_py.items import names_of
from mcpsol_py.model.program import ErrorCode, Instruction
from mcpsol_py.model.type_text import type_text
from mcpsol_py.names import clean_text
from mcpsol_py.schema.json_schema import quoted
from mcpsol_py.schema.mcp_tools import shown

if TYPE_CHECKING:
    from mcpsol_py.bridge.bridge import Bridge

__all__ = ["Prompts"]

#: Instructions that a prompt lists; search_tools finds the others.
_MAX_LISTED = 60
#: Instructions that a prompt lists if they fit its task.
_MAX_FITTING = 8
#: Account readers that a prompt names.
_MAX_READERS = 12
_ERROR_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|0|[1-9][0-9]{0,9}")

_RULES = {
    "describe": "Calls are described only; no transaction is built.",
    "build": (
        "Each call is simulated and returns an unsigned transaction. Show its summary and balance "
        "changes to the person, who signs elsewhere."
    ),
    "send": (
        "Each call is simulated, checked against the owner's policy, signed and sent. Before you "
        "send, say what you are about to send, and why."
    ),
}
_ADVICE = (
    "Ask me for missing values; never make up an address. "
    "Read accounts before and after if that shows the effect."
)
#: The last step of an instruction's prompt, by mode.
_LAST_STEP = {
    "describe": "explain what each account and argument is for",
    "build": "give me the unsigned transaction, and name its signers",
    "send": (
        "report whether it is confirmed, with its signature; if the outcome is unknown, look the "
        "signature up first"
    ),
}
_EXPLAIN_ERROR = {
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


class Prompts:
    """The prompts of a bridge: one a program, one an instruction, and `explain_error`.

    With the lazy tool surface the prompts of instructions are not listed, but still work.
    """

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def listed(self) -> list[dict[str, Any]]:
        """Return the rows of prompts/list."""
        box = self.bridge.box
        rows = list(starmap(_use_row, box.labels.items()))
        if not box.lazy:
            rows += [
                _call_row(tool)
                for tool in box.tools.values()
                if tool.kind == "instruction"
            ]
        return [*rows, _EXPLAIN_ERROR]

    def get(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt, written from the user's point of view.

        Raises UnknownName.
        """
        box = self.bridge.box
        if name == "explain_error":
            return self._explain(arguments)
        kind, _, rest = name.partition("_")
        tool = box.instruction(rest)
        if kind == "call" and tool is not None:
            return self._call(tool, arguments)
        if kind == "use" and rest in box.labels:
            return self._use(
                box.labels[rest], clean_text(arguments.get("task", ""), 500)
            )
        raise UnknownName(
            "prompt", name[:80], [prompt["name"] for prompt in self.listed()]
        )

    def _explain(self, arguments: Mapping[str, str]) -> str:
        labels = self.bridge.box.labels
        label = arguments.get("program", "")
        UnknownName.check("program", [label], labels, "explain_error")
        return _explain_error(labels[label], arguments.get("code", ""))

    # --- one instruction -----------------------------------------------------------------------

    def _call(self, tool: BridgeTool, given: Mapping[str, str]) -> str:
        """Return the prompt of one instruction, with the arguments that are filled in."""
        served = tool.served
        assert served is not None
        arguments = prompt_arguments(tool)
        UnknownName.check("argument", given, arguments, f"call_{tool.name}")
        program = shown(served.program.model.name)
        lines = [f"Help me call {tool.name} of the Solana program {program}.", ""]
        lines += [
            f"- {name}: {clean_text(value, 300)}"
            for name, value in given.items()
            if value
        ]
        required = [name for name, argument in arguments.items() if argument.required]
        missing = [name for name in required if not given.get(name)]
        if missing:
            lines.append(f"Missing, ask me for: {', '.join(missing)}.")
        steps = self._steps(tool, served)
        numbered = [f"{number}. {step}." for number, step in enumerate(steps, 1)]
        return "\n".join([*lines, "", _RULES[self.bridge.mode], *numbered, "", _ADVICE])

    def _steps(self, tool: BridgeTool, served: ServedProgram) -> list[str]:
        steps = [
            f"call {tool.name} and show me its summary and balance changes",
            _LAST_STEP[self.bridge.mode],
        ]
        readers = sorted(set(self._readers(served)))[:_MAX_READERS]
        if readers:
            steps.insert(0, f"read the accounts involved ({', '.join(readers)})")
        return steps

    # --- one program ---------------------------------------------------------------------------

    def _use(self, served: ServedProgram, task: str) -> str:
        """Return the prompt of one program, with the instructions that fit *task*."""
        first = f"Help me with the Solana program {shown(served.program.model.name)}"
        lines = [
            f"{first}: {task}" if task else f"{first}.",
            "",
            _RULES[self.bridge.mode],
            "Amounts are base units, as decimal strings; addresses are base58.",
            "",
            *self._instruction_lines(served, task),
        ]
        if self.bridge.box.lazy:
            lines.append(
                "Find tools with search_tools, look at them with describe_tool, "
                "call them with call_tool."
            )
        elif readers := self._readers(served):
            lines.append(f"To read accounts, use {', '.join(readers[:_MAX_READERS])}.")
        return "\n".join([*lines, "", _ADVICE])

    def _instruction_lines(self, served: ServedProgram, task: str) -> list[str]:
        instructions = self._instructions_by_tool(served)
        fitting = self._fitting(served, task)
        lines = ["These may fit, the likeliest first:"] if fitting else []
        names = [name for name in fitting or instructions if name in instructions]
        listed = names[:_MAX_LISTED]
        lines += [_instruction_line(name, instructions[name]) for name in listed]
        if len(instructions) > len(listed):
            lines.append(f"- and {len(instructions) - len(listed)} more")
        return lines

    def _instructions_by_tool(self, served: ServedProgram) -> dict[str, Instruction]:
        """Return the instructions of a program by the names of their tools, in its order.

        If an instruction has two tools, the second one only views its return value, so the first
        one is taken.
        """
        tools: dict[str, str] = {}
        for tool in self.bridge.box.tools_of(served, "instruction"):
            tools.setdefault(tool.target, tool.name)
        instructions = served.program.model.instructions
        return {tools[ix.name]: ix for ix in instructions if ix.name in tools}

    def _readers(self, served: ServedProgram) -> list[str]:
        """Return the names of the tools that read accounts of a program."""
        return names_of(self.bridge.box.tools_of(served, "get", "list"))

    def _fitting(self, served: ServedProgram, task: str) -> list[str]:
        """Return the tools of the program's instructions that fit *task*, best first."""
        if not task:
            return []
        box = self.bridge.box
        own = set(names_of(box.tools_of(served, "instruction")))
        hits = box.search(task, 4 * _MAX_FITTING)
        return [hit.name for hit in hits if hit.name in own][:_MAX_FITTING]


# --- rows of prompts/list ------------------------------------------------------------------------


def _use_row(label: str, served: ServedProgram) -> dict[str, Any]:
    task = {
        "name": "task",
        "description": "what to do; an instruction's name helps",
        "required": False,
    }
    return {
        "name": f"use_{label}",
        "title": f"Use {clean_text(served.program.name, 60)}",
        "description": f"Use the program {shown(served.program.name)}, step by step",
        "arguments": [task],
    }


def _call_row(tool: BridgeTool) -> dict[str, Any]:
    return {
        "name": f"call_{tool.name}",
        "title": f"Call {tool.name}",
        "description": f"Call {tool.name} step by step: read, build, check its effects",
        "arguments": [
            {
                "name": name,
                "description": _argument_description(argument),
                "required": argument.required,
            }
            for name, argument in prompt_arguments(tool).items()
        ],
    }


def _argument_description(argument: PromptArgument) -> str:
    default = "" if argument.account is None else "an account"
    return clean_text(str(argument.schema.get("description", default)), 200)


# --- texts ---------------------------------------------------------------------------------------


def _instruction_line(tool_name: str, ix: Instruction) -> str:
    args = ", ".join(
        f"{clean_text(a.name, 60)}: {clean_text(type_text(a.type), 80)}"
        for a in ix.args
    )
    words = quoted(ix.when_to_use or ix.docs, 160)
    return f"- {tool_name}({args}) {words}".rstrip()


def _explain_error(served: ServedProgram, code: str) -> str:
    """Return the prompt about an error, which *code* gives by name or by number.

    The number may be written as the runtime does: "custom program error: 0x1771".
    """
    error = _error_text(served, code)
    return (
        f"A transaction failed with {error} Explain what it means and what I can do. If you can "
        "call the failed tool again, its answer says which account or argument caused it."
    )


def _error_text(served: ServedProgram, code: str) -> str:
    program = shown(served.program.name)
    *_, last = "", *code.split()
    number = int(last, 0) if _ERROR_NUMBER.fullmatch(last) else -1
    error = served.program.error(number) or _error_named(served, last)
    if error is not None:
        words = quoted([error.message], 300)
        return f"{shown(error.name)} ({error.code}) of the program {program}. {words}"
    framework_error = anchor_error(number)
    if framework_error is None:
        known = [str(e.code) for e in served.program.model.errors]
        raise UnknownName("error", code[:20], known, program)
    name, message = framework_error
    text = (
        f"{name} ({number}), an error of the Anchor framework in the program {program}"
    )
    return f"{text}: {message}." if message else f"{text}."


def _error_named(served: ServedProgram, name: str) -> ErrorCode | None:
    for error in served.program.model.errors:
        if error.name.lower() == name.lower():
            return error
    return None
