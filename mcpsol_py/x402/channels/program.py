"""The payment-channels program for its callers: addresses, instructions, and the channel's account.

Two programs have this interface: the audited one, and ours (programs/x402). Each side configures
which one it uses, and never reads it from a demand: a seller that could choose the program could
choose its own.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import starmap
from typing import Literal

from solders.instruction import AccountMeta, Instruction
from solders.pubkey import Pubkey

from mcpsol_py._moved import renamed
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
from mcpsol_py.solana.clock import ChainClock, clock_of
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
    "ChainClock",
    "Parties",
    "audited",
    "read_clock",
]

#: `open` takes one of the last slots. A channel's account exists until this window has passed.
OPEN_SLOT_WINDOW = 1500
#: The first two bytes of a channel's account.
_KIND_AND_VERSION = b"\1\1"
_LAYOUT = struct.Struct("<BBBBQQQQqqI32s32s32s32s32s32sQ")
_STATUS: tuple[ChannelStatus, ...] = ("open", "sealed", "closing", "distributed")
#: Discriminators of the instructions.
(
    OPEN,
    SETTLE,
    TOP_UP,
    SETTLE_AND_SEAL,
    REQUEST_CLOSE,
    SEAL,
    DISTRIBUTE,
    WITHDRAW_PAYER,
    RECLAIM,
) = range(1, 10)

ChannelStatus = Literal["open", "sealed", "closing", "distributed"]


def read_clock(chain: PaymentChain) -> ChainClock:
    """Read the clock that programs see. Raises ChainUnavailable."""
    account = chain.get_accounts([ids.CLOCK_SYSVAR])[0]
    return clock_of(account) or ChainClock(0, 0)


@dataclass(frozen=True, slots=True)
class Parties:
    """The parties of a channel, as both schemes use it.

    The sponsor pays the rent and is the payee, without a share. All that vouchers prove goes to
    `pay_to`. The channel's address is derived from all fields but `pay_to` and `token_program`.
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
        """The distribution: everything to x402's payee."""
        return [(self.pay_to, 10_000)]


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel's account. Amounts in base units; times in seconds since 1970, 0 if not yet set."""

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
    """A deployment: its address, and the owner of the token accounts that get tokens no beneficiary
    can.
    """

    program_id: Pubkey
    treasury_owner: Pubkey

    @property
    def holds_back(self) -> bool:
        """Whether what a token account cannot take stays in a sealed channel.

        In other programs the treasury gets it.
        """
        return self.program_id == x402.PROGRAM_ID

    def address(self, parties: Parties) -> Pubkey:
        """Return the address of the channel of *parties*."""
        p = parties
        return _address(
            self.program_id, p.payer, p.sponsor, p.mint, p.signer, p.salt, p.open_slot
        )

    def read(self, address: str, owner: str, data: bytes) -> Channel | None:
        """Read a channel's account.

        Return None if it is not a channel of this program, or not at the address that is derived
        from its fields (scheme_upto_svm, section 6.1).
        """
        is_channel = len(data) == _LAYOUT.size and data[:2] == _KIND_AND_VERSION
        if owner != str(self.program_id) or not is_channel or data[3] >= len(_STATUS):
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
        payer, payee, signer, mint, rent_payer = map(Pubkey, fields[12:17])
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
        own = _address(
            self.program_id, payer, payee, mint, signer, channel.salt, channel.open_slot
        )
        return channel if str(own) == address else None

    def fetch(self, chain: PaymentChain, address: str) -> Channel | None:
        """Read the channel at *address* from the chain, None if there is none. Raises
        ChainUnavailable.
        """
        account = chain.get_accounts([address])[0]
        return (
            None
            if account is None
            else self.read(address, str(account.owner), account.data)
        )

    # -- instructions

    def _ix(
        self,
        discriminator: int,
        data: bytes,
        accounts: Sequence[tuple[Pubkey, bool, bool]],
    ) -> Instruction:
        """*accounts*: (key, is signer, is writable)."""
        metas = list(starmap(AccountMeta, accounts))
        return Instruction(self.program_id, bytes([discriminator]) + data, metas)

    def open(self, parties: Parties, deposit: int, grace_period: int) -> Instruction:
        """`open`: put the payer's tokens into escrow. Payer and sponsor sign."""
        return self._ix(
            OPEN, open_data(parties, deposit, grace_period), self.open_accounts(parties)
        )

    def open_accounts(self, parties: Parties) -> list[tuple[Pubkey, bool, bool]]:
        """Return the 14 accounts of `open`, in order."""
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
        """`top_up`: put more tokens into escrow. The payer signs."""
        return self._ix(
            TOP_UP, struct.pack("<Q", amount), self.top_up_accounts(parties)
        )

    def top_up_accounts(self, parties: Parties) -> list[tuple[Pubkey, bool, bool]]:
        """Return the 6 accounts of `top_up`, in order."""
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
        """`settle`: move the watermark to the voucher that the preceding instruction proves."""
        return self._ix(
            SETTLE, b"", [(channel, False, True), (INSTRUCTIONS_SYSVAR, False, False)]
        )

    def settle_and_seal(
        self, channel: Pubkey, payee: Pubkey, *, has_voucher: bool
    ) -> Instruction:
        """`settle_and_seal`: close at the watermark, or at the voucher that the preceding
        instruction proves.
        """
        accounts = [
            (payee, True, False),
            (channel, False, True),
            (INSTRUCTIONS_SYSVAR, False, False),
        ]
        return self._ix(SETTLE_AND_SEAL, bytes([has_voucher]), accounts)

    def request_close(self, channel: Pubkey, payer: Pubkey) -> Instruction:
        """`request_close`: start the grace period, after which the payer gets the rest."""
        return self._ix(REQUEST_CLOSE, b"", self.request_close_accounts(channel, payer))

    @staticmethod
    def request_close_accounts(
        channel: Pubkey, payer: Pubkey
    ) -> list[tuple[Pubkey, bool, bool]]:
        """Return the 2 accounts of `request_close`."""
        return [(payer, True, False), (channel, False, True)]

    def seal(self, channel: Pubkey) -> Instruction:
        """`seal`: close after the grace period. Anyone may send it."""
        return self._ix(SEAL, b"", [(channel, False, True)])

    def distribute(
        self, parties: Parties, rent_payer: Pubkey | None = None
    ) -> Instruction:
        """`distribute`: pay out up to the watermark to `pay_to`, and the rest of a sealed channel
        to the payer.
        """
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
        """`reclaim`: give back the account's rent, after the window of its open slot."""
        return self._ix(
            RECLAIM, b"", [(channel, False, True), (rent_payer, False, True)]
        )


def _entries(recipients: Sequence[tuple[Pubkey, int]]) -> bytes:
    listed = b"".join(bytes(key) + struct.pack("<H", bps) for key, bps in recipients)
    return struct.pack("<I", len(recipients)) + listed


def open_data(parties: Parties, deposit: int, grace_period: int) -> bytes:
    """Return the data of `open` after its discriminator."""
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


#: Our program, in the committed build.
OURS = ChannelProgram(x402.PROGRAM_ID, x402.TREASURY_OWNER)


def audited(network: str) -> ChannelProgram:
    """Return the audited program's deployment on a cluster.

    Devnet's build has another treasury (npm @x402/svm, payment-channels/onchain).
    """
    return ChannelProgram(
        CHANNEL_PROGRAM,
        CHANNEL_DEVNET_TREASURY if network == DEVNET else CHANNEL_TREASURY,
    )


def __getattr__(name: str) -> object:
    return renamed(__name__, name)
