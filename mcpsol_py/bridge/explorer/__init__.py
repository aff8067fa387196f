"""The explorer: HTML pages for people, served beside the MCP endpoint."""

from importlib import import_module
from typing import TYPE_CHECKING

from mcpsol_py._moved import renamed

if TYPE_CHECKING:
    from mcpsol_py.bridge.explorer.app import Explorer
    from mcpsol_py.bridge.explorer.content import (
        Block,
        Cell,
        FactsBlock,
        PageContent,
        Section,
        TableBlock,
        TextBlock,
    )
    from mcpsol_py.bridge.explorer.payments_page import PaymentsPage

__all__ = [
    "Block",
    "Cell",
    "Explorer",
    "FactsBlock",
    "PageContent",
    "PaymentsPage",
    "Section",
    "TableBlock",
    "TextBlock",
]

#: Imported on first use: app.py needs Jinja, payments_page.py the payment packages.
_MODULES = {
    "Explorer": "app",
    "PaymentsPage": "payments_page",
    **dict.fromkeys(
        (
            "Block",
            "Cell",
            "FactsBlock",
            "PageContent",
            "Section",
            "TableBlock",
            "TextBlock",
        ),
        "content",
    ),
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        return renamed(__name__, name)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
