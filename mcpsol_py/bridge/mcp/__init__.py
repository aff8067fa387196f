"""The bridge as an MCP server: tools, prompts, resources, completion, sessions and stdio."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcpsol_py.bridge.mcp.server import make_server
    from mcpsol_py.bridge.mcp.stdio import run_stdio

__all__ = ["make_server", "run_stdio"]

#: Imported on first use, because both import the whole MCP SDK.
_MODULES = {"make_server": "server", "run_stdio": "stdio"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
