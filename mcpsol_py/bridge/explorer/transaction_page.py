"""The page of a landed transaction, and the look-up of anything by its address or signature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from mcpsol_py.bridge.explorer.content import (
    Block,
    Cell,
    FactsBlock,
    PageContent,
    TableBlock,
    TextBlock,
)
from mcpsol_py.bridge.explorer.rendering import (
    HtmlPage,
    Renderer,
    field_lines,
    json_text,
)
from mcpsol_py.bridge.explorer.site import Site
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.transaction_reading import decode_signature
from mcpsol_py.errors import DecodeError, McpsolError
from mcpsol_py.names import clean_text
from mcpsol_py.solana.base58 import is_signature

__all__ = ["transaction_page"]

#: Parts of a decoded transaction that have a place of their own on the page.
_PLACED = ("instructions", "events", "logs", "signers")


async def transaction_page(site: Site, renderer: Renderer, signature: str) -> HtmlPage:
    """Return the page of a transaction, or why it cannot be shown."""
    try:
        served, found = await _found(site, signature)
    except McpsolError as error:
        facts = FactsBlock("", [("Signature", Cell(signature, "code"))])
        content = PageContent(
            "Transaction", clean_text(str(error), 1000), [facts], state="bad"
        )
        return renderer.content(content, status=404, here="/")
    return renderer.content(_content(site, served, signature, found), here="/")


async def _found(site: Site, signature: str) -> tuple[ServedProgram, dict[str, Any]]:
    """Return the transaction and a program of its chain. Raises McpsolError if no chain has it."""
    if not is_signature(signature):
        raise DecodeError(
            "expected the signature of a transaction (base58 of 64 bytes)",
            path="signature",
        )
    programs = site.box.programs
    chains = {id(one.transport): one for one in programs if one.transport is not None}
    error: McpsolError = DecodeError("no chain is configured", path="signature")
    for served in chains.values():
        assert served.transport is not None
        try:
            return served, await decode_signature(programs, served.transport, signature)
        except McpsolError as failed:
            error = failed
    raise error


def _content(
    site: Site, served: ServedProgram, signature: str, found: Mapping[str, Any]
) -> PageContent:
    facts = [("Signature", Cell(signature, "code"))]
    facts += [
        (name.replace("_", " ").capitalize(), _fact(site, value))
        for name, value in found.items()
        if name not in _PLACED
    ]
    page = site.public_page(served, "tx", signature)
    if page:
        facts.append(("Elsewhere", Cell("Solana Explorer", href=page)))
    blocks: list[Block] = [FactsBlock("", facts)]
    for place, row in enumerate(found.get("instructions", ()), 1):
        blocks += _instruction(site, row, str(place))
    for name in ("events", "logs"):
        if found.get(name):
            rows = found[name]
            text = "\n".join(
                row if isinstance(row, str) else json_text(row) for row in rows
            )
            blocks.append(TextBlock(name.capitalize(), text, folded=name == "logs"))
    failed = "error" in found
    about = "It failed." if failed else "It succeeded."
    return PageContent("Transaction", about, blocks, state="bad" if failed else "good")


def _fact(site: Site, value: Any) -> Cell:
    return (
        site.address_cell(value)
        if isinstance(value, str)
        else Cell(json_text(value), "code")
    )


def _instruction(site: Site, row: Mapping[str, Any], number: str) -> list[Block]:
    """Return the blocks of an instruction, and of the calls that it made."""
    heading = f"{number}. {row.get('program', 'unknown program')}: {row.get('instruction', 'bytes')}"
    facts = [("Program", site.address_cell(str(row.get("program_id", ""))))]
    known = ("program", "program_id", "instruction", "accounts", "calls", "inner")
    facts += [
        (name.replace("_", " ").capitalize(), Cell(field_lines(value), "code"))
        for name, value in row.items()
        if name not in known
    ]
    blocks: list[Block] = [FactsBlock(heading, facts)]
    accounts = [one for one in row.get("accounts", ()) if isinstance(one, Mapping)]
    if accounts:
        rows = [_account_row(site, one) for one in accounts]
        blocks.append(
            TableBlock(f"Accounts of {number}", ("Name", "Address", "Role"), rows)
        )
    for place, inner in enumerate(row.get("calls") or row.get("inner") or (), 1):
        blocks += _instruction(site, inner, f"{number}.{place}")
    return blocks


def _account_row(site: Site, account: Mapping[str, Any]) -> tuple[Cell, ...]:
    address = str(account.get("address", ""))
    roles = [role for role in ("signer", "writable") if account.get(role)]
    cell = site.address_cell(address, href=f"/account?address={quote(address)}")
    return Cell(str(account.get("name", ""))), cell, Cell(", ".join(roles))
