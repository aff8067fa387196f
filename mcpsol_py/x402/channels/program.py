"""The payment-channels program as its callers need it: addresses, instructions, the channel's account (X402.md 4.2).

Two programs speak it: the audited one, and ours (programs/x402). Which one is meant is configured on each side and
never read from a demand: a seller that could name a program could name one of its own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py.solana import ids
from mcpsol_py.solana.addresses import (
    ASSOCIATED_TOKEN_PROGRAM,
    CHANNEL_DEVNET_TREASURY,
    CHANNEL_PROGRAM,
    CHANNEL_TREASURY,
    INSTRUCTIONS_SYSVAR,
    RENT_SYSVAR,
    SYSTEM_PROGRAM,
)
from mcpsol_py.x402.chain import program as x402
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.exact.transaction import associated_token_address
from mcpsol_py.x402.protocol.networks import DEVNET

__all__ = [
    "OPEN_SLOT_WINDOW",
    "OURS",
    "Channel",
    "ChannelProgram",
    "ChannelStatus",
    "Clock",
    "Parties",
    "audited",
    "read_clock",
]

#: `open` takes one of the last slots, and a channel's account stays until they are over.
OPEN_SLOT_WINDOW = 1500
_LAYOUT = struct.Struct("<BBBBQQQQqqI32s32s32s32s32s32sQ")
_STATUS: tuple[ChannelStatus, ...] = ("open", "sealed", "closing", "distributed")
#: Discriminators of the instructions.
OPEN, SETTLE, TOP_UP, SETTLE_AND_SEAL, REQUEST_CLOSE, SEAL, DISTRIBUTE, WITHDRAW_PAYER, RECLAIM = (
    range(1, 10)
)

ChannelStatus = Literal["open", "sealed", "closing", "distributed"]


@dataclass(frozen=True, slots=True)
class Clock:
    """The cluster's clock: slot, and seconds since 1970."""

    slot: int
    unix_time: int


def read_clock(chain: PaymentChain) -> Clock:
    """The clock that programs see. Raises ChainUnavailable."""
    account = chain.get_accounts([ids.CLOCK_SYSVAR])[0]
    if account is None or len(account.data) < 40:
        return Clock(0, 0)
    return Clock(
        int.from_bytes(account.data[:8], "little"),
        int.from_bytes(account.data[32:40], "little", signed=True),
    )


@dataclass(frozen=True, slots=True)
class Parties:
    """Who stands in a channel, in the shape that both schemes give it: the sponsor is payee with no share and pays the
    rent, everything that vouchers prove goes to `pay_to`. The channel's address follows from all but `pay_to`.
    """

    payer: Pubkey
    sponsor: Pubkey
    mint: Pubkey
    signer: Pubkey
    salt: int
    open_slot: int
    pay_to: Pubkey
    token_program: Pubkey

    @property
    def entries(self) -> list[tuple[Pubkey, int]]:
        """The distribution: all of it to the payee of x402's words."""
        return [(self.pay_to, 10_000)]


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel's account. Amounts in base units; times in seconds since 1970, 0 where they have not come."""

    status: ChannelStatus
    salt: int
    deposit: int
    settled: int
    paid_out: int
    closure_started_at: int
    payer_withdrawn_at: int
    grace_period: int
    distribution_hash: bytes
    payer: Pubkey
    payee: Pubkey
    authorized_signer: Pubkey
    mint: Pubkey
    rent_payer: Pubkey
    open_slot: int


