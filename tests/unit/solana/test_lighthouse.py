"""Assertions in the bytes of wallets' own: Phantom's and Solflare's, from transactions that landed on mainnet."""

from __future__ import annotations

import pytest
from solders.pubkey import Pubkey

from mcpsol_py.solana.addresses import (
    GUARD_PROGRAM,
    LIGHTHOUSE_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.lighthouse import (
    Operator,
    assert_data,
    assert_info,
    data_assertion,
    lamports_at_least,
    owned_by,
    supply_at_most,
    tokens_at_least,
    without_data,
)

KEY = Pubkey(bytes([9]) * 32)
#: The assertions of landed instructions, and the same in our words. Each is: instruction, log level, count, assertions.
LANDED = {
    # Phantom, on the fee payer: lamports, owner, data length.
    "060403003ffc2e24040000000403000001000000000000000000": [
        lamports_at_least(17_786_928_191),
        owned_by(SYSTEM_PROGRAM),
        without_data(),
    ],
    # Phantom, on a system account.
    "06040203000001000000000000000000": [owned_by(SYSTEM_PROGRAM), without_data()],
}


@pytest.mark.parametrize("landed", LANDED)
def test_assertions_about_an_account_are_the_bytes_that_wallets_append(
    landed: str,
) -> None:
    wanted = bytes.fromhex(landed)
    made = assert_info(KEY, LANDED[landed])
    data = bytes(made.data)
    assert (data[0], data[2:]) == (wanted[0], wanted[2:])
    assert data[1] == 0, "silent, where those wallets log what failed"
    assert made.program_id == LIGHTHOUSE_PROGRAM
    (meta,) = made.accounts
    assert (meta.pubkey, meta.is_signer, meta.is_writable) == (KEY, False, False)


def test_the_first_of_solflares_assertions_in_6LHBhFVL() -> None:
    """AssertAccountInfoMulti of that transaction: lamports >= 40,305,008, lamports <= …, owner == System."""
    landed = bytes(
        [
            6,
            5,
            3,
            0,
            112,
            1,
            103,
            2,
            0,
            0,
            0,
            0,
            4,
            0,
            100,
            2,
            1,
            4,
            0,
            0,
            0,
            0,
            5,
            3,
            0,
            0,
        ]
    )
    assert landed[3:13] == lamports_at_least(40_305_008)
    assert landed[-3:] == owned_by(SYSTEM_PROGRAM)


def test_assertions_about_data_by_the_programs_own_declaration() -> None:
    """DataValueAssertion: U32 is variant 5, U64 7, Pubkey 12; IntegerOperator: >= is 4, <= is 5. Offsets are LEB128."""
    found = assert_data(
        KEY,
        [
            tokens_at_least(1),
            supply_at_most(2),
            data_assertion(129, bytes(4)),
            data_assertion(300, bytes(KEY)),
        ],
        GUARD_PROGRAM,
    )
    assert found.program_id == GUARD_PROGRAM
    assert bytes(found.data) == b"".join(
        [
            bytes([3, 0, 4]),
            bytes([64, 7, 1, 0, 0, 0, 0, 0, 0, 0, 4]),
            bytes([36, 7, 2, 0, 0, 0, 0, 0, 0, 0, 5]),
            bytes([0x81, 0x01, 5, 0, 0, 0, 0, 0]),
            bytes([0xAC, 0x02, 12]) + bytes(KEY) + bytes([0]),
        ]
    )


def test_known_owners_and_operators_have_lighthouses_numbers() -> None:
    owners = (SYSTEM_PROGRAM, TOKEN_PROGRAM, TOKEN_2022_PROGRAM)
    assert [owned_by(owner)[1] for owner in owners] == [0, 1, 2]
    assert (Operator.EQUAL, Operator.AT_LEAST, Operator.AT_MOST) == (0, 4, 5)
