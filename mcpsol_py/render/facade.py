"""A facade's crate: a program that serves list_tools for another one, and passes every other call on to it.

Callers use the model of model/facade.py: the other program is the first account, and the accounts of the instruction
follow. The crate needs only the pages of the instructions, because it passes on every call without decoding it.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcpsol_py.errors import RenderError
from mcpsol_py.model.facade import facade_model
from mcpsol_py.model.program import AccountGroup, AccountItem, ProgramModel
from mcpsol_py.render.environment import environment
from mcpsol_py.render.imports import Imports
from mcpsol_py.render.prune import Usage, prune
from mcpsol_py.render.rust import (
    Rust,
    byte_array,
    code,
    comment,
    crate_name,
    crate_version,
    doc,
)
from mcpsol_py.render.targets import PINOCCHIO
from mcpsol_py.render.view import ErrorView, PagesView, check_views, pages_view
from mcpsol_py.render.write import Planned
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.solana import ids
from mcpsol_py.solana.base58 import address_bytes

__all__ = ["FacadeView", "facade_plan", "facade_view"]

#: Programs that the runtime lets no program call (check_authorized_program).
_CALLED_BY_NONE = {
    ids.NATIVE_LOADER: "the native loader",
    ids.BPF_LOADER_1: "the first loader",
    ids.BPF_LOADER_2: "the second loader",
    ids.ED25519_PROGRAM: "the ed25519 precompile",
    ids.SECP256K1_PROGRAM: "the secp256k1 precompile",
    ids.SECP256R1_PROGRAM: "the secp256r1 precompile",
}
#: What only the facade's files import.
_IMPORTS = {
    "TARGET": "crate",
    "forward": "crate::forward",
    "size_of": "core::mem",
    "invoke_unchecked": "pinocchio::cpi",
    "CpiAccount": "pinocchio::cpi",
    "HEAP_START_ADDRESS": "pinocchio::entrypoint",
    "MAX_HEAP_LENGTH": "pinocchio::entrypoint",
    "process_entrypoint": "pinocchio::entrypoint",
    "InstructionAccount": "pinocchio::instruction",
    "InstructionView": "pinocchio::instruction",
    "MAX_TX_ACCOUNTS": "pinocchio",
}
#: The errors of the facade itself.
_OWN_CHECKS = (
    "InstructionFallbackNotFound",
    "AccountNotEnoughKeys",
    "InvalidProgramId",
)


@dataclass(frozen=True, slots=True)
class Dispatch:
    """The part of a dispatcher that schema.rs uses: the facade only reads list_tools' own eight bytes."""

    is_eight: bool = True


@dataclass(frozen=True, slots=True)
class FacadeView:
    """The whole crate. Fields that CrateView also has mean the same, since both use error.rs and schema.rs."""

    name: Rust
    version: Rust
    title: tuple[Rust, ...]
    target_id: Rust
    target_text: tuple[Rust, ...]
    #: an instruction has optional accounts; for an absent one, callers pass the program's own id
    has_absent: bool
    pages: PagesView
    checks: tuple[ErrorView, ...]
    errors: tuple[ErrorView, ...] = ()
    dispatch: Dispatch = Dispatch()


def facade_view(
    model: ProgramModel,
    program_id: str,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> FacadeView:
    """The view of a facade for the program at *program_id*, which *model* describes.

    Raises RenderError if *program_id* is not an address or cannot be called, and if *model* has no instruction or is
    itself a facade; SchemaError.
    """
    if not model.instructions:
        raise RenderError(
            f"{model.name or 'this program'} has no instruction, so a facade has nothing to serve."
        )
    try:
        served = facade_model(model, program_id)
    except ValueError as error:
        raise RenderError(f"--facade {program_id[:60]!r}: {error}.") from error
    if program_id in _CALLED_BY_NONE:
        raise RenderError(
            f"--facade {program_id}: no program may call {_CALLED_BY_NONE[program_id]}."
        )
    pages = page_set(served, form=form, descriptions=descriptions, lossless=lossless)
    docs = [
        f"A facade of {model.name}: its tools, for a program that cannot serve them itself."
    ]
    return FacadeView(
        name=code(f"{crate_name(model.name)}-facade"),
        version=crate_version(model.version),
        title=doc([*docs, *(("", *model.docs) if model.docs else ())], inner=True),
        target_id=byte_array(address_bytes(program_id)),
        target_text=comment([program_id]),
        has_absent=any(
            ix.optional_accounts == "program_id" and _has_optional(ix.accounts)
            for ix in served.instructions
        ),
        pages=pages_view(pages),
        checks=tuple(check for check in check_views() if check.name in _OWN_CHECKS),
    )


def _has_optional(items: tuple[AccountItem, ...]) -> bool:
    return any(
        _has_optional(i.accounts) if isinstance(i, AccountGroup) else i.optional
        for i in items
    )


def facade_plan(view: FacadeView) -> list[Planned]:
    """Every file of the crate, before rustfmt and without headers."""
    env = environment("facade", "pinocchio")
    imports = Imports(PINOCCHIO.imports | PINOCCHIO.library_imports | _IMPORTS)
    files = [
        Planned(
            "Cargo.toml",
            env.get_template("Cargo.toml.jinja").render(crate=view).encode(),
            owned=True,
        )
    ]
    for name in ("lib", "entrypoint", "forward", "schema", "error", "log"):
        text = env.get_template(f"src/{name}.rs.jinja").render(
            crate=view, checks=view.checks
        )
        if name == "log":
            text = prune(text, Usage({"log"}, {"log"}, set(), set()))
        files.append(
            Planned(f"src/{name}.rs", imports.fill(text, f"crate::{name}").encode())
        )
    if view.pages.has_stream:
        files.append(Planned("src/schema.bin", view.pages.stream))
    return files
