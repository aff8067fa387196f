"""The `.pyi` of a program: protocols of its clients, so that editors complete names and type checkers check arguments.

`ProgramClient`, `SyncProgramClient` and `Program` satisfy the protocols. Code uses them for annotations only:

    if TYPE_CHECKING:
        from counter_types import SyncCounterClient

    client: SyncCounterClient = connect_sync(program_id, "devnet")
    client.build("increment", {"amount": 1})
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap

from mcpsol_py.names import clean_text
from mcpsol_py.program import Program
from mcpsol_py.stubs.annotations import class_name, docstring
from mcpsol_py.stubs.typed_dicts import InstructionTypes, TypedDicts

__all__ = ["stub"]

_IMPORTS = """\
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, overload

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.client_protocols import AsyncClient, SyncClient
from mcpsol_py.program_client import View

#: An address: a Pubkey, base58 text, or a Keypair that also signs.
Address: TypeAlias = Pubkey | Keypair | str
"""

#: Names that the stub imports or defines; no class of the program may hide them.
_IMPORTED = frozenset(re.findall(r"\b[A-Z]\w+", _IMPORTS))


def stub(program: Program, *, module: str = "") -> str:
    """Return the text of a `.pyi` for *program*.

    *module* is the name under which the file will be imported; the module's docstring shows it in an example.
    Instructions and account types that cannot be used are left out. A comment gives the reason for each instruction.
    """
    prefix = class_name(program.name)
    taken = {f"{prefix}Client", f"Sync{prefix}Client", f"{prefix}Program"}
    classes = TypedDicts(program, taken | _IMPORTED | set(keyword.kwlist))
    accounts = {
        a.name: classes.account_type(a)
        for a in program.model.accounts
        if classes.usable(a)
    }
    unusable = program.unusable()
    usable = [name for name in program.instructions if name not in unusable]
    instructions = [classes.instruction(program.instruction(name)) for name in usable]
    parts = [
        _head(program, prefix, module or f"{_module_name(program.name)}_types"),
        _IMPORTS,
        *classes.texts,
        _Client("Sync", prefix, "def").text(accounts, instructions),
        _Client("", prefix, "async def").text(accounts, instructions),
        *_program(prefix, classes, instructions),
        *_notes(unusable),
    ]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _module_name(name: str) -> str:
    return re.sub(r"\W", "_", name).lower() or "program"


def _head(program: Program, prefix: str, module: str) -> str:
    name = clean_text(program.name, 80)
    text = (
        f'"""Types of the program {name!r}. Written by `idl2mcp stubs`; do not edit.\n\n'
        "    if TYPE_CHECKING:\n"
        f"        from {module} import Sync{prefix}Client\n\n"
        f"    client: Sync{prefix}Client = connect_sync(program_id, url)\n"
        '"""'
    )
    return text.replace("\\", "\\\\")


def _notes(unusable: Mapping[str, str]) -> Iterator[str]:
    for name, why in unusable.items():
        reason = " ".join(clean_text(why, 300).split())
        yield f"# {clean_text(name, 80)} is left out: {reason}"


