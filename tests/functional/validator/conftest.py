"""One validator for all tests here, with the committed programs and some accounts from the start."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import TypeAlias

import pytest
from solders.account import Account
from solders.keypair import Keypair
from solders.pubkey import Pubkey

from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.transport import run
from mcpsol_py.solana.addresses import GUARD_PROGRAM, PROGRAM_METADATA
from mcpsol_py.solana.pda import anchor_idl_address
from mcpsol_py.x402.exact.transaction import associated_token_address
from tests.conftest import PROGRAM_METADATA_SO
from tests.functional.counter_scenario import PROGRAMS
from tests.functional.validator import x402_scene
from tests.functional.validator.node import BINARY, Proxy, Validator, call
from tests.unit.x402.payments import TOKEN_PROGRAM, USDC, keypair, mint_data, token_data

Blocking: TypeAlias = Callable[[str], RpcTransport]

#: Ids at which there is no program, only what the IDL places hold.
WITH_ANCHOR_IDL, WITH_METADATA, WITH_JUNK = (
    Pubkey(bytes([7, n] * 16)) for n in (1, 2, 3)
)
IDL = {
    "version": "0.1.0",
    "name": "on_chain",
    "instructions": [{"name": "doIt", "accounts": [], "args": []}],
}


def _anchor(program_id: Pubkey, packed: bytes) -> tuple[Pubkey, Account]:
    data = bytes(8) + bytes(32) + struct.pack("<I", len(packed)) + packed
    return anchor_idl_address(program_id), Account(
        lamports=10**9, data=data, owner=program_id
    )


def _metadata(program_id: Pubkey, packed: bytes) -> tuple[Pubkey, Account]:
    head = (
        bytes([2])
        + bytes(program_id)
        + bytes(32)
        + bytes([1, 1])
        + b"idl".ljust(16, b"\0")
    )
    head += bytes([1, 2, 1, 0]) + struct.pack("<I", len(packed)) + bytes(5)
    return metadata_address(program_id), Account(
        lamports=10**9, data=head + packed, owner=PROGRAM_METADATA
    )


def token_accounts() -> dict[Pubkey, Account]:
    """Devnet's USDC mint, a payer with a million base units, and a payee's empty account (tests of payments)."""
    rows = {USDC: mint_data(6, 10**6)}
    for owner, amount in ((keypair(1).pubkey(), 10**6), (keypair(3).pubkey(), 0)):
        rows[associated_token_address(owner, USDC, TOKEN_PROGRAM)] = token_data(
            USDC, owner, amount
        )
    return {
        key: Account(lamports=10**8, data=data, owner=TOKEN_PROGRAM)
        for key, data in rows.items()
    }


@pytest.fixture(scope="session")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Validator]:
    """The node; its binary comes from `make validator`."""
    if not BINARY.exists():
        pytest.skip(f"no solana-test-validator at {BINARY}; `make validator` builds it")
    packed = zlib.compress(json.dumps(IDL).encode())
    accounts = dict(
        [
            _anchor(WITH_ANCHOR_IDL, packed),
            _metadata(WITH_METADATA, packed),
            _anchor(WITH_JUNK, b"junk"),
        ]
    )
    accounts |= token_accounts() | x402_scene.accounts()
    programs = PROGRAMS | x402_scene.PROGRAM | {GUARD_PROGRAM: bundled_so("guard")}
    if PROGRAM_METADATA_SO.exists():
        programs[PROGRAM_METADATA] = PROGRAM_METADATA_SO
    node = Validator(tmp_path_factory.mktemp("validator"), programs, accounts)
    # `deploy` takes an unknown cluster for mainnet.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDL2MCP_GENESIS", call(node.url, "getGenesisHash"))
        yield node
    node.stop()


@pytest.fixture
def proxy(validator: Validator) -> Iterator[Proxy]:
    """A proxy before the node, without faults yet."""
    it = Proxy(validator.url)
    yield it
    it.stop()


@pytest.fixture
def blocking_rpc() -> Iterator[Blocking]:
    """Makes blocking transports that are closed when the test is over."""
    made: list[RpcTransport] = []

    def make(url: str) -> RpcTransport:
        made.append(RpcTransport.blocking(url))
        return made[-1]

    yield make
    for transport in made:
        run(transport.close())


@pytest.fixture
def wallet(validator: Validator) -> Keypair:
    """A new wallet with 10 SOL."""
    pair = Keypair()
    validator.airdrop(pair.pubkey())
    return pair
