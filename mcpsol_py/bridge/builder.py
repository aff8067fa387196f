"""Building the calls of instructions: described, or simulated and returned as an unsigned transaction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from solders.hash import Hash
from solders.pubkey import Pubkey

from mcpsol_py.bridge.arguments import check_depth, extra_accounts, read_addresses
from mcpsol_py.bridge.mcp.progress import BUILD_STEPS, DESCRIBE_STEPS, CallProgress
from mcpsol_py.bridge.registry import ProgramRegistry
from mcpsol_py.bridge.replies import Reply, call_reply, view_reply
from mcpsol_py.bridge.tools import BridgeTool
from mcpsol_py.calls.hints import raise_failure
from mcpsol_py.calls.prepare import PreparedCall, prepare
from mcpsol_py.calls.simulate import SimulatedCall, simulate
from mcpsol_py.calls.transactions import choose_blockhash
from mcpsol_py.client.simulation import unfunded, unsigned
from mcpsol_py.model.types import Pubkey as PubkeyType

__all__ = ["CallBuilder"]


@dataclass
class CallBuilder:
    """Builds for the programs of *registry*. *wallet* acts and pays if no other account is given."""

    registry: ProgramRegistry
    wallet: Pubkey | None

    def arguments(
        self, tool: BridgeTool, arguments: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any], list[Any]]:
        """Return args, accounts and remaining accounts of an instruction, with names resolved."""
        assert tool.served is not None
        remaining = extra_accounts(tool, arguments)
        parts = tool.split(arguments)
        # What came as JSON text is open.
        check_depth([parts.args, parts.accounts, parts.remaining])
        names = self.registry.names_of(tool.served)
        accounts = read_addresses(names, parts, tool.name)
        given = tool.served.program.instruction(tool.target).model.args
        addresses = {arg.name for arg in given if isinstance(arg.type, PubkeyType)}
        args = {
            key: names(
                value, known_only=not (key in addresses and isinstance(value, str))
            )
            for key, value in parts.args.items()
        }
        return args, accounts, names(remaining)

    async def build(
        self, tool: BridgeTool, arguments: dict[str, Any], progress: CallProgress
    ) -> Reply:
        """Build the call, simulate it if there is a chain, and return an unsigned transaction in mode "build"."""
        served = tool.served
        assert served is not None
        args, accounts, remaining = self.arguments(tool, arguments)
        ix = served.program.instruction(tool.target)
        prepared = await prepare(
            served, ix, args, accounts, remaining=remaining, wallet=self.wallet
        )
        if self.registry.mode == "describe":
            await progress.reached("built", DESCRIBE_STEPS)
            return call_reply(prepared, None, "the mode is describe")
        if tool.is_view:
            return await self._view(prepared, progress)
        if served.transport is None:
            await progress.reached("built", DESCRIBE_STEPS)
            blank = (
                None
                if prepared.payer is None
                else unsigned(prepared.message(Hash.default()))
            )
            return call_reply(
                prepared, None, "no chain is configured", transaction=blank
            )
        transaction = None
        if prepared.payer is not None:
            blockhash, _ = await choose_blockhash(
                served.transport, prepared.nonce_account
            )
            transaction = unsigned(prepared.message(blockhash))
        await progress.reached("built", BUILD_STEPS)
        simulated = await simulate(prepared, transaction)
        if prepared.ix.model.returns is not None and unfunded(simulated.outcome):
            transaction = None
            prepared, simulated = await _with_any_payer(prepared)
        await raise_failure(prepared, simulated)
        await progress.reached(
            "simulated", BUILD_STEPS, compute_units=simulated.outcome.units
        )
        served.book.decimals.update(simulated.decimals)
        return call_reply(prepared, simulated, transaction=transaction)

    async def _view(self, prepared: PreparedCall, progress: CallProgress) -> Reply:
        """Simulate the call and return its return value. Nothing is to sign."""
        if prepared.served.transport is None:
            await progress.reached("built", DESCRIBE_STEPS)
            return view_reply(prepared, None)
        await progress.reached("built", BUILD_STEPS)
        simulated = await simulate(prepared)
        if unfunded(simulated.outcome):
            prepared, simulated = await _with_any_payer(prepared)
        await raise_failure(prepared, simulated)
        await progress.reached(
            "simulated", BUILD_STEPS, compute_units=simulated.outcome.units
        )
        return view_reply(prepared, simulated)


async def _with_any_payer(prepared: PreparedCall) -> tuple[PreparedCall, SimulatedCall]:
    """Simulate a call whose payer has no lamports. Looking costs nothing, so anybody's will do."""
    prepared = replace(prepared, payer=None)
    return prepared, await simulate(prepared)
