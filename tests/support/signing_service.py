"""A signing service over HTTP on this machine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.loopback import Handler, serving

__all__ = ["Answer", "service"]

Answer = Callable[[dict[str, Any]], tuple[int, Any]]


@contextmanager
def service(
    answer: Answer, seen: list[dict[str, str]], *, location: str = "/elsewhere"
) -> Iterator[str]:
    """A signing service; what it is sent is put into *seen*. *location*: where its redirects lead."""

    class Service(Handler):
        def do_POST(self) -> None:
            asked = json.loads(self.body())
            seen.append(
                {
                    **asked,
                    "authorization": self.headers.get("authorization", ""),
                    "path": self.path,
                }
            )
            status, body = answer(asked)
            text = body if isinstance(body, bytes) else json.dumps(body).encode()
            leads = {"location": location} if 300 <= status < 400 else {}
            self.answer(text, status, headers=leads)

        def do_GET(self) -> None:
            """What a redirect may be followed with."""
            seen.append({"path": self.path})
            self.answer(status=404)

    with serving(Service) as url:
        yield f"{url}/sign/SECRET-PATH"
