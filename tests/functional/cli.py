"""What the command line's tests share: running it in this process, and small IDLs of their own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from idl2mcp.cli import main

PROGRAM_ID = "4Nd1mYQJ3oqzS5ZrWBuwKZ6vqZRN5tF2hT7hVh8FpQ8z"

#: SPL Token is in every LiteSVM: calls of it run for real, with no program of ours.
TOKEN_IDL: dict[str, Any] = {
    "address": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
    "metadata": {"name": "token", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        {
            "name": "transfer",
            "discriminator": [3],
            "docs": ["Moves tokens."],
            "accounts": [
                {"name": "source", "writable": True},
                {"name": "destination", "writable": True},
                {"name": "authority", "signer": True},
            ],
            "args": [{"name": "amount", "type": "u64"}],
        },
        {
            "name": "approve",
            "discriminator": [4],
            "accounts": [
                {"name": "source", "writable": True},
                {"name": "delegate"},
                {"name": "owner", "signer": True},
            ],
            "args": [{"name": "amount", "type": "u64"}],
        },
        {
            "name": "set_owner",
            "discriminator": [6, 2, 1],
            "accounts": [
                {"name": "account", "writable": True},
                {"name": "owner", "signer": True},
            ],
            "args": [{"name": "new_owner", "type": "pubkey"}],
        },
    ],
    "accounts": [{"name": "TokenAccount", "discriminator": []}],
    "types": [
        {
            "name": "TokenAccount",
            "type": {
                "kind": "struct",
                "fields": [
                    {"name": "mint", "type": "pubkey"},
                    {"name": "owner", "type": "pubkey"},
                    {"name": "amount", "type": "u64"},
                ],
            },
        }
    ],
    "errors": [{"code": 1, "name": "InsufficientFunds", "msg": "Insufficient funds"}],
}

SETUP = """
[wallets]
alice = 10
bob = 1
mallory = 1
[mints.usdc]
decimals = 6
[tokens.alice_usdc]
mint = "@usdc"
owner = "@alice"
amount = 1_000_000
[tokens.bob_usdc]
mint = "@usdc"
owner = "@bob"
"""


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Its stdout, parsed."""
        return json.loads(self.out)


class Cli:
    """Runs `idl2mcp …` in this process, in a folder of its own that holds token.json and setup.toml."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.idl = self.write("token.json", TOKEN_IDL)
        self.setup = self.write("setup.toml", SETUP)

    def write(self, name: str, content: Any) -> str:
        """A file's path: *content* is text, bytes or a JSON document."""
        path = self.folder / name
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(
                content if isinstance(content, str) else json.dumps(content)
            )
        return str(path)

    def __call__(self, *args: object) -> Ran:
        self._capsys.readouterr()
        code = main([str(a) for a in args])
        out, err = self._capsys.readouterr()
        assert "Traceback" not in out + err
        return Ran(code, out, err)


def spec_idl(**changed: Any) -> dict[str, Any]:
    """A small Anchor IDL with one instruction, changed at the top level."""
    return {
        "address": PROGRAM_ID,
        "metadata": {"name": "small", "version": "0.1.0", "spec": "0.1.0"},
        "instructions": [
            {
                "name": "go",
                "discriminator": [1, 2, 3, 4, 5, 6, 7, 8],
                "accounts": [],
                "args": [],
            },
        ],
        **changed,
    }
