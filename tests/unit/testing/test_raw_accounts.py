"""Accounts as bytes in the simulator: what SPL Token writes, and the instructions of a transaction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey as Key
from solders.token.state import Mint, TokenAccount

from mcpsol_py.bodies.addresses import Pubkey
from mcpsol_py.solana.addresses import (
    ED25519_PROGRAM,
    SYSTEM_PROGRAM,
    TOKEN_2022_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.pda import associated_token
from mcpsol_py.testing import Simulator

REPO = Path(__file__).resolve().parents[3]
SPEC = """\
from mcpsol_py.spec import *

@program(address="J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")
class Reader:
    class S(Account):
        n: u64
        owner: Pubkey
    class Read(Event):
        size: u64
        program: Pubkey
        first: u64
    Short = error("It is short")
    @instruction
    def read(self, a: Unchecked, at: u64) -> None:
        emit(self.Read(size=u64(len(a.data)), program=a.program, first=a.data.u64(at)))
    @instruction
    def write(self, s: Mut[S, ...], a: Unchecked) -> None:
        s.n = a.data.u64(0)
    @instruction
    def own(self, sysvar: Instructions, n: u64) -> u64:
        return sysvar.data_at(sysvar.current_index).u64(8)
"""
A, B, C = (Pubkey(bytes([n]) * 32) for n in (1, 2, 3))


@pytest.fixture
def reader(tmp_path: Path) -> Simulator:
    (tmp_path / "spec.py").write_text(SPEC, encoding="utf-8")
    return Simulator(tmp_path / "spec.py")


def read(reader: Simulator, at: int = 0) -> tuple[int, Pubkey, int]:
    outcome = reader.call("read", accounts={"a": A}, args={"at": at})
    assert outcome.error == ""
    [event] = outcome.events
    return int(event.size), event.program, int(event.first)


def test_every_kind_of_account_has_its_bytes(reader: Simulator) -> None:
    reader.put_tokens(A, mint=B, owner=C, amount=77)
    assert read(reader, 64) == (165, Pubkey(TOKEN_PROGRAM), 77)
    data = reader.reader.data(reader.ledger, A)
    found = TokenAccount.from_bytes(bytes(data))
    assert (found.mint, found.owner, found.amount) == (Key(bytes(B)), Key(bytes(C)), 77)
    reader.ledger.tokens.clear()
    reader.put_mint(A, authority=B, supply=5, decimals=3)
    assert read(reader, 36) == (82, Pubkey(TOKEN_PROGRAM), 5)
    mint = Mint.from_bytes(bytes(reader.reader.data(reader.ledger, A)))
    assert (mint.decimals, mint.is_initialized) == (3, True)
    reader.ledger.mints.clear()
    reader.put_data(A, program=C, data=b"\x09" + bytes(8))
    assert read(reader) == (9, C, 9)
    assert (
        reader.call("read", accounts={"a": A}, args={"at": 2}).error
        == "AccountDidNotDeserialize"
    )
    assert (
        reader.call("read", accounts={"a": B}, args={"at": 0}).error
        == "AccountDidNotDeserialize"
    )
    assert reader.ledger.owner(B) == Pubkey(SYSTEM_PROGRAM)


def test_state_has_its_bytes_but_not_for_a_body_that_writes_it(
    reader: Simulator,
) -> None:
    state = reader.new_state("S")
    state.n, state.owner = type(state.n)(12), C
    reader.put_state(A, state)
    assert read(reader, 8) == (48, reader.address, 12)
    same = reader.call("write", accounts={"s": A, "a": A})
    assert same.error == "ConstraintDuplicateMutableAccount"
    reader.put_data(B, program=C, data=b"\x07" + bytes(7))
    assert reader.call("write", accounts={"s": A, "a": B}).error == ""
    assert reader.state(A).n == 7


def test_the_call_is_the_last_instruction_of_its_transaction(reader: Simulator) -> None:
    outcome = reader.call("own", accounts={}, args={"n": 5}, before=[(C, b"\x01")])
    assert (outcome.error, outcome.returned) == ("", 5)


# --- a voucher of the x402 program ----------------------------------------------------------------

HEAD = bytes.fromhex("01003000ffff1000ffff70003200ffff")


def proof(
    channel: Pubkey, amount: int, expires_at: int = 0, signer: Pubkey = C
) -> bytes:
    voucher = b"\x56\x01" + bytes(channel) + amount.to_bytes(8, "little")
    return HEAD + bytes(signer) + bytes(64) + voucher + expires_at.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (proof(A, 40), ""),
        (proof(A, 100), ""),
        (proof(A, 101), "VoucherOverDeposit"),
        (proof(A, 10), "VoucherWatermarkNotMonotonic"),
        (proof(B, 40), "VoucherChannelMismatch"),
        (proof(A, 40, expires_at=50), "VoucherExpired"),
        (proof(A, 40, expires_at=51), ""),
        (proof(A, 40, signer=B), "VoucherSignerMismatch"),
        (proof(A, 40)[:-1], "MalformedEd25519Instruction"),
        (b"\x02" + proof(A, 40)[1:], "MalformedEd25519Instruction"),
        (proof(A, 40).replace(b"\x56\x01", b"\x56\x02"), "VoucherBadMagic"),
        (b"", "MalformedEd25519Instruction"),
    ],
)
def test_a_voucher_is_settled_or_refused_by_its_reason(data: bytes, error: str) -> None:
    x402 = Simulator(REPO / "programs/x402/spec.py")
    x402.set_clock(unix_timestamp=50)
    state = x402.new_state("Channel")
    number = type(state.deposit)
    state.version = type(state.version)(1)
    state.deposit, state.settled, state.authorized_signer = number(100), number(10), C
    x402.put_state(A, state)
    verified = [(ED25519_PROGRAM, data)]
    outcome = x402.call("settle", accounts={"channel": A}, before=verified)
    assert outcome.error == error
    assert x402.state(A).settled == (10 if error else outcome.events[0].settled)
    for before in ([], [(C, data)]):
        missing = x402.call("settle", accounts={"channel": A}, before=before)
        assert missing.error == "MissingEd25519Verification"


# --- token accounts in escrow, by their bytes -----------------------------------------------------

MINT, PAYER = Pubkey(b"\x05" * 32), Pubkey(b"\x06" * 32)
TOKEN_2022 = Pubkey(TOKEN_2022_PROGRAM)
IMMUTABLE_OWNER = b"\x07\0\0\0"


def extension(kind: int, data: bytes = b"", length: int | None = None) -> bytes:
    size = len(data) if length is None else length
    return kind.to_bytes(2, "little") + size.to_bytes(2, "little") + data


class Escrow:
    """A channel with its escrow and its payer's account, under Token-2022."""

    def __init__(
        self, *, on_mint: bytes = b"", on_payer: bytes = b"", **payer: Any
    ) -> None:
        self.x402 = Simulator(REPO / "programs/x402/spec.py")
        state = self.x402.new_state("Channel")
        number = type(state.deposit)
        state.version, state.payer, state.mint = type(state.version)(1), PAYER, MINT
        state.deposit, state.settled = number(100), number(30)
        self.x402.put_state(A, state)
        self.state = state
        self.x402.put_mint(
            MINT, supply=500, decimals=2, program=TOKEN_2022, extensions=on_mint
        )
        self.escrow, self.purse = (self._account(owner) for owner in (A, PAYER))
        more: dict[str, Any] = {"program": TOKEN_2022, "extensions": IMMUTABLE_OWNER}
        self.x402.put_tokens(self.escrow, mint=MINT, owner=A, amount=70, **more)
        more["extensions"] = on_payer
        self.x402.put_tokens(
            self.purse, **{"mint": MINT, "owner": PAYER, "amount": 50, **more, **payer}
        )

    def _account(self, owner: Pubkey) -> Pubkey:
        keys = (Key(bytes(key)) for key in (owner, MINT, TOKEN_2022))
        return Pubkey(associated_token(*keys))

    def top_up(self, amount: int = 20) -> str:
        accounts = {
            "payer": PAYER,
            "channel": A,
            "payer_token_account": self.purse,
            "channel_token_account": self.escrow,
            "mint": MINT,
            "token_program": TOKEN_2022,
        }
        return self.x402.call(
            "top_up", accounts=accounts, args={"amount": amount}
        ).error


