"""The facts of a program that callers rely on, as text by path.

Facts are names, discriminators, arguments (order, types, bytes, defaults), accounts (order, flags, addresses, seeds,
defaults), account types, events, errors and docs. Docs count because agents decide by them. The dialect and the names
of helper types do not count: two sources with the same bytes are the same.

The path of a type's text has a second fact, "… (bytes)": the type's whole form, for what the text leaves out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mcpsol_py.errors import UnresolvedName
from mcpsol_py.model.facade import facade_model
from mcpsol_py.model.program import (
    Account,
    AccountGroup,
    AccountSeed,
    AccountValue,
    ArgSeed,
    ArgValue,
    ConstSeed,
    ConstValue,
    Instruction,
    Pda,
    PdaValue,
    ProgramIdSeed,
    ProgramModel,
    RemainingAccounts,
    Seed,
    Value,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.serial import to_json
from mcpsol_py.model.serial_values import write_value
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import (
    Enum,
    Field,
    Link,
    Struct,
    Tuple,
    Type,
    TypeDef,
    Variant,
)
from mcpsol_py.model.visit import children, map_children
from mcpsol_py.names import snake

__all__ = ["comparable", "exact_type", "facts", "flat_accounts", "seeds_text"]

_Facts = Iterator[tuple[str, str]]

#: Deeper types keep their Link.
_MAX_DEPTH = 32


def facts(model: ProgramModel) -> dict[str, str]:
    """Return the facts of a program: "instructions.deposit.args.amount" -> "u64". Names are in snake_case."""
    resolver = Resolver(model)
    found: dict[str, str] = {}
    if address := model.facade_of or model.address:
        found["address"] = address
    for instruction in model.instructions:
        found.update(_instruction(resolver, instruction))
    found.update(_types(resolver, "accounts", model.accounts))
    found.update(_types(resolver, "events", model.events))
    for error in model.errors:
        found[f"errors.{error.code}"] = error.name
        found.update(_docs(f"errors.{error.code}", (error.message,)))
    return found


def comparable(
    left: ProgramModel, right: ProgramModel
) -> tuple[ProgramModel, ProgramModel]:
    """Return two programs in comparable form: if one is a facade, the other as its facade would serve it."""
    return _beside(left, right), _beside(right, left)


def _beside(model: ProgramModel, other: ProgramModel) -> ProgramModel:
    if other.facade_of is None or model.facade_of is not None:
        return model
    return facade_model(model, model.address or other.facade_of)


def _instruction(resolver: Resolver, instruction: Instruction) -> _Facts:
    at = f"instructions.{snake(instruction.name)}"
    yield at, "0x" + instruction.discriminator.value.hex()
    yield from _docs(at, instruction.docs)
    yield from _arguments(resolver, at, instruction)
    yield from _accounts(at, instruction)
    if instruction.returns is not None:
        yield from _type(resolver, f"{at}.returns", instruction.returns)


def _arguments(resolver: Resolver, at: str, instruction: Instruction) -> _Facts:
    shown = [arg for arg in instruction.args if not arg.is_constant]
    yield f"{at}.args", ", ".join(snake(arg.name) for arg in shown)
    for arg in shown:
        here = f"{at}.args.{snake(arg.name)}"
        yield from _type(resolver, here, arg.type)
        yield from _docs(here, arg.docs)
        if arg.default is not None:
            yield f"{here}.default", _json(write_value(arg.default.value))
    for arg in instruction.args:
        if arg.default is not None and arg.is_constant:
            value = _json(write_value(arg.default.value))
            yield (
                f"{at}.constant.{snake(arg.name)}",
                f"{exact_type(resolver, arg.type)} {value}",
            )
    for name, source in instruction.arg_values:
        yield f"{at}.args.{snake(name)}.default", _json(to_json(source))


def _accounts(at: str, instruction: Instruction) -> _Facts:
    accounts = list(flat_accounts(instruction.accounts))
    yield f"{at}.accounts", ", ".join(name for name, _ in accounts)
    for name, account in accounts:
        yield f"{at}.accounts.{name}", _flags(account)
        if account.pda is not None:
            yield f"{at}.accounts.{name}.seeds", seeds_text(account.pda)
        if account.default is not None:
            yield f"{at}.accounts.{name}.default", _default(account.default)
        yield from _docs(f"{at}.accounts.{name}", account.docs)
    for rest in instruction.remaining:
        yield f"{at}.remaining.{snake(rest.name)}", _flags(rest)
    if instruction.optional_accounts != "program_id":
        yield f"{at}.optional_accounts", instruction.optional_accounts


def flat_accounts(
    items: Iterable[Account | AccountGroup], group: str = ""
) -> Iterator[tuple[str, Account]]:
    """Yield accounts with their names; those of a group are named "group.name"."""
    for item in items:
        name = f"{group}{snake(item.name)}"
        if isinstance(item, AccountGroup):
            yield from flat_accounts(item.accounts, f"{name}.")
        else:
            yield name, item


def _types(resolver: Resolver, section: str, rows: Iterable[Any]) -> _Facts:
    for row in rows:
        yield f"{section}.{row.name}", "0x" + row.discriminator.value.hex()
        yield from _type(resolver, f"{section}.{row.name}.type", row.type)
        size = getattr(row, "size", None)
        if size and size != _own_size(resolver, row):
            yield f"{section}.{row.name}.size", str(size)
        yield from _docs(
            f"{section}.{row.name}", row.docs or _docs_of_type(resolver, row.type)
        )


def _own_size(resolver: Resolver, row: Any) -> int | None:
    """The size that the type of state implies, which only some dialects write down."""
    size = fixed_size(resolver, row.type)
    return None if size is None else size + len(row.discriminator.value)


def _docs_of_type(resolver: Resolver, node: Type) -> tuple[str, ...]:
    """The docs of a named type: Anchor's IDLs have those of state and events there."""
    if not isinstance(node, Link):
        return ()
    try:
        return resolver.definition(node.name).docs
    except UnresolvedName:
        return ()


