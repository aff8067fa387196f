"""Sending calls for the owner of a wallet: simulated, held against the policy, confirmed if necessary, signed, logged.

The bytes that are signed are the bytes that were simulated a moment ago, while nothing else of this bridge was sent.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from solders.message import to_bytes_versioned
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.bridge.landing import Booking, settle_open_sends
from mcpsol_py.bridge.mcp.progress import SEND_STEPS, CallProgress, run_to_completion
from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import Confirm, Policy, ProgramRule, cluster_of
from mcpsol_py.bridge.replies import Reply, named_lines
from mcpsol_py.calls.balances import SOL, Outflow
from mcpsol_py.calls.describe import describe, text_of
from mcpsol_py.calls.effects import SIMULATIONS, Effects, effects_of, never_still
from mcpsol_py.calls.guard import find_guard, guard_instructions
from mcpsol_py.calls.hints import raise_failure
from mcpsol_py.calls.landed import amount_texts, landed_outcome
from mcpsol_py.calls.prepare import PreparedCall, ServedProgram, prepare
from mcpsol_py.calls.priority import prioritized
from mcpsol_py.calls.send import submit
from mcpsol_py.calls.sent_messages import sent_messages
from mcpsol_py.calls.simulate import SimulatedCall, simulate
from mcpsol_py.calls.summary import one_line
from mcpsol_py.calls.transaction_reading import decode_signature
from mcpsol_py.calls.transactions import NewMessage, new_message
from mcpsol_py.client.keys import Signer
from mcpsol_py.client.simulation import unsigned
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import (
    McpsolError,
    PolicyError,
    ProgramFailed,
    SendUnknown,
    TransactionTooLarge,
    TransportError,
)
from mcpsol_py.names import clean_json
from mcpsol_py.program import ProgramInstruction
from mcpsol_py.solana.address_book import AddressBook
from mcpsol_py.solana.fees import fee_lamports
from mcpsol_py.solana.tokens import OwnedData, read_token_account

__all__ = ["OutgoingCall", "PolicySender", "Submission"]

#: How often a person is asked again because the outflow grew meanwhile.
_ASK_TIMES = 3

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OutgoingCall:
    """A call to send, with names resolved. `rule` is the policy's rule that allows its target."""

    tool: str
    served: ServedProgram
    transport: Transport
    ix: ProgramInstruction
    rule: ProgramRule
    args: Any
    accounts: Any
    remaining: Any


@dataclass(frozen=True, slots=True)
class CheckedCall:
    """A call that was simulated and may be sent, after a person has confirmed the outflows in `ask`.

    `at_most` is what it may take at the most, by mint.
    """

    prepared: PreparedCall
    new: NewMessage
    simulated: SimulatedCall
    effects: Effects
    takeovers: Sequence[str]
    ask: Sequence[Outflow]
    at_most: Mapping[str, int]

    def is_covered_by(self, confirmed: Mapping[str, int]) -> bool:
        """Whether a person has agreed to all that must be asked for."""
        return all(flow.amount <= confirmed.get(flow.mint, -1) for flow in self.ask)

    @property
    def flows(self) -> dict[str, int]:
        """What leaves the wallet in the simulation: base units by mint."""
        return {flow.mint: flow.amount for flow in self.effects.flows}


@dataclass(frozen=True, slots=True)
class SentCall:
    """A transaction that landed. `outflow` is its outflow by mint, or None if the chain does not say yet."""

    signature: str
    outflow: Mapping[str, str] | None


