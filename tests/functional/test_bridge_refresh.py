"""Programs that change while a bridge serves them: read anew, told to clients of both eras, refused where they are not
what was locked.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPDeprecationWarning
from solders.pubkey import Pubkey

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain, load_source
from mcpsol_py.bridge import refresh as refreshing
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.mcp.server import make_server
from mcpsol_py.bundled import bundled_so
from mcpsol_py.client import watching
from mcpsol_py.client.idl_accounts import metadata_address
from mcpsol_py.solana.pda import anchor_idl_address
from tests.functional.bridges import cluster
from tests.functional.cli import TOKEN_IDL, Cli, spec_idl
from tests.functional.idl_accounts import anchor_account, metadata_account, mute, packed
from tests.functional.svm_node import SvmNode, listening

REPO = Path(__file__).resolve().parents[2]
ERAS = ["auto", "legacy"]
PROGRAM, WITH_ANCHOR, WITH_METADATA = (Pubkey(bytes([n] * 32)) for n in (51, 52, 53))
COUNTER, VAULT = (bundled_so(n) for n in ("counter", "vault"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "POLL", 0.1)
    monkeypatch.setattr(refreshing, "_SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(refreshing, "_RETRY_SECONDS", (0.05, 0.05))
    monkeypatch.setattr(refreshing, "_RECONNECT_SECONDS", 0.1)
    monkeypatch.setattr(refreshing, "_FILE_SECONDS", 0.05)


class Node:
    """A node whose programs can be deployed anew, at *url*."""

    def __init__(self) -> None:
        self.chain = cluster().transport
        self.rpc = SvmNode(self.chain)
        self.url = ""
        self.slot = 1000
        self.deploy(PROGRAM, COUNTER.read_bytes())

    def deploy(self, program_id: Pubkey, elf: bytes) -> None:
        self.slot += 7
        self.chain.svm.warp_to_slot(self.slot)
        self.chain.add_program(program_id, elf)

    def anchor_idl(self, program_id: Pubkey, idl: Any) -> None:
        content = packed(idl) if isinstance(idl, dict) else idl
        self.chain.set_account(
            anchor_idl_address(program_id), anchor_account(program_id, content)
        )

    def metadata_idl(self, program_id: Pubkey, idl: Any) -> None:
        self.chain.set_account(
            metadata_address(program_id), metadata_account(program_id, packed(idl))
        )

    def bridge(self, program_id: Pubkey = PROGRAM, lock: Path | None = None) -> Bridge:
        return make_bridge(
            BridgeConfig([ProgramEntry(str(program_id), Chain(url=self.url), lock)])
        )[0]


@pytest.fixture
def node() -> Iterator[Node]:
    it = Node()
    with listening(it.rpc) as url:
        it.url = url
        yield it


async def until(true: Callable[[], Any], seconds: float = 25) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)


@asynccontextmanager
async def client_of(bridge: Bridge, **options: Any) -> AsyncIterator[Client]:
    try:
        async with Client(make_server(bridge), **options) as client:
            yield client
    finally:
        for served in bridge.box.programs:
            if served.transport is not None:
                await served.transport.close()


async def names(client: Client) -> set[str]:
    return {t.name for t in (await client.list_tools()).tools}


# --- a program that is deployed anew ----------------------------------------------------------------------------------


async def test_a_client_of_the_new_era_is_told_of_a_deployment_and_sees_the_new_tools(
    node: Node,
) -> None:
    bridge = node.bridge()
    async with client_of(bridge) as client:
        assert {"increment", "get_state"} <= await names(client)
        assert bridge.health()["programs"]["counter"]["deployed_slot"] == node.slot
        uris = ["solana://counter/schema"]
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=uris
        ) as events:
            node.deploy(PROGRAM, VAULT.read_bytes())
            seen: set[Any] = set()
            async with asyncio.timeout(25):
                async for event in events:
                    seen.add(event)
                    if len(seen) == 2:
                        break
        assert seen == {ToolsListChanged(), ResourceUpdated(uris[0])}
        now = await names(client)
        assert "deposit" in now
        assert "increment" not in now
        (text,) = (await client.read_resource(uris[0])).contents
        assert "deposit" in text.text  # type: ignore[union-attr]  # a text
        assert bridge.health()["programs"]["counter"]["deployed_slot"] == node.slot
        assert (await client.call_tool("increment", {"amount": "1"})).is_error


async def test_a_client_of_the_handshake_era_is_told_too(node: Node) -> None:
    heard: list[str] = []

    async def hear(message: Any) -> None:
        heard.append(getattr(message, "method", ""))

    logs: list[Any] = []

    async def log(params: Any) -> None:
        logs.append(params.data)

    options = {"mode": "legacy", "message_handler": hear, "logging_callback": log}
    async with client_of(node.bridge(), **options) as client:
        assert client.server_capabilities.tools is not None
        assert client.server_capabilities.tools.list_changed
        assert "increment" in await names(client)
        with pytest.warns(MCPDeprecationWarning):
            await client.subscribe_resource("solana://counter/idl")
        with pytest.warns(MCPDeprecationWarning):
            await client.set_logging_level("info")
        node.deploy(PROGRAM, VAULT.read_bytes())
        await until(
            lambda: (
                "notifications/tools/list_changed" in heard
                and "notifications/resources/updated" in heard
            )
        )
        assert "deposit" in await names(client)
        await until(lambda: logs)
        assert logs[0]["event"] == "program refreshed"
        assert logs[0]["deployed_slot"] == node.slot


async def test_the_same_schema_from_a_new_deployment_changes_the_slot_alone(
    node: Node,
) -> None:
    bridge = node.bridge()
    async with client_of(bridge) as client:
        await names(client)
        program, first = bridge.box.programs[0].program, node.slot
        node.deploy(PROGRAM, COUNTER.read_bytes())
        await until(
            lambda: bridge.health()["programs"]["counter"]["deployed_slot"] == node.slot
        )
        assert node.slot != first
        assert bridge.box.programs[0].program is program


async def test_a_deployment_between_reading_and_serving_is_noticed(node: Node) -> None:
    bridge = node.bridge()
    node.deploy(PROGRAM, VAULT.read_bytes())
    async with client_of(bridge) as client:
        await until(lambda: "deposit" in bridge.box.tools)
        assert "deposit" in await names(client)


async def test_a_program_that_no_longer_tells_its_schema_loses_its_tools_until_it_does(
    node: Node,
) -> None:
    bridge = node.bridge()
    async with client_of(bridge) as client:
        await names(client)
        node.deploy(PROGRAM, mute(COUNTER.read_bytes()))
        await until(lambda: bridge.health()["status"] == "degraded")
        why = (await client.call_tool("increment", {"amount": "1"})).content[0].text  # type: ignore[union-attr]  # a text
        assert "cannot be read" in why
        assert "list_tools" in why
        assert "increment" not in await names(client)
        node.deploy(PROGRAM, COUNTER.read_bytes())
        await until(lambda: bridge.health()["status"] == "ok")
        assert "increment" in await names(client)


async def test_a_chain_that_does_not_answer_takes_nothing_away(node: Node) -> None:
    bridge = node.bridge()
    async with client_of(bridge) as client:
        await names(client)
        node.rpc.down = {"simulateTransaction"}
        node.deploy(PROGRAM, VAULT.read_bytes())
        await asyncio.sleep(1)
        assert "increment" in await names(client)
        node.rpc.down = set()
        await until(lambda: "deposit" in bridge.box.tools, 30)


async def test_an_idl_account_that_changes_or_appears_is_read(node: Node) -> None:
    node.deploy(WITH_ANCHOR, mute(COUNTER.read_bytes()))
    node.anchor_idl(WITH_ANCHOR, {**TOKEN_IDL, "address": str(WITH_ANCHOR)})
    bridge = node.bridge(WITH_ANCHOR)
    label = next(iter(bridge.box.labels))
    assert "Anchor IDL account" in bridge.health()["programs"][label]["schema_from"]
    async with client_of(bridge) as client:
        assert "transfer" in await names(client)
        node.anchor_idl(WITH_ANCHOR, {**spec_idl(), "address": str(WITH_ANCHOR)})
        await until(lambda: "go" in bridge.box.tools)
        node.metadata_idl(WITH_ANCHOR, {**TOKEN_IDL, "address": str(WITH_ANCHOR)})
        await until(lambda: "transfer" in bridge.box.tools)
        assert "Program Metadata" in bridge.health()["programs"][label]["schema_from"]


async def test_a_schema_from_a_file_is_noted_to_be_older_than_the_deployment(
    node: Node, tmp_path: Path
) -> None:
    idl = tmp_path / "idl.json"
    shutil.copy(COUNTER.parent / "idl.json", idl)
    chain = Chain(url=node.url, program_id=str(PROGRAM))
    bridge, _ = make_bridge(BridgeConfig([ProgramEntry(str(idl), chain)]))
    async with client_of(bridge) as client:
        assert "increment" in await names(client)
        await asyncio.sleep(0.5)
        node.deploy(PROGRAM, VAULT.read_bytes())
        await until(lambda: "note" in bridge.health()["programs"]["counter"])
        row = bridge.health()["programs"]["counter"]
        assert f"slot {node.slot}" in row["note"]
        assert row["served"]
        info = (await client.call_tool("program_info", {})).structured_content
        assert info["programs"][0]["note"] == row["note"]


# --- what was locked --------------------------------------------------------------------------------------------------


async def test_a_schema_that_is_not_what_was_locked_is_refused_until_it_is_accepted(
    cli: Cli, node: Node
) -> None:
    lock = cli.folder / "counter.lock"
    assert cli("lock", str(PROGRAM), "--url", node.url, "--out", str(lock)).code == 0
    bridge = node.bridge(lock=lock)
    async with client_of(bridge) as client:
        assert "increment" in await names(client)
        node.deploy(PROGRAM, VAULT.read_bytes())
        await until(lambda: bridge.health()["status"] == "degraded")
        left = await names(client)
        assert not left & {"increment", "deposit", "get_state"}
        assert "program_info" in left
        for tool in ("deposit", "initialize"):
            refused = await client.call_tool(tool, {})
            assert refused.is_error
            text = refused.content[0].text  # type: ignore[union-attr]  # a text
            assert "counter.lock" in text
            assert "instructions.increment" in text
            assert "idl2mcp lock" in text
        info = (await client.call_tool("program_info", {})).structured_content
        assert "counter.lock" in info["programs"][0]["refused"]
        accepted = lock_now(cli, node)
        shutil.copy(accepted, lock)
        await until(lambda: bridge.health()["status"] == "ok")
        assert "deposit" in await names(client)


def lock_now(cli: Cli, node: Node) -> Path:
    """What `idl2mcp lock` writes for the program as it is deployed now."""
    path = cli.folder / "new.lock"
    assert cli("lock", str(PROGRAM), "--url", node.url, "--out", str(path)).code == 0
    return path


async def test_a_locked_program_that_is_deployed_anew_with_the_same_schema_stays(
    cli: Cli, node: Node
) -> None:
    lock = lock_now(cli, node)
    bridge = node.bridge(lock=lock)
    async with client_of(bridge) as client:
        await names(client)
        assert "note" not in bridge.health()["programs"]["counter"]
        node.deploy(PROGRAM, COUNTER.read_bytes())
        await until(
            lambda: bridge.health()["programs"]["counter"]["deployed_slot"] == node.slot
        )
        assert (
            "redeployed after it was locked"
            in bridge.health()["programs"]["counter"]["note"]
        )
        assert "increment" in await names(client)


async def test_a_lock_file_that_is_spoilt_refuses(cli: Cli, node: Node) -> None:
    lock = lock_now(cli, node)
    bridge = node.bridge(lock=lock)
    async with client_of(bridge) as client:
        await names(client)
        lock.write_text("{}")
        await until(lambda: bridge.health()["status"] == "degraded")
        assert "increment" not in await names(client)


# --- poisoned programs ------------------------------------------------------------------------------------------------


class Poisoned:
    """Two programs of files, of which the first is made to fail at *place* when it is read again."""

    def __init__(
        self,
        folder: Path,
        place: str,
        error: BaseException,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        self.files = [folder / "token.json", folder / "spec.json"]
        self.files[0].write_text(json.dumps(TOKEN_IDL))
        self.files[1].write_text(json.dumps(spec_idl()))
        entries = [ProgramEntry(str(file), Chain()) for file in self.files]
        self.bridge, _ = make_bridge(BridgeConfig(entries))
        self.labels = list(self.bridge.box.labels)
        self.error = error
        getattr(self, f"_{place}")(monkeypatch)

    def _reading(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def again() -> Any:
            raise self.error

        self.bridge.box.labels[self.labels[0]].again = again

    def _serving(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The tools of its new schema cannot be made."""
        registry, serve = self.bridge.registry, self.bridge.registry.serve
        first = registry.box.programs[0].program.model

        def poisoned(programs: Any) -> None:
            if programs[0].program.model != first and not programs[0].refused:
                raise self.error
            serve(programs)

        monkeypatch.setattr(registry, "serve", poisoned)

    def _comparing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The new schema cannot be compared with the old one."""
        compared = refreshing._seen_by_clients

        def poisoned(served: Any) -> Any:
            if (
                "go" in {i.name for i in served.program.model.instructions}
                and served.label == (self.labels[0])
            ):
                raise self.error
            return compared(served)

        monkeypatch.setattr(refreshing, "_seen_by_clients", poisoned)

    def _watching(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its files cannot be watched any more."""
        follow = refreshing.Refresher._follow

        async def poisoned(refresher: Any, label: str) -> None:
            if label == self.labels[0]:
                raise self.error
            await follow(refresher, label)

        monkeypatch.setattr(refreshing.Refresher, "_follow", poisoned)


