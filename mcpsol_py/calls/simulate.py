"""Simulating a call, or a whole transaction, and measuring every balance that it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.calls.balances import Change, changes, decimals_of, readable
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.transactions import check_compiles
from mcpsol_py.client.errors import Errors, explain
from mcpsol_py.client.events import events_of
from mcpsol_py.client.simulation import (
    Payers,
    returned_in_logs,
    run_instructions,
    run_transaction,
    unsigned,
)
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.errors import (
    CodecError,
    NotUsable,
    ProgramFailed,
    TransportError,
)
from mcpsol_py.model.fast_init import quicken
from mcpsol_py.names import clean_json
from mcpsol_py.solana.tokens import read_token_account

__all__ = [
    "AccountStates",
    "SimulatedCall",
    "simulate",
    "simulate_instructions",
    "simulate_transaction",
]

AccountStates: TypeAlias = Mapping[Pubkey, Account | None]


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """The result of a simulation. `before` and `after` have every account that could be written.

    An exact simulation adds `aside`, the accounts that are only read, and `again`, the accounts of `before` read once
    more after it. `decimals` are those of the mints of its token accounts.
    """

    outcome: Outcome
    failure: ProgramFailed | None
    changes: tuple[Change, ...]
    before: AccountStates
    after: AccountStates
    returned: Any = None
    return_error: str = ""
    events: tuple[tuple[str, Any], ...] = ()
    aside: AccountStates = field(default_factory=dict)
    again: AccountStates = field(default_factory=dict)
    decimals: Mapping[str, int] = field(default_factory=dict)


quicken(SimulatedCall)


#: A placeholder for the payer, who is chosen later.
_SOME_PAYER = Pubkey(bytes([1] * 32))


async def simulate_instructions(
    transport: Transport,
    instructions: Sequence[Instruction],
    payers: Payers,
    *,
    accounts: Sequence[Pubkey] = (),
    tables: Sequence[AddressLookupTableAccount] = (),
) -> Outcome:
    """Simulate *instructions* with the first of *payers* that has lamports.

    Raises MissingAccount if none has, InvalidTransaction if no message can be made of them, TransportError.
    """
    check_compiles(_SOME_PAYER, instructions, tables)
    return await run_instructions(
        transport, instructions, payers, accounts=accounts, tables=tables
    )


@dataclass(frozen=True, slots=True)
class _Before:
    """The accounts of a call before it runs: those that may be written, the others, and the slot of the read."""

    written: AccountStates
    aside: AccountStates
    slot: int = 0


@telemetry.traced("simulate")
async def simulate(
    prepared: PreparedCall,
    transaction: VersionedTransaction | None = None,
    *,
    exact: bool = False,
) -> SimulatedCall:
    """Simulate a call: *transaction*, or one made here, with a funded payer if the call has none.

    With *exact*, the transaction keeps its own blockhash, so that the simulated bytes are the bytes to sign. The
    accounts are then read in an earlier and in a later slot, since nodes behind one URL may be at different slots.

    Raises TransportError, and MissingAccount if no payer has lamports. A program's failure is in the result.
    """
    transport = prepared.served.transport
    assert transport is not None
    metas = prepared.instruction.accounts
    writable = [meta.pubkey for meta in metas if meta.is_writable]
    others = [meta.pubkey for meta in metas]
    before = await _read_before(transport, [*writable, *prepared.payers], others, exact)
    outcome = await _run(prepared, transport, transaction, before, exact)
    failure = _failure(prepared, outcome)
    results = _results(prepared, outcome) if failure is None else {}
    return await _measured(transport, before, outcome, failure, exact, **results)


@telemetry.traced("simulate")
async def simulate_transaction(
    transport: Transport,
    transaction: VersionedTransaction,
    *,
    written: Iterable[Pubkey],
    others: Iterable[Pubkey],
    programs: Sequence[Pubkey],
    own: Errors,
    exact: bool,
) -> SimulatedCall:
    """Simulate *transaction*. *written* are the accounts that it may write, *others* may name them again.

    *programs* are those of its instructions, *own* has their errors. The result has no return value and no events.
    With *exact*, it keeps its own blockhash. Raises TransportError. A program's failure is in the result.
    """
    before = await _read_before(transport, written, others, exact)
    outcome = await _run_transaction(transport, transaction, before, exact)
    keys = transaction.message.account_keys
    failure = explain(outcome, programs=programs, own=own, accounts=keys)
    return await _measured(transport, before, outcome, failure, exact)


async def _read_before(
    transport: Transport,
    written: Iterable[Pubkey],
    others: Iterable[Pubkey],
    exact: bool,
) -> _Before:
    keys = list(dict.fromkeys(written))
    if not exact:
        return _Before(
            dict(zip(keys, await transport.get_accounts(keys), strict=True)), {}
        )
    every = list(dict.fromkeys([*keys, *others]))
    slot, found = await transport.accounts_at(every)
    states = list(zip(every, found, strict=True))
    return _Before(dict(states[: len(keys)]), dict(states[len(keys) :]), slot)


async def _measured(
    transport: Transport,
    before: _Before,
    outcome: Outcome,
    failure: ProgramFailed | None,
    exact: bool,
    **results: Any,
) -> SimulatedCall:
    """Return what a simulation changed, with *results*. Nothing is measured if it failed."""
    telemetry.mark(succeeded=outcome.err is None, compute_units=outcome.units or 0)
    if failure is not None:
        return SimulatedCall(outcome, failure, (), before.written, before.written)
    keys = list(before.written)
    after = _states_after(keys, outcome, transport)
    again: AccountStates = {}
    if exact:
        _, found = await transport.accounts_at(keys, since=outcome.slot)
        again = dict(zip(keys, found, strict=True))
    decimals = await _decimals(transport, before.written, after)
    return SimulatedCall(
        outcome,
        None,
        tuple(changes(before.written, after, decimals)),
        before.written,
        after,
        aside=before.aside,
        again=again,
        decimals=decimals,
        **results,
    )


async def _run(
    prepared: PreparedCall,
    transport: Transport,
    transaction: VersionedTransaction | None,
    before: _Before,
    exact: bool,
) -> Outcome:
    if transaction is None:
        if prepared.payer is None:
            return await simulate_instructions(
                transport,
                [prepared.instruction],
                Payers(),
                accounts=list(before.written),
            )
        transaction = unsigned(prepared.message(Hash.default()))
    return await _run_transaction(transport, transaction, before, exact)


async def _run_transaction(
    transport: Transport,
    transaction: VersionedTransaction,
    before: _Before,
    exact: bool,
) -> Outcome:
    keys = list(before.written)
    if not exact:
        return await run_transaction(transport, transaction, accounts=keys)
    return await transport.simulate(
        transaction, replace_blockhash=False, accounts=keys, since=before.slot
    )


def _states_after(
    keys: Sequence[Pubkey], outcome: Outcome, transport: Transport
) -> dict[Pubkey, Account | None]:
    """Return the accounts after the run.

    Raises TransportError if the node left some out: they must not count as unchanged.
    """
    found = outcome.accounts
    if len(found) != len(keys):
        why = f"its simulation returned {len(found)} of {len(keys)} accounts, so nothing can be measured"
        raise TransportError(transport.endpoint, why)
    return dict(zip(keys, map(_none_if_closed, found), strict=True))


def _none_if_closed(account: Account | None) -> Account | None:
    """Return None for an account without lamports: it is gone after the transaction, though it still has data."""
    return None if account is None or account.lamports == 0 else account


async def _decimals(
    transport: Transport, before: AccountStates, after: AccountStates
) -> dict[str, int]:
    """Read the decimals of the mint of every token account in the call."""
    tokens = readable([*before.items(), *after.items()], read_token_account)
    mints = list(dict.fromkeys(token.mint for _, token in tokens))
    if not mints:
        return {}
    names = map(str, mints)
    return dict(
        readable(
            zip(names, await transport.get_accounts(mints), strict=True), decimals_of
        )
    )


def _failure(prepared: PreparedCall, outcome: Outcome) -> ProgramFailed | None:
    """Return why a call failed, with what it returned, or None."""
    if outcome.err is None:
        return None
    programs = [instruction.program_id for instruction in prepared.instructions]
    failure = explain(outcome, programs=programs, own=prepared.errors)
    if failure is not None:
        failure.returned = _returned_by_failure(prepared, outcome)
    return failure


def _results(prepared: PreparedCall, outcome: Outcome) -> dict[str, Any]:
    """Return the fields of SimulatedCall with what a call returned and its events."""
    returned, return_error = _returned(prepared, outcome)
    events = _events(prepared, outcome)
    return {"returned": returned, "return_error": return_error, "events": events}


def _events(prepared: PreparedCall, outcome: Outcome) -> tuple[tuple[str, Any], ...]:
    program, key = prepared.served.program, prepared.instruction.program_id
    found = events_of(program, key, outcome.logs, outcome.inner, json=True)
    return tuple([(name, clean_json(fields)) for name, fields in found])


def _return_data(prepared: PreparedCall, outcome: Outcome) -> bytes | None:
    """Return the bytes that the call's own program returned, None if it returned nothing.

    The runtime forgets them when the next instruction begins. If a guard follows, they are in the logs only.
    """
    program_id, data = outcome.return_data or (None, b"")
    own = prepared.served.program.behind(prepared.instruction.program_id)
    if program_id == own:
        return data
    logged = returned_in_logs(outcome.logs) if prepared.guards else ()
    found = [one.data for one in logged if one.program == str(own)]
    return found[-1] if found else None


def _returned_by_failure(prepared: PreparedCall, outcome: Outcome) -> Any:
    """Return what a failed call returned, or None: an account's state where one begins so, else as `_returned` does."""
    data = _return_data(prepared, outcome)
    if data is None:
        return None
    with suppress(CodecError, NotUsable):
        name, value = prepared.served.program.decode_account_json(data)
        return {name: clean_json(value)}
    return _returned(prepared, outcome)[0]


def _returned(prepared: PreparedCall, outcome: Outcome) -> tuple[Any, str]:
    """Return the return value in JSON form, or its bytes and why they cannot be read."""
    data, program = _return_data(prepared, outcome), prepared.served.program
    if data is None:
        return None, ""
    node = prepared.ix.model.returns
    if node is None:
        return "0x" + data.hex(), "the source does not say its type"
    try:
        codec = program.codecs.codec(node)
        return clean_json(codec.to_json(codec.decode_return(data))), ""
    except (CodecError, NotUsable) as error:
        return "0x" + data.hex(), str(error)
