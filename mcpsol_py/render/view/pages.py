"""The pages of list_tools as schema.rs holds them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from mcpsol_py.errors import RenderError
from mcpsol_py.render.rust import Rust, byte_string, code
from mcpsol_py.schema.pages import PageSet

__all__ = ["PagesView", "pages_view"]


@dataclass(frozen=True, slots=True)
class PagesView:
    """The JSON pages as literals, and the stream's pages as parts of one file."""

    json: tuple[Rust, ...]
    json_count: Rust
    has_stream: bool
    stream_base: Rust
    stream_count: Rust
    #: calls of the template's `part`, one for each stream page
    stream_parts: tuple[Rust, ...]
    #: not Rust: the stream's bytes, a file of their own
    stream: bytes


def pages_view(pages: PageSet) -> PagesView:
    """The view of *pages*. Raises RenderError if the stream cannot be cut into pages again."""
    return PagesView(
        json=tuple(map(byte_string, pages.json_pages)),
        json_count=code(str(len(pages.json_pages))),
        has_stream=bool(pages.stream_pages),
        stream_base=code(str(pages.stream_base)),
        stream_count=code(str(len(pages.stream_pages))),
        stream_parts=_parts(pages.stream_pages),
        stream=_joined(pages.stream_pages),
    )


def _parts(pages: list[bytes]) -> tuple[Rust, ...]:
    ends = accumulate(map(len, pages))
    return tuple(
        code(f"part({end - len(page)}, {end})")
        for page, end in zip(pages, ends, strict=True)
    )


def _joined(pages: list[bytes]) -> bytes:
    """All stream pages end to end. The native target needs all but the last to be full."""
    if len(set(map(len, pages[:-1]))) > 1:
        raise RenderError("the stream's pages differ in length.")
    return b"".join(pages)
