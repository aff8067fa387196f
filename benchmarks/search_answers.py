"""What a search finds: the share of the questions in search_questions.tsv that are answered.

The programs are those of the runtime and of SPL, and those in this repository. A question is answered if one of the
first three hits is right; a question about something else must get no hit.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.yardstick import Limit
from mcpsol_py.catalog import Catalog
from mcpsol_py.catalog.seeds import seeds

QUESTIONS = Path(__file__).with_name("search_questions.tsv")
IDLS = Path(__file__).parents[1] / "programs"


def answers() -> Iterator[Limit]:
    """Yield the shares of questions that go wrong."""
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        questions = list(csv.DictReader(file, delimiter="\t"))
    ours = [question for question in questions if question["programs"]]
    others = [question for question in questions if not question["programs"]]
    with Catalog.in_memory(sorted(IDLS.glob("*/idl.json"))) as catalog:
        catalog.record(seeds())
        missed = [not is_answered(catalog, question) for question in ours]
        answered = [bool(catalog.search(question["question"])) for question in others]
    yield Limit("questions not answered within three hits", _percent(missed), 10, "%")
    yield Limit("answered questions about something else", _percent(answered), 20, "%")


def is_answered(catalog: Catalog, question: dict[str, str]) -> bool:
    """Return whether one of the first three hits is an answer."""
    programs = question["programs"].split(",")
    instructions = question["instructions"].split(",")
    return any(
        hit.program in programs and hit.instruction in instructions
        for hit in catalog.search(question["question"], limit=3)
    )


def _percent(counted: Sequence[bool]) -> float:
    return 100 * sum(counted) / len(counted)
