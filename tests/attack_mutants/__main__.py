"""`python -m tests.attack_mutants [PROGRAM…]`: leave out each generated check of the bundled programs once.

Prints how `attack` reports each, and exits 1 if it reports one neither by itself nor by tests/attack_mutants/
unreachable.toml. What is known is kept in $MCPSOL_CACHE, so that a run goes on where it was stopped.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from mcpsol_py.build.toolchain import Toolchain, find_toolchain
from tests.attack_mutants.crates import build
from tests.attack_mutants.run import Found, digest, run

__all__ = ["BUNDLED", "judged", "main", "unreachable"]

BUNDLED = ("counter", "guard", "vault", "x402")
CACHE = (
    Path(os.environ.get("MCPSOL_CACHE") or Path.home() / ".cache" / "mcpsol")
    / "attack-mutants"
)


def unreachable(program: str) -> Mapping[str, str]:
    """The checks that no attack reaches, each with its reason."""
    listed = tomllib.loads(
        Path(__file__).with_name("unreachable.toml").read_text(encoding="utf-8")
    )
    found: Mapping[str, str] = listed.get(program, {})
    return found


def judged(program: str, toolchain: Toolchain) -> list[Found]:
    """How each check of a bundled program is reported once it is left out."""
    with TemporaryDirectory(prefix="attack-mutants-") as folder:
        built = build(program, Path(folder) / "programs", toolchain)
    memory = CACHE / f"{program}-{digest(program, built)}.json"
    return [_shown(program, found) for found in run(program, built, memory)]


def _shown(program: str, found: Found) -> Found:
    reason = unreachable(program).get(found.mutant.key, "")
    how = found.by or (f"unreachable: {reason}" if reason else "NOT REPORTED")
    print(
        f"{program} {found.mutant.number:3} {found.mutant.key[:110]:110} {how}",
        flush=True,
    )
    return found


@click.command()
@click.argument("programs", nargs=-1, type=click.Choice(BUNDLED))
def main(programs: tuple[str, ...]) -> None:
    """Leave out each generated check of these programs once, or of all bundled ones. A run that was stopped goes on."""
    toolchain, code = find_toolchain("no-std"), 0
    for program in programs or BUNDLED:
        found = judged(program, toolchain)
        listed = unreachable(program)
        missed = [
            f.mutant.key for f in found if not f.by and f.mutant.key not in listed
        ]
        stale = [
            key
            for key in listed
            if key not in {f.mutant.key for f in found if not f.by}
        ]
        reported = sum(bool(f.by) for f in found)
        print(
            f"{program}: {reported} of {len(found)} reported, {len(listed)} listed as unreachable"
        )
        for key in missed:
            print(f"  NOT REPORTED: {key}")
        for key in stale:
            print(f"  listed as unreachable, and reported or gone: {key}")
        code = code or int(bool(missed or stale))
    sys.exit(code)


if __name__ == "__main__":
    main()
