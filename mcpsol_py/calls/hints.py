"""Hints about a failed simulation: which account or balance the caller can change, and to what.

The program's error names its check. A hint says what the accounts of the call hold now. Hints are
looked up in one read of those accounts, after a failure only, and none is a guess about the
program's code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import decimals_of, readable, ui_amount
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.reading import utc_text
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.calls.summary import AccountLine, one_line
from mcpsol_py.client.simulation import unfunded
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.errors import McpsolError, ProgramFailed
from mcpsol_py.names import ByName, clean_text, words
from mcpsol_py.program import Program
from mcpsol_py.solana.addresses import (
    CLOCK_SYSVAR,
    PROGRAM_NAMES,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.clock import clock_of
from mcpsol_py.solana.tokens import TokenAccount, read_token_account

__all__ = ["hints", "raise_failure"]

_MAX_HINTS = 8
_MAX_LENGTH = 600
_CAUSED_BY = re.compile(r"caused by account: (\w+)\.")
#: "Left: 5" on one line, or "Left:" with the value on the next line.
_SIDES = re.compile(
    r"^Program log: (Left|Right): ?(?:\nProgram log: )?(.*)$", re.MULTILINE
)
_LAMPORTS = re.compile(r"insufficient lamports ([0-9]{1,20}), need ([0-9]{1,20})")
#: First or last words in the names of instructions that create an account.
_CREATES = frozenset(("init", "initialize", "create", "open", "register", "new", "add"))
#: The errors of the System program and Anchor if the account to create exists.
_IN_USE = (
    "AccountDiscriminatorAlreadySet",
    "AccountAlreadyInUse",
    "AccountAlreadyInitialized",
    "AlreadyInUse",
    "AlreadyInitialized",
)
#: Errors of Anchor and the runtime that may mean that an account has the wrong owner or data.
_ACCOUNT_ERRORS: frozenset[int | str | None] = frozenset(
    (
        *(2004, 2006, *range(3001, 3015)),
        "InvalidAccountData",
        "AccountDataTooSmall",
        "IncorrectProgramId",
        "InvalidAccountOwner",
        "IllegalOwner",
    )
)
#: The runtime's errors if no program is at the address that is called.
_NO_PROGRAM = ("InvalidProgramForExecution", "ProgramAccountNotFound")
#: Words of errors about time.
_TIME_WORDS = frozenset(
    (
        *(
            "time",
            "timestamp",
            "timelock",
            "clock",
            "slot",
            "slots",
            "period",
            "days",
            "hours",
        ),
        *(
            "minutes",
            "seconds",
            "expire",
            "expired",
            "expires",
            "expiry",
            "expiration",
            "deadline",
        ),
        *(
            "due",
            "overdue",
            "elapsed",
            "early",
            "late",
            "ended",
            "started",
            "yet",
            "retained",
        ),
        *("cooldown", "locked", "unlocked", "vesting"),
    )
)
#: Words in the names of errors about an account that is missing or wrong.
_ACCOUNT_WORDS = frozenset(
    (
        "account",
        "initialized",
        "uninitialized",
        "missing",
        "exist",
        "exists",
        "found",
        "empty",
    )
)
_TOKEN_PROGRAMS = (str(TOKEN_PROGRAM), str(TOKEN_2022_PROGRAM))


async def raise_failure(prepared: PreparedCall, simulated: SimulatedCall) -> None:
    """Raise the failure of a simulation, with hints. Do nothing if the simulation succeeded."""
    if simulated.failure is not None:
        simulated.failure.hints = tuple(await hints(prepared, simulated))
        raise simulated.failure


async def hints(prepared: PreparedCall, simulated: SimulatedCall) -> list[str]:
    """Return sentences about a failed call, the most telling first.

    The list is empty if the call succeeded, or if the chain cannot be read.
    """
    failure, transport = simulated.failure, prepared.served.transport
    if failure is None or transport is None:
        return []
    try:
        states = await _read_accounts(prepared, transport)
    except McpsolError:
        return []
    rows = [row for row in prepared.accounts if "(absent)" not in row.name]
    call = _FailedCall(
        prepared, failure, simulated.outcome, states, rows, _by_name(rows)
    )
    if absent := list(_no_program(call)):
        return absent
    found = chain.from_iterable(check(call) for check in _CHECKS)
    return [clean_text(text, _MAX_LENGTH) for text in dict.fromkeys(found)][:_MAX_HINTS]


async def _read_accounts(
    prepared: PreparedCall, transport: Transport
) -> dict[str, Account | None]:
    """Read the accounts of a call, its payer and the clock."""
    used = [meta.pubkey for meta in prepared.instruction.accounts]
    keys = list(dict.fromkeys([*used, *prepared.payers, CLOCK_SYSVAR]))
    return dict(zip(map(str, keys), await transport.get_accounts(keys), strict=True))


@dataclass(frozen=True, slots=True)
class _FailedCall:
    """A failed call. `states` are its accounts now, by address.

    `rows` are the accounts that the call gives, so without absent ones, and `by_name` the same by name.
    """

    prepared: PreparedCall
    failure: ProgramFailed
    outcome: Outcome
    states: Mapping[str, Account | None]
    rows: Sequence[AccountLine]
    by_name: ByName[AccountLine]

    @property
    def program(self) -> Program:
        return self.prepared.served.program

    @property
    def log(self) -> str:
        """The lines of the log as one text."""
        return "\n".join(self.outcome.logs)

    @property
    def existing(self) -> Iterator[tuple[AccountLine, Account]]:
        """The accounts of the call that exist."""
        for row in self.rows:
            state = self.states.get(row.address)
            if state is not None:
                yield row, state

    @property
    def tokens(self) -> list[tuple[AccountLine, TokenAccount]]:
        """The accounts of the call that are token accounts."""
        return list(readable(self.existing, read_token_account))

    def origin(self, row: AccountLine) -> str:
        """Say how the call got the address of an account."""
        if row.given:
            return "given by the call"
        if row.address == str(self.prepared.payer):
            return "the wallet"
        return "filled in automatically (to use another account, pass it by name)"


def _by_name(rows: Sequence[AccountLine]) -> ByName[AccountLine]:
    return ByName({_leaf(row.name): row for row in rows})


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _shown(row: AccountLine) -> str:
    return f"{one_line(row.name)} ({row.address})"


# --- the program -----------------------------------------------------------------------------


def _no_program(call: _FailedCall) -> Iterator[str]:
    """Say that the program of the call is not on the chain, and nothing of accounts that it would make."""
    called = str(call.prepared.instruction.program_id)
    if call.failure.name in _NO_PROGRAM and call.failure.program_id == called:
        chain = call.prepared.served.cluster or "this chain"
        name = one_line(call.program.name)
        yield (
            f"{name} is not deployed on {chain} at {called}. The owner of this server can name another chain or "
            "address, or on a local chain the program's .so."
        )


# --- money -----------------------------------------------------------------------------------


def _unfunded_payer(call: _FailedCall) -> Iterator[str]:
    if not unfunded(call.outcome):
        return
    payer = call.prepared.payer
    state = call.states.get(str(payer))
    has = "no" if state is None else ui_amount(state.lamports, 9)
    chain = call.prepared.served.cluster or "this chain"
    yield f"The fee payer {payer} has {has} SOL on {chain}: fund it, or name another payer."


def _missing_lamports(call: _FailedCall) -> Iterator[str]:
    match = _LAMPORTS.search(call.log)
    if match is not None:
        has, needs = int(match[1]), int(match[2])
        yield (
            f"The paying account has {ui_amount(has, 9)} SOL and needs {ui_amount(needs, 9)}: "
            f"{ui_amount(needs - has, 9)} SOL more."
        )


def _token_balances(call: _FailedCall) -> Iterator[str]:
    """Say what the token accounts hold, and who owns them, after an error about tokens."""
    about_tokens = call.failure.program_id in _TOKEN_PROGRAMS
    if not about_tokens and "fund" not in call.failure.name.lower():
        return
    for row, token in call.tokens:
        amount = f"{token.amount} base units"
        decimals = decimals_of(call.states.get(str(token.mint)))
        if decimals is not None:
            amount += f" ({ui_amount(token.amount, decimals)})"
        yield f"{_shown(row)} holds {amount} of mint {token.mint} and belongs to {token.owner}."


# --- time ------------------------------------------------------------------------------------


def _chain_time(call: _FailedCall) -> Iterator[str]:
    """Say what time it is on the chain, after an error about time."""
    clock = clock_of(call.states.get(str(CLOCK_SYSVAR)))
    if clock is None or not _is_about_time(call.failure):
        return
    utc = utc_text(clock.unix_time)
    yield f"The chain's time is {clock.unix_time} ({utc}), in slot {clock.slot}."


def _is_about_time(failure: ProgramFailed) -> bool:
    said = [*words(failure.name), *words(failure.error_message)]
    return not _TIME_WORDS.isdisjoint(map(str.lower, said))


# --- Anchor's logs ---------------------------------------------------------------------------


def _named_by_anchor(call: _FailedCall) -> Iterator[str]:
    """Repeat the account that Anchor's log names and, for some constraints, the compared values."""
    match = _CAUSED_BY.search(call.log)
    if match is None:
        return
    row = call.by_name.get(match[1])
    if row is not None:
        yield f"The error is about {_shown(row)}, {call.origin(row)}."
        yield from _compared(call.log[match.end() :])
        yield from _wrong_derivation(call, row)