def _docs(at: str, lines: Iterable[str]) -> _Facts:
    """Yield the docs as one line, since dialects break lines differently; nothing for empty docs."""
    text = " ".join(" ".join(lines).split())
    if text:
        yield f"{at}.docs", text


def _flags(account: Account | RemainingAccounts) -> str:
    marks = {
        "signer": account.signer is True,
        "maybe signer": account.signer == "either",
        "writable": account.writable,
        "optional": account.optional,
    }
    flags = [name for name, is_set in marks.items() if is_set]
    if isinstance(account, Account) and account.address:
        flags.append(account.address)
    return " ".join(flags) or "read-only"


def _default(value: Value) -> str:
    """Describe the value that a call fills in for an account: a derived address in the words of seeds."""
    return (
        seeds_text(value.pda) if isinstance(value, PdaValue) else _json(to_json(value))
    )


# --- seeds ------------------------------------------------------------------------------------------------------------


def seeds_text(pda: Pda) -> str:
    """Describe how an address is derived, in the same words for every dialect."""
    program = f" of {_program(pda.program)}" if pda.program is not None else ""
    return ", ".join(_seed(seed) for seed in pda.seeds) + program


def _seed(seed: Seed) -> str:
    match seed:
        case ConstSeed(value):
            text = value.decode("ascii", "replace")
            return (
                f'"{text}"'
                if value.isascii() and text.isprintable()
                else "0x" + value.hex()
            )
        case ArgSeed(path, _, encoding):
            return f"argument {_path(path)}{_suffix(' as', encoding)}"
        case AccountSeed():
            field = _suffix("", _path(seed.field))
            other = _suffix(
                f" {seed.sort} with", _path(seed.other) if seed.sort else ""
            )
            return f"account {_path(seed.account)}{field}{_suffix(' as', seed.encoding)}{other}"
        case ProgramIdSeed():
            return "the program's id"
        case _:
            return "a seed that the source does not describe"


def _suffix(word: str, text: str | None) -> str:
    return f"{word} {text}" if text else ""


def _program(value: Any) -> str:
    match value:
        case ConstValue():
            return str(value.value)
        case AccountValue():
            return f"account {_path((*value.account, *value.field))}"
        case ArgValue():
            return f"argument {_path(value.path)}"
        case _:
            return type(value).__name__


def _path(parts: Iterable[str]) -> str:
    return ".".join(snake(part) for part in parts)


# --- types ------------------------------------------------------------------------------------------------------------


def _type(resolver: Resolver, at: str, node: Type) -> _Facts:
    """Yield a type's text for people, and its whole form."""
    yield at, type_text(_expanded(resolver, node, (), _as_struct))
    yield f"{at} (bytes)", exact_type(resolver, node)


def exact_type(resolver: Resolver, node: Type) -> str:
    """Return the whole form of a type: the JSON form of the model, and the layouts of C types in it."""
    layouts = [f"{each.layout} {each.align}" for each in _definitions(resolver, node)]
    special = [text for text in layouts if text != "borsh None"]
    form = to_json(_expanded(resolver, node, (), _with_values))
    return _json([form, special] if special else form)


def _json(form: Any) -> str:
    return json.dumps(form, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _definitions(resolver: Resolver, node: Type) -> list[TypeDef]:
    """Return the definitions that *node* leads to, each once, in order."""
    found: dict[str, TypeDef] = {}
    todo: list[Type] = [node]
    while todo:
        inner = todo.pop()
        if isinstance(inner, Link):
            if inner.name in found:
                continue
            try:
                found[inner.name], inner = resolver.expand(inner)
            except UnresolvedName:
                continue
        todo += reversed(children(inner))
    return list(found.values())


def _expanded(
    resolver: Resolver,
    node: Type,
    open_links: tuple[Link, ...],
    enum: Callable[[Enum], Type],
) -> Type:
    """Replace each Link by its type, so that names of helper types do not matter. A recursive type keeps its Link.

    *enum* gives the form of an enum.
    """

    def expand(inner: Type) -> Type:
        return _expanded(resolver, inner, open_links, enum)

    match node:
        case Link():
            return _followed(resolver, node, open_links, enum)
        case Struct(fields):
            return Struct(
                tuple(
                    Field(snake(field.name), expand(field.type), (), field.default)
                    for field in fields
                )
            )
        case Enum():
            return map_children(enum(node), expand)
        case _:
            return map_children(node, expand)


def _followed(
    resolver: Resolver,
    link: Link,
    open_links: tuple[Link, ...],
    enum: Callable[[Enum], Type],
) -> Type:
    if link in open_links or len(open_links) > _MAX_DEPTH:
        return link
    try:
        _, body = resolver.expand(link)
    except UnresolvedName:
        return link
    return _expanded(resolver, body, (*open_links, link), enum)


def _as_struct(enum: Enum) -> Type:
    """Return an enum as the text shows it: with payloads, as a struct of its variants and its tag."""
    if not any(variant.payload for variant in enum.variants):
        return Enum(tuple(Variant(variant.name) for variant in enum.variants), enum.tag)
    rows = [
        Field(variant.name, variant.payload or Tuple(())) for variant in enum.variants
    ]
    return Struct((*rows, Field("tag", enum.tag)))


def _with_values(enum: Enum) -> Type:
    """Return an enum whose variants all say their tag."""
    variants = enumerate(enum.variants)
    return Enum(
        tuple(
            Variant(v.name, v.payload, index if v.value is None else v.value)
            for index, v in variants
        ),
        enum.tag,
    )
