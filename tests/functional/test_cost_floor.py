"""DESIGN 10's compute units, held for programs of 5, 50 and 250 instructions, page by page and call by call."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import get_args

import pytest

from benchmarks import floor
from mcpsol_py.build import build_program
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.render import render, render_again
from mcpsol_py.schema.pages import Descriptions
from mcpsol_py.sources.spec import read_spec


@pytest.fixture(scope="module", params=floor.SIZES, ids=lambda count: f"{count} instructions")
def sized(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> floor.Sized:
    """The program of one size, rendered and built with and without list_tools."""
    return floor.build(request.param, tmp_path_factory.mktemp("sized"))


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
    assert statistics.mean(cost.added for cost in with_accounts) <= 0, (
        "the number of accounts, asked first, is asked once less behind"
    )


@pytest.mark.slow
@pytest.mark.rust
def test_build_tells_what_each_choice_of_descriptions_takes(tmp_path: Path, no_std_toolchain: Toolchain) -> None:
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
        sizes[choice], told[choice] = result.size, {name: size.bytes for name, size in schema.choices}
    for one in sizes:
        for other in sizes:
            assert abs((sizes[other] - sizes[one]) - (told[one][other] - told[one][one])) <= 16
    assert sizes["none"] < sizes["short"] < sizes["full"]
