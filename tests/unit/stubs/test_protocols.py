"""Type stubs of programs: what mypy accepts and refuses with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mypy import api as mypy

from mcpsol_py import Program, load
from mcpsol_py.stubs import stub

HEAD = """\
from typing import TYPE_CHECKING
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from mcpsol_py import connect, connect_sync, load
if TYPE_CHECKING:
    from vault_types import State, SyncVaultClient, VaultClient, VaultProgram
key, wallet = Pubkey.default(), Keypair()
sync: "SyncVaultClient" = connect_sync(key, "devnet")
offline: "VaultProgram" = load("vault")
taken = {"destination": key, "mint": key}
"""
GOOD = """
async def main() -> None:
    client: "VaultClient" = await connect(key, "devnet")
    async with client as same:
        await same.send(await same.build("withdraw", {"amount": 1}, {"destination": key, "mint": str(key)}))
        state: "State" = await same.fetch("State", key)
        async for value in same.watch("State", key):
            print(value["deposited"] + 1)
with sync as client:
    client.build("initialize", None, {"mint": key, "authority": wallet})
    client.send(client.build("withdraw", {"amount": 1}, {"destination": key, "mint": key}), [wallet])
    state: "State" = client.fetch("State", key)
    states: "list[State | None]" = client.fetch_many("State", [key])
    for address, found in client.fetch_all("State", {"authority": key}):
        print(bytes(address), found["mint"])
    print(client.fetch("State", key, as_json=True)["deposited"])
    print(client.view("withdraw", {"amount": 1}, {"destination": key, "mint": key}).value)
    print(client.program.name, client.simulate([]).units)
data: bytes = offline.instruction("deposit").encode({"amount": 1})
"""
WRONG = (
    'sync.build("withdrw", {"amount": 1}, {"destination": key, "mint": key})',
    'sync.build("withdraw", {"amont": 1}, {"destination": key, "mint": key})',
    'sync.build("withdraw", {"amount": "much"}, {"destination": key, "mint": key})',
    'sync.build("withdraw", {}, {"destination": key, "mint": key})',
    'sync.build("withdraw", {"amount": 1}, {"destination": key})',
    'sync.build("withdraw", {"amount": 1}, {"destination": key, "mint": key, "mnt": key})',
    'sync.build("withdraw", {"amount": 1}, {"destination": key, "mint": key}, remainig=[])',
    'sync.fetch("Stat", key)',
    'sync.fetch("Stat", key, as_json=True)',
    'sync.fetch("State", key)["depositd"]',
    'sync.send([], compute_unit=1)',
    'offline.instruction("depost")',
    'offline.instruction("deposit").encode({"amont": 1})',
)  # fmt: skip


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache that the runs of mypy share."""
    return str(tmp_path_factory.mktemp("mypy"))


def errors_of(folder: Path, cache: str, source: str) -> set[int]:
    """The numbers of the lines in which mypy finds an error. The text of other errors fails the test."""
    script = folder / "sample.py"
    script.write_text(source)
    output, trouble, _ = mypy.run(["--strict", "--cache-dir", cache, str(script)])
    assert trouble == ""
    found = [line for line in output.splitlines() if ": error: " in line]
    other = [line for line in found if not line.split(":")[0].endswith("sample.py")]
    assert other == []
    return {int(line.split(":")[1]) for line in found}


def test_mypy_accepts_right_calls_and_refuses_wrong_ones(
    tmp_path: Path, cache: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run of mypy for all lines, because each run takes seconds."""
    (tmp_path / "vault_types.pyi").write_text(stub(load("vault"), module="vault_types"))
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    right = HEAD + GOOD
    first = right.count("\n") + 1
    wrong = set(range(first, first + len(WRONG)))
    assert errors_of(tmp_path, cache, right + "\n".join(WRONG) + "\n") == wrong


IDL: dict[str, Any] = {
    "version": "0.1.0",
    "name": "odd program",
    "instructions": [
        {
            "name": "go",
            "docs": ['Ends """ early \\'],
            "accounts": [
                {
                    "name": "pair",
                    "accounts": [{"name": "left", "isMut": False, "isSigner": False}],
                },
                {
                    "name": "spare",
                    "isMut": False,
                    "isSigner": False,
                    "isOptional": True,
                },
            ],
            "args": [
                {"name": "class", "type": "u8"},
                {"name": "tree", "type": {"defined": "Tree"}},
                {"name": "mode", "type": {"defined": "Mode"}},
                {"name": "maybe", "type": {"option": {"option": "string"}}},
                {"name": "bytes32", "type": {"array": ["u8", 32]}},
            ],
        },
    ],
    "accounts": [{"name": "Sequence", "type": {"kind": "struct", "fields": []}}],
    "types": [
        {
            "name": "Tree",
            "type": {
                "kind": "struct",
                "fields": [{"name": "nodes", "type": {"vec": {"defined": "Tree"}}}],
            },
        },
        {
            "name": "Mode",
            "type": {
                "kind": "enum",
                "variants": [{"name": "Fast"}, {"name": "At", "fields": ["u64"]}],
            },
        },
    ],
}


@pytest.fixture
def odd() -> Program:
    return load(IDL)


def test_an_odd_program_has_a_sound_stub(
    odd: Program, tmp_path: Path, cache: str
) -> None:
    (tmp_path / "odd_types.pyi").write_text(stub(odd))
    arguments = ["--strict", "--cache-dir", cache, str(tmp_path / "odd_types.pyi")]
    output, trouble, code = mypy.run(arguments)
    assert (trouble, code) == ("", 0), output


def test_names_of_the_program_do_not_hide_imports(odd: Program) -> None:
    assert "class Sequence2(TypedDict):" in stub(odd)


def test_a_keyword_is_a_key(odd: Program) -> None:
    assert "GoArgs = TypedDict('GoArgs', {\n    'class': int," in stub(odd)


def test_a_type_may_contain_itself(odd: Program) -> None:
    assert "class TreeInput(TypedDict):\n    nodes: Sequence[TreeInput]" in stub(odd)


def test_groups_of_accounts_are_nested(odd: Program) -> None:
    text = stub(odd)
    assert "class GoPairAccounts(TypedDict):\n    left: Address" in text
    assert "pair: GoPairAccounts" in text


def test_an_optional_account_may_be_none(odd: Program) -> None:
    assert "spare: NotRequired[Address | None]" in stub(odd)


def test_what_cannot_be_used_is_left_out_with_the_reason() -> None:
    idl = {**IDL, "types": []}
    text = stub(load(idl))
    assert "# go is left out: " in text
    assert "GoArgs" not in text
