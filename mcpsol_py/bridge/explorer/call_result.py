"""The result of a call as blocks of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcpsol_py.bridge.bridge import Reply
from mcpsol_py.bridge.explorer.content import (
    Block,
    Cell,
    FactsBlock,
    PageState,
    TableBlock,
    TextBlock,
)
from mcpsol_py.bridge.explorer.rendering import cleaned, field_lines, json_text
from mcpsol_py.bridge.explorer.site import Site
from mcpsol_py.bridge.replies import LOG_TITLE
from mcpsol_py.calls.balances import SOL, ui_amount

__all__ = ["call_result"]

_SOL_DECIMALS = 9


def call_result(site: Site, reply: Reply, *, reads: bool) -> dict[str, Any]:
    """Return a call's result as the tool template shows it: a heading, a state, and blocks.

    *reads*: the tool calls no instruction.
    """
    if reply.is_error:
        return _failure(reply, reads)
    found = reply.structured or {}
    if "instruction" not in found:
        return _result("Found", "good", [TextBlock("", reply.text)])
    simulation = found.get("simulation") or {}
    heading = "Built, not simulated: no chain is configured"
    if simulation.get("succeeded"):
        heading = "It would succeed"
    roles = {str(a["address"]): str(a["name"]) for a in found.get("accounts", ())}
    blocks: list[Block] = [
        FactsBlock("", _facts(site, found, simulation)),
        _balance_changes(site, simulation, roles),
    ]
    if simulation.get("events"):
        blocks.append(_events(simulation))
    blocks.append(_accounts(site, found))
    blocks.append(TextBlock("As an MCP client sees it", reply.text, folded=True))
    return _result(heading, "good", blocks)


def _result(
    heading: str, state: PageState, blocks: list[Block], message: str = ""
) -> dict[str, Any]:
    return {
        "heading": heading,
        "state": state,
        "say": message,
        "blocks": list(map(cleaned, blocks)),
    }


def _failure(reply: Reply, reads: bool) -> dict[str, Any]:
    blocks: list[Block] = []
    logs = reply.details.get("logs")
    message = reply.text
    if isinstance(logs, list) and logs:
        blocks.append(
            TextBlock("Last log lines", "\n".join(map(str, logs)), folded=True)
        )
        message, _, _ = message.partition(f"\n{LOG_TITLE}")
    heading = "It failed" if reads else "It would fail"
    if "reason" not in reply.details:
        heading = "Not available here"
    return _result(heading, "bad", blocks, message)


def _facts(
    site: Site, found: Mapping[str, Any], simulation: Mapping[str, Any]
) -> list[tuple[str, Cell]]:
    payer = found.get("fee_payer")
    rows: list[tuple[str, Cell]] = []
    if "returns" in simulation:
        rows.append(("Returns", Cell(json_text(simulation["returns"]), "code")))
    if "fee_payer" in found:
        rows.append(("Fee payer", site.address_cell(str(payer))))
    others = [signer for signer in found.get("signers", ()) if signer != payer]
    rows += [("Signer", site.address_cell(str(signer))) for signer in others]
    if "compute_units" in simulation:
        rows.append(("Compute units", Cell(f"{simulation['compute_units']:,}")))
    rows.append(("Data", Cell(str(found.get("data", "")), "code")))
    return rows


def _balance_changes(
    site: Site, simulation: Mapping[str, Any], roles: Mapping[str, str]
) -> TableBlock:
    changes = simulation.get("balance_changes", ())
    return TableBlock(
        "Balance changes",
        ("Change", "Token", "Owner", "Account"),
        [_balance_change(site, change, roles) for change in changes],
        empty="None.",
    )


def _balance_change(
    site: Site, change: Mapping[str, Any], roles: Mapping[str, str]
) -> tuple[Cell, ...]:
    is_sol = change["mint"] == SOL
    decimals = change.get("decimals", _SOL_DECIMALS if is_sol else None)
    amount = ui_amount(int(change["change"]), decimals)
    sign = "" if amount.startswith("-") else "+"
    owner = str(change.get("owner") or change["address"])
    token, account = Cell("SOL"), Cell("the same")
    if not is_sol:
        token = site.address_cell(str(change["mint"]), roles=roles)
        account = site.address_cell(str(change["address"]), roles=roles)
    owner_cell = site.address_cell(owner, roles=roles)
    return Cell(sign + amount, "number"), token, owner_cell, account


def _events(simulation: Mapping[str, Any]) -> TableBlock:
    rows = [
        (Cell(str(event["name"])), Cell(field_lines(event["fields"]), "code"))
        for event in simulation["events"]
    ]
    return TableBlock("Events", ("Event", "Fields"), rows)


def _accounts(site: Site, found: Mapping[str, Any]) -> TableBlock:
    rows = [
        (
            Cell(str(account["name"])),
            site.address_cell(str(account["address"])),
            Cell(_use(account)),
        )
        for account in found.get("accounts", ())
    ]
    return TableBlock("Accounts", ("Name", "Address", "Use"), rows, empty="None.")


def _use(account: Mapping[str, Any]) -> str:
    uses = []
    if account["signer"]:
        uses.append("signs")
    if account["writable"]:
        uses.append("written")
    return " and ".join(uses) or "read"
