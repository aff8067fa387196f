"""The Anchor target: a whole program from a source, or the module that adds list_tools to a program that exists.

Two owners as everywhere: all is generated but the handlers in src/processor and Cargo.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from mcpsol_py.errors import NotUsable, RenderError, abbr
from mcpsol_py.model.program import (
    AccountType,
    Constraints,
    Discriminator,
    ErrorCode,
    Event,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.resolve import Resolver
from mcpsol_py.model.sizes import fixed_size
from mcpsol_py.model.type_text import type_text
from mcpsol_py.model.types import Link, Struct, Type
from mcpsol_py.render.account_lookup import flatten
from mcpsol_py.render.anchor_accounts import AnchorAccounts, anchor_accounts
from mcpsol_py.render.anchor_types import AnchorTypes, FieldView, TypeView
from mcpsol_py.render.environment import environment
from mcpsol_py.render.rust import (
    IdentifierPool,
    Rust,
    byte_array,
    code,
    crate_name,
    crate_version,
    doc,
    format_string,
    ident,
    number,
    string,
)
from mcpsol_py.render.rust_types import CannotRender
from mcpsol_py.render.view.constants import ConstantView, constants_view
from mcpsol_py.render.write import Planned
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["AnchorView", "anchor_plan", "anchor_view", "module_plan"]

#: What Anchor's prelude and Rust's bring into each file, and what the #[program] macro makes: no type of a source may
#: be called so.
_TAKEN = (
    *(
        "Account",
        "AccountInfo",
        "AccountLoader",
        "AccountMeta",
        "Accounts",
        "AccountsExit",
        "AnchorDeserialize",
    ),
    *(
        "AnchorSerialize",
        "AssociatedToken",
        "Box",
        "Bumps",
        "Clock",
        "Context",
        "CpiContext",
        "Cursor",
        "Default",
    ),
    *(
        "Discriminator",
        "EpochSchedule",
        "Err",
        "Error",
        "Event",
        "Id",
        "Instruction",
        "Instructions",
        "Interface",
    ),
    *(
        "InterfaceAccount",
        "Key",
        "LazyAccount",
        "Lamports",
        "ListTools",
        "Migration",
        "Mint",
        "None",
        "Ok",
        "Option",
    ),
    *(
        "Owner",
        "Owners",
        "Program",
        "ProgramData",
        "ProgramError",
        "Pubkey",
        "RemainingBytes",
        "Rent",
        "Result",
    ),
    *(
        "Rewards",
        "Self",
        "Signer",
        "SlotHashes",
        "SlotHistory",
        "Some",
        "Space",
        "StakeHistory",
        "String",
    ),
    *(
        "SystemAccount",
        "System",
        "Sysvar",
        "ToAccountInfo",
        "ToAccountInfos",
        "ToAccountMetas",
        "Token",
        "Token2022",
    ),
    *(
        "TokenAccount",
        "TokenInterface",
        "UncheckedAccount",
        "UpgradeableLoaderState",
        "Vec",
        "InitSpace",
        "Owned",
    ),
)
#: Modules of the crate and those that the #[program] macro makes.
_MODULES = (
    *(
        "accounts",
        "constants",
        "cpi",
        "error",
        "events",
        "instruction",
        "instructions",
        "list_tools",
        "processor",
    ),
    *(
        "program",
        "state",
        "types",
        "anchor_lang",
        "anchor_spl",
        "std",
        "core",
        "alloc",
        "entry",
        "try_entry",
    ),
)


@dataclass(frozen=True, slots=True)
class StateView:
    """One account type, or event: a struct with its discriminator."""

    name: Rust
    docs: tuple[Rust, ...]
    #: "(discriminator = [..])" where Anchor would derive another one
    attribute: Rust
    fields: tuple[FieldView, ...]
    size: Rust
    has_size: bool


@dataclass(frozen=True, slots=True)
class ErrorView:
    """One error of the program's own."""

    name: Rust
    code: Rust
    docs: tuple[Rust, ...]
    message: Rust


