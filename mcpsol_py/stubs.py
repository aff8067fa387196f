"""Write a `.pyi` for a program, so that editors complete and type checkers check instruction names and arguments.

The stub holds TypedDicts (arguments, accounts, account types) and protocols that `ProgramClient`, `SyncProgramClient`
and `Program` satisfy. Code uses it for annotations only:

    if TYPE_CHECKING:
        from counter_types import SyncCounterClient

    client: SyncCounterClient = connect_sync(program_id, "devnet")
    client.build("increment", {"amount": 1})
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mcpsol_py.model.program import AccountGroup, AccountItem, Instruction
from mcpsol_py.model.types import (
    Amount,
    Array,
    Bool,
    Bytes,
    DateTime,
    Enum,
    Field,
    Float,
    Generic,
    Int,
    Link,
    Map,
    Pubkey,
    ShortU16,
    String,
    Struct,
    Tuple,
    Unsupported,
)
from mcpsol_py.model.visit import GroupVisitor, ListType, OptionalType, ProductType, WrapperType
from mcpsol_py.names import clean_text, pascal
from mcpsol_py.program import Program, ProgramInstruction

__all__ = ["stub"]

_IMPORTS = """\
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, overload

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.client_protocols import AsyncClient, SyncClient

#: An address: a Pubkey, base58 text, or a Keypair that also signs.
Address: TypeAlias = Pubkey | Keypair | str
"""

#: Names that the stub imports or defines; no class of the program may hide them.
_IMPORTED = frozenset(re.findall(r"\b[A-Z]\w+", _IMPORTS))


def stub(program: Program, *, module: str = "") -> str:
    """Return the text of a `.pyi` for *program*.

    *module* is the name under which the file will be imported; the module's docstring shows it in an example.
    Instructions and account types that cannot be used are left out, each with its reason in a comment.
    """
    return _Stub(program, module or f"{_lower(program.name)}_types").text()


def _lower(name: str) -> str:
    return re.sub(r"\W", "_", name).lower() or "program"


def _identifier(name: str) -> str:
    """A PascalCase Python class name for any text."""
    text = pascal(re.sub(r"[^0-9A-Za-z_]+", "_", name)) or "Unnamed"
    return f"_{text}" if text[0].isdigit() else text


def _docstring(docs: Iterable[str], indent: str) -> list[str]:
    """A docstring of untrusted lines, or nothing if there are none."""
    text = clean_text("\n".join(docs)).strip()
    if not text:
        return []
    text = text.replace("\\", "\\\\").replace('"', '\\"')
    return [f'{indent}"""{text}"""'.replace("\n", f"\n{indent}")]


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of a TypedDict."""

    name: str
    type: str
    required: bool = True
    note: str = ""

    @property
    def annotation(self) -> str:
        return self.type if self.required else f"NotRequired[{self.type}]"


