"""Renders the committed programs anew from their specs, and their IDLs beside them. Handlers stay as they are.

python tests/golden/programs/regen.py [FOLDER]      FOLDER holds counter/, vault/, … (programs/ if not given)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mcpsol_py.render import RenderResult, render
from mcpsol_py.schema.anchor_idl import to_anchor
from mcpsol_py.sources.spec import read_spec

REPO = Path(__file__).resolve().parents[3]


def specs(programs: Path = REPO / "programs") -> list[Path]:
    """The spec of each committed program."""
    return sorted(programs.glob("*/spec.py"))


def regenerate(spec: Path, out: Path) -> RenderResult:
    """Renders the crate of *spec* and writes its IDL to *out*."""
    model = read_spec(spec)
    result = render(model, out=out, source="spec.py")
    document, _ = to_anchor(model)
    (out / "idl.json").write_text(
        json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    return result


def main() -> None:
    """Regenerates every program."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REPO / "programs"
    for spec in specs():
        result = regenerate(spec, folder / spec.parent.name)
        print(f"{spec.parent.name}: {len(result.written)} files")


if __name__ == "__main__":
    main()
