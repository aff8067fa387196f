"""The tables of docs/cost.md, measured: `python -m benchmarks.cost_page [--write]`.

tests/functional/test_cost_floor.py holds the page to them.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from benchmarks import bench_programs, floor
from mcpsol_py.solana.rent import LAMPORTS_PER_BYTE

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cost.md"


def list_tools_table(sized: Iterable[floor.Sized]) -> list[str]:
    """What list_tools costs, by the number of instructions."""
    lines = [
        "| instructions | pages | first page | other pages | stream | other calls | without accounts | bytes | SOL |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for program in sized:
        costs = floor.page_costs(program)
        json_pages, stream_pages = (
            len(program.pages.json_pages),
            len(program.pages.stream_pages),
        )
        high = program.pages.stream_base.to_bytes(2, "little")[1]
        stream = [
            cost
            for cursor, cost in costs.items()
            if len(cursor) == 2 and cursor[1] >= high
        ]
        first = [cost for cursor, cost in costs.items() if floor.is_first(cursor)]
        others = [
            cost
            for cursor, cost in costs.items()
            if not floor.is_first(cursor)
            and not (len(cursor) == 2 and cursor[1] >= high)
        ]
        dispatch = floor.dispatch_costs(program)
        added = len(program.so) - len(program.bare)
        cells = [
            str(len(program.model.instructions)),
            f"{json_pages} + {stream_pages}",
            _range(first),
            _range(others),
            _range(stream),
            _spread([cost.added for cost in dispatch if cost.accounts]),
            _spread([cost.added for cost in dispatch if not cost.accounts]),
            f"{added:,}",
            f"{added * LAMPORTS_PER_BYTE / 1e9:.4f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def programs_table(plain: dict[str, bytes]) -> list[str]:
    """counter and vault, ours and by hand."""
    lines = ["| | ours | by hand | ours / by hand |", "|---|---|---|---|"]
    calls = list(bench_programs.compare(plain))
    for program in bench_programs.PROGRAMS:
        good = [call for call in calls if call.program == program and not call.error]
        lines += [
            _line(f"{program}: {call.what}", call.ours, call.plain, "CU")
            for call in good
        ]
        refused = [call for call in calls if call.program == program and call.error]
        ours, theirs = (
            statistics.mean(side)
            for side in zip(*((c.ours, c.plain) for c in refused), strict=True)
        )
        lines.append(
            _line(
                f"{program}: {len(refused)} refused calls, mean",
                round(ours),
                round(theirs),
                "CU",
            )
        )
    for size in bench_programs.sizes(plain):
        lines.append(
            _line(
                f"{size.program}: program without its pages",
                size.ours - size.pages,
                size.plain,
                "bytes",
            )
        )
        lines.append(f"| {size.program}: its pages | {size.pages:,} bytes | | |")
    return lines


def _line(what: str, ours: int, plain: int, unit: str) -> str:
    return f"| {what} | {ours:,} {unit} | {plain:,} {unit} | {ours / plain:.2f} |"


def _range(costs: list[int]) -> str:
    least, most = min(costs), max(costs)
    return str(least) if least == most else f"{least} to {most}"


def _spread(added: list[int]) -> str:
    return f"{statistics.mean(added):+.1f} ({min(added):+d} to {max(added):+d})"


def filled(page: str, tables: dict[str, Callable[[], list[str]]]) -> str:
    """*page* with each table between its marks as measured now."""
    for name, table in tables.items():
        mark = re.compile(rf"(<!-- measured: {name} -->\n)(?:\|.*\n)*")
        if not mark.search(page):
            raise ValueError(f"docs/cost.md has no mark of the table {name}")
        body = "\n".join(table()) + "\n"
        page = mark.sub(lambda found, body=body: found[1] + body, page)  # type: ignore[misc]
    return page


def main() -> int:
    """Compares, or with --write mends."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        tables: dict[str, Callable[[], list[str]]] = {
            "list_tools": lambda: list_tools_table(
                floor.build(n, root / str(n)) for n in floor.SIZES
            ),
            "programs": lambda: programs_table(
                bench_programs.build_plain(root / "plain")
            ),
        }
        now = PAGE.read_text(encoding="utf-8")
        wanted = filled(now, tables)
    if "--write" in sys.argv[1:]:
        PAGE.write_text(wanted, encoding="utf-8")
    elif wanted != now:
        print(
            "docs/cost.md is not what is measured; run python -m benchmarks.cost_page --write"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