@dataclass
class PolicySender:
    """Sends for one signer, one call at a time.

    `will_send` is awaited with a signature before its transaction is sent; if it raises, nothing is sent. `asks` is
    False if nobody may be asked to confirm, since the clients are strangers.
    """

    signer: Signer
    policy: Policy
    audit: AuditLog
    will_send: Callable[[str], Awaitable[None]] | None = None
    asks: bool = True

    def __post_init__(self) -> None:
        self._sending = asyncio.Lock()
        self._wallet = str(self.signer.address)

    def outgoing(
        self,
        tool: str,
        served: ServedProgram,
        ix: ProgramInstruction,
        arguments: Sequence[Any],
    ) -> OutgoingCall:
        """Return a call that the policy allows. *arguments*: args, accounts and remaining accounts, names resolved.

        Raises PolicyError.
        """
        if served.transport is None:
            raise PolicyError(
                "clusters",
                "no chain is configured for this program, so nothing can be checked or sent",
            )
        rule = self.policy.check_target(
            served.cluster, str(served.program_id or ix.program_id()), ix.name
        )
        return OutgoingCall(tool, served, served.transport, ix, rule, *arguments)

    async def rehearse(self, call: OutgoingCall) -> None:
        """Raise what would keep *call* from being sent now. Nothing is signed, and nobody is asked."""
        async with (
            self._sending,
            self._checked(call, CallProgress(None, call.tool), {}),
        ):
            pass

    async def send(
        self,
        call: OutgoingCall,
        confirm: Confirm | None,
        progress: CallProgress,
        still_served: Callable[[], None],
        programs: Sequence[ServedProgram],
    ) -> Reply:
        """Simulate, check, ask, and then start again: the signed bytes were simulated a moment ago.

        *still_served* raises if the program was replaced meanwhile. *programs* explain the calls that it makes.
        """
        approved: dict[str, int] = {}
        mark = ""
        for _ in range(_ASK_TIMES):
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._sending)
                still_served()
                checked = await stack.enter_async_context(
                    self._checked(call, progress, approved)
                )
                lines = _lines(checked)
                if checked.is_covered_by(approved):
                    # A cancellation that has arrived ends it here, unsigned.
                    await asyncio.sleep(0)
                    sent = await run_to_completion(
                        self._reserve_and_submit(checked, mark, progress)
                    )
                    return await _sent_reply(checked, lines, sent, programs)
            digest = _digest(call, checked.ask)
            mark = await _confirmed(
                confirm, call.served.book, checked.ask, lines, digest
            )
            approved = {flow.mint: flow.amount for flow in checked.ask}
        raise PolicyError(
            "outflow.confirm_above",
            "the outflow grew each time after the person had said yes",
        )

    # --- checking ------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _checked(
        self, call: OutgoingCall, progress: CallProgress, confirmed: Mapping[str, int]
    ) -> AsyncIterator[CheckedCall]:
        """Build, simulate, and hold against the policy. On leaving, a message that was not sent is given back.

        *confirmed* are the amounts that a person agreed to, by mint.
        """
        await settle_open_sends(
            self.audit, self._wallet, call.served.cluster, call.transport
        )
        await asyncio.to_thread(self.audit.check_running, self._wallet)
        prepared = await prepare(
            call.served,
            call.ix,
            call.args,
            call.accounts,
            remaining=call.remaining,
            wallet=self.signer.address,
            payer=self.signer.address,
        )
        await _check_cluster(call)
        prepared = await prioritized(prepared, self.policy.priority)
        guard = await self._guard(call)
        checked = await self._simulated_and_judged(call, prepared, progress, confirmed)
        try:
            if guard is not None and checked.is_covered_by(confirmed):
                self._release(call, checked)
                checked = await self._guarded(guard, call, checked, progress, confirmed)
            yield checked
        finally:
            self._release(call, checked)

    async def _guard(self, call: OutgoingCall) -> Pubkey | None:
        """Return the guard program to use, or None if the policy wants none. Raises PolicyError if none is deployed."""
        wanted = self.policy.guard
        if wanted == "off":
            return None
        given = None if wanted == "on" else Pubkey.from_string(wanted)
        found = await find_guard(call.transport, given)
        if found is None:
            named = (
                "neither Lighthouse nor our own" if given is None else f"not {given}"
            )
            raise PolicyError(
                "guard",
                f"no guard program is deployed on {call.served.cluster} ({named}), so the limits cannot be enforced "
                'on chain. The owner deploys one and names it in the policy, or sets guard = "off"',
            )
        return found

    async def _guarded(
        self,
        guard: Pubkey,
        call: OutgoingCall,
        checked: CheckedCall,
        progress: CallProgress,
        confirmed: Mapping[str, int],
    ) -> CheckedCall:
        """Return the call with a guard at its end that allows what *checked* may take at the most, simulated again."""
        instructions = guard_instructions(
            guard,
            self.signer.address,
            checked.simulated,
            checked.effects,
            checked.at_most,
        )
        guarded = replace(
            checked.prepared, guards=tuple(instructions), units=None, price=None
        )
        try:
            prepared = await prioritized(guarded, self.policy.priority)
            again = await self._simulated_and_judged(
                call, prepared, progress, confirmed
            )
        except TransactionTooLarge as error:
            raise PolicyError(
                "guard",
                f"with the guard that enforces the limits on chain, the transaction has {error.size:,} bytes, and "
                f'{error.limit:,} fit. Call with fewer accounts, or the owner sets guard = "off"',
            ) from error
        return replace(again, at_most=checked.at_most)

    async def _simulated_and_judged(
        self,
        call: OutgoingCall,
        prepared: PreparedCall,
        progress: CallProgress,
        confirmed: Mapping[str, int],
    ) -> CheckedCall:
        new, simulated, effects = await self._simulated(call, prepared, progress)
        try:
            await progress.reached(
                "simulated", SEND_STEPS, compute_units=simulated.outcome.units
            )
            self._check_accounts(call, prepared, simulated)
            takeovers = list(effects.taken)
            if not call.rule.hands_over:
                takeovers += effects.handed_over
            spent = await asyncio.to_thread(self.audit.spent, self._wallet)
            ask = self.policy.check_effects(effects.flows, takeovers, spent)
            if ask and not self.asks:
                raise PolicyError(
                    "outflow.confirm_above",
                    "the wallet's owner must confirm it, and clients of a public server are strangers",
                )
        except BaseException:
            sent_messages(call.transport).release(new.message)
            raise
        at_most = self.policy.at_most(effects.mints, spent, confirmed)
        return CheckedCall(prepared, new, simulated, effects, takeovers, ask, at_most)

    def _release(self, call: OutgoingCall, checked: CheckedCall) -> None:
        sent_messages(call.transport).release(checked.new.message)

    async def _simulated(
        self, call: OutgoingCall, prepared: PreparedCall, progress: CallProgress
    ) -> tuple[NewMessage, SimulatedCall, Effects]:
        """Simulate a new message, again if somebody else changed the wallet's balances at the same time."""
        messages = sent_messages(call.transport)
        for _ in range(SIMULATIONS):
            new = await new_message(call.transport, prepared)
            try:
                await progress.reached("built", SEND_STEPS)
                simulated = await simulate(prepared, unsigned(new.message), exact=True)
                await raise_failure(prepared, simulated)
                effects = effects_of(
                    [prepared.instruction], simulated, self.signer.address
                )
                call.served.book.decimals.update(simulated.decimals)
            except BaseException:
                messages.release(new.message)
                raise
            if effects.still:
                return new, simulated, effects
            messages.release(new.message)
        raise never_still(call.transport.endpoint)

    def _check_accounts(
        self, call: OutgoingCall, prepared: PreparedCall, simulated: SimulatedCall
    ) -> None:
        written = [
            str(meta.pubkey)
            for meta in prepared.instruction.accounts
            if meta.is_writable
        ]
        own = [str(key) for key, found in simulated.before.items() if self._owns(found)]
        self.policy.check_accounts(
            call.rule, self._wallet, prepared.signers, written, own
        )

    def _owns(self, account: OwnedData | None) -> bool:
        """Return True for a token account of the wallet."""
        token = read_token_account(account)
        return token is not None and str(token.owner) == self._wallet

    # --- signing and sending -------------------------------------------------------------------------------------

    async def _reserve_and_submit(
        self, checked: CheckedCall, mark: str, progress: CallProgress
    ) -> SentCall:
        prepared, effects = checked.prepared, checked.effects

        def check(spent: Mapping[str, int]) -> None:
            # Again, now that no other process can spend in between.
            self.policy.check_effects(effects.flows, checked.takeovers, spent)
            self.policy.check_reserved(checked.at_most, spent)

        # In a thread: another process may have locked the log, and the other calls must not wait for it.
        intent = await asyncio.to_thread(
            self.audit.reserve,
            self._wallet,
            check,
            mark,
            cluster=prepared.served.cluster,
            program_id=str(prepared.instruction.program_id),
            instruction=prepared.ix.name,
            outflow=amount_texts(checked.flows),
            guard=_guard_of(prepared),
            at_most=amount_texts(
                {mint: most for mint, most in checked.at_most.items() if most}
            ),
            expected=effects.expected.to_json(),
            confirmed=bool(checked.ask),
            message=base64.b64encode(bytes(checked.new.message)).decode(),
        )
        return await Submission(self, checked, intent["n"], progress).run()

    @telemetry.traced("sign")
    async def sign(self, new: NewMessage) -> VersionedTransaction:
        """Sign exactly this message. Raises PolicyError if the signature does not fit it."""
        made = await self.signer.sign(to_bytes_versioned(new.message))
        transaction = VersionedTransaction.populate(new.message, [made])
        if not all(transaction.verify_with_results()):
            raise PolicyError(
                "signers",
                "the signer's signature does not fit the message that was simulated",
            )
        return transaction


