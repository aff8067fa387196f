"""Files that list the versions of a program: transactions are read with the version of their slot."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from solders.pubkey import Pubkey

from idl2mcp import inputs
from idl2mcp.lock_file import Place, lock_document
from mcpsol_py import load
from mcpsol_py.calls.prepare import ServedProgram
from mcpsol_py.calls.transaction_reading import decode_data
from mcpsol_py.errors import SourceError

ADDRESS = str(Pubkey(b"\x07" * 32))


def idl(version: str, kind: str) -> dict[str, Any]:
    buy = {
        "name": "buy",
        "discriminator": [1],
        "accounts": [],
        "args": [{"name": "n", "type": kind}],
    }
    metadata = {"name": "shop", "version": version, "spec": "0.1.0"}
    return {"address": ADDRESS, "metadata": metadata, "instructions": [buy]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two IDLs that read the same data differently, and a lock of the second."""
    for number, kind in ((1, "u8"), (2, "i8")):
        (tmp_path / f"shop-{number}.json").write_text(
            json.dumps(idl(f"{number}.0.0", kind))
        )
    model = load(idl("2.0.0", "i8")).model
    lock = lock_document(
        model, "test", Place(ADDRESS, 200, "", "0" * 64), program_id=ADDRESS
    )
    (tmp_path / "shop.lock").write_text(json.dumps(lock))
    return tmp_path


TOML = """
[[versions]]
source = "shop-1.json"
first_slot = 100
last_slot = 199
[[versions]]
lock = "shop.lock"
"""
TSV = f"""file\taddress\tfirst_slot\tlast_slot
shop-2.json\t{ADDRESS}\t200\t
other.json\t{Pubkey(bytes(32))}\t\t
shop-1.json\t{ADDRESS}\t100\t199
"""


@pytest.mark.parametrize(
    ("name", "text"), [("versions.toml", TOML), ("MANIFEST.tsv", TSV)]
)
def test_the_slot_chooses_the_version(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    source = inputs.load_source(str(folder / name), inputs.Chain(program_id=ADDRESS))
    assert source.model.version == "2.0.0"
    served = ServedProgram(source.program, source.program_id, versions=source.versions)
    for slot, version, value in ((150, "1.0.0", 200), (250, "2.0.0", -56)):
        program, reading, facts = served.read_instruction(b"\x01\xc8", slot=slot)
        assert (program.model.version, reading.value) == (version, {"n": value})
        assert facts == {"version": {"name": version, "is_sure": True}}
        assert served.program_at(slot) is program
    row = decode_data(served, b"\x01\xc8")
    assert row["version"] == {"name": "2.0.0", "is_sure": False}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("v.toml", "versions = []", "missing, but required"),
        (
            "v.toml",
            "[[versions]]\nsource = 'a.json'\nlock = 'b'",
            "expected one of source and lock",
        ),
        ("v.toml", "[[versions]]\nfirst_slot = 'x'", "expected whole number"),
        ("v.toml", "[[versions]]\nslots = 5", "unknown key"),
        ("v.tsv", "file\taddress\n", "at least one version"),
        (
            "v.tsv",
            f"file\taddress\tfirst_slot\nshop-1.json\t{ADDRESS}\t-5\n",
            "expected a slot",
        ),
    ],
)
def test_what_is_wrong_is_named(folder: Path, name: str, text: str, told: str) -> None:
    (folder / name).write_text(text)
    with pytest.raises(SourceError, match=told):
        inputs.load_source(str(folder / name), inputs.Chain(program_id=ADDRESS))


def test_a_manifest_needs_a_program(folder: Path) -> None:
    (folder / "v.tsv").write_text(TSV)
    with pytest.raises(SourceError, match="--program-id"):
        inputs.load_source(str(folder / "v.tsv"))


def test_the_manifest_of_real_idls_is_read(shared_idls: Path) -> None:
    manifest = shared_idls.parent / "catalog" / "MANIFEST.tsv"
    if not manifest.exists():
        pytest.skip(f"{manifest} is kept beside the checkout, not in it")
    rows = [line.split("\t") for line in manifest.read_text().splitlines()[1:]]
    ((address, count),) = Counter(row[5] for row in rows if row[5]).most_common(1)
    source = inputs.load_source(str(manifest), inputs.Chain(program_id=address))
    assert source.versions is not None
    assert len(source.versions.versions) == count > 1


def test_a_python_spec_is_not_run(folder: Path) -> None:
    (folder / "spec.py").write_text("raise SystemExit('this ran')")
    (folder / "v.toml").write_text("[[versions]]\nsource = 'spec.py'")
    with pytest.raises(SourceError, match="not JSON"):
        inputs.load_source(str(folder / "v.toml"))


def test_the_configuration_of_a_bridge_is_no_program(folder: Path) -> None:
    (folder / "bridge.toml").write_text(
        'mode = "build"\n[[program]]\nsource = "vault"\n'
    )
    with pytest.raises(SourceError, match="configuration of a bridge.*--config"):
        inputs.load_source(str(folder / "bridge.toml"))
