"""The payer of `batch-settlement`: one deposit, then one signature for each call.

Everything is stored before it is signed (store.wallet_channels), so that neither a crash nor a
seller makes this wallet sign more than the confirmed sum plus one price. The answer to each call,
and a demand that corrects the sum, arrive through the official core's hook `on_payment_response`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from solders.pubkey import Pubkey
from x402.schemas import PaymentRequirements, RecoveredResponseResult

from mcpsol_py.errors import PaymentError
from mcpsol_py.whole_numbers import read_u64
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
from mcpsol_py.x402.channels.payouts import check_receivers
from mcpsol_py.x402.channels.program import ChannelProgram, Parties, read_clock
from mcpsol_py.x402.channels.sponsored import build_setup, random_salt
from mcpsol_py.x402.channels.terms import address, check_network, read_delay, read_note
from mcpsol_py.x402.channels.voucher import VoucherSigner, checks, sign_voucher
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.source_account import check_funds, read_own_source
from mcpsol_py.x402.exact.transaction import read_transaction
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.networks import default_asset
from mcpsol_py.x402.store.wallet_channels import WalletChannel, WalletChannels

__all__ = ["BatchClient", "DepositPolicy", "corrected_sum", "deposits"]

#: Compute units of an `open`. A `top_up` takes less.
_UNITS = 90_000
_BAD = "invalid_payment_requirements"
#: (mint, price, the seller's hint or None, what channels of this mint lock already) -> base units to
#: deposit, at least the price, or PaymentError
DepositPolicy = Callable[[str, int, int | None, int], int]


def deposits(most: Mapping[str, int], *, calls: int = 50) -> DepositPolicy:
    """Return a policy that deposits the price of *calls* calls or the seller's hint, whichever is
    higher.

    All channels of a mint together lock at most *most* base units of it. A deposit is not spent,
    but locked until its channel is closed, so this limits how much sellers can lock, whatever terms
    they ask for.
    """

    def policy(mint: str, price: int, hint: int | None, locked: int) -> int:
        cap = most.get(mint, 0)
        if locked + price > cap:
            raise PaymentError(
                "DEPOSIT_NOT_ALLOWED",
                f"a channel would lock {price:,} base units of {mint} and more; at most {cap:,} "
                f"are allowed, and channels lock {locked:,} already",
            )
        return min(max(price * calls, hint or 0), cap - locked)

    return policy


class BatchClient:
    """Pays by vouchers of its own channels. *deposit* decides how much to put into one."""

    scheme = SCHEME

    def __init__(
        self,
        payer: VoucherSigner,
        chain: PaymentChain,
        program: ChannelProgram,
        channels: WalletChannels,
        *,
        deposit: DepositPolicy,
        max_delay: int = 86_400,
    ) -> None:
        """*max_delay*: the longest grace period, in seconds, that the payer accepts."""
        self._payer, self._chain, self._program, self.channels = (
            payer,
            chain,
            program,
            channels,
        )
        self._policy, self._max_delay = deposit, min(max_delay, LONGEST_DELAY)
        self._mints = Mints(chain)
        self.scheme_hooks: dict[str, Callable[[Any], Any]] = {
            "on_payment_response": self._on_response
        }

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """Return the asset if it is a known stablecoin of the network. The official client spends
        those by default.
        """
        return default_asset(network, asset)

    # -- paying

    def create_payment_payload(
        self, requirements: PaymentRequirements
    ) -> dict[str, Any]:
        """Return a voucher, with a deposit if the channel is new or used up.

        Raises PaymentError if the requirements cannot be met, or if another process used the
        channel meanwhile (CHANNEL_CONFLICT: ask again).
        """
        offer = self._read_offer(requirements)
        channel = self._usable(offer)
        if channel is None:
            return self._open(offer)
        cumulative = channel.charged + offer.price
        if channel.state == "opening":
            # The opening was sent and may land: send the same one again, never a second one.
            return self._with_deposit(channel, cumulative, offer.price)
        if cumulative <= channel.deposit:
            self.channels.sign(channel.channel_id, cumulative, offer.price)
            return self._payload("voucher", channel, cumulative)
        return self._top_up(channel, offer, cumulative)

    def check(self, requirements: PaymentRequirements) -> None:
        """Raise why this wallet would not pay now. Nothing is signed."""
        offer = self._read_offer(requirements)
        channel = self._usable(offer)
        if channel is None:
            self._amount(offer, self._new_parties(offer), offer.price)
        elif (
            channel.state != "opening"
            and channel.charged + offer.price > channel.deposit
        ):
            least = channel.charged + offer.price - channel.deposit
            self._amount(offer, self._parties(channel), least)

    def _read_offer(self, requirements: PaymentRequirements) -> _VoucherOffer:
        check_network(requirements, self._chain.network)
        extra = extra_of(requirements)
        if extra.get("voucherSigner", "client") != "client":
            raise PaymentError(
                _BAD,
                "the seller wants to sign the vouchers itself: it could take the whole deposit",
            )
        price = read_u64(requirements.amount)
        if not price:
            raise PaymentError(_BAD, "the amount is not a positive u64")
        delay = read_delay(extra, _BAD, SHORTEST_DELAY, self._max_delay)
        token_program, _ = self._mints.payable(
            requirements.asset, price, to=requirements.pay_to
        )
        if extra.get("tokenProgram") != str(token_program):
            raise PaymentError(_BAD, "extra.tokenProgram does not own the mint")
        sponsor = address(extra.get("feePayer"), _BAD, "extra.feePayer")
        authorizer = address(
            extra.get("receiverAuthorizer"), _BAD, "extra.receiverAuthorizer"
        )
        if sponsor == self._payer.pubkey():
            raise PaymentError(
                _BAD,
                "extra.feePayer is the payer itself; expected the facilitator's sponsor",
            )
        note = read_note(extra, _BAD)
        return _VoucherOffer(
            requirements, price, delay, sponsor, authorizer, token_program, note
        )

    def _usable(self, offer: _VoucherOffer) -> WalletChannel | None:
        found = self.channels.usable(
            self._chain.network,
            str(offer.sponsor),
            offer.requirements.pay_to,
            offer.requirements.asset,
            str(offer.authorizer),
            offer.delay,
        )
        for channel in found:
            current = (
                self._look(channel) if channel.transaction is not None else channel
            )
            if current is not None:
                return current
        return None

    def _look(self, channel: WalletChannel) -> WalletChannel | None:
        """Update the record of a channel whose deposit was sent, from the chain. None if it cannot
        be used.
        """
        on_chain = self._program.fetch(self._chain, channel.channel_id)
        if on_chain is not None and on_chain.status != "open":
            return self._saw(channel, on_chain.deposit, "closed")
        if (
            on_chain is not None
            and on_chain.deposit >= channel.deposit + channel.pending
        ):
            return self._saw(channel, on_chain.deposit, "open")
        wire = read_transaction(channel.transaction)
        age_ms = self.channels.now_ms() - channel.touched_ms
        if not self._chain.can_no_longer_land(wire.message.recent_blockhash, age_ms):
            return self.channels.get(channel.channel_id)
        # It may have landed just before it expired.
        latest = self._program.fetch(self._chain, channel.channel_id)
        if latest is not None:
            return self._saw(channel, latest.deposit, "open")
        if on_chain is None:
            return self._saw(channel, 0, "closed")
        return self.channels.get(channel.channel_id)

    def _saw(
        self, channel: WalletChannel, deposit: int, state: Literal["open", "closed"]
    ) -> WalletChannel | None:
        """Record what the chain shows, and return the channel if it is open."""
        self.channels.saw(
            channel.channel_id, deposit=deposit, state=state, drop_pending=True
        )
        return self.channels.get(channel.channel_id) if state == "open" else None

    def _open(self, offer: _VoucherOffer) -> dict[str, Any]:
        requirements, price = offer.requirements, offer.price
        parties = self._new_parties(offer)
        amount, locked = self._amount(offer, parties, price)
        text = build_setup(
            self._program.open(parties, amount, offer.delay),
            self._payer,
            offer.sponsor,
            str(self._chain.latest_blockhash()),
            units=_UNITS,
            note=offer.note,
            binding=binding_memo(offer.authorizer),
        )
        channel = WalletChannel(
            wallet=self.channels.wallet,
            channel_id=str(self._program.address(parties)),
            network=self._chain.network,
            fee_payer=str(offer.sponsor),
            pay_to=requirements.pay_to,
            asset=requirements.asset,
            token_program=str(offer.token_program),
            receiver_authorizer=str(offer.authorizer),
            withdraw_delay=offer.delay,
            salt=str(parties.salt),
            open_slot=parties.open_slot,
            pending=amount,
            transaction=text,
        )
        self.channels.begin(channel, locked=locked)
        return self._with_deposit(channel, price, price)

    def _new_parties(self, offer: _VoucherOffer) -> Parties:
        """The parties of a new channel."""
        return Parties(
            payer=self._payer.pubkey(),
            sponsor=offer.sponsor,
            mint=address(offer.requirements.asset, _BAD, "asset"),
            signer=self._payer.pubkey(),
            salt=random_salt(),
            open_slot=read_clock(self._chain).slot,
            pay_to=address(offer.requirements.pay_to, _BAD, "payTo"),
            token_program=offer.token_program,
        )

    def _top_up(
        self, channel: WalletChannel, offer: _VoucherOffer, cumulative: int
    ) -> dict[str, Any]:
        price = offer.price
        # One deposit at a time: sent already, the same again.
        if channel.transaction is not None:
            return self._with_deposit(channel, cumulative, price)
        parties = self._parties(channel)
        amount, locked = self._amount(offer, parties, cumulative - channel.deposit)
        text = build_setup(
            self._program.top_up(parties, amount),
            self._payer,
            Pubkey.from_string(channel.fee_payer),
            str(self._chain.latest_blockhash()),
            units=_UNITS,
            note=offer.note,
        )
        return self._with_deposit(
            replace(channel, pending=amount, transaction=text),
            cumulative,
            price,
            locked,
        )

    def _amount(
        self, offer: _VoucherOffer, parties: Parties, least: int
    ) -> tuple[int, int]:
        """Return (base units to deposit, what channels of this mint lock already).

        The wallet must have at least *least* of what the policy wants to deposit, and the channel's
        receivers must be able to take it.
        """
        asset = offer.requirements.asset
        hint = read_u64(extra_of(offer.requirements).get("minDeposit"))
        locked = self.channels.locked(self._chain.network, asset)
        try:
            amount = self._policy(asset, offer.price, hint, locked)
        except PaymentError:  # a deposit that never landed may count
            self._look_at_deposits(asset)
            locked = self.channels.locked(self._chain.network, asset)
            amount = self._policy(asset, offer.price, hint, locked)
        if not offer.price <= amount < 2**63:
            raise PaymentError(
                "DEPOSIT_NOT_ALLOWED",
                f"the deposit policy returned {amount:,} for a price of {offer.price:,}",
            )
        payer, program = self._payer.pubkey(), offer.token_program
        source = read_own_source(self._chain, payer, asset, program)
        check_funds(source, least)
        check_receivers(self._chain, self._program, parties, least)
        return max(min(amount, source.available), least), locked

    def _look_at_deposits(self, asset: str) -> None:
        for channel in self.channels.all():
            is_ours = (channel.network, channel.asset) == (self._chain.network, asset)
            if is_ours and channel.transaction is not None:
                self._look(channel)

    def _with_deposit(
        self,
        channel: WalletChannel,
        cumulative: int,
        price: int,
        locked: int | None = None,
    ) -> dict[str, Any]:
        """*locked*: what channels locked when a new deposit was decided; None: it is sent again."""
        self.channels.sign(
            channel.channel_id,
            cumulative,
            price,
            pending=channel.pending,
            transaction=channel.transaction,
            locked=locked,
        )
        pending, text = channel.pending, channel.transaction
        payload = self._payload("deposit", channel, cumulative)
        return {**payload, "deposit": {"amount": str(pending), "transaction": text}}

    def _payload(
        self, kind: str, channel: WalletChannel, cumulative: int
    ) -> dict[str, Any]:
        key = Pubkey.from_string(channel.channel_id)
        signature = sign_voucher(self._payer, key, cumulative)
        return {
            "type": kind,
            "channelConfig": config_of(
                self._parties(channel),
                channel.withdraw_delay,
                channel.receiver_authorizer,
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

    def refund_payload(
        self, channel: WalletChannel, *, alone: bool = False
    ) -> dict[str, Any]:
        """Return a payload that asks the seller to close the channel and give back the unused
        deposit.

        *alone*: with a request_close that needs only the sponsor's signature, if seller or
        facilitator no longer know the channel.
        """
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

    # -- answers

    def _on_response(self, context: Any) -> RecoveredResponseResult | None:
        """Handle an answer: the official core's hook (PaymentResponseContext)."""
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
            self._settled(payload, channel_id, cumulative, extra_of(settled))
            return None
        if context.payment_required is not None:
            return self._corrected(channel_id, context.payment_required)
        return None

    def _settled(
        self,
        payload: Mapping[str, Any],
        channel_id: str,
        cumulative: int,
        extra: Mapping[str, Any],
    ) -> None:
        if payload.get("type") == "refund":
            self.channels.saw(
                channel_id, deposit=None, state="closed", drop_pending=True
            )
            return
        state = extra.get("channelState")
        charged = cumulative
        if isinstance(state, Mapping):
            answered = read_u64(state.get("chargedCumulativeAmount"))
            # Without an answer the call was charged as signed. More than was signed is never
            # believed.
            charged = cumulative if answered is None else min(answered, cumulative)
        self.channels.confirmed(channel_id, charged)
        row = self.channels.get(channel_id)
        if (
            payload.get("type") == "deposit"
            and row is not None
            and row.transaction is not None
        ):
            self._look(row)  # whether a deposit landed is read from the chain

    def _corrected(
        self, channel_id: str, required: Any
    ) -> RecoveredResponseResult | None:
        """Handle a demand after a voucher. Return a result if our record was corrected and may sign
        again.
        """
        for accept in getattr(required, "accepts", []):
            correction = _correction(accept, channel_id)
            if correction is None:
                continue
            if not self._is_proved(channel_id, *correction):
                return None
            return _recovered(self.channels.confirmed(channel_id, correction[0]))
        error = str(required.error or "")
        if f"{CODE}_channel_closing" in error or f"{CODE}_channel_state" in error:
            return _recovered(self._forget_closed(channel_id))
        return None

    def _is_proved(
        self, channel_id: str, charged: int, proof: Mapping[str, Any] | None
    ) -> bool:
        """Whether a seller's sum is proved: by this wallet's own signature, or else by the chain."""
        # The seller has no voucher, so the chain must show the sum as claimed.
        if proof is None:
            on_chain = self._program.fetch(self._chain, channel_id)
            return on_chain is not None and on_chain.settled == charged
        signed = read_u64(proof.get("signedMaxClaimable"))
        if signed is None or charged > signed or proof.get("expiresAt") != 0:
            return False
        key = Pubkey.from_string(channel_id)
        return checks(proof.get("signature"), self._payer.pubkey(), key, signed)

    def _forget_closed(self, channel_id: str) -> bool:
        """Record a channel as closed if the chain shows it. The seller's word alone opens no other
        channel.
        """
        on_chain = self._program.fetch(self._chain, channel_id)
        if on_chain is not None and on_chain.status == "open":
            return False
        row = self.channels.get(channel_id)
        # Not on chain: closed if it was open before; otherwise its opening may still land.
        if row is None or (on_chain is None and row.state != "open"):
            return False
        self.channels.saw(channel_id, deposit=None, state="closed", drop_pending=True)
        return True


