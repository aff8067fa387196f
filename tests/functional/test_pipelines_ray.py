"""The example of docs/pipelines.md on Ray Data, with two workers, of which one is killed in the middle of its work."""

from __future__ import annotations

import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from mcpsol_py.pipelines import decoders
from tests.support.landed_json import block, desk_idl

EXAMPLE = "examples/pipelines/on_ray.py"
FILES, BLOCKS, TRADES = 12, 4, 5


class DiesOnce(decoders.InstructionDecoder):
    """A decoder whose process is killed after its second batch: only the first process that gets there."""

    batches = 0

    def __call__(self, batch: pa.Table) -> pa.Table:
        table = super().__call__(batch)
        self.batches += 1
        if self.batches == 2:
            try:
                Path(os.environ["MARK"]).touch(exist_ok=False)
            except FileExistsError:
                return table
            os.kill(os.getpid(), signal.SIGKILL)
        return table


@pytest.mark.full  # Ray starts a cluster of processes, which takes minutes on a busy machine
def test_a_killed_worker_loses_and_doubles_nothing(tmp_path: Path, repo: Path) -> None:
    (tmp_path / "desk.json").write_text(json.dumps(desk_idl()))
    (tmp_path / "blocks").mkdir()
    firsts = range(0, FILES * BLOCKS * TRADES, TRADES)
    lines = [json.dumps(block(first, TRADES)) for first in firsts]
    for place in range(FILES):
        text = "\n".join(lines[place * BLOCKS : (place + 1) * BLOCKS]) + "\n"
        (tmp_path / "blocks" / f"{place}.jsonl").write_text(text)

    command = [sys.executable, "-m", "tests.functional.test_pipelines_ray"]
    command += [
        str(tmp_path / "desk.json"),
        "trade",
        str(tmp_path / "blocks"),
        str(tmp_path / "out"),
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(repo),
        "MARK": str(tmp_path / "killed"),
        "RAY_raylet_start_wait_time_s": "120",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    done = subprocess.run(
        command,
        cwd=repo,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "killed").exists()

    trades = 2 * FILES * BLOCKS * TRADES  # one calls another
    query = (
        "SELECT count(*), count(DISTINCT (signature, index, inner_index)), sum(args.amount) "
        f"FROM '{tmp_path}/out/*.parquet'"
    )
    total = sum(number + number + 1 for number in range(trades // 2))
    assert duckdb.execute(query).fetchall() == [(trades, trades, total)]


# In a process of its own, which Ray ends with all its workers.
if __name__ == "__main__":
    decoders.InstructionDecoder = DiesOnce  # type: ignore[misc]  # what the example imports
    runpy.run_path(EXAMPLE, run_name="__main__")
