"""Findings about a program: all at once, each with the place in the reader's own words and a stable rule name.

| rule | level | what |
|---|---|---|
| duplicate-name | error | two instructions, types, accounts of one instruction or arguments of one name |
| duplicate-field | warning | two fields of one name (values call the second "name_2") |
| duplicate-code | warning | two errors of one code |
| dangling-type | error | a type that nothing defines |
| unsupported-type | error | a type that the model cannot say, or a layout that only the program knows |
| endless-type | error | a type that always holds itself |
| too-many-variants | error | variants whose tags do not fit, or share one |
| generic-arguments | error | a generic type with the wrong number of arguments |
| shadowed-discriminator | error | equal discriminators, or one that starts another |
| reserved-discriminator | error | list_tools' own eight bytes, or what starts with them |
| empty-discriminator | error | an instruction without one beside others; info when it is the only one |
| untold-accounts | info | account types that nothing in their data tells apart |
| colliding-names | warning | names that become one in snake_case, so in Rust and in tool names |
| shared-name | info | an argument and an account of one name |
| seed | error | a seed longer than 32 bytes, too many seeds |
| underivable-seed | warning | an address that nothing here can derive |
| reserved-word | info | a name that Rust reserves, or that is no identifier |
| no-address | info | the program's address is not given |
| unusable | warning | an instruction that cannot be served, and why |
| source | any | what the reader itself found |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from mcpsol_py.errors import abbr, suggest
from mcpsol_py.model.program import (
    LIST_TOOLS,
    Account,
    AccountBumpValue,
    AccountGroup,
    AccountItem,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConditionalValue,
    ConstSeed,
    ConstValue,
    Discriminator,
    Instruction,
    Pda,
    PdaValue,
    ProgramModel,
    ResolverValue,
    UnknownSeed,
    Value,
)
from mcpsol_py.model.resolve import KNOWN_LAYOUTS, Resolver
from mcpsol_py.model.types import (
    Amount,
    Array,
    Enum,
    Field,
    FixedSize,
    Generic,
    HiddenPrefix,
    HiddenSuffix,
    Int,
    Link,
    Map,
    Offset,
    Option,
    RemainderOption,
    Sentinel,
    Set,
    SizePrefixed,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Unsupported,
    Variant,
    ZeroableOption,
)
from mcpsol_py.names import RUST_KEYWORDS, snake

__all__ = ["Finding", "answers_schema", "check", "only_itself", "unusable"]

Level = Literal["error", "warning", "info"]
T = TypeVar("T")

MAX_SEEDS = 15  # and the bump
MAX_FINDINGS = 2000

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing about a program that its author or user should know."""

    level: Level
    path: str
    message: str
    rule: str

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        return f"{self.level}: {where}{self.message} [{self.rule}]"


def check(model: ProgramModel) -> list[Finding]:
    """Everything found in *model*, in the order of the document; at most 2,000 findings."""
    return _Check(model).run()


def unusable(model: ProgramModel) -> dict[str, str]:
    """Instructions that cannot be served, by name, and why. All others can."""
    resolver = Resolver(model)
    out: dict[str, str] = {}
    seen: dict[str, Instruction] = {}
    for ix in model.instructions:
        twin = seen.setdefault(ix.name, ix)
        if twin is not ix and twin != ix:
            out[ix.name] = f"two different instructions have the name {ix.name!r}"
            continue
        why = _why_unusable(resolver, ix)
        if why is not None:
            out[ix.name] = why
    return out


def answers_schema(ix: Instruction) -> bool:
    """Is this the protocol's own instruction? The IDL of an Anchor program lists it if it stands in its module."""
    return (
        ix.discriminator.offset == 0
        and ix.discriminator.value == LIST_TOOLS
        and snake(ix.name) == "list_tools"
    )


