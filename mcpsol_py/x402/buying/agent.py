"""An agent's wallet: its own key, which spends what owners delegate to it (SPL Approve), within
limits.

One reservation (budget.py) enforces the limits of a payment, a session and a day, and the chain's
delegation. The key stays in its keystore and in this process; no method takes or returns one.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.client.keys import create_keystore, open_keypair
from mcpsol_py.client.simulation import unsigned
from mcpsol_py.errors import PaymentError, SourceError
from mcpsol_py.solana.tokens import TokenAccount, read_token_account
from mcpsol_py.x402.buying.batch_transfer import (
    Transfer,
    batch_spendings,
    send_until_landed,
    sign_batch,
)
from mcpsol_py.x402.buying.budget import Budget, Spending, SpendingLimits
from mcpsol_py.x402.buying.history import History
from mcpsol_py.x402.buying.outcomes import Selector
from mcpsol_py.x402.buying.paying import CallPayer, reconcile, released_unless_signed
from mcpsol_py.x402.buying.purchases import seller_domains
from mcpsol_py.x402.buying.token_sources import TokenSources
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.chain.payment_chain import (
    ChainUnavailable,
    PaymentChain,
)
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.source_account import SourceAccount, read_source
from mcpsol_py.x402.exact.transaction import (
    associated_token_address,
    message_hash,
)
from mcpsol_py.x402.protocol.price import format_amount
from mcpsol_py.x402.subscriptions.subscriber import Subscriber
from mcpsol_py.x402.threads import in_thread

if TYPE_CHECKING:
    from mcpsol_py.x402.store.database import Database

__all__ = ["AgentWallet", "Delegation", "Transfer", "WalletSettings"]


@dataclass(frozen=True, slots=True)
class WalletSettings:
    """`keystore`: the agent's key file. `limits`: by mint; other mints are not spent. `sources`:
    token accounts of owners that the agent may pay from; it pays other mints from its own account.
    """

    keystore: Path
    limits: SpendingLimits
    sources: tuple[str, ...] = ()
    #: By mint, the most that one channel may hold (base units). Calls in these mints are paid by
    #: vouchers if the seller takes them. The agent's own account pays into channels.
    deposits: Mapping[str, int] = field(default_factory=dict)
    #: By pattern of a host, the domain that its sellers name in the proofs of subscribers, if it is
    #: not the host itself.
    domains: Mapping[str, str] = field(default_factory=dict)
    session: str = field(default_factory=lambda: f"session_{secrets.token_hex(8)}")


@dataclass(frozen=True, slots=True)
class Delegation:
    """How much of a token account the agent may take. Amounts in base units of `mint`."""

    account: str
    owner: str
    mint: str
    delegate: str | None
    delegated: int
    balance: int

    @property
    def available(self) -> int:
        """The amount that a transfer can take now."""
        return min(self.delegated, self.balance)


class AgentWallet:
    """The wallet of *settings* on *chain*.

    *passphrase* is called when the key is first needed; the passphrase is not kept. *alert* as in
    Budget. *select* picks one of the ways to pay that a seller offers.
    """

    def __init__(
        self,
        chain: PaymentChain,
        database: Database,
        settings: WalletSettings,
        passphrase: Callable[[], str],
        *,
        alert: Callable[
            [str, int, int, str], None
        ] = lambda _asset, _spent, _limit, _kind: None,
        select: Selector | None = None,
    ) -> None:
        self.chain, self.settings = chain, settings
        self._database, self._passphrase = database, passphrase
        self._alert, self._select = alert, select
        self._keypair: Keypair | None = None
        self._payer: CallPayer | None = None
        self._mints = Mints(chain)

    # --- the key ----------------------------------------------------------------------------------

    def set_up(self) -> str:
        """Create the agent's key, store it encrypted, and return its address.

        Raises PaymentError: KEYPAIR_EXISTS (a key is never overwritten), SETUP_FAILED.
        """
        if self.settings.keystore.exists():
            raise PaymentError(
                "KEYPAIR_EXISTS",
                f"{self.settings.keystore.name} exists already; a key is never overwritten",
            )
        keypair = Keypair()
        try:
            self.settings.keystore.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            create_keystore(self.settings.keystore, keypair, self._passphrase())
        except (SourceError, OSError) as error:
            raise PaymentError("SETUP_FAILED", str(error)) from error
        self._keypair = keypair
        return str(keypair.pubkey())

    def address(self) -> str:
        """Return the agent's address. Raises PaymentError: NOT_SET_UP, INVALID_PASSPHRASE."""
        return str(self._key().pubkey())

    def _key(self) -> Keypair:
        if self._keypair is None:
            if not self.settings.keystore.exists():
                raise PaymentError(
                    "NOT_SET_UP",
                    "the agent has no key yet; x402_setup_agent creates one",
                )
            try:
                self._keypair = open_keypair(self.settings.keystore, self._passphrase())
            except SourceError as error:
                raise PaymentError("INVALID_PASSPHRASE", str(error)) from error
        return self._keypair

    # --- delegation -------------------------------------------------------------------------------

    def delegation(self, account: str) -> Delegation:
        """Read a token account. Raises PaymentError(CHECK_FAILED) if the chain does not answer or
        it is not one.
        """
        try:
            (found,) = self.chain.get_accounts([account])
        except (ChainUnavailable, ValueError) as error:
            raise PaymentError(
                "CHECK_FAILED", f"{account} cannot be read: {error}"
            ) from error
        held = read_token_account(found)
        if held is None:
            raise PaymentError("CHECK_FAILED", f"{account} is not a token account")
        return _delegation(account, held)

    def usable_delegation(self, account: str) -> Delegation:
        """Read a token account that the agent may take from.

        Raises PaymentError: as `delegation`, and those of `source_account`.
        """
        found = self.delegation(account)
        (source,) = self._sources([account]).all()
        if source.refusal is not None:
            raise source.refusal
        return found

    def approval(self, account: str, amount: int) -> bytes:
        """Return the unsigned transaction that delegates *amount* base units of a token account to
        the agent.

        The account's owner signs it and pays the fee.
        """
        found, program, decimals = self._token(account)
        accounts = [
            AccountMeta(Pubkey.from_string(account), False, True),
            AccountMeta(Pubkey.from_string(found.mint), False, False),
            AccountMeta(self._key().pubkey(), False, False),
            AccountMeta(Pubkey.from_string(found.owner), True, False),
        ]
        # ApproveChecked.
        data = b"\x0d" + amount.to_bytes(8, "little") + bytes([decimals])
        return self._unsigned(Instruction(program, data, accounts), found.owner)

    def revocation(self, account: str) -> bytes:
        """Return the unsigned transaction that revokes the delegation. Only the account's owner can
        sign it.
        """
        found, program, _ = self._token(account)
        accounts = [
            AccountMeta(Pubkey.from_string(account), False, True),
            AccountMeta(Pubkey.from_string(found.owner), True, False),
        ]
        return self._unsigned(Instruction(program, b"\x05", accounts), found.owner)

    def _token(self, account: str) -> tuple[Delegation, Pubkey, int]:
        found = self.delegation(account)
        program, decimals = self._mints.get(found.mint)
        return found, program, decimals

    def _unsigned(self, instruction: Instruction, owner: str) -> bytes:
        blockhash = self.chain.latest_blockhash()
        message = MessageV0.try_compile(
            Pubkey.from_string(owner), [instruction], [], blockhash
        )
        return bytes(unsigned(message))

    # --- paying -----------------------------------------------------------------------------------

    def payer(self) -> CallPayer:
        """Return the payer for calls (mcp_buyer.py, http_buyer.py), made when the agent first pays.

        Raises as `address`.
        """
        if self._payer is None:
            self._payer = wallet_payer(
                self._key(),
                self.chain,
                self.budget(),
                self._database,
                sources=self.settings.sources,
                locks=self.settings.deposits,
                select=self._select,
            )
        return self._payer

    def subscriber(self, url: str) -> Subscriber:
        """Return what proves the agent's subscriptions to the seller at *url*. Raises as `address`."""
        domains = seller_domains(url, self.settings.domains)
        return Subscriber(self._key(), domains, refuse_others=True)

    def budget(self) -> Budget:
        """Return the budget: how much was spent and how much is left."""
        settings = self.settings
        return Budget(
            self._database,
            self.address(),
            settings.limits,
            session=settings.session,
            alert=self._alert,
        )

    def history(self) -> History:
        """Return what the agent paid. Raises as `address`."""
        return History(self._database, self.address())

    def _sources(self, accounts: Sequence[str]) -> TokenSources:
        return TokenSources(self.chain, self._key().pubkey(), accounts)

    async def reconcile(self) -> None:
        """Book payments that got no answer (paying.reconcile). If the chain does not answer, they
        stay as they are.
        """
        with suppress(ChainUnavailable):
            await reconcile(await in_thread(self.budget), self.chain)

    async def pay_batch(
        self, batch: Sequence[Transfer], *, timeout: float = 60.0
    ) -> str:
        """Make several payments of one token in one transaction, all or none, and return its
        signature.

        The agent pays the fee. Raises PaymentError: the budget's (nothing is signed);
        INVALID_REQUIREMENT; SETTLEMENT_FAILED (the chain refused it, nothing was paid);
        OUTCOME_UNKNOWN (sent; `reconcile` books it).
        """
        spendings = batch_spendings(
            batch,
            wallet=self.address(),
            session=self.settings.session,
            network=self.chain.network,
        )
        budget = self.budget()
        sources = partial(self._sources(self.settings.sources).of, batch[0].mint)
        held = await in_thread(budget.reserve_all, spendings, sources=sources)
        async with released_unless_signed(budget, [row.payment_id for row in held]):
            transaction = await in_thread(self._sign_batch, batch, held)
            await self._keep_batch(budget, held, transaction)
        signature = str(transaction.signatures[0])
        if not await send_until_landed(
            self.chain, bytes(transaction), signature, timeout
        ):
            for row in held:
                await in_thread(budget.release, row.payment_id)
            raise PaymentError(
                "SETTLEMENT_FAILED",
                "the chain refused the transaction; nothing was paid",
            )
        for row in held:
            await in_thread(budget.spent, row.payment_id, signature)
        return signature

    async def _keep_batch(
        self,
        budget: Budget,
        held: Sequence[Spending],
        transaction: VersionedTransaction,
    ) -> None:
        """Store the signed batch under each of its payment ids, before it is sent."""
        wire = base64.b64encode(bytes(transaction)).decode()
        payment = {"payload": {"transaction": wire}}
        key = message_hash(transaction)
        for row in held:
            kept = await in_thread(
                budget.signed,
                row.payment_id,
                payment,
                f"batch:{key}:{row.payment_id}",
                held=row,
            )
            if not kept:
                raise PaymentError(
                    "PAYMENT_ID_CONFLICT",
                    "another call is making a payment of this batch",
                )

    def _sign_batch(
        self, batch: Sequence[Transfer], held: Sequence[Spending]
    ) -> VersionedTransaction:
        for one in batch:
            program, decimals = self._mints.payable(one.mint, one.amount, to=one.pay_to)
        return sign_batch(
            batch,
            self._key(),
            self.chain,
            token_program=program,
            decimals=decimals,
            sources={
                row.payment_id: Pubkey.from_string(str(row.source)) for row in held
            },
        )

    # --- balances ---------------------------------------------------------------------------------

    def balances(self) -> dict[str, Any]:
        """Return {"address", "lamports", "tokens": [{mint, account, amount, shown, delegated,
        left}]}.

        The tokens are the agent's own accounts of the mints that it may spend, and the delegated
        accounts. One that cannot be paid from has a `refusal`. Raises PaymentError(CHECK_FAILED).
        """
        address = Pubkey.from_string(self.address())
        own = self._own_accounts(address)
        try:
            wallet, *found = self.chain.get_accounts([str(address), *own])
            delegated = self._sources(self.settings.sources).all()
        except ChainUnavailable as error:
            raise PaymentError("CHECK_FAILED", str(error)) from error
        held = [
            read_source(account, data, address)
            for account, data in zip(own, found, strict=True)
            if data is not None
        ]
        return {
            "address": str(address),
            "lamports": str(wallet.lamports if wallet else 0),
            "tokens": [
                *map(self._row, held),
                *(self._row(source, delegated=True) for source in delegated),
            ],
        }

    def _own_accounts(self, address: Pubkey) -> list[str]:
        """Return the agent's ATAs of the mints that it may spend."""
        own: list[str] = []
        for mint in self.settings.limits.assets:
            try:
                program, _ = self._mints.get(mint)
            except PaymentError:
                continue
            own.append(
                str(
                    associated_token_address(address, Pubkey.from_string(mint), program)
                )
            )
        return own

    def _row(self, source: SourceAccount, *, delegated: bool = False) -> dict[str, Any]:
        row: dict[str, Any] = {
            "mint": source.mint,
            "account": source.address,
            "amount": str(source.available),
            "delegated": delegated,
        }
        if source.refusal is not None:
            row["refusal"] = source.refusal.code
        if not source.mint:  # there is no such account
            return row
        row["shown"] = format_amount(source.available, self.chain.network, source.mint)
        remaining = self.budget().remaining(source.mint)
        left = {"session": remaining.session, "day": remaining.day}
        row["left"] = {k: None if v is None else str(v) for k, v in left.items()}
        return row


def _delegation(account: str, found: TokenAccount) -> Delegation:
    return Delegation(
        account=account,
        owner=str(found.owner),
        mint=str(found.mint),
        delegate=None if found.delegate is None else str(found.delegate),
        delegated=found.delegated_amount,
        balance=found.amount,
    )
