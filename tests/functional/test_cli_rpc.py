"""The command line and the bridge against a JSON-RPC endpoint: deployed programs found, called, sent to and served."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from solders.keypair import Keypair

from idl2mcp.local_cluster import wallet
from mcpsol_py.client.keys import create_keystore
from tests.functional.cli import TOKEN_IDL, Cli
from tests.functional.svm_node import listening
from tests.support.rpc_nodes import COUNTER, IDL_AT, JUNK_AT, NOTHING_AT, Node
from tests.support.signing_service import service


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    it = Node(tmp_path)
    with listening(it.node) as url:
        it.url = url
        yield it


def test_a_deployed_program_is_asked_for_its_tools(cli: Cli, node: Node) -> None:
    ran = cli("list-tools", COUNTER, "--url", node.url, "--json")
    assert ran.code == 0, ran.err
    assert [t["name"] for t in ran.json["tools"]] == [
        "initialize",
        "increment",
        "decrement",
        "close",
    ]
    assert ran.json["source"] == "list_tools"
    assert cli("verify", COUNTER, "--against", "counter", "--url", node.url).code in (
        0,
        1,
    )


def test_a_program_without_pages_is_read_from_its_idl_account(
    cli: Cli, node: Node
) -> None:
    ran = cli("inspect", IDL_AT, "--url", node.url, "--json")
    assert ran.code == 0, ran.err
    assert "Anchor IDL account" in ran.json["source"]
    assert len(ran.json["instructions"]) == 3


def test_fetch_tells_absent_from_corrupt(cli: Cli, node: Node) -> None:
    found = cli("fetch", IDL_AT, "--url", node.url)
    assert found.code == 0
    assert json.loads(found.out) == TOKEN_IDL
    assert "Anchor IDL account" in found.err
    for at, outcome in ((JUNK_AT, "corrupt"), (NOTHING_AT, "absent")):
        ran = cli("fetch", at, "--url", node.url, "--json")
        assert (ran.code, ran.json["outcome"]) == (3, outcome)
        assert not cli(
            "fetch", at, "--url", node.url, "--out", "idl.json"
        ).out.startswith("{")
        assert not (cli.folder / "idl.json").exists()


def test_an_address_without_a_program_is_said_to_have_none(
    cli: Cli, node: Node
) -> None:
    ran = cli("inspect", NOTHING_AT, "--url", node.url, "--json")
    assert ran.code == 3
    assert ran.json["error"]["reason"] == "no_program"
    assert "API-KEY" not in ran.out + ran.err


def test_a_call_is_built_simulated_and_sent(cli: Cli, node: Node) -> None:
    alice = str(wallet("alice").pubkey())
    base = (
        "call",
        COUNTER,
        "initialize",
        "--url",
        node.url,
        "--args",
        '{"start": "5"}',
        "--json",
    )
    accounts = ("--accounts", json.dumps({"authority": alice}))
    built = cli(*base, *accounts, "--mode", "build")
    assert built.code == 0, built.err
    assert built.json["transaction"]
    simulated = cli(*base, *accounts)
    assert simulated.json["simulation"]["events"][0]["fields"]["count"] == "5"
    assert "sendTransaction" not in node.node.calls
    unsigned = cli(*base, *accounts, "--mode", "send")
    assert unsigned.code == 1
    assert alice in unsigned.err
    sent = cli(*base, "--mode", "send", "--signer", node.key)
    assert sent.code == 0, sent.err
    assert node.node.calls.count("sendTransaction") == 1
    again = cli(*base, "--mode", "send", "--signer", node.key)
    assert again.code == 3
    # Its simulation failed, so it was not sent.
    assert node.node.calls.count("sendTransaction") == 1


@pytest.mark.parametrize("names_the_address", [True, False])
def test_a_signing_service_signs_a_call(
    cli: Cli, node: Node, names_the_address: bool
) -> None:
    alice, asked = wallet("alice"), list[dict[str, str]]()

    def signs(request: dict[str, Any]) -> tuple[int, Any]:
        message = base64.b64decode(request["message"])
        return 200, {"signature": str(alice.sign_message(message))}

    def refuses(_request: dict[str, Any]) -> tuple[int, Any]:
        return 403, {"error": "not today"}

    base = [
        "call",
        COUNTER,
        "initialize",
        "--url",
        node.url,
        "--arg",
        "start=5",
        "--mode",
        "send",
    ]
    for answer, code in ((refuses, 1), (signs, 0)):
        with service(answer, asked) as there:
            name = f"{alice.pubkey()}={there}" if names_the_address else there
            known = [] if names_the_address else ["--wallet", alice.pubkey()]
            ran = cli(*base, "--signer", name, *known)
        assert ran.code == code, ran.err
        assert ("not today" in ran.err) == (answer is refuses)
    assert node.node.calls.count("sendTransaction") == 1
    assert {one["address"] for one in asked} == {str(alice.pubkey())}


def test_an_encrypted_key_file_signs_a_call(
    cli: Cli, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcpsol_py.client.keys._N", 1 << 10)
    monkeypatch.setattr("mcpsol_py.client.keys._N_MIN", 1 << 10)
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "correct horse battery")
    file = cli.folder / "alice.sealed.json"
    create_keystore(file, wallet("alice"), "correct horse battery")
    base = ("call", COUNTER, "initialize", "--url", node.url, "--arg", "start=5")
    assert cli(*base, "--mode", "send", "--signer", file).code == 0
    assert node.node.calls.count("sendTransaction") == 1


def test_accounts_and_transactions_are_decoded(cli: Cli, node: Node) -> None:
    base = (
        "call",
        COUNTER,
        "initialize",
        "--url",
        node.url,
        "--arg",
        "start=5",
        "--json",
    )
    sent = cli(*base, "--mode", "send", "--signer", node.key)
    assert sent.code == 0, sent.err
    address = next(
        a["address"] for a in sent.json["accounts"] if a["name"] == "counter"
    )
    for options in ((), ("--type", "State")):
        read = cli("account", COUNTER, address, "--url", node.url, *options, "--json")
        assert read.code == 0, read.err
        assert (read.json["type"], read.json["fields"]["count"]) == ("State", "5")
    for missing in (NOTHING_AT, str(wallet("alice").pubkey())):
        assert cli("account", COUNTER, missing, "--url", node.url).code == 1
    by_signature = cli(
        "decode", COUNTER, sent.json["signature"], "--url", node.url, "--json"
    )
    assert by_signature.code == 0, by_signature.err
    assert by_signature.json["instructions"][0]["args"] == {"start": "5"}
    assert by_signature.json["events"][0]["fields"]["count"] == "5"
    data = cli("decode", "counter", sent.json["data"], "--json")
    assert data.json["instructions"][0]["instruction"] == "initialize"
    again = cli(
        *base[:-1], "--mode", "build", "--wallet", wallet("bob").pubkey(), "--json"
    )
    whole = cli("decode", "counter", again.json["transaction"], "--json")
    assert whole.json["fee_payer"] == str(wallet("bob").pubkey())
    assert whole.json["instructions"][0]["args"] == {"start": "5"}
    assert cli("decode", "counter", "0xffff").code == 1
    assert cli("account", cli.idl, address).code == 2
    assert cli("decode", cli.idl, sent.json["signature"]).code == 2


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1, 2]", "not json", json.dumps(["x"] * 64), json.dumps([1] * 64)],
)
def test_a_key_file_that_is_none_is_refused_without_showing_it(
    cli: Cli, node: Node, content: str
) -> None:
    path = cli.write("key.json", content)
    ran = cli(
        "call", COUNTER, "close", "--url", node.url, "--mode", "send", "--signer", path
    )
    assert ran.code == 1
    assert "key.json" in ran.err
    assert not content or content not in ran.err


def test_an_endpoint_that_does_not_answer_exits_3_without_its_key(cli: Cli) -> None:
    for url in ("http://127.0.0.1:9/v2/API-KEY", "http://127.0.0.1:9?token=API-KEY"):
        ran = cli("inspect", COUNTER, "--url", url, "--json")
        assert ran.code == 3
        assert ran.json["error"]["reason"] == "transport_error"
        assert "API-KEY" not in ran.out + ran.err


async def test_a_deployed_program_is_served(cli: Cli, node: Node) -> None:
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "idl2mcp", "serve", COUNTER, "--url", node.url],
        cwd=str(cli.folder),
    )
    alice = str(wallet("alice").pubkey())
    async with Client(parameters) as client:
        tools = {t.name for t in (await client.list_tools()).tools}
        assert {"increment", "get_state", "list_state"} <= tools
        made = await client.call_tool(
            "initialize", {"start": "5", "accounts": {"authority": alice}}
        )
        assert not made.is_error
        failed = await client.call_tool(
            "increment", {"amount": "5", "accounts": {"authority": alice}}
        )
        assert failed.is_error
        node.node.down.add("*")
        down = await client.call_tool("get_balance", {"address": alice})
    assert down.is_error
    assert "API-KEY" not in repr(down)
    assert "TOKEN" not in repr(down)


@pytest.mark.parametrize(("genesis", "sent"), [("local", True), ("mainnet", False)])
async def test_sending_asks_the_chain_which_cluster_it_is(
    cli: Cli, node: Node, genesis: str, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if genesis == "mainnet":
        node.node.genesis = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
    from mcpsol_py.client.keys import create_keystore

    create_keystore(cli.folder / "agent.json", wallet("alice"), "correct horse")
    config = f"""
