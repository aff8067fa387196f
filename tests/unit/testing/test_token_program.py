"""Transfers in the simulator are those of the Token-2022 program in LiteSVM."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import pytest
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction
from solders.transaction_metadata import FailedTransactionMetadata

from mcpsol_py.bodies.addresses import Pubkey as Address
from mcpsol_py.bodies.numbers import u8, u64
from mcpsol_py.errors import NotUsable
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.solana.tokens import Mint, TokenAccount
from mcpsol_py.testing.ledger import Ledger, MintState, OwnState, TokenState
from mcpsol_py.testing.token_program import TOKEN_CALLS, TokenFailure
from tests.support.token_extensions import fees, listed

OWNER, MINT = Keypair(), Pubkey.new_unique()
SOURCE, DESTINATION = Pubkey.new_unique(), Pubkey.new_unique()
HELD = 10**9
WITHHOLDS = listed(2, struct.pack("<Q", 7))


@dataclass(frozen=True)
class Case:
    """A transfer: the extensions of its accounts, and whether the mint is given."""

    amount: int
    mint: bytes = fees(0)
    accounts: bytes = WITHHOLDS
    is_checked: bool = True


CASES = {
    "the newer fee": Case(1_001),
    "nothing": Case(0),
    "a fee that is rounded up": Case(1),
    "the older fee": Case(1_001, fees(9)),
    "at most": Case(10**6, fees(9)),
    "without the mint": Case(1_001, is_checked=False),
    "an account that withholds nothing": Case(1_001, accounts=b""),
    "no fee, and an account that withholds nothing": Case(0, accounts=b""),
    "a mint without fees": Case(1_001, b"", b""),
    "a paused mint": Case(1, listed(26, bytes(32) + b"\1"), listed(27, b"")),
    "a mint that could be paused": Case(1, listed(26, bytes(33)), listed(27, b"")),
    "one that could be paused, unnamed": Case(1, b"", listed(27, b""), False),
    "a hook without a program": Case(1, listed(14, bytes(64)), listed(15, b"\0")),
    "a hook, unnamed": Case(1, b"", listed(15, b"\0"), False),
    "tokens that do not move": Case(1, listed(9, b""), listed(13, b"")),
    "an account that wants a memo": Case(1, b"", listed(8, b"\1")),
    "an account that wants none": Case(1, b"", listed(8, b"\0")),
}


def data_of(base: bytes, kind: int, extensions: bytes) -> bytes:
    return base.ljust(165, b"\0") + bytes([kind]) + extensions if extensions else base


def on_chain(case: Case) -> tuple[bool, list[bytes]]:
    """Whether the transfer succeeds, and both accounts after it."""
    svm = LiteSVM()
    svm.airdrop(OWNER.pubkey(), 10**9)
    mint = Mint(supply=HELD, decimals=6).to_bytes()
    put = {MINT: data_of(mint, 1, case.mint)}
    for at, amount in ((SOURCE, HELD), (DESTINATION, 0)):
        held = TokenAccount(MINT, OWNER.pubkey(), amount).to_bytes()
        put[at] = data_of(held, 2, case.accounts)
    for at, data in put.items():
        svm.set_account(at, Account(10**9, data, TOKEN_2022_PROGRAM))
    keys = [SOURCE, *([MINT] if case.is_checked else []), DESTINATION]
    metas = [AccountMeta(key, False, key != MINT) for key in keys]
    metas.append(AccountMeta(OWNER.pubkey(), True, False))
    data = struct.pack("<BQB", 12, case.amount, 6) if case.is_checked else b""
    data = data or struct.pack("<BQ", 3, case.amount)
    ix = Instruction(TOKEN_2022_PROGRAM, data, metas)
    message = Message.new_with_blockhash([ix], OWNER.pubkey(), svm.latest_blockhash())
    sent = svm.send_transaction(VersionedTransaction(message, [OWNER]))
    after = [svm.get_account(at) for at in (SOURCE, DESTINATION)]
    ok = not isinstance(sent, FailedTransactionMetadata)
    return ok, [bytes(account.data) for account in after if account is not None]


def in_python(case: Case) -> tuple[bool, list[TokenState]]:
    program = Address(TOKEN_2022_PROGRAM)
    ledger = Ledger(OwnState(Address(bytes(32)), {}))
    ledger.mints[Address(MINT)] = MintState(None, u64(HELD), u8(6), program, case.mint)
    states = [
        TokenState(
            Address(MINT),
            Address(OWNER.pubkey()),
            u64(amount),
            program=program,
            extensions=case.accounts,
        )
        for amount in (HELD, 0)
    ]
    ledger.tokens = dict(zip(map(Address, (SOURCE, DESTINATION)), states, strict=True))
    roles = {"source": SOURCE, "destination": DESTINATION, "authority": OWNER.pubkey()}
    values = {"amount": u64(case.amount)}
    if case.is_checked:
        roles["mint"], values["decimals"] = MINT, u8(6)  # type: ignore[assignment]  # a number of another type
    try:
        TOKEN_CALLS["transfer"](
            ledger, {k: Address(v) for k, v in roles.items()}, **values
        )
    except TokenFailure:
        return False, states
    return True, states


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_transfers_are_those_of_the_token_program(case: Case) -> None:
    ok, after = on_chain(case)
    simulated, states = in_python(case)
    assert simulated is ok
    if ok:
        for data, state in zip(after, states, strict=True):
            assert struct.unpack_from("<Q", data, 64) == (int(state.amount),)
            assert data[166:] == state.extensions


def test_a_mint_that_calls_a_program_is_not_simulated() -> None:
    with pytest.raises(NotUsable, match="transfer hook"):
        in_python(Case(1, listed(14, bytes(32) + b"\7" * 32), listed(15, b"\0")))
