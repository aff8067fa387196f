"""Decoding in bulk: fixed layouts against the row codec, landed instructions against anchorpy, two workers against one.

The row codec makes the same table, row by row. anchorpy runs in its own environment (`make oracles`), on the same data,
and both sides must find the same names, numbers and addresses. The workers are processes of Ray; what is measured is
from the first batch to the last one, so without the start of the workers.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from solders.pubkey import Pubkey

from benchmarks.bench_codec import ANCHORPY, IDL
from benchmarks.yardstick import NotMeasured, Row, Yardstick, calls_a_second
from mcpsol_py import Program, load
from mcpsol_py.errors import DecodeError
from mcpsol_py.names import snake
from mcpsol_py.pipelines.decoders import InstructionDecoder
from mcpsol_py.tables.decode import value_column
from tests.strategies import Values
from tests.support.landed_json import block, desk_idl

SHARED = IDL.parent.parent
LANDED = SHARED / "landed" / "carbon" / "meteora-dlmm"
LANDED_IDL = SHARED / "idls" / "legacy__meteora_dlmm.json"
ROWS = 20_000

#: Run in anchorpy's environment: instructions decoded a second, the best of thirty short rounds, and what they were.
PEER = """
import dataclasses, json, sys, time
from anchorpy.coder.instruction import InstructionCoder
from anchorpy_core.idl import Idl
from pyheck import snake
def leaves(value):
    if isinstance(value, (bytes, list)):
        for one in value:
            yield from leaves(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from leaves(one)
    elif isinstance(value, int):
        yield int(value)
    elif type(value).__name__ == "Pubkey":
        yield str(value)
    elif dataclasses.is_dataclass(value):
        yield from leaves({one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
coder = InstructionCoder(Idl.from_json(open(sys.argv[1]).read()))
rows, found, kept = [bytes.fromhex(text) for text in json.load(sys.stdin)], [], []
for data in rows:
    try:
        parsed = coder.parse(data)
        found.append([snake(parsed.name), list(leaves({k: v for k, v in (parsed.data or {}).items() if k != "_io"}))])
        kept.append(data)
    except Exception as error:
        found.append(None)
rates = []
for _ in range(30):
    start = time.perf_counter()
    for data in kept:
        coder.parse(data)
    rates.append(len(kept) / (time.perf_counter() - start))
print(json.dumps({"rate": max(rates), "found": found}))
"""


def measure() -> list[Row]:
    """All three."""
    return [*fixed_layouts(), landed_instructions(), *workers()]


# --- fixed layouts ---------------------------------------------------------------------------


def fixed_layouts() -> Iterator[Row]:
    """Real account types of one fixed size, into a table: at once, and row by row."""
    for file, name in _FIXED:
        program = load(SHARED / "idls" / f"{file}.json")
        rows = list(_rows(program, name))
        at_once = ROWS * calls_a_second(
            partial(program.decode_accounts, rows, name), rounds=9
        )
        one_by_one = ROWS * calls_a_second(
            partial(_row_by_row, program, name, rows), rounds=3
        )
        alone = ROWS * calls_a_second(partial(_values, program, name, rows), rounds=5)
        table = program.decode_accounts(rows, name).drop_columns(["rest", "notes"])
        expected = pa.Table.from_struct_array(_row_by_row(program, name, rows))
        assert table.combine_chunks().equals(expected.combine_chunks())
        what, size = (
            "accounts of a fixed layout into a table",
            f"{name}, {len(rows[0])} bytes",
        )
        note = f"the row codec into the same table, {size}"
        yield Yardstick(what, at_once, one_by_one, "/s", 20, True, note)
        note = f"the row codec without a table, {size}"
        yield Yardstick(what, at_once, alone, "/s", None, True, note)


#: An account of numbers and addresses, and a large one of nested arrays.
_FIXED = (("anchor__whirlpool", "Position"), ("anchor__raydium_amm_v3", "PoolState"))


def _values(program: Program, name: str, rows: list[bytes]) -> list[Any]:
    return [program.decode_account(data, name)[1] for data in rows]


def _row_by_row(program: Program, name: str, rows: list[bytes]) -> Any:
    values = _values(program, name, rows)
    return value_column(program.codecs, "accounts", name, values, text=False)


def _rows(program: Program, name: str) -> Iterator[bytes]:
    account = next(one for one in program.model.accounts if one.name == name)
    node, values = program.codecs.codec(account.type).node, Values(program.codecs)
    some = [
        program.encode_account(name, values.from_seed(node, seed)) for seed in range(64)
    ]
    for number in range(ROWS):
        # A copy: rows of a program are not the same object.
        yield bytes(bytearray(some[number % len(some)]))


# --- landed instructions ---------------------------------------------------------------------


def landed_instructions() -> Row:
    """Instructions that landed on mainnet, all that both sides read."""
    if not ANCHORPY.exists():
        raise NotMeasured("anchorpy's environment is not installed: run `make oracles`")
    if not LANDED.is_dir():
        raise NotMeasured(
            f"{LANDED} is not here: landed data are kept beside the checkout"
        )
    documents = [
        json.loads(file.read_bytes()) for file in sorted(LANDED.glob("*_ix.json"))
    ]
    rows = [bytes.fromhex(document["data"]) for document in documents]
    done = subprocess.run(
        [str(ANCHORPY), "-W", "ignore", "-c", PEER, str(LANDED_IDL)],
        input=json.dumps([data.hex() for data in rows]),
        capture_output=True,
        text=True,
        check=True,
    )
    answer = json.loads(done.stdout)
    program = load(LANDED_IDL)
    both = []
    for data, theirs in zip(rows, answer["found"], strict=True):
        if theirs is None:
            continue
        try:
            name, arguments = program.decode_instruction(data)
        except DecodeError:
            continue  # bytes are left over, which anchorpy does not mind
        assert [snake(name), list(_leaves(arguments))] == theirs, (
            name,
            arguments,
            theirs,
        )
        both.append(data)
    rate = calls_a_second(
        lambda: [program.decode_instruction(data) for data in both], rounds=15
    )
    note = (
        f"anchorpy's instruction coder, {len(both)} landed instructions of Meteora DLMM"
    )
    return Yardstick(
        "decode landed instructions",
        rate * len(both),
        answer["rate"],
        "/s",
        10,
        True,
        note,
    )


def _leaves(value: Any) -> Iterator[int | str]:
    """Yield the numbers and addresses in a value, as the script above does."""
    if isinstance(value, (bytes, list)):
        for one in value:
            yield from _leaves(one)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    elif isinstance(value, int):
        yield int(value)
    elif isinstance(value, Pubkey):
        yield str(value)


# --- workers ---------------------------------------------------------------------------------

#: A file takes a worker about a second, as files of real blocks do. Ray takes up to a tenth of that between two tasks.
FILES, BLOCKS, TRADES, WORKER_RUNS = 24, 48, 100, 3


class FileWorker:
    """Decodes files of blocks, and says when it began and ended each."""

    def __init__(self, idl: str) -> None:
        self._decode = InstructionDecoder(idl, "trade")

    def __call__(self, batch: Any) -> Any:
        """Return a row for each file: this process, its begin and end, its CPU's seconds, and how many instructions."""
        times = []
        for path in batch.column("item").to_pylist():
            begin, used = time.time(), time.process_time()
            lines = Path(path).read_text(encoding="utf-8").splitlines()
            found = self._decode(pa.table({"text": lines})).num_rows
            end, used = time.time(), time.process_time() - used
            times.append(
                {
                    "pid": os.getpid(),
                    "begin": begin,
                    "end": end,
                    "used": used,
                    "rows": found,
                }
            )
        return pa.Table.from_pylist(times)


def workers() -> Iterator[Row]:
    """Files of blocks, decoded by one worker and by two, in turn: the best of a few runs of each.

    A run is shorter than what else a machine may do meanwhile, which two workers feel twice.
    """
    import ray

    with tempfile.TemporaryDirectory() as folder:
        idl, files = _write_blocks(Path(folder))
        ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
        try:
            runs = [
                (_rate(files, idl, 1), _rate(files, idl, 2)) for _ in range(WORKER_RUNS)
            ]
        finally:
            ray.shutdown()
    note = f"one worker, {FILES} files of {BLOCKS} blocks"
    for kind, needed, what in (
        (0, 1.6, note),
        (1, None, f"{note}, by the CPU time of the workers"),
    ):
        alone, both = (max(rates[many][kind] for rates in runs) for many in (0, 1))
        yield Yardstick(
            "decode files with two workers", both, alone, "/s", needed, True, what
        )


def _write_blocks(folder: Path) -> tuple[str, list[str]]:
    idl = folder / "desk.json"
    idl.write_text(json.dumps(desk_idl()), encoding="utf-8")
    text = "\n".join(
        json.dumps(block(number * TRADES, TRADES)) for number in range(BLOCKS)
    )
    files = [folder / f"{place}.jsonl" for place in range(FILES)]
    for file in files:
        file.write_text(text, encoding="utf-8")
    return str(idl), [str(file) for file in files]


def _rate(files: list[str], idl: str, workers: int) -> tuple[float, float]:
    """Return instructions a second, from when the last worker began its second file: by the clock, and by CPU time."""
    import ray

    times = (
        ray.data.from_items(files, override_num_blocks=len(files))
        .map_batches(
            FileWorker,
            fn_constructor_args=(idl,),
            batch_format="pyarrow",
            batch_size=1,
            compute=ray.data.ActorPoolStrategy(size=workers),
        )
        .to_pandas()
    )
    begins = [sorted(times[times.pid == pid].begin)[1] for pid in set(times.pid)]
    assert len(begins) == workers
    whole = times[times.begin >= max(begins)]
    return float(whole.rows.sum() / (whole.end.max() - max(begins))), float(
        workers * whole.rows.sum() / whole.used.sum()
    )
