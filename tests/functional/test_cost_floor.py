"""DESIGN 10's compute units, held for programs of 5, 50 and 250 instructions, page by page and call by call."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from benchmarks import bench_programs, cost_page, floor
from mcpsol_py.build import build_program
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.render import render, render_again
from mcpsol_py.schema.pages import Descriptions
from mcpsol_py.sources.spec import read_spec
from tests.functional.targets import REPO


@pytest.fixture(scope="module")
def sized_of(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> Callable[[int], floor.Sized]:
    """The program of a size, rendered and built with and without list_tools; once."""
    return cache(lambda count: floor.build(count, tmp_path_factory.mktemp("sized")))


@pytest.fixture(params=floor.SIZES, ids=lambda count: f"{count} instructions")
def sized(
    request: pytest.FixtureRequest, sized_of: Callable[[int], floor.Sized]
) -> floor.Sized:
    """The program of one size."""
    return sized_of(request.param)


@pytest.fixture(scope="module")
def plain(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> dict[str, bytes]:
    """counter and vault as written by hand."""
    return bench_programs.build_plain(tmp_path_factory.mktemp("plain"))


@pytest.mark.slow
@pytest.mark.rust
def test_every_page_by_every_cursor_is_within_the_bars(sized: floor.Sized) -> None:
    costs = floor.page_costs(sized)
    assert len(costs) > len(sized.model.instructions) // 3
    over = {
        cursor.hex(): cost
        for cursor, cost in costs.items()
        if cost > (floor.FIRST if floor.is_first(cursor) else floor.OTHERS)
    }
    assert not over


@pytest.mark.slow
@pytest.mark.rust
def test_list_tools_adds_little_to_any_other_instruction(sized: floor.Sized) -> None:
    costs = floor.dispatch_costs(sized)
    with_accounts = [cost for cost in costs if cost.accounts]
    without = [cost.added for cost in costs if not cost.accounts]
    assert not [cost for cost in with_accounts if cost.added > floor.DISPATCH]
    assert max(without) <= floor.DISPATCH_WITHOUT_ACCOUNTS
    assert statistics.mean(cost.added for cost in with_accounts) <= 1, (
        "the look shares what it asks"
    )


@pytest.mark.slow
@pytest.mark.rust
def test_build_tells_what_each_choice_of_descriptions_takes(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    """To 16 bytes: sections of the file are aligned."""
    (tmp_path / "spec.py").write_text(floor.spec_text(5), encoding="utf-8")
    render(read_spec(tmp_path / "spec.py"), out=tmp_path)
    sizes: dict[str, int] = {}
    told: dict[str, dict[str, int]] = {}
    for choice in get_args(Descriptions):
        written = render_again(tmp_path, descriptions=choice)
        assert "src/processor/open_0.rs" in written.kept
        result = build_program(tmp_path)
        assert result.list_tools is not None
        schema = result.list_tools.schema
        assert schema.descriptions == choice
        sizes[choice], told[choice] = (
            result.size,
            {name: size.bytes for name, size in schema.choices},
        )
    for one in sizes:
        for other in sizes:
            assert (
                abs((sizes[other] - sizes[one]) - (told[one][other] - told[one][one]))
                <= 16
            )
    assert sizes["none"] < sizes["short"] <= sizes["full"]


#: What a good call of ours may cost more than the same written by hand: state that a handler looks at again. Of refused
#: ones, which cost little, a few compute units are more.
DEARER, REFUSED_DEARER = 1.03, 1.1


@pytest.mark.slow
@pytest.mark.rust
def test_our_programs_are_as_cheap_as_by_hand(plain: dict[str, bytes]) -> None:
    calls = list(bench_programs.compare(plain))
    assert len([call for call in calls if not call.error]) == 7
    assert not [
        call
        for call in calls
        if call.ours > (REFUSED_DEARER if call.error else DEARER) * call.plain
    ]
    assert sum(call.ours for call in calls) <= sum(call.plain for call in calls)


@pytest.mark.slow
@pytest.mark.rust
def test_the_page_says_what_is_measured(
    sized_of: Callable[[int], floor.Sized],
    plain: dict[str, bytes],
    no_std_toolchain: Toolchain,
) -> None:
    """With the compiler whose files are committed; another one's figures are its own."""
    recorded = json.loads((REPO / "programs/counter/counter.build.json").read_text())
    if {
        key: recorded[key] for key in no_std_toolchain.record()
    } != no_std_toolchain.record():
        return
    page = cost_page.PAGE.read_text(encoding="utf-8")
    tables = {
        "list_tools": lambda: cost_page.list_tools_table(map(sized_of, floor.SIZES)),
        "programs": lambda: cost_page.programs_table(plain),
    }
    assert cost_page.filled(page, tables) == page, (
        "run python -m benchmarks.cost_page --write"
    )
