"""A node of many programs: answers what a crawl asks, each program with an IDL account, after a delay."""

from __future__ import annotations

import base64
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from mcpsol_py.client.svm_rpc import GENESIS
from mcpsol_py.solana.ids import UPGRADEABLE_LOADER
from mcpsol_py.solana.loader import PROGRAM_HEAD, PROGRAMDATA_HEAD, programdata_address
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.idl_accounts import anchor_account, packed

LOADER = Pubkey.from_string(UPGRADEABLE_LOADER)


class ManyPrograms:
    """The accounts of the node. `asked` counts requests by method, `idls_read` the reads of IDL accounts."""

    def __init__(
        self, documents: Sequence[dict[str, Any]], latency: float = 0.0
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
        self._idl_accounts[str(place)] = str(address)
        self.accounts |= {
            str(address): program,
            str(data): Account(1, head, LOADER),
            str(place): anchor_account(
                address, packed({**document, "address": str(address)})
            ),
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
            if options["filters"][0]["memcmp"]["bytes"] == _b58(PROGRAM_HEAD)
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


def _b58(data: bytes) -> str:
    from mcpsol_py.solana.base58 import b58encode

    return b58encode(data)


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


@contextmanager
def listening(node: ManyPrograms) -> Iterator[str]:
    """The URL at which *node* listens, on the loopback interface."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            node.times.append(time.monotonic())
            if node.refusals > 0:
                node.refusals -= 1
                self.send_response(429)
                self.send_header("retry-after", str(node.retry_after))
                self.send_header("content-length", "0")
                self.end_headers()
                return
            time.sleep(node.latency)
            rows = (
                [node.answer(one) for one in request]
                if isinstance(request, list)
                else node.answer(request)
            )
            body = json.dumps(rows).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128
        daemon_threads = True

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
