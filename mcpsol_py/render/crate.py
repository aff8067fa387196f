"""The file plan of a crate: which template makes which file, and who owns it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from mcpsol_py.errors import RenderError
from mcpsol_py.model.check import answers_schema
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.render.anchor import anchor_plan, anchor_view, module_plan, pages_view
from mcpsol_py.render.environment import environment
from mcpsol_py.render.facade import facade_plan, facade_view
from mcpsol_py.render.imports import Imports
from mcpsol_py.render.targets import target_of
from mcpsol_py.render.view import CrateView, crate_view
from mcpsol_py.render.write import Planned, RenderResult, format_rust, write_plan
from mcpsol_py.schema.pages import Descriptions, Form

__all__ = ["plan", "render"]

#: the author's own module beside the handlers, known when the file is there
_SHARED = "src/processor/shared.rs"


def render(
    model: ProgramModel,
    *,
    target: str = "pinocchio",
    facade: str | None = None,
    out: str | Path,
    descriptions: Descriptions = "full",
    form: Form = "compact",
    lossless: bool = True,
    source: str = "",
) -> RenderResult:
    """Writes the crate of *model* to the folder *out*, which may hold an earlier one: handlers stay, generated files
    are made anew.

    `target` is one of TARGETS; "anchor-module" writes only what adds list_tools to an Anchor program that exists.
    `facade`: the address of the program that *model* describes; then a small program is written that serves list_tools
    for it and passes every other call on (target "pinocchio" only). `descriptions`, `form`, `lossless` say what the
    schema pages hold. `source` is named in each generated file (the model's origin if not given). Raises RenderError,
    EditedByHand, SchemaError; nothing is written then.
    """
    out = Path(out)
    source = source or _source(model, out)
    model = replace(
        model, instructions=tuple(ix for ix in model.instructions if not answers_schema(ix))
    )
    if facade is not None:
        if target != "pinocchio":
            raise RenderError(f"a facade is written for pinocchio; --target {target} has none.")
        files, formatted = format_rust(
            facade_plan(
                facade_view(model, facade, form=form, descriptions=descriptions, lossless=lossless)
            )
        )
        return write_plan(files, out, source, handlers="src/processor", formatted=formatted)
    if target == "anchor-module":
        pages = pages_view(model, form=form, descriptions=descriptions, lossless=lossless)
        files, formatted = format_rust(module_plan(pages, model.name), root="src/list_tools.rs")
        return write_plan(files, out, source, formatted=formatted)
    shared = (out / _SHARED).is_file()
    if target == "anchor":
        program = anchor_view(model, form=form, descriptions=descriptions, lossless=lossless)
        files, formatted = format_rust(anchor_plan(program, shared=shared))
        return write_plan(files, out, source, handlers="src/processor", formatted=formatted)
    found = target_of(target)
    view = crate_view(model, found, form=form, descriptions=descriptions, lossless=lossless)
    files, formatted = format_rust(plan(view, shared=shared))
    return write_plan(files, out, source, handlers="src/processor", formatted=formatted)


def _source(model: ProgramModel, out: Path) -> str:
    """The source's name as it stands in generated files: from the crate's folder if it is in it, else only its last
    part, so that the same source gives the same files on every machine."""
    if not model.origin:
        return "an IDL"
    path = Path(model.origin)
    try:
        return path.resolve().relative_to(out.resolve()).as_posix()
    except (ValueError, OSError):
        return path.name


def plan(view: CrateView, *, shared: bool = False) -> list[Planned]:
    """Every file of the crate, before rustfmt and without headers. `shared`: the author has a module `shared` beside
    the handlers, for what several of them need."""
    shared = shared and all(ix.module != "shared" for ix in view.instructions)
    env = environment(*view.target.folders)
    imports = Imports(
        view.target.imports
        | {str(t.name): "crate::types" for t in view.types}
        | {str(s.name): "crate::state" for s in view.states}
        | {str(view.error_type): "crate::error"}
    )

    def made(template: str, path: str, owned: bool = False, **more: Any) -> Planned:
        text = env.get_template(template + ".jinja").render(crate=view, **more)
        local = {}
        home = "crate::" + path.removeprefix("src/").removesuffix(".rs").replace("/", "::")
        if owned and "ix" in more:
            local = dict.fromkeys(("Accounts", "Args"), f"crate::instruction::{more['ix'].module}")
        return Planned(path, imports.fill(text, home, **local).encode(), owned)

    files = [made("Cargo.toml", "Cargo.toml", owned=True)]
    names = ["lib", "entrypoint", "schema", "error", "checks", "codec", "log"]
    if view.constants:
        names.append("constants")
    if view.types:
        names.append("types")
    if view.events:
        names.append("events")
    files += [made(f"src/{name}.rs", f"src/{name}.rs") for name in names]
    if view.has_stream:
        files.append(Planned("src/schema.bin", view.stream))
    if view.states:
        files.append(made("src/state/mod.rs", "src/state/mod.rs"))
    for state in view.states:
        files.append(
            made("src/state/account.rs", f"src/state/{_file(state.module)}.rs", state=state)
        )
    files.append(made("src/instruction/mod.rs", "src/instruction/mod.rs"))
    files.append(made("src/processor/mod.rs", "src/processor/mod.rs", shared=shared))
    if shared:
        files.append(Planned(_SHARED, b"", owned=True))
    for ix in view.instructions:
        files.append(
            made("src/instruction/instruction.rs", f"src/instruction/{_file(ix.module)}.rs", ix=ix)
        )
        files.append(
            made(
                "src/processor/handler.rs",
                f"src/processor/{_file(ix.module)}.rs",
                owned=True,
                ix=ix,
            )
        )
    return files


def _file(module: str) -> str:
    """The file of a module: rustc looks for r#type in type.rs."""
    return module.removeprefix("r#")
