"""One call of one instruction: built, simulated, measured. What the MCP tools and `idl2mcp call` share.

`prepare` fills the accounts in and encodes the data; `simulate` runs it without effect and measures every balance
that it changes; `PreparedCall.message` makes the bytes that are signed, which are the bytes that were simulated.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.accounts.inputs import address_of
from mcpsol_py.calls.balances import Change, changes, decimals_of
from mcpsol_py.calls.summary import AccountLine, lines, one_line
from mcpsol_py.calls.transactions import check_size
from mcpsol_py.client.errors import explain
from mcpsol_py.client.events import events_of
from mcpsol_py.client.simulation import Payers, run_instructions, run_transaction, unsigned
from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.errors import (
    CodecError,
    EncodeError,
    MissingAccount,
    NotUsable,
    ProgramFailed,
    TransportError,
    UnknownName,
    abbr,
)
from mcpsol_py.names import clean_json, clean_text
from mcpsol_py.program import Program, ProgramInstruction
from mcpsol_py.solana.tokens import read_token_account

__all__ = [
    "PreparedCall",
    "ServedProgram",
    "SimulatedCall",
    "describe",
    "prepare",
    "simulate",
    "text_of",
]


@dataclass(slots=True)
class ServedProgram:
    """A program that can be called. `transport` None: there is no chain, so calls are built and not simulated.

    `how` says where its schema came from; `cluster` names the chain ("local", "devnet", …; "" where none). `label`: its
    name among the programs of a bridge (made there). `slot`: of the deployment whose schema this is, where known.
    `refused`: why its tools are not served now; "" where they are. `locked`: a lock file says what was accepted.
    `note`: what people should know of it.

    `again` reads it anew: when one of its `files` is written, and (`on_chain`: its schema comes from there) when it is
    deployed anew.
    """

    program: Program
    program_id: Pubkey | None
    transport: Transport | None = None
    how: str = ""
    cluster: str = ""
    label: str = ""
    slot: int | None = None
    refused: str = ""
    locked: bool = False
    note: str = ""
    again: Callable[[], Awaitable[ServedProgram]] | None = field(default=None, compare=False)
    files: tuple[Path, ...] = ()
    on_chain: bool = False


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """An instruction with all its accounts. `payer` None: nobody signs, and no wallet was named."""

    served: ServedProgram
    ix: ProgramInstruction
    args: Mapping[str, Any]
    instruction: Instruction
    accounts: tuple[AccountLine, ...]
    payer: Pubkey | None

    @property
    def signers(self) -> list[str]:
        """Who must sign: the fee payer first."""
        keys = [str(self.payer)] if self.payer is not None else []
        return list(
            dict.fromkeys(
                [*keys, *(str(m.pubkey) for m in self.instruction.accounts if m.is_signer)]
            )
        )

    def message(self, blockhash: Hash) -> MessageV0:
        """The message that is signed. Raises MissingAccount without a payer, TransactionTooLarge over a packet."""
        if self.payer is None:
            raise MissingAccount(
                self.ix.name, "fee payer", "no account of it signs, and no wallet is set"
            )
        message = MessageV0.try_compile(self.payer, [self.instruction], [], blockhash)
        check_size(message)
        return message


@dataclass(frozen=True, slots=True)
class SimulatedCall:
    """What a simulation showed. `before` and `after` hold every account that could be written.

    Of an exact one also: `aside`, the accounts that are only read, and `again`, those of `before` once more, as they
    are after it.
    """

    outcome: Outcome
    failure: ProgramFailed | None
    changes: tuple[Change, ...]
    before: Mapping[Pubkey, Account | None]
    after: Mapping[Pubkey, Account | None]
    returned: Any = None
    return_error: str = ""
    events: tuple[tuple[str, Any], ...] = ()
    aside: Mapping[Pubkey, Account | None] = field(default_factory=dict)
    again: Mapping[Pubkey, Account | None] = field(default_factory=dict)


@telemetry.traced("resolve accounts")
async def prepare(
    served: ServedProgram,
    ix: ProgramInstruction,
    args: Mapping[str, Any],
    accounts: Mapping[str, Any],
    *,
    remaining: Sequence[Any] = (),
    wallet: Pubkey | None = None,
    payer: Pubkey | None = None,
) -> PreparedCall:
    """The instruction of JSON *args* and *accounts*, what can be filled in filled in (with the chain's help where
    there is one).

    *remaining*: addresses, or objects with `address`, `signer` and `writable`.
    Raises EncodeError, UnknownName, NotUsable, MissingAccount, PdaError, TransportError.
    """
    telemetry.mark(program=served.program.name, instruction=ix.name)
    # arguments first: what is wrong with them is said before the chain is asked for anything
    data = None if ix.model.arg_values else ix.encode_json(dict(args))
    program_id = served.program_id if served.program_id is not None else ix.program_id()
    resolution = ix.plan.resolve(
        args,
        accounts,
        program_id=program_id,
        wallet=wallet,
        payer=payer,
        remaining=[_meta(ix, place, item) for place, item in enumerate(remaining)],
        online=served.transport is not None,
    )
    while wanted := resolution.wanted():
        assert served.transport is not None  # offline, wanted() raises instead
        resolution.supply(zip(wanted, await served.transport.get_accounts(wanted), strict=True))
    if data is None:
        data = ix.encode_json(dict(resolution.complete_args()))
    metas = resolution.metas()
    given, _ = ix.plan.collect(accounts)
    rows = _account_lines(ix, metas, resolution.addresses(), given)
    payer = payer or wallet or _first_signer(metas)
    return PreparedCall(served, ix, args, Instruction(program_id, data, metas), tuple(rows), payer)


def _first_signer(metas: Sequence[AccountMeta]) -> Pubkey | None:
    """Who pays when nobody is named: the first that signs and is written, else the first that signs."""
    signers = [m for m in metas if m.is_signer]
    best = next((m for m in signers if m.is_writable), signers[0] if signers else None)
    return None if best is None else best.pubkey


_FLAGS = ("address", "signer", "writable")


def _meta(ix: ProgramInstruction, place: int, item: Any) -> AccountMeta:
    flags = item if isinstance(item, Mapping) else {"address": item}
    for name in flags:
        if name not in _FLAGS:  # "isWritable" would be an account that is not written
            raise UnknownName(
                "property", str(name)[:80], _FLAGS, f"{ix.name}.remaining_accounts[{place}]"
            )
    key = address_of(flags.get("address"))
    if key is None or not all(
        isinstance(flags.get(f, False), bool) for f in ("signer", "writable")
    ):
        raise EncodeError(
            f"{abbr(item)}: an address, or an object with address, signer and writable, is wanted",
            value=item,
            path=f"{ix.name}.remaining_accounts[{place}]",
            type="account",
        )
    return AccountMeta(key, flags.get("signer", False), flags.get("writable", False))


def _account_lines(
    ix: ProgramInstruction,
    metas: Sequence[AccountMeta],
    addresses: Mapping[str, Pubkey | None],
    given: Mapping[int, Any],
) -> list[AccountLine]:
    rows: list[AccountLine] = []
    place = 0
    for leaf in ix.plan.leaves:
        key = addresses.get(leaf.name)
        if key is None and ix.model.optional_accounts == "omitted":
            continue
        meta = metas[place]
        place += 1
        name = leaf.name if key is not None else f"{leaf.name} (absent)"
        rows.append(
            AccountLine(
                name, str(meta.pubkey), meta.is_signer, meta.is_writable, leaf.index in given
            )
        )
    rows += [
        AccountLine(f"remaining[{i}]", str(m.pubkey), m.is_signer, m.is_writable, True)
        for i, m in enumerate(metas[place:])
    ]
    return rows


@telemetry.traced("simulate")
async def simulate(
    prepared: PreparedCall, transaction: VersionedTransaction | None = None, *, exact: bool = False
) -> SimulatedCall:
    """Runs it without effect. *transaction*: this one; None: made here, with a funded payer where none is known.

    *exact*: with its own blockhash, so that what is simulated is to the byte what may be signed, and in order of slots
    between two looks at what it writes: nodes behind one URL are not equally far.

    Raises TransportError, and MissingAccount where no payer has lamports. A program's failure is in the result.
    """
    transport = prepared.served.transport
    assert transport is not None
    keys = [m.pubkey for m in prepared.instruction.accounts if m.is_writable]
    if prepared.payer is not None:
        keys.append(prepared.payer)
    keys = list(dict.fromkeys(keys))
    aside: dict[Pubkey, Account | None] = {}
    slot = 0
    if exact:
        every = list(dict.fromkeys([*keys, *(m.pubkey for m in prepared.instruction.accounts)]))
        slot, found = await transport.accounts_at(every)
        before = dict(zip(keys, found, strict=False))
        aside = dict(zip(every[len(keys) :], found[len(keys) :], strict=True))
    else:
        before = dict(zip(keys, await transport.get_accounts(keys), strict=True))
    if transaction is None and prepared.payer is None:
        outcome = await run_instructions(transport, [prepared.instruction], Payers(), accounts=keys)
    else:
        if transaction is None:
            transaction = unsigned(prepared.message(Hash.default()))
        if exact:
            outcome = await transport.simulate(
                transaction, replace_blockhash=False, accounts=keys, since=slot
            )
        else:
            outcome = await run_transaction(transport, transaction, accounts=keys)
    telemetry.mark(succeeded=outcome.err is None, compute_units=outcome.units or 0)
    program = prepared.served.program
    failure = explain(
        outcome,
        programs=[prepared.instruction.program_id],
        own={str(program.behind(prepared.instruction.program_id)): program.error},
    )
    if failure is not None:
        return SimulatedCall(outcome, failure, (), before, before)
    if len(outcome.accounts) != len(keys):  # what was not seen must not count as unchanged
        why = f"its simulation told {len(outcome.accounts)} of {len(keys)} accounts, so nothing can be measured"
        raise TransportError(transport.endpoint, why)
    after = dict(zip(keys, outcome.accounts, strict=True))
    # an account without lamports is gone when the transaction is over, whatever data it still shows
    after = {k: None if a is not None and a.lamports == 0 else a for k, a in after.items()}
    again: dict[Pubkey, Account | None] = {}
    if exact:
        _, found = await transport.accounts_at(keys, since=outcome.slot)
        again = dict(zip(keys, found, strict=True))
    decimals = await _decimals(transport, before, after)
    events = events_of(
        program, prepared.instruction.program_id, outcome.logs, outcome.inner, json=True
    )
    returned, return_error = _returned(prepared, outcome)
    return SimulatedCall(
        outcome,
        None,
        tuple(changes(before, after, decimals)),
        before,
        after,
        returned,
        return_error,
        tuple((name, clean_json(fields)) for name, fields in events),
        aside,
        again,
    )


async def _decimals(
    transport: Transport,
    before: Mapping[Pubkey, Account | None],
    after: Mapping[Pubkey, Account | None],
) -> dict[str, int]:
    states = (read_token_account(account) for account in (*before.values(), *after.values()))
    mints = list(dict.fromkeys(state.mint for state in states if state is not None))
    if not mints:
        return {}
    found = {
        mint: decimals_of(account)
        for mint, account in zip(mints, await transport.get_accounts(mints), strict=True)
    }
    return {str(mint): places for mint, places in found.items() if places is not None}


def _returned(prepared: PreparedCall, outcome: Outcome) -> tuple[Any, str]:
    """The return value in JSON form, or raw bytes and why they cannot be read."""
    behind = prepared.served.program.behind(prepared.instruction.program_id)
    if outcome.return_data is None or outcome.return_data[0] != behind:
        return None, ""
    data = outcome.return_data[1]
    node = prepared.ix.model.returns
    if node is None:
        return "0x" + data.hex(), "the source does not say its type"
    try:
        codec = prepared.served.program.codecs.codec(node)
        return clean_json(codec.to_json(codec.decode_return(data))), ""
    except (CodecError, NotUsable) as error:
        return "0x" + data.hex(), str(error)


# --- telling it ------------------------------------------------------------------------------------------------------


def text_of(
    prepared: PreparedCall, simulated: SimulatedCall | None, *, why_not: str = "no chain was given"
) -> list[str]:
    """The call as lines for people."""
    if simulated is None:
        how = f"not run: {why_not}"
    elif simulated.failure is not None:
        how = f"failed: {one_line(str(simulated.failure), 600)}"
    else:
        how = "succeeded"
    doc = " ".join(prepared.ix.model.docs)
    out = lines(
        program=prepared.served.program.name,
        program_id=str(prepared.instruction.program_id),
        instruction=prepared.ix.name,
        doc=doc,
        args=dict(prepared.args),
        accounts=prepared.accounts,
        payer=None if prepared.payer is None else str(prepared.payer),
        simulated=how,
        found=() if simulated is None else simulated.changes,
        units=None if simulated is None else simulated.outcome.units,
        returned=None if simulated is None else simulated.returned,
    )
    if simulated is not None:
        out += [
            f"  event {one_line(name)}: {one_line(json.dumps(value, ensure_ascii=False), 300)}"
            for name, value in simulated.events
        ]
    return out


def describe(prepared: PreparedCall, simulated: SimulatedCall | None) -> dict[str, Any]:
    """The call as JSON: what the tools' output schema says."""
    out: dict[str, Any] = {
        "program": clean_text(prepared.served.program.name, 200),
        "program_id": str(prepared.instruction.program_id),
        "instruction": clean_text(prepared.ix.name, 200),
        "data": "0x" + bytes(prepared.instruction.data).hex(),
        "accounts": [
            {
                "name": clean_text(a.name, 200),
                "address": a.address,
                "signer": a.signer,
                "writable": a.writable,
            }
            for a in prepared.accounts
        ],
        "signers": prepared.signers,
    }
    if prepared.payer is not None:
        out["fee_payer"] = str(prepared.payer)
    if simulated is not None:
        result: dict[str, Any] = {"succeeded": simulated.failure is None}
        if simulated.outcome.units is not None:
            result["compute_units"] = simulated.outcome.units
        if simulated.failure is not None:
            result["error"] = simulated.failure.details()
        result["balance_changes"] = [
            {
                "address": c.address,
                "owner": c.owner,
                "mint": c.mint,
                "before": str(c.before),
                "after": str(c.after),
                "change": str(c.delta),
                **({} if c.decimals is None else {"decimals": c.decimals}),
            }
            for c in simulated.changes
        ]
        if simulated.returned is not None:
            result["returns"] = simulated.returned
        if simulated.return_error:
            result["returns_note"] = simulated.return_error
        if simulated.events:
            result["events"] = [
                {"name": clean_text(name, 200), "fields": value} for name, value in simulated.events
            ]
        out["simulation"] = result
    return out
