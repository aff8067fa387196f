"""Signing and sending one transaction, and waiting until it lands. Nothing here sends a call twice.

If the node's answer is lost, the transaction is followed and not sent again. A caller that hands in the same signed
bytes once more lands them once at most.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from solders.keypair import Keypair
from solders.message import to_bytes_versioned
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import telemetry
from mcpsol_py.calls.follow import Sent, follow
from mcpsol_py.calls.lifetime import Lifetime
from mcpsol_py.calls.prepare import PreparedCall
from mcpsol_py.calls.sent_messages import sent_messages
from mcpsol_py.calls.transactions import Unsent, new_message, programs_of, sign
from mcpsol_py.client.errors import Errors, explain
from mcpsol_py.client.keys import Signer
from mcpsol_py.client.transport import Outcome, Status, Transport
from mcpsol_py.errors import InvalidTransaction, ProgramFailed, TransportError

__all__ = [
    "already_landed",
    "check_signed",
    "failure",
    "hand_in",
    "landed_failure",
    "send_signed",
    "send_signed_by",
    "sign_and_submit",
    "submit",
]


async def send_signed(prepared: PreparedCall, keys: Sequence[Keypair]) -> str:
    """Sign *prepared* with *keys*, send it and wait. Return the signature. Raises as `sign_and_submit`."""
    transport = prepared.served.transport
    assert transport is not None
    return str(await sign_and_submit(transport, prepared, keys, own=prepared.errors))


async def send_signed_by(prepared: PreparedCall, signers: Mapping[str, Signer]) -> str:
    """Have *signers* (by address) sign *prepared*, send it and wait. Return the signature.

    Raises as `submit`, and what a signer raises that refuses or does not answer.
    """
    transport = prepared.served.transport
    assert transport is not None
    new = await new_message(transport, prepared)
    try:
        payload = to_bytes_versioned(new.message)
        wanted = new.message.account_keys[: new.message.header.num_required_signatures]
        signatures = [await signers[str(key)].sign(payload) for key in wanted]
    except BaseException:
        sent_messages(transport).release(new.message)
        raise
    transaction = VersionedTransaction.populate(new.message, signatures)
    return str(await submit(transport, transaction, new.lifetime, own=prepared.errors))


async def sign_and_submit(
    transport: Transport,
    unsent: Unsent,
    signers: Iterable[Any],
    *,
    own: Errors | None = None,
    skip_preflight: bool = False,
    confirm: bool = True,
) -> Signature:
    """Sign *unsent* as a transaction of its own, hand it in and wait. Raises as `submit`, and MissingSigner."""
    new = await new_message(transport, unsent)
    try:
        transaction = sign(new.message, signers)
    except BaseException:
        sent_messages(transport).release(new.message)
        raise
    return await submit(
        transport,
        transaction,
        new.lifetime,
        own=own,
        skip_preflight=skip_preflight,
        confirm=confirm,
    )


async def submit(
    transport: Transport,
    transaction: VersionedTransaction,
    lifetime: Lifetime,
    *,
    own: Errors | None = None,
    skip_preflight: bool = False,
    confirm: bool = True,
    handed_in: Callable[[], Awaitable[None]] | None = None,
) -> Signature:
    """Hand a signed transaction in, once, and wait until it is confirmed, has failed or can no longer land.

    *own*: the errors of programs, by number. *handed_in* is awaited once the node has the transaction. With *confirm*
    off, wait only if the node's answer was lost.

    Raises ProgramFailed, TransportError if it was not handed in, SendUnknown if it may have landed.
    """
    sent = await hand_in(
        transport, transaction, lifetime, own=own, skip_preflight=skip_preflight
    )
    if handed_in is not None and not sent.lost:
        await handed_in()
    if confirm or sent.lost:
        status = await follow(transport, sent)
        if status.err is not None:
            raise await landed_failure(transport, transaction, status, own)
    return sent.signature


async def hand_in(
    transport: Transport,
    transaction: VersionedTransaction,
    lifetime: Lifetime,
    *,
    own: Errors | None = None,
    skip_preflight: bool = False,
) -> Sent:
    """Hand a signed transaction in, once. `lost` of the result is set if the node may have it unconfirmed.

    That happens if the answer was lost. It also happens if the same transaction was handed in before and is refused
    now: it may have landed the first time.

    Raises ProgramFailed if the preflight refuses it, TransportError if the node did not take it.
    """
    message = transaction.message
    messages = sent_messages(transport)
    first_time = messages.hand_in(message)
    try:
        with telemetry.span("send"):
            _, refused = await transport.send(
                transaction, skip_preflight=skip_preflight
            )
    except TransportError as error:
        not_taken = not error.retryable or error.code is not None
        if not_taken and first_time:
            messages.refused(message)
            raise
        return Sent(transaction, lifetime, lost=error.why)
    if refused is None or already_landed(refused):
        return Sent(transaction, lifetime)
    failed = failure(refused, transaction, own)
    if first_time:
        messages.refused(message)
        raise failed
    return Sent(
        transaction,
        lifetime,
        lost=f"handed in again, it was refused with {failed.name}",
    )


def already_landed(refused: Outcome) -> bool:
    """Return whether a preflight refused a transaction because exactly these bytes have landed.

    That is a success: no two calls of this process have the same bytes, so an earlier attempt of this one landed.
    """
    return refused.err == "AlreadyProcessed"


async def landed_failure(
    transport: Transport,
    transaction: VersionedTransaction,
    status: Status,
    own: Errors | None = None,
) -> ProgramFailed:
    """Return the error of a transaction that landed and failed, with its logs if the node gives them."""
    try:
        landed = await transport.transaction(transaction.signatures[0])
    except TransportError:  # that it failed is known without its logs
        landed = None
    outcome = Outcome() if landed is None else landed
    return failure(replace(outcome, err=status.err), transaction, own)


def failure(
    outcome: Outcome, transaction: VersionedTransaction, own: Errors | None = None
) -> ProgramFailed:
    """Return the error of a transaction that failed, in a preflight or for good."""
    message = transaction.message
    failed = explain(
        outcome, programs=programs_of(message), own=own, accounts=message.account_keys
    )
    assert failed is not None
    return failed


def check_signed(transaction: VersionedTransaction) -> None:
    """Raise InvalidTransaction for a transaction without a signature."""
    if not transaction.signatures:
        raise InvalidTransaction("it has no signature")
