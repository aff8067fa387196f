"""The pages of list_tools as an Anchor program holds them: one file, JSON pages first, then the stream's."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from mcpsol_py.model.program import ProgramModel
from mcpsol_py.render.rust import Rust, code, number
from mcpsol_py.schema.pages import Descriptions, Form, page_set

__all__ = ["PagesView", "pages_view"]


@dataclass(frozen=True, slots=True)
class PagesView:
    """The file, and the offsets of its pages."""

    count: Rust
    #: the offset behind each JSON page
    ends: tuple[Rust, ...]
    has_stream: bool
    stream_base: Rust
    #: not Rust: the file's bytes
    blob: bytes


def pages_view(
    model: ProgramModel,
    *,
    form: Form = "compact",
    descriptions: Descriptions = "full",
    lossless: bool = True,
) -> PagesView:
    """The pages of *model* as one file. Raises SchemaError."""
    pages = page_set(model, form=form, descriptions=descriptions, lossless=lossless)
    return PagesView(
        count=code(str(len(pages.json_pages))),
        ends=tuple(map(number, accumulate(map(len, pages.json_pages)))),
        has_stream=bool(pages.stream_pages),
        stream_base=number(pages.stream_base),
        blob=b"".join([*pages.json_pages, *pages.stream_pages]),
    )
