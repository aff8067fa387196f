"""What a page shows of any account: a wallet, a token account, a mint, a program, or one that nothing here decodes."""

from __future__ import annotations

from urllib.parse import quote

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.bridge.explorer.content import (
    Block,
    Cell,
    FactsBlock,
    PageContent,
    TableBlock,
    TextBlock,
)
from mcpsol_py.bridge.explorer.site import Site, price_notice
from mcpsol_py.calls.balances import decimals_of, ui_amount
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.reading import balances
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM
from mcpsol_py.solana.tokens import Mint, TokenAccount, read_mint, read_token_account

__all__ = ["account_facts", "any_account"]

_Facts = list[tuple[str, Cell]]


def account_facts(
    site: Site, served: ServedProgram, key: Pubkey, account: Account
) -> _Facts:
    """Return what every account has: its address, balance and size."""
    facts = [("Address", site.address_cell(str(key)))]
    page = site.public_page(served, "address", str(key))
    if page:
        facts.append(("Elsewhere", Cell("Solana Explorer", href=page)))
    facts.append(("Balance", Cell(f"{ui_amount(account.lamports, 9)} SOL")))
    facts.append(("Size", Cell(f"{len(bytes(account.data)):,} bytes")))
    return facts


async def any_account(
    site: Site, served: ServedProgram, key: Pubkey, account: Account, why: str = ""
) -> PageContent:
    """Return the page of an account that no served program decodes, on the chain of *served*.

    *why* says why its own program does not. Raises TransportError.
    """
    facts = account_facts(site, served, key, account)
    facts.append(("Program", site.address_cell(str(account.owner))))
    heading, blocks = "Account", list[Block]()
    token, mint = read_token_account(account), read_mint(account)
    if token is not None:
        heading = "Token account"
        facts += await _token_facts(site, served, token)
    elif mint is not None:
        heading = "Mint"
        facts += _mint_facts(site, mint)
    elif account.executable:
        heading = "Program"
    elif account.owner == SYSTEM_PROGRAM and not account.data:
        heading = "Wallet"
        blocks.append(await _tokens(site, served, key))
    chain = f" on {served.cluster}" if served.cluster else ""
    return PageContent(
        heading, why or f"An account{chain}.", [FactsBlock("", facts), *blocks]
    )


async def _token_facts(
    site: Site, served: ServedProgram, token: TokenAccount
) -> _Facts:
    assert served.transport is not None
    (mint,) = await served.transport.get_accounts([token.mint])
    decimals = decimals_of(mint)
    return [
        ("Mint", _linked(site, str(token.mint))),
        ("Owner", _linked(site, str(token.owner))),
        ("Amount", Cell(ui_amount(token.amount, decimals))),
    ]


def _mint_facts(site: Site, mint: Mint) -> _Facts:
    authority = mint.mint_authority
    may_mint = Cell("nobody") if authority is None else _linked(site, str(authority))
    return [
        ("Supply", Cell(ui_amount(mint.supply, mint.decimals))),
        ("Decimals", Cell(str(mint.decimals))),
        ("May mint", may_mint),
    ]


async def _tokens(site: Site, served: ServedProgram, key: Pubkey) -> Block:
    """Return the tokens of a wallet, as `get_balance` finds them and for its price."""
    price = site.bridge.price("get_balance")
    if price is not None:
        return TextBlock("Tokens", price_notice(price))
    assert served.transport is not None
    _, *found = (await balances(served.transport, key, None))["balances"]
    rows = [
        (
            _linked(site, row["mint"]),
            Cell(row.get("ui_amount", f"{row['amount']} base units")),
            _linked(site, row["address"]),
        )
        for row in found
    ]
    columns = ("Mint", "Amount", "Token account")
    return TableBlock("Tokens", columns, rows, empty="It has none.")


def _linked(site: Site, address: str) -> Cell:
    return site.address_cell(address, href=f"/account?address={quote(address)}")