@dataclass(frozen=True, slots=True)
class _VoucherOffer:
    """Payment requirements, read."""

    requirements: PaymentRequirements
    price: int
    delay: int
    sponsor: Pubkey
    authorizer: Pubkey
    token_program: Pubkey
    note: str | None


def _recovered(corrected: bool) -> RecoveredResponseResult | None:
    return RecoveredResponseResult() if corrected else None


def corrected_sum(required: Any, channel_id: str) -> int | None:
    """Return the sum that a demand says was charged on a channel, None if it names none."""
    corrections = (
        _correction(accept, channel_id) for accept in getattr(required, "accepts", [])
    )
    return next((found[0] for found in corrections if found is not None), None)


def _correction(
    accept: Any, channel_id: str
) -> tuple[int, Mapping[str, Any] | None] | None:
    """Read (charged sum, proof) of a channel from a demand's terms, None if they have neither."""
    extra = getattr(accept, "extra", None) or {}
    state, proof = extra.get("channelState"), extra.get("voucherState")
    if accept.scheme != SCHEME or not isinstance(state, Mapping):
        return None
    charged = read_u64(state.get("chargedCumulativeAmount"))
    if state.get("channelId") != channel_id or charged is None:
        return None
    return charged, proof if isinstance(proof, Mapping) else None