def only_itself(ix: Instruction, facade_of: str | None = None) -> str | None:
    """Why nobody but the program itself (in a facade: the program behind) can call *ix*: an address that only the
    program signs for must sign (as programs do that emit events by calling themselves). None: others can."""
    own = (None, ConstValue(facade_of))
    for path, (account, _) in _leaves(ix.accounts):
        if account.signer is True and account.pda is not None and account.pda.program in own:
            return f"only the program itself can sign for {'.'.join(path)!r}, so nobody else can call it"
    return None


def _why_unusable(resolver: Resolver, ix: Instruction) -> str | None:
    if ix.disabled is not None:
        return ix.disabled
    for arg in ix.args:
        why = resolver.why_unusable(arg.type)
        if why is not None:
            return f"argument {arg.name!r}: {why}"
    return None


# --- how each dialect words a place ----------------------------------------------------------------------------------


class _Words:
    """Where things stand in the document that the model was read from, for people's eyes alone."""

    def __init__(self, model: ProgramModel) -> None:
        self.codama = model.dialect == "codama"
        self.spec = model.dialect in ("spec", "python")
        self.root = "program." if self.codama else ""
        self.args = "arguments" if self.codama else "args"
        self.types = "definedTypes" if self.codama else "types"
        in_place = (
            {a.name: i for i, a in enumerate(model.accounts)}
            if model.dialect in ("anchor legacy", "shank")
            else {}
        )
        self.definitions: list[str] = []
        for i, definition in enumerate(model.types):
            # legacy forms hold an account's type in place: the readers put those after all others
            account = in_place.get(definition.name) if isinstance(definition.type, Struct) else None
            moved = account is not None and model.accounts[account].type == Link(definition.name)
            self.definitions.append(
                f"{self.root}accounts[{account}]" if moved else f"{self.root}{self.types}[{i}]"
            )

    def inner(self, node: Type) -> Iterator[tuple[str, Type]]:
        """The types that *node* holds, with the step to each."""
        match node:
            case Struct(fields):
                for i, field in enumerate(fields):
                    yield f".fields[{i}].type", field.type
            case Tuple(items):
                for i, item in enumerate(items):
                    yield f".{'items' if self.codama else 'fields'}[{i}]", item
            case Enum(variants, _):
                for i, variant in enumerate(variants):
                    if variant.payload is not None:
                        inner = (
                            ""
                            if not self.codama
                            else ".struct"
                            if isinstance(variant.payload, Struct)
                            else ".tuple"
                        )
                        yield f".variants[{i}]{inner}", variant.payload
            case Option(item=item):
                yield ".item" if self.codama else ".option" if not node.fixed else ".coption", item
            case Array(item, count) | Set(item, count):
                vec = ".hashSet" if isinstance(node, Set) else ".vec"
                yield (
                    ".item"
                    if self.codama
                    else vec
                    if not isinstance(count, (int, Generic))
                    else ".array[0]",
                    item,
                )
            case Map(key, value, _):
                yield (".key", key) if self.codama else (".hashMap[0]", key)
                yield (".value", value) if self.codama else (".hashMap[1]", value)
            case Link(_, args):
                for i, arg in enumerate(args):
                    if not isinstance(arg.value, int):
                        yield f".defined.generics[{i}].type", arg.value
            case (
                SizePrefixed(item=item)
                | FixedSize(item=item)
                | Sentinel(item=item)
                | HiddenPrefix(item=item)
                | HiddenSuffix(item=item)
                | Offset(item=item)
            ):
                yield ".type", item
            case ZeroableOption(item=item) | RemainderOption(item=item):
                yield ".item", item


# --- the checks ------------------------------------------------------------------------------------------------------


