"""Renders counter and vault for the native and the Anchor target, and the modules of programs that exist.

python tests/golden/targets/regen.py [FOLDER]      FOLDER holds native/, anchor/ (tests/targets if not given)
"""

from __future__ import annotations

import sys
from pathlib import Path

from mcpsol_py.render import RenderResult, render
from mcpsol_py.sources.detect import read

REPO = Path(__file__).resolve().parents[3]
TARGETS = REPO / "tests" / "targets"

#: crate, source, target
CRATES = (
    *(
        (f"{target}/{name}", REPO / "programs" / name / "spec.py", target)
        for target in ("native", "anchor")
        for name in ("counter", "vault")
    ),
    ("anchor/notes", TARGETS / "anchor/notes/idl.json", "anchor-module"),
    ("native/tally", TARGETS / "tally.json", "native-module"),
    ("pinocchio/tally", TARGETS / "tally.json", "pinocchio-module"),
)
#: programs that exist: only their module is rendered
EXISTING = ("anchor/notes", "native/tally", "pinocchio/tally")


def regenerate(crate: str, out: Path) -> RenderResult:
    """Renders one of CRATES to *out*."""
    source, target = next((source, target) for name, source, target in CRATES if name == crate)
    return render(read(source), target=target, out=out, source=source.name)


def main() -> None:
    """Renders all of them."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGETS
    for crate, _, _ in CRATES:
        result = regenerate(crate, folder / crate)
        print(f"{crate}: {len(result.written)} files")


if __name__ == "__main__":
    main()
