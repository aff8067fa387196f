"""The Anchor target: a whole program from a source, or the module that adds list_tools to an existing program.

Everything is generated except the handlers in src/processor and Cargo.toml, which belong to the author.
"""

from mcpsol_py.render.anchor.files import anchor_plan, module_plan
from mcpsol_py.render.anchor.pages import PagesView, pages_view
from mcpsol_py.render.anchor.view import AnchorView, anchor_view

__all__ = [
    "AnchorView",
    "PagesView",
    "anchor_plan",
    "anchor_view",
    "module_plan",
    "pages_view",
]
