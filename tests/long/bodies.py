"""Random bodies on one target, many to a crate: they compile without a finding, and agree in Python and in an SVM."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from mcpsol_py.build.toolchain import CARGO
from tests.long.record import CACHE, Record
from tests.support import random_programs
from tests.support.oracle import Oracle

#: How many bodies share a crate.
PER_CRATE = 40
#: The suite uses the seeds below.
FIRST_SEED = 101


def run(target: str, bodies: int, calls: int) -> bool:
    """Compare that many bodies. Returns whether all of them agree, and prints what does not."""
    record = Record(f"bodies-{target}")
    seeds = range(FIRST_SEED, FIRST_SEED + -(-bodies // PER_CRATE))
    keys = {seed: f"{seed} x {calls}" for seed in seeds}
    left = [seed for seed in seeds if not _is_fine(record.results.get(keys[seed]))]
    for crate in _ahead(target, left):
        record.add(keys[crate.seed], **_compared(crate, calls))
        _print(f"{target} {keys[crate.seed]}", record.results[keys[crate.seed]])
    found = [record.results[key] for key in keys.values()]
    wrong = [each for result in found for each in result["wrong"]]
    made = sum(result["calls"] for result in found)
    click.echo(
        f"{target}: {len(seeds) * PER_CRATE:,} bodies, {made:,} calls, {len(wrong)} differences"
    )
    return not wrong


def _is_fine(result: dict[str, Any] | None) -> bool:
    return result is not None and not result["wrong"]


@dataclass(frozen=True, slots=True)
class _Crate:
    """A crate of random bodies. `wrong`: all that rustc and clippy found; without an oracle it is not built."""

    seed: int
    folder: Path
    oracle: Oracle | None
    wrong: list[str]


def _ahead(target: str, seeds: list[int]) -> Iterator[_Crate]:
    """Build one crate after another. While one is compared, cargo builds the next."""
    with ThreadPoolExecutor(1) as cargo:
        waiting: deque[Future[_Crate]] = deque()
        for seed in seeds:
            waiting.append(cargo.submit(_built, target, seed))
            if len(waiting) > 1:
                yield waiting.popleft().result()
        for last in waiting:
            yield last.result()


def _built(target: str, seed: int) -> _Crate:
    folder = CACHE / f"{target}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["CARGO_TARGET_DIR"] = str(CACHE / f"cargo-{target}")
    try:
        oracle = random_programs.build(folder, seed, PER_CRATE, target)
    except Exception as error:  # noqa: BLE001  # whatever it is: nothing that is accepted may fail to compile
        return _Crate(seed, folder, None, [f"seed {seed} is not built: {error}"])
    return _Crate(seed, folder, oracle, clippy(folder / "crate", target))


def _compared(crate: _Crate, calls: int) -> dict[str, object]:
    """Call the bodies of a crate. Its folder stays if anything is wrong."""
    if crate.oracle is None:
        return {"calls": 0, "errors": {}, "wrong": crate.wrong}
    found = random_programs.differences(crate.oracle, crate.seed, calls)
    wrong = [*crate.wrong, *found]
    if not wrong:
        shutil.rmtree(crate.folder)
    return {"calls": crate.oracle.calls, "errors": crate.oracle.errors, "wrong": wrong}


def clippy(crate: Path, target: str) -> list[str]:
    """What clippy finds in a crate."""
    done = subprocess.run(
        [CARGO, "clippy", "--quiet", "--", "--deny", "warnings"],
        cwd=crate,
        env={**os.environ, "CARGO_TARGET_DIR": str(CACHE / f"clippy-{target}")},
        capture_output=True,
        text=True,
        check=False,
    )
    return [f"clippy: {done.stderr[-4000:]}"] if done.returncode else []


def _print(what: str, result: dict[str, object]) -> None:
    errors = Counter(result["errors"]).most_common()  # type: ignore[call-overload]  # from JSON
    shown = ", ".join(f"{name or 'success'} {count}" for name, count in errors)
    click.echo(f"{what}: {result['calls']} calls: {shown}")
    wrong = result["wrong"]
    assert isinstance(wrong, list)
    for each in wrong:
        click.echo(each)
