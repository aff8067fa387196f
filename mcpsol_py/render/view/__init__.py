"""Views: everything that the templates of the pinocchio and native targets place, already in Rust.

The logic is here; how the files look is in templates/.
"""

from mcpsol_py.render.view.constants import ConstantView, constants_view
from mcpsol_py.render.view.crate import CrateView, crate_view
from mcpsol_py.render.view.errors import ErrorView, check_views
from mcpsol_py.render.view.events import EventView
from mcpsol_py.render.view.instruction import InstructionView
from mcpsol_py.render.view.pages import PagesView, pages_view

__all__ = [
    "ConstantView",
    "CrateView",
    "ErrorView",
    "EventView",
    "InstructionView",
    "PagesView",
    "check_views",
    "constants_view",
    "crate_view",
    "pages_view",
]