mode = "send"
keystore = "agent.json"
audit = "audit.jsonl"
url = "{node.url}"
[[program]]
source = "{COUNTER}"
[policy]
clusters = ["local"]
[[policy.program]]
id = "{COUNTER}"
instructions = ["*"]
[policy.outflow.SOL]
per_call = 10_000_000
per_day = 10_000_000
"""
    import os

    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "idl2mcp", "serve", "--config", cli.write("bridge.toml", config)],
        cwd=str(cli.folder),
        env={**os.environ, "IDL2MCP_PASSPHRASE": "correct horse"},
    )
    async with Client(parameters) as client:
        made = await client.call_tool("initialize", {"start": "5"})
    assert made.is_error is not sent
    assert node.node.calls.count("sendTransaction") == int(sent)
    if sent:
        assert cli("audit", "audit.jsonl", "--json").json["events"] == {
            "intent": 1,
            "signed": 1,
            "sent": 1,
        }
        assert cli("audit", "audit.jsonl", "--keystore", "agent.json").code == 0


async def test_a_wrong_passphrase_starts_no_server(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcpsol_py.client.keys import create_keystore

    create_keystore(cli.folder / "agent.json", Keypair(), "correct horse")
    monkeypatch.setenv("IDL2MCP_PASSPHRASE", "wrong horse")
    config = (
        f'mode = "send"\nkeystore = "agent.json"\n[[program]]\nsource = "{cli.idl}"\n'
    )
    ran = cli("serve", "--config", cli.write("bridge.toml", config))
    assert ran.code == 1
    assert "passphrase" in ran.err
