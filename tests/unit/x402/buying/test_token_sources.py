"""The token accounts that a wallet pays from: what they can give is known before anything is signed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements

from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.tokens import TokenAccount
from mcpsol_py.x402.buying.agent import Transfer
from mcpsol_py.x402.buying.batch_transfer import batch_spendings
from mcpsol_py.x402.buying.budget import Budget, SpendingLimit, SpendingLimits
from mcpsol_py.x402.buying.mcp_buyer import Buyer
from mcpsol_py.x402.buying.paying import CallPayer
from mcpsol_py.x402.buying.token_sources import TokenSources
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.exact.mechanism import ExactClient
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.store.database import Database
from tests.support.x402_sellers import serve
from tests.support.x402_shop import Shop
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair

PRICE = 10_000
AGENT = keypair(41)
FROZEN = 2


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'wallet.db'}")
    yield made
    made.close()


def own_account(owner: Pubkey | None = None) -> Pubkey:
    return associated_token_address(owner or AGENT.pubkey(), USDC, TOKEN_PROGRAM)


def put(shop: Shop, address: Pubkey, **fields: Any) -> str:
    """A token account of the shop's token, or with owner=None no account."""
    if fields.get("owner", AGENT) is None:
        shop.world.svm.set_account(address, Account(0, b"", Pubkey.default()))
    else:
        held = TokenAccount(mint=USDC, **{"owner": AGENT.pubkey(), **fields})
        shop.world.set_account(address, held.to_bytes(), TOKEN_PROGRAM)
    return str(address)


def delegated(
    shop: Shop, amount: int, balance: int = 10**6, *, to: Keypair = AGENT
) -> str:
    owner = Keypair().pubkey()
    return put(
        shop,
        own_account(owner),
        owner=owner,
        amount=balance,
        delegate=to.pubkey() if amount else None,
        delegated_amount=amount,
    )


def payer_of(shop: Shop, database: Database, *sources: str) -> CallPayer:
    limits = SpendingLimits({str(USDC): SpendingLimit()})
    budget = Budget(database, str(AGENT.pubkey()), limits, session="s1")
    return wallet_payer(
        AGENT, shop.world.chain, budget, database, sources=sources, patience=2.0
    )


async def quote(shop: Shop, payer: CallPayer, city: str = "Bern") -> str:
    """Buy a quote and return "paid", or the error's code."""
    async with Client(serve(shop)) as client:
        try:
            await Buyer(client, payer).call_tool("quote", {"city": city})
        except PaymentError as error:
            return error.code
        return "paid"


async def checked(payer: CallPayer, asked: PaymentRequirements) -> str:
    """As `quote`, without paying."""
    try:
        await payer.check(asked)
    except PaymentError as error:
        return error.code
    return "paid"


#: What the wallet's account is, and the named error.
ACCOUNTS: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"owner": None}, "NO_TOKEN_ACCOUNT"),
    "empty": ({"amount": 0}, "INSUFFICIENT_FUNDS"),
    "one unit too little": ({"amount": PRICE - 1}, "INSUFFICIENT_FUNDS"),
    "enough": ({"amount": PRICE}, "paid"),
    "frozen": ({"amount": PRICE, "state": FROZEN}, "ACCOUNT_FROZEN"),
    "of another owner": (
        {"amount": PRICE, "owner": keypair(42).pubkey()},
        "NO_DELEGATION",
    ),
}


@pytest.mark.parametrize("name", ACCOUNTS)
async def test_the_account_is_looked_at_before_anything_is_signed(
    shop: Shop, database: Database, name: str
) -> None:
    fields, outcome = ACCOUNTS[name]
    put(shop, own_account(), **fields)
    payer = payer_of(shop, database)
    # An estimate.
    assert await checked(payer, shop.world.requirements(PRICE)) == outcome
    assert payer.budget.history() == []
    assert await quote(shop, payer) == outcome
    spent = [PRICE] if outcome == "paid" else []
    assert [row.amount for row in payer.budget.history()] == spent
    assert shop.paid == sum(spent)


@pytest.mark.parametrize(
    "name", [name for name, row in ACCOUNTS.items() if row[1] != "paid"]
)
def test_the_scheme_itself_signs_nothing_that_cannot_be_paid(
    shop: Shop, name: str
) -> None:
    """Also for those who give it to the official client, without a budget."""
    fields, outcome = ACCOUNTS[name]
    put(shop, own_account(), **fields)
    with pytest.raises(PaymentError) as caught:
        ExactClient(AGENT, shop.world.chain).create_payment_payload(
            shop.world.requirements(PRICE)
        )
    assert caught.value.code == outcome