class Submission:
    """One message on its way: signed, handed in, followed, and each step written to the audit log.

    The log ends with "sent", with "failed" if the transaction did not and cannot take effect, or with "unknown", which
    counts as spent with the most that it may take.
    """

    def __init__(
        self,
        sender: PolicySender,
        checked: CheckedCall,
        intent: int,
        progress: CallProgress,
    ) -> None:
        self._sender, self._checked = sender, checked
        self._intent, self._progress = intent, progress
        self._signature: str | None = None
        self._handing_in = False

    async def run(self) -> SentCall:
        """Sign and send once. Raises LandedDifferently if the transaction took something else than was simulated."""
        try:
            signature = await self._sign_and_submit()
        except McpsolError as error:
            raise await self._after_error(error) from error.__cause__
        except BaseException as error:
            await self._after_fault(error)
            raise
        sent = await self._book(signature)
        await self._progress.reached("confirmed", SEND_STEPS, signature=signature)
        return sent

    async def _book(self, signature: str) -> SentCall:
        """Write down what the transaction took, as far as the chain says it now. Raises LandedDifferently."""
        landed = await landed_outcome(self._transport, Signature.from_string(signature))
        if landed is None:
            await self._note("sent")
            return SentCall(signature, None)
        checked = self._checked
        booking = Booking(
            self._sender.audit, signature, checked.flows, checked.effects.expected
        )
        taken = booking.taken(landed.balances)
        facts = booking.facts(taken)
        await self._note("sent", **facts)
        if "stopped" in facts:
            raise booking.difference(taken)
        return SentCall(signature, facts["outflow"])

    async def _sign_and_submit(self) -> str:
        new, prepared, sender = self._checked.new, self._checked.prepared, self._sender
        transaction = await sender.sign(new)
        signature = self._signature = str(transaction.signatures[0])
        # On disk before anyone else has it.
        await asyncio.to_thread(
            sender.audit.append, "signed", intent=self._intent, signature=signature
        )
        if sender.will_send is not None:
            await sender.will_send(signature)
        await self._progress.reached("signed", SEND_STEPS)
        self._handing_in = True

        async def handed_in() -> None:
            await self._progress.reached("sent", SEND_STEPS, signature=signature)

        await submit(
            self._transport,
            transaction,
            new.lifetime,
            own=prepared.errors,
            handed_in=handed_in,
        )
        return signature

    async def _after_error(self, error: McpsolError) -> McpsolError:
        """Write down an error, and return the one to raise."""
        signature = self._signature
        if signature is None or not _may_land(error):
            facts: dict[str, Any] = {"reason": error.reason}
            if isinstance(error, ProgramFailed):
                facts |= await self._fee(signature)
            await self._note("failed", **facts)
            return error
        await self._note("unknown")
        if isinstance(error, TransportError):
            return SendUnknown(signature, error.why)
        return error

    async def _after_fault(self, error: BaseException) -> None:
        """Write down a cancellation or a fault of this process. Raises SendUnknown for a fault after the handing in."""
        signature = self._signature
        await self._note("unknown" if self._handing_in else "failed")
        if self._handing_in and signature is not None and isinstance(error, Exception):
            logger.exception("a send ended in an unexpected way")
            kind = type(error).__name__
            raise SendUnknown(
                signature, f"an error of this bridge's own ({kind})"
            ) from error

    async def _fee(self, signature: str | None) -> dict[str, Any]:
        """Return the outflow of a transaction that failed: its fee if it is in a block, or may be."""
        if signature is None or not await self._in_a_block(signature):
            return {}
        landed = await landed_outcome(self._transport, Signature.from_string(signature))
        if landed is None:
            taken = {SOL: fee_lamports(self._checked.new.message)}
        else:
            taken = self._checked.effects.expected.meter.outflow(landed.balances)
        return {"outflow": amount_texts(taken)}

    async def _in_a_block(self, signature: str) -> bool:
        """Return whether a transaction that failed is in a block, and True if the chain does not say."""
        try:
            return (
                await self._transport.status(Signature.from_string(signature))
                is not None
            )
        except TransportError:
            return True

    @property
    def _transport(self) -> Transport:
        transport = self._checked.prepared.served.transport
        assert transport is not None
        return transport

    async def _note(self, event: str, **facts: Any) -> None:
        """Write the outcome to the audit log.

        If the log cannot be written any more, the caller learns the outcome all the same: the intent counts as spent,
        and nothing more can be sent.
        """
        facts["intent"] = self._intent
        if self._signature is not None:
            facts["signature"] = self._signature
        try:
            await asyncio.to_thread(self._sender.audit.append, event, **facts)
        except PolicyError as error:
            telemetry.event(
                "audit log failed",
                level="error",
                outcome=event,
                why=error.why,
                **facts,
            )
            await self._progress.log("critical", "audit log failed", outcome=event)


