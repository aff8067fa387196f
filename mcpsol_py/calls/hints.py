"""Why a simulated call failed, in terms of what its caller can change: which account or balance, and what to put there.

The program's error says what it checks; these sentences say what stands there now. They are made only after a failure,
from one read of the call's accounts, and each is a fact that was looked up: none guesses at the program's code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import decimals_of, ui_amount
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.calls.summary import AccountLine, one_line
from mcpsol_py.client.simulation import unfunded
from mcpsol_py.errors import McpsolError
from mcpsol_py.names import aliases, clean_text, words
from mcpsol_py.solana.addresses import (
    PROGRAM_NAMES,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.tokens import read_token_account

__all__ = ["hints", "raise_failure"]

_MOST = 8
_CAUSED_BY = re.compile(r"caused by account: (\w+)\.")
_SIDES = re.compile(r"Program log: (Left|Right):(?: (.*))?")
_LAMPORTS = re.compile(r"insufficient lamports (\d+), need (\d+)")
#: words with which instructions that create an account begin or end
_CREATES = frozenset(("init", "initialize", "create", "open", "register", "new", "add"))
#: System's error when an account is created that is there already
_IN_USE = ("AccountAlreadyInUse", "AccountAlreadyInitialized", "AlreadyInUse", "AlreadyInitialized")
#: Anchor's errors of an account that is no such account, and the runtime's
_OF_ACCOUNTS = frozenset((2004, 2006, *range(3001, 3015)))
_OF_DATA = frozenset(
    (
        "InvalidAccountData",
        "AccountDataTooSmall",
        "IncorrectProgramId",
        "InvalidAccountOwner",
        "IllegalOwner",
    )
)
_TOKEN_PROGRAMS = (str(TOKEN_PROGRAM), str(TOKEN_2022_PROGRAM))


async def raise_failure(prepared: PreparedCall, simulated: SimulatedCall) -> None:
    """Raise the failure of a simulation, if it failed, with hints about what its caller can change."""
    if simulated.failure is not None:
        simulated.failure.hints = tuple(await hints(prepared, simulated))
        raise simulated.failure


async def hints(prepared: PreparedCall, simulated: SimulatedCall) -> list[str]:
    """Sentences about a failed call, the most telling first. Empty where nothing is known; raises nothing."""
    failure, transport = simulated.failure, prepared.served.transport
    if failure is None or transport is None:
        return []
    keys = list(dict.fromkeys(m.pubkey for m in prepared.instruction.accounts))
    keys += [prepared.payer] if prepared.payer is not None and prepared.payer not in keys else []
    try:
        states = dict(zip(map(str, keys), await transport.get_accounts(keys), strict=True))
    except McpsolError:
        return []
    logs = simulated.outcome.logs
    found = [
        *(_poor(prepared, states) if unfunded(simulated.outcome) else ()),
        *_named_by_anchor(prepared, logs),
        *_lamports(prepared, logs),
        *_there_already(prepared, failure.name, states),
        *(
            _wallets(prepared, states)
            if failure.code in _OF_ACCOUNTS or failure.name in _OF_DATA
            else ()
        ),
        *_not_what_it_says(prepared, states),
        *_absent(prepared, states, logs),
    ]
    if failure.program_id in _TOKEN_PROGRAMS or "fund" in failure.name.lower():
        found += _tokens(prepared, states)
    return [clean_text(text, 600) for text in dict.fromkeys(found)][:_MOST]


def _named_by_anchor(prepared: PreparedCall, logs: Sequence[str]) -> Iterator[str]:
    """Anchor's log names the account, and for some constraints the two values that differ."""
    for place, line in enumerate(logs):
        said = _CAUSED_BY.search(line)
        if said is None:
            continue
        rows = {_leaf(row.name): row for row in prepared.accounts}
        name = aliases(rows).get(said[1])
        if name is None:
            return
        row = rows[name]
        yield f"The account it is about is {_shown(row)}, {_origin(prepared, row)}."
        sides = dict(_sides(logs[place + 1 :]))
        if {"Left", "Right"} <= sides.keys():
            yield f"It compared {one_line(sides['Left'], 90)} with {one_line(sides['Right'], 90)}."
        if (
            row.given
            and (derived := _derived(prepared, row)) is not None
            and derived != row.address
        ):
            yield f"From its seeds {one_line(row.name)} would be {derived}: leave it out, and it is filled in."
        return


