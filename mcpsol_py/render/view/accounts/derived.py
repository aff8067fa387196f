"""Checks of derived addresses, and the seeds that the handler needs to sign for them."""

from __future__ import annotations

from mcpsol_py.model.program import AccountValue, ConstValue, Pda, ProgramIdValue
from mcpsol_py.render.account_lookup import CannotCheck, NamedAccount
from mcpsol_py.render.faults import seeds_check
from mcpsol_py.render.rust import code, doc
from mcpsol_py.render.view.accounts.scope import Scope
from mcpsol_py.render.view.accounts.seeds import SeedForm, seed_form
from mcpsol_py.render.view.accounts.views import Kept, SeedsView
from mcpsol_py.solana import ids

__all__ = ["add_derived_addresses"]


def add_derived_addresses(scope: Scope) -> None:
    """Adds the check of each derived address. Raises RenderError if a spec's address cannot be checked."""
    for account in scope.accounts:
        pda = account.model.pda
        if pda is None:
            continue
        try:
            _derive(scope, account, pda)
        except CannotCheck as why:
            if account.model.constraints is not None:
                raise scope.refusal(account, str(why)) from why
            scope.not_checked(f"the address of {account.name}, because {why}")


def _derive(scope: Scope, a: NamedAccount, pda: Pda) -> None:
    seeds = [seed_form(scope, a, i, seed) for i, seed in enumerate(pda.seeds)]
    program = _program(scope, a, pda)
    scope.view.is_heavy = True
    for seed in seeds:
        if seed.kept is not None:
            scope.line(f"let {seed.kept.name} = {seed.value};")
    bump = _checked_bump(scope, a, pda, seeds, program)
    if bump is None:
        return
    scope.bumps[a.path] = bump
    scope.seeds[a.path] = [seed.check for seed in seeds]
    if _may_sign(scope, a, bump):
        _keep_seeds(scope, a, seeds, bump)


def _checked_bump(
    scope: Scope, a: NamedAccount, pda: Pda, seeds: list[SeedForm], program: str
) -> str | None:
    """Adds the check of the address. Returns the variable with its bump, or None if nobody signs for the address."""
    stored = _stored_bump(scope, a, pda)
    given = f"{a.name}, &[{', '.join(seed.check for seed in seeds)}]"
    fault = scope.fault(a, "seeds", seeds_check(a.constraints))
    if program == "program_id" and stored is not None:
        scope.line(f"checks::derived({given}, {stored}, program_id, {fault})?;")
        return stored
    found = f"checks::found({given}, {program}, {fault})?;"
    # an IDL does not say whether the program signs
    if program != "program_id" or a.model.optional or a.model.constraints is None:
        scope.check(a, found)
        return None
    bump = scope.names.take(f"{a.stem}_bump")
    if a.constraints.init is None and not _may_sign(scope, a, bump):
        scope.line(found)
        return None
    scope.line(f"let {bump} = {found}")
    return bump


def _stored_bump(scope: Scope, a: NamedAccount, pda: Pda) -> str | None:
    """The variable with the bump that the account's state stores, or that an argument gives."""
    if pda.bump is not None:
        return scope.captured.get((a.path, pda.bump))
    arg = _bump_argument(scope, a)
    if arg is None:
        return None
    scope.view.uses_args = True
    local = scope.names.take(f"{a.stem}_bump")
    scope.line(f"let {local} = args.{arg};")
    return local


def _bump_argument(scope: Scope, a: NamedAccount) -> str | None:
    """The argument that gives the bump of the account's address, if it is decoded."""
    names = scope.arg_names or {}
    return names.get(scope.lookup.bump_argument(a))


def _program(scope: Scope, a: NamedAccount, pda: Pda) -> str:
    """The address of the program that the address is derived for. Raises CannotCheck."""
    match pda.program:
        case None | ProgramIdValue():
            return "program_id"
        case ConstValue(str(text), _):
            return scope.address_of(text, a, "seeds_program")
        case AccountValue(account=path, field=()):
            owner = scope.lookup.required(path)
            if owner is not None:
                return scope.address(owner)
    raise CannotCheck("the source does not say which program owns it")


def _keep_seeds(
    scope: Scope, a: NamedAccount, seeds: list[SeedForm], bump: str
) -> None:
    """Keeps the seeds and the bump for the handler, with a method that returns them."""
    kept = [Kept(code(bump), code("u8"), doc([f"The bump of {a.name}'s address."]))]
    kept += [seed.kept for seed in seeds if seed.kept is not None]
    scope.view.kept += [value for value in kept if value not in scope.view.kept]
    items = [*(seed.later for seed in seeds), f"core::slice::from_ref(&self.{bump})"]
    scope.view.seeds.append(
        SeedsView(
            name=code(f"{a.stem}_seeds"),
            account=a.name,
            count=code(str(len(items))),
            items=tuple(code(scope.target.seed_of(item)) for item in items),
            bump=code(bump),
        )
    )


def _may_sign(scope: Scope, a: NamedAccount, bump: str) -> bool:
    """May the handler need the seeds of the account, to sign for it or to store its bump?

    A handler that calls no other program cannot sign. The system program does not count for an account with state,
    because this program owns it, once validation has stored the bump. What the author's code names is always kept.
    """
    if scope.context.author.names(bump, f"{a.stem}_seeds"):
        return True
    if a.constraints.init is not None and a.model.stored_bump is None:
        return True
    if scope.ix.remaining or any(map(_is_any_program, scope.accounts)):
        return True
    callable_ids = _known_programs(scope)
    if a.constraints.state is not None:
        callable_ids -= {ids.SYSTEM_PROGRAM}
    return bool(callable_ids)


def _is_any_program(a: NamedAccount) -> bool:
    return a.constraints.executable and a.model.address is None


def _known_programs(scope: Scope) -> set[str]:
    """The known addresses of accounts, which may be programs."""
    known: set[str] = set()
    for a in scope.accounts:
        if a.model.address is not None:
            known |= {a.model.address, *a.constraints.one_of}
    return known
