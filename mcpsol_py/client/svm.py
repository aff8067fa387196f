"""LiteSVM as a transport: a chain in this process, whose programs, accounts and clock you set.

It answers as a cluster does, as far as it can: simulations check neither signatures nor the blockhash and need a
funded payer; sends check both. docs/svm-vs-validator.md lists what differs from a validator.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTable
from solders.hash import Hash
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction

from mcpsol_py.bundled import bundled_programs
from mcpsol_py.client.svm_records import ExecutionRecord, landed_json, token_mints
from mcpsol_py.client.transport import (
    AccountBalance,
    Balances,
    Blockhash,
    History,
    HistoryEntry,
    MemcmpFilter,
    Outcome,
    Status,
    TokenBalance,
    matches,
)
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.addresses import ADDRESS_LOOKUP_TABLE_PROGRAM, GUARD_PROGRAM
from mcpsol_py.solana.lamports import existing, lamports_of
from mcpsol_py.solana.tokens import read_mint, read_token_account

if TYPE_CHECKING:
    from solders.litesvm import LiteSVM

__all__ = ["SvmTransport"]

#: A cluster keeps this many bytes of a transaction's logs (solana: LOG_MESSAGES_BYTES_LIMIT).
LOG_BYTES = 10_000
#: How many transactions' outcomes are kept, the newest.
KEPT = 100_000
#: A transaction can land for this many blocks after its blockhash was the newest.
VALID_BLOCKS = 150
#: What the faucet holds before each airdrop, besides the airdrop itself.
_FAUCET_LAMPORTS = 10**12


def _renew_rent(svm: LiteSVM) -> None:
    """Rent in the form of today's clusters, one price a byte (SIMD-0194), where solders before 0.28 has a price a year
    and a count of years: programs read the price alone. The sums are the same."""
    rent: Any = svm.get_rent()
    yearly = getattr(rent, "lamports_per_byte_year", None)
    if yearly is not None and rent.exemption_threshold != 1.0:
        svm.set_rent(
            type(rent)(int(yearly * rent.exemption_threshold), 1.0, rent.burn_percent)
        )


class SvmTransport:
    """A chain that lives as long as the object. `svm` is the LiteSVM itself, for its other methods. You may pass one.

    A chain that is made here has the guard program (programs/guard), as mainnet has Lighthouse.

    *features*: "default" (LiteSVM's own) or "all" (every feature on; no stack gaps, as programs built with the
    standard library need).
    """

    endpoint = "LiteSVM"

    def __init__(
        self, svm: LiteSVM | None = None, *, features: str = "default"
    ) -> None:
        try:
            from solders.litesvm import LiteSVM
        except ImportError as error:  # where solders is built without it
            raise TransportError(
                self.endpoint, "this solders has no LiteSVM"
            ) from error
        own = svm is None
        if svm is not None:
            pass
        elif features == "all":
            from solders.litesvm import FeatureSet

            svm = (
                LiteSVM.default()
                .with_feature_set(FeatureSet.all_enabled())
                .with_builtins()
            )
            svm = svm.with_lamports(10**18).with_sysvars().with_default_programs()
        else:
            svm = LiteSVM()
        _renew_rent(svm)
        self.svm: LiteSVM = svm.with_log_bytes_limit(LOG_BYTES)
        self._node, self._faucet = Keypair(), Keypair()
        self.svm.airdrop(self._node.pubkey(), 10**12)
        self._landed: dict[Signature, Outcome] = {}
        self._executed: dict[Signature, VersionedTransaction] = {}
        self._records: dict[Signature, ExecutionRecord] = {}
        self._height = 1
        #: Blockhashes before the newest -> the last block height at which they are valid.
        self._recent: dict[Hash, int] = {}
        if own:
            self._add_guard()
        #: Held while the SVM works, because its checks are switched for each transaction, in any thread.
        self.lock = threading.RLock()
        #: Called after each change that was made through this object, in the thread that made it.
        self.on_change: list[Callable[[], None]] = []
        #: Called after each block that `new_block` made.
        self.on_block: list[Callable[[], None]] = []

    def _add_guard(self) -> None:
        found = bundled_programs().get("guard")
        if found is not None:
            self.svm.add_program(GUARD_PROGRAM, (found / "guard.so").read_bytes())

    def _changed(self) -> None:
        for tell in list(self.on_change):
            tell()

    # --- setup ---------------------------------------------------------------------------------------

    def add_program(
        self, program_id: Pubkey, program: str | PathLike[str] | bytes
    ) -> None:
        """Deploy a program, given as the bytes or the path of a `.so`. Raises TransportError if it cannot be loaded."""
        data = program if isinstance(program, bytes) else Path(program).read_bytes()
        try:
            self.svm.add_program(program_id, data)
        except BaseException as error:
            # LiteSVM panics, which is not an Exception, on bytes that it cannot load.
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            raise TransportError(
                self.endpoint,
                f"the {len(data):,} bytes cannot be loaded as a program: {error}",
            ) from None
        self._changed()

    def airdrop(self, key: Pubkey, lamports: int = 10**9) -> None:
        """Add lamports to an address."""
        # The same amount twice in a block.
        if hasattr(self.svm.airdrop(key, lamports), "err"):
            self.request_airdrop(key, lamports)
        self._changed()

    def set_account(self, key: Pubkey, account: Account) -> None:
        """Set an account, without a transaction."""
        self.svm.set_account(key, account)
        self._changed()

    def set_time(self, unix_timestamp: int) -> None:
        """Set the time of the clock sysvar, in seconds since 1970."""
        with self.lock:
            clock = self.svm.get_clock()
            clock.unix_timestamp = unix_timestamp
            self.svm.set_clock(clock)

    def expire_blockhash(self) -> None:
        """Move on until all earlier blockhashes are invalid."""
        self.svm.expire_blockhash()
        self._height += VALID_BLOCKS + 1

    def new_block(self, count: int = 1) -> None:
        """Move on by *count* blocks and slots. As on a cluster, earlier blockhashes stay valid for 150 blocks."""
        with self.lock:
            self._recent[self.svm.latest_blockhash()] = self._height + VALID_BLOCKS
            self.svm.expire_blockhash()
            self._height += count
            self._recent = {
                h: last for h, last in self._recent.items() if last >= self._height
            }
            self.svm.warp_to_slot(self.current_slot + count)
        for tell in list(self.on_block):
            tell()

    @property
    def current_slot(self) -> int:
        """The current slot."""
        return int(self.svm.get_clock().slot)

    @property
    def unix_time(self) -> int:
        """The time of the clock sysvar, in seconds since 1970; 0 if it was never set."""
        return int(self.svm.get_clock().unix_timestamp)

    def request_airdrop(self, key: Pubkey, lamports: int) -> Signature:
        """Send lamports to an address by a transaction, any amount and as often as asked.

        Raises TransportError if the transaction fails, as one does that leaves an account without its rent.
        """
        with self.lock:
            self.new_block()  # so that a second airdrop of the same amount is another transaction
            faucet = self._faucet.pubkey()
            funds = min(lamports + _FAUCET_LAMPORTS, (1 << 64) - 1)
            self.svm.set_account(faucet, Account(funds, b"", Pubkey.default()))
            move = transfer(
                TransferParams(from_pubkey=faucet, to_pubkey=key, lamports=lamports)
            )
            message = MessageV0.try_compile(
                faucet, [move], [], self.svm.latest_blockhash()
            )
            signature, outcome = self._execute(
                VersionedTransaction(message, [self._faucet])
            )
        self._changed()
        if outcome.err is not None:
            raise TransportError(
                self.endpoint,
                f"an airdrop of {lamports:,} lamports to {key} fails: {outcome.err}",
            )
        return signature

    # --- the protocol --------------------------------------------------------------------------------------------

    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        return list(map(self._get, keys))

    async def accounts_at(
        self, keys: Sequence[Pubkey], *, since: int = 0
    ) -> tuple[int, list[Account | None]]:
        return 0, await self.get_accounts(keys)

    def _get(self, key: Pubkey) -> Account | None:
        return existing(self.svm.get_account(key))

    async def program_accounts(
        self,
        program_id: Pubkey,
        *,
        filters: Sequence[MemcmpFilter] = (),
        size: int | None = None,
    ) -> list[tuple[Pubkey, Account]]:
        if not hasattr(self.svm, "get_program_accounts"):
            raise TransportError(
                self.endpoint,
                "this solders cannot list a program's accounts; 0.29 and later can",
            )
        return [
            (key, account)
            for key, account in self.svm.get_program_accounts(program_id)
            if account.lamports and matches(account.data, filters, size)
        ]

    async def latest_blockhash(self) -> Blockhash:
        return Blockhash(self.svm.latest_blockhash(), self._height + VALID_BLOCKS)

    async def blockhash_valid(self, blockhash: Hash) -> bool:
        return self._is_recent(blockhash)

    def _is_recent(self, blockhash: Hash) -> bool:
        newest = self.svm.latest_blockhash()
        return blockhash == newest or self._recent.get(blockhash, -1) >= self._height

    def _set_checks(
        self, transaction: VersionedTransaction, *, signatures: bool, blockhash: bool
    ) -> None:
        """Let the SVM check the next transaction's signatures, and whether its blockhash is recent.

        LiteSVM itself takes its newest blockhash only, and durable nonces.
        """
        unknown = blockhash and not self._is_recent(
            transaction.message.recent_blockhash
        )
        self.svm.with_sigverify(signatures).with_blockhash_check(unknown)

    def _reset_checks(self) -> None:
        self.svm.with_sigverify(True).with_blockhash_check(True)

    async def block_height(self) -> int:
        return self._height

    async def simulate(
        self,
        transaction: VersionedTransaction,
        *,
        replace_blockhash: bool = True,
        accounts: Sequence[Pubkey] = (),
        since: int = 0,
    ) -> Outcome:
        with self.lock:
            self._set_checks(
                transaction, signatures=False, blockhash=not replace_blockhash
            )
            try:
                result: Any = self.svm.simulate_transaction(transaction)
            finally:
                self._reset_checks()
        failed = hasattr(result, "err")
        found = self._accounts_after(result, accounts) if accounts else ()
        return _outcome(
            transaction, result.meta(), result.err() if failed else None, found
        )

    def _accounts_after(
        self, result: Any, keys: Sequence[Pubkey]
    ) -> tuple[Account | None, ...]:
        """Return accounts as a simulation leaves them; a failed one changes nothing."""
        changed: dict[Pubkey, Account] = (
            {} if hasattr(result, "err") else dict(result.post_accounts())
        )
        return tuple(changed[key] if key in changed else self._get(key) for key in keys)

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        signature = transaction.signatures[0]
        with self.lock:
            self._set_checks(transaction, signatures=True, blockhash=True)
            try:
                if not skip_preflight:
                    before: Any = self.svm.simulate_transaction(transaction)
                    if hasattr(before, "err"):
                        return signature, _outcome(
                            transaction, before.meta(), before.err()
                        )
                known = signature in self._landed
                _, outcome = self._execute(transaction)
            finally:
                self._reset_checks()
        if not (known and outcome.err == "AlreadyProcessed"):
            self._changed()
        return signature, None

    def _execute(self, transaction: VersionedTransaction) -> tuple[Signature, Outcome]:
        """Run a transaction for good and remember its outcome. The caller holds the lock."""
        signature = transaction.signatures[0]
        keys = [*transaction.message.account_keys, *self.loaded_addresses(transaction)]
        before = self._balances(keys)
        result: Any = self.svm.send_transaction(transaction)
        failed = hasattr(result, "err")
        outcome = _outcome(
            transaction,
            result.meta() if failed else result,
            result.err() if failed else None,
        )
        if outcome.err == "AlreadyProcessed" and signature in self._landed:
            # A cluster ignores a transaction that it has executed.
            return (signature, outcome)
        balances = Balances(before, self._balances(keys))
        outcome = replace(outcome, slot=self.current_slot, balances=balances)
        self._landed[signature] = outcome
        self._records[signature] = ExecutionRecord.of(
            transaction, result.meta() if failed else result, self.unix_time
        )
        self._executed[signature] = transaction
        if len(self._landed) > KEPT:
            self.forget(next(iter(self._landed)))
        return signature, outcome

    def loaded_addresses(self, transaction: VersionedTransaction) -> list[Pubkey]:
        """Return what the transaction loads from lookup tables: the writable addresses, then the others."""
        lookups = getattr(transaction.message, "address_table_lookups", ())
        tables = [self._table(lookup.account_key) for lookup in lookups]
        places = [
            *(
                (table, lookup.writable_indexes)
                for table, lookup in zip(tables, lookups, strict=True)
            ),
            *(
                (table, lookup.readonly_indexes)
                for table, lookup in zip(tables, lookups, strict=True)
            ),
        ]
        return [
            table[place]
            for table, found in places
            for place in found
            if place < len(table)
        ]

    def _table(self, key: Pubkey) -> Sequence[Pubkey]:
        account = self._get(key)
        if account is None or account.owner != ADDRESS_LOOKUP_TABLE_PROGRAM:
            return ()
        return AddressLookupTable.deserialize(bytes(account.data)).addresses

    def _balances(self, keys: Sequence[Pubkey]) -> dict[Pubkey, AccountBalance]:
        return {key: _balance(self._get(key)) for key in keys}

    def forget(self, signature: Signature) -> None:
        """Forget a transaction, as if it had never been sent."""
        with self.lock:
            self._landed.pop(signature, None)
            self._executed.pop(signature, None)
            self._records.pop(signature, None)

    def executed(self) -> dict[Signature, VersionedTransaction]:
        """Return the transactions that were sent, oldest first."""
        with self.lock:
            return dict(self._executed)

    async def status(self, signature: Signature) -> Status | None:
        landed = self._landed.get(signature)
        return None if landed is None else Status(True, landed.err, landed.slot)

    async def statuses(self, signatures: Sequence[Signature]) -> list[Status | None]:
        return [await self.status(signature) for signature in signatures]

    async def transaction(self, signature: Signature) -> Outcome | None:
        return self._landed.get(signature)

    async def landed(self, signature: Signature) -> dict[str, Any] | None:
        """Return the record of a transaction as getTransaction gives it (base64), None for one that was not sent."""
        outcome, sent = self._landed.get(signature), self._executed.get(signature)
        if outcome is None or sent is None:
            return None
        loaded = self.loaded_addresses(sent)
        mints = {
            key: await self._mint_decimals(key) for key in token_mints(outcome.balances)
        }
        return landed_json(outcome, sent, self._records[signature], loaded, mints)

    async def _mint_decimals(self, key: Pubkey) -> int:
        mint = read_mint(self._get(key))
        return 0 if mint is None else mint.decimals

    async def history(
        self, key: Pubkey, *, limit: int, before: Signature | None = None
    ) -> History:
        if before is not None:
            return History((), complete=True)  # the first answer has them all
        newest_first = reversed(self.executed().items())
        entries = (
            self._history_entry(s)
            for s, sent in newest_first
            if key in sent.message.account_keys
        )
        return History(tuple(entries), complete=True)

    def _history_entry(self, signature: Signature) -> HistoryEntry:
        landed = self._landed.get(signature, Outcome())
        return HistoryEntry(signature, slot=landed.slot, failed=landed.err is not None)

    async def sent_transaction(
        self, signature: Signature
    ) -> VersionedTransaction | None:
        return self._executed.get(signature)

    async def identity(self) -> Pubkey | None:
        return self._node.pubkey()

    async def priority_fees(self, keys: Sequence[Pubkey]) -> list[int]:
        return []

    async def sleep(self, seconds: float) -> None:
        """Let a block pass: callers wait for that, or for the slot after a deployment."""
        self.new_block()

    async def close(self) -> None:
        """Do nothing: it holds no resources."""


def _balance(account: Account | None) -> AccountBalance:
    token = read_token_account(account)
    held = (
        None if token is None else TokenBalance(token.mint, token.owner, token.amount)
    )
    return AccountBalance(lamports_of(account), held)


def _outcome(
    transaction: VersionedTransaction,
    meta: Any,
    err: Any,
    accounts: tuple[Account | None, ...] = (),
) -> Outcome:
    returned = meta.return_data()
    data = bytes(returned.data)
    return Outcome(
        err=None if err is None else error_json(err),
        logs=tuple(meta.logs()),
        units=meta.compute_units_consumed(),
        return_data=(returned.program_id, data) if data else None,
        accounts=accounts,
        inner=_inner_calls(transaction, meta),
    )


def _inner_calls(
    transaction: VersionedTransaction, meta: Any
) -> tuple[tuple[Pubkey, bytes], ...]:
    called = [item.instruction() for part in meta.inner_instructions() for item in part]
    if not called:
        return ()
    # A program's id is always one of the message's own keys, never in a lookup table.
    keys = transaction.message.account_keys
    return tuple(
        (keys[ix.program_id_index], bytes(ix.data))
        for ix in called
        if ix.program_id_index < len(keys)
    )


def error_json(err: Any) -> str | dict[str, Any]:
    """Return a solders error in the JSON form of an RPC: "AccountNotFound", {"InstructionError": [0, …]}."""
    kind = type(err).__name__.removeprefix("TransactionError")
    if kind == "InstructionError":
        inner = err.err
        code = getattr(inner, "code", None)
        return {
            "InstructionError": [
                err.index,
                _variant(inner) if code is None else {"Custom": code},
            ]
        }
    if kind == "Fieldless":
        return _variant(err)
    if kind == "DuplicateInstruction":
        return {kind: err.index}
    return {kind: {"account_index": err.account_index}}


def _variant(member: Any) -> str:
    """A member without fields prints as "TransactionErrorFieldless.AccountNotFound"."""
    text = str(member)
    return (
        text.rsplit(".", 1)[-1]
        if re.fullmatch(r"\w+\.\w+", text)
        else type(member).__name__
    )
