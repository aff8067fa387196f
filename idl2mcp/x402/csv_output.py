"""CSV of payments and sales, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["csv_text"]

#: A spreadsheet runs a cell that begins with one of these as a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_text(rows: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> str:
    """Return the rows as CSV with a header. Text of other parties never becomes a formula."""
    out = io.StringIO()
    writer = csv.DictWriter(out, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(row[name]) for name in fields} for row in rows)
    return out.getvalue()


def _cell(value: Any) -> Any:
    return (
        f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
    )
