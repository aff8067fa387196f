"""Pages that show a program's accounts, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

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
from mcpsol_py.bridge.explorer.site import Site, price_notice
from mcpsol_py.calls.balances import ui_amount
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.reading import accounts_of, read_account
from mcpsol_py.calls.reading import address as read_address
from mcpsol_py.errors import McpsolError, SourceError
from mcpsol_py.names import clean_text

__all__ = ["account_page", "accounts_page"]

#: Account types that are listed, and accounts of each.
_MAX_TYPES, _MAX_ACCOUNTS = 20, 50


async def accounts_page(site: Site, renderer: Renderer, label: str) -> HtmlPage:
    """Return the page that lists a program's accounts by type."""
    served = site.box.labels[label]
    program = site.program_facts(label)
    types = (
        served.program.model.accounts[:_MAX_TYPES]
        if served.transport is not None
        else ()
    )
    blocks = [
        await _accounts_of_type(site, served, label, account.name) for account in types
    ]
    chain = program["chain"] or "no chain"
    about = f"Accounts of {program['name']} on {chain}, at most {_MAX_ACCOUNTS} of each type."
    back = [(f"/programs/{quote(label)}", program["name"])]
    return renderer.content(PageContent("Accounts", about, blocks), back=back, here="/")


async def account_page(
    site: Site, renderer: Renderer, query: Mapping[str, str]
) -> HtmlPage:
    """Return the page of the account that *query* names by `program` and `address`."""
    labels = site.box.labels
    text = query.get("address", "").strip()[:100]
    label = query.get("program", "")
    if label not in labels:
        label = await _owner(site, text)
    served = labels[label]
    name = clean_text(served.program.name, 100)
    back = [
        (f"/programs/{quote(label)}", name),
        (f"/accounts/{quote(label)}", "Accounts"),
    ]
    try:
        content = await _account(site, served, text)
    except McpsolError as error:
        facts = FactsBlock("", [("Address", Cell(text, "code"))])
        content = PageContent("Account", str(error), [facts], state="bad")
        return renderer.content(content, status=404, back=back, here="/")
    return renderer.content(content, back=back, here="/")


async def _owner(site: Site, text: str) -> str:
    """Return the label of the program that owns the account at an address, or the first one."""
    labels = site.box.labels
    with suppress(McpsolError):
        key = read_address(site.build.names(text), "address")
        for label, served in labels.items():
            if served.transport is None:
                continue
            (account,) = await served.transport.get_accounts([key])
            if account is not None and account.owner == served.program_id:
                return label
    return next(iter(labels))


def _shown_fields(row: Mapping[str, Any]) -> Any:
    """Return the fields of an account's row, or those that could be read, or why none could."""
    return row.get("fields", row.get("partial_fields", row.get("error", "")))


async def _accounts_of_type(
    site: Site, served: ServedProgram, label: str, name: str
) -> Block:
    price = site.account_price(served, "list", name)
    if price is not None:
        return TextBlock(name, price_notice(price))
    try:
        found = await accounts_of(served, name, {}, _MAX_ACCOUNTS)
    except McpsolError as error:
        return TextBlock(name, str(error))
    rows = []
    for row in found["accounts"]:
        href = "/account?" + urlencode({"program": label, "address": row["address"]})
        fields = field_lines(_shown_fields(row))
        rows.append(
            (site.address_cell(row["address"], href=href), Cell(fields, "code"))
        )
    heading = f"{name} ({found['total']})"
    return TableBlock(heading, ("Address", "Fields"), rows, empty="None on this chain.")


async def _account(site: Site, served: ServedProgram, text: str) -> PageContent:
    """Return the content of an account's page. Raises McpsolError if it cannot be read."""
    about = f"An account of {clean_text(served.program.name, 100)}."
    key = read_address(site.build.names(text), "address")
    if served.transport is None:
        raise SourceError("no chain is configured for this program")
    (account,) = await served.transport.get_accounts([key])
    name = ""
    if account is not None:
        name = served.program.read_account(bytes(account.data)).name
    price = site.account_price(served, "get", name)
    if price is not None:
        return PageContent(name, about, [TextBlock("", price_notice(price))])
    found = await read_account(served, name, key)
    facts: list[tuple[str, Cell]] = [("Address", site.address_cell(str(key)))]
    page = site.public_page(served, "address", str(key))
    if page:
        facts.append(("Elsewhere", Cell("Solana Explorer", href=page)))
    if account is not None:
        facts.append(("Balance", Cell(f"{ui_amount(account.lamports, 9)} SOL")))
        facts.append(("Size", Cell(f"{len(bytes(account.data)):,} bytes")))
    values: list[tuple[str, Cell]] = []
    for field, value in _shown_fields(found).items():
        if isinstance(value, str):  # it may be an address
            values.append((str(field), site.address_cell(value)))
        else:
            values.append((str(field), Cell(json_text(value), "code")))
    blocks: list[Block] = [FactsBlock("", facts), FactsBlock("Fields", values)]
    blocks += [TextBlock("", note) for note in found.get("notes", ())]
    return PageContent(str(found["type"]), about, blocks)
