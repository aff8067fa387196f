"""Schemas kept on disk, held against a chain in the process that is changed under them."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.discovery import Discovery
from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.client.schema_cache import SchemaCache
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Outcome
from mcpsol_py.errors import McpsolError, NoSchema
from mcpsol_py.solana.addresses import PROGRAM_METADATA
from mcpsol_py.solana.loader import LOADER, programdata_address
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.idl_accounts import anchor_account, metadata_account, mute, packed

PROGRAM = Pubkey(bytes([61] * 32))
COUNTER, VAULT = (bundled_so(n).read_bytes() for n in ("counter", "vault"))
#: its pages are no JSON
SILENT = mute(COUNTER)
MAINNET, DEVNET = "genesis of one", "genesis of another"


class RedeployingTransport(SvmTransport):
    """Deploys at a new slot each time, and counts simulations."""

    def __init__(self) -> None:
        super().__init__()
        self.simulated = 0
        self.slot = 100
        #: called before each simulation
        self.meanwhile: Callable[[], None] = lambda: None
        #: what the node says instead of simulating
        self.says: str | None = None

    def deploy(self, elf: bytes) -> None:
        self.slot += 9
        self.add_program(PROGRAM, elf)

    async def get_accounts(self, keys: Sequence[Pubkey]) -> list[Account | None]:
        """As the upgradeable loader keeps a program, which older LiteSVMs do not."""
        body = (
            bytes([3, 0, 0, 0])
            + self.slot.to_bytes(8, "little")
            + bytes(33)
            + b"\x7fELF"
        )
        own = {
            PROGRAM: Account(
                1,
                bytes([2, 0, 0, 0]) + bytes(programdata_address(PROGRAM)),
                LOADER,
                True,
            ),
            programdata_address(PROGRAM): Account(1, body, LOADER),
        }
        return [
            own.get(key, account)
            for key, account in zip(keys, await super().get_accounts(keys), strict=True)
        ]

    async def simulate(
        self,
        transaction: VersionedTransaction,
        *,
        replace_blockhash: bool = True,
        accounts: Sequence[Pubkey] = (),
        since: int = 0,
    ) -> Outcome:
        self.simulated += 1
        self.meanwhile()
        outcome = await super().simulate(
            transaction, replace_blockhash=replace_blockhash, accounts=accounts
        )
        return (
            outcome
            if self.says is None
            else replace(outcome, err=self.says, logs=(), return_data=None)
        )

    def anchor_idl(self, document: dict[str, Any]) -> None:
        self.set_account(
            anchor_idl_address(PROGRAM), anchor_account(PROGRAM, packed(document))
        )

    def metadata(
        self, document: dict[str, Any], *, elsewhere: Pubkey | None = None
    ) -> None:
        content = packed(document)
        if elsewhere is not None:
            self.set_account(elsewhere, Account(10**9, content, PROGRAM_METADATA))
            content = bytes(elsewhere) + struct.pack("<II", 0, len(content))
        account = metadata_account(PROGRAM, content, external=elsewhere is not None)
        self.set_account(metadata_address(PROGRAM), account)


def idl(name: str) -> dict[str, Any]:
    return {
        "address": str(PROGRAM),
        "metadata": {"name": name, "version": "1.0.0", "spec": "0.1.0"},
        "instructions": [
            {"name": "go", "discriminator": [1] * 8, "accounts": [], "args": []}
        ],
    }


@pytest.fixture
def chain() -> RedeployingTransport:
    return RedeployingTransport()


@pytest.fixture
def cache(tmp_path: Path) -> SchemaCache:
    return SchemaCache(tmp_path / "made" / "when needed")


async def said(genesis: str) -> str:
    return genesis


async def found(
    cache: SchemaCache, chain: RedeployingTransport, genesis: str = MAINNET
) -> tuple[Discovery, int]:
    """What is found, and how many simulations that took."""
    before = chain.simulated
    discovery, slot = await cache.discover(chain, PROGRAM, said(genesis))
    assert slot == chain.slot
    return discovery, chain.simulated - before


def files(cache: SchemaCache) -> list[Path]:
    assert cache.folder is not None
    return sorted(cache.folder.glob("*")) if cache.folder.exists() else []


async def test_list_tools_is_asked_once_for_each_deployment(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(COUNTER)
    first, trips = await found(cache, chain)
    assert trips > 0
    again, trips = await found(cache, chain)
    assert trips == 0
    assert (again.source, again.pages, again.tried) == (
        first.source,
        first.pages,
        first.tried,
    )
    assert again.program.model == first.program.model
    chain.deploy(VAULT)
    newer, trips = await found(cache, chain)
    assert trips > 0
    assert newer.program.name == "vault"
    assert (await found(cache, chain))[1] == 0
    assert len(files(cache)) == 1


async def test_idl_accounts_count_as_long_as_all_of_them_hold_the_same(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(SILENT)
    chain.anchor_idl(idl("first"))
    assert (await found(cache, chain))[0].program.name == "first"
    again, trips = await found(cache, chain)
    assert (again.program.name, again.source, trips) == (
        "first",
        "Anchor IDL account",
        0,
    )
    assert (
        again.program.model == (await found(SchemaCache(None), chain))[0].program.model
    )
    chain.anchor_idl(idl("second"))
    assert (await found(cache, chain))[0].program.name == "second"
    chain.metadata(idl("third"))  # a higher rung
    assert (await found(cache, chain))[0].program.name == "third"
    again, trips = await found(cache, chain)
    assert (again.program.name, again.source, trips) == ("third", "Program Metadata", 0)


async def test_content_that_lies_elsewhere_is_not_kept(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(SILENT)
    chain.metadata(idl("there"), elsewhere=Pubkey(bytes([7] * 32)))
    assert (await found(cache, chain))[0].program.name == "there"
    assert not files(cache)
    chain.metadata(idl("changed"), elsewhere=Pubkey(bytes([7] * 32)))
    assert (await found(cache, chain))[0].program.name == "changed"


async def test_clusters_are_apart_and_of_some_nothing_is_kept(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(COUNTER)
    assert [
        (await found(cache, chain, genesis))[1] > 0
        for genesis in (MAINNET, DEVNET, MAINNET, DEVNET)
    ] == [
        True,
        True,
        False,
        False,
    ]
    assert len(files(cache)) == 2
    assert [(await found(cache, chain, ""))[1] > 0 for _ in range(2)] == [True, True]
    assert [(await found(SchemaCache(None), chain))[1] > 0 for _ in range(2)] == [
        True,
        True,
    ]
    assert len(files(cache)) == 2


@pytest.mark.parametrize("attribute", ["endpoint", "url"])
async def test_one_endpoints_word_is_not_anothers(
    cache: SchemaCache, chain: RedeployingTransport, attribute: str
) -> None:
    """A liar of the same cluster, with the same deployment by slot and authority, serves another schema."""
    liar = RedeployingTransport()
    for node, name, elf in ((chain, "honest", COUNTER), (liar, "liar", VAULT)):
        setattr(node, attribute, f"https://rpc.example.com/{name}/KEY")
        node.deploy(elf)
    assert chain.slot == liar.slot
    names = [
        (await found(cache, node))[0].program.name
        for node in (liar, chain, liar, chain)
    ]
    assert names == ["vault", "counter", "vault", "counter"]
    assert [(await found(cache, node))[1] for node in (liar, chain)] == [0, 0]
    assert len(files(cache)) == 2
    assert not any("KEY" in path.name for path in files(cache))


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"",
        lambda raw: raw[: len(raw) // 2],
        lambda raw: b"[]",
        lambda raw: raw.replace(b'"format":1', b'"format":0'),
        lambda raw: json.dumps({**json.loads(raw), "pages": []}).encode(),
        lambda raw: json.dumps({**json.loads(raw), "pages": ["bm9uZQ=="]}).encode(),
        lambda raw: json.dumps({**json.loads(raw), "pages": None}).encode(),
        lambda raw: json.dumps({**json.loads(raw), "document": {"no": "IDL"}}).encode(),
    ],
)
async def test_a_file_that_is_none_of_ours_is_read_anew_and_mended(
    cache: SchemaCache, chain: RedeployingTransport, damage: Callable[[bytes], bytes]
) -> None:
    chain.deploy(COUNTER)
    await found(cache, chain)
    (path,) = files(cache)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    discovery, trips = await found(cache, chain)
    assert (discovery.program.name, trips > 0) == ("counter", True)
    assert path.read_bytes() == whole
    assert files(cache) == [path]


@pytest.mark.skipif(os.name != "posix", reason="modes of files are POSIX's")
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
async def test_a_file_that_others_may_write_is_read_anew(
    cache: SchemaCache, chain: RedeployingTransport, mode: int
) -> None:
    chain.deploy(COUNTER)
    await found(cache, chain)
    (path,) = files(cache)
    path.write_bytes(path.read_bytes().replace(b"counter", b"evilone"))
    path.chmod(mode)
    discovery, trips = await found(cache, chain)
    assert (discovery.program.name, trips > 0) == ("counter", True)
    assert path.stat().st_mode & 0o777 == 0o600


async def test_what_was_read_while_it_changed_is_not_kept(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(COUNTER)

    def redeployed() -> None:
        chain.meanwhile = lambda: None
        chain.deploy(VAULT)

    chain.meanwhile = redeployed
    before = chain.slot
    assert (await cache.discover(chain, PROGRAM, said(MAINNET)))[1] == before
    assert not files(cache)
    chain.deploy(SILENT)
    chain.anchor_idl(idl("old"))
    chain.meanwhile = lambda: chain.anchor_idl(idl("new"))
    assert (await found(cache, chain))[0].program.name == "new"
    assert not files(cache)


async def test_a_rung_that_could_not_be_asked_is_asked_again(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(COUNTER)
    chain.anchor_idl(idl("older"))
    for says in ("AccountNotFound", "ClusterMaintenance"):
        chain.says = says
        assert (await found(cache, chain))[0].program.name == "older"
        assert not files(cache)
    chain.says = None
    assert (await found(cache, chain))[0].program.name == "counter"


async def test_errors_are_discovers_own(
    cache: SchemaCache, chain: RedeployingTransport
) -> None:
    chain.deploy(SILENT)
    with pytest.raises(NoSchema, match="Anchor IDL account is absent"):
        await cache.discover(chain, PROGRAM, said(MAINNET))
    with pytest.raises(McpsolError):
        await cache.discover(chain, Pubkey(bytes([62] * 32)), said(MAINNET))
    assert not files(cache)


async def test_a_folder_that_cannot_be_written_is_no_fault(
    tmp_path: Path, chain: RedeployingTransport
) -> None:
    (tmp_path / "file").write_text("here")
    chain.deploy(COUNTER)
    assert (await found(SchemaCache(tmp_path / "file"), chain))[
        0
    ].program.name == "counter"
