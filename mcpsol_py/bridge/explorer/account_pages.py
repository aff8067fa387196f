"""Pages that show a program's accounts, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.bridge.explorer.any_account import account_facts, any_account
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
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.reading import accounts_of, read_account
from mcpsol_py.calls.reading import address as read_address
from mcpsol_py.errors import DecodeError, McpsolError, SourceError
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


@dataclass(frozen=True, slots=True)
class _Found:
    """An account, and the program that is asked about it: its own, if `is_own`, or another one on its chain."""

    label: str
    served: ServedProgram
    key: Pubkey
    account: Account
    is_own: bool


async def account_page(
    site: Site, renderer: Renderer, query: Mapping[str, str]
) -> HtmlPage:
    """Return the page of the account that *query* names by `address`, and perhaps by `program`."""
    text = query.get("address", "").strip()[:100]
    try:
        found = await _found(site, query.get("program", ""), text)
        content = await _content(site, found)
    except McpsolError as error:
        facts = FactsBlock("", [("Address", Cell(text, "code"))])
        content = PageContent("Account", str(error), [facts], state="bad")
        return renderer.content(content, status=404, here="/")
    back = []
    if found.is_own:
        name = clean_text(found.served.program.name, 100)
        back = [
            (f"/programs/{quote(found.label)}", name),
            (f"/accounts/{quote(found.label)}", "Accounts"),
        ]
    return renderer.content(content, back=back, here="/")


async def _found(site: Site, label: str, text: str) -> _Found:
    """Return the account at an address or name: on the chain of the program *label*, or on any.

    Raises McpsolError if no chain has it.
    """
    labels = site.box.labels
    places = {label: labels[label]} if label in labels else labels
    error: McpsolError = SourceError("no chain is configured")
    other: _Found | None = None
    for name, served in places.items():
        if served.transport is None:
            continue
        try:
            key = read_address(site.resolved(served, text), "address")
            (account,) = await served.transport.get_accounts([key])
        except McpsolError as failed:
            error = failed
            continue
        if account is None:
            on = f" on {served.cluster}" if served.cluster else " on its chain"
            error = SourceError(f"no account is at this address{on}")
            continue
        found = _Found(name, served, key, account, account.owner == served.program_id)
        if found.is_own:
            return found
        other = other or found
    if other is None:
        raise error
    return other


async def _content(site: Site, found: _Found) -> PageContent:
    """Return the content of an account's page. Raises McpsolError if the chain cannot be read."""
    served, key, account = found.served, found.key, found.account
    if not found.is_own:
        return await any_account(site, served, key, account)
    try:
        return await _decoded(site, served, key, account)
    except DecodeError as error:
        return await any_account(
            site, served, key, account, clean_text(str(error), 500)
        )


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


async def _decoded(
    site: Site, served: ServedProgram, key: Pubkey, account: Account
) -> PageContent:
    """Return the content of the page of an account of *served*.

    Raises DecodeError if the account has none of the program's types.
    """
    about = f"An account of {clean_text(served.program.name, 100)}."
    name = served.program.read_account(bytes(account.data)).name
    price = site.account_price(served, "get", name)
    if price is not None:
        return PageContent(name, about, [TextBlock("", price_notice(price))])
    found = await read_account(served, name, key)
    values: list[tuple[str, Cell]] = []
    for field, value in _shown_fields(found).items():
        if isinstance(value, str):  # it may be an address
            values.append((str(field), site.address_cell(value)))
        else:
            values.append((str(field), Cell(json_text(value), "code")))
    facts = account_facts(site, served, key, account)
    blocks: list[Block] = [FactsBlock("", facts), FactsBlock("Fields", values)]
    blocks += [TextBlock("", note) for note in found.get("notes", ())]
    return PageContent(str(found["type"]), about, blocks)