def test_a_channel_is_topped_up() -> None:
    escrow = Escrow(
        on_mint=extension(18, bytes(64)) + extension(19, b"name"), on_payer=bytes(3)
    )
    assert escrow.top_up() == ""
    assert escrow.x402.tokens(escrow.escrow) == 90
    assert escrow.x402.state(A).deposit == 120
    assert escrow.top_up(31) == "InsufficientFunds"
    assert escrow.x402.state(A).deposit == 120
    assert escrow.top_up(2**64 - 100) == "TopUpDepositOverflow"


@pytest.mark.parametrize(
    ("found", "error"),
    [
        ({"on_mint": extension(1, bytes(108))}, "MalformedMintTokenExtensions"),
        ({"on_mint": extension(24)}, "MalformedMintTokenExtensions"),
        ({"on_mint": extension(18, length=1)}, "MalformedMintTokenExtensions"),
        ({"on_mint": b"\x12"}, "MalformedMintTokenExtensions"),
        ({"on_payer": extension(8, b"\x01")}, "InvalidPayerTokenExtensions"),
        ({"on_payer": b"\x07\0\0"}, "InvalidPayerTokenExtensions"),
        ({"owner": B}, "PayerAccountMismatch"),
        ({"mint": B}, "PayerAccountMismatch"),
        ({"program": Pubkey(TOKEN_PROGRAM)}, "InvalidPayerTokenAccount"),
    ],
)
def test_what_cannot_be_in_escrow_is_refused(found: dict[str, Any], error: str) -> None:
    assert Escrow(**found).top_up() == error


def test_a_frozen_account_and_one_that_is_not_there() -> None:
    escrow = Escrow()
    escrow.x402.ledger.tokens[escrow.purse].is_frozen = True
    assert escrow.top_up() == "PayerAccountMismatch"
    del escrow.x402.ledger.tokens[escrow.purse]
    assert escrow.top_up() == "InvalidPayerTokenAccount"
