"""A node of many programs: answers what a crawl asks, each program with an IDL account, after a delay.

It costs next to nothing, so that a benchmark of a crawl measures the crawl: one thread serves all connections.
"""

from __future__ import annotations

import asyncio
import base64
import re
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import orjson
from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.svm_rpc import GENESIS
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.solana.ids import UPGRADEABLE_LOADER
from mcpsol_py.solana.loader import PROGRAM_HEAD, PROGRAMDATA_HEAD, programdata_address
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.idl_accounts import anchor_account

LOADER = Pubkey.from_string(UPGRADEABLE_LOADER)


class ManyPrograms:
    """The accounts of the node. `asked` counts requests by method, `idls_read` the reads of IDL accounts."""

    def __init__(
        self, documents: Iterable[dict[str, Any]], latency: float = 0.0
    ) -> None:
        self.latency = latency
        self.accounts: dict[str, Account] = {}
        self.addresses: list[Pubkey] = []
        self.asked: Counter[str] = Counter()
        self.idls_read: Counter[str] = Counter()
        #: When requests came; how many of the next ones are answered with 429, and the seconds that these ask for.
        self.times: list[float] = []
        self.refusals, self.retry_after = 0, 0.0
        self._idl_accounts: dict[str, str] = {}
        for number, document in enumerate(documents):
            address = Pubkey(number.to_bytes(4, "big") + bytes([7]) * 28)
            self.addresses.append(address)
            self.deploy(address, 100 + number, document)

    def deploy(self, address: Pubkey, slot: int, document: dict[str, Any]) -> None:
        """Deploy a program at a slot, with its IDL."""
        data = programdata_address(address)
        program = Account(1, PROGRAM_HEAD + bytes(data), LOADER, executable=True)
        head = PROGRAMDATA_HEAD + slot.to_bytes(8, "little") + bytes(33) + b"\x7fELF"
        place = anchor_idl_address(address)
        content = orjson.dumps({**document, "address": str(address)})
        self._idl_accounts[str(place)] = str(address)
        self.accounts |= {
            str(address): program,
            str(data): Account(1, head, LOADER),
            str(place): anchor_account(address, zlib.compress(content, 1)),
        }

    # --- JSON-RPC ----------------------------------------------------------------------------------------------------

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to one request."""
        method = request["method"]
        self.asked[method] += 1
        handler = getattr(self, f"do_{method}", None)
        if handler is None:
            error = {"code": -32601, "message": "Method not found"}
            return {"jsonrpc": "2.0", "id": request["id"], "error": error}
        found = handler(*request.get("params", []))
        return {"jsonrpc": "2.0", "id": request["id"], "result": found}

    def do_getGenesisHash(self) -> str:
        return GENESIS

    def do_getProgramAccounts(self, _key: str, options: Any) -> Any:
        head = (
            PROGRAM_HEAD
            if options["filters"][0]["memcmp"]["bytes"] == b58encode(PROGRAM_HEAD)
            else PROGRAMDATA_HEAD
        )
        return [
            {"pubkey": key, "account": _row(account, options)}
            for key, account in list(self.accounts.items())
            if account.owner == LOADER and bytes(account.data[:4]) == head
        ]

    def do_getMultipleAccounts(self, keys: list[str], options: Any) -> Any:
        for key in keys:
            if key in self._idl_accounts:
                self.idls_read[self._idl_accounts[key]] += 1
        found = [self.accounts.get(key) for key in keys]
        rows = [
            None if account is None else _row(account, options) for account in found
        ]
        return {"context": {"slot": 1}, "value": rows}

    def do_simulateTransaction(self, *_: Any) -> Any:
        error = {"InstructionError": [0, {"Custom": 101}]}
        value = {
            "err": error,
            "logs": [],
            "unitsConsumed": 1,
            "accounts": None,
            "returnData": None,
        }
        return {"context": {"slot": 1}, "value": value}

    def do_getIdentity(self) -> Any:
        return {"identity": str(Pubkey(bytes([5]) * 32))}


def _row(account: Account, options: Any) -> dict[str, Any]:
    cut = (options or {}).get("dataSlice") or {"offset": 0, "length": len(account.data)}
    data = bytes(account.data)[cut["offset"] : cut["offset"] + cut["length"]]
    return {
        "lamports": account.lamports,
        "owner": str(account.owner),
        "executable": account.executable,
        "rentEpoch": 0,
        "space": len(account.data),
        "data": [base64.b64encode(data).decode(), "base64"],
    }


# --- HTTP --------------------------------------------------------------------------------------------------------

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class _Connection(asyncio.Protocol):
    """One connection: each request is answered after the node's latency."""

    def __init__(self, node: ManyPrograms, open_ones: set[_Connection]) -> None:
        self._node, self._received, self._open = node, b"", open_ones

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._open.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._open.discard(self)

    def abort(self) -> None:
        """End the connection now."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, found, rest = self._received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not found or length is None or len(rest) < int(length[1]):
            return
        self._received = rest[int(length[1]) :]
        self._take(rest[: int(length[1])])

    def _take(self, body: bytes) -> None:
        node = self._node
        node.times.append(time.monotonic())
        if node.refusals > 0:
            node.refusals -= 1
            wait = f"retry-after: {node.retry_after}\r\n".encode()
            self._send(b"429 Too Many Requests", b"", wait)
            return
        loop = asyncio.get_running_loop()
        loop.call_later(node.latency, self._answer, orjson.loads(body))

    def _answer(self, request: dict[str, Any]) -> None:
        self._send(b"200 OK", orjson.dumps(self._node.answer(request)))

    def _send(self, status: bytes, body: bytes, headers: bytes = b"") -> None:
        if not self._transport.is_closing():
            self._transport.write(
                b"HTTP/1.1 %b\r\n%bcontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
                % (status, headers, len(body), body)
            )


@contextmanager
def listening(node: ManyPrograms) -> Iterator[str]:
    """The URL at which *node* listens, on the loopback interface."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    connections: set[_Connection] = set()
    starting = loop.create_server(
        lambda: _Connection(node, connections), "127.0.0.1", 0, backlog=128
    )
    server = asyncio.run_coroutine_threadsafe(starting, loop).result()

    async def stop() -> None:
        server.close()
        for connection in list(connections):
            connection.abort()
        await asyncio.sleep(0)

    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        asyncio.run_coroutine_threadsafe(stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