@dataclass(frozen=True, slots=True)
class AnchorInstruction:
    """One instruction: the function that Anchor calls, the struct of its accounts, and the author's handler."""

    name: Rust
    struct: Rust
    #: how the #[program] macro calls the struct of its arguments
    data: Rust
    docs: tuple[Rust, ...]
    inner_docs: tuple[Rust, ...]
    attribute: tuple[Rust, ...]
    args: tuple[FieldView, ...]
    arg_names: Rust
    returns: Rust
    accounts: AnchorAccounts
    uses: tuple[Rust, ...]
    handler_uses: tuple[Rust, ...]
    account_arguments: Rust


@dataclass(frozen=True, slots=True)
class PagesView:
    """The pages of list_tools in one file: JSON pages end to end, then the stream's."""

    count: Rust
    ends: tuple[Rust, ...]
    has_stream: bool
    stream_base: Rust
    #: not Rust: the file's bytes
    blob: bytes


@dataclass(frozen=True, slots=True)
class AnchorView:
    """The whole crate."""

    name: Rust
    module: Rust
    title: tuple[Rust, ...]
    version: Rust
    address: Rust
    instructions: tuple[AnchorInstruction, ...]
    states: tuple[StateView, ...]
    events: tuple[StateView, ...]
    errors: tuple[ErrorView, ...]
    error_type: Rust
    types: tuple[TypeView, ...]
    takes_rest: bool
    constants: tuple[ConstantView, ...]
    pages: PagesView
    needs_spl: bool
    #: what of anchor-spl: making a mint takes its code for extensions
    spl_features: Rust
    lang_features: Rust
    #: types of arguments, which the #[program] macro looks for in the root
    program_uses: tuple[Rust, ...]