@dataclass(frozen=True, slots=True)
class ChannelProgram:
    """One deployment: its address, and whose token accounts get what no beneficiary can get."""

    program_id: Pubkey
    treasury_owner: Pubkey

    def address(self, parties: Parties) -> Pubkey:
        """Where the channel of *parties* stands."""
        p = parties
        return _address(self.program_id, p.payer, p.sponsor, p.mint, p.signer, p.salt, p.open_slot)

    def read(self, address: str, owner: str, data: bytes) -> Channel | None:
        """A channel's account; None where it is none of this program, or stands at another address than its own
        fields give (scheme_upto_svm 6.1)."""
        if (
            owner != str(self.program_id)
            or len(data) != _LAYOUT.size
            or data[:2] != b"\1\1"
            or data[3] > 3
        ):
            return None
        fields = _LAYOUT.unpack(data)
        names = (
            "salt",
            "deposit",
            "settled",
            "paid_out",
            "closure_started_at",
            "payer_withdrawn_at",
            "grace_period",
        )
        numbers: dict[str, int] = dict(zip(names, fields[4:11], strict=True))
        payer, payee, signer, mint, rent_payer = (Pubkey(key) for key in fields[12:17])
        channel = Channel(
            status=_STATUS[fields[3]],
            **numbers,
            distribution_hash=fields[11],
            payer=payer,
            payee=payee,
            authorized_signer=signer,
            mint=mint,
            rent_payer=rent_payer,
            open_slot=fields[17],
        )
        own = _address(self.program_id, payer, payee, mint, signer, channel.salt, channel.open_slot)
        return channel if str(own) == address else None

    def fetch(self, chain: PaymentChain, address: str) -> Channel | None:
        """The channel at *address* now. Raises ChainUnavailable."""
        account = chain.get_accounts([address])[0]
        return None if account is None else self.read(address, str(account.owner), account.data)

    # -- instructions

    def _ix(
        self, discriminator: int, data: bytes, accounts: Sequence[tuple[Pubkey, bool, bool]]
    ) -> Instruction:
        """*accounts*: (key, signs, is written)."""
        metas = [AccountMeta(key, signer, writable) for key, signer, writable in accounts]
        return Instruction(self.program_id, bytes([discriminator]) + data, metas)

    def open(self, parties: Parties, deposit: int, grace_period: int) -> Instruction:
        """`open`: the payer's tokens go into escrow. Signed by payer and sponsor."""
        return self._ix(
            OPEN, open_data(parties, deposit, grace_period), self.open_accounts(parties)
        )

    def open_accounts(self, parties: Parties) -> list[tuple[Pubkey, bool, bool]]:
        """The 14 accounts of `open`, in order."""
        p, channel = parties, self.address(parties)
        return [
            (p.payer, True, True),
            (p.sponsor, True, True),
            (p.sponsor, False, False),
            (p.mint, False, False),
            (p.signer, False, False),
            (channel, False, True),
            (associated_token_address(p.payer, p.mint, p.token_program), False, True),
            (associated_token_address(channel, p.mint, p.token_program), False, True),
            (p.token_program, False, False),
            (SYSTEM_PROGRAM, False, False),
            (RENT_SYSVAR, False, False),
            (ASSOCIATED_TOKEN_PROGRAM, False, False),
            (x402.event_authority(self.program_id), False, False),
            (self.program_id, False, False),
        ]

    def top_up(self, parties: Parties, amount: int) -> Instruction:
        """`top_up`: more tokens into escrow. Signed by the payer."""
        return self._ix(TOP_UP, struct.pack("<Q", amount), self.top_up_accounts(parties))

    def top_up_accounts(self, parties: Parties) -> list[tuple[Pubkey, bool, bool]]:
        """The 6 accounts of `top_up`, in order."""
        p, channel = parties, self.address(parties)
        return [
            (p.payer, True, True),
            (channel, False, True),
            (associated_token_address(p.payer, p.mint, p.token_program), False, True),
            (associated_token_address(channel, p.mint, p.token_program), False, True),
            (p.mint, False, False),
            (p.token_program, False, False),
        ]

    def settle(self, channel: Pubkey) -> Instruction:
        """`settle`: the voucher proved right before it moves the watermark."""
        return self._ix(SETTLE, b"", [(channel, False, True), (INSTRUCTIONS_SYSVAR, False, False)])

    def settle_and_seal(self, channel: Pubkey, payee: Pubkey, *, has_voucher: bool) -> Instruction:
        """`settle_and_seal`: closes with the watermark as it is, or with the voucher proved right before it."""
        accounts = [
            (payee, True, False),
            (channel, False, True),
            (INSTRUCTIONS_SYSVAR, False, False),
        ]
        return self._ix(SETTLE_AND_SEAL, bytes([has_voucher]), accounts)

    def request_close(self, channel: Pubkey, payer: Pubkey) -> Instruction:
        """`request_close`: the payer starts the grace period after which the rest is theirs."""
        return self._ix(REQUEST_CLOSE, b"", self.request_close_accounts(channel, payer))

    @staticmethod
    def request_close_accounts(channel: Pubkey, payer: Pubkey) -> list[tuple[Pubkey, bool, bool]]:
        """The 2 accounts of `request_close`."""
        return [(payer, True, False), (channel, False, True)]

    def seal(self, channel: Pubkey) -> Instruction:
        """`seal`: closes after the grace period, by anyone."""
        return self._ix(SEAL, b"", [(channel, False, True)])

    def distribute(self, parties: Parties, rent_payer: Pubkey | None = None) -> Instruction:
        """`distribute`: pays what the watermark proves to `pay_to`; of a sealed channel the payer gets the rest."""
        p, channel = parties, self.address(parties)
        recipients = p.entries

        def ata(owner: Pubkey) -> Pubkey:
            return associated_token_address(owner, p.mint, p.token_program)

        accounts = [
            (channel, False, True),
            (p.payer, False, True),
            (rent_payer or p.sponsor, False, True),
            (ata(channel), False, True),
            (ata(p.payer), False, True),
            (ata(p.sponsor), False, True),
            (ata(self.treasury_owner), False, True),
            (p.mint, False, False),
            (p.token_program, False, False),
            (x402.event_authority(self.program_id), False, False),
            (self.program_id, False, False),
            *((ata(recipient), False, True) for recipient, _ in recipients),
        ]
        return self._ix(DISTRIBUTE, _entries(recipients), accounts)

    def reclaim(self, channel: Pubkey, rent_payer: Pubkey) -> Instruction:
        """`reclaim`: the account's rent, once the window of its open slot is over."""
        return self._ix(RECLAIM, b"", [(channel, False, True), (rent_payer, False, True)])


def _entries(recipients: Sequence[tuple[Pubkey, int]]) -> bytes:
    listed = b"".join(bytes(key) + struct.pack("<H", bps) for key, bps in recipients)
    return struct.pack("<I", len(recipients)) + listed


def open_data(parties: Parties, deposit: int, grace_period: int) -> bytes:
    """The data of `open` behind its discriminator."""
    head = struct.pack("<QQIQ", parties.salt, deposit, grace_period, parties.open_slot)
    return head + _entries(parties.entries)


@lru_cache(maxsize=8192)
def _address(
    program_id: Pubkey,
    payer: Pubkey,
    payee: Pubkey,
    mint: Pubkey,
    signer: Pubkey,
    salt: int,
    open_slot: int,
) -> Pubkey:
    return x402.channel_address(payer, payee, mint, signer, salt, open_slot, program_id)


#: Our program, as the committed build has it.
OURS = ChannelProgram(x402.PROGRAM_ID, x402.TREASURY_OWNER)


def audited(network: str) -> ChannelProgram:
    """The audited program as it is deployed on a cluster: devnet's build has another treasury than the others'
    (npm @x402/svm, payment-channels/onchain)."""
    return ChannelProgram(
        CHANNEL_PROGRAM, CHANNEL_DEVNET_TREASURY if network == DEVNET else CHANNEL_TREASURY
    )