class _TypeNames(GroupVisitor[[], str]):
    """The Python type of a value, as annotation text.

    With *given* the type of what a caller may pass, else of what a reader returns. Structs and enums with payloads
    become TypedDicts of their own, which `classes` collects.
    """

    def __init__(self, owner: _Stub, *, given: bool) -> None:
        self.owner = owner
        self.given = given

    def visit_scalar(self, node: object) -> str:
        raise AssertionError(f"every scalar has its own method, got {node!r}")

    def integer(self, node: Int | ShortU16 | DateTime) -> str:
        return "int"

    visit_int = visit_short_u16 = visit_date_time = integer

    def visit_amount(self, node: Amount) -> str:
        return self.visit(node.number)

    def visit_float(self, node: Float) -> str:
        return "float"

    def visit_bool(self, node: Bool) -> str:
        return "bool"

    def visit_pubkey(self, node: Pubkey) -> str:
        return "Address" if self.given else "Pubkey"

    def visit_string(self, node: String) -> str:
        return "str"

    def visit_bytes(self, node: Bytes) -> str:
        return "bytes | str" if self.given else "bytes"

    def visit_wrapper(self, node: WrapperType) -> str:
        return self.visit(node.item)

    def visit_optional(self, node: OptionalType) -> str:
        if isinstance(node.item, OptionalType):
            return f"Mapping[Literal['some'], {self.visit(node.item)}] | None"
        return f"{self.visit(node.item)} | None"

    def visit_list(self, node: ListType) -> str:
        if isinstance(node, Array) and node.item == Int(8):
            return self.visit_bytes(Bytes())
        return self._sequence(self.visit(node.item))

    def _sequence(self, item: str) -> str:
        return f"Sequence[{item}]" if self.given else f"list[{item}]"

    def visit_map(self, node: Map) -> str:
        key, value = self.visit(node.key), self.visit(node.value)
        if self.given:
            return f"Mapping[{key}, {value}] | Sequence[tuple[{key}, {value}]]"
        return f"list[tuple[{key}, {value}]]"

    def visit_product(self, node: ProductType) -> str:
        if isinstance(node, Tuple):
            return self._sequence("Any")
        return "Mapping[str, Any]" if self.given else "dict[str, Any]"

    def visit_enum(self, node: Enum) -> str:
        return " | ".join(self._variants(node)) or "str"

    def _variants(self, node: Enum) -> Iterator[str]:
        units = [repr(v.name) for v in node.variants if v.payload is None]
        if units:
            yield f"Literal[{', '.join(units)}]"
        if len(units) < len(node.variants):
            yield "Mapping[str, Any]"

    def visit_link(self, node: Link) -> str:
        return self.owner.named(node, given=self.given)

    def unknown(self, node: Generic | Unsupported) -> str:
        return "Any"

    visit_generic = visit_unsupported = unknown


