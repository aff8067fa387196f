"""A chain in this process on which programs are deployed through the upgradeable loader, and lines to it that break."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.loader import read_rent
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Outcome
from mcpsol_py.deploy.program import Deployed, plan_deployment, run_deployment
from mcpsol_py.errors import TransportError
from tests.functional.svm_node import SvmNode

_T = TypeVar("_T")
REPO = Path(__file__).resolve().parents[2]
COUNTER_SO, VAULT_SO, X402_SO = (
    REPO / f"programs/{name}/{name}.so" for name in ("counter", "vault", "x402")
)


class DeployingChain(SvmTransport):
    """`wallet` has 100 SOL, `program` is a key pair without an account yet. `breaks_after`: so many transactions are
    taken, then the line is dead; `loses`: every so many-th answer to a sending is lost on the way back."""

    def __init__(self) -> None:
        super().__init__()
        self.wallet, self.program = Keypair(), Keypair()
        self.airdrop(self.wallet.pubkey(), 10**11)
        self.breaks_after: int | None = None
        self.loses = 0
        self.sent = 0
        self.started: set[Signature] = set()

    async def send(
        self, transaction: VersionedTransaction, *, skip_preflight: bool = False
    ) -> tuple[Signature, Outcome | None]:
        self.sent += 1
        if self.breaks_after is not None and self.sent > self.breaks_after:
            raise TransportError(self.endpoint, "the line is dead")
        answer = await super().send(transaction, skip_preflight=skip_preflight)
        if self.loses and self.sent % self.loses == 0:
            raise TransportError(self.endpoint, "the answer was lost", retryable=True)
        return answer

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """The result of a coroutine; a block passes afterwards."""
        try:
            return asyncio.run(work)
        finally:
            asyncio.run(self.sleep(0))

    def deploy(
        self, elf: bytes, *, max_len: int | None = None, final: bool = False
    ) -> Deployed:
        """Deploys or upgrades `program`, with `wallet` as payer and authority."""

        async def work() -> Deployed:
            key = self.wallet.pubkey()
            plan = await plan_deployment(
                self,
                elf,
                program_id=self.program.pubkey(),
                authority=key,
                payer=key,
                max_len=max_len,
                final=final,
            )
            return await run_deployment(
                self,
                elf,
                plan,
                payer=self.wallet,
                authority=self.wallet,
                program=self.program,
            )

        done = self.run(work())
        self.started = set(self.executed())
        return done

    def executed_since_start(self) -> list[Signature]:
        """What was taken since `started` was last set (a deployment of `deploy` does so)."""
        return [
            signature for signature in self.executed() if signature not in self.started
        ]

    def held(self, key: Pubkey) -> int:
        """Lamports at an address."""
        return self.svm.get_balance(key) or 0

    def account(self, key: Pubkey) -> Account | None:
        """The account, None where it is gone."""
        (found,) = asyncio.run(self.get_accounts([key]))
        return found

    def rent(self, size: int) -> int:
        """Lamports of rent for so many bytes of data."""
        return asyncio.run(read_rent(self)).of(size)


class Moving(SvmNode):
    """A node whose slot moves on with each transaction, as it does with time on a cluster. `takes`: so many more
    transactions, and then none. `stalls`: after so many more it answers nothing, until `goes_on` is set."""

    takes: int | None = None
    stalls: int | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.goes_on = threading.Event()

    def do_sendTransaction(self, text: str, options: object = None) -> object:
        if self.stalls is not None:
            self.stalls -= 1
            if self.stalls < 0:
                self.goes_on.wait(60)
        if self.takes is not None:
            self.takes -= 1
            if self.takes < 0:
                raise ValueError("no more")
        found = super().do_sendTransaction(text, options)
        svm = self.transport.svm
        svm.warp_to_slot(svm.get_clock().slot + 1)
        return found