@pytest.mark.parametrize(
    "error", [RecursionError(), KeyError("x"), MemoryError()], ids=repr
)
@pytest.mark.parametrize("place", ["reading", "serving", "comparing", "watching"])
async def test_a_poisoned_program_loses_its_tools_and_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, error: BaseException
) -> None:
    """Its old tools must not stay: what they would call is not what it is now."""
    poisoned = Poisoned(tmp_path, place, error, monkeypatch)
    bridge, first = poisoned.bridge, poisoned.labels[0]
    assert {"token_transfer", "small_go"} <= set(bridge.box.tools)
    async with client_of(bridge) as client:
        await names(client)
        await asyncio.sleep(0.2)
        poisoned.files[0].write_text(json.dumps(spec_idl(address=TOKEN_IDL["address"])))
        await until(lambda: not bridge.health()["programs"][first]["served"], 5)
        assert "token_transfer" not in await names(client)
        poisoned.files[1].write_text((REPO / "programs/counter/idl.json").read_text())
        await until(lambda: "small_increment" in bridge.box.tools, 5)
        assert "small_increment" in await names(client)


async def test_a_spec_that_ends_the_process_ends_its_own_tools_alone(
    tmp_path: Path,
) -> None:
    spec = tmp_path / "spec.py"
    spec.write_text((REPO / "programs/counter/spec.py").read_text())
    bridge, _ = make_bridge(BridgeConfig([ProgramEntry(str(spec), Chain())]))
    async with client_of(bridge) as client:
        assert "increment" in await names(client)
        await asyncio.sleep(0.2)
        spec.write_text("raise SystemExit(0)\n")
        await until(lambda: bridge.health()["status"] == "degraded", 5)
        assert "increment" not in await names(client)