@dataclass
class _Stub:
    """One stub: its classes in order of their first use."""

    program: Program
    module: str
    classes: list[str] = field(default_factory=list)
    names: dict[tuple[Link, bool], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.prefix = _identifier(self.program.name)
        self.given = _TypeNames(self, given=True)
        self.read = _TypeNames(self, given=False)
        own = {f"{self.prefix}Client", f"Sync{self.prefix}Client", f"{self.prefix}Program"}
        self.taken.update(own | _IMPORTED | set(keyword.kwlist))

    def text(self) -> str:
        usable, notes = self._usable()
        accounts = self._account_types()
        arguments = [self._instruction_types(ix) for ix in usable]
        protocols = [
            self._client("Sync", accounts, usable, arguments),
            self._client("", accounts, usable, arguments),
            self._offline(usable, arguments),
        ]
        parts = [self._head(), _IMPORTS, *self.classes, *protocols, *notes]
        return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"

    def _head(self) -> str:
        client = f"Sync{self.prefix}Client"
        return (
            f'"""Types of the program {clean_text(self.program.name, 80)!r}. '
            "Written by `idl2mcp stubs`; do not edit.\n\n"
            "    if TYPE_CHECKING:\n"
            f"        from {self.module} import {client}\n\n"
            f"    client: {client} = connect_sync(program_id, url)\n"
            '"""'
        ).replace("\\", "\\\\")

    def _usable(self) -> tuple[list[ProgramInstruction], list[str]]:
        unusable = self.program.unusable()
        usable = [
            self.program.instruction(n) for n in self.program.instructions if n not in unusable
        ]
        notes = [
            f"# {clean_text(name, 80)} is left out: {' '.join(clean_text(why, 300).split())}"
            for name, why in unusable.items()
        ]
        return usable, notes

    # --- names of classes ----------------------------------------------------------------------

    def _unique(self, wanted: str) -> str:
        name, number = wanted, 2
        while name in self.taken:
            name, number = f"{wanted}{number}", number + 1
        self.taken.add(name)
        return name

    def named(self, link: Link, *, given: bool) -> str:
        """The class (or inline type) of a defined type, written at its first use."""
        key = (link, given)
        if key in self.names:
            return self.names[key]
        definition, node = self.program.codecs.layouts.resolver.expand(link)
        types = self.given if given else self.read
        if not isinstance(node, Struct):
            self.names[key] = "Any"  # what a recursive type sees of itself
            self.names[key] = types.visit(node)
            return self.names[key]
        base = _identifier(link.name.rpartition("::")[2])
        name = self._unique(f"{base}Input" if given else base)
        self.names[key] = name
        self._typed_dict(name, self._keys(node.fields, types), definition.docs)
        return name

    # --- TypedDicts ----------------------------------------------------------------------------

    def _keys(self, fields: Sequence[Field], types: _TypeNames) -> list[_Key]:
        shown = [f for f in fields if f.default is None or not f.default.omitted]
        return [
            _Key(f.name, types.visit(f.type), not types.given or f.default is None) for f in shown
        ]

    def _typed_dict(self, name: str, keys: Sequence[_Key], docs: Iterable[str] = ()) -> None:
        if all(k.name.isidentifier() and not keyword.iskeyword(k.name) for k in keys):
            lines = [f"class {name}(TypedDict):", *_docstring(docs, "    ")]
            lines += [f"    {key.name}: {key.annotation}{key.note}" for key in keys]
            if len(lines) == 1:
                lines.append("    pass")
        else:
            items = [f"    {key.name!r}: {key.annotation}," for key in keys]
            lines = [f"{name} = TypedDict({name!r}, {{", *items, "})"]
        self.classes.append("\n".join(lines))

    def _account_types(self) -> dict[str, str]:
        """Account type -> the annotation of its value."""
        out = {}
        for account in self.program.model.accounts:
            if self.program.codecs.layouts.resolver.why_unusable(account.type) is not None:
                continue
            if isinstance(account.type, Struct):
                name = self._unique(_identifier(account.name))
                self._typed_dict(name, self._keys(account.type.fields, self.read), account.docs)
                out[account.name] = name
            else:
                out[account.name] = self.read.visit(account.type)
        return out

    def _instruction_types(self, ix: ProgramInstruction) -> tuple[str, str]:
        """The TypedDicts of an instruction's arguments and accounts."""
        base = _identifier(ix.name)
        arguments, accounts = self._unique(f"{base}Args"), self._unique(f"{base}Accounts")
        self._typed_dict(arguments, self._argument_keys(ix.model))
        must_give = set(ix.must_give())
        keys = self._account_keys(base, ix.model.accounts, must_give, "")
        keys += [_Key(r.name, "Sequence[Address]", False) for r in ix.model.remaining]
        self._typed_dict(accounts, keys)
        return arguments, accounts

    def _argument_keys(self, ix: Instruction) -> list[_Key]:
        filled = {name for name, _ in ix.arg_values}
        keys = self._keys(ix.args, self.given)
        return [_Key(k.name, k.type, k.required and k.name not in filled) for k in keys]

    def _account_keys(
        self, base: str, items: Iterable[AccountItem], must_give: set[str], prefix: str
    ) -> list[_Key]:
        keys = []
        for item in items:
            path = f"{prefix}{item.name}"
            if isinstance(item, AccountGroup):
                name = self._unique(f"{base}{_identifier(item.name)}Accounts")
                inner = self._account_keys(base, item.accounts, must_give, f"{path}.")
                self._typed_dict(name, inner, item.docs)
                keys.append(_Key(item.name, name, any(key.required for key in inner)))
            else:
                address = "Address | None" if item.optional else "Address"
                keys.append(_Key(item.name, address, path in must_give))
        return keys

    # --- protocols -----------------------------------------------------------------------------

    def _client(
        self,
        kind: str,
        accounts: dict[str, str],
        instructions: Sequence[ProgramInstruction],
        types: Sequence[tuple[str, str]],
    ) -> str:
        word = "def" if kind else "async def"
        base = "SyncClient" if kind else "AsyncClient"
        about = "SyncProgramClient" if kind else "ProgramClient"
        lines = [
            f"class {kind}{self.prefix}Client({base}, Protocol):",
            f'    """A {about} of this program."""',
        ]
        pairs = list(zip(instructions, types, strict=True))
        lines += _overloads(
            [_build(word, "build", "Instruction", "payer: Any = ...", *pair) for pair in pairs]
        )
        lines += _overloads([_build(word, "view", "Any", "", *pair) for pair in pairs])
        lines += _overloads([_fetch(word, name, value) for name, value in accounts.items()])
        lines += _overloads([_fetch_many(word, name, value) for name, value in accounts.items()])
        return "\n".join(lines)

    def _offline(
        self, instructions: Sequence[ProgramInstruction], types: Sequence[tuple[str, str]]
    ) -> str:
        blocks, methods = [], []
        for ix, (arguments, accounts) in zip(instructions, types, strict=True):
            name = self._unique(f"{_identifier(ix.name)}Instruction")
            optional = "" if _needs_arguments(ix) else " | None = ..."
            parameters = (
                f"self, args: {arguments}{optional}, accounts: {accounts} | None = ..., "
                "program_id: Address | None = ..., wallet: Any = ..."
            )
            blocks.append(
                "\n".join(
                    [
                        f"class {name}(Protocol):",
                        *(_docstring(ix.model.docs, "    ")),
                        f"    def encode(self, args: {arguments}{optional}) -> bytes: ...",
                        "    def decode(self, data: bytes) -> dict[str, Any]: ...",
                        f"    def build({parameters}) -> Instruction: ...",
                    ]
                )
            )
            methods.append(
                [f"    def instruction(self, name: Literal[{ix.name!r}]) -> {name}: ..."]
            )
        lines = [
            f"class {self.prefix}Program(Protocol):",
            '    """A Program of this kind, as `load` returns it."""',
            "    @property",
            "    def name(self) -> str: ...",
            "    @property",
            "    def address(self) -> Pubkey | None: ...",
            "    @property",
            "    def instructions(self) -> list[str]: ...",
            *_overloads(methods),
        ]
        return "\n\n".join([*blocks, "\n".join(lines)])


def _needs_arguments(ix: ProgramInstruction) -> bool:
    """Return True if a call must give arguments."""
    filled = {name for name, _ in ix.model.arg_values}
    return any(a.default is None and a.name not in filled for a in ix.model.args)


def _build(
    word: str, method: str, result: str, more: str, ix: ProgramInstruction, types: tuple[str, str]
) -> list[str]:
    arguments, accounts = types
    args = f"args: {arguments}" if _needs_arguments(ix) else f"args: {arguments} | None = ..."
    needed = bool(ix.must_give())
    given = f"accounts: {accounts}"
    if not needed:
        given += " | None = ..."
    elif not _needs_arguments(ix):
        args = f"args: {arguments} | None"  # a required parameter follows it
    rest = f", {more}" if more else ""
    signature = (
        f"self, name: Literal[{ix.name!r}], {args}, {given}, *, "
        f"remaining: Sequence[Address | AccountMeta] = ...{rest}"
    )
    docs = _docstring(ix.model.docs, "        ")
    if not docs:
        return [f"    {word} {method}({signature}) -> {result}: ..."]
    return [f"    {word} {method}({signature}) -> {result}:", *docs]


def _fetch(word: str, name: str, value: str) -> list[str]:
    return [
        f"    {word} fetch(self, name: Literal[{name!r}], address: Pubkey | str) -> {value}: ..."
    ]


def _fetch_many(word: str, name: str, value: str) -> list[str]:
    parameters = f"self, name: Literal[{name!r}], addresses: Sequence[Pubkey | str]"
    return [f"    {word} fetch_many({parameters}) -> list[{value} | None]: ..."]


def _overloads(methods: Sequence[Sequence[str]]) -> list[str]:
    """The methods as overloads of one another; a single one stands alone, as type checkers demand."""
    if len(methods) == 1:
        return list(methods[0])
    return [line for method in methods for line in ("    @overload", *method)]
