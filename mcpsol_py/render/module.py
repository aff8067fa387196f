"""The modules that add list_tools to a program that exists: one for each Rust library, with its pages and the lines to
add.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.render.anchor.files import module_plan
from mcpsol_py.render.anchor.pages import PagesView
from mcpsol_py.render.rust import Rust, code
from mcpsol_py.render.write import Planned

__all__ = ["module_files"]


@dataclass(frozen=True, slots=True)
class ModuleView:
    """Where a library has what the module uses, and how it sets return data."""

    root: Rust
    error: Rust
    result: Rust
    set_return_data: Rust
    by_syscall: bool


_VIEWS = {
    "pinocchio-module": ModuleView(
        root=code("pinocchio"),
        error=code("error"),
        result=code("ProgramResult"),
        set_return_data=code("set_return_data(found);"),
        by_syscall=True,
    ),
    "native-module": ModuleView(
        root=code("solana_program"),
        error=code("program_error"),
        result=code("entrypoint::ProgramResult"),
        set_return_data=code("solana_program::program::set_return_data(found);"),
        by_syscall=False,
    ),
}


def module_files(target: str, pages: PagesView, program: str) -> list[Planned]:
    """The files of *target*, one of MODULES, before rustfmt: the module, its pages, and a text for the author."""
    if target not in _VIEWS:
        return module_plan(pages, program)
    return module_plan(pages, program, templates="module", view=_VIEWS[target])
