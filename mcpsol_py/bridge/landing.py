"""Books what a landed transaction took from the wallet, and stops the wallet if its simulation showed another sum."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from solders.signature import Signature

from mcpsol_py.bridge.policy.audit_log import AuditLog, OpenSend
from mcpsol_py.calls.landed import ExpectedOutflow, amount_texts, landed_outcome
from mcpsol_py.client.transport import Balances, Transport
from mcpsol_py.errors import LandedDifferently, PolicyError

__all__ = ["Booking", "settle_open_sends"]


@dataclass(frozen=True, slots=True)
class Booking:
    """The bookkeeping of one transaction: `flows` is the outflow that the policy allowed."""

    audit: AuditLog
    signature: str
    flows: Mapping[str, int]
    expected: ExpectedOutflow

    def taken(self, landed: Balances) -> dict[str, int]:
        """Return what left the wallet: base units by mint."""
        return self.expected.meter.outflow(landed)

    def facts(self, taken: Mapping[str, int]) -> dict[str, Any]:
        """Return the facts of a log line: what left the wallet, and why it is stopped if that is another amount."""
        if taken == self.expected.outflow:
            return {"outflow": amount_texts(self.flows)}
        return {"outflow": amount_texts(taken), "stopped": str(self.difference(taken))}

    def difference(self, taken: Mapping[str, int]) -> LandedDifferently:
        """Return the error that says that the transaction took *taken*, and how the owner lets the wallet go on."""
        advice = f"Nothing more is sent until the wallet's owner has looked at it and {self.audit.how_to_clear}."
        return LandedDifferently(self.signature, self.expected.outflow, taken, advice)


async def settle_open_sends(
    audit: AuditLog, wallet: str, cluster: str, transport: Transport
) -> None:
    """Book the transactions of *wallet* on this chain that landed after the log's last line about them.

    What has no record yet still counts as spent with the most that it may take. Raises PolicyError as the log does.
    """
    for send in await asyncio.to_thread(audit.open_sends, wallet):
        if send.intent.get("cluster") != cluster:
            continue
        booking = _booking(audit, send)
        found = await landed_outcome(
            transport, Signature.from_string(send.signature), looks=1
        )
        if found is None:
            continue
        taken = booking.taken(found.balances)
        if found.err is None:
            event, facts = "landed", booking.facts(taken)
        else:
            event, facts = (
                "failed",
                {"reason": "program_failed", "outflow": amount_texts(taken)},
            )
        await asyncio.to_thread(
            audit.append,
            event,
            intent=send.intent["n"],
            signature=send.signature,
            **facts,
        )


def _booking(audit: AuditLog, send: OpenSend) -> Booking:
    """Return the booking of a send that the log describes. Raises PolicyError if it does not."""
    intent = send.intent
    try:
        flows = {str(mint): int(amount) for mint, amount in intent["outflow"].items()}
        expected = ExpectedOutflow.from_json(intent["expected"])
        return Booking(
            audit, str(Signature.from_string(send.signature)), flows, expected
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = f"line {intent.get('n')} of the audit log does not say what was expected: {error}"
        raise PolicyError("audit", why) from error
