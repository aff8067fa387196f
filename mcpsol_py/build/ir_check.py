"""Looks through a linked module's LLVM IR for what sbpf-linker translates wrong without a word.

Two things. An operation too wide for the machine becomes a call of a library function, and LLVM's code generator
passes 128-bit values in registers, while rustc's own ABI takes pointers: a function of the usual libraries then
faults or reads a stray address. Our own (templates/sbf/builtins.rs) have LLVM's convention, which shows in the IR as
``i128`` in the signature; a module that needs a function and has none, or one of another shape, is refused. And a
syscall that is declared as an external function, not called by its number, loses its arguments.

A third is told, not refused: a function of more arguments than there are registers for them takes the rest from its own
stack frame, which an SVM with stack gaps (so a cluster's) stops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: What r1 to r5 hold. A 128-bit value takes two of them.
_ARGUMENT_REGISTERS = 5

#: Operation as it stands in IR -> the library function that the code generator calls for it.
_WIDE_INTEGER = {
    "mul": "__multi3",
    "udiv": "__udivti3",
    "urem": "__umodti3",
    "sdiv": "__divti3",
    "srem": "__modti3",
}
#: Intrinsic -> the same. A 64-bit multiply with overflow is made as a 128-bit multiply (Rust: u64::checked_mul).
_INTRINSICS = {
    "llvm.umul.with.overflow.i64": "__multi3",
    "llvm.smul.with.overflow.i64": "__multi3",
    "llvm.umul.with.overflow.i128": "__multi3",
    "llvm.smul.with.overflow.i128": "__muloti4",
    "llvm.umul.fix.i64": "__multi3",
    "llvm.smul.fix.i64": "__multi3",
}

_DEFINE = re.compile(
    r"^define\b[^@]*?(?P<result>\S+) @(?P<name>\"[^\"]+\"|[\w.$]+)\((?P<parameters>.*)"
)
_OPERATION = re.compile(
    r"^\s+%\S+ = (?P<name>mul|udiv|urem|sdiv|srem)(?: (?:nuw|nsw|exact))* i128 "
)
_CALL = re.compile(r"\bcall\b.* @(?P<name>llvm\.[usn]\w+(?:\.\w+)+)\(")
_DECLARE = re.compile(r"^declare\b[^@]*@(?P<name>[\w.$]+)\(")
# Disambiguators and references back: their digits are of base 62, and no length.
_V0_NUMBER = re.compile(r"[sB][0-9A-Za-z]*_")
_V0_LENGTH = re.compile(r"(\d+)_?")


@dataclass(frozen=True, slots=True)
class WrongOperation:
    """One operation that would be translated wrong: the function it stands in, and what it is ("mul i128")."""

    function: str
    operation: str

    def __str__(self) -> str:
        return f"{self.function} ({self.operation})"


@dataclass(frozen=True, slots=True)
class IrFindings:
    """What `check_ir` found.

    `wide` are operations without their library function, `dynamic_syscalls` the names of syscalls called by name, and
    `many_arguments` the functions whose arguments do not fit the registers.
    """

    wide: tuple[WrongOperation, ...]
    dynamic_syscalls: tuple[str, ...]
    many_arguments: tuple[WrongOperation, ...]


def check_ir(module: Path) -> IrFindings:
    """Read the linked module's IR at *module* (sbpf-linker's ``post-opt.ll``), a line at a time."""
    with module.open(encoding="utf-8", errors="replace") as lines:
        return check_ir_lines(lines)


def check_ir_lines(lines: Iterable[str]) -> IrFindings:
    """The same for IR in memory. Every function is named once for each kind of operation, in the order of the module.

    >>> ir = '''define i64 @entrypoint(ptr %0) {
    ...   %3 = mul nuw i128 %1, %2
    ... }'''
    >>> str(check_ir_lines(ir.splitlines()).wide[0])
    'entrypoint (mul i128)'
    """
    library = set(_WIDE_INTEGER.values()) | set(_INTRINSICS.values())
    provided: set[str] = set()
    needed: dict[WrongOperation, str] = {}
    syscalls: list[str] = []
    crowded: list[WrongOperation] = []
    function = ""
    for line in lines:
        if line.startswith("define"):
            if match := _DEFINE.match(line):
                function = match["name"].strip('"')
                wide = match["result"] == "i128" and match["parameters"].count("i128") >= 2
                if function in library and wide:
                    provided.add(function)
                registers = _registers(match["parameters"])
                if registers > _ARGUMENT_REGISTERS:
                    crowded.append(WrongOperation(demangle(function), f"{registers} arguments"))
        elif line.startswith("declare"):
            match = _DECLARE.match(line)
            if match and (match["name"].startswith("sol_") or match["name"] == "abort"):
                syscalls.append(match["name"])
        elif function:
            for operation, called in _operations(line):
                # Inside the library function itself it would call itself for ever.
                needs = f"{called} in itself" if called == function else called
                needed.setdefault(WrongOperation(demangle(function), operation), needs)
    wrong = tuple(where for where, called in needed.items() if called not in provided)
    return IrFindings(wrong, tuple(syscalls), tuple(crowded))


def _operations(line: str) -> Iterator[tuple[str, str]]:
    if match := _OPERATION.match(line):
        yield f"{match['name']} i128", _WIDE_INTEGER[match["name"]]
    elif (match := _CALL.search(line)) and (called := _INTRINSICS.get(match["name"])):
        yield match["name"].removeprefix("llvm."), called


def _registers(parameters: str) -> int:
    """How many registers these parameters take: what follows the opening bracket of a definition."""
    depth, start, found = 0, 0, []
    for at, char in enumerate(parameters):
        if char in "([{<":
            depth += 1
        elif char in ")]}>" and depth:
            depth -= 1
        elif char == ")" or (char == "," and not depth):
            found.append(parameters[start:at].strip())
            start = at + 1
            if char == ")":
                break
    return sum(2 if parameter.startswith("i128") else 1 for parameter in found if parameter)


def demangle(symbol: str) -> str:
    """A Rust symbol as a readable path, near enough to find the function: its generic arguments are left out.

    >>> demangle("_ZN7counter9increment17h0123456789abcdefE")
    'counter::increment'
    >>> demangle("_RNvNtCs1a2b3c_7counter9processor9increment")
    'counter::processor::increment'
    >>> demangle("entrypoint")
    'entrypoint'
    """
    if symbol.startswith("_ZN"):
        parts = _lengths(symbol[3:])
        if parts and re.fullmatch(r"h[0-9a-f]{16}", parts[-1]):
            parts.pop()
        return "::".join(parts) or symbol
    if symbol.startswith("_R"):
        return "::".join(_lengths(symbol[2:])) or symbol
    return symbol


def _lengths(text: str) -> list[str]:
    """The identifiers of *text*, each written as its length and itself; what stands between them is skipped."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        if skipped := _V0_NUMBER.match(text, at):
            at = skipped.end()
        elif length := _V0_LENGTH.match(text, at):
            start, size = length.end(), int(length[1])
            if size == 0 or start + size > len(text):
                break
            parts.append(text[start : start + size])
            at = start + size
        else:
            at += 1
    return parts
