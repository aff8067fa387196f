"""A transport for tests, which answers from a script and records the calls.

    chain = ScriptedTransport(simulations=[Outcome(err="AccountNotFound"), Outcome(...)], accounts={key: account})
    client = ProgramClient(program, chain, program_id=…)
    …
    assert chain.asked[0].name == "simulate"

A script that runs out raises TransportError, so a test sees a call too many at once. Works under both clients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.account import Account
from solders.hash import Hash
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.transport import (
    Blockhash,
    History,
    MemcmpFilter,
    Outcome,
    Status,
    matches,
)
from mcpsol_py.errors import TransportError

__all__ = ["Asked", "ScriptedTransport"]


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: the method's name and its arguments."""

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)


class ScriptedTransport:
    """A chain that answers from lists, each used up from its front.

    An item that is an exception is raised; a callable is called with the arguments."""

    endpoint = "script"

    def __init__(
        self,
        *,
        accounts: Mapping[Pubkey, Account] | None = None,
        simulations: Sequence[Outcome | Exception | Callable[..., Outcome]] = (),
        sends: Sequence[Outcome | Exception | None] = (),
        statuses: Sequence[Status | Exception | None] = (),
        transactions: Sequence[Outcome | None] = (),
        heights: Sequence[int] = (),
        identity: Pubkey | None = None,
        fees: Sequence[int] = (),
        valid_for: int = 150,
        blockhash_valid: bool = True,
        history: History | None = None,
        sent: Mapping[Signature, VersionedTransaction] | None = None,
    ) -> None:
        self.accounts = dict(accounts or {})
        self.simulations = list(simulations)
        self.sends = list(sends)
        self._statuses = list(statuses)
        self.transactions = list(transactions)
        self.heights = list(heights)
        self.node = identity
        self.fees = list(fees)
        self.valid_for = valid_for
        self.valid = blockhash_valid
        self.known = history or History((), complete=True)
        self.sent = dict(sent or {})
        self.asked: list[Asked] = []
        self.slept = 0.0
        self._blockhashes = 0

    def count(self, name: str) -> int:
        """How often a method was called."""
        return sum(asked.name == name for asked in self.asked)

    def _note(self, name: str, **given: Any) -> None:
        self.asked.append(Asked(name, given))

    def _next(self, script: list[Any], name: str, *given: Any) -> Any:
        if not script:
            raise TransportError(
                self.endpoint, f"the script has no further answer to {name}"
            )
        item = script.pop(0)
        if isinstance(item, Exception):
            raise item
        return item(*given) if callable(item) else item

    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        self._note("get_accounts", keys=list(keys))
        return list(map(self.accounts.get, keys))

    async def accounts_at(
        self, keys: Sequence[Pubkey], *, since: int = 0
    ) -> tuple[int, list[Account | None]]:
        return 0, await self.get_accounts(keys)

    async def program_accounts(
        self,
        program_id: Pubkey,
        *,
        filters: Sequence[MemcmpFilter] = (),
        size: int | None = None,
    ) -> list[tuple[Pubkey, Account]]:
        self._note(
            "program_accounts", program_id=program_id, filters=list(filters), size=size
        )
        return [
            (key, account)
            for key, account in self.accounts.items()
            if account.owner == program_id and matches(account.data, filters, size)
        ]

    async def latest_blockhash(self) -> Blockhash:
        self._note("latest_blockhash")
        self._blockhashes += 1
        return Blockhash(Hash(self._blockhashes.to_bytes(32, "little")), self.valid_for)

    async def blockhash_valid(self, blockhash: Hash) -> bool:
        self._note("blockhash_valid", blockhash=blockhash)
        return self.valid

    async def block_height(self) -> int:
        self._note("block_height")
        if len(self.heights) > 1:
            return self.heights.pop(0)
        return self.heights[0] if self.heights else 1

    async def simulate(
        self,
        transaction: VersionedTransaction,
        *,
        replace_blockhash: bool = True,
        accounts: Sequence[Pubkey] = (),
        since: int = 0,
    ) -> Outcome:
        self._note(
            "simulate",
            transaction=transaction,
            replace_blockhash=replace_blockhash,
            accounts=list(accounts),
        )
        outcome: Outcome = self._next(self.simulations, "simulate", transaction)
        return outcome

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        self._note("send", transaction=transaction, skip_preflight=skip_preflight)
        refused: Outcome | None = self._next(self.sends, "send", transaction)
        return transaction.signatures[0], refused

    async def status(self, signature: Signature) -> Status | None:
        self._note("status", signature=signature)
        found: Status | None = self._next(self._statuses, "status", signature)
        return found

    async def statuses(self, signatures: Sequence[Signature]) -> list[Status | None]:
        return [await self.status(signature) for signature in signatures]

    async def transaction(self, signature: Signature) -> Outcome | None:
        self._note("transaction", signature=signature)
        return self.transactions.pop(0) if self.transactions else None

    async def history(
        self, key: Pubkey, *, limit: int, before: Signature | None = None
    ) -> History:
        self._note("history", key=key, limit=limit)
        return self.known

    async def sent_transaction(
        self, signature: Signature
    ) -> VersionedTransaction | None:
        self._note("sent_transaction", signature=signature)
        return self.sent.get(signature)

    async def identity(self) -> Pubkey | None:
        self._note("identity")
        return self.node

    async def priority_fees(self, keys: Sequence[Pubkey]) -> list[int]:
        self._note("priority_fees", keys=list(keys))
        return list(self.fees)

    async def sleep(self, seconds: float) -> None:
        self.slept += seconds

    async def close(self) -> None:
        self._note("close")
