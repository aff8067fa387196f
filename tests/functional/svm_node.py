"""A JSON-RPC node whose chain is a LiteSVM: real execution behind the wire format that the RPC documentation gives,
so that what talks to a URL can be tested where no validator is installed. tests/functional/validator/ holds the
client against a real one.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Outcome, run

GENESIS = "LoCaLGenesis1111111111111111111111111111111"


class SvmNode:
    """Answers JSON-RPC over *transport*. `calls` lists the methods that were asked for; `down` answers 503 while it
    is set.
    """

    def __init__(self, transport: SvmTransport, genesis: str = GENESIS) -> None:
        self.transport, self.genesis = transport, genesis
        self.calls: list[str] = []
        self.down: set[str] = set()
        self._lock = threading.Lock()  # LiteSVM is one chain, requests come from several threads

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """The response to one request."""
        method, params = request["method"], request.get("params") or []
        self.calls.append(method)
        handler = getattr(self, f"do_{method}", None)
        head = {"jsonrpc": "2.0", "id": request["id"]}
        if handler is None:
            return {**head, "error": {"code": -32601, "message": "Method not found"}}
        with self._lock:
            found = handler(*params)
        return {**head, **found} if isinstance(found, dict) and "error" in found else {**head, "result": found}

    def do_getGenesisHash(self) -> str:
        return self.genesis

    def do_getMultipleAccounts(self, keys: list[str], options: Any) -> Any:
        accounts = run(self.transport.get_accounts([Pubkey.from_string(k) for k in keys]))
        return _value([_account(a) for a in accounts])

    def do_getProgramAccounts(self, key: str, options: Any) -> Any:
        filters, size = [], None
        for item in options.get("filters", ()):
            if "memcmp" in item:
                filters.append((item["memcmp"]["offset"], base64.b64decode(item["memcmp"]["bytes"])))
            else:
                size = item["dataSize"]
        found = run(self.transport.program_accounts(Pubkey.from_string(key), filters=filters, size=size))
        return [{"pubkey": str(k), "account": _account(a)} for k, a in found]

    def do_getLatestBlockhash(self, options: Any) -> Any:
        recent = run(self.transport.latest_blockhash())
        return _value({"blockhash": str(recent.value), "lastValidBlockHeight": recent.last_valid_block_height})

    def do_getBlockHeight(self, options: Any) -> int:
        return run(self.transport.block_height())

    def do_simulateTransaction(self, text: str, options: dict[str, Any]) -> Any:
        keys = [Pubkey.from_string(k) for k in options.get("accounts", {}).get("addresses", ())]
        outcome = run(
            self.transport.simulate(
                _transaction(text), replace_blockhash=options["replaceRecentBlockhash"], accounts=keys
            )
        )
        accounts = [_account(a) for a in outcome.accounts] if keys and outcome.err is None else None
        return _value({**_outcome(outcome), "accounts": accounts})

    def do_sendTransaction(self, text: str, options: dict[str, Any]) -> Any:
        signature, refused = run(self.transport.send(_transaction(text), skip_preflight=options["skipPreflight"]))
        if refused is not None:
            return {"error": {"code": -32002, "message": "Transaction simulation failed", "data": _outcome(refused)}}
        return str(signature)

    def do_getSignatureStatuses(self, signatures: list[str], options: Any) -> Any:
        found = [run(self.transport.status(Signature.from_string(s))) for s in signatures]
        return _value(
            [None if s is None else {"confirmationStatus": "confirmed", "err": s.err, "slot": 1} for s in found]
        )

    def do_getIdentity(self) -> Any:
        return {"identity": str(run(self.transport.identity()))}

    def do_getRecentPrioritizationFees(self, keys: Any) -> Any:
        return []


def _value(value: Any) -> dict[str, Any]:
    return {"context": {"slot": 1}, "value": value}


def _transaction(text: str) -> VersionedTransaction:
    return VersionedTransaction.from_bytes(base64.b64decode(text))


def _account(account: Account | None) -> Any:
    if account is None:
        return None
    return {
        "lamports": account.lamports,
        "data": [base64.b64encode(bytes(account.data)).decode(), "base64"],
        "owner": str(account.owner),
        "executable": account.executable,
        "rentEpoch": 0,
        "space": len(account.data),
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    returned = outcome.return_data
    data = None
    if returned is not None:  # a validator trims the zeros at the end
        text = base64.b64encode(returned[1].rstrip(b"\0")).decode()
        data = {"programId": str(returned[0]), "data": [text, "base64"]}
    return {
        "err": outcome.err,
        "logs": list(outcome.logs),
        "unitsConsumed": outcome.units,
        "returnData": data,
        "innerInstructions": [],
    }


@contextmanager
def listening(node: SvmNode) -> Iterator[str]:
    """The URL at which *node* listens, with an API key in it as providers have."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if request["method"] in node.down or "*" in node.down:
                status, body = 503, b"down"
            else:
                status, body = 200, json.dumps(node.answer(request)).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v2/API-KEY?token=TOKEN"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
