"""Search: what people type finds what they mean, and what nobody offers is not found."""

from __future__ import annotations

import csv
import fnmatch
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcpsol_py.catalog import Catalog, Hit
from mcpsol_py.catalog.records import NewVersion
from mcpsol_py.names import letters
from mcpsol_py.sources.detect import read
from tests.unit.catalog.shops import ADDRESS, OTHER, idl

QUESTIONS = Path(__file__).with_name("questions.tsv")
#: Further questions. Each answer is PROGRAMS:INSTRUCTIONS, by the names in the table programs.tsv.
MORE = Path(__file__).with_name("more_questions.tsv")
OFF_TOPIC = Path(__file__).with_name("off_topic.tsv")
#: The share of our own questions whose answer is among the first three.
LEAST = {"named": 0.95, "job": 0.8, "rare": 0.8, "hard": 0.6}
LEAST_OF_MORE = {"named": 0.95, "none": 0.78, "hard": 0.65}
#: The share of questions about something else that get no answer.
LEAST_REFUSED = 0.82


@pytest.fixture(scope="module")
def everything(shared_idls: Path) -> Iterator[Catalog]:
    folders = (shared_idls.parent / "catalog", shared_idls)
    files = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    if len(files) < 200:
        pytest.skip("the shared catalogue of IDLs is absent")
    with Catalog.in_memory(files) as catalog:
        yield catalog


def _rank(hits: list[Hit], files: str, instructions: str) -> int:
    wanted = set(instructions.split(","))
    patterns = files.split("|")
    for place, hit in enumerate(hits, 1):
        name = Path(hit.file or "").name
        fits = any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
        if fits and letters(hit.instruction) in wanted:
            return place
    return 99


def test_our_questions_are_answered(everything: Catalog) -> None:
    ranks: dict[str, list[int]] = {}
    times = []
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            started = time.perf_counter()
            hits = everything.search(row["question"])
            times.append(time.perf_counter() - started)
            rank = _rank(hits, row["files"], row["instructions"])
            ranks.setdefault(row["kind"], []).append(rank)
    shares = {
        kind: sum(rank <= 3 for rank in all_) / len(all_)
        for kind, all_ in ranks.items()
    }
    assert {kind: share for kind, share in shares.items() if share < LEAST[kind]} == {}
    assert statistics.median(times) < 0.25  # seconds, on a loaded machine


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)


def _is_one_of(name: str, patterns: str) -> bool:
    return any(fnmatch.fnmatch(name, pattern) for pattern in patterns.split("|"))


def _answers(hit: Hit, answers: str, program: str) -> bool:
    both = (one.partition(":") for one in answers.split(";"))
    return any(
        _is_one_of(program, programs)
        and _is_one_of(letters(hit.instruction), instructions)
        for programs, _, instructions in both
    )


def test_more_questions_are_answered(everything: Catalog, shared_idls: Path) -> None:
    known = _rows(shared_idls.parent / "questions" / "programs.tsv")
    programs = {row["file"]: row["program"] for row in known}
    found: dict[str, list[bool]] = {}
    for row in _rows(MORE):
        hits = everything.search(row["question"], limit=3)
        is_found = any(
            _answers(hit, row["answers"], programs[Path(hit.file or "").name])
            for hit in hits
        )
        found.setdefault(row["kind"], []).append(is_found)
    shares = {kind: statistics.mean(some) for kind, some in found.items()}
    assert {
        kind: share for kind, share in shares.items() if share < LEAST_OF_MORE[kind]
    } == {}


def test_questions_about_something_else_are_refused(everything: Catalog) -> None:
    refused = [everything.search(row["question"]) == [] for row in _rows(OFF_TOPIC)]
    assert statistics.mean(refused) >= LEAST_REFUSED


@pytest.mark.parametrize(
    "question",
    ["bake a chocolate cake", "weather in Paris tomorrow", "", "???", "\x00\x1b"],
)
def test_what_nobody_offers_is_not_found(everything: Catalog, question: str) -> None:
    assert everything.search(question) == []


