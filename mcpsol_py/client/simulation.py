"""Running transactions without effect: payers that exist, blockhashes that are recent, and many list_tools in one.

- The node ignores signatures and replaces the blockhash. A node that keeps the blockhash gets a second request with a
  fetched one. The caller's transaction is never changed.
- A simulation needs a fee payer that exists. The transport tries the given one, the wallet, the node's own identity,
  then addresses that are known to be funded, and remembers which one worked.
- Return data counts only if the called program set it. Nodes cut zeros off its end; the decoder adds them.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.hash import Hash
from solders.instruction import Instruction
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.transport import Outcome, Transport
from mcpsol_py.errors import MissingAccount
from mcpsol_py.solana.addresses import DEVNET_FAUCET, EXCHANGE_WALLET

__all__ = [
    "Payers",
    "returned_in_logs",
    "run_instructions",
    "run_transaction",
    "unfunded",
    "unsigned",
    "with_blockhash",
]

#: Addresses that hold lamports of the system program on public clusters: exchanges' hot wallets on mainnet, the
#: faucet of devnet. They pay in simulations only, if nothing else does and the node does not report its identity.
_KNOWN_FUNDED = (EXCHANGE_WALLET, DEVNET_FAUCET)

#: Errors of a transaction whose fee payer does not exist or has too few lamports.
UNFUNDED = frozenset(
    {"AccountNotFound", "InsufficientFundsForFee", "InvalidAccountForFee"}
)


def unfunded(outcome: Outcome) -> bool:
    """Return True if a transaction did not run because its fee payer does not exist or has too few lamports."""
    return isinstance(outcome.err, str) and outcome.err in UNFUNDED


@dataclass
class Payers:
    """The fee payers to try in simulations. `chosen` is the one that worked."""

    option: Pubkey | None = None
    wallet: Pubkey | None = None
    chosen: Pubkey | None = None
    _tried: list[Pubkey] = field(default_factory=list)

    async def rungs(self, transport: Transport) -> list[Pubkey]:
        """All candidates, best first. With an explicit option, that alone."""
        if self.option is not None:
            return [self.option]
        if self.chosen is not None:
            return [self.chosen]
        candidates = [self.wallet, await transport.identity(), *_KNOWN_FUNDED]
        return list(dict.fromkeys(key for key in candidates if key is not None))


def unsigned(message: Message | MessageV0) -> VersionedTransaction:
    """A transaction of *message* with empty signatures."""
    return VersionedTransaction.populate(
        message, [Signature.default()] * message.header.num_required_signatures
    )


def with_blockhash(
    transaction: VersionedTransaction, blockhash: Hash
) -> VersionedTransaction:
    """A copy with another blockhash, unsigned: the original's signatures would not hold."""
    old: Any = transaction.message
    if isinstance(old, MessageV0):
        return unsigned(
            MessageV0(
                old.header,
                old.account_keys,
                blockhash,
                old.instructions,
                old.address_table_lookups,
            )
        )
    # MessageV1 (SIMD-0385), which only newer solders have.
    if not isinstance(old, Message):
        return unsigned(
            type(old)(
                old.header, old.config, blockhash, old.account_keys, old.instructions
            )
        )
    header = old.header
    return unsigned(
        Message.new_with_compiled_instructions(
            header.num_required_signatures,
            header.num_readonly_signed_accounts,
            header.num_readonly_unsigned_accounts,
            old.account_keys,
            blockhash,
            old.instructions,
        )
    )


async def run_transaction(
    transport: Transport,
    transaction: VersionedTransaction,
    *,
    accounts: Sequence[Pubkey] = (),
) -> Outcome:
    """Simulate *transaction* unchanged. Both kinds of message work; signatures are not needed."""
    outcome = await transport.simulate(
        transaction, replace_blockhash=True, accounts=accounts
    )
    if outcome.err == "BlockhashNotFound":
        recent = await transport.latest_blockhash()
        fresh = with_blockhash(transaction, recent.value)
        outcome = await transport.simulate(
            fresh, replace_blockhash=False, accounts=accounts
        )
    return outcome


async def run_instructions(
    transport: Transport,
    instructions: Sequence[Instruction],
    payers: Payers,
    *,
    accounts: Sequence[Pubkey] = (),
    tables: Sequence[AddressLookupTableAccount] = (),
) -> Outcome:
    """Simulate *instructions* with the first payer that exists on this cluster.

    Raises MissingAccount, with the payers that were tried, if none does. That says nothing about the program.
    """
    tried: list[Pubkey] = []
    for payer in await payers.rungs(transport):
        message = MessageV0.try_compile(
            payer, list(instructions), list(tables), Hash.default()
        )
        outcome = await run_transaction(transport, unsigned(message), accounts=accounts)
        if not unfunded(outcome):
            if payers.option is None:
                payers.chosen = payer
            return outcome
        tried.append(payer)
    payers.chosen = None
    raise MissingAccount(
        "simulate",
        "payer",
        f"a simulation needs a fee payer with lamports on this cluster, and {', '.join(map(str, tried)) or 'no payer'} "
        "has none",
    )


_INVOKE = re.compile(r"Program (\w+) invoke \[(\d{1,4})\]")
_RETURN = re.compile(r"Program return: (\w+) ([A-Za-z0-9+/=]*)")
_DONE = re.compile(r"Program (\w+) (success|failed: .*)")


@dataclass(frozen=True, slots=True)
class Returned:
    """One top-level instruction in the logs. `data`: what *program* itself returned last, None if it set nothing."""

    index: int
    program: str
    data: bytes | None
    ok: bool


def returned_in_logs(logs: Sequence[str]) -> Iterator[Returned]:
    """Yield what each top-level instruction returned, as far as the logs go (nodes cut them at 10,000 bytes).

    The runtime logs return data under the name of the program that ends, even if a program that it called had set it.
    Data that a deeper call also returned is therefore skipped: in a simulation of that instruction alone,
    `returnData.programId` names the program that set it.
    """
    depth, index, program = 0, -1, ""
    data: str | None = None
    deeper: set[str] = set()
    for line in logs:
        begun = _INVOKE.fullmatch(line)
        if begun is not None:
            depth = int(begun[2])
            if depth == 1:
                index, program, data, deeper = index + 1, begun[1], None, set()
            continue
        said = _RETURN.fullmatch(line)
        if said is not None:
            if depth > 1:
                deeper.add(said[2])
            elif said[1] == program and said[2] not in deeper:
                data = said[2]
            continue
        ended = _DONE.match(line)
        if ended is not None:
            if depth == 1:
                yield Returned(index, program, _bytes(data), ended[2] == "success")
            depth -= 1


def _bytes(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None
