"""The tool `policy`: the rules of the wallet's owner in words, with today's spending and the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from solders.pubkey import Pubkey

from mcpsol_py.bridge.policy.audit_log import AuditLog
from mcpsol_py.bridge.policy.rules import OutflowLimit, Policy, ProgramRule
from mcpsol_py.calls.balances import SOL, decimals_of, readable
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import PolicyError, TransportError
from mcpsol_py.names import clean_text, snake
from mcpsol_py.solana.address_book import AddressBook

__all__ = ["PolicyTool", "learn_decimals"]

_ALWAYS_REFUSED = "Always refused: transactions that others must sign too, and power for others over the wallet."


async def learn_decimals(
    book: AddressBook, transport: Transport, mints: Sequence[str]
) -> None:
    """Read the decimals of *mints* that *book* does not have. A node that fails leaves base units."""
    unknown = [mint for mint in mints if mint not in book.decimals]
    if not unknown:
        return
    with suppress(TransportError):
        states = await transport.get_accounts(list(map(Pubkey.from_string, unknown)))
        book.decimals.update(readable(zip(unknown, states, strict=True), decimals_of))


@dataclass(frozen=True, slots=True)
class PolicyTool:
    """Tells the policy of one wallet."""

    policy: Policy
    audit: AuditLog
    wallet: str

    async def read(
        self,
        book: AddressBook,
        transport: Transport | None,
        programs: Sequence[ServedProgram],
    ) -> dict[str, Any]:
        """Return the policy as JSON, with the names of *book*, those of its chain; its `words` say the same.

        Raises PolicyError if the audit log cannot be read.
        """
        limits = dict(self.policy.limits)
        if transport is not None:
            mints = [mint for mint in limits if mint != SOL]
            await learn_decimals(book, transport, mints)
        spent = await asyncio.to_thread(self.audit.spent, self.wallet)
        rows = [
            _limit_row(mint, limit, spent.get(mint, 0), book)
            for mint, limit in limits.items()
        ]
        words = [
            f"The wallet is {book.shown(self.wallet)}. Only its owner can change these rules.",
            f"Chains: {', '.join(sorted(self.policy.clusters)) or 'none, so nothing is sent'}.",
            *(_program_words(rule, programs, book) for rule in self.policy.programs),
            *(row["words"] for row in rows),
            "Of every other token nothing may leave the wallet.",
            _ALWAYS_REFUSED,
        ]
        stopped = await self._stopped()
        if stopped:
            words.append(f"The wallet is stopped: {stopped}")
        programs_allowed = [
            {
                "id": rule.id,
                "instructions": _instructions(rule, _served(rule, programs)),
            }
            for rule in self.policy.programs
        ]
        return {
            "wallet": self.wallet,
            "clusters": sorted(self.policy.clusters),
            "programs": programs_allowed,
            "limits": rows,
            "stopped": stopped or None,
            "words": words,
        }

    async def _stopped(self) -> str:
        try:
            await asyncio.to_thread(self.audit.check_running, self.wallet)
        except PolicyError as error:
            return error.why
        return ""


def _limit_row(
    mint: str, limit: OutflowLimit, spent: int, book: AddressBook
) -> dict[str, Any]:
    """Return what may leave the wallet of a token, in base units and in words."""
    row = {
        "mint": mint,
        "per_call": str(limit.per_call),
        "per_day": str(limit.per_day),
        "spent_today": str(spent),
        "left_today": str(limit.left(spent)),
        "words": book.named(limit.words(mint, spent)),
    }
    if limit.confirm_above is not None:
        row["confirm_above"] = str(limit.confirm_above)
    return row


def _served(
    rule: ProgramRule, programs: Sequence[ServedProgram]
) -> ServedProgram | None:
    return next((one for one in programs if str(one.program_id) == rule.id), None)


def _instructions(rule: ProgramRule, served: ServedProgram | None) -> list[str]:
    """Return the instructions that a rule allows, as the program's tools are called, or as the owner wrote them."""
    known = (
        {}
        if served is None
        else {snake(name): name for name in served.program.instructions}
    )
    return sorted(
        known.get(snake(name), name) for name in rule.written or rule.instructions
    )


def _program_words(
    rule: ProgramRule, programs: Sequence[ServedProgram], book: AddressBook
) -> str:
    served = _served(rule, programs)
    name = (
        book.shown(rule.id) if served is None else clean_text(served.program.name, 60)
    )
    every = "*" in rule.instructions
    what = (
        "every instruction"
        if every
        else ", ".join(_instructions(rule, served)) or "nothing"
    )
    words = f"Program {name}: {what}"
    if rule.writable is not None:
        written = ", ".join(map(book.shown, sorted(rule.writable)))
        words += f"; writes only the wallet's accounts and {written or 'no other'}"
    return (
        f"{words}; may replace the wallet in its accounts."
        if rule.hands_over
        else f"{words}."
    )
