"""Review of a transaction that somebody else built: its instructions decoded, and its effects in a simulation.

The simulation, the effects on a wallet and the summary are those of a call that the bridge sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, starmap
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.calls.balances import SOL, Outflow
from mcpsol_py.calls.describe import simulation_json, simulation_lines
from mcpsol_py.calls.display import Words, words_for
from mcpsol_py.calls.effects import SIMULATIONS, Effects, effects_of, never_still
from mcpsol_py.calls.foreign.transaction import ForeignTransaction
from mcpsol_py.calls.hints import hints
from mcpsol_py.calls.prepare import (
    PreparedCall,
    ServedProgram,
    errors_of,
    programs_by_id,
)
from mcpsol_py.calls.simulate import SimulatedCall, simulate_transaction
from mcpsol_py.calls.summary import (
    AccountLine,
    InstructionSummary,
    amount_text,
    one_line,
)
from mcpsol_py.calls.transaction_reading import decode_transaction
from mcpsol_py.client.events import events_of
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import ProgramFailed
from mcpsol_py.names import clean_json
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.solana.fees import fee_lamports

__all__ = ["Review", "Stakes", "review"]


@dataclass(frozen=True, slots=True)
class Stakes:
    """What a person agrees to: the most that leaves each wallet, by (wallet, mint), and the power given away."""

    leaving: Mapping[tuple[str, str], int] = field(default_factory=dict)
    given_away: frozenset[str] = frozenset()

    def covers(self, other: Stakes) -> bool:
        """Return whether *other* takes no more than this."""
        return other.given_away <= self.given_away and all(
            amount <= self.leaving.get(what, -1)
            for what, amount in other.leaving.items()
        )


@dataclass(frozen=True, slots=True)
class Review:
    """A transaction as it would run now. `simulated` is None without a chain.

    `wallets` sign it here. `decoded` has its instructions, and a note if lookup tables are unknown. `effects` are those
    on each wallet, or on all signers if no wallet signs here.
    """

    foreign: ForeignTransaction
    wallets: Sequence[Pubkey]
    programs: Mapping[str, ServedProgram]
    decoded: Mapping[str, Any]
    simulated: SimulatedCall | None = None
    effects: Mapping[str, Effects] = field(default_factory=dict)

    @property
    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Its instructions, decoded."""
        rows: Sequence[Mapping[str, Any]] = self.decoded["instructions"]
        return rows

    @property
    def stakes(self) -> Stakes:
        """What a person who signs it agrees to."""
        return Stakes(
            {
                (wallet, flow.mint): flow.amount
                for wallet, effects in self.effects.items()
                for flow in effects.flows
            },
            frozenset(chain.from_iterable(map(_given_away, self.effects.values()))),
        )

    def lines(self) -> list[str]:
        """Return the review as lines for people."""
        payer = str(self.foreign.signers[0])
        out = []
        for row in self.rows:
            out += self._instruction(row, payer).lines()
            out += [f"  note: {one_line(note, 300)}" for note in row.get("notes", ())]
        out.append(f"  fee  {amount_text(self._fee, SOL, None)}, paid by {payer}")
        out += [
            f"  signature of {address}: {state}"
            for address, state in self._signatures()
        ]
        out += [f"  note: {text}" for text in self._notes]
        out += simulation_lines(self.simulated, why_not="no chain was given")
        return [*out, *self._effect_lines()]

    def document(self) -> dict[str, Any]:
        """Return the review as JSON."""
        out: dict[str, Any] = {
            "fee_payer": str(self.foreign.signers[0]),
            "fee_lamports": str(self._fee),
            "signatures": [
                {"address": str(address), "state": state}
                for address, state in self._signatures()
            ],
            "instructions": clean_json(list(self.rows)),
        }
        if self._notes:
            out["notes"] = self._notes
        if self.simulated is not None:
            out["simulation"] = simulation_json(self.simulated)
            out["effects"] = list(starmap(_effects_json, self.effects.items()))
        return out

    def instruction_of(self, row: Mapping[str, Any]) -> ProgramInstruction | None:
        """Return the instruction of a row, if its program's schema is known and has it."""
        served = self.programs.get(row["program_id"])
        if served is None or "instruction" not in row:
            return None
        return served.program.instruction(row["instruction"])

    @property
    def _notes(self) -> list[str]:
        return [self.decoded["note"]] if "note" in self.decoded else []

    @property
    def _fee(self) -> int:
        return fee_lamports(self.foreign.message)

    def _signatures(self) -> Iterable[tuple[Pubkey, str]]:
        """Give each address that must sign, and whether it has signed, signs here or is missing."""
        for address in self.foreign.signers:
            if address in self.foreign.signed:
                yield address, "signed"
            else:
                yield address, "signs here" if address in self.wallets else "missing"

    def _instruction(self, row: Mapping[str, Any], payer: str) -> InstructionSummary:
        name = row.get("instruction", "unknown instruction")
        ix = self.instruction_of(row)
        return InstructionSummary(
            program=row["program"],
            program_id=row["program_id"],
            instruction=name,
            doc="" if ix is None else " ".join(ix.model.docs),
            args=row.get("args", {"data": row["data"]}),
            accounts=_account_lines(row),
            payer=payer,
            words=Words() if ix is None else _words(ix, row),
        )

    def _effect_lines(self) -> list[str]:
        decimals = {
            change.mint: change.decimals
            for change in getattr(self.simulated, "changes", ())
        }
        out = []
        for wallet, effects in self.effects.items():
            out += [
                _leaving(wallet, flow, decimals.get(flow.mint))
                for flow in effects.flows
            ]
            out += [
                f"  gives power away: {sentence}" for sentence in _given_away(effects)
            ]
        return out


