"""Checks a linked module's LLVM IR for code that sbpf-linker silently mis-compiles.

Three faults are refused:

- An operation too wide for the machine becomes a call of a library function. LLVM's code generator passes 128-bit
  values in registers, while rustc's own ABI takes pointers, so a function of the usual libraries faults or reads a
  stray address. Our own functions (templates/sbf/builtins.rs) have LLVM's convention, which shows in the IR as
  ``i128`` in the signature. A module that needs such a function must have it in that shape.
- A syscall that is declared as an external function, and not called by its number, loses its arguments.
- A function of more arguments than registers takes the rest from its own stack frame, which an SVM with stack gaps (so
  a cluster's) stops. Only functions that the entry point reaches count. Route "std", whose programs run on an SVM
  without stack gaps, reports them.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

#: r1 to r5. A 128-bit value takes two of them.
_ARGUMENT_REGISTERS = 5

#: Operation in IR -> the library function that the code generator calls for it.
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
#: A function or a global that is named, and a global or an alias that is defined.
_NAME = re.compile(r'@("[^"]+"|[\w.$-]+)')
_GLOBAL = re.compile(r'^@("[^"]+"|[\w.$-]+) = ')
_WIDTH = re.compile(r"i(\d+)")
_REPEATED = re.compile(r"[\[<](\d+) x (.*)[\]>]", re.DOTALL)
#: Where the loader starts a program.
_ENTRY = "entrypoint"
# Disambiguators and references back: their digits are of base 62, and not a length.
_V0_NUMBER = re.compile(r"[sB][0-9A-Za-z]*_")
_V0_LENGTH = re.compile(r"(\d+)_?")


@dataclass(frozen=True, slots=True)
class WrongOperation:
    """One operation that would be mis-compiled: its function, and its name ("mul i128")."""

    function: str
    operation: str

    def __str__(self) -> str:
        return f"{self.function} ({self.operation})"


@dataclass(frozen=True, slots=True)
class CrowdedFunction:
    """A function whose arguments do not fit the registers. `path`: how the entry point reaches it, itself last."""

    path: tuple[str, ...]
    words: int

    def __str__(self) -> str:
        return f"{self.path[-1]} ({self.words} arguments)"


@dataclass(frozen=True, slots=True)
class IrFindings:
    """The result of `check_ir`.

    `wide` are operations without their library function, `dynamic_syscalls` the names of syscalls called by name, and
    `many_arguments` the functions that the entry point reaches and whose arguments do not fit the registers.
    """

    wide: tuple[WrongOperation, ...]
    dynamic_syscalls: tuple[str, ...]
    many_arguments: tuple[CrowdedFunction, ...]


def check_ir(module: Path) -> IrFindings:
    """Read the linked module's IR at *module* (sbpf-linker's ``post-opt.ll``), a line at a time."""
    with module.open(encoding="utf-8", errors="replace") as lines:
        return check_ir_lines(lines)


def check_ir_lines(lines: Iterable[str]) -> IrFindings:
    """Check IR in memory. Each function is named once for each kind of operation, in the order of the module.

    >>> ir = '''define i64 @entrypoint(ptr %0) {
    ...   %3 = mul nuw i128 %1, %2
    ... }'''
    >>> str(check_ir_lines(ir.splitlines()).wide[0])
    'entrypoint (mul i128)'
    """
    reader = _IrReader()
    for line in lines:
        reader.read(line)
    return reader.findings()


class _IrReader:
    """Collects findings while it reads a module, a line at a time."""

    LIBRARY = frozenset((*_WIDE_INTEGER.values(), *_INTRINSICS.values()))

    def __init__(self) -> None:
        self.function = ""
        self.provided: set[str] = set()
        self.needed: dict[WrongOperation, str] = {}
        self.syscalls: list[str] = []
        self.crowded: dict[str, int] = {}
        #: what each function or global names
        self.names: dict[str, list[str]] = {}

    def read(self, line: str) -> None:
        if line.startswith("define"):
            self._read_definition(line)
        elif defined := _GLOBAL.match(line):
            self.names[defined[1].strip('"')] = _named(line[defined.end() :])
        elif line.startswith("declare"):
            self._read_declaration(line)
        elif self.function:
            self._read_operations(line)

    def _read_definition(self, line: str) -> None:
        match = _DEFINE.match(line)
        if match is None:
            return
        self.function = match["name"].strip('"')
        parameters = match["parameters"]
        takes_registers = match["result"] == "i128" and parameters.count("i128") >= 2
        if takes_registers and self.function in self.LIBRARY:
            self.provided.add(self.function)
        self.names[self.function] = []
        registers = _registers(parameters)
        if registers > _ARGUMENT_REGISTERS:
            self.crowded[self.function] = registers

    def _read_declaration(self, line: str) -> None:
        match = _DECLARE.match(line)
        name = match["name"] if match is not None else ""
        if name.startswith("sol_") or name == "abort":
            self.syscalls.append(name)

    def _read_operations(self, line: str) -> None:
        self.names[self.function] += _named(line)
        for operation, called in _operations(line):
            # inside the library function itself it would call itself for ever
            needs = f"{called} in itself" if called == self.function else called
            self.needed.setdefault(
                WrongOperation(demangle(self.function), operation), needs
            )

    def findings(self) -> IrFindings:
        wrong = tuple(
            each for each, called in self.needed.items() if called not in self.provided
        )
        paths = self._paths()
        crowded = tuple(
            CrowdedFunction(paths[name], words)
            for name, words in self.crowded.items()
            if name in paths
        )
        return IrFindings(wrong, tuple(self.syscalls), crowded)

    def _paths(self) -> dict[str, tuple[str, ...]]:
        """Return the shortest way from the entry point to each function; to all of them if the module has none."""
        start = [_ENTRY] if _ENTRY in self.names else list(self.names)
        paths: dict[str, tuple[str, ...]] = {name: (demangle(name),) for name in start}
        waiting = deque(start)
        while waiting:
            at = waiting.popleft()
            for name in self.names.get(at, ()):
                if name not in paths:
                    paths[name] = (*paths[at], demangle(name))
                    waiting.append(name)
        return paths


def _named(text: str) -> list[str]:
    """Return the functions and globals that a line names."""
    return [name.strip('"') for name in _NAME.findall(text)]


def _operations(line: str) -> Iterator[tuple[str, str]]:
    if match := _OPERATION.match(line):
        yield f"{match['name']} i128", _WIDE_INTEGER[match["name"]]
    elif (match := _CALL.search(line)) and (called := _INTRINSICS.get(match["name"])):
        yield match["name"].removeprefix("llvm."), called


def _registers(parameters: str) -> int:
    """Count the registers of a definition's parameters. *parameters* is the text after the opening bracket."""
    return sum(map(_words, _split(parameters)))


def _split(text: str) -> list[str]:
    """Return the parts between the commas of *text*, up to the bracket that closes it."""
    depth, start, found = 0, 0, []
    for at, char in enumerate(f"{text})"):
        if char in "([{<":
            depth += 1
        elif char in ")]}>" and depth:
            depth -= 1
        elif char in ")]}>" or (char == "," and not depth):
            found.append(text[start:at].strip())
            start = at + 1
            if char != ",":
                break
    return list(filter(None, found))


def _words(kind: str) -> int:
    """Return the registers that a parameter takes; *kind* begins with its type."""
    if kind.startswith("<{"):
        kind = kind[1:]
    if kind.startswith("{"):
        return sum(map(_words, _split(kind[1:])))
    if repeated := _REPEATED.match(kind):
        return int(repeated[1]) * _words(repeated[2])
    width = _WIDTH.match(kind)
    return 1 if width is None else -(-int(width[1]) // 64)


def demangle(symbol: str) -> str:
    """Return a Rust symbol as a readable path without its generic arguments, good enough to find the function.

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
    """Return the identifiers of *text*, each written as its length and itself, and skip the characters between them."""
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
