"""`@paid`: the price tag of a function, and the check that its call is sold."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import pytest

from mcpsol_py.errors import PaymentError
from mcpsol_py.x402.selling.paid_functions import PriceTag, paid, price_tag


@paid("$0.001", settle="first")
def forecast(city: str, days: int = 1) -> str:
    """The weather."""
    return city * days


def test_a_price_tag_is_found_through_wrappers() -> None:
    @functools.wraps(forecast)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return forecast(*args, **kwargs)

    tag = PriceTag(("$0.001",), settles_first=True)
    for found in (forecast, wrapped, functools.partial(forecast, "Bern")):
        assert price_tag(found) == tag
    assert price_tag(len) is None


def test_the_function_keeps_its_name_signature_and_words() -> None:
    assert (forecast.__name__, forecast.__doc__) == ("forecast", "The weather.")
    assert list(inspect.signature(forecast).parameters) == ["city", "days"]


def test_a_call_that_nothing_sells_is_refused() -> None:
    with pytest.raises(PaymentError, match="mcpsol_py.x402.sell") as caught:
        forecast("Bern")
    assert caught.value.code == "not_sold"
    unguarded = inspect.unwrap(forecast)
    assert unguarded("Bern", 2) == "BernBern"


async def test_an_async_call_that_nothing_sells_is_refused() -> None:
    @paid("$0.001")
    async def later() -> None: ...

    assert inspect.iscoroutinefunction(later)
    with pytest.raises(PaymentError, match="not_sold|nothing sells"):
        await later()


@pytest.mark.parametrize("prices", [(), (0.001,), (1,), (len,), (None,)])
def test_prices_are_texts_or_base_units_with_a_mint(prices: tuple[Any, ...]) -> None:
    with pytest.raises(PaymentError) as caught:
        paid(*prices)
    assert caught.value.code == "invalid_price"


@pytest.mark.parametrize("thing", [int, 7, "text", object()])
def test_only_functions_have_prices(thing: Any) -> None:
    with pytest.raises(PaymentError, match="sells functions"):
        paid("$1")(thing)


def test_the_order_is_first_or_after() -> None:
    with pytest.raises(PaymentError, match='"first" or "after"'):
        paid("$1", settle="never")  # type: ignore[arg-type]  # as a user without a type checker
