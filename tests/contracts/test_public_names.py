"""The names that users import are those in __all__: each is there, and nothing else is public."""

import subprocess
import sys
from types import ModuleType

import mcpsol_py
from mcpsol_py import errors


def test_every_public_name_is_there() -> None:
    assert [name for name in mcpsol_py.__all__ if not hasattr(mcpsol_py, name)] == []


def test_nothing_else_is_public() -> None:
    found = {
        name
        for name, value in vars(mcpsol_py).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }
    # What the module itself imports to load the rest when it is first used.
    assert found - set(mcpsol_py.__all__) == {"annotations", "import_module", "TYPE_CHECKING"}


def test_the_whole_error_tree_is_public() -> None:
    tree = {
        name for name, value in vars(errors).items() if isinstance(value, type) and value.__module__ == errors.__name__
    }
    assert tree <= set(mcpsol_py.__all__) | {"McpsolError"}


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(mcpsol_py, "lod")


def test_importing_the_package_brings_no_heavy_module() -> None:
    code = "import sys, mcpsol_py; print([m for m in ('solders', 'solana', 'mcp', 'x402', 'jinja2', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_loading_an_idl_brings_neither_surface() -> None:
    """What an extra brings is imported by that extra's part alone."""
    code = (
        "import sys; from mcpsol_py import load; "
        "print([m for m in ('mcp', 'x402', 'sqlalchemy', 'jinja2', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
