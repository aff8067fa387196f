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
from mcpsol_py.solana.tokens import TokenAccountState, extensions, parse_token_account
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.program import Channel, ChannelProgram, Parties
from mcpsol_py.x402.exact.transaction import associated_token_address

__all__ = ["PAYOUT_WAITS", "REDIRECTED", "Payout", "check_redirects", "unusable"]

#: Nothing is lost: what is owed stays in the channel until the token account works again.
PAYOUT_WAITS = "payout_account_unusable"
#: A payout went, or would go, to the treasury instead of its beneficiary.
REDIRECTED = "payout_redirected"

#: An event that the program emits by calling itself, and PayoutRedirected's own discriminator.
_EVENT = bytes.fromhex("e445a52e51cb9a1d")
_PAYOUT_REDIRECTED = _EVENT + bytes.fromhex("d116b9d754a75450")
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
    return f"has extension {refused[0]}, which channels do not allow" if refused else None


@dataclass(frozen=True, slots=True)
class Payout:
    """What a channel owes when *cumulative* is settled, and whose token accounts cannot take it.

    `waits`: why the seller's part cannot be paid now; `refund_waits`: why the payer's rest cannot.
    Both are None if nothing is owed.
    """

    program: ChannelProgram
    parties: Parties
    channel: Channel
    cumulative: int
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
        owed = {"payTo": (parties.pay_to, cumulative > channel.paid_out)}
        is_refunded = not channel.payer_withdrawn_at and channel.deposit > cumulative
        owed["the payer"] = (parties.payer, is_refunded)
        tokens = [
            associated_token_address(owner, parties.mint, parties.token_program)
            for owner, _ in owed.values()
        ]
        found = chain.get_accounts([str(token) for token in tokens])
        waits = []
        for (name, (owner, is_owed)), token, account in zip(
            owed.items(), tokens, found, strict=True
        ):
            why = unusable(account, owner, parties) if is_owed else None
            waits.append(why and f"the token account of {name} ({token}) {why}")
        return cls(program, parties, channel, cumulative, *waits)

    @property
    def problem(self) -> str | None:
        """Why not everything can be paid now."""
        return self.waits or self.refund_waits

    def notice(self) -> dict[str, str]:
        """Return what an answer adds to `extra` if a payout waits."""
        return {} if self.problem is None else {"payoutWaits": self.problem}

    def check(self) -> None:
        """Raise PaymentError (PAYOUT_WAITS) unless everything that is owed can be paid now."""
        if self.problem is not None:
            raise PaymentError(
                PAYOUT_WAITS,
                f"{self.problem}; what is owed stays in the channel until its owner repairs it",
            )

    def distribute(self) -> Instruction:
        """Return the instruction that pays out an open channel up to its watermark, or a sealed
        one. Raises PaymentError (PAYOUT_WAITS).

        The payer gets nothing of an open channel, so its account does not matter there.
        """
        if self.channel.status != "open" or self.waits is not None:
            self.check()
        return self.program.distribute(self.parties)

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
        if self.problem is None:
            return [*proofs, seal, distribute]
        is_payable = self.waits is None and self.cumulative > self.channel.paid_out
        if is_payable and self.channel.status == "open":
            # The seller is paid while the channel is open, where the payer's account does not matter.
            settle = [*proofs, program.settle(at)] if proofs else []
            return [*settle, distribute, program.settle_and_seal(at, sponsor, has_voucher=False)]
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
        if called == program_id and data[:16] == _PAYOUT_REDIRECTED and len(data) == size:
            _, owner, amount, _, _ = _REDIRECT.unpack_from(data, 16)
            yield Pubkey(owner), amount
