"""Render a program model: which template makes which file of the crate, and who owns it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpsol_py.bodies.calls import PROGRAM_CALLS
from mcpsol_py.bodies.tree import (
    Bump,
    CallProgram,
    EmitCall,
    Hash,
    OpenState,
    bodies_of,
    find,
)
from mcpsol_py.errors import RenderError
from mcpsol_py.model.check import answers_schema
from mcpsol_py.model.origins import origin_of, path_of
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.names import pascal, snake
from mcpsol_py.render.anchor import anchor_plan, anchor_view, pages_view
from mcpsol_py.render.anchor.handlers import anchor_handlers
from mcpsol_py.render.environment import environment
from mcpsol_py.render.facade import facade_plan, facade_view
from mcpsol_py.render.handlers.build import ProgramHandlers
from mcpsol_py.render.handlers.crates import crate_handlers
from mcpsol_py.render.handlers.modules import used_modules
from mcpsol_py.render.imports import Imports
from mcpsol_py.render.module import module_files
from mcpsol_py.render.prune import Usage, bare, prune
from mcpsol_py.render.readme import readme
from mcpsol_py.render.rust import Rust, code
from mcpsol_py.render.targets import MODULES, target_of
from mcpsol_py.render.view import CrateView, InstructionView, crate_view
from mcpsol_py.render.write import (
    Planned,
    RenderResult,
    author_files,
    format_rust,
    write_plan,
)
from mcpsol_py.schema.pages import Descriptions, Form

if TYPE_CHECKING:
    from mcpsol_py.program import Program

__all__ = ["plan", "render", "render_crate"]

#: An optional module of the author, for what several handlers need.
_SHARED = "src/processor/shared.rs"

#: Functions of checks.rs that are kept although no generated file calls them: handlers need them.
_FOR_HANDLERS = ("ensure",)
_FOR_TOKEN_HANDLERS = ("token_amount", "transfer_tokens")


def render_crate(
    program: Program | ProgramModel,
    *,
    target: str = "pinocchio",
    facade: str | None = None,
    out: str | Path,
    descriptions: Descriptions = "full",
    form: Form = "compact",
    lossless: bool = True,
    source: str = "",
) -> RenderResult:
    """Write the Rust crate of a program to the folder *out*.

    If *out* has an earlier crate, its generated files are replaced, and the author's files stay as they are.

    Args:
        program: What `load` returns, or the model of a source.
        target: One of TARGETS. "pinocchio-module", "native-module" and "anchor-module" write only the module that adds
            list_tools to an existing program.
        facade: The address of the program that *program* describes. If given, a small program is written that serves
            list_tools for it and passes every other call on (only with target "pinocchio").
        out: The crate's folder.
        descriptions: The descriptions in the schema pages.
        form: The form of the schema pages.
        lossless: Whether the pages have the stream with the whole model.
        source: The source's name in the header of generated files. The model's origin if empty.

    Raises RenderError, EditedByHand, SchemaError. Nothing is written then.
    """
    model = program if isinstance(program, ProgramModel) else program.model
    out = Path(out)
    source = source or _source_name(model, out)
    model = replace(
        model, instructions=tuple(filterfalse(answers_schema, model.instructions))
    )
    pages: dict[str, Any] = {
        "form": form,
        "descriptions": descriptions,
        "lossless": lossless,
    }
    try:
        if facade is not None:
            return _render_facade(model, target, facade, out, source, pages)
        return _render(model, target, out, source, pages)
    except RenderError as error:
        origin = (
            origin_of(model, path_of(model, *error.place)) if error.place[0] else ""
        )
        if not origin:
            raise
        raise RenderError(f"{origin}: {error}", place=error.place) from error


def _render_facade(
    model: ProgramModel,
    target: str,
    facade: str,
    out: Path,
    source: str,
    pages: dict[str, Any],
) -> RenderResult:
    if target != "pinocchio":
        raise RenderError(f"a facade needs target pinocchio, not {target}.")
    return _write(facade_plan(facade_view(model, facade, **pages)), out, source)


def _render(
    model: ProgramModel, target: str, out: Path, source: str, pages: dict[str, Any]
) -> RenderResult:
    if target in MODULES:
        planned = module_files(target, pages_view(model, **pages), model.name)
        files, formatted = format_rust(planned, root="src/list_tools.rs")
        return write_plan(files, out, source, formatted=formatted)
    shared = (out / _SHARED).is_file()
    if target == "anchor":
        anchor = anchor_view(model, **pages)
        handlers = anchor_handlers(model, bodies_of(model), anchor)
        planned = anchor_plan(anchor, shared=shared, handlers=handlers)
        return _write_crate(planned, model, anchor.unchecked, out, source)
    author = author_files(out)
    named = "\n".join([*author.values(), *_called(model)])
    view = crate_view(model, target_of(target), author=named, **pages)
    handlers = crate_handlers(model, bodies_of(model), view)
    planned = plan(view, shared=shared, author=author, handlers=handlers)
    return _write_crate(planned, model, view.unchecked, out, source)


#: The name within this package. The root has only `render_crate`, because `mcpsol_py.render` is the package.
render = render_crate


def _called(model: ProgramModel) -> list[str]:
    """The methods that handlers made from bodies call: for the seeds of an account, and to write items of lists."""
    bodies = bodies_of(model)
    functions = [*bodies.instructions.values(), *bodies.helpers.values()]
    statements = [statement for function in functions for statement in function.body]
    signing = [
        call.signer for call in find(statements, CallProgram) if call.signer is not None
    ]
    signing += [call.authority for call in find(statements, EmitCall)]
    signing += [node.account for node in find(statements, OpenState) if node.payer]
    signing += [node.account for node in find(statements, Bump)]
    hashes = ["encode"] if any(find(statements, Hash)) else []
    return [*(f"{snake(account)}_seeds" for account in signing), *hashes]


def _write_crate(
    planned: list[Planned],
    model: ProgramModel,
    unchecked: tuple[str, ...],
    out: Path,
    source: str,
) -> RenderResult:
    """Write a crate, and say in its README.md and in the result what no check holds."""
    written = _write([*planned, *readme(out, model.name, unchecked)], out, source)
    return replace(written, unchecked=unchecked)


def _write(planned: list[Planned], out: Path, source: str) -> RenderResult:
    files, formatted = format_rust(planned)
    return write_plan(files, out, source, handlers="src/processor", formatted=formatted)


def _source_name(model: ProgramModel, out: Path) -> str:
    """The source's name in generated files: its path in the crate's folder, or else only its file name.

    The location of the folder does not matter, so the same source gives the same files on every machine.
    """
    if not model.origin:
        return "an IDL"
    path = Path(model.origin)
    try:
        return path.resolve().relative_to(out.resolve()).as_posix()
    except (ValueError, OSError):
        return path.name


def plan(
    view: CrateView,
    *,
    shared: bool = False,
    author: Mapping[str, str] | None = None,
    handlers: ProgramHandlers | None = None,
) -> list[Planned]:
    """Return every file of the crate, before rustfmt and without headers.

    `shared`: the author has a module `shared` next to the handlers. `author`: the text of the author's files by path;
    generated functions that only they use are kept. `handlers`: those that are made from the bodies of a spec.
    """
    shared = shared and all(ix.module != "shared" for ix in view.instructions)
    return _Plan(view, shared, author or {}, handlers or ProgramHandlers()).files()


@dataclass(frozen=True, slots=True)
class NumberView:
    """A type of codec.rs for a number in an account's data."""

    name: Rust
    type: Rust
    size: Rust


