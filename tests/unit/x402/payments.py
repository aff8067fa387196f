"""A small world for payment tests: a LiteSVM with a 6-decimals mint at the devnet USDC address, a payer, a payee and a
sponsor.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.keypair import Keypair
from solders.litesvm import LiteSVM
from solders.pubkey import Pubkey
from x402.schemas import PaymentPayload, PaymentRequirements

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.x402.chain.payment_chain import PaymentChain, svm_chain
from mcpsol_py.x402.exact.mechanism import ExactClient, ExactFacilitator
from mcpsol_py.x402.exact.settle import KeypairSponsor, MemorySettlements
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import DEVNET, TOKEN

USDC = Pubkey.from_string("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
TOKEN_PROGRAM = Pubkey.from_string(TOKEN)


def keypair(byte: int) -> Keypair:
    return Keypair.from_seed(bytes([byte]) * 32)


def mint_data(decimals: int, supply: int = 0) -> bytes:
    """SPL Token's Mint, 82 bytes: no mint authority, initialised, no freeze authority."""
    return bytes(36) + supply.to_bytes(8, "little") + bytes([decimals, 1]) + bytes(36)


def token_data(
    mint: Pubkey,
    owner: Pubkey,
    amount: int,
    *,
    delegate: Pubkey | None = None,
    delegated: int = 0,
) -> bytes:
    """SPL Token's Account, 165 bytes, initialised."""
    tag = b"\1\0\0\0" + bytes(delegate) if delegate else bytes(36)
    return (
        bytes(mint)
        + bytes(owner)
        + amount.to_bytes(8, "little")
        + tag
        + b"\1"
        + bytes(12)
        + delegated.to_bytes(8, "little")
        + bytes(36)
    )


@dataclass
class World:
    payer: Keypair = field(default_factory=lambda: keypair(1))
    sponsor: Keypair = field(default_factory=lambda: keypair(2))
    payee: Keypair = field(default_factory=lambda: keypair(3))
    balance: int = 1_000_000
    chain: PaymentChain = field(default_factory=svm_chain)

    def __post_init__(self) -> None:
        self.svm.airdrop(self.sponsor.pubkey(), 10**9)
        self.set_account(USDC, mint_data(6, self.balance), TOKEN_PROGRAM)
        self.give(self.payer.pubkey(), self.balance)
        self.give(self.payee.pubkey(), 0)
        self.settlements = MemorySettlements()
        self.facilitator = ExactFacilitator(
            self.chain,
            KeypairSponsor(self.sponsor),
            self.settlements,
            timeout=1.0,
            poll=0.01,
        )
        self.client = ExactClient(self.payer, self.chain)

    @property
    def transport(self) -> SvmTransport:
        assert isinstance(self.chain.transport, SvmTransport)
        return self.chain.transport

    @property
    def svm(self) -> LiteSVM:
        return self.transport.svm

    def set_account(self, address: Pubkey, data: bytes, owner: Pubkey) -> None:
        self.svm.set_account(address, Account(10**7, data, owner))

    def give(self, owner: Pubkey, amount: int) -> None:
        self.set_account(
            associated_token_address(owner, USDC, TOKEN_PROGRAM),
            token_data(USDC, owner, amount),
            TOKEN_PROGRAM,
        )

    def tokens(self, owner: Pubkey) -> int:
        account = self.svm.get_account(
            associated_token_address(owner, USDC, TOKEN_PROGRAM)
        )
        assert account is not None
        return int.from_bytes(bytes(account.data)[64:72], "little")

    def requirements(self, amount: int = 10_000, **extra: Any) -> PaymentRequirements:
        return PaymentRequirements(
            scheme="exact",
            network=DEVNET,
            asset=str(USDC),
            amount=str(amount),
            pay_to=str(self.payee.pubkey()),
            max_timeout_seconds=60,
            extra={"feePayer": str(self.sponsor.pubkey()), **extra},
        )

    def pay(self, requirements: PaymentRequirements) -> PaymentPayload:
        return PaymentPayload(
            payload=self.client.create_payment_payload(requirements),
            accepted=requirements,
        )
