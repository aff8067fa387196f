"""A signing service over HTTP on this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

__all__ = ["Answer", "service"]

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


@contextmanager
def service(
    answer: Answer, seen: list[dict[str, str]], *, location: str = "/elsewhere"
) -> Iterator[str]:
    """A signing service; what it is sent is put into *seen*. *location*: where its redirects lead."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append(
                {
                    **asked,
                    "authorization": self.headers.get("authorization", ""),
                    "path": self.path,
                }
            )
            status, body = answer(asked)
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("location", location)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            """What a redirect may be followed with."""
            seen.append({"path": self.path})
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            """Silent."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/sign/SECRET-PATH"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
