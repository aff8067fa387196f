"""Checks that there is a program at an address, and names the account that is there instead."""

from __future__ import annotations

from collections.abc import Callable

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.transport import Transport
from mcpsol_py.errors import NoProgram
from mcpsol_py.solana.addresses import (
    BPF_LOADER_1,
    BPF_LOADER_2,
    LOADER_V4,
    SYSTEM_PROGRAM,
    UPGRADEABLE_LOADER,
)
from mcpsol_py.solana.tokens import read_mint, read_token_account

__all__ = ["check_program"]

_LOADERS = (BPF_LOADER_1, BPF_LOADER_2, LOADER_V4, UPGRADEABLE_LOADER)

#: What an account that is no program may be, with its name for people. The first that fits counts.
_KINDS: tuple[tuple[Callable[[Account], object], str], ...] = (
    (lambda account: account.owner == SYSTEM_PROGRAM and not account.data, "a wallet"),
    (read_token_account, "a token account"),
    (read_mint, "a mint"),
    (lambda account: account.owner in _LOADERS, "a program's code or buffer"),
)


async def check_program(transport: Transport, program_id: Pubkey) -> None:
    """Raise NoProgram if there is no program at *program_id*; it names the account there. Raises TransportError."""
    (account,) = await transport.get_accounts([program_id])
    if account is None or not account.executable:
        raise NoProgram(str(program_id), transport.endpoint, _advice(account))


def _advice(account: Account | None) -> str:
    if account is None:
        return (
            "The cluster has no account at this address. "
            "If it is a program of another cluster, give the URL of that cluster"
        )
    kind = next((name for fits, name in _KINDS if fits(account)), None)
    what = kind or f"an account of program {account.owner}"
    return f"The address is {what}. Give the address of the program"
