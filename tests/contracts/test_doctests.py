"""The examples in docstrings are true."""

import doctest
import gc
import importlib
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
WITH_EXAMPLES = sorted(
    ".".join(path.relative_to(REPO).with_suffix("").parts).removesuffix(".__init__")
    for root in ("mcpsol_py", "idl2mcp")
    for path in (REPO / root).rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_docstring_examples_are_true(name: str) -> None:
    module = importlib.import_module(name)
    gc.disable()  # freed codecs take their source out of linecache, through which doctest walks
    try:
        result = doctest.testmod(module)
    finally:
        gc.enable()
    assert result.attempted > 0
    assert result.failed == 0
