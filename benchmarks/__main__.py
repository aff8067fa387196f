"""`python -m benchmarks [NAME...] [--json FILE]`: runs benchmarks/bench_<name>.py and prints both sides and the ratio.

Exits 1 when a yardstick does not hold, so that a run can be relied on.
"""

import argparse
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.yardstick import Limit, NotMeasured, Row, Yardstick


def available() -> list[str]:
    """The names that can be given: every bench_<name>.py beside this file."""
    return sorted(
        path.stem.removeprefix("bench_")
        for path in Path(__file__).parent.glob("bench_*.py")
    )


def shown(number: float) -> str:
    """A number in at most seven characters or so: 529,000 or 0.0243."""
    return (
        f"{number:,.0f}"
        if abs(number) >= 100 or number == int(number)
        else f"{number:.3g}"
    )


def line(row: Row) -> str:
    """One row of the table."""
    verdict = "ok  " if row.holds else "MISS"
    match row:
        case Yardstick():
            wanted = "" if row.needed is None else f" (needs {row.needed:g})"
            numbers = f"ours {shown(row.ours)} {row.unit}, peer {shown(row.peer)} {row.unit}, {row.ratio:.2f} x{wanted}"
        case Limit():
            numbers = f"{shown(row.ours)} {row.unit} (at most {shown(row.limit)})"
    return f"{verdict} {row.what}: {numbers}" + (f"  [{row.note}]" if row.note else "")


def main() -> int:
    """Runs what is asked for; 0 when all yardsticks hold."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Yardsticks, both sides in one run."
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"of {', '.join(available()) or 'none yet'}; all if none",
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write the rows there"
    )
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(available())):
        parser.error(
            f"no benchmark {', '.join(unknown)}; there are {', '.join(available())}"
        )
    rows: list[Row] = []
    for name in options.names or available():
        print(f"-- {name}", flush=True)
        try:
            measured: list[Row] = importlib.import_module(
                f"benchmarks.bench_{name}"
            ).measure()
        except NotMeasured as missing:
            print(f"not measured: {missing}")
            continue
        for row in measured:
            print(line(row), flush=True)
        rows += measured
    if options.json:
        table = [{**asdict(row), "holds": row.holds} for row in rows]
        options.json.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