@pytest.mark.parametrize("state", ["missing", "frozen"])
async def test_a_payee_who_cannot_be_paid_is_named(
    shop: Shop, database: Database, state: str
) -> None:
    put(shop, own_account(), amount=PRICE)
    payee = shop.world.payee.pubkey()
    frozen = {"owner": payee, "state": FROZEN} if state == "frozen" else {"owner": None}
    put(shop, own_account(payee), **frozen)
    payer = payer_of(shop, database)
    code = "token_account_frozen" if state == "frozen" else "payee_account_missing"
    assert await quote(shop, payer) == code
    assert await checked(payer, shop.world.requirements(PRICE)) == code
    assert [row.state for row in payer.budget.history()] in ([], ["released"])


async def test_parallel_calls_stay_within_the_balance(
    shop: Shop, database: Database
) -> None:
    put(shop, own_account(), amount=3 * PRICE + PRICE // 2)
    payer = payer_of(shop, database)
    done = await asyncio.gather(*(quote(shop, payer, str(n)) for n in range(7)))
    assert sorted(done) == ["INSUFFICIENT_FUNDS"] * 4 + ["paid"] * 3
    assert shop.paid == 3 * PRICE


async def test_several_accounts_of_a_token_add_up(
    shop: Shop, database: Database
) -> None:
    """Each payment comes from the first account that can still give it."""
    sources = [delegated(shop, PRICE + 1), delegated(shop, 2 * PRICE)]
    payer = payer_of(shop, database, *sources)
    done = [await quote(shop, payer, str(n)) for n in range(4)]
    assert done == ["paid"] * 3 + ["BUDGET_EXCEEDED"]
    paid_from = [row.source for row in reversed(payer.budget.history())]
    assert paid_from == [sources[0], sources[1], sources[1]]


async def test_parallel_calls_use_all_accounts(shop: Shop, database: Database) -> None:
    sources = [delegated(shop, PRICE), delegated(shop, PRICE), delegated(shop, PRICE)]
    payer = payer_of(shop, database, *sources)
    done = await asyncio.gather(*(quote(shop, payer, str(n)) for n in range(5)))
    assert done.count("paid") == 3
    assert {row.source for row in payer.budget.history()} == set(sources)


async def test_accounts_that_cannot_be_used_are_passed_over(
    shop: Shop, database: Database
) -> None:
    revoked, other = delegated(shop, 0), delegated(shop, PRICE, to=keypair(43))
    closed = put(shop, Keypair().pubkey(), owner=None)
    poor, good = delegated(shop, PRICE, balance=PRICE - 1), delegated(shop, PRICE)
    payer = payer_of(shop, database, revoked, closed, other, poor, good)
    assert await quote(shop, payer) == "paid"
    (row,) = payer.budget.history()
    assert row.source == good
    found = TokenSources(shop.world.chain, AGENT.pubkey(), [revoked, closed]).all()
    codes = [one.refusal.code if one.refusal else None for one in found]
    assert codes == ["NO_DELEGATION", "NO_TOKEN_ACCOUNT"]


async def test_the_wallets_own_account_pays_tokens_without_a_source(
    shop: Shop, database: Database
) -> None:
    put(shop, own_account(), amount=PRICE)
    payer = payer_of(shop, database, put(shop, Keypair().pubkey(), owner=None))
    assert await quote(shop, payer) == "paid"


async def test_a_check_reserves_nothing_and_sees_what_is_reserved(
    shop: Shop, database: Database
) -> None:
    put(shop, own_account(), amount=PRICE + 1)
    payer = payer_of(shop, database)
    asked = shop.world.requirements(PRICE)
    for _ in range(3):
        assert await checked(payer, asked) == "paid"
    assert await quote(shop, payer) == "paid"
    assert await checked(payer, asked) == "INSUFFICIENT_FUNDS"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"scheme": "deferred"}, "INVALID_REQUIREMENT"),
        ({"scheme": "upto"}, "invalid_payment_requirements"),
        ({"network": "eip155:8453"}, "INVALID_REQUIREMENT"),
        ({"asset": str(keypair(44).pubkey())}, "ASSET_NOT_ALLOWED"),
        ({"extra": {"feePayer": str(AGENT.pubkey())}}, "invalid_payment_requirements"),
    ],
)
async def test_a_check_refuses_what_would_not_be_paid(
    shop: Shop, database: Database, change: dict[str, Any], code: str
) -> None:
    put(shop, own_account(), amount=PRICE)
    asked: PaymentRequirements = shop.world.requirements(PRICE).model_copy(
        update=change
    )
    assert await checked(payer_of(shop, database), asked) == code


def test_the_payments_of_a_batch_come_from_several_accounts(
    shop: Shop, database: Database
) -> None:
    sources = [delegated(shop, PRICE), delegated(shop, PRICE)]
    budget = payer_of(shop, database).budget
    batch = [Transfer(f"pay_{n:016}", "payee", str(USDC), PRICE) for n in range(2)]
    rows = batch_spendings(batch, wallet=budget.wallet, session="s1", network=DEVNET)
    accounts = TokenSources(shop.world.chain, AGENT.pubkey(), sources)
    held = budget.reserve_all(rows, sources=lambda: accounts.of(str(USDC)))
    assert [row.source for row in held] == sources
