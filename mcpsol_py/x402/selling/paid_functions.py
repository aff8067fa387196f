"""`@paid("$0.001")`: puts a price on a function, which then runs only for calls that pay for it.

from mcpsol_py.x402 import paid, sell

server = MCPServer("weather")

@server.tool()
@paid("$0.001")
def forecast(city: str) -> str: ...

sell(server, pay_to="…", sponsor="sponsor.json")
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.selling.payment_terms import Price
from mcpsol_py.x402.selling.tool_run import current_run

__all__ = ["PriceTag", "paid", "price_tag"]

F = TypeVar("F", bound=Callable[..., Any])
_ATTRIBUTE = "__x402_price__"


@dataclass(frozen=True, slots=True)
class PriceTag:
    """The prices of a function. Any one of them pays. `settles_first`: it is paid before it runs."""

    prices: tuple[Price, ...]
    settles_first: bool = False


def paid(
    *prices: Price, settle: Literal["first", "after"] = "after"
) -> Callable[[F], F]:
    """Return a decorator that sells a function for any one of *prices*.

    settle="after": the payment is verified, the function runs, and a call that fails costs nothing.
    settle="first": the payment settles before the function runs, for work that cannot be taken back.

    A call that nothing sells raises PaymentError ("not_sold"): so a server that was not given to
    `sell` gives nothing away. Tests call the function itself: `function.__wrapped__`.
    """
    if not prices:
        raise PaymentError(
            "invalid_price", '@paid needs a price, such as @paid("$0.001")'
        )
    if settle not in ("first", "after"):
        raise PaymentError(
            "invalid_price", f'settle is "first" or "after", got {settle!r}'
        )
    # @paid without a price.
    if not all(isinstance(price, (str, dict)) for price in prices):
        raise PaymentError(
            "invalid_price", f'expected prices such as "$0.001", got {prices[0]!r:.60}'
        )
    return functools.partial(_priced, PriceTag(prices, settle == "first"))


def price_tag(function: object) -> PriceTag | None:
    """Return the price tag of a function, or of one that it wraps. None: it is free."""
    while function is not None:
        tag = getattr(function, _ATTRIBUTE, None)
        if isinstance(tag, PriceTag):
            return tag
        if isinstance(function, functools.partial):
            function = function.func
        else:
            function = getattr(function, "__wrapped__", None)
    return None


def _priced(tag: PriceTag, function: F) -> F:
    if not inspect.isroutine(function):
        raise PaymentError(
            "invalid_price", f"@paid sells functions, got {function!r:.60}"
        )
    name = getattr(function, "__qualname__", "it")
    guarded: F = _guard(function, name)
    for marked in (guarded, function):  # the server may have been given either of them
        setattr(marked, _ATTRIBUTE, tag)
    return guarded


def _guard(function: Any, name: str) -> Any:
    """Wrap a function of any kind in a check that its call is paid."""
    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            _check_sold(name)
            return await function(*args, **kwargs)

        return awaited

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        _check_sold(name)
        return function(*args, **kwargs)

    return called


def _check_sold(name: str) -> None:
    if current_run() is None:
        raise PaymentError(
            "not_sold",
            f"{name} costs something, and nothing sells this call: give its server or app to "
            "mcpsol_py.x402.sell",
        )
