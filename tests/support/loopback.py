"""HTTP servers of tests: on this machine alone, and stopped with the test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["Handler", "serving"]


class Handler(BaseHTTPRequestHandler):
    """Handles requests without a word about them. A subclass has `do_GET` and `do_POST`."""

    protocol_version = "HTTP/1.1"
    # Headers and body are two packets: the second would wait 40 ms for the client to confirm the first.
    disable_nagle_algorithm = True

    def body(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("content-length", 0)))

    def answer(
        self,
        body: bytes = b"",
        status: int = 200,
        kind: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        """Send the whole answer."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Silent."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # With five, one of many clients at once waits a second for its next attempt.
    request_queue_size = 128

    def handle_error(self, *where: Any) -> None:
        """Print what a handler raised, unless its client hung up."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(*where)


@contextmanager
def serving(handler: type[Handler], port: int = 0) -> Iterator[str]:
    """Serve with *handler*, and give the URL. *port*: a free one if it is 0."""
    server = _Server(("127.0.0.1", port), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
