"""The payer of `batch-settlement`: one deposit, then a signature a call.

What is signed is written down first (store.wallet_channels), so that neither a crash nor a seller makes this wallet
sign more than was confirmed and one price. The answer to each call, and a demand that corrects the sum, come back
through the official core's hook `on_payment_response`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements, RecoveredResponseResult

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.chain.payment_chain import PaymentChain
from mcpsol_py.x402.channels.batch import (
    CODE,
    LONGEST_DELAY,
    SCHEME,
    SHORTEST_DELAY,
    binding_memo,
    config_of,
    voucher_of,
)
from mcpsol_py.x402.channels.channel_facilitator import address, read_delay, read_note
from mcpsol_py.x402.channels.program import ChannelProgram, Parties, read_clock
from mcpsol_py.x402.channels.sponsored import build_setup, random_salt
from mcpsol_py.x402.channels.voucher import Signer, checks, read_u64, sign_voucher
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.transaction import read_transaction
from mcpsol_py.x402.protocol.networks import asset_by_mint, caip2
from mcpsol_py.x402.store.wallet_channels import WalletChannel, WalletChannels

__all__ = ["BatchClient", "DepositPolicy", "deposits"]

#: An open takes up to 90,000 units, a top-up less.
_UNITS = 90_000
_BAD = "invalid_payment_requirements"
#: (mint, price, the seller's hint or None) -> base units to deposit, at least the price, or PaymentError
DepositPolicy = Callable[[str, int, int | None], int]


def deposits(most: Mapping[str, int], *, calls: int = 50) -> DepositPolicy:
    """Deposits the price of *calls* calls, or what the seller hints at, never over *most* base units of that mint.

    A deposit is not spent, but it is locked until the channel is closed: this bounds what a seller can lock.
    """

    def policy(mint: str, price: int, hint: int | None) -> int:
        cap = most.get(mint, 0)
        if price > cap:
            raise PaymentError(
                "DEPOSIT_NOT_ALLOWED",
                f"a channel would lock {price:,} base units of {mint}; {cap:,} may be",
            )
        return min(max(price * calls, hint or 0), cap)

    return policy


class BatchClient:
    """Pays by vouchers of its own channels. *deposit* says how much to put into one."""

    scheme = SCHEME

    def __init__(
        self,
        payer: Signer,
        chain: PaymentChain,
        program: ChannelProgram,
        channels: WalletChannels,
        *,
        deposit: DepositPolicy,
        max_delay: int = 86_400,
    ) -> None:
        """*max_delay*: the longest grace period in seconds that the payer would wait for its money."""
        self._payer, self._chain, self._program, self.channels = payer, chain, program, channels
        self._policy, self._max_delay = deposit, min(max_delay, LONGEST_DELAY)
        self._mints = Mints(chain)
        self.scheme_hooks: dict[str, Callable[[Any], Any]] = {
            "on_payment_response": self._on_response
        }

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """What x402's client spends on without being told."""
        known = asset_by_mint(network, asset)
        return (
            {"asset": known.mint, "decimals": known.decimals, "symbol": known.symbol}
            if known
            else None
        )

    # -- paying

    def create_payment_payload(self, requirements: PaymentRequirements) -> dict[str, Any]:
        """A voucher, with a deposit where the channel is new or used up. Raises PaymentError when the requirements
        cannot be met, or another process moved the channel on meanwhile (CHANNEL_CONFLICT: ask again)."""
        if caip2(str(requirements.network)) != self._chain.network:
            raise PaymentError(
                "network_mismatch",
                f"asked to pay on {requirements.network}; this wallet is on {self._chain.network}",
            )
        extra = requirements.extra or {}
        if extra.get("voucherSigner", "client") != "client":
            raise PaymentError(
                _BAD,
                "the seller wants to sign the vouchers itself: it could take the whole deposit",
            )
        price = read_u64(requirements.amount)
        if not price:
            raise PaymentError(_BAD, "the amount is no positive u64")
        delay = read_delay(extra, _BAD, SHORTEST_DELAY, self._max_delay)
        token_program, _ = self._mints.get(requirements.asset)
        if extra.get("tokenProgram") != str(token_program):
            raise PaymentError(_BAD, "extra.tokenProgram does not own the mint")
        sponsor = address(extra.get("feePayer"), _BAD, "extra.feePayer")
        authorizer = address(extra.get("receiverAuthorizer"), _BAD, "extra.receiverAuthorizer")
        if sponsor == self._payer.pubkey():
            raise PaymentError(_BAD, "extra.feePayer is the payer; a sponsor signs apart")
        channel = self._usable(requirements, sponsor, authorizer, delay)
        if channel is None:
            return self._open(requirements, price, delay, sponsor, authorizer, token_program)
        if (
            channel.state == "opening"
        ):  # it is out, and may land: the same opening again, never a second one
            return self._with_deposit(channel, channel.charged + price, price)
        cumulative = channel.charged + price
        if cumulative <= channel.deposit:
            self.channels.sign(channel.channel_id, cumulative, price)
            return self._payload("voucher", channel, cumulative)
        return self._top_up(channel, requirements, cumulative, price)

    def _usable(
        self, requirements: PaymentRequirements, sponsor: Pubkey, authorizer: Pubkey, delay: int
    ) -> WalletChannel | None:
        found = self.channels.usable(
            self._chain.network,
            str(sponsor),
            requirements.pay_to,
            requirements.asset,
            str(authorizer),
            delay,
        )
        for channel in found:
            seen = self._look(channel) if channel.transaction is not None else channel
            if seen is not None:
                return seen
        return None

    def _look(self, channel: WalletChannel) -> WalletChannel | None:
        """A channel with a deposit out: did it land? Brings our record to what the chain says."""
        there = self._program.fetch(self._chain, channel.channel_id)
        if there is not None and there.status != "open":
            self.channels.saw(
                channel.channel_id, deposit=there.deposit, state="closed", drop_pending=True
            )
            return None
        expected = channel.deposit + channel.pending
        if there is not None and there.deposit >= expected:
            self.channels.saw(
                channel.channel_id, deposit=there.deposit, state="open", drop_pending=True
            )
            return self.channels.get(channel.channel_id)
        wire = read_transaction(channel.transaction)
        if self._chain.blockhash_expired(wire.message.recent_blockhash):
            again = self._program.fetch(
                self._chain, channel.channel_id
            )  # it may have landed right before it expired
            if again is None and there is None:
                self.channels.saw(channel.channel_id, deposit=0, state="closed", drop_pending=True)
                return None
            if again is not None:
                self.channels.saw(
                    channel.channel_id, deposit=again.deposit, state="open", drop_pending=True
                )
        return self.channels.get(channel.channel_id)

    def _open(
        self,
        requirements: PaymentRequirements,
        price: int,
        delay: int,
        sponsor: Pubkey,
        authorizer: Pubkey,
        token_program: Pubkey,
    ) -> dict[str, Any]:
        amount = self._amount(requirements, price)
        parties = Parties(
            payer=self._payer.pubkey(),
            sponsor=sponsor,
            mint=address(requirements.asset, _BAD, "asset"),
            signer=self._payer.pubkey(),
            salt=random_salt(),
            open_slot=read_clock(self._chain).slot,
            pay_to=address(requirements.pay_to, _BAD, "payTo"),
            token_program=token_program,
        )
        text = build_setup(
            self._program.open(parties, amount, delay),
            self._payer,
            sponsor,
            str(self._chain.latest_blockhash()),
            units=_UNITS,
            note=read_note(requirements.extra or {}, _BAD),
            binding=binding_memo(authorizer),
        )
        channel = WalletChannel(
            wallet=self.channels.wallet,
            channel_id=str(self._program.address(parties)),
            network=self._chain.network,
            fee_payer=str(sponsor),
            pay_to=requirements.pay_to,
            asset=requirements.asset,
            token_program=str(token_program),
            receiver_authorizer=str(authorizer),
            withdraw_delay=delay,
            salt=str(parties.salt),
            open_slot=parties.open_slot,
            pending=amount,
            transaction=text,
        )
        self.channels.begin(channel)
        return self._with_deposit(channel, price, price)

    def _top_up(
        self, channel: WalletChannel, requirements: PaymentRequirements, cumulative: int, price: int
    ) -> dict[str, Any]:
        if channel.transaction is not None and channel.deposit + channel.pending >= cumulative:
            return self._with_deposit(channel, cumulative, price)  # out already: the same again
        amount = max(self._amount(requirements, price), cumulative - channel.deposit)
        text = build_setup(
            self._program.top_up(self._parties(channel), amount),
            self._payer,
            Pubkey.from_string(channel.fee_payer),
            str(self._chain.latest_blockhash()),
            units=_UNITS,
            note=read_note(requirements.extra or {}, _BAD),
        )
        return self._with_deposit(
            replace(channel, pending=amount, transaction=text), cumulative, price
        )

    def _amount(self, requirements: PaymentRequirements, price: int) -> int:
        amount = self._policy(
            requirements.asset, price, read_u64((requirements.extra or {}).get("minDeposit"))
        )
        if not price <= amount < 2**63:
            raise PaymentError(
                "DEPOSIT_NOT_ALLOWED",
                f"the deposit policy gives {amount:,} for a price of {price:,}",
            )
        return amount

    def _with_deposit(self, channel: WalletChannel, cumulative: int, price: int) -> dict[str, Any]:
        pending, text = channel.pending, channel.transaction
        self.channels.sign(channel.channel_id, cumulative, price, pending=pending, transaction=text)
        payload = self._payload("deposit", channel, cumulative)
        return {**payload, "deposit": {"amount": str(pending), "transaction": text}}

    def _payload(self, kind: str, channel: WalletChannel, cumulative: int) -> dict[str, Any]:
        key = Pubkey.from_string(channel.channel_id)
        signature = sign_voucher(self._payer, key, cumulative)
        return {
            "type": kind,
            "channelConfig": config_of(
                self._parties(channel), channel.withdraw_delay, channel.receiver_authorizer
            ),
            "voucher": voucher_of(key, cumulative, signature),
        }

    def _parties(self, channel: WalletChannel) -> Parties:
        return Parties(
            payer=self._payer.pubkey(),
            sponsor=Pubkey.from_string(channel.fee_payer),
            mint=Pubkey.from_string(channel.asset),
            signer=self._payer.pubkey(),
            salt=int(channel.salt),
            open_slot=channel.open_slot,
            pay_to=Pubkey.from_string(channel.pay_to),
            token_program=Pubkey.from_string(channel.token_program),
        )

    # -- closing

    def refund_payload(self, channel: WalletChannel, *, alone: bool = False) -> dict[str, Any]:
        """Asks the seller to close the channel and give back what is unused. *alone*: with a request_close that needs
        the sponsor only, for sellers or facilitators that know the channel no more."""
        payload = self._payload("refund", channel, channel.charged)
        if not alone:
            return payload
        key = Pubkey.from_string(channel.channel_id)
        text = build_setup(
            self._program.request_close(key, self._payer.pubkey()),
            self._payer,
            Pubkey.from_string(channel.fee_payer),
            str(self._chain.latest_blockhash()),
            units=20_000,
            note=None,
        )
        return {**payload, "transaction": text}

    # -- what came of it

    def _on_response(self, context: Any) -> RecoveredResponseResult | None:
        """The official core's hook (PaymentResponseContext)."""
        payload = context.payment_payload.payload
        voucher = payload.get("voucher") or {}
        channel_id, cumulative = (
            voucher.get("channelId"),
            read_u64(voucher.get("maxClaimableAmount")),
        )
        if not isinstance(channel_id, str) or cumulative is None:
            return None
        settled = context.settle_response
        if settled is not None and settled.success:
            self._settled(payload, channel_id, cumulative, settled.extra or {})
            return None
        if context.payment_required is not None:
            return self._corrected(channel_id, context.payment_required)
        return None

    def _settled(
        self, payload: Mapping[str, Any], channel_id: str, cumulative: int, extra: Mapping[str, Any]
    ) -> None:
        if payload.get("type") == "refund":
            self.channels.saw(channel_id, deposit=None, state="closed", drop_pending=True)
            return
        state = extra.get("channelState")
        said = (
            read_u64(state.get("chargedCumulativeAmount")) if isinstance(state, Mapping) else None
        )
        # Without a word on it the call was charged as it was signed; more than that is never believed.
        charged = cumulative if said is None else min(said, cumulative)
        self.channels.confirmed(channel_id, charged)
        row = self.channels.get(channel_id)
        if payload.get("type") == "deposit" and row is not None and row.transaction is not None:
            self._look(row)  # that a deposit landed is seen on the chain, not believed

    def _corrected(self, channel_id: str, required: Any) -> RecoveredResponseResult | None:
        """A demand that says what was charged: believed as far as this wallet's own signature proves it."""
        error = str(required.error or "")
        for accept in getattr(required, "accepts", []):
            extra = getattr(accept, "extra", None) or {}
            state, proof = extra.get("channelState"), extra.get("voucherState")
            if (
                accept.scheme != SCHEME
                or not isinstance(state, Mapping)
                or state.get("channelId") != channel_id
            ):
                continue
            said = read_u64(state.get("chargedCumulativeAmount"))
            if said is None:
                continue
            if not isinstance(
                proof, Mapping
            ):  # the seller knows no voucher: the chain says what was claimed
                there = self._program.fetch(self._chain, channel_id)
                ok = there is not None and there.settled == said
            else:
                signed = read_u64(proof.get("signedMaxClaimable"))
                ok = (
                    signed is not None
                    and said <= signed
                    and proof.get("expiresAt") == 0
                    and checks(
                        proof.get("signature"),
                        self._payer.pubkey(),
                        Pubkey.from_string(channel_id),
                        signed,
                    )
                )
            if ok and self.channels.confirmed(channel_id, said):
                return RecoveredResponseResult()
            return None
        if f"{CODE}_channel_closing" in error or f"{CODE}_channel_state" in error:
            there = self._program.fetch(
                self._chain, channel_id
            )  # the seller's word alone makes us open no other
            if there is None or there.status != "open":
                row = self.channels.get(channel_id)
                if row is not None and (there is not None or row.state == "open"):
                    self.channels.saw(channel_id, deposit=None, state="closed", drop_pending=True)
                    return RecoveredResponseResult()
        return None