# --- files ------------------------------------------------------------------------------------------------------------


async def test_an_idl_file_that_is_written_anew_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "idl.json"
    file.write_text(json.dumps(TOKEN_IDL))
    bridge, _ = make_bridge(BridgeConfig([ProgramEntry(str(file), Chain())]))
    async with client_of(bridge) as client:
        assert "transfer" in await names(client)
        await asyncio.sleep(0.2)
        file.write_text(json.dumps(spec_idl()))
        await until(lambda: "go" in bridge.box.tools)
        assert "go" in await names(client)
        file.write_text("{")
        await until(lambda: bridge.health()["status"] == "degraded")
        file.write_text(json.dumps(TOKEN_IDL))
        await until(lambda: "transfer" in bridge.box.tools)


async def test_a_so_that_is_built_anew_runs_and_tells_its_tools(tmp_path: Path) -> None:
    file = tmp_path / "program.so"
    shutil.copy(COUNTER, file)
    bridge, _ = make_bridge(BridgeConfig([ProgramEntry(str(file), Chain())]))
    async with client_of(bridge) as client:
        made = await client.call_tool(
            "initialize", {"start": "4", "accounts": {"authority": "@alice"}}
        )
        assert not made.is_error, made.content
        await asyncio.sleep(0.2)
        shutil.copy(VAULT, file)
        await until(lambda: "deposit" in bridge.box.tools)
        label = next(iter(bridge.box.labels))
        row = bridge.health()["programs"][label]
        assert row == {
            "schema_from": f"list_tools of {file.name}",
            "chain": "local",
            "served": True,
        }


