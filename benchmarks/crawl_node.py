"""`python -m benchmarks.crawl_node COUNT LATENCY`: a node of so many programs, in a process of its own.

The programs are the IDLs of the shared catalogue beside the repository, or those of the repository, and mutations of
them: each has a name of its own, and in each of its instructions one word of another program. The process prints its
URL, and ends when its input does. Besides what a crawl asks, it answers `benchCounts` and `benchDeploy`.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpsol_py.errors import McpsolError
from mcpsol_py.program import Program
from tests.support.many_programs import ManyPrograms, listening

REPO = Path(__file__).parents[1]


def documents() -> list[dict[str, Any]]:
    """The IDLs that the programs are made from."""
    shared = sorted((REPO.parent / "shared" / "catalog").glob("*.json"))
    found = []
    for path in shared or sorted(REPO.glob("programs/*/idl.json")):
        document = json.loads(path.read_text("utf-8"))
        try:
            Program.from_idl(document)
        except McpsolError:
            continue
        found.append(document)
    return found


def mutations(count: int) -> Iterator[dict[str, Any]]:
    """Yield *count* IDLs, no two of them alike."""
    base, r = documents(), random.Random(1)
    words = sorted(
        {word for one in base for ix in _instructions(one) for word in _words(ix)}
    )
    for number in range(count):
        document = copy.deepcopy(base[number % len(base)])
        named = document.get("metadata", document.get("program", document))
        for one in (document, named):
            if "name" in one:
                one["name"] = f"{one['name']}{number}"
        if number >= len(base):
            for place, ix in enumerate(_instructions(document)):
                parts = _words(ix)
                parts[r.randrange(len(parts))] = r.choice(words)
                ix["name"] = f"{'_'.join(parts)}_{place}"
        yield document


def _instructions(document: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = document.get("program", document)["instructions"]
    return found


def _words(ix: dict[str, Any]) -> list[str]:
    return str(ix["name"]).split("_")


class CrawledNode(ManyPrograms):
    """The node, which a benchmark can ask what was read, and tell to deploy some programs again."""

    def do_benchCounts(self) -> dict[str, int]:
        return {"idls": sum(self.idls_read.values()), "requests": len(self.times)}

    def do_benchDeploy(self, each: int) -> int:
        """Deploy one program of *each* again, with another version of its IDL."""
        changed = self.addresses[::each]
        for number, (address, document) in enumerate(
            zip(changed, mutations(len(changed)), strict=True)
        ):
            self.deploy(address, 10**6 + number, {**document, "changed": number})
        return len(changed)


def main() -> None:
    """Serves until the input ends."""
    count, latency = int(sys.argv[1]), float(sys.argv[2])
    with listening(CrawledNode(mutations(count), latency)) as url:
        print(url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
