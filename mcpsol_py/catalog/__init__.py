"""A catalogue of programs: their versions by slot, search across all of them, and a crawl that fills it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcpsol_py.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from mcpsol_py.catalog.catalog import Catalog, Hit

__all__ = ["Catalog", "Hit"]

__getattr__ = lazy_exports(
    __name__,
    {"Catalog": "mcpsol_py.catalog.catalog", "Hit": "mcpsol_py.catalog.catalog"},
)
