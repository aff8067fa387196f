"""Measures a program's schema: bytes of its pages, as built and with more or fewer descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from mcpsol_py.errors import McpsolError
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.solana.rent import LAMPORTS_PER_BYTE

__all__ = ["SchemaCost", "SchemaSize", "schema_cost"]

#: Bytes in the program for each page beside its own: its address, its length and its relocation.
_PLACE = 32
#: Bytes of code that find a page and hand it over, roughly: programs of ours with and without list_tools differ by
#: 700 to 900 (benchmarks/bench_list_tools.py).
CODE = 850

_DESCRIPTIONS: tuple[Descriptions, ...] = ("full", "short", "none")
_FORMS: tuple[Form, ...] = ("compact", "verbose")


@dataclass(frozen=True, slots=True)
class SchemaSize:
    """Bytes of JSON pages and of the stream, and how many pages they are."""

    json: int
    stream: int
    pages: int

    @property
    def bytes(self) -> int:
        """Bytes of schema in the program's file: its pages exactly, and `CODE`."""
        return self.json + self.stream + _PLACE * self.pages + CODE

    @property
    def rent_lamports(self) -> int:
        """The rent of these bytes."""
        return self.bytes * LAMPORTS_PER_BYTE


@dataclass(frozen=True, slots=True)
class SchemaCost:
    """The size of a schema as built, and with each choice of `render --descriptions`.

    `choices` is empty for a program without a lossless stream, because its full descriptions are not known.
    `descriptions` is the choice that it was rendered with, None if it is another.
    """

    built: SchemaSize
    descriptions: Descriptions | None = None
    choices: tuple[tuple[Descriptions, SchemaSize], ...] = ()


def schema_cost(
    json_pages: Sequence[bytes], stream_pages: Sequence[bytes]
) -> SchemaCost:
    """Measure these pages, and the pages of the program's other choices."""
    built = _size(json_pages, stream_pages)
    if not stream_pages:
        return SchemaCost(built)
    try:
        model = lift(list(json_pages), list(stream_pages))
        sets = {
            (form, descriptions): page_set(model, form=form, descriptions=descriptions)
            for form, descriptions in product(_FORMS, _DESCRIPTIONS)
        }
    except McpsolError:  # pages that others wrote, or that this version cannot read
        return SchemaCost(built)
    chosen = next(
        (key for key, pages in sets.items() if pages.json_pages == list(json_pages)),
        None,
    )
    form = chosen[0] if chosen else "compact"
    choices = tuple(
        (d, _size(sets[form, d].json_pages, stream_pages)) for d in _DESCRIPTIONS
    )
    return SchemaCost(built, chosen[1] if chosen else None, choices)


def _size(json_pages: Sequence[bytes], stream_pages: Sequence[bytes]) -> SchemaSize:
    return SchemaSize(
        sum(map(len, json_pages)),
        sum(map(len, stream_pages)),
        len(json_pages) + len(stream_pages),
    )
