"""`idl2mcp decode` and `sign` show the same names as a call: those of the local setup, known mints and programs."""

from __future__ import annotations

from typing import Any

import pytest

from mcpsol_py.solana.addresses import TOKEN_PROGRAM
from tests.functional.bridges import cluster
from tests.functional.cli import Cli


@pytest.fixture
def built(cli: Cli) -> dict[str, Any]:
    """A transfer from alice to bob, as `call` hands it out."""
    ran = cli(
        *("call", cli.idl, "transfer", "--setup", cli.setup, "--arg", "amount=5"),
        *("--account", "source=@alice_usdc", "--account", "destination=@bob_usdc"),
        *("--account", "authority=@alice", "--json"),
    )
    assert ran.code == 0, ran.err
    document: dict[str, Any] = ran.json
    return document


def test_decode_shows_names_to_people_and_addresses_to_programs(
    cli: Cli, built: dict[str, Any]
) -> None:
    decode = ("decode", cli.idl, built["transaction"], "--setup", cli.setup)
    text = cli(*decode).out
    for name in ("@alice_usdc", "@bob_usdc", "@alice"):
        assert f'"{name}"' in text
    assert cluster().names["bob_usdc"] not in text
    document = cli(*decode, "--json").out
    assert "@" not in document
    assert cluster().names["bob_usdc"] in document
    assert str(TOKEN_PROGRAM) in document


def test_sign_shows_names_before_it_signs(cli: Cli, built: dict[str, Any]) -> None:
    ran = cli(
        *("sign", built["transaction"], "--setup", cli.setup, "--signer", "@alice"),
        *("--source", cli.idl, "--yes"),
    )
    assert ran.code == 0, ran.err
    assert "@alice_usdc" in ran.err
    assert "0.000005 @usdc" in ran.err
    assert cluster().names["alice"] not in ran.err
