"""The catalogue: what a search finds, its time over many programs, and a crawl by one worker and by two.

The programs are the IDLs of the repository, and the shared ones if they are beside the checkout. Each
copy has a name and an address of its own, and in each of its instructions one word of another program. A search is
measured in CPU time, so that other processes do not count. The crawl reads a simulated node that answers after 50 ms,
with PostgreSQL as the catalogue. MCPSOL_BENCH_PROGRAMS and MCPSOL_BENCH_CRAWL set the numbers of programs.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from solders.pubkey import Pubkey

from benchmarks.crawls import crawls
from benchmarks.search_answers import answers
from benchmarks.yardstick import Limit, Row
from mcpsol_py import load
from mcpsol_py.catalog.documents import InstructionText, ProgramText, program_text
from mcpsol_py.catalog.index import Entry, SearchIndex
from mcpsol_py.catalog.ranking import rank
from mcpsol_py.errors import McpsolError

REPO = Path(__file__).parents[1]
PROGRAMS = int(os.environ.get("MCPSOL_BENCH_PROGRAMS", "10000"))
CRAWLED = int(os.environ.get("MCPSOL_BENCH_CRAWL", "1000"))
QUESTIONS = (
    "swap one token for another on some pool", "repay my loan", "how do I claim the rewards of my position",
    "stake SOL with a validator and get a liquid token", "send tokens to a friend", "cancel all my open orders",
    "create a pool with two tokens", "vote yes on the proposal", "close my empty token account",
    "deposit collateral and borrow against it", "kamino lend: withdraw my deposit", "orca collect fees",
)  # fmt: skip


def measure() -> list[Row]:
    """Answers, searches and opening as the goals have them; two workers at least 1.8 times as fast as one."""
    return [*answers(), *_searches(), *crawls(CRAWLED)]


# --- search ----------------------------------------------------------------------------------------------------------


def _searches() -> Iterator[Row]:
    texts = list(_texts())
    for count, most in ((300, 20.0), (PROGRAMS, 60.0)):
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "index")
            index = SearchIndex(path)
            index.write(([entry] for entry in _copies(texts, count)), "1")
            index.finish("1")
            index.close()
            started = time.perf_counter()
            index = SearchIndex(path)
            opened = time.perf_counter() - started
            for question in QUESTIONS:
                rank(index, question, 10)
            times = sorted(
                _timed(index, question) for question in QUESTIONS for _ in range(5)
            )
            index.close()
        p95 = times[int(len(times) * 0.95)] * 1e3
        yield Limit(f"p95 of a search in {count:,} programs", p95, most, "ms")
        yield Limit(f"opening the index of {count:,} programs", opened, 0.5, "s")


def _timed(index: SearchIndex, question: str) -> float:
    started = time.process_time()
    rank(index, question, 10)
    return time.process_time() - started


def _texts() -> Iterator[ProgramText]:
    folders = (REPO.parent / "shared" / "catalog", REPO.parent / "shared" / "idls")
    files = [path for folder in folders for path in sorted(folder.glob("*.json"))]
    for path in files or sorted(REPO.glob("programs/*/idl.json")):
        try:
            yield program_text(load(path).model)
        except McpsolError:
            continue


def _copies(texts: list[ProgramText], count: int) -> Iterator[Entry]:
    r = random.Random(1)
    words = sorted(
        {stem for text in texts for ix in text.instructions for stem in ix.stems}
    )
    for number in range(count):
        text = texts[number % len(texts)]
        if number >= len(texts):
            text = _changed(text, number, r, words)
        yield Entry(
            f"family{number}", text.address or f"source:{number}", None, "file", text
        )


def _changed(
    text: ProgramText, number: int, r: random.Random, words: list[str]
) -> ProgramText:
    def instruction(ix: InstructionText) -> InstructionText:
        stems = list(ix.stems) or ["run"]
        stems[r.randrange(len(stems))] = r.choice(words)
        return replace(ix, name="_".join(stems), stems=tuple(stems))

    name = f"{text.name}{number}"
    return replace(
        text,
        name=name,
        address=str(Pubkey(number.to_bytes(32, "big"))),
        called=((name.lower(),),),
        is_known=False,
        instructions=tuple(map(instruction, text.instructions)),
    )
