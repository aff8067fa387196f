"""Sends transactions on the local cluster with its own wallets, whose money is worth nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from idl2mcp.signers import named_signers
from mcpsol_py.errors import CannotSign

if TYPE_CHECKING:
    from idl2mcp.local_cluster import LocalCluster
    from mcpsol_py.bridge.explorer.site import PlaySender

__all__ = ["play_sender"]


def play_sender(cluster: LocalCluster) -> PlaySender:
    """Return a function that signs a transaction (base64) with wallets of *cluster*, sends it and saves the ledger.

    The function raises CannotSign if somebody else must sign, and the errors of `submit`.
    """

    async def send(text: str) -> str:
        from mcpsol_py.calls.foreign.transaction import read_foreign, sign_foreign
        from mcpsol_py.calls.lifetime import lifetime_of
        from mcpsol_py.calls.send import submit

        transport = cluster.transport
        foreign = await read_foreign(transport, text)
        names = {address: f"@{name}" for name, address in cluster.names.items()}
        others = [str(key) for key in foreign.missing if str(key) not in names]
        if others:
            raise CannotSign(
                f"expected signers among this chain's wallets, got {' and '.join(others)}. Sign with their keys"
            )
        signers = named_signers(
            [names[str(key)] for key in foreign.missing], (), cluster
        )
        done = await sign_foreign(foreign, signers)
        lifetime = await lifetime_of(transport, done.transaction)
        signature = await submit(transport, done.transaction, lifetime)
        cluster.save()
        return str(signature)

    return send
