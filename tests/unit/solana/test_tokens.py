"""Token accounts, mints, multisigs and extensions, against the bytes that solders makes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.account import Account
from solders.pubkey import Pubkey
from solders.token.state import Mint as SoldersMint
from solders.token.state import Multisig as SoldersMultisig
from solders.token.state import TokenAccount as SoldersAccount
from solders.token.state import TokenAccountState as SoldersState

from mcpsol_py.solana import tokens
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.solana.tokens import Extension, Mint, TokenAccount, TokenAccountState

KEYS = st.binary(min_size=32, max_size=32).map(Pubkey)
U64 = st.integers(0, 2**64 - 1)
A, B, C, D = (Pubkey(bytes([i]) * 32) for i in range(1, 5))


def solders_account(account: TokenAccount) -> bytes:
    states = [SoldersState.Uninitialized, SoldersState.Initialized, SoldersState.Frozen]
    return bytes(
        SoldersAccount(
            account.mint,
            account.owner,
            account.amount,
            account.delegate,
            states[account.state],
            account.rent_reserve,
            account.delegated_amount,
            account.close_authority,
        )
    )


@st.composite
def token_accounts(draw: st.DrawFn) -> TokenAccount:
    delegate = draw(st.none() | KEYS)
    return TokenAccount(
        mint=draw(KEYS),
        owner=draw(KEYS),
        amount=draw(U64),
        delegate=delegate,
        delegated_amount=0 if delegate is None else draw(U64),
        close_authority=draw(st.none() | KEYS),
        rent_reserve=draw(st.none() | U64),
        state=draw(
            st.sampled_from([TokenAccountState.INITIALIZED, TokenAccountState.FROZEN])
        ),
    )


def mint_bytes(mint: Mint) -> bytes:
    return bytes(
        SoldersMint(
            mint.mint_authority,
            mint.supply,
            mint.decimals,
            mint.is_initialized,
            mint.freeze_authority,
        )
    )


# --- whole accounts --------------------------------------------------------------------------


@given(token_accounts())
def test_a_token_account_has_the_bytes_that_solders_writes(
    account: TokenAccount,
) -> None:
    data = account.to_bytes()
    assert data == solders_account(account)
    assert len(data) == tokens.TOKEN_ACCOUNT_SIZE


@given(token_accounts())
def test_a_token_account_is_read_back(account: TokenAccount) -> None:
    assert TokenAccount.from_bytes(account.to_bytes()) == account
    assert tokens.parse_token_account(account.to_bytes()) == account


@given(st.builds(Mint, st.none() | KEYS, U64, st.integers(0, 255), st.none() | KEYS))
def test_a_mint_has_the_bytes_that_solders_writes_and_is_read_back(mint: Mint) -> None:
    data = mint.to_bytes()
    assert data == mint_bytes(mint)
    assert len(data) == tokens.MINT_SIZE
    assert tokens.parse_mint(data) == mint


def test_an_allowance_without_a_delegate_is_nothing() -> None:
    data = TokenAccount(A, B, delegate=None, delegated_amount=5).to_bytes()
    assert TokenAccount.from_bytes(data).delegated_amount == 0


@pytest.mark.parametrize("kind", [TokenAccount, Mint])
def test_too_few_bytes_are_refused(kind: type[TokenAccount] | type[Mint]) -> None:
    with pytest.raises(ValueError, match=r"expected a .* bytes, got 5"):
        kind.from_bytes(bytes(5))


# --- accounts on chain -----------------------------------------------------------------------


def test_a_wrapped_sol_account_is_native() -> None:
    data = TokenAccount(A, B, 7, rent_reserve=2_039_280).to_bytes()
    read = tokens.read_token_account(Account(1, data, TOKEN_PROGRAM))
    assert read is not None
    assert read.is_native
    assert not TokenAccount(A, B).is_native


@pytest.mark.parametrize(
    "account",
    [
        None,
        Account(5, b"", SYSTEM_PROGRAM),
        Account(1, TokenAccount(A, B).to_bytes(), SYSTEM_PROGRAM),
        Account(1, bytes(165), TOKEN_PROGRAM),
        Account(1, Mint().to_bytes(), TOKEN_PROGRAM),
        Account(1, TokenAccount(A, B).to_bytes() + b"\x01\0\0", TOKEN_2022_PROGRAM),
        Account(
            1, tokens.forged_multisig(TokenAccount(A, B).to_bytes()), TOKEN_2022_PROGRAM
        ),
    ],
)
def test_other_accounts_are_not_read_as_token_accounts(account: Account | None) -> None:
    assert tokens.read_token_account(account) is None


def test_byte_165_tells_a_token_account_from_a_mint() -> None:
    account = TokenAccount(A, B, 3).to_bytes() + b"\x02\0\0"
    mint = Mint(A, 9, 6).to_bytes().ljust(165, b"\0") + b"\x01\0\0"
    assert tokens.parse_token_account(account) == TokenAccount(A, B, 3)
    assert tokens.parse_mint(mint) == Mint(A, 9, 6)
    assert tokens.parse_mint(account) is None
    assert tokens.parse_token_account(mint) is None


def test_a_multisig_of_solders_is_read() -> None:
    signers = (A, B, C)
    state = SoldersMultisig(2, 3, True, [*signers, *[Pubkey.default()] * 8])
    read = tokens.read_multisig(Account(1, bytes(state), TOKEN_PROGRAM))
    assert read == tokens.Multisig(2, signers)


@pytest.mark.parametrize("head", [b"\1\1\0", b"\1\0\1", b"\1\x0c\1"])
def test_a_multisig_out_of_use_or_with_an_odd_count_is_not_read(head: bytes) -> None:
    assert (
        tokens.read_multisig(Account(1, head.ljust(355, b"\1"), TOKEN_PROGRAM)) is None
    )


def test_filters_find_the_owner_and_the_mint() -> None:
    data = TokenAccount(A, B).to_bytes()
    for offset, wanted in (tokens.owner_filter(B), tokens.mint_filter(A)):
        assert data[offset : offset + 32] == wanted


# --- one field -------------------------------------------------------------------------------


def on_chain(data: bytes, owner: Pubkey = TOKEN_PROGRAM) -> Account:
    return Account(1, data, owner)


MINT_ACCOUNT = on_chain(
    Mint(A, supply=1_000, decimals=6).to_bytes(), TOKEN_2022_PROGRAM
)
TOKENS = on_chain(TokenAccount(A, B, 77).to_bytes())


@pytest.mark.parametrize(
    ("type_name", "field", "account", "expected"),
    [
        ("Mint", "supply", MINT_ACCOUNT, (struct.pack("<Q", 1_000), 1_000)),
        ("Mint", "decimals", MINT_ACCOUNT, (b"\x06", 6)),
        (None, "decimals", MINT_ACCOUNT, (b"\x06", 6)),
        ("TokenAccount", "mint", TOKENS, (bytes(A), A)),
        ("TokenAccount", "owner", TOKENS, (bytes(B), B)),
        ("Account", "authority", TOKENS, (bytes(B), B)),
        (None, "amount", TOKENS, (struct.pack("<Q", 77), 77)),
    ],
)
def test_one_field_as_bytes_and_value(
    type_name: str | None, field: str, account: Account, expected: tuple[bytes, Any]
) -> None:
    assert tokens.state_field(type_name, field, account) == expected


@pytest.mark.parametrize(
    ("type_name", "field", "account"),
    [
        ("Mint", "supply", on_chain(bytes(82), D)),
        ("Mint", "supply", on_chain(bytes(40))),
        ("Mint", "price", on_chain(bytes(82))),
        ("Mint", "has_mint_authority", on_chain(bytes(82))),
        ("Vault", "amount", TOKENS),
    ],
)
def test_a_field_that_is_not_certain_is_not_guessed(
    type_name: str, field: str, account: Account
) -> None:
    assert tokens.state_field(type_name, field, account) is None


# --- extensions ------------------------------------------------------------------------------


def extended(*found: tuple[int, bytes]) -> Account:
    rows = b"".join(struct.pack("<HH", kind, len(data)) + data for kind, data in found)
    return on_chain(
        Mint().to_bytes().ljust(165, b"\0") + b"\x01" + rows, TOKEN_2022_PROGRAM
    )


def test_extensions_end_at_type_zero() -> None:
    found = tokens.extensions(extended((3, bytes(A)), (0, b""), (12, bytes(B))))
    assert found == {Extension.MINT_CLOSE_AUTHORITY: bytes(A)}


def test_only_token_2022_has_extensions() -> None:
    account = extended((3, bytes(A)))
    assert tokens.extensions(Account(1, account.data, TOKEN_PROGRAM)) == {}
    assert tokens.extensions(None) == {}


def test_a_transfer_fee_config() -> None:
    data = bytes(A) + bytes(B) + struct.pack("<Q", 41) + bytes(36)
    found = tokens.extensions(extended((1, data)))
    assert tokens.transfer_fee_config(found) == tokens.TransferFeeConfig(B, 41)
    assert tokens.transfer_fee_config({1: data[:71]}) is None


def test_withheld_fees_of_a_token_account() -> None:
    assert tokens.withheld_fees({2: struct.pack("<Q", 9)}) == 9
    assert tokens.withheld_fees({2: b"\x01"}) == 0
    assert tokens.withheld_fees({}) == 0


def test_an_address_in_an_extension() -> None:
    kind = Extension.PERMANENT_DELEGATE
    assert tokens.extension_address({kind: bytes(A)}, kind) == A
    assert tokens.extension_address({kind: bytes(32)}, kind) is None
    assert tokens.extension_address({}, kind) is None


# --- changed bytes ---------------------------------------------------------------------------


@given(token_accounts(), KEYS, U64, st.binary(max_size=20))
def test_patching_a_token_account_changes_that_field_only(
    account: TokenAccount, other: Pubkey, more: int, rest: bytes
) -> None:
    data = account.to_bytes() + rest
    changes: dict[str, Pubkey | int] = {
        "mint": other,
        "owner": other,
        "amount": more,
        "state": 2,
    }
    for name, value in changes.items():
        changed = tokens.patch_token_account(data, **{name: value})
        expected = {f: getattr(account, f) for f in TokenAccount.__slots__} | {
            name: value
        }
        assert changed == TokenAccount(**expected).to_bytes() + rest


@given(KEYS, U64, U64, KEYS)
def test_patching_a_mint_changes_that_field_only(
    authority: Pubkey, supply: int, more: int, other: Pubkey
) -> None:
    data = Mint(authority, supply, 6).to_bytes() + b"rest"
    assert (
        tokens.patch_mint(data, supply=more)
        == Mint(authority, more, 6).to_bytes() + b"rest"
    )
    assert (
        tokens.patch_mint(data, decimals=7)
        == Mint(authority, supply, 7).to_bytes() + b"rest"
    )
    assert (
        tokens.patch_mint(data, mint_authority=other)
        == Mint(other, supply, 6).to_bytes() + b"rest"
    )


def test_a_mint_can_lose_its_authority_and_keep_the_key_s_bytes() -> None:
    data = tokens.patch_mint(Mint(A, 1, 6).to_bytes(), has_mint_authority=0)
    assert Mint.from_bytes(data).mint_authority is None
    assert bytes(A) in data


def test_a_forged_multisig_reads_as_a_token_account_to_a_careless_program() -> None:
    data = tokens.forged_multisig(TokenAccount(A, B, 5).to_bytes())
    assert len(data) == tokens.MULTISIG_SIZE
    assert data[165] == 2
    assert TokenAccount.from_bytes(data) == TokenAccount(A, B, 5)
