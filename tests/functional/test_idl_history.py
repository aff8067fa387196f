"""`idl2mcp fetch --history`: the IDLs that a program published become files by which transactions are decoded."""

from __future__ import annotations

import json
from pathlib import Path

from tests.functional.cli import Cli
from tests.functional.loaded import Moving
from tests.functional.svm_node import listening
from tests.support.publishing import Publishing


def test_the_history_becomes_files_that_decode_reads(
    program_metadata_so: Path, cli: Cli
) -> None:
    chain = Publishing(program_metadata_so)
    go = {"name": "go", "discriminator": [1] * 8, "accounts": []}
    for version, kind in (("1", "u8"), ("2", "u16")):
        metadata = {"name": "shop", "version": version, "spec": "0.1.0"}
        told = {
            "address": str(chain.program.pubkey()),
            "metadata": metadata,
            "instructions": [{**go, "args": [{"name": "n", "type": kind}]}],
        }
        chain.expire_blockhash()
        chain.publish(json.dumps(told).encode())
        chain.new_block(50)
    with listening(Moving(chain)) as url:
        folder = cli.folder / "history"
        asked = (
            "fetch",
            chain.program.pubkey(),
            "--url",
            url,
            "--history",
            "--out",
            folder,
        )
        ran = cli(*asked, "--json")
        again = cli(*asked)
    assert [row["source"] for row in ran.json["idls"]] == ["Program Metadata"] * 2
    assert again.code == 1, "it overwrites nothing"
    assert "history already" in again.err
    old = bytes([1] * 8) + b"\5"
    for data, version in ((old, "1"), (old + b"\0", "2")):
        ran = cli("decode", folder / "versions.toml", data.hex(), "--json")
        assert ran.json["instructions"][0]["version"]["name"] == version
