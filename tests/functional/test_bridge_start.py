"""Starting with deployed programs: read all at once, and from what was kept where it still holds."""

from __future__ import annotations

import threading
from collections import Counter
from pathlib import Path

import pytest
from solders.pubkey import Pubkey

from idl2mcp.config.bridge import BridgeConfig, make_bridge
from idl2mcp.config.programs import ProgramEntry
from idl2mcp.inputs import Chain
from mcpsol_py.bridge.bridge import Bridge
from mcpsol_py.bridge.policy.rules import CLUSTERS
from mcpsol_py.bundled import bundled_so
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.svm_rpc import GENESIS, SvmNode
from mcpsol_py.errors import NoProgram
from tests.functional.svm_node import listening

IDS = [Pubkey(bytes([100 + n] * 32)) for n in range(10)]
MAINNET = next(iter(CLUSTERS))


class MeetingNode(SvmNode):
    """Answers questions for accounts once *together* of them are under way at once, or after a while."""

    def __init__(self, chain: SvmTransport, genesis: str, together: int = 0) -> None:
        super().__init__(chain, genesis)
        self.together, self.most, self._now = together, 0, 0
        self._lock, self._met = threading.Lock(), threading.Event()

    def respond(self, body: bytes) -> bytes:
        if b"getMultipleAccounts" not in body or not self.together:
            return super().respond(body)
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            if self._now >= self.together:
                self._met.set()
        self._met.wait(10)
        with self._lock:
            self._now -= 1
        return super().respond(body)


def node(genesis: str, together: int = 0) -> MeetingNode:
    chain = SvmTransport()
    chain.svm.warp_to_slot(77)
    for place, key in enumerate(IDS):
        chain.add_program(key, bundled_so("counter" if place % 2 else "vault"))
    return MeetingNode(chain, genesis, together)


def start(url: str, ids: list[Pubkey]) -> Bridge:
    return make_bridge(
        BridgeConfig([ProgramEntry(str(key), Chain(url=url)) for key in ids])
    )[0]


def test_ten_programs_are_read_at_once_and_then_from_what_was_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path))
    it = node(MAINNET, together=4)
    with listening(it) as url:
        first = start(url, IDS)
        assert Counter(it.calls)["simulateTransaction"] >= 10
        assert 3 < it.most <= 20
        it.calls.clear()
        again = start(url, IDS)
    asked = Counter(it.calls)
    assert asked["getGenesisHash"] == 1
    assert asked["getMultipleAccounts"] == 10
    assert set(asked) == {"getGenesisHash", "getMultipleAccounts"}
    assert again.box.listed == first.box.listed
    assert len(again.box.programs) == 10
    assert {served.slot for served in again.box.programs} == {77}
    assert [served.how for served in again.box.programs] == ["list_tools"] * 10
    assert len(list(tmp_path.iterdir())) == 10


def test_a_program_that_was_deployed_anew_is_read_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path))
    it = node(MAINNET)
    with listening(it) as url:
        start(url, IDS[:2])
        it.transport.svm.warp_to_slot(99)
        it.transport.add_program(IDS[0], bundled_so("counter"))
        it.calls.clear()
        bridge = start(url, IDS[:2])
    assert [served.program.name for served in bridge.box.programs] == [
        "counter",
        "counter",
    ]
    assert [served.slot for served in bridge.box.programs] == [99, 77]
    assert "simulateTransaction" in it.calls


@pytest.mark.parametrize(("genesis", "folder"), [(GENESIS, "kept"), (MAINNET, "")])
def test_of_a_local_cluster_or_without_a_folder_nothing_is_kept(
    genesis: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path / folder) if folder else "")
    it = node(genesis)
    with listening(it) as url:
        for _ in range(2):
            it.calls.clear()
            start(url, IDS[:1])
            assert "simulateTransaction" in it.calls
    assert not list(tmp_path.iterdir())


def test_a_node_that_does_not_say_its_genesis_hash_serves_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path))
    monkeypatch.setattr("mcpsol_py.client.rpc.RpcTransport.sleep", _at_once)
    it = node(MAINNET)
    it.down = {"getGenesisHash"}
    with listening(it) as url:
        assert len(start(url, IDS[:1]).box.programs) == 1
    assert not list(tmp_path.iterdir())


def test_the_first_program_that_cannot_be_read_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDL2MCP_CACHE", str(tmp_path))
    nobody = [Pubkey(bytes([n] * 32)) for n in (5, 6)]
    with (
        listening(node(MAINNET)) as url,
        pytest.raises(NoProgram, match=str(nobody[0])),
    ):
        start(url, [IDS[0], *nobody])


async def _at_once(*_: object) -> None:
    """No wait."""
