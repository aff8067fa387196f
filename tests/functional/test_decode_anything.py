"""`account` and `decode` without a SOURCE: programs are read by the schema that they have on the chain."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from solders.keypair import Keypair
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import connect_sync
from mcpsol_py.solana.base58 import b58encode
from tests.functional.cli import SETUP, Cli
from tests.functional.loaded import COUNTER_SO, DeployingChain, Moving
from tests.functional.svm_node import listening


class World:
    """The counter on a chain, and a transaction that has made one."""

    def __init__(self) -> None:
        self.chain = DeployingChain()
        self.chain.program = Keypair.from_seed(bytes([8] * 32))
        self.chain.deploy(COUNTER_SO.read_bytes())
        client = connect_sync(
            self.chain.program.pubkey(), self.chain, wallet=self.chain.wallet
        )
        made = client.build("initialize", {"start": "41"}, {})
        self.signature = client.send([made])
        self.counter = made.accounts[0].pubkey
        self.url = ""

    @property
    def result(self) -> dict[str, Any]:
        """What the node answers to getTransaction with encoding base64."""
        found = self.chain.landed(Signature.from_string(str(self.signature)))
        record = asyncio.run(found)
        assert record is not None
        return record


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    world = World()
    with listening(Moving(world.chain)) as world.url:
        yield world


def as_json_encoding(result: dict[str, Any]) -> dict[str, Any]:
    """The same result in a node's encoding "json"."""
    sent = VersionedTransaction.from_bytes(base64.b64decode(result["transaction"][0]))
    header = sent.message.header
    return {
        **result,
        "transaction": {
            "signatures": list(map(str, sent.signatures)),
            "message": {
                "accountKeys": list(map(str, sent.message.account_keys)),
                "header": {
                    "numRequiredSignatures": header.num_required_signatures,
                    "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
                    "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts,
                },
                "recentBlockhash": str(sent.message.recent_blockhash),
                "instructions": [
                    {
                        "programIdIndex": ix.program_id_index,
                        "accounts": list(ix.accounts),
                        "data": b58encode(bytes(ix.data)),
                    }
                    for ix in sent.message.instructions
                ],
            },
        },
    }


def test_an_account_is_read_by_the_schema_of_its_owner(cli: Cli, world: World) -> None:
    ran = cli("account", world.counter, "--url", world.url, "--json")
    assert ran.code == 0, ran.err
    found = ran.json
    assert (found["program"], found["type"], found["fields"]["count"]) == (
        "counter",
        "State",
        "41",
    )
    assert found["program_id"] == str(world.chain.program.pubkey())
    named = cli(
        "account",
        world.chain.program.pubkey(),
        world.counter,
        "--url",
        world.url,
        "--json",
    )
    assert named.json["fields"] == found["fields"]


def test_accounts_that_need_no_schema_are_told(cli: Cli, world: World) -> None:
    wallet = cli(
        "account", world.chain.wallet.pubkey(), "--url", world.url, "--json"
    ).json
    assert (wallet["type"], wallet["program"]) == ("wallet", "System")
    program = cli(
        "account", world.chain.program.pubkey(), "--url", world.url, "--json"
    ).json
    assert program["type"] == "program"
    absent = cli("account", Keypair().pubkey(), "--url", world.url, "--json")
    assert (absent.code, absent.json["error"]["reason"]) == (1, "decode_error")
    assert cli("account", world.counter).code == 2


def test_a_token_account_and_a_mint_are_read_on_the_local_cluster(cli: Cli) -> None:
    local = ("--setup", cli.setup, "--ledger", cli.folder / "ledger.json")
    held = cli("account", "@alice_usdc", *local, "--json").json
    assert (held["type"], held["fields"]["amount"]) == ("token account", "1000000")
    mint = cli("account", "@usdc", *local, "--json").json
    assert (mint["type"], mint["fields"]["decimals"]) == ("mint", 6)
    assert held["fields"]["mint"] == mint["address"]
    assert "usdc" in SETUP


def assert_explained(found: dict[str, Any]) -> None:
    (row,) = found["instructions"]
    assert (row["program"], row["instruction"], row["args"]) == (
        "counter",
        "initialize",
        {"start": "41"},
    )
    assert any(call["program"] == "System" for call in row["calls"])
    changes = {change["address"]: change for change in found["balance_changes"]}
    assert len(changes) == 2
    assert sum(int(change["change"]) for change in changes.values()) == -int(
        found["fee"]
    )
    assert {change["mint"] for change in changes.values()} == {"SOL"}


def test_a_signature_is_explained_by_what_the_chain_knows(
    cli: Cli, world: World
) -> None:
    ran = cli("decode", world.signature, "--url", world.url, "--json")
    assert ran.code == 0, ran.err
    assert_explained(ran.json)


@pytest.mark.parametrize(
    "encode", [lambda result: result, as_json_encoding], ids=["base64", "json"]
)
@pytest.mark.parametrize(
    "wrap",
    [
        lambda result: result,
        lambda result: {"jsonrpc": "2.0", "id": 1, "result": result},
        lambda result: {"blockhash": "x", "transactions": [result]},
        lambda result: [result],
    ],
    ids=["result", "answer", "block", "list"],
)
def test_json_of_a_node_is_explained(
    cli: Cli, world: World, encode: Any, wrap: Any
) -> None:
    path = cli.write("landed.json", json.dumps(wrap(encode(world.result)), indent=2))
    ran = cli("decode", f"@{path}", "--url", world.url, "--json")
    assert ran.code == 0, ran.err
    assert_explained(ran.json)
    named = ("--program-id", world.chain.program.pubkey())
    offline = cli("decode", "counter", f"@{path}", *named, "--json")
    assert offline.json["instructions"][0]["instruction"] == "initialize"
    unknown = cli("decode", f"@{path}", "--json").json["instructions"][0]
    assert (unknown["program"], "instruction" in unknown) == ("unknown", False)


def test_lines_are_explained_one_by_one(cli: Cli, world: World) -> None:
    lines = [json.dumps(world.result), str(world.signature), "junk", '{"a": 1}', "{"]
    path = cli.write("landed.jsonl", "\n".join(lines) + "\n")
    ran = cli("decode", f"@{path}", "--url", world.url, "--json")
    assert ran.code == 1
    rows = ran.json["transactions"]
    for row in rows[:2]:
        assert_explained(row)
    assert [list(row) for row in rows[2:]] == [["error"]] * 3
    assert "Instruction data needs SOURCE" in rows[2]["error"]


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[",
        '{"transaction": 5}',
        '{"transaction": {"message": {}}}',
        "[1, 2]",
        "null",
        "{}",
    ],
)
def test_what_is_no_transaction_is_refused(cli: Cli, text: str) -> None:
    ran = cli("decode", text, "--json")
    assert ran.code == 1
    rows = ran.json.get("transactions", [ran.json])
    assert all("error" in row for row in rows)


def test_parsed_json_is_refused_with_what_to_do(cli: Cli, world: World) -> None:
    result = as_json_encoding(world.result)
    keys = result["transaction"]["message"]["accountKeys"]
    result["transaction"]["message"]["accountKeys"] = [{"pubkey": key} for key in keys]
    ran = cli("decode", json.dumps(result), "--json")
    assert (ran.code, "jsonParsed" in ran.json["error"]["message"]) == (1, True)
