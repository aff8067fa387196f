"""Names for failures on chain: the program that failed, its error's name and message, and the call stack.

A transaction's result has a number and the index of an instruction. The logs have the rest: the first program that
"failed" is the innermost one, and it decides what the number means. The name comes from the first of these that has
one: the failing program's own model, the tables of System and Token, the log line of Anchor or of a rendered program,
and Anchor's framework codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from solders.pubkey import Pubkey

from mcpsol_py.client.call_stack import CallEnd, CallStack, is_cut
from mcpsol_py.client.error_tables import (
    ANCHOR_DESCRIPTIONS,
    ANCHOR_ERRORS,
    BUILTIN_ERRORS,
    DESCRIPTIONS,
    NOT_ANCHOR,
)
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import ProgramFailed, abbr
from mcpsol_py.model.program import ErrorCode
from mcpsol_py.solana.addresses import PROGRAM_NAMES

__all__ = ["ANCHOR_ERRORS", "Errors", "anchor_error", "explain", "failing_stack"]

#: Program id -> its own errors by number (`Program.error`).
Errors: TypeAlias = Mapping[str, Callable[[int], ErrorCode | None]]

_ANCHOR = re.compile(
    r"AnchorError .*?Error Code: (\w+)\. Error Number: (\d{1,10})\. Error Message: (.*?)\.?$"
)
_ANCHOR_ACCOUNT = re.compile(r"AnchorError caused by account: (\w+)\.")
#: What rendered programs log of a check that refused (templates/pinocchio/src/error.rs.jinja).
_RENDERED = re.compile(r"Program log: (\w{1,64}) \((\d{1,10})\): (.+)")


class _Error(NamedTuple):
    """An error's name and its message, "" if it has none."""

    name: str
    message: str = ""


def anchor_error(code: int) -> tuple[str, str] | None:
    """Return the name and description of an error of Anchor's framework, None if it has no error *code*."""
    name = ANCHOR_ERRORS.get(code)
    return None if name is None else (name, ANCHOR_DESCRIPTIONS.get(code, ""))


def failing_stack(logs: Sequence[str]) -> tuple[str, ...]:
    """Return the program ids from the outermost to the one that failed; empty if the logs do not have them."""
    failed = _first_failure(logs)
    return () if failed is None else failed.stack


def _first_failure(logs: Sequence[str]) -> CallEnd | None:
    stack = CallStack()
    ends = map(stack.read, logs)
    return next(
        (end for end in ends if end is not None and end.failure is not None), None
    )


def explain(
    outcome: Outcome,
    *,
    programs: Sequence[Pubkey | str] = (),
    own: Errors | None = None,
    accounts: Sequence[Pubkey | str] = (),
) -> ProgramFailed | None:
    """Return the failure with its name, or None if the transaction succeeded.

    *programs*: the program of each top-level instruction, for results without logs. *own*: program id -> its errors
    by number (`Program.error`). *accounts*: the transaction's accounts, for errors that name one by its place. If the
    runtime cut the log before a program failed, nobody knows which program it was: its id is "unknown".
    """
    err = outcome.err
    if err is None:
        return None
    if isinstance(err, dict) and "InstructionError" in err:
        index, inner = err["InstructionError"]
        return _instruction_failure(outcome, index, inner, programs, own or {})
    return _transaction_failure(outcome, err, programs, accounts)


def _transaction_failure(
    outcome: Outcome,
    err: str | dict[str, Any],
    programs: Sequence[Pubkey | str],
    accounts: Sequence[Pubkey | str],
) -> ProgramFailed:
    stack = failing_stack(outcome.logs)
    places = (*programs[:1], "transaction")
    where = stack[-1] if stack else str(places[0])
    name = _variant(err)
    concerned = (
        "" if isinstance(err, str) else _concerned(err.get(name), programs, accounts)
    )
    parts = filter(None, (DESCRIPTIONS.get(name, ""), concerned))
    return ProgramFailed(where, name, "; ".join(parts), logs=outcome.logs, stack=stack)


