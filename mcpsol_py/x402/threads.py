"""Run synchronous code of payments (storage, chains, x402 schemes) in a worker thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar

import anyio.to_thread

__all__ = ["in_thread"]

_P = ParamSpec("_P")
_T = TypeVar("_T")


async def in_thread(
    function: Callable[_P, _T], *args: _P.args, **options: _P.kwargs
) -> _T:
    """Call *function* in a worker thread and return its result."""
    return await anyio.to_thread.run_sync(partial(function, *args, **options))
