"""The type table against the borsh crate, and C layouts against rustc's own, with random values and with the vectors'
bytes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest

from mcpsol_py.codec.compiled import Codecs
from mcpsol_py.model.program import ProgramModel
from mcpsol_py.model.types import BORSH_STRING, Map, Set, Type
from tests.oracles.batch import FULL, Row, ask, compare
from tests.oracles.borsh_types import BORSH, BORSH_TYPES, MEMORY, MEMORY_TYPES
from tests.oracles.environment import CACHE, ORACLES
from tests.strategies import Values

VECTORS = Path(__file__).parents[1] / "vectors" / "types.json"


@pytest.fixture(scope="module")
def borsh() -> str:
    """The crate's binary, built into the cache (seconds, the first time)."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip(
            "cargo is missing: install Rust 1.77 or newer, or run as root on Debian (`make test` does)"
        )
    target = CACHE / "cargo-target"
    run = subprocess.run(
        [cargo, "build", "--release", "--quiet", "--locked"],
        cwd=ORACLES / "borsh",
        env={**os.environ, "CARGO_TARGET_DIR": str(target)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return str(target / "release" / "borsh-oracle")


def in_order(node: Type, value: Any) -> Any:
    """*value* with its map keys and set items sorted as Rust's BTreeMap and borsh's HashMap do; we keep the order
    given."""

    def key(item: Any) -> Any:
        return item.encode() if isinstance(item, str) else item

    match node:
        case Map():
            return sorted(value, key=lambda pair: key(pair[0]))
        case Set():
            return sorted(value, key=key)
        case _:
            return value


def made(model: ProgramModel, types: dict[str, Type], per_type: int) -> list[Row]:
    codecs = Codecs(model)
    values = Values(codecs)
    out = []
    for name, node in types.items():
        codec = codecs.codec(node)
        for number in range(per_type):
            value = in_order(
                node,
                values.from_seed(codec.node, zlib.crc32(f"{name}/{number}".encode())),
            )
            if name == "All":
                value["map"] = in_order(
                    Map(BORSH_STRING, BORSH_STRING, 0), value["map"]
                )
                value["set"].sort()
            data = codec.encode(value)
            assert codec.encode(codec.decode(data)) == data
            out.append(Row("", "type", name, codec.to_json(value), data.hex()))
    return out


@pytest.mark.parametrize(
    ("model", "types"),
    [(BORSH, BORSH_TYPES), (MEMORY, MEMORY_TYPES)],
    ids=["borsh", "rustc memory layout"],
)
def test_rust_gives_the_same_bytes_and_reads_ours(
    borsh: str, model: ProgramModel, types: dict[str, Type]
) -> None:
    asked = made(model, types, 300 if FULL else 40)
    tally = compare(asked, ask([borsh], asked, ORACLES))
    assert not tally.refused, tally.refused.most_common(3)
    assert not tally.different, "\n".join(tally.different[:5])
    assert tally.same == len(asked)


def test_the_vectors_that_name_a_rust_type_are_what_rust_says(borsh: str) -> None:
    vectors = [v for v in json.loads(VECTORS.read_text())["vectors"] if v.get("rust")]
    asked = [Row("", "type", v["rust"], v["value"], v["hex"]) for v in vectors]
    tally = compare(asked, ask([borsh], asked, ORACLES))
    assert tally.same == len(vectors) >= 20, tally
