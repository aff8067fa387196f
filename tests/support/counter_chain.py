"""A chain with the counter, and the counter's instructions written out by hand."""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path

from solders.instruction import AccountMeta, Instruction
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey

from tests.support.chains import Chain

SO = Path(__file__).resolve().parents[2] / "programs/counter/counter.so"


SYSTEM = Pubkey.from_string("11111111111111111111111111111111")


PROGRAM = Pubkey.from_string("J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb")


MAX = 2**64 - 1


def discriminator(kind: str, name: str) -> bytes:
    return sha256(f"{kind}:{name}".encode()).digest()[:8]


class CounterChain(Chain):
    """A LiteSVM with the counter, and a wallet that has SOL."""

    def __init__(self, so: Path = SO, svm: LiteSVM | None = None) -> None:
        super().__init__(svm)
        self.svm.add_program(PROGRAM, so.read_bytes())

    def watched(self) -> list[Pubkey]:
        return [counter_of(self.wallet.pubkey())]

    def state(self) -> tuple[Pubkey, int, int]:
        account = self.svm.get_account(counter_of(self.wallet.pubkey()))
        assert account is not None
        assert account.owner == PROGRAM
        assert account.data[:8] == discriminator("account", "State")
        assert len(account.data) == 49
        return Pubkey(account.data[8:40]), *struct.unpack_from("<QB", account.data, 40)


def counter_of(wallet: Pubkey) -> Pubkey:
    return Pubkey.find_program_address([b"counter", bytes(wallet)], PROGRAM)[0]


def call(
    name: str,
    data: bytes,
    wallet: Pubkey,
    *,
    counter: Pubkey | None = None,
    signs: bool = True,
    writable: bool = True,
) -> Instruction:
    accounts = [
        AccountMeta(counter or counter_of(wallet), False, writable),
        AccountMeta(wallet, signs, name in ("initialize", "close")),
    ]
    if name == "initialize":
        accounts.append(AccountMeta(SYSTEM, False, False))
    return Instruction(PROGRAM, discriminator("global", name) + data, accounts)


def u64(value: int) -> bytes:
    return struct.pack("<Q", value)


def whole_life(chain: CounterChain) -> None:
    """Create, change and close the wallet's counter."""
    me = chain.wallet.pubkey()
    chain.ok(call("initialize", u64(5), me))
    _, bump = Pubkey.find_program_address([b"counter", bytes(me)], PROGRAM)
    assert chain.state() == (me, 5, bump)
    chain.ok(call("increment", u64(37), me))
    assert chain.state()[1] == 42
    outcome = chain.ok(call("decrement", u64(2), me))
    assert bytes(outcome.return_data().data) == u64(40)
    assert outcome.return_data().program_id == PROGRAM
    chain.ok(call("decrement", u64(40), me))
    before = chain.svm.get_balance(me)
    rent = chain.svm.get_balance(counter_of(me))
    assert before is not None
    assert rent
    chain.ok(call("close", b"", me))
    assert chain.svm.get_balance(counter_of(me)) in (None, 0)
    assert chain.svm.get_balance(me) == before + rent - 5000


def creation_where_lamports_are(chain: CounterChain) -> None:
    """Create a counter at an address that somebody has sent lamports to."""
    me = chain.wallet.pubkey()
    chain.svm.airdrop(counter_of(me), 1_000_000)
    chain.ok(call("initialize", u64(1), me))
    assert chain.state()[1] == 1
    assert chain.svm.get_balance(
        counter_of(me)
    ) == chain.svm.minimum_balance_for_rent_exemption(49)
