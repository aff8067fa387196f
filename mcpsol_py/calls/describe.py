"""A call, and its simulation if it was run, as lines for people and as JSON for the tools' output schema."""

from __future__ import annotations

import json
from typing import Any

from mcpsol_py.calls.balances import Change
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.simulate import SimulatedCall
from mcpsol_py.calls.summary import AccountLine, lines, one_line
from mcpsol_py.names import clean_text

__all__ = ["describe", "text_of"]


def text_of(
    prepared: PreparedCall,
    simulated: SimulatedCall | None,
    *,
    why_not: str = "no chain was given",
) -> list[str]:
    """Return the call as lines for people. *why_not*: why it was not simulated."""
    out = lines(
        program=prepared.served.program.name,
        program_id=str(prepared.instruction.program_id),
        instruction=prepared.ix.name,
        doc=" ".join(prepared.ix.model.docs),
        args=dict(prepared.args),
        accounts=prepared.accounts,
        payer=None if prepared.payer is None else str(prepared.payer),
        simulated=_result_words(simulated, why_not),
        found=() if simulated is None else simulated.changes,
        units=None if simulated is None else simulated.outcome.units,
        returned=None if simulated is None else simulated.returned,
    )
    for name, value in () if simulated is None else simulated.events:
        text = json.dumps(value, ensure_ascii=False)
        out.append(f"  event {one_line(name)}: {one_line(text, 300)}")
    return out


def _result_words(simulated: SimulatedCall | None, why_not: str) -> str:
    if simulated is None:
        return f"not run: {why_not}"
    if simulated.failure is not None:
        return f"failed: {one_line(str(simulated.failure), 600)}"
    return "succeeded"


def describe(prepared: PreparedCall, simulated: SimulatedCall | None) -> dict[str, Any]:
    """Return the call as JSON, in the form of the tools' output schema."""
    out: dict[str, Any] = {
        "program": clean_text(prepared.served.program.name, 200),
        "program_id": str(prepared.instruction.program_id),
        "instruction": clean_text(prepared.ix.name, 200),
        "data": "0x" + bytes(prepared.instruction.data).hex(),
        "accounts": [_account(account) for account in prepared.accounts],
        "signers": prepared.signers,
    }
    if prepared.payer is not None:
        out["fee_payer"] = str(prepared.payer)
    if simulated is not None:
        out["simulation"] = _simulation(simulated)
    return out


def _account(account: AccountLine) -> dict[str, Any]:
    return {
        "name": clean_text(account.name, 200),
        "address": account.address,
        "signer": account.signer,
        "writable": account.writable,
    }


def _simulation(simulated: SimulatedCall) -> dict[str, Any]:
    out: dict[str, Any] = {"succeeded": simulated.failure is None}
    if simulated.outcome.units is not None:
        out["compute_units"] = simulated.outcome.units
    if simulated.failure is not None:
        out["error"] = simulated.failure.details()
    out["balance_changes"] = [_balance_change(change) for change in simulated.changes]
    if simulated.returned is not None:
        out["returns"] = simulated.returned
    if simulated.return_error:
        out["returns_note"] = simulated.return_error
    if simulated.events:
        out["events"] = [
            {"name": clean_text(name, 200), "fields": value} for name, value in simulated.events
        ]
    return out


def _balance_change(change: Change) -> dict[str, Any]:
    row: dict[str, Any] = {
        "address": change.address,
        "owner": change.owner,
        "mint": change.mint,
        "before": str(change.before),
        "after": str(change.after),
        "change": str(change.delta),
    }
    if change.decimals is not None:
        row["decimals"] = change.decimals
    return row
