"""Sells the routes of a Starlette or FastAPI app whose endpoints have a price tag.

The app's own router finds the endpoint, and payment is asked for right before it runs. So each
spelling, method and mount that leads to the endpoint is sold, and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from x402.schemas import ResourceInfo

from mcpsol_py.x402.protocol.offer import Offer
from mcpsol_py.x402.selling.http_seller import PaidEndpoint
from mcpsol_py.x402.selling.paid_functions import price_tag
from mcpsol_py.x402.selling.storefront import Storefront

__all__ = ["is_web_app", "sell_routes"]

_DESCRIPTION = 500


def is_web_app(target: Any) -> bool:
    """Whether *target* is an app with routes, as Starlette and FastAPI have them."""
    return callable(target) and isinstance(getattr(target, "routes", None), list)


def sell_routes(
    app: Any, storefront: Storefront, public_url: str = ""
) -> dict[str, Offer]:
    """Sell the routes of *app* whose endpoints have a price tag, and return their offers by path.

    *public_url* is put before paths in demands. Raises PaymentError for a price that cannot be read.
    """
    offers = {}
    for path, route in _routes(app.routes, ""):
        tag = price_tag(route.endpoint)
        if tag is None:
            continue
        about = (route.endpoint.__doc__ or getattr(route, "name", None) or path).strip()
        resource = ResourceInfo(
            url=f"{public_url.rstrip('/')}{path}", description=about[:_DESCRIPTION]
        )
        offers[path] = storefront.offer(tag, resource)
        route.app = PaidEndpoint(route.app, storefront.paid_calls, offers[path])
    return offers


def _routes(routes: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield (path, route) of each endpoint, also of mounted apps and included routers."""
    for found in routes:
        # FastAPI keeps a Starlette route that an included router has inside another object.
        route = getattr(found, "starlette_route", None) or found
        path = prefix + (getattr(route, "path", None) or "")
        if getattr(route, "app", None) is not None and hasattr(route, "endpoint"):
            yield path, route
        yield from _routes(_inner_routes(route), path)


def _inner_routes(route: Any) -> list[Any]:
    """The routes of a mounted app, or of a router that FastAPI includes."""
    included = getattr(route, "effective_candidates", None)
    if callable(included):
        return list(included())
    inner = getattr(route, "routes", None)
    return inner if isinstance(inner, list) else []
