"""Random bodies on one target, many to a crate: they compile without a finding, and agree in Python and in an SVM."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import click

from mcpsol_py.build.toolchain import CARGO
from tests.long.record import CACHE, Record
from tests.support import random_programs

#: How many bodies share a crate.
PER_CRATE = 40
#: The suite uses the seeds below.
FIRST_SEED = 101


def run(target: str, bodies: int, calls: int) -> bool:
    """Compare that many bodies. Returns whether all of them agree, and prints what does not."""
    record = Record(f"bodies-{target}")
    seeds = range(FIRST_SEED, FIRST_SEED + -(-bodies // PER_CRATE))
    for seed in seeds:
        key = f"{seed} x {calls}"
        if record.results.get(key, {}).get("wrong", ["not run"]):
            record.add(key, **_crate(target, seed, calls))
            _print(f"{target} {key}", record.results[key])
    found = [record.results[f"{seed} x {calls}"] for seed in seeds]
    wrong = [each for result in found for each in result["wrong"]]
    made = sum(result["calls"] for result in found)
    click.echo(
        f"{target}: {len(seeds) * PER_CRATE:,} bodies, {made:,} calls, {len(wrong)} differences"
    )
    return not wrong


def _crate(target: str, seed: int, calls: int) -> dict[str, object]:
    """Build and run one crate. `wrong`: all that rustc, clippy and the comparison found."""
    folder = CACHE / f"{target}-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ["CARGO_TARGET_DIR"] = str(CACHE / f"cargo-{target}")
    try:
        oracle = random_programs.build(folder, seed, PER_CRATE, target)
    except Exception as error:  # noqa: BLE001  # whatever it is: nothing that is accepted may fail to compile
        return {
            "calls": 0,
            "errors": {},
            "wrong": [f"seed {seed} is not built: {error}"],
        }
    wrong = [
        *clippy(folder / "crate", target),
        *random_programs.differences(oracle, seed, calls),
    ]
    if not wrong:
        shutil.rmtree(folder)
    return {"calls": oracle.calls, "errors": oracle.errors, "wrong": wrong}


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
