"""A node that lies about any of its answers, before an honest one."""

from __future__ import annotations

import base64
import copy
import json
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.svm_rpc import SvmNode
from mcpsol_py.solana.addresses import RENT_SYSVAR

__all__ = ["ALWAYS", "LIES", "Lie", "LyingNode", "Quick"]

#: Forwards a request to the honest node and returns its result.
Forward = Callable[[], Any]
#: (params, forward) -> the result that is given.
Tell = Callable[[list[Any], Forward], Any]

ALWAYS = None


@dataclass(frozen=True)
class Lie:
    """A lie about the answers to *method*: about the one at place *at*, or about all of them (ALWAYS)."""

    method: str
    tell: Tell
    at: int | None = ALWAYS


@dataclass
class LyingNode:
    """The RPC of *node*, with lies. `listening` of svm_node.py gives it a URL."""

    node: SvmNode
    lies: list[Lie] = field(default_factory=list)
    down: frozenset[str] = frozenset()
    #: how many requests came, by method
    asked: Counter[str] = field(default_factory=Counter)
    #: how many lies were told
    told: int = 0

    def respond(self, body: bytes) -> bytes:
        request = json.loads(body)
        if isinstance(request, list):
            return json.dumps([self._answer(one) for one in request]).encode()
        return json.dumps(self._answer(request)).encode()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        method, at = request["method"], self.asked[request["method"]]
        self.asked[method] += 1
        honest: dict[str, Any] = {}

        def forward() -> Any:
            honest.update(self.node.answer(request))
            return copy.deepcopy(honest.get("result"))

        for lie in self.lies:
            if lie.method == method and lie.at in (ALWAYS, at):
                result = lie.tell(request.get("params") or [], forward)
                if "error" in honest:
                    return honest
                self.told += 1
                return {"jsonrpc": "2.0", "id": request["id"], "result": result}
        forward()
        return honest


class Quick(RpcTransport):
    """A connection whose time passes on *chain*, and not here."""

    def __init__(self, url: str, chain: SvmTransport) -> None:
        super().__init__(url)
        self.chain = chain

    async def sleep(self, seconds: float) -> None:
        await self.chain.sleep(seconds)
        svm = self.chain.svm
        svm.warp_to_slot(svm.get_clock().slot + 20)


# --- lies ---------------------------------------------------------------------------------------


def _of_accounts(change: Callable[[str, dict[str, Any]], Any]) -> Tell:
    """A lie about each account of getMultipleAccounts that there is."""

    def tell(params: list[Any], forward: Forward) -> Any:
        found = forward()
        rows = zip(params[0], found["value"], strict=True)
        found["value"] = [row if row is None else change(key, row) for key, row in rows]
        return found

    return tell


def _with_data(
    row: dict[str, Any], change: Callable[[bytearray], None]
) -> dict[str, Any]:
    data = bytearray(base64.b64decode(row["data"][0]))
    change(data)
    return {**row, "data": [base64.b64encode(data).decode(), "base64"]}


def _rent(factor: float) -> Tell:
    """Another rent."""

    def change(key: str, row: dict[str, Any]) -> dict[str, Any]:
        def scale(data: bytearray) -> None:
            struct.pack_into("<Qd", data, 0, int(3480 * factor), 2.0)

        return _with_data(row, scale) if key == str(RENT_SYSVAR) else row

    return _of_accounts(change)


def _lamports(lamports: int) -> Tell:
    """Other balances, except of the payer's hundred SOL, without which nothing begins."""
    return _of_accounts(
        lambda key, row: (
            {**row, "lamports": lamports} if row["lamports"] < 10**10 else row
        )
    )


def _zeroed(key: str, row: dict[str, Any]) -> dict[str, Any]:
    def change(data: bytearray) -> None:
        data[64:] = bytes(len(data[64:]))

    return _with_data(row, change) if len(row["data"][0]) > 8000 else row


def _statuses(err: Any) -> Tell:
    """Every transaction is final, with this error."""

    def tell(params: list[Any], forward: Forward) -> Any:
        found = forward()
        status = {"Ok": None} if err is None else {"Err": err}
        row = {"slot": 9, "confirmations": None, "err": err, "status": status}
        found["value"] = [{**row, "confirmationStatus": "finalized"} for _ in params[0]]
        return found

    return tell


def _no_statuses(params: list[Any], forward: Forward) -> Any:
    found = forward()
    found["value"] = [None] * len(found["value"])
    return found


def _swallowed(params: list[Any], forward: Forward) -> Any:
    """The signature of a transaction that goes nowhere."""
    from solders.transaction import VersionedTransaction

    return str(
        VersionedTransaction.from_bytes(base64.b64decode(params[0])).signatures[0]
    )


def _old_blockhash(params: list[Any], forward: Forward) -> Any:
    found = forward()
    found["value"]["lastValidBlockHeight"] = 0
    return found


def _says(result: Any) -> Tell:
    return lambda params, forward: result


#: name -> a lie
LIES: dict[str, tuple[str, Tell]] = {
    "no accounts": ("getMultipleAccounts", _of_accounts(lambda key, row: None)),
    "no lamports": ("getMultipleAccounts", _lamports(0)),
    "many lamports": ("getMultipleAccounts", _lamports(9 * 10**9)),
    "high rent": ("getMultipleAccounts", _rent(1000)),
    "low rent": ("getMultipleAccounts", _rent(0.001)),
    "no rent": ("getMultipleAccounts", _rent(0)),
    "zeros": ("getMultipleAccounts", _of_accounts(_zeroed)),
    "all landed": ("getSignatureStatuses", _statuses(None)),
    "all failed": (
        "getSignatureStatuses",
        _statuses({"InstructionError": [0, {"Custom": 1}]}),
    ),
    "none landed": ("getSignatureStatuses", _no_statuses),
    "swallowed": ("sendTransaction", _swallowed),
    "another cluster": (
        "getGenesisHash",
        _says("4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNY"),
    ),
    "no cluster": ("getGenesisHash", _says(None)),
    "expired": ("getBlockHeight", _says(10**12)),
    "expires at once": ("getLatestBlockhash", _old_blockhash),
    "simulates well": (
        "simulateTransaction",
        _says(
            {
                "context": {"slot": 1},
                "value": {"err": None, "logs": [], "unitsConsumed": 1},
            }
        ),
    ),
}