class _Check:
    def __init__(self, model: ProgramModel) -> None:
        self.model = model
        self.words = _Words(model)
        self.resolver = Resolver(model)
        self.findings: list[Finding] = []
        self.names = dict.fromkeys(d.name for d in model.types)

    def add(self, level: Level, path: str, message: str, rule: str) -> None:
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(level, path, message, rule))

    def run(self) -> list[Finding]:
        model, root = self.model, self.words.root
        for path, level, message in model.findings:
            known = level if level in ("error", "warning", "info") else "warning"
            self.add(cast("Level", known), path, message, "source")
        if model.address is None:
            self.add(
                "info",
                f"{root}address",
                "the program's address is not given; give it where one is needed",
                "no-address",
            )
        self.instructions()
        self.definitions()
        self.accounts()
        self.events()
        self.errors()
        self.constants()
        return self.findings

    # --- names

    def unique(
        self,
        items: Sequence[T],
        name: Callable[[T], str],
        path: str,
        what: str,
        level: Level = "error",
        rule: str = "",
    ) -> None:
        """Names that repeat, and names that become one in snake_case."""
        first: dict[str, int] = {}
        folded: dict[str, int] = {}
        for i, item in enumerate(items):
            text = name(item)
            at = first.setdefault(text, i)
            if at != i:
                same = items[at] == item
                grade: Level = "warning" if same and level == "error" else level
                how = "again, the same" if same else "again, and different"
                self.add(
                    grade,
                    f"{path}[{i}]",
                    f"{what} {abbr(text, 60)} {how}; it stands at [{at}] too",
                    rule or "duplicate-name",
                )
                continue
            other = folded.setdefault(snake(text), i)
            if other != i:
                self.add(
                    "warning",
                    f"{path}[{i}]",
                    f"{what} {abbr(text, 60)} and {abbr(name(items[other]), 60)} at [{other}] are one in snake_case",
                    "colliding-names",
                )

    def word(self, name: str, path: str) -> None:
        """Names that Rust cannot hold as they are."""
        if name in RUST_KEYWORDS:
            self.add(
                "info",
                path,
                f"{name!r} is a word that Rust reserves; Rust code calls it r#{name} or {name}_",
                "reserved-word",
            )
        elif not _IDENTIFIER.match(name):
            self.add(
                "info",
                path,
                f"{abbr(name, 60)} is no identifier; code calls it by a cleaned name",
                "reserved-word",
            )

    # --- types

    def type(self, node: Type, path: str, depth: int = 0) -> None:
        """What is wrong with a type where it is written (not behind its links)."""
        if depth > 64:
            return
        match node:
            case Unsupported(text, why):
                self.add("error", path, f"type {abbr(text, 80)}: {why}", "unsupported-type")
            case Link(name, args):
                self.link(name, len(args), path)
            case Struct(fields):
                self.unique(
                    fields,
                    lambda f: f.name,
                    f"{path}.fields",
                    "field",
                    "warning",
                    "duplicate-field",
                )
                for i, field in enumerate(fields):
                    self.word(field.name, f"{path}.fields[{i}].name")
            case Enum(variants, tag):
                self.enum(variants, tag, path)
            case _:
                pass
        for step, child in self.words.inner(node):
            self.type(child, path + step, depth + 1)

    def link(self, name: str, given: int, path: str) -> None:
        if name not in self.names:
            self.add(
                "error",
                path,
                f"type {abbr(name, 80)} is referenced, not defined. {suggest(name, self.names)}",
                "dangling-type",
            )
            return
        wanted = len(self.resolver.definition(name).generics)
        if wanted != given:
            self.add(
                "error",
                path,
                f"type {abbr(name, 80)} takes {wanted} generic arguments, {given} are given",
                "generic-arguments",
            )

    def enum(self, variants: tuple[Variant, ...], tag: object, path: str) -> None:
        self.unique(variants, lambda v: v.name, f"{path}.variants", "variant")
        room = 2**tag.bits if isinstance(tag, Int) else 2**16
        taken: dict[int, int] = {}
        for i, variant in enumerate(variants):
            value = i if variant.value is None else variant.value
            if not 0 <= value < room:
                self.add(
                    "error",
                    f"{path}.variants[{i}]",
                    f"its tag {value} does not fit (0 to {room - 1:,})",
                    "too-many-variants",
                )
                break
            if taken.setdefault(value, i) != i:
                self.add(
                    "error",
                    f"{path}.variants[{i}]",
                    f"its tag {value} is that of [{taken[value]}] too",
                    "too-many-variants",
                )

    def definitions(self) -> None:
        model, words = self.model, self.words
        self.unique(model.types, lambda d: d.name, f"{words.root}{words.types}", "type")
        for definition, path in zip(model.types, words.definitions, strict=True):
            self.word(definition.name.rsplit("::", 1)[-1], f"{path}.name")
            self.type(definition.type, f"{path}.type")
            self.definition(definition, path)

    def definition(self, definition: TypeDef, path: str) -> None:
        layout = definition.layout
        if layout not in KNOWN_LAYOUTS:
            what = layout.removeprefix("custom:")
            self.add(
                "error",
                f"{path}.serialization",
                f"laid out by {abbr(what, 60)}, which only the program knows",
                "unsupported-type",
            )
        if not definition.generics and self.resolver.endless(Link(definition.name)):
            self.add(
                "error",
                f"{path}.type",
                f"type {definition.name!r} holds itself without end",
                "endless-type",
            )
        params = {g.name for g in definition.generics}
        for name in sorted(_generics(definition.type) - params):
            self.add(
                "error",
                f"{path}.type",
                f"the generic {name!r} is no parameter of {definition.name!r}",
                "generic-arguments",
            )

    # --- instructions

    def instructions(self) -> None:
        model, root = self.model, self.words.root
        path = f"{root}instructions"
        self.unique(model.instructions, lambda ix: ix.name, path, "instruction")
        why = unusable(model)
        for i, ix in enumerate(model.instructions):
            self.instruction(ix, f"{path}[{i}]")
            if ix.name in why:
                self.add(
                    "warning",
                    f"{path}[{i}]",
                    f"instruction {ix.name!r} cannot be served: {why[ix.name]}",
                    "unusable",
                )
        self.discriminators()

    def instruction(self, ix: Instruction, path: str) -> None:
        self.word(ix.name, f"{path}.name")
        self.unique(ix.args, lambda a: a.name, f"{path}.{self.words.args}", "argument")
        for i, arg in enumerate(ix.args):
            where = f"{path}.{self.words.args}[{i}]"
            self.word(arg.name, f"{where}.name")
            self.type(arg.type, f"{where}.type")
        if ix.returns is not None:
            self.type(ix.returns, f"{path}.returns")
        leaves = dict(_leaves(ix.accounts))
        self.group(ix.accounts, f"{path}.accounts")
        args = {a.name for a in ix.args}
        for name in dict.fromkeys(p[-1] for p in leaves):
            if name in args:
                self.add(
                    "info",
                    path,
                    f"an argument and an account are both called {abbr(name, 60)}",
                    "shared-name",
                )
        _Seeds(self, ix, leaves).run(path)

    def group(self, items: tuple[AccountItem, ...], path: str) -> None:
        self.unique(items, lambda a: a.name, path, "account")
        for i, item in enumerate(items):
            self.word(item.name, f"{path}[{i}].name")
            if isinstance(item, AccountGroup):
                self.group(item.accounts, f"{path}[{i}].accounts")

    def discriminators(self) -> None:
        """Equal ones, prefixes of one another, the empty one, and list_tools' own."""
        root = self.words.root
        entries = [
            (ix.discriminator, ix.also, ix.name, f"{root}instructions[{i}]")
            for i, ix in enumerate(self.model.instructions)
        ]
        self.shadows(entries, "instruction", "error")
        for i, ix in enumerate(self.model.instructions):
            data, where = ix.discriminator.value, f"{root}instructions[{i}].discriminator"
            if not data and not ix.also:
                if len(self.model.instructions) > 1:
                    self.add(
                        "error",
                        where,
                        f"{ix.name!r} has no discriminator, so it cannot be told from the others",
                        "empty-discriminator",
                    )
                else:
                    self.add(
                        "info",
                        where,
                        f"{ix.name!r} has no discriminator: its data is its arguments alone",
                        "empty-discriminator",
                    )
            elif answers_schema(ix):
                self.add(
                    "info",
                    where,
                    f"{ix.name!r} is list_tools itself, which answers the schema; a rendered program writes its own",
                    "reserved-discriminator",
                )
            elif ix.discriminator.offset == 0 and data.startswith(LIST_TOOLS):
                self.add(
                    "error",
                    where,
                    f"0x{data[:32].hex()}: {LIST_TOOLS.hex()} is list_tools' own; choose another",
                    "reserved-discriminator",
                )
            elif ix.discriminator.offset == 0 and len(data) > 1 and LIST_TOOLS.startswith(data):
                self.add(
                    "error",
                    where,
                    f"0x{data.hex()} starts list_tools' own {LIST_TOOLS.hex()}; choose another",
                    "reserved-discriminator",
                )

    def shadows(
        self,
        entries: list[tuple[Discriminator, tuple[Discriminator, ...], str, str]],
        what: str,
        level: Level,
    ) -> None:
        """Discriminators of one list that cannot be told apart by their bytes."""
        ordered = sorted(
            (
                (d.value, i)
                for i, (d, also, _, _) in enumerate(entries)
                if d.value and d.offset == 0 and not also and d.size is None
            ),
        )
        open_: list[
            tuple[bytes, int]
        ] = []  # each starts the next: sorted order puts what a prefix starts right behind it
        for data, i in ordered:
            while open_ and not data.startswith(open_[-1][0]):
                open_.pop()
            if open_:
                shorter, j = open_[-1]
                first, second = (
                    (entries[j], entries[i])
                    if j < i or shorter != data
                    else (entries[i], entries[j])
                )
                how = (
                    "is also that of"
                    if shorter == data
                    else f"starts with 0x{shorter[:32].hex()} of"
                )
                self.add(
                    level,
                    f"{second[3]}.discriminator",
                    f"the discriminator 0x{data[:32].hex()} of {what} {second[2]!r} {how} {first[2]!r}",
                    "shadowed-discriminator",
                )
            open_.append((data, i))

    # --- accounts, events, errors, constants

    def accounts(self) -> None:
        model, root = self.model, self.words.root
        self.unique(model.accounts, lambda a: a.name, f"{root}accounts", "account type")
        untold = []
        for i, account in enumerate(model.accounts):
            path = f"{root}accounts[{i}]"
            if not isinstance(account.type, Link):
                self.type(account.type, f"{path}.{'data' if self.words.codama else 'type'}")
            else:
                self.link(account.type.name, len(account.type.args), path)
            if (
                not account.discriminator.value
                and not account.also
                and account.discriminator.size is None
                and account.size is None
            ):
                untold.append(account.name)
        if untold and len(model.accounts) > 1:
            shown = ", ".join(untold[:5]) + (
                f" and {len(untold) - 5} more" if len(untold) > 5 else ""
            )
            self.add(
                "info",
                f"{root}accounts",
                f"nothing in their data tells {shown} apart; name the type when decoding",
                "untold-accounts",
            )
        self.shadows(
            [
                (a.discriminator, a.also, a.name, f"{root}accounts[{i}]")
                for i, a in enumerate(model.accounts)
            ],
            "account type",
            "warning",
        )

    def events(self) -> None:
        model, root = self.model, self.words.root
        self.unique(model.events, lambda e: e.name, f"{root}events", "event", "warning")
        for i, event in enumerate(model.events):
            path = f"{root}events[{i}]"
            if isinstance(event.type, Link):
                self.link(event.type.name, len(event.type.args), path)
            elif self.words.codama:
                self.type(event.type, f"{path}.data")
            else:
                self.type(event.type, path)
        self.shadows(
            [
                (e.discriminator, (), e.name, f"{root}events[{i}]")
                for i, e in enumerate(model.events)
            ],
            "event",
            "warning",
        )

    def errors(self) -> None:
        codes: dict[int, int] = {}
        for i, error in enumerate(self.model.errors):
            at = codes.setdefault(error.code, i)
            if at != i:
                other = self.model.errors[at].name
                self.add(
                    "warning",
                    f"{self.words.root}errors[{i}]",
                    f"the code {error.code} of {abbr(error.name, 60)} is that of {abbr(other, 60)} at [{at}] too",
                    "duplicate-code",
                )

    def constants(self) -> None:
        self.unique(
            self.model.constants,
            lambda c: c.name,
            f"{self.words.root}constants",
            "constant",
            "warning",
        )


