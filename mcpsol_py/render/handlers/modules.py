"""The modules of a crate for its handlers: `associated` creates token accounts, `bytes` reads data, `hash` hashes,
`items` counts and goes over items, `opened` holds state, `own` emits by calls, `pda` finds addresses.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.render.environment import environment
from mcpsol_py.render.handlers.build import ProgramHandlers
from mcpsol_py.render.rust import Rust, code

__all__ = ["HANDLER_MODULES", "used_modules"]

HANDLER_MODULES = ("associated", "bytes", "hash", "items", "opened", "own", "pda")
_PLAIN = {"fails": code(", ProgramError")}
_INFO = {
    "account": code("&AccountInfo<'info>"),
    "life": code("<'info>"),
    "reference": code("&'info "),
}
#: The words of each library in the templates.
_WORDS: dict[str, dict[str, Rust]] = {
    "pinocchio": _PLAIN
    | {"account": code("&AccountView"), "life": code(""), "reference": code("&")},
    "native": _PLAIN | _INFO,
    "anchor": {"fails": code("")} | _INFO,
}


def used_modules(handlers: ProgramHandlers, library: str) -> Iterator[tuple[Rust, str]]:
    """The name and the text of each module that handlers use, for the library of a target."""
    for name in filter(lambda each: handlers.uses(f"crate::{each}::"), HANDLER_MODULES):
        template = environment("pinocchio").get_template(f"src/{name}.rs.jinja")

        def used(function: str, module: str = name) -> bool:
            return handlers.uses(f"crate::{module}::{function}(")

        yield (
            code(name),
            template.render(library=library, used=used, **_WORDS[library]),
        )
