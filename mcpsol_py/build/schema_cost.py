"""What a program's schema takes: bytes of its pages, and what they would be with more or fewer descriptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from mcpsol_py.errors import McpsolError
from mcpsol_py.schema.from_pages import lift
from mcpsol_py.schema.pages import Descriptions, Form, page_set
from mcpsol_py.solana.rent import LAMPORTS_PER_BYTE

__all__ = ["SchemaCost", "SchemaSize", "schema_cost"]

#: Bytes in the program beside a page's own: where it is and how long, and the loader's note to move that address.
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
        """What of the program's file is schema: its pages exactly, and `CODE`."""
        return self.json + self.stream + _PLACE * self.pages + CODE

    @property
    def rent_lamports(self) -> int:
        """What deploying these bytes locks."""
        return self.bytes * LAMPORTS_PER_BYTE


@dataclass(frozen=True, slots=True)
class SchemaCost:
    """What the schema takes as built, and by each choice of `render --descriptions`.

    `choices` is empty where the program tells no lossless stream, so that its descriptions are not known whole;
    `descriptions` is the choice that it was rendered with, None if it is none of them.
    """

    built: SchemaSize
    descriptions: Descriptions | None = None
    choices: tuple[tuple[Descriptions, SchemaSize], ...] = ()


def schema_cost(json_pages: Sequence[bytes], stream_pages: Sequence[bytes]) -> SchemaCost:
    """What these pages take, and what their program's other choices would."""
    built = _size(json_pages, stream_pages)
    if not stream_pages:
        return SchemaCost(built)
    try:
        model = lift(list(json_pages), list(stream_pages))
        sets = {
            (form, descriptions): page_set(model, form=form, descriptions=descriptions)
            for form, descriptions in product(_FORMS, _DESCRIPTIONS)
        }
    except (
        McpsolError
    ):  # pages that others wrote, or that this version cannot read: their bytes count all the same
        return SchemaCost(built)
    chosen = next(
        (key for key, pages in sets.items() if pages.json_pages == list(json_pages)), None
    )
    form = chosen[0] if chosen else "compact"
    choices = tuple((d, _size(sets[form, d].json_pages, stream_pages)) for d in _DESCRIPTIONS)
    return SchemaCost(built, chosen[1] if chosen else None, choices)


def _size(json_pages: Sequence[bytes], stream_pages: Sequence[bytes]) -> SchemaSize:
    return SchemaSize(
        sum(map(len, json_pages)), sum(map(len, stream_pages)), len(json_pages) + len(stream_pages)
    )
