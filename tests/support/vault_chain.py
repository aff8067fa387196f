"""A chain with the vault and real SPL tokens, and the vault's instructions written out by hand."""

from __future__ import annotations

import struct
from hashlib import sha256
from pathlib import Path

from solders.instruction import AccountMeta, Instruction
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey

from tests.support.chains import Chain

SO = Path(__file__).resolve().parents[2] / "programs/vault/vault.so"


SYSTEM = Pubkey.from_string("11111111111111111111111111111111")


TOKEN = Pubkey.from_string("TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA")


PROGRAM = Pubkey.from_string("J7fMkckt17bajoM4E5TyqEVEqjN7sEx7hEbWZuB2bxuK")


def discriminator(kind: str, name: str) -> bytes:
    return sha256(f"{kind}:{name}".encode()).digest()[:8]


def mint_data(authority: Pubkey) -> bytes:
    """82 bytes: mint authority, supply, decimals, initialized, no freeze authority."""
    return struct.pack("<I32sQBBI32s", 1, bytes(authority), 10**15, 6, 1, 0, bytes(32))


def token_data(mint: Pubkey, owner: Pubkey, amount: int, state: int = 1) -> bytes:
    """165 bytes: mint, owner, amount, no delegate, state, not native, nothing delegated, no close authority."""
    return struct.pack(
        "<32s32sQI32sBIQQI32s",
        bytes(mint),
        bytes(owner),
        amount,
        0,
        bytes(32),
        state,
        0,
        0,
        0,
        0,
        bytes(32),
    )


class VaultChain(Chain):
    """A LiteSVM with the vault, a mint, a wallet with 1,000 tokens, and that wallet's vault."""

    def __init__(self, so: Path = SO, svm: LiteSVM | None = None) -> None:
        super().__init__(svm)
        self.svm.add_program(PROGRAM, so.read_bytes())
        self.me = self.wallet.pubkey()
        self.mint = self.new_mint()
        self.purse = self.new_tokens(self.mint, self.me, 1000)
        self.vault, self.bump = Pubkey.find_program_address(
            [b"vault", bytes(self.me), bytes(self.mint)], PROGRAM
        )
        self.tokens = Pubkey.find_program_address(
            [b"tokens", bytes(self.vault)], PROGRAM
        )[0]

    def watched(self) -> list[Pubkey]:
        return [self.vault, self.tokens, self.purse]

    def put(self, data: bytes, owner: Pubkey = TOKEN) -> Pubkey:
        return super().put(data, owner)

    def new_mint(self) -> Pubkey:
        return self.put(mint_data(Pubkey.new_unique()))

    def new_tokens(self, mint: Pubkey, owner: Pubkey, amount: int) -> Pubkey:
        return self.put(token_data(mint, owner, amount))

    def amount(self, account: Pubkey) -> int:
        found = self.svm.get_account(account)
        assert found is not None
        [amount] = struct.unpack_from("<Q", found.data, 64)
        assert isinstance(amount, int)
        return amount

    def state(self) -> tuple[Pubkey, Pubkey, int, int, int]:
        found = self.svm.get_account(self.vault)
        assert found is not None
        assert found.data[:8] == discriminator("account", "State")
        assert len(found.data) == 8 + 32 + 32 + 8 + 8 + 1
        return (
            Pubkey(found.data[8:40]),
            Pubkey(found.data[40:72]),
            *struct.unpack_from("<QQB", found.data, 72),
        )

    # instructions, whose accounts a test may replace by name

    def initialize(self, **changed: Pubkey) -> Instruction:
        a = {
            "vault": self.vault,
            "tokens": self.tokens,
            "mint": self.mint,
            "token_program": TOKEN,
            "system": SYSTEM,
        }
        a |= changed
        accounts = [
            AccountMeta(a["vault"], False, True),
            AccountMeta(a["tokens"], False, True),
            AccountMeta(a["mint"], False, False),
            AccountMeta(self.me, True, True),
            AccountMeta(a["token_program"], False, False),
            AccountMeta(a["system"], False, False),
        ]
        return Instruction(PROGRAM, discriminator("global", "initialize"), accounts)

    def deposit(self, amount: int, **changed: Pubkey) -> Instruction:
        a = {
            "vault": self.vault,
            "tokens": self.tokens,
            "source": self.purse,
            "mint": self.mint,
        }
        a |= {"depositor": self.me, "token_program": TOKEN} | changed
        accounts = [
            AccountMeta(a["vault"], False, True),
            AccountMeta(a["tokens"], False, True),
            AccountMeta(a["source"], False, True),
            AccountMeta(a["mint"], False, False),
            AccountMeta(a["depositor"], True, False),
            AccountMeta(a["token_program"], False, False),
        ]
        return Instruction(
            PROGRAM,
            discriminator("global", "deposit") + struct.pack("<Q", amount),
            accounts,
        )

    def withdraw(
        self, amount: int, *, signs: bool = True, **changed: Pubkey
    ) -> Instruction:
        a = {
            "vault": self.vault,
            "tokens": self.tokens,
            "destination": self.purse,
            "mint": self.mint,
        }
        a |= {"authority": self.me, "token_program": TOKEN} | changed
        accounts = [
            AccountMeta(a["vault"], False, True),
            AccountMeta(a["tokens"], False, True),
            AccountMeta(a["destination"], False, True),
            AccountMeta(a["mint"], False, False),
            AccountMeta(a["authority"], signs, False),
            AccountMeta(a["token_program"], False, False),
        ]
        return Instruction(
            PROGRAM,
            discriminator("global", "withdraw") + struct.pack("<Q", amount),
            accounts,
        )


def tokens_in_and_out(chain: VaultChain) -> None:
    """Create a vault, deposit, and withdraw all of it in two calls."""
    chain.ok(chain.initialize())
    assert chain.state() == (chain.me, chain.mint, 0, 0, chain.bump)
    made = chain.svm.get_account(chain.tokens)
    assert made is not None
    assert made.owner == TOKEN
    assert made.data[:64] == bytes(chain.mint) + bytes(chain.vault)
    chain.ok(chain.deposit(600))
    assert (chain.amount(chain.tokens), chain.amount(chain.purse)) == (600, 400)
    outcome = chain.ok(chain.withdraw(250))
    assert bytes(outcome.return_data().data) == struct.pack("<Q", 350)
    assert (chain.amount(chain.tokens), chain.amount(chain.purse)) == (350, 650)
    assert chain.state()[2:4] == (600, 250)
    chain.ok(chain.withdraw(350))
    assert chain.amount(chain.tokens) == 0
