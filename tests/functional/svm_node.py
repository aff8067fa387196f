"""A URL at which mcpsol_py.client.svm_rpc answers: what talks to a node can be tested where no validator is installed.
tests/functional/validator/ holds the client against a real one.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mcpsol_py.client.svm_rpc import GENESIS, SvmNode

__all__ = ["GENESIS", "SvmNode", "listening"]


@contextmanager
def listening(node: SvmNode) -> Iterator[str]:
    """The URL at which *node* listens, with an API key in it as providers have."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            request = json.loads(raw)
            if request["method"] in node.down or "*" in node.down:
                status, body = 503, b"down"
            else:
                status, body = 200, node.respond(raw)
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # with five, one of many clients at once waits a second for its next attempt

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v2/API-KEY?token=TOKEN"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
