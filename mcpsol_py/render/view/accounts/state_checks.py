"""Checks of accounts with state: owner, type, and the fields that must equal other accounts.

Fields that seeds are made of, and stored bumps, are copied to variables on the way.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpsol_py.model.program import AccountSeed, Pda, Seed
from mcpsol_py.render.account_lookup import NamedAccount, Path
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.render.view.state import StateView

__all__ = ["add_state_checks", "state_lines"]


def add_state_checks(scope: Scope) -> None:
    """Adds the checks of each account that has state before the instruction."""
    wanted = _wanted_fields(scope)
    for account in scope.accounts:
        if (
            account.constraints.state is not None
            and not account.constraints.is_always_created
        ):
            _check_state(scope, account, wanted.get(account.path, []))


def state_lines(scope: Scope, a: NamedAccount) -> list[str]:
    """The checks that an account holds state of its type; none if it has no type."""
    if a.constraints.state is None:
        return []
    load = f"{scope.state(a).name}::load({scope.target.loaded})?;"
    block = ["{", f"let data = {scope.target.borrow(a.name)};", load, "}"]
    return [f"checks::state({a.name}, program_id)?;", *block]


def _check_state(scope: Scope, a: NamedAccount, wanted: list[str]) -> None:
    state = scope.state(a)
    fields = _field_checks(scope, a, state)
    captured = _captured(scope, a, state, wanted)
    load = f"{state.name}::load({scope.target.loaded})?;"
    block = [
        f"let data = {scope.target.borrow(a.name)};",
        f"let state = {load}" if fields or captured else load,
        *fields,
    ]
    lines = [
        f"// {a.name}: its state{', and what its fields must equal' if fields else ''}",
        f"checks::state({a.name}, program_id)?;",
        *_block(block, captured),
    ]
    scope.check_existing(a, *lines)


def _block(lines: list[str], captured: dict[str, str]) -> list[str]:
    """The lines in braces, with the values of *captured* (expressions by variable) as its result."""
    if not captured:
        return ["{", *lines, "}"]
    return [
        f"let {_tuple(list(captured))} = {{",
        *lines,
        _tuple(list(captured.values())),
        "};",
    ]


def _tuple(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def _field_checks(scope: Scope, a: NamedAccount, state: StateView) -> list[str]:
    """Compares fields of the state with the accounts that they must equal."""
    checks: list[str] = []
    for name, target in a.constraints.has_one:
        other = scope.lookup.need(target, a)
        fault = scope.fault(a, f"has_one:{name}", "ConstraintHasOne")
        field = f"&state.{state.fields[name].name}"
        checks.append(
            f"checks::equal({field}, {scope.given_address(other)}, {fault})?;"
        )
    return checks


def _captured(
    scope: Scope, a: NamedAccount, state: StateView, wanted: list[str]
) -> dict[str, str]:
    """Variables for the fields in *wanted*, with the expressions that copy them."""
    captured: dict[str, str] = {}
    for name in wanted:
        local = scope.names.take(f"{a.stem}_{name}")
        scope.captured[a.path, name] = local
        captured[local] = state.fields[name].copy
    may_be_absent = a.model.optional or a.constraints.init is not None
    if captured and may_be_absent:
        raise scope.refusal(
            a, "seeds and bumps of an account that may be absent cannot be checked"
        )
    return captured


def _wanted_fields(scope: Scope) -> dict[Path, list[str]]:
    """By the account's path: its stored bump, and the fields of its state that seeds are made of."""
    wanted: dict[Path, list[str]] = {}
    for a in scope.accounts:
        if a.model.pda is None:
            continue
        for path, name in _fields_of_pda(scope, a, a.model.pda):
            names = wanted.setdefault(path, [])
            if name not in names:
                names.append(name)
    return wanted


def _fields_of_pda(
    scope: Scope, a: NamedAccount, pda: Pda
) -> Iterator[tuple[Path, str]]:
    if pda.bump is not None and a.constraints.init is None:
        yield a.path, pda.bump
    for seed in pda.seeds:
        owner = _owner_of_field(scope, seed)
        if (
            owner is not None
            and owner.constraints.state
            and owner.constraints.init is None
        ):
            assert isinstance(seed, AccountSeed)
            yield owner.path, seed.field[0]


def _owner_of_field(scope: Scope, seed: Seed) -> NamedAccount | None:
    """The account whose field is the seed, if it is a field."""
    if not isinstance(seed, AccountSeed) or not seed.field:
        return None
    return scope.lookup.by_path.get(seed.account)