def _sides(logs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """ "Left: 5" on one line, or "Left:" and the value as the next line."""
    for place, line in enumerate(logs[:6]):
        side = _SIDES.fullmatch(line)
        if side is None:
            continue
        following = logs[place + 1] if place + 1 < len(logs) else ""
        yield side[1], side[2] or following.removeprefix("Program log: ")


def _derived(prepared: PreparedCall, row: AccountLine) -> str | None:
    others = {
        a.name: a.address
        for a in prepared.accounts
        if a.name != row.name and "(absent)" not in a.name
    }
    with suppress(McpsolError):
        return str(
            prepared.ix.address(
                row.name, prepared.args, {k: v for k, v in others.items() if "[" not in k}
            )
        )
    return None


def _poor(prepared: PreparedCall, states: Mapping[str, Account | None]) -> Iterator[str]:
    payer = states.get(str(prepared.payer))
    has = ui_amount(payer.lamports, 9) if payer is not None else "no"
    chain = prepared.served.cluster or "this chain"
    yield f"The fee payer {prepared.payer} has {has} SOL on {chain}: fund it, or name another that has some."


def _lamports(prepared: PreparedCall, logs: Sequence[str]) -> Iterator[str]:
    for line in logs:
        said = _LAMPORTS.search(line)
        if said is not None:
            has, needs = int(said[1]), int(said[2])
            short = f"{ui_amount(needs - has, 9)} SOL more"
            yield f"Whoever pays has {ui_amount(has, 9)} SOL where {ui_amount(needs, 9)} are needed: {short}."
            return


def _there_already(
    prepared: PreparedCall, name: str, states: Mapping[str, Account | None]
) -> Iterator[str]:
    if name not in _IN_USE:
        return
    for row in prepared.accounts:
        state = states.get(row.address)
        if (
            row.writable
            and state is not None
            and str(state.owner) != str(SYSTEM_PROGRAM)
            and not row.signer
        ):
            yield f"{_shown(row)} exists already; this call would create it."


def _wallets(prepared: PreparedCall, states: Mapping[str, Account | None]) -> Iterator[str]:
    """Wallets that stand where an account with data may be wanted."""
    for row in prepared.accounts:
        state = states.get(row.address)
        if (
            row.given
            and not row.signer
            and state is not None
            and state.owner == SYSTEM_PROGRAM
            and not state.data
        ):
            yield f"{_shown(row)} is a wallet: it belongs to the System program and holds no data."


def _not_what_it_says(
    prepared: PreparedCall, states: Mapping[str, Account | None]
) -> Iterator[str]:
    """An account of the program that names another account of the call, and another address than the one given."""
    program = prepared.served.program
    rows = {_leaf(row.name): row for row in prepared.accounts if "(absent)" not in row.name}
    known = aliases(rows)
    owner = program.behind(prepared.instruction.program_id)
    for row in prepared.accounts:
        state = states.get(row.address)
        if state is None or state.owner != owner:
            continue
        with suppress(McpsolError):
            _, value = program.decode_account(bytes(state.data))
            yield from _differing(row, value, known, rows)
    for row in prepared.accounts:
        state = states.get(row.address)
        token = read_token_account(state) if state is not None else None
        if token is None:
            continue
        for name in ("mint",):
            other = rows.get(known.get(name, ""))
            if (
                other is not None
                and other.address != str(token.mint)
                and len(_tokens_of(prepared, states)) == 1
            ):
                yield f"{_shown(row)} holds tokens of mint {token.mint}; the call gives {name} {other.address}."


def _differing(
    row: AccountLine, value: Any, known: Mapping[str, str], rows: Mapping[str, AccountLine]
) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    for field, there in value.items():
        other = rows.get(known.get(str(field), ""))
        if other is None or other is row or not isinstance(there, (Pubkey, str)):
            continue
        if _is_address(str(there)) and str(there) != other.address:
            yield (
                f"{_shown(row)} says {one_line(str(field))} = {there}; the call gives {one_line(other.name)} = "
                f"{other.address}."
            )


def _is_address(text: str) -> bool:
    try:
        return Pubkey.from_string(text) != SYSTEM_PROGRAM
    except ValueError:
        return False


def _absent(
    prepared: PreparedCall, states: Mapping[str, Account | None], logs: Sequence[str]
) -> Iterator[str]:
    """Accounts that are not there. What a call creates is not there either, so this is said last."""
    for row in prepared.accounts:
        if (
            "(absent)" in row.name
            or states.get(row.address) is not None
            or row.address not in states
        ):
            continue
        if row.address in PROGRAM_NAMES or row.address == str(prepared.payer):
            continue
        makers = [name for name in _makers(prepared, row) if name != prepared.ix.name]
        how = f"; {' or '.join(makers[:3])} may create it" if makers else ""
        yield f"{_shown(row)} does not exist on this chain, {_origin(prepared, row)}{how}."


def _makers(prepared: PreparedCall, row: AccountLine) -> Iterator[str]:
    """Instructions of the program that by their names create something, and write to an account of this name."""
    name = _leaf(row.name)
    for ix in prepared.served.program.model.instructions:
        parts = words(ix.name)
        if parts and (parts[0] in _CREATES or parts[-1] in _CREATES):
            plan = prepared.served.program.instruction(ix.name).plan
            if any(leaf.path[-1] == name and leaf.account.writable for leaf in plan.leaves):
                yield one_line(ix.name)


def _tokens_of(
    prepared: PreparedCall, states: Mapping[str, Account | None]
) -> list[tuple[AccountLine, Any]]:
    return [
        (row, token)
        for row in prepared.accounts
        if (state := states.get(row.address)) is not None
        and (token := read_token_account(state)) is not None
    ]


def _tokens(prepared: PreparedCall, states: Mapping[str, Account | None]) -> Iterator[str]:
    """What the token accounts of the call hold, and whose they are."""
    for row, token in _tokens_of(prepared, states):
        places = decimals_of(states.get(str(token.mint)))
        amount = f"{token.amount} base units" + (
            f" ({ui_amount(token.amount, places)})" if places is not None else ""
        )
        yield f"{_shown(row)} holds {amount} of mint {token.mint} and belongs to {token.owner}."


def _leaf(name: str) -> str:
    return name.rpartition(".")[2]


def _shown(row: AccountLine) -> str:
    return f"{one_line(row.name)} ({row.address})"


def _origin(prepared: PreparedCall, row: AccountLine) -> str:
    if row.given:
        return "as the call gave it"
    if prepared.payer is not None and row.address == str(prepared.payer):
        return "the wallet"
    return "as it was filled in (give another by name if it is wrong)"
