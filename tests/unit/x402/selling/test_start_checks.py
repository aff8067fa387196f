"""What is checked before the first sale."""

from __future__ import annotations

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.errors import TransportError
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import DEVNET
from mcpsol_py.x402.selling.start_checks import check_payee, check_sponsors
from tests.unit.x402.payments import (
    TOKEN_PROGRAM,
    USDC,
    World,
    keypair,
    mint_data,
    token_data,
)


def texts(world: World, **changed: str) -> list[str]:
    terms = world.requirements().model_copy(update=changed)
    found = check_payee(world.chain, [terms])
    assert {finding.level for finding in found} <= {"error"}
    return [finding.text for finding in found]


def test_a_payee_who_can_receive_has_no_findings() -> None:
    assert texts(World()) == []


def test_a_payee_without_a_token_account_is_told_how_to_make_it() -> None:
    world, other = World(), keypair(9).pubkey()
    (text,) = texts(world, pay_to=str(other))
    assert f"{other} has no token account for USDC ({USDC})" in text
    assert f"spl-token create-account {USDC} --owner {other}" in text


def test_a_token_that_does_not_exist_is_named() -> None:
    mint = Pubkey.new_unique()
    assert texts(World(), asset=str(mint)) == [
        f"the token {mint} does not exist on this cluster"
    ]


def test_other_decimals_than_the_symbol_has_are_an_error() -> None:
    world = World()
    world.set_account(USDC, mint_data(9), TOKEN_PROGRAM)
    (text,) = texts(world)
    assert "USDC has 6 decimals" in text
    assert "has 9 on this cluster" in text


def test_an_account_that_was_given_away_is_an_error() -> None:
    world, thief = World(), keypair(8).pubkey()
    payee = world.payee.pubkey()
    at = associated_token_address(payee, USDC, TOKEN_PROGRAM)
    world.set_account(at, token_data(USDC, thief, 0), TOKEN_PROGRAM)
    (text,) = texts(world)
    assert f"belongs to {thief}, not to {payee}" in text


def test_a_frozen_account_is_an_error() -> None:
    world = World()
    payee = world.payee.pubkey()
    frozen = bytearray(token_data(USDC, payee, 0))
    frozen[108] = 2
    at = associated_token_address(payee, USDC, TOKEN_PROGRAM)
    world.set_account(at, bytes(frozen), TOKEN_PROGRAM)
    (text,) = texts(world)
    assert "is frozen" in text


def test_sponsors_without_sol_are_an_error_and_low_ones_a_warning() -> None:
    world = World()
    rich, poor, low = keypair(2).pubkey(), keypair(7).pubkey(), keypair(8).pubkey()
    world.svm.set_account(low, Account(1_000_000, b"", Pubkey.default()))
    assert check_sponsors(world.chain, [str(rich)]) == []
    (none,) = check_sponsors(world.chain, [str(poor)])
    assert (none.level, str(poor) in none.text) == ("error", True)
    warned = check_sponsors(world.chain, [str(rich), str(poor), str(low)])
    assert [
        (found.level, found.text.rpartition("enough for ")[2]) for found in warned
    ] == [
        ("warning", "0 payments"),
        ("warning", "100 payments"),
    ]


def test_a_chain_that_does_not_answer_is_not_a_no() -> None:
    class Down(ScriptedTransport):
        async def get_accounts(self, keys: object) -> list[Account | None]:
            raise TransportError("node", "it does not answer")

    chain = PaymentChain(Down(), network=DEVNET)
    found = [
        *check_payee(chain, [World().requirements()]),
        *check_sponsors(chain, [str(keypair(2).pubkey())]),
    ]
    assert [finding.level for finding in found] == ["warning", "warning"]
    assert all("not checked" in finding.text for finding in found)


def test_nothing_for_sale_needs_no_check() -> None:
    world = World()
    assert check_payee(world.chain, []) == []
    assert check_sponsors(world.chain, []) == []