# --- clients ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Client:
    """The protocol of a program's client: `kind` is "Sync" or "", `word` how its methods begin."""

    kind: str
    prefix: str
    word: str

    def text(
        self, accounts: Mapping[str, str], instructions: Sequence[InstructionTypes]
    ) -> str:
        base = self.kind or "Async"
        lines = [
            f"class {self.kind}{self.prefix}Client({base}Client, Protocol):",
            f'    """A {self.kind}ProgramClient of this program."""',
            *_overloads(list(map(self._build, instructions))),
            *_overloads(list(map(self._view, instructions))),
        ]
        if accounts:
            lines += self._readers(accounts)
        return "\n".join(lines)

    def _build(self, types: InstructionTypes) -> list[str]:
        return self._call("build", types, ", payer: Any = ...", "Instruction")

    def _view(self, types: InstructionTypes) -> list[str]:
        return self._call("view", types, "", "View")

    def _call(
        self, method: str, types: InstructionTypes, more: str, result: str
    ) -> list[str]:
        signature = (
            f"self, name: Literal[{types.instruction.name!r}], {_parameters(types)}, *, "
            f"remaining: Sequence[Address | AccountMeta] = ...{more}"
        )
        docs = docstring(types.instruction.model.docs, "        ")
        end = "" if docs else " ..."
        return [f"    {self.word} {method}({signature}) -> {result}:{end}", *docs]

    def _readers(self, accounts: Mapping[str, str]) -> list[str]:
        """The methods that read accounts. Each has one more overload, for the JSON forms of all types."""
        readers = [
            (self.word, "fetch", "address: Pubkey | str", "{}"),
            (
                self.word,
                "fetch_many",
                "addresses: Sequence[Pubkey | str]",
                "list[{} | None]",
            ),
            (
                self.word,
                "fetch_all",
                "where: Mapping[str, Any] | None = ...",
                "list[tuple[Pubkey, {}]]",
            ),
        ]
        if not self.kind:
            readers.append(
                ("def", "watch", "address: Pubkey | str", "AsyncGenerator[{}, None]")
            )
        names = f"Literal[{', '.join(map(repr, accounts))}]"
        lines = []
        for word, method, parameter, result in readers:
            head = f"    {word} {method}(self, name: "
            overloads = [
                f"{head}Literal[{name!r}], {parameter}, *, as_json: Literal[False] = ...) -> "
                f"{result.format(value)}: ..."
                for name, value in accounts.items()
            ]
            in_json = f"{head}{names}, {parameter}, *, as_json: bool) -> {result.format('Any')}: ..."
            lines += _overloads([[line] for line in (*overloads, in_json)])
        return lines


def _parameters(types: InstructionTypes) -> str:
    """The parameters `args` and `accounts`. A required one has no optional one before it."""
    arguments, accounts = f"args: {types.arguments}", f"accounts: {types.accounts}"
    if not types.needs_accounts:
        accounts += " | None = ..."
    if not types.needs_arguments:
        arguments += " | None" if types.needs_accounts else " | None = ..."
    return f"{arguments}, {accounts}"


def _overloads(methods: Sequence[Sequence[str]]) -> list[str]:
    """The methods as overloads of one another. Type checkers refuse a single overload."""
    if len(methods) == 1:
        return list(methods[0])
    return [line for method in methods for line in ("    @overload", *method)]


# --- the program itself ----------------------------------------------------------------------


def _program(
    prefix: str, classes: TypedDicts, instructions: Sequence[InstructionTypes]
) -> list[str]:
    """The protocols of the program and of its instructions, for use offline."""
    names = [
        classes.unique(f"{class_name(t.instruction.name)}Instruction")
        for t in instructions
    ]
    methods = [
        [
            f"    def instruction(self, name: Literal[{types.instruction.name!r}]) -> {name}: ..."
        ]
        for name, types in zip(names, instructions, strict=True)
    ]
    lines = [
        f"class {prefix}Program(Protocol):",
        '    """This program, as `load` returns it."""',
        "    @property",
        "    def name(self) -> str: ...",
        "    @property",
        "    def address(self) -> Pubkey | None: ...",
        "    @property",
        "    def instructions(self) -> list[str]: ...",
        *_overloads(methods),
    ]
    blocks = list(starmap(_instruction, zip(names, instructions, strict=True)))
    return [*blocks, "\n".join(lines)]


def _instruction(name: str, types: InstructionTypes) -> str:
    optional = "" if types.needs_arguments else " | None = ..."
    parameters = (
        f"self, args: {types.arguments}{optional}, accounts: {types.accounts} | None = ..., "
        "program_id: Pubkey | str | None = ..., wallet: Any = ..."
    )
    lines = [
        f"class {name}(Protocol):",
        *docstring(types.instruction.model.docs, "    "),
        f"    def encode(self, args: {types.arguments}) -> bytes: ...",
        "    def decode(self, data: bytes) -> dict[str, Any]: ...",
        f"    def build({parameters}) -> Instruction: ...",
    ]
    return "\n".join(lines)