def _compared(log: str) -> Iterator[str]:
    sides = dict(_SIDES.findall(log))
    if sides.keys() == {"Left", "Right"}:
        left, right = sides["Left"], sides["Right"]
        yield f"The program compared {one_line(left, 90)} with {one_line(right, 90)}."


def _wrong_derivation(call: _FailedCall, row: AccountLine) -> Iterator[str]:
    if not row.given:
        return
    prepared = call.prepared
    others = {
        other.name: other.address
        for other in call.rows
        if other.name != row.name and "[" not in other.name
    }
    with suppress(McpsolError):
        derived = prepared.ix.address(row.name, prepared.args, others)
        if str(derived) != row.address:
            name = one_line(row.name)
            yield f"The seeds of {name} give {derived}: leave {name} out to have it filled in."


# --- accounts --------------------------------------------------------------------------------


def _already_exists(call: _FailedCall) -> Iterator[str]:
    if call.failure.name not in _IN_USE:
        return
    for row, state in call.existing:
        if row.writable and not row.signer and state.owner != SYSTEM_PROGRAM:
            yield f"{_shown(row)} already exists, and this call would create it."


def _wallets(call: _FailedCall) -> Iterator[str]:
    """Find wallets that were given as accounts with data."""
    if _ACCOUNT_ERRORS.isdisjoint((call.failure.code, call.failure.name)):
        return
    for row, state in call.existing:
        is_wallet = state.owner == SYSTEM_PROGRAM and not state.data
        if is_wallet and row.given and not row.signer:
            yield f"{_shown(row)} is a wallet: it belongs to the System program and has no data."


