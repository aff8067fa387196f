"""Reading deployed programs, rent and the clock from a chain. The layouts are in solana/loader.py."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py._moved import renamed
from mcpsol_py.client.transport import Transport
from mcpsol_py.client.watching import heads
from mcpsol_py.errors import TransportError
from mcpsol_py.solana.addresses import CLOCK_SYSVAR, RENT_SYSVAR
from mcpsol_py.solana.clock import clock_of
from mcpsol_py.solana.loader import (
    LARGEST_HEADER,
    DeployedProgram,
    deployment_slot,
    is_program,
    programdata_address,
    read_program,
)
from mcpsol_py.solana.rent import RentRate

__all__ = [
    "DeploymentMark",
    "current_slot",
    "deployment",
    "deployment_mark",
    "deployment_marks",
    "mark_of",
    "read_rent",
]


#: Years of rent that make an account exempt: every cluster has 2.
_MOST_YEARS = 1000.0


def __getattr__(name: str) -> object:
    return renamed(__name__, name)


async def deployment(
    transport: Transport, program_id: Pubkey
) -> DeployedProgram | None:
    """Return the program at an address, of any loader, or None if there is none or it was closed."""
    accounts = await transport.get_accounts(
        [program_id, programdata_address(program_id)]
    )
    return read_program(program_id, *accounts)


@dataclass(frozen=True, slots=True)
class DeploymentMark:
    """Tells one deployment of a program from the next.

    `mark` changes with each deployment; it is "" if it cannot be known. `slot` is the slot of the
    last deployment, None if the loader does not keep it.
    """

    mark: str
    slot: int | None


async def deployment_mark(transport: Transport, program_id: Pubkey) -> DeploymentMark:
    """Return the mark of the deployed program, from the first bytes of its accounts.

    Raises TransportError.
    """
    return (await deployment_marks(transport, [program_id]))[0]


async def deployment_marks(
    transport: Transport, program_ids: Sequence[Pubkey]
) -> list[DeploymentMark]:
    """`deployment_mark` of many programs, with a request for every fifty. Raises TransportError."""
    places = [place for key in program_ids for place in (key, programdata_address(key))]
    found = await heads(transport, places, LARGEST_HEADER)
    return list(map(_mark, found[::2], found[1::2]))


def _mark(program: Account | None, programdata: Account | None) -> DeploymentMark:
    mark = mark_of([program, programdata]) if is_program(program) else ""
    return DeploymentMark(mark, deployment_slot(programdata))


def mark_of(accounts: Sequence[Account | None]) -> str:
    """Return a hash of the owners and data of *accounts*. Lamports do not count."""
    hashed = hashlib.sha256()
    for account in accounts:
        if account is None:
            hashed.update(b"\0")
            continue
        hashed.update(b"\1" + bytes(account.owner) + bytes([account.executable]))
        hashed.update(len(account.data).to_bytes(8, "little") + bytes(account.data))
    return hashed.hexdigest()


async def read_rent(transport: Transport) -> RentRate:
    """Return the cluster's rent, from the rent sysvar, or mainnet's if there is no sysvar.

    Raises TransportError, for a rent that is no number of years too.
    """
    (account,) = await transport.get_accounts([RENT_SYSVAR])
    rate = RentRate() if account is None else RentRate.from_sysvar(bytes(account.data))
    if not 0 <= rate.years < _MOST_YEARS:
        why = f"the rent sysvar has a rent for {rate.years} years"
        raise TransportError(transport.endpoint, why, retryable=True)
    return rate


async def current_slot(transport: Transport) -> int:
    """Return the newest slot at the transport's commitment, from the clock sysvar."""
    (account,) = await transport.get_accounts([CLOCK_SYSVAR])
    clock = clock_of(account)
    return 0 if clock is None else clock.slot
