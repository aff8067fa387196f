"""list_tools of rendered programs with 5, 50 and 250 instructions: every page by every cursor, and what it adds to
other instructions, in an SVM; the same program without list_tools is measured in the same run.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from benchmarks import floor
from benchmarks.yardstick import Limit, NotMeasured, Row
from mcpsol_py.errors import BuildError, ToolchainMissing
from mcpsol_py.solana.rent import deploy_rent


def measure() -> list[Row]:
    """Raises NotMeasured where the programs cannot be built."""
    rows: list[Row] = []
    for count in floor.SIZES:
        with tempfile.TemporaryDirectory() as folder:
            try:
                sized = floor.build(count, Path(folder))
            except (BuildError, ToolchainMissing) as error:
                raise NotMeasured(str(error)) from error
        rows += rows_of(count, sized)
    return rows


def rows_of(count: int, sized: floor.Sized) -> list[Row]:
    """The rows of one program."""
    json, stream = len(sized.pages.json_pages), len(sized.pages.stream_pages)
    costs = floor.page_costs(sized)
    first = {cursor: cost for cursor, cost in costs.items() if floor.is_first(cursor)}
    others = [cost for cursor, cost in costs.items() if not floor.is_first(cursor)]
    dispatch = floor.dispatch_costs(sized)
    with_accounts = [d.added for d in dispatch if d.accounts]
    without = [d.added for d in dispatch if not d.accounts]
    what = f"{count} instructions"
    by = ", ".join(
        f"{len(cursor)} bytes of cursor {cost}" for cursor, cost in first.items()
    )
    spread = "mean {:.1f}, least {}"
    added = len(sized.so) - len(sized.bare)
    return [
        Limit(
            f"{what}: first page",
            max(first.values()),
            floor.FIRST,
            "CU",
            f"above the syscall; {by}",
        ),
        Limit(
            f"{what}: other pages",
            max(others),
            floor.OTHERS,
            "CU",
            f"{json - 1} of JSON, {stream} of the stream",
        ),
        Limit(
            f"{what}: added to other calls with accounts",
            max(with_accounts),
            floor.DISPATCH,
            "CU",
            spread.format(statistics.mean(with_accounts), min(with_accounts)),
        ),
        Limit(
            f"{what}: added to other calls without accounts",
            max(without),
            floor.DISPATCH_WITHOUT_ACCOUNTS,
            "CU",
            spread.format(statistics.mean(without), min(without)),
        ),
        Limit(
            f"{what}: added to the program",
            added,
            len(sized.so),
            "bytes",
            f"{deploy_rent(added) - deploy_rent(0):,} lamports of rent",
        ),
    ]