def _contradictions(call: _FailedCall) -> Iterator[str]:
    """Find accounts of the program that store another address than the call gives."""
    owner = call.program.behind(call.prepared.instruction.program_id)
    for row, state in call.existing:
        if state.owner == owner:
            with suppress(McpsolError):
                _, value = call.program.decode_account(bytes(state.data))
                yield from _differing_fields(call, row, value)


def _differing_fields(
    call: _FailedCall, row: AccountLine, value: object
) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    for field, stored in value.items():
        other = call.by_name.get(str(field))
        if other in (None, row) or str(stored) == other.address:
            continue
        if _is_address(stored):
            yield (
                f"{_shown(row)} stores {one_line(str(field))} = {stored}; "
                f"the call gives {one_line(other.name)} = {other.address}."
            )


def _is_address(value: object) -> bool:
    """Whether *value* is an address that is set: the System program's, all zeros, is not."""
    if not isinstance(value, (Pubkey, str)):
        return False
    try:
        return Pubkey.from_string(str(value)) != SYSTEM_PROGRAM
    except ValueError:
        return False


def _wrong_mint(call: _FailedCall) -> Iterator[str]:
    mint, tokens = call.by_name.get("mint"), call.tokens
    if mint is None or len(tokens) != 1:
        return
    row, token = tokens[0]
    if mint.address != str(token.mint):
        yield f"{_shown(row)} holds tokens of mint {token.mint}; the call gives mint {mint.address}."


def _missing(call: _FailedCall) -> Iterator[str]:
    """Find accounts that do not exist. The call may be about to create some: they are not to blame."""
    missing = {address for address, state in call.states.items() if state is None}
    missing -= {*PROGRAM_NAMES, str(call.prepared.payer), str(CLOCK_SYSVAR)}
    if call.failure.code is not None and not _is_about_accounts(call.failure):
        missing -= _created(call)
    always_created = _always_created(call)
    for row in call.rows:
        if row.address in missing and row.name not in always_created:
            how = _creation(call, row)
            yield f"{_shown(row)}, {call.origin(row)}, does not exist on this chain{how}."


def _is_about_accounts(failure: ProgramFailed) -> bool:
    """Return whether an error may mean that an account is missing or wrong."""
    known = not _ACCOUNT_ERRORS.isdisjoint((failure.code, failure.name))
    return known or not _ACCOUNT_WORDS.isdisjoint(words(failure.name))


def _always_created(call: _FailedCall) -> set[str]:
    """Return the names of the accounts that the call always creates."""
    leaves = call.prepared.ix.plan.leaves
    return {leaf.name for leaf in leaves if leaf.account.rules.is_always_created}


def _created(call: _FailedCall) -> set[str]:
    """Return the addresses that the call may create: those it writes and derives, with System's help."""
    derived = {row.address for row in call.rows if row.writable and not row.given}
    return (
        derived if str(SYSTEM_PROGRAM) in {row.address for row in call.rows} else set()
    )


def _creation(call: _FailedCall, row: AccountLine) -> str:
    names = " or ".join(_creators(call, row)[:3])
    return names and f"; {names} may create it"


def _creators(call: _FailedCall, row: AccountLine) -> list[str]:
    """Return the other instructions that create something, by name, and write to such an account."""
    name, own = _leaf(row.name), call.prepared.ix.name
    return [
        one_line(ix.name)
        for ix in call.program.model.instructions
        if ix.name != own and _creates(ix.name) and _writes(call.program, ix.name, name)
    ]


def _creates(instruction: str) -> bool:
    parts = words(instruction)
    return not _CREATES.isdisjoint((*parts[:1], *parts[-1:]))


def _writes(program: Program, instruction: str, account: str) -> bool:
    leaves = program.instruction(instruction).plan.leaves
    return any(leaf.path[-1] == account and leaf.account.writable for leaf in leaves)


#: The most telling first. Accounts that do not exist come late: the call may create them.
_CHECKS: tuple[Callable[[_FailedCall], Iterator[str]], ...] = (
    _unfunded_payer,
    _chain_time,
    _named_by_anchor,
    _missing_lamports,
    _already_exists,
    _wallets,
    _contradictions,
    _wrong_mint,
    _missing,
    _token_balances,
)