async def review(
    transport: Transport | None,
    foreign: ForeignTransaction,
    programs: Iterable[ServedProgram],
    wallets: Iterable[Pubkey],
) -> Review:
    """Decode *foreign*, simulate its very bytes, and measure the effects on *wallets*, or on all signers if none.

    Raises ProgramFailed if the simulation fails, with hints; TransportError.
    """
    known = programs_by_id(programs)
    text = foreign.to_base64()
    decoded = await decode_transaction(
        list(known.values()), text, transport, loaded=foreign.loaded
    )
    here = [wallet for wallet in wallets if wallet in foreign.missing]
    found = Review(foreign, here, known, decoded)
    if transport is None:
        return found
    watched = here or foreign.signers
    for _ in range(SIMULATIONS):
        simulated = await _simulated(transport, found)
        effects = {
            str(wallet): effects_of(foreign.instructions, simulated, wallet)
            for wallet in watched
        }
        if all(one.still for one in effects.values()):
            return replace(found, simulated=simulated, effects=effects)
    raise never_still(transport.endpoint)


async def _simulated(transport: Transport, found: Review) -> SimulatedCall:
    instructions = found.foreign.instructions
    metas = [meta for instruction in instructions for meta in instruction.accounts]
    simulated = await simulate_transaction(
        transport,
        found.foreign.transaction,
        written=[
            found.foreign.signers[0],
            *(meta.pubkey for meta in metas if meta.is_writable),
        ],
        others=[meta.pubkey for meta in metas],
        programs=[instruction.program_id for instruction in instructions],
        own=errors_of(found.programs.values()),
        exact=True,
    )
    if simulated.failure is not None:
        simulated.failure.hints = tuple(
            await _hints(found, simulated, simulated.failure)
        )
        raise simulated.failure
    return replace(simulated, events=tuple(_events(found.programs, simulated)))


def _events(
    programs: Mapping[str, ServedProgram], simulated: SimulatedCall
) -> Iterable[tuple[str, Any]]:
    outcome = simulated.outcome
    for served in programs.values():
        assert served.program_id is not None
        found = events_of(
            served.program, served.program_id, outcome.logs, outcome.inner, json=True
        )
        yield from ((name, clean_json(fields)) for name, fields in found)


async def _hints(
    found: Review, simulated: SimulatedCall, failure: ProgramFailed
) -> list[str]:
    """Return hints about the instruction that failed, if its program is known."""
    place = failure.instruction_index
    if place is None or place >= len(found.rows):
        return []
    row = found.rows[place]
    ix = found.instruction_of(row)
    if ix is None:
        return []
    served, instruction = (
        found.programs[row["program_id"]],
        found.foreign.instructions[place],
    )
    payer = found.foreign.signers[0]
    call = PreparedCall(
        served, ix, row["args"], instruction, tuple(_account_lines(row)), payer
    )
    return await hints(call, simulated)


def _words(ix: ProgramInstruction, row: Mapping[str, Any]) -> Words:
    return words_for(
        ix,
        row.get("args") or {},
        {line.name: line.address for line in _account_lines(row)},
    )


def _account_lines(row: Mapping[str, Any]) -> list[AccountLine]:
    return [
        AccountLine(
            name=account.get("name", f"account {place}"),
            address=account["address"],
            signer=account["signer"],
            writable=account["writable"],
            given=True,
        )
        for place, account in enumerate(row["accounts"])
    ]


def _given_away(effects: Effects) -> list[str]:
    return [*effects.taken, *effects.handed_over]


def _leaving(wallet: str, flow: Outflow, decimals: int | None) -> str:
    return f"  leaves {wallet}: {amount_text(flow.amount, flow.mint, decimals)}"


def _effects_json(wallet: str, effects: Effects) -> dict[str, Any]:
    return {
        "wallet": wallet,
        "outflow": {flow.mint: str(flow.amount) for flow in effects.flows},
        "gives_power_away": _given_away(effects),
    }
