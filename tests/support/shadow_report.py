"""A pytest plugin that writes what a run's calls of x402 reached to the file SHADOW_REPORT."""

from __future__ import annotations

import json
import os
from pathlib import Path

__all__ = ["pytest_sessionfinish"]


def pytest_sessionfinish() -> None:
    # Imported here, because a plugin is imported before pytest rewrites the assertions of tests.
    from mcpsol_py.testing.reached import missed
    from tests.functional.x402_chain import shadow

    found = shadow()
    lines, _ = missed(found.spec, found.recording.reached)
    names = {error.name for error in found.program.model.errors}
    report = {
        "calls": found.calls,
        "lines": [[line.function, line.text] for line in lines],
        "errors": sorted(names - set(found.errors)),
    }
    Path(os.environ["SHADOW_REPORT"]).write_text(json.dumps(report), encoding="utf-8")
