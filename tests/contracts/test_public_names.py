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
    assert found - set(mcpsol_py.__all__) == {
        "annotations",
        "import_module",
        "TYPE_CHECKING",
    }


def test_the_whole_error_tree_is_public() -> None:
    tree = {
        name
        for name, cls in vars(errors).items()
        if isinstance(cls, type) and issubclass(cls, errors.McpsolError)
    }
    assert tree <= set(mcpsol_py.__all__)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(mcpsol_py, "lod")


def imported_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after `statement`."""
    code = f"{statement}\nimport sys\nprint(*sorted(m for m in sys.modules if '.' not in m))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_importing_the_package_brings_no_third_party() -> None:
    third = {
        "solders",
        "solana",
        "orjson",
        "mcp",
        "x402",
        "sqlalchemy",
        "jinja2",
        "click",
    }
    assert imported_by("import mcpsol_py") & third == set()


def test_loading_an_idl_brings_neither_surface() -> None:
    """What an extra brings is imported by that extra's part alone."""
    assert (
        imported_by("from mcpsol_py import load")
        & {"mcp", "x402", "sqlalchemy", "jinja2", "click", "pyarrow", "numpy"}
        == set()
    )
