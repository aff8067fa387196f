"""Nodes with one published program."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

from solders.account import Account
from solders.pubkey import Pubkey

from idl2mcp.local_cluster import wallet
from mcpsol_py.bundled import bundled_so
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.bridges import cluster
from tests.functional.cli import TOKEN_IDL
from tests.functional.svm_node import SvmNode
from tests.support.key_files import write_key

COUNTER = "J8tm1ZaqBuRqh3MvgUfkFkTwUhC6wo1Z7B6a5dUCNffb"


IDL_AT, JUNK_AT, NOTHING_AT = (
    str(Pubkey.from_bytes(bytes([n]) * 32)) for n in (41, 42, 43)
)


class Node:
    """A node with the counter, an Anchor IDL account, one that holds junk, and alice's money."""

    def __init__(self, folder: Path) -> None:
        self.local = cluster()
        self.node = SvmNode(self.local.transport)
        elf = bundled_so("counter").read_bytes()
        self.local.add_program(elf, Pubkey.from_string(COUNTER))
        for at, packed in (
            (IDL_AT, zlib.compress(json.dumps(TOKEN_IDL).encode())),
            (JUNK_AT, b"junk"),
        ):
            program = Pubkey.from_string(at)
            data = bytes(40) + struct.pack("<I", len(packed)) + packed
            self.local.svm.set_account(
                anchor_idl_address(program), Account(10**9, data, program)
            )
        self.key = write_key(folder / "alice.json", wallet("alice"))
        self.url = ""