def anchor_view(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> AnchorView:
    """The view of *model*. Raises RenderError where something has no form in Anchor, SchemaError."""
    if not model.instructions:
        raise RenderError(
            f"{model.name or 'this program'} has no instruction, so there is nothing to render."
        )
    address = _address(model)
    name = crate_name(model.name)
    library = name.replace("-", "_")
    names = IdentifierPool(*_TAKEN, *_data_names(model))
    types = AnchorTypes(Resolver(model), names)
    error_type = names.take(f"{library} error", "pascal")
    states, known = _states(model, types)
    events = _events(model, types)
    error_names = IdentifierPool()
    errors = tuple(_error(e, error_names) for e in _once(model.errors))
    by_name = {e.name: v.name for e, v in zip(_once(model.errors), errors, strict=True)}
    # Their modules come in by a glob, before the crates of those names.
    functions = IdentifierPool(
        "list_tools", "entry", "super_", "std", "core", "alloc", "anchor_lang", "anchor_spl"
    )
    data_names = {"ListTools"}
    instructions = tuple(
        _instruction(ix, types, known, error_type, by_name, functions, names, data_names)
        for ix in _ordered(model)
    )
    uses: set[str] = {
        path
        for ix in instructions
        for path in _mentioned(types, ix.args) | _words(types, ix.returns)
    }
    spl = ["associated_token", "mint", "solana-v3", "token", "token_2022"]
    if any(c.init and c.token and c.token.kind == "mint" for c in _constraints(model)):
        spl.append("token_2022_extensions")
    features = ["init-if-needed"] if any(i.accounts.init_if_needed for i in instructions) else []
    return AnchorView(
        name=name,
        module=IdentifierPool(*_MODULES).take(
            library.removeprefix("r#") if library not in _MODULES else f"{library} program"
        ),
        title=doc(model.docs or [f"The program {model.name}."], inner=True),
        version=crate_version(model.version),
        address=string(address),
        instructions=instructions,
        states=states,
        events=events,
        errors=errors,
        error_type=error_type,
        types=types.views(),
        takes_rest=types.takes_rest,
        constants=constants_view(model),
        pages=pages_view(model, form=form, descriptions=descriptions, lossless=lossless),
        needs_spl=any("anchor_spl" in u for i in instructions for u in i.accounts.uses),
        spl_features=code(", ".join(f'"{name}"' for name in spl)),
        lang_features=code(f'["{features[0]}"]' if features else "[]"),
        program_uses=_uses(uses),
    )


def _constraints(model: ProgramModel) -> Iterator[Constraints]:
    for ix in model.instructions:
        for _, account in flatten(ix.accounts):
            if account.constraints is not None:
                yield account.constraints


def pages_view(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> PagesView:
    """The pages of *model* as one file. Raises SchemaError."""
    pages = page_set(model, form=form, descriptions=descriptions, lossless=lossless)
    ends: list[Rust] = []
    at = 0
    for page in pages.json_pages:
        at += len(page)
        ends.append(number(at))
    blob = b"".join([*pages.json_pages, *pages.stream_pages])
    return PagesView(
        code(str(len(ends))), tuple(ends), bool(pages.stream_pages), number(pages.stream_base), blob
    )


# --- the parts -------------------------------------------------------------------------------------------------------


def _address(model: ProgramModel) -> str:
    try:
        address_bytes(model.address or "")
    except ValueError as error:
        raise RenderError(
            f"{model.name}: an Anchor program runs at no address but the one that it declares, and the source gives "
            f"{model.address!r}. Give it one, as `solana-keygen new` makes it."
        ) from error
    return model.address or ""


def _once(errors: tuple[ErrorCode, ...]) -> list[ErrorCode]:
    """Of two errors with one code only the first can be an enum's variant."""
    first: dict[int, ErrorCode] = {}
    for error in errors:
        first.setdefault(error.code % 2**32, error)
    return list(first.values())


def _error(error: ErrorCode, names: IdentifierPool) -> ErrorView:
    if error.code >= 2**32 - 1:
        raise RenderError(f"errors.{error.name}: Anchor's numbers end before {error.code}.")
    name = names.take(error.name, "pascal")
    message = abbr(error.message, 200)[1:-1] if len(error.message) > 200 else error.message
    return ErrorView(
        name,
        number(error.code % 2**32),
        doc([error.message or error.name]),
        format_string(message or error.name),
    )


def _derived(kind: str, name: str) -> bytes:
    return sha256(f"{kind}:{name}".encode()).digest()[:8]


def _plain_discriminator(d: Discriminator, what: str, *, zeros: bool = False) -> bytes:
    """The bytes that Anchor puts before the fields; `zeros`: they may be nothing but zeros. Raises CannotRender where
    they stand elsewhere."""
    if not d.consumed or d.offset or d.size is not None or not d.value:
        raise CannotRender(
            f"{what} is not told apart by bytes that stand before the rest, as Anchor needs it"
        )
    if not zeros and not any(d.value):
        raise CannotRender(f"{what} is known by zeros, which Anchor refuses: so does new data look")
    return d.value


def _states(
    model: ProgramModel, types: AnchorTypes
) -> tuple[tuple[StateView, ...], dict[str, tuple[Rust, Struct, int | None]]]:
    taken: dict[str, tuple[AccountType, Rust]] = {}
    for account in model.accounts:
        if account.name not in taken:
            name = types.names.take(account.name, "pascal")
            types.modules[name] = "state"
            taken[account.name] = account, name
            if isinstance(account.type, Link):
                types.elsewhere.setdefault(account.type, name)
    views: list[StateView] = []
    known: dict[str, tuple[Rust, Struct, int | None]] = {}
    for account, name in taken.values():
        try:
            value = _plain_discriminator(account.discriminator, f"the account type {account.name}")
            if account.also:
                raise CannotRender("it is told apart by several constants")
            view, body, size = _struct(
                account.name, account.type, account.docs, name, value, "account", types
            )
        except CannotRender as why:
            raise RenderError(f"accounts.{account.name}: {why}.") from why
        views.append(view)
        known[account.name] = (name, body, size)
    return tuple(views), known


def _events(model: ProgramModel, types: AnchorTypes) -> tuple[StateView, ...]:
    taken: dict[str, tuple[Event, Rust]] = {}
    for event in model.events:
        if event.name not in taken:
            name = types.names.take(event.name, "pascal")
            types.modules[name] = "events"
            taken[event.name] = event, name
            if isinstance(event.type, Link):
                types.elsewhere.setdefault(event.type, name)
    views: list[StateView] = []
    for event, name in taken.values():
        try:
            value = _plain_discriminator(event.discriminator, f"the event {event.name}")
            views.append(
                _struct(event.name, event.type, event.docs, name, value, "event", types)[0]
            )
        except CannotRender as why:
            raise RenderError(f"events.{event.name}: {why}.") from why
    return tuple(views)


def _struct(
    source: str,
    kind: Type,
    docs: tuple[str, ...],
    name: Rust,
    value: bytes,
    space: str,
    types: AnchorTypes,
) -> tuple[StateView, Struct, int | None]:
    definition, body = types.body(kind)
    if not isinstance(body, Struct):
        raise CannotRender(f"{source} is no struct")
    size = fixed_size(types.resolver, kind)
    whole = None if size is None else size + len(value)
    attribute = "" if value == _derived(space, name) else f"(discriminator = {byte_array(value)})"
    lines = doc(docs or (definition.docs if definition is not None else ()))
    fields = types.fields(body.fields, name)
    return (
        StateView(name, lines, code(attribute), fields, code(str(whole)), whole is not None),
        body,
        whole,
    )


def _ordered(model: ProgramModel) -> list[Instruction]:
    """Each discriminator once, and longer ones first: Anchor takes the first that the data opens with."""
    first = {ix.discriminator.value: ix for ix in reversed(model.instructions)}
    found = [ix for ix in model.instructions if first[ix.discriminator.value] is ix]
    return sorted(found, key=lambda ix: -len(ix.discriminator.value))


def _instruction(
    ix: Instruction,
    types: AnchorTypes,
    states: dict[str, tuple[Rust, Struct, int | None]],
    error_type: Rust,
    error_names: dict[str, Rust],
    functions: IdentifierPool,
    structs: IdentifierPool,
    data_names: set[str],
) -> AnchorInstruction:
    name = functions.take(ix.name)
    if name.startswith("r#"):
        name = functions.take(f"{name[2:]} instruction")
    while _upper_camel(name) in data_names:  # functions of two names can have arguments of one
        name = functions.take(f"{name} more")
    data_names.add(_upper_camel(name))
    try:
        value = _plain_discriminator(ix.discriminator, "it", zeros=True)
        if ix.also or ix.disabled:
            raise CannotRender(ix.disabled or "it is told apart by several constants")
        args = types.fields(ix.args, ix.name)
        if any(f.type == "RemainingBytes" for f in args[:-1]):
            raise CannotRender("bytes without a length stand before other arguments")
        names = IdentifierPool("ctx", "processor", name)
        args = tuple(FieldView(_argument(names, a.name), a.type, a.docs) for a in args)
        returns = code(
            "()" if ix.returns is None else types.type(ix.returns, f"{ix.name} returned")
        )
    except CannotRender as why:
        raise RenderError(f"instructions.{ix.name}: {why}.") from why
    except NotUsable as why:
        raise RenderError(f"instructions.{ix.name}: {why.why}.") from why
    accounts = anchor_accounts(
        ix, types, states, error_type, error_names, tuple((a.name, a.type) for a in args)
    )
    struct = structs.take(name, "pascal")
    when = [text for key, text in ix.hints if key == "when"]
    docs = [
        *(ix.docs or (f"{ix.name}.",)),
        *(line for w in when for line in ("", f"When to use: {w}")),
    ]
    docs += [line for r in ix.args if r.docs for line in ("", f"{r.name}: {' '.join(r.docs)}")]
    attribute = (
        ()
        if value == _derived("global", name)
        else (code(f"#[instruction(discriminator = {byte_array(value)})]"),)
    )
    own = {f"crate::instructions::{struct}"} | _mentioned(types, args) | _words(types, returns)
    listed = accounts.arguments
    in_accounts = _mentioned(types, args[: len(listed)])
    return AnchorInstruction(
        name=name,
        struct=struct,
        data=code(_upper_camel(name)),
        docs=doc(docs),
        inner_docs=doc(docs, inner=True),
        attribute=attribute,
        args=args,
        arg_names=code("".join(f", {a.name}" for a in args)),
        returns=returns,
        accounts=accounts,
        uses=_uses(accounts.uses | in_accounts),
        handler_uses=_uses(own),
        account_arguments=code(f"#[instruction({', '.join(listed)})]" if listed else ""),
    )


def _uses(paths: set[str]) -> tuple[Rust, ...]:
    """Imports, those of one module together."""
    modules: dict[str, list[str]] = {}
    for path in sorted(paths):
        module, _, name = path.rpartition("::")
        modules.setdefault(module, []).append(name)
    return tuple(
        code(f"{module}::{names[0]}" if len(names) == 1 else f"{module}::{{{', '.join(names)}}}")
        for module, names in modules.items()
    )


def _argument(names: IdentifierPool, name: str) -> Rust:
    taken = names.take(name)
    return names.take(f"{taken[2:]} argument") if taken.startswith("r#") else taken


def _data_names(model: ProgramModel) -> set[str]:
    """What the #[program] macro calls its structs of arguments, where a type of an argument would be called so too."""
    words = {
        w
        for ix in model.instructions
        for f in ix.args
        for w in re.findall(r"\w+", type_text(f.type))
    }
    return {str(ident(w, "pascal")) for w in words} & {
        _upper_camel(ident(ix.name)) for ix in model.instructions
    }


def _upper_camel(name: str) -> str:
    """As Anchor's macro (the crate heck) makes a type's name of a function's."""
    return "".join(word[:1].upper() + word[1:].lower() for word in name.split("_"))


def _words(types: AnchorTypes, text: str) -> set[str]:
    """The paths of the crate's own types in a type's text."""
    own = {str(v.name): "types" for v in types.views()} | {
        str(v): m for v, m in types.modules.items()
    }
    if types.takes_rest:
        own["RemainingBytes"] = "types"
    found = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    return {f"crate::{own[name]}::{name}" for name in found & own.keys()}


def _mentioned(types: AnchorTypes, args: tuple[FieldView, ...]) -> set[str]:
    return {word for a in args for word in _words(types, a.type)}


# --- files -----------------------------------------------------------------------------------------------------------


def anchor_plan(view: AnchorView, *, shared: bool = False) -> list[Planned]:
    """Every file of a whole program, before rustfmt and without headers. `shared`: the author's module beside the
    handlers is there."""
    env = environment("anchor")

    def made(template: str, path: str, owned: bool = False, **more: Any) -> Planned:
        text = env.get_template(template + ".jinja").render(crate=view, pages=view.pages, **more)
        return Planned(path, text.encode(), owned)

    names = ["lib", "list_tools", "error"]
    names += ["types"] if view.types or view.takes_rest else []
    names += ["events"] if view.events else []
    names += ["state"] if view.states else []
    names += ["constants"] if view.constants else []
    files = [made("Cargo.toml", "Cargo.toml", owned=True)]
    files += [made(f"src/{name}.rs", f"src/{name}.rs") for name in names]
    files.append(Planned("src/list_tools.bin", view.pages.blob))
    files.append(made("src/instructions/mod.rs", "src/instructions/mod.rs"))
    shared = shared and all(ix.name != "shared" for ix in view.instructions)
    files.append(made("src/processor/mod.rs", "src/processor/mod.rs", shared=shared))
    if shared:
        files.append(Planned("src/processor/shared.rs", b"", owned=True))
    for ix in view.instructions:
        files.append(
            made("src/instructions/instruction.rs", f"src/instructions/{ix.name}.rs", ix=ix)
        )
        files.append(
            made("src/processor/handler.rs", f"src/processor/{ix.name}.rs", owned=True, ix=ix)
        )
    return files


def module_plan(pages: PagesView, program: str) -> list[Planned]:
    """The files that add list_tools to an Anchor program that exists, before rustfmt: the module, its pages, and the
    lines that the author adds."""
    env = environment("anchor")
    module = env.get_template("src/list_tools.rs.jinja").render(pages=pages)
    readme = env.get_template("list_tools.md.jinja").render(
        program=ident(program or "your program")
    )
    return [
        Planned("src/list_tools.rs", module.encode()),
        Planned("src/list_tools.bin", pages.blob),
        Planned("src/list_tools.md", readme.encode()),
    ]
