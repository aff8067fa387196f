"""Description of a call and its simulation: lines for people, and JSON in the form of the tools' output schema."""

from __future__ import annotations

from itertools import starmap
from typing import Any

from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.calls.summary import (
    AccountLine,
    InstructionSummary,
    SimulationSummary,
    one_line,
)
from mcpsol_py.names import clean_text

__all__ = ["describe", "simulation_json", "simulation_lines", "text_of"]


def text_of(
    prepared: PreparedCall,
    simulated: SimulatedCall | None,
    *,
    why_not: str = "no chain was given",
) -> list[str]:
    """Return the call as lines for people. *why_not*: why it was not simulated."""
    instruction = InstructionSummary(
        program=prepared.served.program.name,
        program_id=str(prepared.instruction.program_id),
        instruction=prepared.ix.name,
        doc=" ".join(prepared.ix.model.docs),
        args=prepared.args,
        accounts=prepared.accounts,
        payer=None if prepared.payer is None else str(prepared.payer),
        words=prepared.words,
    )
    return [
        *instruction.lines(),
        *instruction.payer_line,
        *simulation_lines(simulated, why_not=why_not),
    ]


def simulation_lines(simulated: SimulatedCall | None, *, why_not: str) -> list[str]:
    """Return a simulation as lines for people. *why_not*: why it was not run."""
    if simulated is None:
        return SimulationSummary(f"not run: {why_not}").lines()
    return SimulationSummary(
        result=_result_words(simulated),
        changes=simulated.changes,
        units=simulated.outcome.units,
        returned=simulated.returned,
        events=simulated.events,
    ).lines()


def _result_words(simulated: SimulatedCall) -> str:
    if simulated.failure is None:
        return "succeeded"
    return f"failed: {one_line(str(simulated.failure), 600)}"


def describe(prepared: PreparedCall, simulated: SimulatedCall | None) -> dict[str, Any]:
    """Return the call as JSON, in the form of the tools' output schema."""
    out: dict[str, Any] = {
        "program": clean_text(prepared.served.program.name, 200),
        "program_id": str(prepared.instruction.program_id),
        "instruction": clean_text(prepared.ix.name, 200),
        "data": "0x" + bytes(prepared.instruction.data).hex(),
        "accounts": list(map(_account, prepared.accounts)),
        "signers": prepared.signers,
    }
    if prepared.words.sentence:
        out["display"] = prepared.words.sentence
    if prepared.payer is not None:
        out["fee_payer"] = str(prepared.payer)
    if simulated is not None:
        out["simulation"] = simulation_json(simulated)
    return out


def _account(account: AccountLine) -> dict[str, Any]:
    return {
        "name": clean_text(account.name, 200),
        "address": account.address,
        "signer": account.signer,
        "writable": account.writable,
    }


def simulation_json(simulated: SimulatedCall) -> dict[str, Any]:
    """Return a simulation as JSON, in the form of the tools' output schema."""
    out: dict[str, Any] = {"succeeded": simulated.failure is None}
    if simulated.outcome.units is not None:
        out["compute_units"] = simulated.outcome.units
    if simulated.failure is not None:
        out["error"] = simulated.failure.details()
    out["balance_changes"] = [change.to_json() for change in simulated.changes]
    if simulated.returned is not None:
        out["returns"] = simulated.returned
    if simulated.return_error:
        out["returns_note"] = simulated.return_error
    if simulated.events:
        out["events"] = list(starmap(_event, simulated.events))
    return out


def _event(name: str, fields: Any) -> dict[str, Any]:
    return {"name": clean_text(name, 200), "fields": fields}
