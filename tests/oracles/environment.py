"""Where the oracles are: Node with its modules, and the Python that has anchorpy. Both come from `make oracles`."""

import os
import shutil
from pathlib import Path

import pytest

ORACLES = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache" / "mcpsol"))


def node() -> str:
    """The Node binary to run scripts of this folder with: the one locked here, else one from 22 on that is on PATH.

    The test is skipped where the node modules are missing.
    """
    modules = ORACLES / "node_modules"
    if not modules.is_dir():
        pytest.skip("the Node oracles are not installed: run `make oracles`")
    locked = modules / ".bin" / "node"
    found = str(locked) if locked.exists() else shutil.which("node")
    if found is None:
        pytest.skip("no Node on PATH, and none is locked for this platform: install Node 22")
    return found


def anchorpy_python() -> str:
    """The Python of the environment that has anchorpy; the test is skipped where it is missing."""
    python = CACHE / "anchorpy-venv" / "bin" / "python"
    if not python.exists():
        pytest.skip("anchorpy's environment is not installed: run `make oracles`")
    return str(python)
