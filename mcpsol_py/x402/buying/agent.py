"""An agent's wallet: a key of its own that spends what owners delegate to it (SPL Approve), within limits.

Three limits hold, all in one reservation (budget.py): a payment's, a session's and a day's, and what the chain's
delegation still allows. The key stays in its keystore and in this process; no method takes or returns one.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.client.keys import create_keystore, open_keypair
from mcpsol_py.errors import PaymentError, SourceError
from mcpsol_py.solana.tokens import TokenAccount, read_token_account
from mcpsol_py.x402.buying.budget import Budget, Limits, Spending
from mcpsol_py.x402.buying.paying import Payer, Selector, reconcile
from mcpsol_py.x402.buying.wallet import wallet_payer
from mcpsol_py.x402.chain.payment_chain import (
    ChainRejected,
    ChainUnavailable,
    PaymentChain,
)
from mcpsol_py.x402.exact.mechanism import Mints
from mcpsol_py.x402.exact.transaction import (
    PaymentTerms,
    associated_token_address,
    compute_unit_limit,
    memo,
    message_hash,
    transfer_checked,
)
from mcpsol_py.x402.protocol.price import format_amount

if TYPE_CHECKING:
    from mcpsol_py.x402.store.database import Database

__all__ = ["AgentWallet", "Delegation", "Transfer", "WalletSettings"]

#: TransferChecked, a memo and the fee fit so often into 1,232 bytes.
MOST_TRANSFERS = 8


@dataclass(frozen=True, slots=True)
class WalletSettings:
    """`keystore`: the agent's key file. `sources`: token accounts of owners from which the agent may pay; a mint that
    has none is paid from the agent's own account. `limits` name the mints that are spent at all.
    """

    keystore: Path
    limits: Limits
    sources: tuple[str, ...] = ()
    #: by mint, the most that one channel may lock (base units): then calls are paid by vouchers where a seller takes
    #: them. Channels are paid into from the agent's own account.
    deposits: Mapping[str, int] = field(default_factory=dict)
    session: str = field(default_factory=lambda: f"session_{secrets.token_hex(8)}")


@dataclass(frozen=True, slots=True)
class Delegation:
    """What a token account lets the agent take. Amounts in base units of `mint`."""

    account: str
    owner: str
    mint: str
    delegate: str | None
    delegated: int
    balance: int

    @property
    def available(self) -> int:
        """What can really be taken."""
        return min(self.delegated, self.balance)


@dataclass(frozen=True, slots=True)
class Transfer:
    """One payment of a batch: `amount` base units of `mint` to the wallet `pay_to`, named by its `payment_id`."""

    payment_id: str
    pay_to: str
    mint: str
    amount: int


class AgentWallet:
    """The wallet of *settings* on *chain*. *passphrase* is asked for when the key is first needed, and not kept.

    *alert* is Budget's. *select* picks among the ways to pay that a seller offers.
    """

    def __init__(
        self,
        chain: PaymentChain,
        database: Database,
        settings: WalletSettings,
        passphrase: Callable[[], str],
        *,
        alert: Callable[[str, int, int, str], None] = lambda _asset, _spent, _limit, _kind: None,
        select: Selector | None = None,
    ) -> None:
        self.chain, self.settings = chain, settings
        self._database, self._passphrase = database, passphrase
        self._alert, self._select = alert, select
        self._keypair: Keypair | None = None
        self._payer: Payer | None = None
        self._mints = Mints(chain)

    # --- the key -----------------------------------------------------------------------------------------------------

    def set_up(self) -> str:
        """Makes the agent's key and keeps it sealed; its address. Raises PaymentError: KEYPAIR_EXISTS (a key is never
        overwritten), SETUP_FAILED.
        """
        if self.settings.keystore.exists():
            raise PaymentError(
                "KEYPAIR_EXISTS",
                f"{self.settings.keystore.name} is there already; a key is never overwritten",
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
        """The agent's address. Raises PaymentError: NOT_SET_UP, INVALID_PASSPHRASE."""
        return str(self._key().pubkey())

    def _key(self) -> Keypair:
        if self._keypair is None:
            if not self.settings.keystore.exists():
                raise PaymentError(
                    "NOT_SET_UP", "the agent has no key yet: x402_setup_agent makes one"
                )
            try:
                self._keypair = open_keypair(self.settings.keystore, self._passphrase())
            except SourceError as error:
                raise PaymentError("INVALID_PASSPHRASE", str(error)) from error
        return self._keypair

    # --- delegation --------------------------------------------------------------------------------------------------

    def delegation(self, account: str) -> Delegation:
        """Reads a token account. Raises PaymentError(CHECK_FAILED) where the chain does not answer or it is none."""
        try:
            (found,) = self.chain.get_accounts([account])
        except (ChainUnavailable, ValueError) as error:
            raise PaymentError("CHECK_FAILED", f"{account} cannot be read: {error}") from error
        held = read_token_account(found)
        if held is None:
            raise PaymentError("CHECK_FAILED", f"{account} is no token account")
        return _delegation(account, held)

    def usable_delegation(self, account: str) -> Delegation:
        """As `delegation`, of an account that the agent may take from. Raises PaymentError: NO_DELEGATION,
        DELEGATION_EXPIRED (all of it is used up).
        """
        found = self.delegation(account)
        if found.delegate != self.address():
            raise PaymentError(
                "NO_DELEGATION", f"{account} is not delegated to the agent {self.address()}"
            )
        if found.delegated == 0:
            raise PaymentError(
                "DELEGATION_EXPIRED",
                f"all that {account} delegated is used up: its owner approves anew",
            )
        return found

    def approval(self, account: str, amount: int) -> bytes:
        """The transaction that delegates *amount* base units of a token account to the agent, unsigned: its owner signs
        and pays the fee.
        """
        found, program, decimals = self._token(account)
        accounts = [
            AccountMeta(Pubkey.from_string(account), False, True),
            AccountMeta(Pubkey.from_string(found.mint), False, False),
            AccountMeta(self._key().pubkey(), False, False),
            AccountMeta(Pubkey.from_string(found.owner), True, False),
        ]
        data = b"\x0d" + amount.to_bytes(8, "little") + bytes([decimals])  # ApproveChecked
        return self._unsigned(Instruction(program, data, accounts), found.owner)

    def revocation(self, account: str) -> bytes:
        """The transaction that takes the delegation back, unsigned: only the owner can sign it."""
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
        message = MessageV0.try_compile(Pubkey.from_string(owner), [instruction], [], blockhash)
        from mcpsol_py.client.simulation import unsigned

        return bytes(unsigned(message))

    # --- paying ------------------------------------------------------------------------------------------------------

    def payer(self) -> Payer:
        """Pays calls (buyer.py, http_buyer.py). Made once, when the agent first pays. Raises as `address` and
        `usable_delegation`.
        """
        if self._payer is None:
            keypair = self._key()
            sources = {d.mint: d for d in map(self.usable_delegation, self.settings.sources)}
            accounts = {mint: Pubkey.from_string(d.account) for mint, d in sources.items()}
            self._payer = wallet_payer(
                keypair,
                self.chain,
                self.budget(),
                self._database,
                sources=accounts,
                locks=self.settings.deposits,
                select=self._select,
            )
        return self._payer

    def budget(self) -> Budget:
        """What was spent and what is left."""
        by_mint: dict[str, str] = {}

        def delegated(asset: str) -> int | None:
            if not by_mint:
                by_mint.update(
                    (self.delegation(account).mint, account) for account in self.settings.sources
                )
            return self.usable_delegation(by_mint[asset]).available if asset in by_mint else None

        settings = self.settings
        return Budget(
            self._database,
            self.address(),
            settings.limits,
            session=settings.session,
            alert=self._alert,
            delegated=delegated,
        )

    async def reconcile(self) -> None:
        """Books payments that got no answer, and gives back those that can no longer land (paying.reconcile). Where
        the chain does not answer they stay as they are."""
        try:
            await reconcile(await _thread(self.budget), self.chain)
        except ChainUnavailable:
            pass

    async def pay_batch(self, batch: Sequence[Transfer], *, timeout: float = 60.0) -> str:
        """Several payments of one token in one transaction, all or none; its signature. The agent pays the fee.

        Raises PaymentError: the budget's (nothing is signed), INVALID_REQUIREMENT, SETTLEMENT_FAILED (the chain refused
        it; nothing was paid), OUTCOME_UNKNOWN (it is out; `reconcile` books it).
        """
        spendings = self._batch(batch)
        budget = self.budget()
        held = await _thread(budget.reserve_all, spendings)
        if any(row.state != "reserved" for row in held):
            raise PaymentError("PAYMENT_ID_CONFLICT", "a payment of this batch was made before")
        try:
            transaction = await _thread(self._sign_batch, batch)
        except BaseException:
            for row in held:
                await _thread(budget.abandon, row.payment_id)
            raise
        wire = bytes(transaction)
        kept = {"payload": {"transaction": base64.b64encode(wire).decode()}}
        key = message_hash(transaction)
        for row in held:
            if not await _thread(
                budget.signed, row.payment_id, kept, f"batch:{key}:{row.payment_id}"
            ):
                raise PaymentError(
                    "PAYMENT_ID_CONFLICT", "a payment of this batch is being made by another call"
                )
        signature = await self._land(wire, str(transaction.signatures[0]), timeout)
        for row in held:
            if signature is not None:
                await _thread(budget.spent, row.payment_id, signature)
            else:
                await _thread(budget.release, row.payment_id)
        if signature is None:
            raise PaymentError(
                "SETTLEMENT_FAILED", "the chain refused the transaction; nothing was paid"
            )
        return signature

    def _batch(self, batch: Sequence[Transfer]) -> list[Spending]:
        if not 1 <= len(batch) <= MOST_TRANSFERS:
            raise PaymentError(
                "INVALID_REQUIREMENT",
                f"1 to {MOST_TRANSFERS} payments fit; {len(batch)} were given",
            )
        if len({transfer.mint for transfer in batch}) != 1 or len(
            {t.payment_id for t in batch}
        ) != len(batch):
            raise PaymentError(
                "INVALID_REQUIREMENT",
                "a batch pays in one token, each payment under an id of its own",
            )
        request = hashlib.sha256(
            repr([(t.pay_to, t.amount, t.mint) for t in batch]).encode()
        ).hexdigest()
        return [
            Spending(
                wallet=self.address(),
                payment_id=transfer.payment_id,
                session=self.settings.session,
                network=self.chain.network,
                asset=transfer.mint,
                amount=transfer.amount,
                pay_to=transfer.pay_to,
                resource=f"transfer to {transfer.pay_to}",
                request=request,
            )
            for transfer in batch
        ]

    def _sign_batch(self, batch: Sequence[Transfer]) -> VersionedTransaction:
        keypair = self._key()
        program, decimals = self._mints.get(batch[0].mint)
        sources = {self.delegation(a).mint: Pubkey.from_string(a) for a in self.settings.sources}
        try:
            terms = [
                PaymentTerms(
                    payer=keypair.pubkey(),
                    pay_to=Pubkey.from_string(transfer.pay_to),
                    mint=Pubkey.from_string(transfer.mint),
                    decimals=decimals,
                    token_program=program,
                    amount=transfer.amount,
                    fee_payer=keypair.pubkey(),
                    source=sources.get(transfer.mint),
                )
                for transfer in batch
            ]
        except ValueError as error:
            raise PaymentError("INVALID_REQUIREMENT", "a payee's address cannot be read") from error
        name = hashlib.sha256(" ".join(t.payment_id for t in batch).encode()).hexdigest()[:32]
        instructions = [
            compute_unit_limit(20_000 * len(batch)),
            *map(transfer_checked, terms),
            memo(f"batch {name}"),
        ]
        blockhash = self.chain.latest_blockhash()
        message = MessageV0.try_compile(keypair.pubkey(), instructions, [], blockhash)
        return VersionedTransaction(message, [keypair])

    async def _land(self, wire: bytes, signature: str, timeout: float) -> str | None:
        """Sends until it landed (its signature) or certainly cannot any more (None)."""
        deadline = time.monotonic() + timeout
        blockhash = VersionedTransaction.from_bytes(wire).message.recent_blockhash
        out = False
        while time.monotonic() < deadline:
            try:
                expired = await _thread(
                    self.chain.blockhash_expired, blockhash
                )  # before the status: see PaymentChain.find
                if not expired:
                    was_out, out = out, True  # a send whose answer is lost may have arrived
                    await _thread(self.chain.send, wire)
                status = await _thread(self.chain.status, signature)
                if status.state == "landed":
                    return signature
                if status.state == "failed" or expired:
                    return None
            except ChainRejected:
                out = was_out
                if not out:  # no node has taken it
                    return None
            except ChainUnavailable:
                pass
            await asyncio.sleep(0.5)
        raise PaymentError(
            "OUTCOME_UNKNOWN",
            f"the transaction {signature} is out; whether it landed is not known yet",
        )

    # --- looking -----------------------------------------------------------------------------------------------------

    def balances(self) -> dict[str, Any]:
        """{"lamports": …, "tokens": [{mint, account, amount, shown, delegated…}]}: the agent's own accounts of the
        mints that it may spend, and the delegated ones. Raises PaymentError(CHECK_FAILED)."""
        address = Pubkey.from_string(self.address())
        own: list[tuple[str, str]] = []
        for mint in self.settings.limits.assets:
            try:
                program, _ = self._mints.get(mint)
            except PaymentError:
                continue
            own.append(
                (mint, str(associated_token_address(address, Pubkey.from_string(mint), program)))
            )
        try:
            wallet, *accounts = self.chain.get_accounts(
                [str(address), *(account for _, account in own)]
            )
        except ChainUnavailable as error:
            raise PaymentError("CHECK_FAILED", str(error)) from error
        tokens = [
            self._row(_delegation(account, held))
            for (_, account), found in zip(own, accounts, strict=True)
            if (held := read_token_account(found)) is not None
        ]
        tokens += [
            self._row(self.delegation(account), delegated=True) for account in self.settings.sources
        ]
        return {
            "address": str(address),
            "lamports": str(wallet.lamports if wallet else 0),
            "tokens": tokens,
        }

    def _row(self, found: Delegation, *, delegated: bool = False) -> dict[str, Any]:
        amount = found.available if delegated else found.balance
        row = {
            "mint": found.mint,
            "account": found.account,
            "owner": found.owner,
            "amount": str(amount),
        }
        row["shown"] = format_amount(amount, self.chain.network, found.mint)
        remaining = self.budget().remaining(found.mint)
        left = {"session": remaining.session, "day": remaining.day}
        return {
            **row,
            "delegated": delegated,
            "left": {k: None if v is None else str(v) for k, v in left.items()},
        }


def _delegation(account: str, found: TokenAccount) -> Delegation:
    return Delegation(
        account=account,
        owner=str(found.owner),
        mint=str(found.mint),
        delegate=None if found.delegate is None else str(found.delegate),
        delegated=found.delegated_amount,
        balance=found.amount,
    )


async def _thread(function: Callable[..., Any], *args: Any) -> Any:
    return await anyio.to_thread.run_sync(lambda: function(*args))
