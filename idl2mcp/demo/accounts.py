"""Accounts that the chain of `serve --demo` has from the start: bob's counter and vault."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.calls.prepare import ServedProgram

__all__ = ["open_accounts"]

_SETUP: dict[str, Any] = {
    "wallets": {"bob": 5},
    "tokens": {"bob_coin": {"mint": "@coin", "owner": "@bob", "amount": 1_000_000}},
}
_CALLS: tuple[tuple[str, str, dict[str, Any], dict[str, str]], ...] = (
    ("counter", "initialize", {"start": "41"}, {"authority": "@bob"}),
    ("vault", "initialize", {}, {"mint": "@coin", "authority": "@bob"}),
)
_DEPOSIT = "250000"


def open_accounts(programs: Iterable[ServedProgram], cluster: LocalCluster) -> None:
    """Make the accounts by calling the programs. Raises ProgramFailed if a program refuses a call."""
    from mcpsol_py.client.transport import run

    cluster.apply(_SETUP)
    run(_open({served.program.name: served for served in programs}, cluster))


async def _open(programs: dict[str, ServedProgram], cluster: LocalCluster) -> None:
    from mcpsol_py.calls.prepare import PreparedCall, prepare
    from mcpsol_py.calls.send import send_signed

    bob = cluster.wallet("bob")

    async def call(
        program: str, name: str, args: dict[str, Any], accounts: dict[str, str]
    ) -> PreparedCall:
        served = programs[program]
        ix = served.program.instruction(name)
        made = await prepare(
            served, ix, args, cluster.resolve(accounts), wallet=bob.pubkey()
        )
        await send_signed(made, [bob])
        return made

    for program, name, args, accounts in _CALLS:
        if program in programs:
            made = await call(program, name, args, accounts)
    if "vault" in programs:
        vault = next(a.address for a in made.accounts if a.name == "vault")
        accounts = {
            "vault": vault,
            "source": "@bob_coin",
            "depositor": "@bob",
            "mint": "@coin",
        }
        await call("vault", "deposit", {"amount": _DEPOSIT}, accounts)
