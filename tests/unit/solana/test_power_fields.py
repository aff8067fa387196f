"""Fields of authority, in accounts that solders writes."""

from __future__ import annotations

from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.state import Mint

from mcpsol_py.solana.addresses import STAKE_PROGRAM, SYSTEM_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.power_fields import PowerField, power_fields
from tests.unit.calls.owned_accounts import ME, THEM, token


def test_a_token_account_of_the_owner() -> None:
    account = token(ME)
    fields = power_fields(account, [str(ME)])
    assert fields == [
        PowerField(32, bytes(ME)),
        PowerField(72, bytes(4)),
        PowerField(129, bytes(4)),
    ]
    assert power_fields(token(THEM), [str(ME)]) == []


def test_a_delegate_and_a_closer_are_kept_and_the_allowance_may_shrink() -> None:
    fields = power_fields(
        token(ME, 9, delegate=THEM, delegated=7, closer=THEM), [str(ME)]
    )
    assert fields == [
        PowerField(32, bytes(ME)),
        PowerField(72, (1).to_bytes(4, "little")),
        PowerField(76, bytes(THEM)),
        PowerField(121, (7).to_bytes(8, "little"), at_most=True),
        PowerField(129, (1).to_bytes(4, "little")),
        PowerField(133, bytes(THEM)),
    ]


def test_a_mint_that_names_the_owner() -> None:
    mint = Mint(
        mint_authority=ME,
        supply=5,
        decimals=0,
        is_initialized=True,
        freeze_authority=None,
    )
    fields = power_fields(Account(1, bytes(mint), TOKEN_PROGRAM), [str(ME)])
    assert fields == [
        PowerField(0, (1).to_bytes(4, "little")),
        PowerField(4, bytes(ME)),
        PowerField(46, bytes(4)),
    ]


def test_a_stake_account_keeps_its_authorities_and_its_lockup() -> None:
    head = (2).to_bytes(4, "little") + bytes(8) + bytes(ME) * 2
    account = Account(1, head + bytes(48) + bytes(76), STAKE_PROGRAM)
    places = [
        (field.offset, len(field.value)) for field in power_fields(account, [str(ME)])
    ]
    assert places == [(12, 32), (44, 32), (76, 8), (84, 8), (92, 32)]


def test_accounts_of_other_programs_and_empty_ones_have_none() -> None:
    other = Account(1, bytes(ME), Pubkey(bytes([99]) * 32))
    assert power_fields(other, [str(ME)]) == []
    assert power_fields(Account(1, b"", SYSTEM_PROGRAM), [str(ME)]) == []
