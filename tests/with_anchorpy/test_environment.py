"""The environment that anchorpy's pins give is the one that these tests think they run in."""

from importlib.metadata import version

import anchorpy
import solders


def test_anchorpy_and_the_solders_it_pins_are_what_runs_here() -> None:
    assert version("anchorpy").startswith("0.21.")
    assert solders.__version__.startswith("0.26.")
    assert anchorpy.Program.__module__.startswith("anchorpy")
