"""The `exact` scheme as plug-ins of the official `x402` core: payer, seller and facilitator.

Each has a class for protocol version 2 and, if the versions differ, one for version 1. A base class
holds what both versions share.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from solders.keypair import Keypair
from solders.message import MessageV0, to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from x402.schemas import (
    AssetAmount,
    PaymentPayload,
    PaymentRequirements,
    SettleResponse,
    SupportedKind,
    VerifyResponse,
)
from x402.schemas.v1 import PaymentPayloadV1, PaymentRequirementsV1

from mcpsol_py.errors import PaymentError, abbr
from mcpsol_py.solana.addresses import TOKEN_2022_PROGRAM
from mcpsol_py.solana.tokens import read_mint, read_token_account
from mcpsol_py.whole_numbers import base_units
from mcpsol_py.x402.chain.payment_chain import ChainUnavailable, PaymentChain
from mcpsol_py.x402.exact.received import check_account, check_mint
from mcpsol_py.x402.exact.settle import (
    MemorySettlements,
    SettlementStore,
    Sponsor,
    check_on_chain,
    settle_transfer,
)
from mcpsol_py.x402.exact.source_account import check_funds, read_source
from mcpsol_py.x402.exact.transaction import (
    PaymentTerms,
    associated_token_address,
    build_message,
    wire_base64,
)
from mcpsol_py.x402.exact.verify import SponsorLimits, VerifiedTransfer, verify_transfer
from mcpsol_py.x402.protocol.json_form import extra_of
from mcpsol_py.x402.protocol.networks import asset_by_mint, caip2, default_asset
from mcpsol_py.x402.protocol.price import parse_price

__all__ = [
    "ExactClient",
    "ExactClientV1",
    "ExactFacilitator",
    "ExactFacilitatorV1",
    "ExactServer",
]

Requirements = PaymentRequirements | PaymentRequirementsV1

#: Refusals of a transaction that is or may be on chain. The answer has its signature, so that it
#: can be looked up.
_WITH_SIGNATURE = ("settlement_pending", "transaction_failed", "duplicate_settlement")


class Mints:
    """Reads the token program and decimals of mints, from the chain once each."""

    def __init__(self, chain: PaymentChain) -> None:
        self._chain = chain
        self._known: dict[str, tuple[Pubkey, int]] = {}

    def get(self, mint: str) -> tuple[Pubkey, int]:
        """Return (token program, decimals). Raises PaymentError if the account is not a mint."""
        known = self._known.get(mint)
        if known is None:
            account = self._chain.get_accounts([mint])[0]
            found = read_mint(account)
            if account is None or found is None:
                raise PaymentError(
                    "invalid_payment_requirements",
                    f"{mint} is not a token mint on {self._chain.network}",
                )
            known = self._known[mint] = (account.owner, found.decimals)
        return known

    def payable(self, mint: str, amount: int, *, to: str) -> tuple[Pubkey, int]:
        """As `get`, for a payment that is about to be signed: the wallet *to* must get all of
        *amount* base units.

        Raises PaymentError with the reason of `check_mint` and `check_account` too.
        """
        known = self.get(mint)
        if known[0] != TOKEN_2022_PROGRAM:  # whose mints have no extensions
            return known
        try:
            payee = associated_token_address(
                Pubkey.from_string(to), Pubkey.from_string(mint), TOKEN_2022_PROGRAM
            )
        except ValueError:
            raise PaymentError(
                "invalid_payment_requirements", "the payee's address cannot be read"
            ) from None
        # Read each time: its authorities may change fees, pause it and freeze accounts at any time.
        minted, held = self._chain.get_accounts([mint, str(payee)])
        check_mint(mint, minted, amount)
        check_account(f"the payee's token account {payee}", held)
        return known


class _ExactPayer:
    """Builds and signs the transfer that requirements ask for. It sends nothing."""

    scheme = "exact"

    def __init__(
        self,
        payer: Keypair,
        chain: PaymentChain,
        *,
        compute_units: int = 20_000,
        micro_lamports: int = 1,
        source: Pubkey | None = None,
    ) -> None:
        """*source*: the token account that pays, if it is not the payer's ATA. The payer is its
        owner or its delegate.
        """
        self._payer, self._chain, self._source = payer, chain, source
        self._mints = Mints(chain)
        self._units, self._price = compute_units, micro_lamports

    @staticmethod
    def find_default_asset(asset: str, network: str) -> dict[str, Any] | None:
        """Return the asset if it is a known stablecoin of the network. The official client spends
        those by default.
        """
        return default_asset(network, asset)

    def check(self, requirements: Requirements) -> None:
        """Raise why this wallet would not pay now. Nothing is signed."""
        self._message(requirements)

    def _payload(self, requirements: Requirements) -> dict[str, Any]:
        message = self._message(requirements)
        signature: Signature = self._payer.sign_message(to_bytes_versioned(message))
        return {"transaction": wire_base64(message, {self._payer.pubkey(): signature})}

    def _message(self, requirements: Requirements) -> MessageV0:
        """Make the payment, ready to be signed."""
        terms = self._terms(requirements)
        self._check_accounts(terms)
        # Never the seller's extra.recentBlockhash: one that this node does not know yet would count
        # as expired while the payment can land.
        blockhash = str(self._chain.latest_blockhash())
        return build_message(
            terms, blockhash, compute_units=self._units, micro_lamports=self._price
        )

    def _terms(self, requirements: Requirements) -> PaymentTerms:
        """Read the requirements, and the token that they ask for."""
        network = caip2(str(requirements.network))
        if network != self._chain.network:
            raise PaymentError(
                "network_mismatch",
                f"the payment is asked on {network}; this wallet is on {self._chain.network}",
            )
        extra = extra_of(requirements)
        fee_payer = extra.get("feePayer")
        if not isinstance(fee_payer, str):
            raise PaymentError(
                "invalid_payment_requirements",
                "extra.feePayer is missing, so nobody would pay the fee",
            )
        memo = extra.get("memo")
        amount = base_units(requirements.get_amount())
        if amount is None:
            raise PaymentError(
                "invalid_payment_requirements",
                f"expected base units, got the amount {abbr(requirements.get_amount())}",
            )
        program, decimals = self._mints.payable(
            requirements.asset, amount, to=requirements.pay_to
        )
        try:
            terms = PaymentTerms(
                payer=self._payer.pubkey(),
                pay_to=Pubkey.from_string(requirements.pay_to),
                mint=Pubkey.from_string(requirements.asset),
                decimals=decimals,
                token_program=program,
                amount=amount,
                fee_payer=Pubkey.from_string(fee_payer),
                memo=memo if isinstance(memo, str) and memo else None,
                source=self._source,
            )
        except ValueError as error:
            raise PaymentError(
                "invalid_payment_requirements", "an address cannot be read"
            ) from error
        if terms.fee_payer == terms.payer:
            raise PaymentError(
                "invalid_payment_requirements",
                "extra.feePayer is the payer itself; expected the facilitator's sponsor",
            )
        return terms

    def _check_accounts(self, terms: PaymentTerms) -> None:
        """The payer's account must give the amount, and the payee's must take it."""
        mint, program = terms.mint, terms.token_program
        source = terms.source or associated_token_address(terms.payer, mint, program)
        payee = associated_token_address(terms.pay_to, mint, program)
        paying, receiving = self._chain.get_accounts([str(source), str(payee)])
        check_funds(
            read_source(str(source), paying, terms.payer, str(mint)), terms.amount
        )
        if read_token_account(receiving) is None:
            raise PaymentError(
                "payee_account_missing",
                f"the payee {terms.pay_to} has no account of the token {mint}; only the seller can "
                "create it",
            )
        check_account(f"the payee's token account {payee}", receiving)


class ExactClient(_ExactPayer):
    """Pays, protocol version 2."""

    def create_payment_payload(
        self, requirements: PaymentRequirements
    ) -> dict[str, Any]:
        """Return {"transaction": base64}. Raises PaymentError if the requirements cannot be met."""
        return self._payload(requirements)


class ExactClientV1(_ExactPayer):
    """Pays, protocol version 1 (`maxAmountRequired`, network names)."""

    def create_payment_payload(
        self, requirements: PaymentRequirementsV1
    ) -> dict[str, Any]:
        """Return {"transaction": base64}. Raises PaymentError if the requirements cannot be met."""
        return self._payload(requirements)


class ExactServer:
    """Sells: turns prices into requirements."""

    scheme = "exact"
    default_asset_transfer_method = "default"
    payment_flows: ClassVar[Mapping[str, Any]] = {
        "default": {
            "supported": ("authorization", "upfront"),
            "default": "authorization",
        }
    }
    dynamic_extra_fields: ClassVar[list[str]] = [
        "recentBlockhash",
        "lastValidBlockHeight",
    ]

    def get_asset_decimals(self, asset: str, network: str) -> int | None:
        """Return the decimals of a known asset."""
        known = asset_by_mint(network, asset)
        return known.decimals if known else None

    def parse_price(self, price: Any, network: str) -> AssetAmount:
        """See price.parse_price."""
        if isinstance(price, AssetAmount):
            return price
        parsed = parse_price(price, network)
        extra = price.get("extra", {}) if isinstance(price, dict) else {}
        return AssetAmount(amount=str(parsed.amount), asset=parsed.mint, extra=extra)

    def enhance_payment_requirements(
        self,
        requirements: PaymentRequirements,
        supported_kind: SupportedKind,
        extensions: list[str],
    ) -> PaymentRequirements:
        """Add the facilitator's fee payer. Raises PaymentError, at start-up, if the facilitator
        offers none, since no payment could settle.
        """
        fee_payer = extra_of(supported_kind).get("feePayer")
        if not fee_payer:
            raise PaymentError(
                "invalid_payment_requirements",
                "the facilitator offers no feePayer for exact on Solana",
            )
        extra = {**extra_of(requirements), "feePayer": fee_payer}
        return requirements.model_copy(update={"extra": extra})


class _ExactFacilitator:
    """Verifies and settles. It never raises: if the chain does not answer, the reason is
    `unexpected_…_error`.
    """

    scheme = "exact"
    caip_family = "solana:*"

    def __init__(
        self,
        chain: PaymentChain,
        sponsor: Sponsor,
        settlements: SettlementStore | None = None,
        *,
        limits: SponsorLimits | None = None,
        timeout: float = 30.0,
        poll: float = 0.5,
        fault: Callable[[str], None] = lambda _point: None,
    ) -> None:
        self._chain, self._sponsor = chain, sponsor
        self.settlements: SettlementStore = (
            settlements if settlements is not None else MemorySettlements()
        )
        self._limits = limits or SponsorLimits()
        self._timeout, self._poll, self._fault = timeout, poll, fault

    def get_extra(self, network: str) -> dict[str, Any] | None:
        """Return one of the fee payers, at random, to spread the load."""
        return {"feePayer": random.choice(self._sponsor.addresses())}

    def get_signers(self, network: str) -> list[str]:
        """Return all fee payers."""
        return self._sponsor.addresses()

    def _check(
        self,
        scheme: str,
        network: str,
        payload: Mapping[str, Any],
        requirements: Requirements,
    ) -> VerifiedTransfer:
        if scheme != self.scheme or requirements.scheme != self.scheme:
            raise PaymentError(
                "unsupported_scheme",
                f"scheme {scheme!r}; this facilitator serves 'exact'",
            )
        if not (
            caip2(str(network))
            == caip2(str(requirements.network))
            == self._chain.network
        ):
            raise PaymentError(
                "network_mismatch",
                f"paid on {network}, asked on {requirements.network}",
            )
        return verify_transfer(
            payload,
            asset=requirements.asset,
            amount=requirements.get_amount(),
            pay_to=requirements.pay_to,
            extra=extra_of(requirements),
            fee_payers=self._sponsor.addresses(),
            limits=self._limits,
        )

    def _verify(
        self,
        scheme: str,
        network: str,
        payload: Mapping[str, Any],
        requirements: Requirements,
    ) -> VerifyResponse:
        payer = ""
        try:
            transfer = self._check(scheme, network, payload, requirements)
            payer = transfer.payer
            known = self.settlements.get(transfer.key)
            if known is not None and known.state in ("landed", "failed"):
                # Refused here already: a tool runs between verification and settlement.
                raise PaymentError(
                    "duplicate_settlement",
                    f"this payment was settled already, as {known.signature}",
                )
            check_on_chain(self._chain, transfer)
        except PaymentError as error:
            return VerifyResponse(
                is_valid=False,
                invalid_reason=error.code,
                invalid_message=str(error),
                payer=payer,
            )
        except ChainUnavailable as error:
            return VerifyResponse(
                is_valid=False,
                invalid_reason="unexpected_verify_error",
                invalid_message=str(error),
                payer=payer,
            )
        return VerifyResponse(is_valid=True, payer=payer)

    def _settle(
        self,
        scheme: str,
        network: str,
        payload: Mapping[str, Any],
        requirements: Requirements,
    ) -> SettleResponse:
        payer, asked_network = "", str(requirements.network)
        try:
            transfer = self._check(scheme, network, payload, requirements)
            payer = transfer.payer
            settled = settle_transfer(
                self._chain,
                self.settlements,
                self._sponsor,
                transfer,
                timeout=self._timeout,
                poll=self._poll,
                fault=self._fault,
            )
        except PaymentError as error:
            known = self.settlements.get(transfer.key) if payer else None
            sent = known.signature if known and error.code in _WITH_SIGNATURE else ""
            return SettleResponse(
                success=False,
                error_reason=error.code,
                error_message=str(error),
                transaction=sent,
                network=asked_network,
                payer=payer,
            )
        except ChainUnavailable as error:
            return SettleResponse(
                success=False,
                error_reason="unexpected_settle_error",
                error_message=str(error),
                transaction="",
                network=asked_network,
                payer=payer,
            )
        return SettleResponse(
            success=True,
            transaction=settled.signature,
            network=asked_network,
            payer=settled.payer,
        )


class ExactFacilitator(_ExactFacilitator):
    """Verifies and settles, protocol version 2."""

    def verify(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        context: object = None,
    ) -> VerifyResponse:
        """Check whether this payment would settle now."""
        return self._verify(
            payload.accepted.scheme,
            payload.accepted.network,
            payload.payload,
            requirements,
        )

    def settle(
        self,
        payload: PaymentPayload,
        requirements: PaymentRequirements,
        context: object = None,
    ) -> SettleResponse:
        """Broadcast it once and wait until it landed."""
        return self._settle(
            payload.accepted.scheme,
            payload.accepted.network,
            payload.payload,
            requirements,
        )


class ExactFacilitatorV1(_ExactFacilitator):
    """Verifies and settles, protocol version 1.

    Give it the `settlements` of the version 2 facilitator, so that a payment cannot be settled by
    both.
    """

    def verify(
        self,
        payload: PaymentPayloadV1,
        requirements: PaymentRequirementsV1,
        context: object = None,
    ) -> VerifyResponse:
        """Check whether this payment would settle now."""
        return self._verify(
            payload.scheme, payload.network, payload.payload, requirements
        )

    def settle(
        self,
        payload: PaymentPayloadV1,
        requirements: PaymentRequirementsV1,
        context: object = None,
    ) -> SettleResponse:
        """Broadcast it once and wait until it landed."""
        return self._settle(
            payload.scheme, payload.network, payload.payload, requirements
        )
