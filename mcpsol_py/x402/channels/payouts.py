"""Decides which instructions of a channel may pay out now, and reads whether a payout went elsewhere.

A payout cannot be undone, and it does not wait for its beneficiary: if the token account is missing
or frozen at that moment, the audited program gives the tokens to the treasury. Anyone may start a
payout, so this cannot prevent every loss; but nothing that we send causes one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from solders.account import Account
from solders.instruction import Instruction
from solders.pubkey import Pubkey

from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import PaymentError
from mcpsol_py.solana.ids import EVENT_CPI_TAG
from mcpsol_py.solana.tokens import TokenAccountState, extensions, parse_token_account
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.program import Channel, ChannelProgram, Parties
from mcpsol_py.x402.exact.received import check_account, check_mint
from mcpsol_py.x402.exact.transaction import associated_token_address

__all__ = [
    "PAYOUT_WAITS",
    "REDIRECTED",
    "Payout",
    "check_receivers",
    "check_redirects",
    "unusable",
]

#: Nothing is lost: the owed tokens stay in the channel until the token account works again.
PAYOUT_WAITS = "payout_account_unusable"
#: A payout went, or would go, to the treasury instead of its beneficiary.
REDIRECTED = "payout_redirected"

#: An event that the program emits by calling itself, with PayoutRedirected's own discriminator.
_PAYOUT_REDIRECTED = EVENT_CPI_TAG + bytes.fromhex("d116b9d754a75450")
_REDIRECT = struct.Struct("<32s32sQBB")
#: The one Token-2022 extension that a token account may have (docs/x402-program.md).
_IMMUTABLE_OWNER = 7


def unusable(account: Account | None, owner: Pubkey, parties: Parties) -> str | None:
    """Return why tokens of *parties* cannot be paid to this token account of *owner*, None if they
    can.
    """
    if account is None or account.owner != parties.token_program:
        return "does not exist"
    held = parse_token_account(account.data)
    if held is None or held.mint != parties.mint:
        return "is not a token account of the mint"
    if held.owner != owner:
        return "has another owner"
    if held.state != TokenAccountState.INITIALIZED:
        return "is frozen"
    refused = sorted(set(extensions(account)) - {_IMMUTABLE_OWNER})
    return (
        f"has extension {refused[0]}, which channels do not allow" if refused else None
    )


def check_receivers(
    chain: PaymentChain, program: ChannelProgram, parties: Parties, amount: int
) -> None:
    """Check that payer, payee and treasury can receive tokens when the channel ends.

    Otherwise nothing may go into escrow, and nothing of a mint that would take a part of *amount*.
    Nobody but its owner creates or repairs a token account. Raises PaymentError: `payee_account_missing`
    with the account, those of `check_mint` and `check_account`.
    """
    p = parties
    roles = {"payer": p.payer, "payTo": p.pay_to, "treasury": program.treasury_owner}
    tokens = {
        name: associated_token_address(owner, p.mint, p.token_program)
        for name, owner in roles.items()
    }
    minted, *found = chain.get_accounts([str(p.mint), *map(str, tokens.values())])
    check_mint(p.mint, minted, amount)
    for (name, token), account in zip(tokens.items(), found, strict=True):
        check_account(f"the token account of {name} ({token})", account)
    for (name, token), account in zip(tokens.items(), found, strict=True):
        why = unusable(account, roles[name], p)
        if why is not None:
            raise PaymentError(
                "payee_account_missing",
                f"the token account of {name} ({token}) {why}; its owner must repair it first",
            )


@dataclass(frozen=True, slots=True)
class Payout:
    """What a channel owes when *cumulative* is settled, and whose token accounts cannot take it.

    `owed` and `refund`: whether the seller's part and the payer's rest are due. `waits` and
    `refund_waits`: why the token account cannot take them now.
    """

    program: ChannelProgram
    parties: Parties
    channel: Channel
    cumulative: int
    owed: bool
    refund: bool
    waits: str | None
    refund_waits: str | None

    @classmethod
    def read(
        cls,
        chain: PaymentChain,
        program: ChannelProgram,
        parties: Parties,
        channel: Channel,
        cumulative: int,
    ) -> Payout:
        """Read the token accounts of the seller and the payer. Raises ChainUnavailable."""
        owed = cumulative > channel.paid_out
        refund = not channel.payer_withdrawn_at and channel.deposit > cumulative
        roles = {"payTo": (parties.pay_to, owed), "the payer": (parties.payer, refund)}
        tokens = [
            associated_token_address(owner, parties.mint, parties.token_program)
            for owner, _ in roles.values()
        ]
        found = chain.get_accounts(list(map(str, tokens)))
        waits = []
        for (name, (owner, is_due)), token, account in zip(
            roles.items(), tokens, found, strict=True
        ):
            why = unusable(account, owner, parties) if is_due else None
            waits.append(why and f"the token account of {name} ({token}) {why}")
        return cls(program, parties, channel, cumulative, owed, refund, *waits)

    @property
    def problem(self) -> str | None:
        """Why not everything can be paid now."""
        return self.waits or self.refund_waits

    @property
    def _may_distribute(self) -> bool:
        """Whether a sealed channel may be distributed: all can be paid, or what cannot be stays."""
        is_some_paid = (self.owed and not self.waits) or (
            self.refund and not self.refund_waits
        )
        return self.problem is None or (self.program.holds_back and is_some_paid)

    @property
    def _is_paid_open(self) -> bool:
        """Whether the seller can be paid while the channel is open, where the payer gets nothing."""
        return self.channel.status == "open" and self.owed and self.waits is None

    def notice(self) -> dict[str, str]:
        """Return what an answer adds to `extra` after `close`, if a payout or the refund waits."""
        may_distribute = self._may_distribute
        is_seller_paid = may_distribute or self._is_paid_open
        waits = {
            "payoutWaits": self.waits
            or (self.owed and not is_seller_paid and self.problem),
            "refundWaits": self.refund_waits
            or (self.refund and not may_distribute and self.problem),
        }
        return {name: why for name, why in waits.items() if why}

    def check(self) -> None:
        """Raise PaymentError (PAYOUT_WAITS) unless everything that is owed can be paid now."""
        if self.problem is not None:
            raise PaymentError(
                PAYOUT_WAITS,
                f"{self.problem}; the owed tokens stay in the channel until its owner repairs it",
            )

    def distribute(self) -> Instruction:
        """Return the instruction that pays the seller, of an open channel or a sealed one. Raises
        PaymentError (PAYOUT_WAITS).
        """
        if self.waits is not None or not (self._is_paid_open or self._may_distribute):
            self.check()
        return self.program.distribute(self.parties)

    def finish(self) -> list[Instruction]:
        """Return the instruction that pays out a sealed channel; none if it must wait."""
        return [self.program.distribute(self.parties)] if self._may_distribute else []

    def close(self, proof: Instruction | None) -> list[Instruction]:
        """Return the instructions that close an open or closing channel at `cumulative`, and pay
        out what can be paid.

        *proof*: the voucher's Ed25519 instruction, which must precede the one that reads it; None
        if the sum is settled already.
        """
        program, at = self.program, self.program.address(self.parties)
        sponsor, proofs = self.parties.sponsor, [proof] if proof is not None else []
        seal = program.settle_and_seal(at, sponsor, has_voucher=proof is not None)
        distribute = program.distribute(self.parties)
        if self._may_distribute:
            return [*proofs, seal, distribute]
        if self._is_paid_open:
            settle = [*proofs, program.settle(at)] if proofs else []
            return [
                *settle,
                distribute,
                program.settle_and_seal(at, sponsor, has_voucher=False),
            ]
        return [*proofs, seal]


def check_redirects(outcome: Outcome, program_id: Pubkey) -> None:
    """Raise PaymentError (REDIRECTED) if a payout of this transaction goes to the treasury."""
    for owner, amount in _redirects(outcome, program_id):
        raise PaymentError(
            REDIRECTED,
            f"{amount:,} base units for {owner} go to the program's treasury, since its token "
            "account cannot be used",
        )


def _redirects(outcome: Outcome, program_id: Pubkey) -> Iterator[tuple[Pubkey, int]]:
    """Yield the owner and the amount of each payout that went to the treasury."""
    size = len(_PAYOUT_REDIRECTED) + _REDIRECT.size
    for called, data in outcome.inner:
        if (
            called == program_id
            and data[:16] == _PAYOUT_REDIRECTED
            and len(data) == size
        ):
            _, owner, amount, _, _ = _REDIRECT.unpack_from(data, 16)
            yield Pubkey(owner), amount