# --- seeds -----------------------------------------------------------------------------------------------------------


class _Seeds:
    """Which addresses of one instruction can be derived from what it says."""

    def __init__(
        self, check: _Check, ix: Instruction, leaves: dict[tuple[str, ...], tuple[Account, str]]
    ) -> None:
        self.check, self.ix, self.leaves = check, ix, leaves
        self.args = {a.name: a for a in ix.args}
        self.edges: dict[tuple[str, ...], set[tuple[str, ...]]] = {}

    def run(self, path: str) -> None:
        for where, (account, step) in self.leaves.items():
            at = f"{path}.{step}"
            if account.pda is not None:
                self.pda(account.pda, where, f"{at}.pda")
            if account.default is not None:
                self.value(account.default, where, f"{at}.defaultValue")
        self.cycles(path)

    def warn(self, path: str, message: str) -> None:
        self.check.add("warning", path, message, "underivable-seed")

    def pda(self, pda: Pda, owner: tuple[str, ...], path: str) -> None:
        if len(pda.seeds) > MAX_SEEDS:
            self.check.add(
                "error",
                path,
                f"{len(pda.seeds)} seeds; an address has at most {MAX_SEEDS} and a bump",
                "seed",
            )
        for i, seed in enumerate(pda.seeds):
            at = f"{path}.seeds[{i}]"
            match seed:
                case ConstSeed(data) if len(data) > 32:
                    self.check.add(
                        "error", at, f"a seed of {len(data)} bytes; at most 32 are allowed", "seed"
                    )
                case ArgSeed(path=steps):
                    self.arg(steps, at)
                case AccountSeed():
                    self.account(seed.account, seed.field, seed.account_type, owner, at)
                    if seed.other:
                        self.account(seed.other, (), None, owner, at)
                case UnknownSeed(why):
                    self.warn(at, f"the address cannot be derived: {why}")
                case _:
                    pass
        if pda.program is not None:
            self.value(pda.program, owner, f"{path}.program")

    def value(self, value: Value, owner: tuple[str, ...], path: str, depth: int = 0) -> None:
        if depth > 32:
            return
        match value:
            case PdaValue(pda):
                self.pda(pda, owner, path)
            case ArgValue(steps):
                self.arg(steps, path)
            case AccountValue(account, field, kind):
                self.account(account, field, kind, owner, path)
            case AccountBumpValue(account):
                self.account(account, (), None, owner, path)
            case ResolverValue(name):
                if path.endswith(".program"):
                    self.warn(path, f"the address cannot be derived: {name}")
            case ConditionalValue(condition, _, then, otherwise):
                if not isinstance(condition, (AccountValue, ResolverValue)):
                    self.value(condition, owner, f"{path}.condition", depth + 1)
                for branch in (then, otherwise):
                    if branch is not None:
                        self.value(branch, owner, path, depth + 1)
            case _:
                pass

    def arg(self, steps: tuple[str, ...], path: str) -> None:
        field = self.args.get(steps[0]) if steps else None
        if field is None:
            name = ".".join(steps)
            self.warn(
                path,
                f"no argument named {abbr(name, 60)}, so the address must be given. {suggest(name, self.args)}",
            )
            return
        self.inside(field.type, steps[1:], path)

    def inside(self, node: Type, steps: tuple[str, ...], path: str) -> None:
        """Follows *steps* through structs."""
        for step in steps:
            node = (
                self.check.resolver.target(node)
                if not isinstance(node, Link) or self.known(node)
                else node
            )
            if not isinstance(node, Struct):
                if isinstance(node, Link):
                    return  # dangling: told where the type stands
                self.warn(
                    path,
                    f"there is no field {abbr(step, 40)} to follow, so the address must be given",
                )
                return
            found = _field(node.fields, step)
            if found is None:
                names = suggest(step, [f.name for f in node.fields])
                self.warn(
                    path, f"no field named {abbr(step, 40)}, so the address must be given. {names}"
                )
                return
            node = found.type

    def known(self, link: Link) -> bool:
        return link.name in self.check.names

    def account(
        self,
        steps: tuple[str, ...],
        field: tuple[str, ...],
        kind: str | None,
        owner: tuple[str, ...],
        path: str,
    ) -> None:
        found = self.leaves.get(steps)
        if found is None:
            name = ".".join(steps)
            candidates = [".".join(p) for p in self.leaves]
            self.warn(
                path,
                f"no account named {abbr(name, 60)}, so the address must be given. {suggest(name, candidates)}",
            )
            return
        if field and steps == owner:
            name = ".".join(owner)
            self.check.add(
                "info",
                path,
                f"{name} is derived from what it holds: callers give its address",
                "own-fields",
            )
        else:
            self.edges.setdefault(owner, set()).add(steps)
        if not field:
            return
        defined = next((a for a in self.check.model.accounts if a.name == kind), None)
        if defined is not None:
            self.inside(defined.type, field, path)
        elif kind is not None and kind in self.check.names:
            self.inside(Link(kind), field, path)
        else:
            what = f"its type {kind!r} is not described here" if kind else "its type is not said"
            self.warn(
                path,
                f"the field {abbr('.'.join(field), 60)} of {steps[-1]!r} is needed, and {what}",
            )

    def cycles(self, path: str) -> None:
        """Accounts that derive from one another in a circle: one of them must be given."""
        state: dict[tuple[str, ...], int] = {}
        for start in self.edges:
            if state.get(start):
                continue
            trail: list[tuple[tuple[str, ...], Iterator[tuple[str, ...]]]] = [
                (start, iter(sorted(self.edges[start])))
            ]
            state[start] = 1
            while trail:
                node, rest = trail[-1]
                following = next(rest, None)
                if following is None:
                    state[node] = 2
                    trail.pop()
                elif state.get(following) == 1:
                    names = [".".join(n) for n, _ in trail]
                    circle = names[names.index(".".join(following)) :]
                    how = "derives from itself" if len(circle) == 1 else "derive from one another"
                    self.warn(path, f"{' → '.join([*circle, circle[0]])}: {how}; give one of them")
                elif not state.get(following):
                    state[following] = 1
                    trail.append((following, iter(sorted(self.edges.get(following, ())))))