def _concerned(
    detail: Any, programs: Sequence[Pubkey | str], accounts: Sequence[Pubkey | str]
) -> str:
    """Return the account or instruction that an error of the transaction names by its place."""
    if isinstance(detail, int):
        return f"instruction {detail + 1}{_named(programs, detail, ' calls ')}"
    place = detail.get("account_index") if isinstance(detail, dict) else None
    if not isinstance(place, int):
        return abbr(detail)
    return f"account {place + 1} of the transaction{_named(accounts, place, ', ')}"


def _named(known: Sequence[Pubkey | str], place: int, before: str) -> str:
    return f"{before}{known[place]}" if 0 <= place < len(known) else ""


def _instruction_failure(
    outcome: Outcome,
    index: int,
    inner: Any,
    programs: Sequence[Pubkey | str],
    own: Errors,
) -> ProgramFailed:
    stack = failing_stack(outcome.logs)
    if not stack and is_cut(outcome.logs):
        return _unknown_program(outcome, index, inner, programs)
    if not stack and index < len(programs):
        stack = (str(programs[index]),)
    where = stack[-1] if stack else "unknown"
    code = inner.get("Custom") if isinstance(inner, dict) else None
    if code is None:
        error = _runtime_error(_variant(inner), outcome.logs)
    else:
        error = _custom(where, code, outcome.logs, own)
    return ProgramFailed(
        where,
        *error,
        code=code,
        logs=outcome.logs,
        stack=stack,
        instruction_index=index,
    )


def _unknown_program(
    outcome: Outcome, index: int, inner: Any, programs: Sequence[Pubkey | str]
) -> ProgramFailed:
    """Return the failure of a program whose end the log does not have."""
    code = inner.get("Custom") if isinstance(inner, dict) else None
    why = (
        f"the runtime cut the log, so the program that failed is not known; it is that of instruction {index + 1}"
        f"{_named(programs, index, ', ')}, or one that it called"
    )
    name = _variant(inner)
    about = "" if code is not None else _runtime_error(name, ()).message
    message = "; ".join(filter(None, (about, why)))
    return ProgramFailed(
        "unknown", name, message, code=code, logs=outcome.logs, instruction_index=index
    )


def _variant(err: Any) -> str:
    """The name of an error in the RPC's JSON form: a string, or an object with one key."""
    name: str = err if isinstance(err, str) else next(iter(err), "unknown")
    return name


def _runtime_error(name: str, logs: Sequence[str]) -> _Error:
    """An error of the runtime, described by the table or else by the runtime's own words."""
    if name in DESCRIPTIONS:
        return _Error(name, DESCRIPTIONS[name])
    failed = _first_failure(logs)
    return _Error(name, (failed and failed.failure) or "")


def _custom(program: str, code: int, logs: Sequence[str], own: Errors) -> _Error:
    """The name and message of a custom error of *program*."""
    known = own[program](code) if program in own else None
    if known is not None:
        return _Error(known.name, known.message)
    if program in BUILTIN_ERRORS:
        name = BUILTIN_ERRORS[program].get(code, "Custom")
        return _Error(name, f"an error of the {PROGRAM_NAMES[program]} program")
    if program in NOT_ANCHOR:
        return _Error("Custom")
    return _logged(code, logs) or _framework(code)


def _logged(code: int, logs: Sequence[str]) -> _Error | None:
    """An error that Anchor or a rendered program logged."""
    for line in reversed(logs):
        found = _ANCHOR.search(line) or _RENDERED.fullmatch(line)
        if found is None or int(found[2]) != code:
            continue
        account = _ANCHOR_ACCOUNT.search(line)
        return _Error(
            found[1], found[3] + ("" if account is None else f" (account {account[1]})")
        )
    return None


def _framework(code: int) -> _Error:
    """An error of Anchor's framework, which any other program may use with another meaning."""
    if code not in ANCHOR_ERRORS:
        return _Error("Custom")
    caveat = "an error of the Anchor framework, if this is an Anchor program"
    described = ANCHOR_DESCRIPTIONS.get(code)
    return _Error(
        ANCHOR_ERRORS[code], f"{described} ({caveat})" if described else caveat
    )


def details(failure: ProgramFailed) -> dict[str, Any]:
    """Return the failure as JSON, with the names of the programs on the stack."""
    return {
        **failure.details(),
        "programs": [PROGRAM_NAMES.get(key, key) for key in failure.stack],
    }
