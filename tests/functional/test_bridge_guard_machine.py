"""A sending bridge against a program, a node and an operating system that do their worst, in any order.

The program is the puppet of tests/puppet: it takes one thing in the simulation and another when the transaction lands.
The node loses answers and hides records. The process is killed after it has handed a transaction in. Whatever happens,
no transaction takes more than the limits allow, the log never has less than was taken, and a stopped wallet is still.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from solders.pubkey import Pubkey

from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.errors import TransportError
from tests.conftest import PROFILE
from tests.functional.bridges import key
from tests.support.puppet_stage import (
    SOL_LIMIT,
    Stage,
    policy_of,
    programs_of,
    send_sol,
    send_tokens,
    signer,
    stage,
)

FULL = PROFILE == "full"
#: Without a confirmation: USDC of a call, of a day, and lamports of a day.
USDC_CALL, USDC_DAY, SOL_DAY = 300_000, 800_000, 10**6
ACCOUNTS = {"a": "@alice_usdc", "b": "@bob_usdc", "c": "@bob", "d": "@bob"}

#: Lamports and USDC that a call may take, and that it may not.
within = st.tuples(
    st.sampled_from([0, 1, 4_999, SOL_LIMIT - 5_000]),
    st.sampled_from([0, 1, 1_000, USDC_CALL]),
)
beyond = st.tuples(
    st.sampled_from([0, SOL_LIMIT - 4_999, 10**9]),
    st.sampled_from([USDC_CALL + 1, 900_000]),
)


class Killed(BaseException):
    """The process is gone: nothing of it runs any more."""


class MortalLog(AuditLog):
    """A log whose process may be killed."""

    dead = False

    def append(self, event: str, **facts: Any) -> dict[str, Any]:
        if self.dead:
            raise Killed
        return super().append(event, **facts)


class WorstNode:
    """The chain, through a node that fails as it is told."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.loses, self.hides, self.early = False, False, False
        self.kills: MortalLog | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def send(self, transaction: Any, **_options: Any) -> Any:
        found = await self._inner.send(transaction, skip_preflight=not self.early)
        if self.kills is not None:
            self.kills.dead, self.kills = True, None
            raise Killed
        if self.loses:
            raise TransportError("the worst node", "the connection broke")
        return found

    async def status(self, signature: Any) -> Any:
        return None if self.loses else await self._inner.status(signature)

    async def transaction(self, signature: Any) -> Any:
        return (
            None
            if self.hides or self.loses
            else await self._inner.transaction(signature)
        )


class GuardMachine(RuleBasedStateMachine):
    """One wallet, one log, one process after the other."""

    steps: ClassVar[int] = 0
    done: ClassVar[dict[str, int]] = {}
    puppet: ClassVar[bytes]

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.stage: Stage = stage(self.puppet)
        self.alice = Pubkey.from_string(key("alice"))
        self.node = WorstNode(self.stage.local.transport)
        self.taken = {"SOL": 0, self.stage.local.names["usdc"]: 0}
        self.new_process()

    def new_process(self) -> None:
        """Start a bridge on the log that is there."""
        self.log = MortalLog(self.folder / "audit.jsonl")
        self.stage.bridge = Bridge(
            [ServedProgram(*programs_of(self.node))],
            mode="send",
            signer=signer(),
            policy=policy_of(self.stage.local, "on"),
            audit=self.log,
            names=self.stage.local.resolve,
        )

    def held(self) -> dict[str, int]:
        wallet = self.stage.local.svm.get_balance(self.alice) or 0
        return {
            "SOL": wallet,
            self.stage.local.names["usdc"]: self.stage.tokens("alice_usdc"),
        }

    @rule(now=within)
    def honest(self, now: tuple[int, int]) -> None:
        """The puppet does as it says."""
        self.call(now, now)

    @rule(now=within, then=within)
    def another_amount(self, now: tuple[int, int], then: tuple[int, int]) -> None:
        """The puppet takes something else than it says, within the limits."""
        self.call(now, then)

    @rule(now=within, then=beyond)
    def too_much(self, now: tuple[int, int], then: tuple[int, int]) -> None:
        """The puppet takes more than the limits allow."""
        self.call(now, then)

    def call(self, now: tuple[int, int], then: tuple[int, int]) -> None:
        """The puppet takes *now* in the simulation, and *then* when it lands."""
        before, was_stopped = self.held(), bool(self.log.stopped())
        try:
            reply = self.loop.run_until_complete(
                self.stage.act(_script(now), _script(then), ACCOUNTS)
            )
            name = reply.details.get("name") or reply.details.get("rule")
            self.count(str(name or reply.details.get("reason")))
        except Killed:
            self.count("killed")
            self.new_process()
        after = self.held()
        lost = {mint: before[mint] - after[mint] for mint in before}
        self.taken = {mint: self.taken[mint] + amount for mint, amount in lost.items()}
        assert lost["SOL"] <= SOL_LIMIT
        assert lost[self.stage.local.names["usdc"]] <= USDC_CALL
        assert not was_stopped or not any(lost.values()), "a stopped wallet sent"

    def count(self, outcome: str) -> None:
        cls = type(self)
        cls.steps += 1
        cls.done[outcome] = cls.done.get(outcome, 0) + 1

    @rule(loses=st.booleans(), hides=st.booleans(), early=st.booleans())
    def node_changes(self, loses: bool, hides: bool, early: bool) -> None:
        """The node loses answers, has no records, or looks at transactions before it takes them."""
        self.node.loses, self.node.hides, self.node.early = loses, hides, early

    @rule()
    def the_next_send_kills_the_process(self) -> None:
        """Right after it has handed a transaction in."""
        self.node.kills = self.log

    @rule()
    def restart(self) -> None:
        """Stop the process and start another."""
        self.new_process()

    @rule()
    def clear(self) -> None:
        """The owner lets the wallet go on, in a process of its own."""
        AuditLog(self.folder / "audit.jsonl").clear(str(self.alice))

    @precondition(lambda self: self.log.stopped())
    @rule()
    def clear_what_is_stopped(self) -> None:
        """So that more than a refusal follows."""
        self.clear()

    @invariant()
    def limits_hold(self) -> None:
        """The day's limits hold, and the log has at least what was taken."""
        usdc = self.stage.local.names["usdc"]
        assert self.taken["SOL"] <= SOL_DAY
        assert self.taken[usdc] <= USDC_DAY
        spent = self.log.spent(str(self.alice))
        for mint, amount in self.taken.items():
            assert spent.get(mint, 0) >= amount

    def teardown(self) -> None:
        """Remove the log."""
        self.loop.close()
        shutil.rmtree(self.folder)


def _script(taken: tuple[int, int]) -> bytes:
    sol, usdc = taken
    return send_sol(sol, 4) + send_tokens(usdc)


def test_nothing_takes_more_than_the_policy_allows(puppet: bytes) -> None:
    GuardMachine.puppet, GuardMachine.steps, GuardMachine.done = puppet, 0, {}
    run_state_machine_as_test(
        GuardMachine,
        settings=settings(
            max_examples=200 if FULL else 12,
            stateful_step_count=50 if FULL else 30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    print(f"{GuardMachine.steps} calls; {dict(sorted(GuardMachine.done.items()))}")
    assert GuardMachine.steps >= (3_000 if FULL else 60)
    for outcome in ("None", "GuardFailed", "landed_differently", "stopped"):
        assert GuardMachine.done.get(outcome, 0) > 0, f"{outcome} did not happen"
