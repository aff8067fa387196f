"""The ranking of search_tools."""

from hypothesis import given
from hypothesis import strategies as st

from mcpsol_py.bridge.search import IndexedTool, ToolIndex

INDEX = ToolIndex(
    [
        IndexedTool(
            "open_position",
            "whirlpool",
            "Opens a position in a pool",
            ["tick_lower", "tick_upper"],
        ),
        IndexedTool(
            "close_position",
            "whirlpool",
            "Closes a position and burns its token",
            ["receiver"],
        ),
        IndexedTool(
            "swapV2",
            "whirlpool",
            "Exchanges one token for another",
            ["amount", "sqrtPriceLimit"],
        ),
        IndexedTool(
            "collect_fees", "whirlpool", "Collects what a position earned", ["position"]
        ),
        IndexedTool("deposit", "vault", "Moves tokens into the vault", ["amount"]),
    ]
)


def names(query: str, limit: int = 10) -> list[str]:
    return [hit.name for hit in INDEX.search(query, limit)]


def test_the_tool_of_that_name_comes_first() -> None:
    assert names("open position")[0] == "open_position"
    assert names("closePosition")[0] == "close_position"
    assert names("deposit") == ["deposit"]


def test_words_are_found_in_any_form() -> None:
    assert names("exchanging tokens")[0] == "swapV2"
    assert names("collecting fee")[0] == "collect_fees"


def test_a_word_of_a_parameter_or_of_a_camel_case_name_is_found() -> None:
    assert names("sqrt price") == ["swapV2"]
    assert names("swap") == ["swapV2"]


def test_tools_with_all_words_come_before_those_with_some() -> None:
    found = names("vault amount")
    assert found[0] == "deposit"
    assert "swapV2" in found


def test_a_limit_is_kept() -> None:
    assert len(names("position", 2)) == 2


def test_the_ranking_is_the_same_after_a_program_ran_in_the_svm() -> None:
    """LiteSVM's JIT leaves the x87 registers in MMX state: number literals in SQL are then NaN."""
    from idl2mcp.inputs import load_source

    before = INDEX.search("closePosition")
    for _ in range(3):
        load_source("counter")  # runs list_tools of the program
        assert INDEX.search("closePosition") == before
        assert INDEX.search("open position")[0].name == "open_position"


@given(st.text(max_size=40))
def test_no_query_breaks_the_search(query: str) -> None:
    assert all(hit.name for hit in INDEX.search(query))