@pytest.mark.parametrize(
    "question",
    [
        '" OR 1 --',
        "NEAR(",
        "stems : swap",
        "swap*",
        "-swap",
        "(((",
        "swap AND",
        "^",
        "'",
        "{a} : b",
    ],
)
def test_no_question_is_syntax(everything: Catalog, question: str) -> None:
    everything.search(question)


def test_a_long_question_is_bounded(everything: Catalog) -> None:
    started = time.perf_counter()
    everything.search("swap tokens for my friend " * 50_000)
    assert time.perf_counter() - started < 3


def test_an_address_finds_its_program(everything: Catalog) -> None:
    stake = "Stake11111111111111111111111111111111111111"
    hits = everything.search(f"split at {stake}")
    assert (hits[0].address, hits[0].instruction) == (stake, "split")


def test_versions_of_one_program_count_once(everything: Catalog) -> None:
    hits = everything.search("orca whirlpool collect fees", limit=20)
    assert len([hit for hit in hits if hit.instruction == "collect_fees"]) == 1


@pytest.mark.parametrize("typed", ["marinde deposit", "marinade depoist"])
def test_a_wrong_letter_is_mended(everything: Catalog, typed: str) -> None:
    assert everything.search(typed)[0].program == "marinade_finance"


def test_a_long_name_is_found_by_its_words(everything: Catalog) -> None:
    """Longer than any word: the identifier is split first."""
    question = "klend liquidate an obligation and redeem the collateral"
    assert everything.search(question)[0].instruction.startswith(
        "liquidate_obligation_and_redeem"
    )


@pytest.mark.parametrize("typed", ["LaunchLab", "launch lab", "launchlab"])
def test_a_brand_is_written_as_one_word_or_two(everything: Catalog, typed: str) -> None:
    assert everything.search(f"{typed}: sell tokens")[0].program == "raydium_launchpad"


@pytest.mark.parametrize(
    ("question", "program"),
    [
        ("Raydium CPMM: make a pool for two mints", "raydium_cp_swap"),
        ("swap on PumpSwap amm", "pump_amm"),
        ("Radyium CPMM create pool", "raydium_cp_swap"),
    ],
)
def test_a_program_named_wholly_is_before_others_of_its_brand(
    everything: Catalog, question: str, program: str
) -> None:
    """Red while a part of a name counted half as much as the whole."""
    assert {hit.program for hit in everything.search(question, limit=3)} == {program}


def test_a_named_program_is_found_without_its_words(everything: Catalog) -> None:
    """Red while only instructions with a word of the question were candidates."""
    hits = everything.search("tic tac toe: place my X in the center")
    assert "play" in [hit.instruction for hit in hits[:3]]


def test_versions_of_an_instruction_are_moved_back(everything: Catalog) -> None:
    """Red while "borrowV2" stood right after "borrow"."""
    hits = everything.search("kamino lend: borrow usdc from a reserve", limit=3)
    names = [letters(hit.instruction).removesuffix("v2") for hit in hits]
    assert len(set(names)) == 3


def test_two_tokens_alone_are_a_swap(everything: Catalog) -> None:
    names = [
        hit.instruction.lower() for hit in everything.search("sol -> usdc", limit=3)
    ]
    assert all("swap" in name or "route" in name for name in names)


def test_a_memo_is_written_by_the_memo_program(everything: Catalog) -> None:
    """Red while the word of a program's name said nothing of the instruction."""
    assert "addMemo" in [
        hit.instruction for hit in everything.search("write a memo on chain")[:3]
    ]


def test_every_hit_says_why(everything: Catalog) -> None:
    for hit in everything.search("stake my SOL with a validator"):
        assert hit.why


def test_a_name_gives_no_stranger_a_brand() -> None:
    """A program that calls itself "whirlpool" is not found as Orca's."""
    with Catalog.in_memory([]) as catalog:
        catalog.record(
            [NewVersion(read(idl("whirlpool", address=OTHER)), origin="stranger")]
        )
        assert not any(
            "names the program" in why
            for hit in catalog.search("orca buy product")
            for why in hit.why
        )
        catalog.record([NewVersion(read(idl("shop", address=ADDRESS)), origin="shop")])
        hits = catalog.search("shop buy product")
        assert hits[0].address == ADDRESS
