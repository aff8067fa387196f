"""What rendering a program leaves unchecked, refuses or renames, as findings for `idl2mcp lint`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from mcpsol_py.errors import McpsolError, RenderError
from mcpsol_py.model.findings import Finding, Level
from mcpsol_py.model.origins import path_of
from mcpsol_py.model.program import AccountType, Instruction, ProgramModel
from mcpsol_py.model.types import Link, Struct
from mcpsol_py.model.usable import account_leaves
from mcpsol_py.render.anchor.view import AnchorView, anchor_view
from mcpsol_py.render.view.crate import CrateView, crate_view

__all__ = ["render_findings"]

_PINOCCHIO, _ANCHOR = "pinocchio and native", "anchor"


def render_findings(model: ProgramModel) -> list[Finding]:
    """Return what a rendered program would not check, what cannot be rendered, and Rust names that differ.

    Names are looked at in specs only: the names of an IDL are not chosen by those who render it.
    """
    if not model.instructions:
        return []
    found = [*_of(model, _PINOCCHIO, crate_view, _crate_names)]
    found += _of(model, _ANCHOR, anchor_view, _anchor_names)
    return _merged(found)


class _Said(NamedTuple):
    """A finding before the targets that it is about are added to its message."""

    target: str
    finding: Finding


def _of(
    model: ProgramModel,
    target: str,
    view: Callable[[ProgramModel], CrateView] | Callable[[ProgramModel], AnchorView],
    names: Callable[[ProgramModel, CrateView], Iterator[_Name]]
    | Callable[[ProgramModel, AnchorView], Iterator[_Name]],
) -> Iterator[_Said]:
    try:
        made = view(model)
    except McpsolError as error:
        yield _Said(target, _refused(model, error, target))
        return
    for text in made.unchecked:
        instruction, _, what = text.partition(": ")
        message = f"NOT CHECKED by the rendered program, so the handler must: {what}"
        yield _Said(
            target,
            Finding("warning", path_of(model, instruction), message, "not-checked"),
        )
    if model.dialect == "spec":
        for name in names(model, made):  # type: ignore[arg-type]  # the names of that view
            if name.rust.removeprefix("r#") != name.source:
                message = f"{name.source} is called {name.rust} in Rust"
                yield _Said(
                    target, Finding("info", name.path, message, "renamed-in-rust")
                )


def _refused(model: ProgramModel, error: McpsolError, target: str) -> Finding:
    """A spec is written to be rendered, but perhaps not for Anchor; an IDL is often only read."""
    is_fault = model.dialect == "spec" and target == _PINOCCHIO
    level: Level = "error" if is_fault else "info"
    instruction, path = error.place if isinstance(error, RenderError) else ("", ())
    return Finding(
        level,
        path_of(model, instruction, path),
        f"cannot be rendered: {error}",
        "render",
    )


def _merged(found: list[_Said]) -> list[Finding]:
    """Name the targets of each finding; what all have in common is said once."""
    targets: dict[Finding, list[str]] = {}
    for target, finding in found:
        targets.setdefault(finding, []).append(target)
    return [
        finding if len(names) > 1 else _for(finding, names[0])
        for finding, names in targets.items()
    ]


def _for(finding: Finding, target: str) -> Finding:
    message = f"{finding.message} (target {target})"
    return Finding(finding.level, finding.path, message, finding.rule)


# --- names ------------------------------------------------------------------------------------------------------------


class _Name(NamedTuple):
    """A name of the source, its place, and what Rust calls it."""

    path: str
    source: str
    rust: str


class _RustNames(NamedTuple):
    """What Rust calls an instruction, its accounts and its arguments."""

    instruction: str
    accounts: list[str]
    args: list[str]


def _crate_names(model: ProgramModel, view: CrateView) -> Iterator[_Name]:
    yield from _instruction_names(
        model,
        {
            ix.source_name: _RustNames(
                ix.module,
                [slot.name for slot in ix.accounts.slots],
                [arg.name for arg in ix.args],
            )
            for ix in view.instructions
        },
    )
    for i, account in enumerate(model.accounts):
        state = view.context.states.get(account.name)
        if state is not None:
            yield _Name(f"accounts[{i}]", account.name, state.name)
            yield from _field_names(
                model, account, {n: f.name for n, f in state.fields.items()}
            )
    for i, (error, shown) in enumerate(zip(model.errors, view.errors, strict=False)):
        yield _Name(f"errors[{i}]", error.name, shown.name)


def _anchor_names(model: ProgramModel, view: AnchorView) -> Iterator[_Name]:
    yield from _instruction_names(
        model,
        {
            ix.source_name: _RustNames(
                ix.name,
                [field.name for field in ix.accounts.fields],
                [arg.name for arg in ix.args],
            )
            for ix in view.instructions
        },
    )
    for i, account in enumerate(model.accounts):
        state = view.context.states.get(account.name)
        if state is not None:
            yield _Name(f"accounts[{i}]", account.name, state.view.name)


def _instruction_names(
    model: ProgramModel, rust: Mapping[str, _RustNames]
) -> Iterator[_Name]:
    for i, ix in enumerate(model.instructions):
        path, made = f"instructions[{i}]", rust.get(ix.name)
        if made is not None:
            yield _Name(path, ix.name, made.instruction)
            yield from _account_names(ix, path, made.accounts)
            yield from _argument_names(ix, path, made.args)


def _account_names(ix: Instruction, path: str, rust: list[str]) -> Iterator[_Name]:
    for (names, (_, step)), name in zip(
        account_leaves(ix.accounts), rust, strict=False
    ):
        yield _Name(f"{path}.{step}", "_".join(names), name)


def _argument_names(ix: Instruction, path: str, rust: list[str]) -> Iterator[_Name]:
    """Arguments that are passed on as bytes have no Rust names."""
    for i, (arg, name) in enumerate(zip(ix.args, rust, strict=False)):
        yield _Name(f"{path}.args[{i}]", arg.name, name)


def _field_names(
    model: ProgramModel, account: AccountType, rust: dict[str, str]
) -> Iterator[_Name]:
    for i, definition in enumerate(model.types):
        if account.type == Link(definition.name) and isinstance(
            definition.type, Struct
        ):
            for j, field in enumerate(definition.type.fields):
                yield _Name(
                    f"types[{i}].fields[{j}]",
                    field.name,
                    rust.get(field.name, field.name),
                )
