"""The routes of an HTTP app that cost money, found however a request spells their path.

A server, a mount or the app itself may decode, join or clean a path in its own way. A sold path is
therefore found by its plain form, and the app then gets the path as the offer names it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from mcpsol_py.x402.protocol.offer import Offer

__all__ = ["SoldRoute", "SoldRoutes"]

#: Nothing decodes a path more often. A limit keeps the cost linear for a path of "%252525…".
_DECODINGS = 8


@dataclass(frozen=True, slots=True)
class SoldRoute:
    """A sold path with its offers by method."""

    path: str
    offers: dict[str, Offer] = field(default_factory=dict)

    def offer(self, method: str) -> Offer | None:
        """Return the offer for a method. HEAD is sold like GET, because it runs the same handler."""
        method = method.upper()
        found = self.offers.get(method)
        return self.offers.get("GET") if found is None and method == "HEAD" else found

    @property
    def allowed(self) -> str:
        """The methods for the header `Allow`."""
        head = ["HEAD"] if "GET" in self.offers else []
        return ", ".join(dict.fromkeys([*self.offers, *head, "OPTIONS"]))


class SoldRoutes:
    """Finds the sold route of an ASGI scope."""

    def __init__(self, offers: Mapping[tuple[str, str], Offer]) -> None:
        self._exact: dict[str, SoldRoute] = {}
        for (method, path), offer in offers.items():
            self._exact.setdefault(path, SoldRoute(path)).offers[method.upper()] = offer
        self._plain: dict[str, SoldRoute] = {}
        for path, route in self._exact.items():
            self._plain.setdefault(plain_path(path), route)

    def find(self, scope: Mapping[str, Any]) -> tuple[SoldRoute, str] | None:
        """Return the sold route of *scope*, and the path to give to the app; None if it is free.

        The app may be mounted: then the sold path follows `root_path`, which ASGI servers put into
        `path` or leave out.
        """
        path, root = scope.get("path", ""), scope.get("root_path", "")
        if (exact := self._exact.get(path)) is not None:
            return exact, path
        for prefix, rest in _spellings(path, root):
            route = self._exact.get(rest) or self._plain.get(plain_path(rest))
            if route is not None:
                return route, prefix + route.path
        return None


def _spellings(path: str, root: str) -> Iterator[tuple[str, str]]:
    """Yield (prefix that stays, path that may be sold) for each way to read `path` and `root_path`."""
    yield "", path
    if not root:
        return
    if path.startswith(root):
        yield root, path[len(root) :]
    plain, plain_root = plain_path(path), plain_path(root)
    if plain.startswith(plain_root):
        yield root, plain[len(plain_root) :]
    yield "", root + path


def plain_path(path: str) -> str:
    """Return a path without percent signs, repeated slashes, dot segments and the last slash."""
    for _ in range(_DECODINGS):
        if "%" not in path:
            break
        path = unquote(path)
    return posixpath.normpath("/" + path.strip("/"))


def at_path(scope: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Return a copy of an ASGI scope with another path."""
    return {**scope, "path": path, "raw_path": quote(path).encode("ascii")}
