"""The row of a call, as the request that owns it writes it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from mcpsol_py.x402.store.call_states import Transition
from mcpsol_py.x402.store.executions import Execution, Executions

__all__ = ["OwnedRow", "TakenOver"]


class TakenOver(Exception):
    """Another request owns the call now, so this one must not go on with it."""


@dataclass(frozen=True, slots=True)
class OwnedRow:
    """The row of *payment_id*. Each write takes effect only while *owner* owns it. Raises
    StorageError.
    """

    executions: Executions
    payment_id: str
    owner: str

    async def claim(self, row: Execution, *, lasting: bool) -> Execution | None:
        """Add the row. Return the row that has the same payment id or payment, if there is one."""
        database, executions = self.executions.database, self.executions
        return await database.grouped(executions.claim, row, lasting=lasting)

    async def read(self) -> Execution | None:
        """Read the row, with any owner."""
        executions = self.executions
        return await executions.database.grouped(executions.get, self.payment_id)

    async def take_over(self, seen: Execution, lease_ms: int) -> bool:
        """Become the owner, if nobody touched the row since it was *seen* and *lease_ms* have
        passed.
        """
        executions = self.executions
        return await executions.database.grouped(
            executions.take_over, self.payment_id, self.owner, lease_ms, seen
        )

    async def move(self, step: Transition, **values: Any) -> bool:
        """Take *step* and set the columns *values*. Return False if another request owns the
        row.
        """
        executions = self.executions
        return await executions.database.grouped(
            partial(executions.move, self.payment_id, self.owner, step, **values)
        )

    async def advance(self, step: Transition, **values: Any) -> None:
        """Take *step* and set the columns *values*. Raises TakenOver if another request owns the
        row.
        """
        if not await self.move(step, **values):
            raise TakenOver

    async def touch(self) -> None:
        """Renew the lease."""
        executions = self.executions
        await executions.database.grouped(executions.touch, self.payment_id, self.owner)

    async def forget(self) -> None:
        """Remove the row of a call that neither ran nor was paid."""
        executions = self.executions
        await executions.database.grouped(
            executions.forget, self.payment_id, self.owner
        )
