"""The files of an Anchor crate, and of the module that adds list_tools to an existing program."""

from __future__ import annotations

from typing import Any

from mcpsol_py.render.anchor.instruction import AnchorInstruction
from mcpsol_py.render.anchor.pages import PagesView
from mcpsol_py.render.anchor.view import AnchorView
from mcpsol_py.render.environment import environment
from mcpsol_py.render.handlers.build import ProgramHandlers
from mcpsol_py.render.handlers.modules import used_modules
from mcpsol_py.render.rust import ident
from mcpsol_py.render.write import Planned

__all__ = ["anchor_plan", "module_plan"]


def anchor_plan(
    view: AnchorView, *, shared: bool = False, handlers: ProgramHandlers | None = None
) -> list[Planned]:
    """Every file of a whole program, before rustfmt and without headers.

    `shared`: the author has a module `shared` next to the handlers. `handlers`: those that are made from the bodies
    of a spec.
    """
    made = handlers or ProgramHandlers()
    shared = shared and all(ix.name != "shared" for ix in view.instructions)
    modules = dict(used_modules(made, "anchor"))
    by_author = any(ix.source_name not in made.handlers for ix in view.instructions)
    root: dict[str, Any] = {
        "by_author": by_author,
        "has_helpers": bool(made.helpers),
        "reads_tokens": made.uses("crate::tokens::"),
        "modules": list(modules),
    }
    files = [_file(view, "Cargo.toml", owned=True, **root)]
    files += [_file(view, f"src/{name}.rs", **root) for name in _modules(view)]
    files.append(Planned("src/list_tools.bin", view.pages.blob))
    files.append(_file(view, "src/instructions/mod.rs"))
    files.append(
        _file(view, "src/processor/mod.rs", shared=shared, by_author=by_author)
    )
    if shared:
        files.append(Planned("src/processor/shared.rs", b"", owned=True))
    for ix in view.instructions:
        path = f"src/instructions/{ix.name}.rs"
        files.append(_file(view, path, "src/instructions/instruction.rs", ix=ix))
        files.append(_handler(view, ix, made))
    if made.helpers:
        files.append(_file(view, "src/helpers.rs", bodies=made))
    if root["reads_tokens"]:
        files.append(_file(view, "src/tokens.rs", style=made.style))
    files += [
        Planned(f"src/{name}.rs", text.encode()) for name, text in modules.items()
    ]
    return files


def _handler(view: AnchorView, ix: AnchorInstruction, made: ProgramHandlers) -> Planned:
    """The handler of an instruction: made from its body, or the author's."""
    path = f"src/processor/{ix.name}.rs"
    body = made.handlers.get(ix.source_name)
    if body is None:
        return _file(view, path, "src/processor/handler.rs", owned=True, ix=ix)
    return _file(
        view, path, "src/processor/body.rs", ix=ix, body=body, style=made.style
    )


def _modules(view: AnchorView) -> list[str]:
    """The modules of the crate's root that have a file of their own."""
    optional = {
        "types": view.types or view.takes_rest,
        "events": view.events,
        "state": view.states,
        "constants": view.constants,
    }
    return [
        "lib",
        "list_tools",
        "error",
        *(name for name, used in optional.items() if used),
    ]


def _file(
    view: AnchorView, path: str, template: str = "", *, owned: bool = False, **more: Any
) -> Planned:
    made = environment("anchor").get_template(f"{template or path}.jinja")
    text = made.render(crate=view, pages=view.pages, **more)
    return Planned(path, text.encode(), owned)


def module_plan(
    pages: PagesView, program: str, *, templates: str = "anchor", view: object = None
) -> list[Planned]:
    """The files that add list_tools to an existing program, before rustfmt: for Anchor, or what *templates* are for.

    They are the module, its pages, and a text with the lines that the author adds. *view* is `module` in templates.
    """
    env = environment(templates)
    module = env.get_template("src/list_tools.rs.jinja").render(
        pages=pages, module=view
    )
    readme = env.get_template("list_tools.md.jinja").render(
        program=ident(program or "your program")
    )
    return [
        Planned("src/list_tools.rs", module.encode()),
        Planned("src/list_tools.bin", pages.blob),
        Planned("src/list_tools.md", readme.encode()),
    ]
