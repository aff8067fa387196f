"""Ports for servers that a test starts, and that cannot say which one they were given."""

from __future__ import annotations

import os
import random
import socket

__all__ = ["free_port"]

# Below those from which the system gives a port to each connection that any test opens (Linux: 32768 and up): one of
# them may be taken between the question and the answer. Each worker of pytest-xdist has a stretch of its own.
_FIRST, _STRETCH, _STRETCHES = 10_240, 2_500, 8
_worker = os.environ.get("PYTEST_XDIST_WORKER", "")
_place = int(_worker[2:]) % (_STRETCHES - 1) if _worker else _STRETCHES - 1
_begin = _FIRST + _STRETCH * _place
_next = random.Random(os.getpid()).randrange(_STRETCH)


def free_port(count: int = 1) -> int:
    """The first of *count* ports in a row that nobody listens on, and that no other call was given lately."""
    global _next
    for _ in range(_STRETCH):
        if _next + count >= _STRETCH:
            _next = 0
        # A local node's WebSocket takes one more.
        port, _next = (_begin + _next, _next + count + 1)
        if all(_is_free(number) for number in range(port, port + count)):
            return port
    raise RuntimeError(
        f"no {count} ports in a row are free between {_begin} and {_begin + _STRETCH}"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # A closed connection that lingers does not count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
