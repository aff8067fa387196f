"""Checks of a program. They find everything at once, each with its place in the document and a stable rule name.

| rule | level | what |
|---|---|---|
| duplicate-name | error | two instructions, types, accounts of one instruction or arguments with one name |
| duplicate-field | warning | two fields with one name (values call the second "name_2") |
| duplicate-code | warning | two errors with one code |
| dangling-type | error | a type that is not defined |
| unsupported-type | error | a type that the model cannot represent, or a layout that only the program knows |
| endless-type | error | a type whose values always contain another one |
| too-many-variants | error | variants whose tags do not fit, or share one |
| generic-arguments | error | a generic type with the wrong number of arguments |
| shadowed-discriminator | error | equal discriminators, or one that starts another |
| reserved-discriminator | error | the eight bytes of list_tools, or bytes that start with them |
| empty-discriminator | error | an instruction without one among others; info if it is the only one |
| untold-accounts | info | account types that cannot be distinguished by their data |
| colliding-names | warning | names that are equal in snake_case, and so in Rust and in tool names |
| shared-name | info | an argument and an account with one name |
| seed | error | a seed longer than 32 bytes, too many seeds |
| seeds-run-together | warning | texts of any length that follow one another in an address's seeds |
| underivable-seed | warning | an address that a client cannot derive |
| reserved-word | info | a name that Rust reserves, or that is not an identifier |
| no-address | info | the program's address is missing |
| own-fields | info | an address that is derived from the account's own data |
| unusable | warning | an instruction that cannot be served, and why |
| source | any | a finding of the reader |
"""

from __future__ import annotations

from mcpsol_py.errors import abbr
from mcpsol_py.items import names_of
from mcpsol_py.model.check_context import CheckContext
from mcpsol_py.model.check_discriminators import check_discriminators, check_shadowing
from mcpsol_py.model.check_seeds import check_seeds
from mcpsol_py.model.check_types import check_definitions, check_link, check_type
from mcpsol_py.model.findings import Finding, Level
from mcpsol_py.model.program import (
    AccountGroup,
    AccountItem,
    AccountType,
    Instruction,
    ProgramModel,
)
from mcpsol_py.model.types import Link
from mcpsol_py.model.usable import account_leaves, answers_schema, only_itself, unusable

__all__ = ["Finding", "answers_schema", "check", "only_itself", "unusable"]

_LEVELS: dict[str, Level] = {"error": "error", "warning": "warning", "info": "info"}


def check(model: ProgramModel) -> list[Finding]:
    """Return the findings about *model* in the order of the document, at most 2,000."""
    context = CheckContext(model)
    _take_over_findings(context)
    _check_address(context)
    _check_instructions(context)
    check_definitions(context)
    _check_accounts(context)
    _check_events(context)
    _check_errors(context)
    _check_constants(context)
    return context.findings.items


def _take_over_findings(context: CheckContext) -> None:
    """Add the findings of the reader."""
    for path, level, message in context.model.findings:
        context.findings.add(_LEVELS.get(level, "warning"), path, message, "source")


def _check_address(context: CheckContext) -> None:
    if context.model.address is None:
        message = "the program's address is missing; pass it when one is needed"
        context.findings.info(f"{context.paths.root}address", message, "no-address")


# --- instructions ----------------------------------------------------------------------------------------------------


def _check_instructions(context: CheckContext) -> None:
    model = context.model
    path = f"{context.paths.root}instructions"
    context.unique(model.instructions, lambda ix: ix.name, path, "instruction")
    reasons = unusable(model)
    for i, ix in enumerate(model.instructions):
        here = f"{path}[{i}]"
        _check_instruction(context, ix, here)
        if ix.name in reasons:
            message = f"instruction {ix.name!r} cannot be served: {reasons[ix.name]}"
            context.findings.warning(here, message, "unusable")
    check_discriminators(context)