def _field(fields: tuple[Field, ...], name: str) -> Field | None:
    for field in fields:
        if field.name == name:
            return field
    wanted = snake(name)
    return next((f for f in fields if snake(f.name) == wanted), None)


def _leaves(
    items: tuple[AccountItem, ...], prefix: tuple[str, ...] = (), step: str = "accounts"
) -> Iterable[tuple[tuple[str, ...], tuple[Account, str]]]:
    """Every account of an instruction by its path, with the step to it in the document."""
    for i, item in enumerate(items):
        if isinstance(item, AccountGroup):
            yield from _leaves(item.accounts, (*prefix, item.name), f"{step}[{i}].accounts")
        else:
            yield (*prefix, item.name), (item, f"{step}[{i}]")


def _generics(node: Type, depth: int = 0) -> set[str]:
    """The generic parameters that *node* uses."""
    if depth > 64:
        return set()
    out = {node.name} if isinstance(node, Generic) else set()
    if isinstance(node, (Array, Set, Map)) and isinstance(node.count, Generic):
        out.add(node.count.name)
    children: Iterable[Type] = ()
    match node:
        case Struct(fields):
            children = [f.type for f in fields]
        case Tuple(items):
            children = items
        case Enum(variants, _):
            children = [v.payload for v in variants if v.payload is not None]
        case Map(key, value, _):
            children = (key, value)
        case Link(_, args):
            children = [a.value for a in args if not isinstance(a.value, int)]
        case Amount():
            pass
        case _:
            item = getattr(node, "item", None)
            children = (item,) if item is not None else ()
    for child in children:
        out |= _generics(child, depth + 1)
    return out
