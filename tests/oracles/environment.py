"""Where the oracles are: Node with its modules, and the Python that has anchorpy. Both come from `make oracles`."""

import os
import shutil
from pathlib import Path

import pytest

ORACLES = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache" / "mcpsol"))


def node(folder: Path = ORACLES) -> str:
    """The Node binary to run scripts of *folder* with: the one locked here, else one from 22 on that is on PATH.

    The test is skipped where the node modules are missing.
    """
    if not (folder / "node_modules").is_dir():
        pytest.skip(
            f"the node modules of {folder.name} are not installed: run `make oracles`"
        )
    locked = ORACLES / "node_modules" / ".bin" / "node"
    found = str(locked) if locked.exists() else shutil.which("node")
    if found is None:
        pytest.skip(
            "no Node on PATH, and none is locked for this platform: install Node 22"
        )
    return found


def anchorpy_python() -> str:
    """The Python of the environment that has anchorpy; the test is skipped where it is missing."""
    return _python_of("anchorpy")


def x402_python() -> str:
    """The Python of the environment that has x402's own mechanisms and MCP layer; skipped where it is missing."""
    return _python_of("x402peer")


def framework_python(name: str) -> str:
    """The Python of the environment *name* of agent frameworks; skipped where it is missing (`make peers`)."""
    return _python_of(name)


def _python_of(name: str) -> str:
    python = CACHE / f"{name}-venv" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"the environment of {name} is not installed: run `make oracles`")
    return str(python)