def _check_instruction(context: CheckContext, ix: Instruction, path: str) -> None:
    context.word(ix.name, f"{path}.name")
    _check_arguments(context, ix, f"{path}.{context.paths.args}")
    if ix.returns is not None:
        check_type(context, ix.returns, f"{path}.returns")
    _check_account_names(context, ix.accounts, f"{path}.accounts")
    leaves = dict(account_leaves(ix.accounts))
    _check_shared_names(
        context, ix, [account_path[-1] for account_path in leaves], path
    )
    check_seeds(context, ix, leaves, path)


def _check_arguments(context: CheckContext, ix: Instruction, path: str) -> None:
    context.unique(ix.args, lambda arg: arg.name, path, "argument")
    for i, arg in enumerate(ix.args):
        context.word(arg.name, f"{path}[{i}].name")
        check_type(context, arg.type, f"{path}[{i}].type")


def _check_account_names(
    context: CheckContext, items: tuple[AccountItem, ...], path: str
) -> None:
    context.unique(items, lambda item: item.name, path, "account")
    for i, item in enumerate(items):
        context.word(item.name, f"{path}[{i}].name")
        if isinstance(item, AccountGroup):
            _check_account_names(context, item.accounts, f"{path}[{i}].accounts")


def _check_shared_names(
    context: CheckContext, ix: Instruction, accounts: list[str], path: str
) -> None:
    args = set(names_of(ix.args))
    for name in filter(args.__contains__, dict.fromkeys(accounts)):
        message = f"an argument and an account are both called {abbr(name, 60)}"
        context.findings.info(path, message, "shared-name")


# --- accounts, events, errors, constants -----------------------------------------------------------------------------


def _check_accounts(context: CheckContext) -> None:
    accounts = context.model.accounts
    path = f"{context.paths.root}accounts"
    context.unique(accounts, lambda account: account.name, path, "account type")
    for i, account in enumerate(accounts):
        if isinstance(account.type, Link):
            check_link(context, account.type, f"{path}[{i}]")
        else:
            check_type(
                context, account.type, f"{path}[{i}].{context.paths.account_data}"
            )
    _check_recognizable(context, path)
    check_shadowing(context, accounts, path, "account type", "warning")


def _check_recognizable(context: CheckContext, path: str) -> None:
    accounts = context.model.accounts
    alike = [account.name for account in accounts if not _is_recognizable(account)]
    if not alike or len(accounts) == 1:
        return
    shown = ", ".join(alike[:5])
    if len(alike) > 5:
        shown += f" and {len(alike) - 5} more"
    message = f"{shown} cannot be recognized by their data; name the type when decoding"
    context.findings.info(path, message, "untold-accounts")


def _is_recognizable(account: AccountType) -> bool:
    if account.discriminator.value or account.also:
        return True
    return (account.discriminator.size, account.size) != (None, None)


def _check_events(context: CheckContext) -> None:
    events = context.model.events
    path = f"{context.paths.root}events"
    context.unique(events, lambda event: event.name, path, "event", "warning")
    for i, event in enumerate(events):
        here = f"{path}[{i}]"
        if isinstance(event.type, Link):
            check_link(context, event.type, here)
        else:
            check_type(
                context, event.type, f"{here}.data" if context.paths.codama else here
            )
    check_shadowing(context, events, path, "event", "warning")


def _check_errors(context: CheckContext) -> None:
    errors = context.model.errors
    first: dict[int, int] = {}
    for i, error in enumerate(errors):
        at = first.setdefault(error.code, i)
        if at == i:
            continue
        other = abbr(errors[at].name, 60)
        message = f"{abbr(error.name, 60)} has the code {error.code}, which {other} at [{at}] has too"
        context.findings.warning(
            f"{context.paths.root}errors[{i}]", message, "duplicate-code"
        )


def _check_constants(context: CheckContext) -> None:
    path = f"{context.paths.root}constants"
    constants = context.model.constants
    context.unique(
        constants, lambda constant: constant.name, path, "constant", "warning"
    )
