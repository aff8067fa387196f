"""The module `bytes` of a crate: how its handlers read the data of accounts and instructions."""

from __future__ import annotations

from mcpsol_py.render.environment import environment
from mcpsol_py.render.rust import Rust, code

__all__ = ["bytes_module"]

_PLAIN = {"fails": code(", ProgramError")}
_INFO = {
    "account": code("&AccountInfo<'info>"),
    "life": code("<'info>"),
    "reference": code("&'info "),
}
#: The words of each library in the template.
_WORDS: dict[str, dict[str, Rust]] = {
    "pinocchio": _PLAIN
    | {"account": code("&AccountView"), "life": code(""), "reference": code("&")},
    "native": _PLAIN | _INFO,
    "anchor": {"fails": code("")} | _INFO,
}


def bytes_module(library: str) -> str:
    """The text of the module, for the library of a target."""
    template = environment("pinocchio").get_template("src/bytes.rs.jinja")
    return template.render(library=library, **_WORDS[library])