# --- all sources in one server ----------------------------------------------------------------------------------------


async def test_one_server_serves_every_kind_of_source_and_says_which_each_is(
    tmp_path: Path, node: Node
) -> None:
    node.deploy(WITH_ANCHOR, mute(COUNTER.read_bytes()))
    node.deploy(WITH_METADATA, mute(COUNTER.read_bytes()))
    node.anchor_idl(WITH_ANCHOR, {**TOKEN_IDL, "address": str(WITH_ANCHOR)})
    node.metadata_idl(WITH_METADATA, {**spec_idl(), "address": str(WITH_METADATA)})
    idl = tmp_path / "local.json"
    idl.write_text(json.dumps(TOKEN_IDL))
    remote = Chain(url=node.url)
    entries = [
        ProgramEntry(str(PROGRAM), remote),
        ProgramEntry(str(WITH_METADATA), remote),
        ProgramEntry(str(WITH_ANCHOR), remote),
        ProgramEntry(str(idl), Chain()),
        ProgramEntry(str(bundled_so("counter").with_name("spec.py")), Chain()),
        ProgramEntry(str(VAULT), Chain()),
    ]
    bridge, _ = make_bridge(BridgeConfig(entries))
    rows = bridge.health()["programs"]
    told = [row["schema_from"] for row in rows.values()]
    wanted = (
        "list_tools",
        "Program Metadata",
        "Anchor IDL account",
        f"({idl.name})",  # a client is not told the server's folders
        "spec.py",
        f"list_tools of {VAULT.name}",
    )
    for text, want in zip(told, wanted, strict=True):
        assert want in text
        assert text[:160] in bridge.instructions
    async with client_of(bridge) as client:
        info = (await client.call_tool("program_info", {})).structured_content
        assert [p["schema_from"] for p in info["programs"]] == told
        for label, text in zip(rows, told, strict=True):
            (content,) = (await client.read_resource(f"solana://{label}/info")).contents
            assert json.loads(content.text)["schema_from"] == text  # type: ignore[union-attr]  # a text


def test_a_source_knows_its_files(tmp_path: Path) -> None:
    from idl2mcp.inputs import files_of, names_an_id

    idl = tmp_path / "idl.json"
    idl.write_text(json.dumps(TOKEN_IDL))
    assert files_of(str(idl), Chain(so=COUNTER)) == (COUNTER, idl)
    assert files_of("counter", Chain()) == (COUNTER,)
    assert files_of(str(PROGRAM), Chain(url="http://x")) == ()
    assert names_an_id(str(PROGRAM))
    assert not names_an_id("counter")
    assert not names_an_id("x" * 5000)
    assert load_source(str(idl)).kind == "document"
