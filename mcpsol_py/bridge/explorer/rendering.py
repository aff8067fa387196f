"""Renders explorer pages from their templates and cleans the text that they show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mcpsol_py.bridge.explorer.content import (
    Block,
    Cell,
    FactsBlock,
    PageContent,
    TableBlock,
    TextBlock,
)
from mcpsol_py.names import clean_text, one_line
from mcpsol_py.render.environment import templates_folder

__all__ = ["HtmlPage", "Renderer", "cleaned", "field_lines", "json_text"]

_FILES = {"explorer.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"}
_MAX_FIELDS = 30


@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A response of the explorer. `kind` is its content type; `refresh`: seconds after which it is loaded again."""

    body: str
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    refresh: int = 0


class Renderer:
    """Fills the templates in templates/explorer.

    *navigation* is a list of (path, title). *mode* is shown at the foot of each page, and with
    *plays* that the pages send play money.
    """

    def __init__(
        self, navigation: Sequence[tuple[str, str]], mode: str, *, plays: bool = False
    ) -> None:
        folder = templates_folder() / "explorer"
        self.files = {
            name: HtmlPage((folder / name).read_text(encoding="utf-8"), kind=kind)
            for name, kind in _FILES.items()
        }
        self._frame = {
            "nav": navigation,
            "mode": mode,
            "plays": plays,
            "query": "",
            "state": "",
        }
        self._templates = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )

    def template(
        self, name: str, *, status: int = 200, here: str = "/", **values: Any
    ) -> HtmlPage:
        """Render a template. *here* is the path that the navigation marks as current."""
        template = self._templates.get_template(f"{name}.html.jinja")
        return HtmlPage(
            template.render(**{**self._frame, "here": here, **values}), status
        )

    def content(
        self,
        page: PageContent,
        *,
        status: int = 200,
        here: str = "",
        back: Sequence[tuple[str, str]] = (),
        query: str = "",
    ) -> HtmlPage:
        """Render a page of blocks. *back* is its breadcrumb as (path, title)."""
        return self.template(
            "content",
            status=status,
            here=here,
            back=[*back, *((href, one_line(title)) for href, title in page.back)],
            filter=page.filter,
            query=query,
            heading=clean_text(page.heading, 200),
            about=clean_text(page.about, 2000),
            state=page.state,
            blocks=list(map(cleaned, page.blocks)),
        )

    def not_found(self, why: str) -> HtmlPage:
        """Render the page for a path that does not exist."""
        return self.content(PageContent("Not found", why, state="bad"), status=404)


def cleaned(block: Block) -> Block:
    """Return *block* without invisible and direction-changing characters.

    The templates escape the rest.
    """
    match block:
        case TableBlock():
            rows = [list(map(_cleaned_cell, row)) for row in block.rows]
            return TableBlock(one_line(block.heading), block.columns, rows, block.empty)
        case FactsBlock():
            facts = [(one_line(name), _cleaned_cell(cell)) for name, cell in block.rows]
            return FactsBlock(one_line(block.heading), facts)
        case TextBlock():
            return TextBlock(
                one_line(block.heading), clean_text(block.text, 20_000), block.folded
            )


def _cleaned_cell(cell: Cell) -> Cell:
    return Cell(
        clean_text(cell.text, 1000), cell.kind, cell.href, clean_text(cell.note, 100)
    )


def json_text(value: Any) -> str:
    """Return a JSON value as text; a string as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def field_lines(fields: Any) -> str:
    """Return the fields of an account or event, one a line."""
    if not isinstance(fields, dict):
        return json_text(fields)
    shown = list(fields.items())[:_MAX_FIELDS]
    return "\n".join(
        f"{one_line(str(name))}: {one_line(json_text(value))}" for name, value in shown
    )