_NUMBERS = tuple(
    NumberView(
        code(f"{kind}{bits}"), code(f"{kind.lower()}{bits}"), code(str(bits // 8))
    )
    for kind, sizes in (
        ("U", (16, 32, 64, 128)),
        ("I", (16, 32, 64, 128)),
        ("F", (32, 64)),
    )
    for bits in sizes
)


class _Plan:
    """Renders the files of one crate: first those of the program, then the library files that these use."""

    def __init__(
        self,
        view: CrateView,
        shared: bool,
        author: Mapping[str, str],
        bodies: ProgramHandlers,
    ) -> None:
        self.view = view
        self.shared = shared
        self.author = author
        self.bodies = bodies
        self.env = environment(*view.target.folders)
        self.library_imports = Imports(
            view.target.imports | view.target.library_imports
        )
        self.imports = Imports(
            view.target.imports
            | {str(t.name): "crate::types" for t in view.types}
            | {str(s.name): "crate::state" for s in view.states}
            | {str(view.error_type): "crate::error"}
        )

    def files(self) -> list[Planned]:
        """All files, in the order in which they are written."""
        entry = {
            f"src/{name}.rs": self.library_file(name)
            for name in ("entrypoint", "schema")
        }
        program = self.program_files()
        by_author = [
            ix
            for ix in self.view.instructions
            if ix.source_name not in self.bodies.handlers
        ]
        handlers = {_handler_path(ix): self.handler(ix) for ix in by_author}
        generated = {**entry, **program, **self.body_files()}
        library = self.library_files(self.usage(generated, handlers))
        generated |= library
        generated["src/processor/mod.rs"] = self.text(
            "processor/mod", shared=self.shared, are_bodies=not handlers
        )
        generated["src/lib.rs"] = self.text(
            "lib", modules=_modules(generated), are_bodies=not handlers
        )
        files = [Planned("Cargo.toml", self.manifest(library), owned=True)]
        files += [Planned(path, text.encode()) for path, text in generated.items()]
        files += [
            Planned(path, text.encode(), owned=True) for path, text in handlers.items()
        ]
        if self.shared:
            files.append(Planned(_SHARED, b"", owned=True))
        if self.view.pages.has_stream:
            files.append(Planned("src/schema.bin", self.view.pages.stream))
        return files

    def text(self, template: str, **more: object) -> str:
        """What the template of a Rust file makes, before its imports are filled in."""
        return self.env.get_template(f"src/{template}.rs.jinja").render(
            crate=self.view, **more
        )

    def program_files(self) -> dict[str, str]:
        """The files of the source's types, accounts and instructions."""
        view = self.view
        files = [
            self.program_file(name)
            for name in ("constants", "types", "events")
            if getattr(view, name)
        ]
        if view.states:
            files.append(self.program_file("state/mod"))
        for state in view.states:
            name = f"state/{_file(state.module)}"
            files.append(self.program_file("state/account", name, state=state))
        files.append(self.program_file("instruction/mod"))
        for ix in view.instructions:
            name = f"instruction/{_file(ix.module)}"
            files.append(self.program_file("instruction/instruction", name, ix=ix))
        return dict(files)

    def program_file(
        self, template: str, name: str = "", **more: object
    ) -> tuple[str, str]:
        name = name or template
        home = "crate::" + name.replace("/", "::")
        return f"src/{name}.rs", self.imports.fill(self.text(template, **more), home)

    def handler(self, ix: InstructionView) -> str:
        local = dict.fromkeys(("Accounts", "Args"), f"crate::instruction::{ix.module}")
        return self.imports.fill(self.text("processor/handler", ix=ix), local=local)

    @property
    def body_imports(self) -> dict[str, str]:
        return {
            "events": "crate",
            **{str(s.name): "crate::state" for s in self.view.states},
        }

    def body_files(self) -> dict[str, str]:
        """The handlers that are made from bodies, and the helpers that they call."""
        files: dict[str, str] = {}
        for ix in self.view.instructions:
            body = self.bodies.handlers.get(ix.source_name)
            if body is not None:
                local = dict.fromkeys(
                    ("Accounts", "Args"), f"crate::instruction::{ix.module}"
                )
                text = self.text(
                    "processor/body", ix=ix, body=body, style=self.bodies.style
                )
                files[_handler_path(ix)] = self.imports.fill(
                    text, local=self.body_imports | local
                )
        if self.bodies.helpers:
            files["src/helpers.rs"] = self.imports.fill(
                self.text("helpers", bodies=self.bodies),
                "crate::helpers",
                local={"events": "crate"},
            )
        for name, text in used_modules(self.bodies, self.view.target.name):
            files[f"src/{name}.rs"] = text
        return files

    def library_file(
        self, name: str, usage: Usage | None = None, **more: object
    ) -> str:
        """A file that has nothing of the source; with *usage* only the items that are used."""
        text = self.text(name, **more)
        if usage is not None:
            text = prune(text, usage)
        return self.library_imports.fill(text, f"crate::{name}")

    def usage(self, generated: Mapping[str, str], handlers: Mapping[str, str]) -> Usage:
        """What the crate uses of its library files: by generated files, by handlers and by the author."""
        searched = dict(generated)
        del searched["src/schema.rs"]
        stubs = [text for path, text in handlers.items() if path not in self.author]
        usage = Usage.of_generated([*searched.values(), _SCHEMA_USES, *stubs])
        usage.add(Usage.of_author("\n".join(self.author.values())))
        usage.calls.update(_FOR_HANDLERS)
        if {"token_account", "mint_account"} & usage.calls:
            usage.calls.update(_FOR_TOKEN_HANDLERS)
        return usage

    def library_files(self, usage: Usage) -> dict[str, str]:
        """checks.rs, codec.rs, error.rs, ids.rs and log.rs with the items in *usage*."""
        numbers = [n for n in _NUMBERS if n.name in usage.words]
        usage.words.add("numbers")  # the macro that declares them
        usage.calls.add("log")  # called by every error
        files = {
            "checks": self.library_file("checks", usage, token_calls=_TOKEN_CALLS),
            "codec": self.library_file("codec", usage, numbers=numbers),
            "log": self.library_file("log", usage),
        }
        checks = [check for check in self.view.checks if check.name in usage.words]
        files["error"] = self.library_file("error", checks=checks)
        ids = self.view.addresses.views(usage.words)
        if ids:
            files["ids"] = self.library_file("ids", ids=ids)
        return {f"src/{name}.rs": files[name] for name in sorted(files)}

    def manifest(self, library: Mapping[str, str]) -> bytes:
        """Cargo.toml with the crates that the library files use, and SPL Token's if handlers need it."""
        text = bare("".join(library.values()))
        made = self.env.get_template("Cargo.toml.jinja").render(
            crate=self.view,
            uses_system="pinocchio_system::" in text,
            uses_tokens="fn token_account" in text or "pinocchio_token::" in text,
            uses_associated="pinocchio_associated_token_account::" in text,
        )
        return made.encode()


#: The calls of token programs by their names in a spec, and the structs of pinocchio-token.
_TOKEN_CALLS = [(code(name), code(pascal(name))) for name in PROGRAM_CALLS]
#: The names that schema.rs uses: its pages are long, and are not searched.
_SCHEMA_USES = "return_data(page); Check::InstructionFallbackNotFound"


def _modules(paths: Iterable[str]) -> list[Rust]:
    """The modules of lib.rs: the first part of each path."""
    return list(map(code, sorted({_file_stem(path) for path in paths})))


def _file_stem(path: str) -> str:
    return path.split("/")[1].removesuffix(".rs")


def _handler_path(ix: InstructionView) -> str:
    return f"src/processor/{_file(ix.module)}.rs"


def _file(module: str) -> str:
    """The file name of a module: rustc looks for r#type in type.rs."""
    return module.removeprefix("r#")