async def _sent_reply(
    checked: CheckedCall,
    lines: Sequence[str],
    sent: SentCall,
    programs: Sequence[ServedProgram],
) -> Reply:
    """Answer with what landed: the calls that programs made, the events and the fee are the chain's own record."""
    book = checked.prepared.served.book
    text = "\n".join(
        [*lines, f"  sent: {sent.signature}", f"  {_landed_words(sent, book)}"]
    )
    described = describe(checked.prepared, checked.simulated)
    facts: dict[str, Any] = {"signature": sent.signature, "outflow": sent.outflow}
    facts |= await _landed_facts(checked.prepared, sent.signature, programs)
    return Reply(text, {"summary": text, **described, **facts})


async def _landed_facts(
    prepared: PreparedCall, signature: str, programs: Sequence[ServedProgram]
) -> dict[str, Any]:
    """Return the fee, the inner calls and the events of a landed transaction, as far as the chain says them now."""
    transport = prepared.served.transport
    assert transport is not None
    try:
        landed = await decode_signature(programs, transport, signature)
    except McpsolError:
        return {}
    known = ("fee", "slot", "time", "events")
    facts: dict[str, Any] = {name: landed[name] for name in known if name in landed}
    calls = [call for row in landed["instructions"] for call in row.get("calls", ())]
    facts["calls"] = [_call_words(call, prepared.served.book) for call in calls]
    cleaned: dict[str, Any] = clean_json(facts)
    return cleaned


