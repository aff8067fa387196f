"""What counter, vault and x402 cost while their handlers were Rust: compute units of every call, and the .so's size.

`by_hand.json` keeps these figures, so that handlers compiled from Python can be held against them.
`python -m benchmarks.by_hand --write` measures and writes them: do that only while a program's handlers are by hand.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from benchmarks.yardstick import Limit

REPO = Path(__file__).resolve().parents[1]
FIGURES = Path(__file__).with_suffix(".json")
PROGRAMS = ("counter", "vault", "x402")
#: Lives of x402 that are measured: its wallets are random, and the search for some addresses' bumps is luck.
LIVES = 40
#: What compiled handlers may cost more: of a call of counter and vault, of a call of x402, and of a file's size.
CALL_RATIO, CALL_UNITS = 1.005, 2
X402_RATIO, X402_SUM_RATIO = 1.02, 1.01
SIZE_RATIO = 1.02


class Paired(Protocol):
    """A call of counter or vault: bench_programs.Call."""

    @property
    def program(self) -> str: ...
    @property
    def what(self) -> str: ...
    @property
    def ours(self) -> int: ...


class Called(Protocol):
    """A call of x402: bench_x402_program.Called."""

    @property
    def what(self) -> str: ...
    @property
    def units(self) -> int: ...


def x402_units(life: Callable[[], Iterable[Called]]) -> dict[str, int]:
    """The least compute units of each call of x402 in many lives."""
    least: dict[str, int] = {}
    for _ in range(LIVES):
        for call in life():
            least[call.what] = min(call.units, least.get(call.what, call.units))
    return least


def rows_of_calls(calls: Iterable[Paired]) -> list[Limit]:
    """The calls of counter and vault, held against the record."""
    recorded = _recorded().calls
    rows = []
    for call in calls:
        before = recorded[call.program][call.what]
        limit = max(before + CALL_UNITS, int(before * CALL_RATIO))
        note = f"{before} with handlers by hand"
        rows.append(
            Limit(f"{call.program}: {call.what}", call.ours, limit, "CU", note=note)
        )
    return rows


def rows_of_x402(life: Callable[[], Iterable[Called]]) -> list[Limit]:
    """The calls of x402, held against the record, and their sum."""
    recorded = _recorded().calls["x402"]
    found = x402_units(life)
    rows = [
        Limit(
            f"x402: {what}",
            units,
            max(recorded[what] + CALL_UNITS, int(recorded[what] * X402_RATIO)),
            "CU",
            note=f"{recorded[what]} with handlers by hand",
        )
        for what, units in found.items()
    ]
    total = sum(recorded.values())
    limit = int(total * X402_SUM_RATIO)
    note = f"{total} with handlers by hand"
    rows.append(Limit("x402: all calls", sum(found.values()), limit, "CU", note=note))
    return rows


def rows_of_sizes(programs: Iterable[str]) -> list[Limit]:
    """The files of *programs*, held against the record."""
    recorded = _recorded().sizes
    return [
        Limit(
            f"{name}: program",
            so_of(name).stat().st_size,
            int(recorded[name] * SIZE_RATIO),
            "bytes",
            note=f"{recorded[name]:,} with handlers by hand",
        )
        for name in programs
    ]


def so_of(program: str) -> Path:
    """The program's committed file."""
    return REPO / "programs" / program / f"{program}.so"


@dataclass(frozen=True, slots=True)
class Record:
    """The figures of `by_hand.json`: units of each call by program, and bytes of each program."""

    calls: dict[str, dict[str, int]]
    sizes: dict[str, int]


def _recorded() -> Record:
    return Record(**json.loads(FIGURES.read_text(encoding="utf-8")))


def _measured() -> dict[str, object]:
    from benchmarks import bench_programs, bench_x402_program  # they import this module

    calls: dict[str, dict[str, int]] = {"counter": {}, "vault": {}}
    calls["x402"] = x402_units(bench_x402_program.life)
    with tempfile.TemporaryDirectory() as folder:
        for call in bench_programs.compare(bench_programs.build_plain(Path(folder))):
            calls[call.program][call.what] = call.ours
    sizes = {name: so_of(name).stat().st_size for name in PROGRAMS}
    return {"calls": calls, "sizes": sizes}


def main() -> None:
    """Measure, and print or write the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.by_hand", description=main.__doc__
    )
    parser.add_argument("--write", action="store_true", help=f"write {FIGURES.name}")
    options = parser.parse_args()
    text = json.dumps(_measured(), indent=2) + "\n"
    if options.write:
        FIGURES.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
