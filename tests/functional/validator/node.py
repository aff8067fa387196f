"""A solana-test-validator for the tests, and a proxy before it that fails as real endpoints do."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from solders.account import Account
from solders.pubkey import Pubkey

from tests.afterwards import Afterwards
from tests.ports import free_port

BINARY = (
    Path(os.environ.get("MCPSOL_VALIDATOR", Path.home() / ".cache/mcpsol/validator"))
    / "bin"
    / "solana-test-validator"
)


def call(url: str, method: str, params: list[Any] | None = None) -> Any:
    """One JSON-RPC request by urllib, so that a test's set-up does not rest on what it tests."""
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or []}
    ).encode()
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        found = json.loads(answer.read())
    if "error" in found:
        raise RuntimeError(f"{method}: {found['error']}")
    return found["result"]


class Validator:
    """The process, its ledger in *folder*. `url` is its RPC; the WebSocket is at the port after it."""

    def __init__(
        self,
        folder: Path,
        programs: Mapping[Pubkey, Path],
        accounts: Mapping[Pubkey, Account],
    ) -> None:
        self.port = free_port(40)
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / "validator.log"
        command = [
            str(BINARY),
            "--ledger",
            str(folder / "ledger"),
            "--reset",
            "--quiet",
        ]
        command += ["--bind-address", "127.0.0.1", "--rpc-port", str(self.port)]
        command += [
            "--faucet-port",
            str(self.port + 2),
            "--gossip-port",
            str(self.port + 3),
        ]
        command += ["--dynamic-port-range", f"{self.port + 5}-{self.port + 39}"]
        for program_id, path in programs.items():
            command += ["--bpf-program", str(program_id), str(path)]
        for key, account in accounts.items():
            file = folder / f"{key}.json"
            file.write_text(json.dumps(_account_file(key, account)))
            command += ["--account", str(key), str(file)]
        with self.log.open("wb") as log:
            # A group, not a session: Linux weighs the sessions of a machine against each other before it looks at nice.
            self.process = subprocess.Popen(
                command,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                cwd=folder,
            )
        self._orphaned = Afterwards(f"kill -TERM -- -{self.process.pid}")
        self._wait(180)
        self._calm_scheduler()

    def _wait(self, seconds: float) -> None:
        """Until it answers and produces blocks."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            try:
                if (
                    call(self.url, "getHealth") == "ok"
                    and call(self.url, "getBlockHeight") > 2
                ):
                    return
            except (OSError, RuntimeError, ValueError):
                pass
            time.sleep(0.3)
        self.stop()
        raise RuntimeError(
            f"the validator did not start: {self.log.read_text(errors='replace')[-2000:]}"
        )

    def _calm_scheduler(self) -> None:
        """The thread that schedules transactions looks for new ones without a pause, as it would in a leader's short
        turn; this node leads always, so that costs a core. Behind all that has work to do, it finds them as well."""
        # Empty on other systems than Linux.
        for thread in Path(f"/proc/{self.process.pid}/task").glob("*"):
            if (thread / "comm").read_text() == "solBnkTxSched\n":
                os.setpriority(os.PRIO_PROCESS, int(thread.name), 19)

    def airdrop(self, key: Pubkey, lamports: int = 10**10) -> None:
        """Funds an address from the faucet, and waits until that is confirmed."""
        signature = call(self.url, "requestAirdrop", [str(key), lamports])
        for _ in range(100):
            (status,) = call(self.url, "getSignatureStatuses", [[signature]])["value"]
            if status and status["confirmationStatus"] in ("confirmed", "finalized"):
                return
            time.sleep(0.2)
        raise RuntimeError("the airdrop was not confirmed")

    def stop(self) -> None:
        """Ends the process group that was started here."""
        self._orphaned.never()
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(10)


def _account_file(key: Pubkey, account: Account) -> dict[str, Any]:
    """An account as `solana account --output json` writes it."""
    return {
        "pubkey": str(key),
        "account": {
            "lamports": account.lamports,
            "data": [base64.b64encode(bytes(account.data)).decode(), "base64"],
            "owner": str(account.owner),
            "executable": False,
            "rentEpoch": 0,
            "space": len(account.data),
        },
    }


#: What a fault does with (method, forward): it answers itself, or calls forward() for the node's answer.
Fault = Callable[[str, Callable[[], bytes]], "bytes | int | None"]


class Proxy:
    """An HTTP proxy before a node. `methods` are those asked for, in order; `fault` decides on each request.

    A fault returns the body to answer with, an HTTP status, or None to close the connection without an answer.
    """

    def __init__(self, target: str) -> None:
        self.methods: list[str] = []
        self.fault: Fault | None = None
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                method = json.loads(body)["method"]
                proxy.methods.append(method)

                def forward() -> bytes:
                    request = urllib.request.Request(
                        target, body, {"content-type": "application/json"}
                    )
                    with urllib.request.urlopen(request, timeout=30) as answer:
                        found: bytes = answer.read()
                    return found

                answer = proxy.fault(method, forward) if proxy.fault else forward()
                if answer is None:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, text = (
                    (answer, b"busy") if isinstance(answer, int) else (200, answer)
                )
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: Any) -> None:
                """Silent."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                """A connection that was closed on purpose."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(
            target=self.server.serve_forever, args=(0.02,), daemon=True
        ).start()

    def count(self, method: str) -> int:
        """How often a method was asked for."""
        return self.methods.count(method)

    def stop(self) -> None:
        """Closes the proxy."""
        self.server.shutdown()
        self.server.server_close()