def _call_words(call: Mapping[str, Any], book: AddressBook) -> str:
    """Return an inner call on one line: "SPL Token transfer(amount 5)"."""
    args = ", ".join(f"{name} {value}" for name, value in call.get("args", {}).items())
    name = call.get("instruction", "unknown instruction")
    return book.named(one_line(f"{call['program']} {name}({args})", 300))


def _landed_words(sent: SentCall, book: AddressBook) -> str:
    if sent.outflow is None:
        return "landed, but the chain does not yet say what it took: it counts with the most that it may take"
    taken = ", ".join(
        book.amount(int(amount), mint) for mint, amount in sent.outflow.items()
    )
    return f"landed as it was simulated; what left the wallet: {taken or 'nothing'}"


def _lines(checked: CheckedCall) -> list[str]:
    """Return the call in words, with the names on its chain."""
    return named_lines(
        checked.prepared.served.book, text_of(checked.prepared, checked.simulated)
    )


def _guard_of(prepared: PreparedCall) -> str:
    return str(prepared.guards[0].program_id) if prepared.guards else "off"


def _may_land(error: McpsolError) -> bool:
    """Return whether a transaction that ended with *error* may still take effect, or have taken it.

    It cannot if the node's JSON-RPC error says that it was not taken, or if the chain ran it and it failed.
    """
    if isinstance(error, SendUnknown):
        return True
    return isinstance(error, TransportError) and error.code is None


async def _check_cluster(call: OutgoingCall) -> None:
    """Raise PolicyError if the node now belongs to another cluster than at the start: a URL may lead elsewhere."""
    url, ask = (
        getattr(call.transport, "url", None),
        getattr(call.transport, "request", None),
    )
    if url is None or ask is None:
        return
    now = cluster_of(str(await ask("getGenesisHash")), url)
    if now != call.served.cluster:
        raise PolicyError(
            "clusters",
            f"{call.transport.endpoint} was of {call.served.cluster} when this bridge was started, and is of {now} now",
        )


def _digest(call: OutgoingCall, ask: Sequence[Outflow]) -> str:
    """Return a digest of what a person agrees to: this call with these amounts, and no other."""
    flows = [[flow.mint, flow.amount] for flow in ask]
    parts = [call.tool, call.args, [call.accounts, call.remaining], flows]
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


async def _confirmed(
    confirm: Confirm | None,
    book: AddressBook,
    ask: Sequence[Outflow],
    lines: Sequence[str],
    digest: str,
) -> str:
    """Ask a person, and return the mark of the agreement. Raises PolicyError without one."""
    what = ", ".join(
        f"{book.amount(flow.amount, flow.mint)} ({flow.amount:,} base units of {flow.mint})"
        for flow in ask
    )
    if confirm is None:
        raise PolicyError(
            "outflow.confirm_above",
            f"sending {what} requires that a person confirms it, and this client cannot ask one (MCP elicitation)",
        )
    question = "\n".join([f"Send this? {what} will leave your wallet.", *lines])
    answer = await confirm(question, digest)
    if not answer:
        raise PolicyError("outflow.confirm_above", f"{what}: the person asked said no")
    return answer if isinstance(answer, str) else secrets.token_hex(8)
