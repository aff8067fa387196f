"""The bundled programs through the command line: the demo, and the vault's tokens going in and out (issue 3, Done
when).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mcpsol_py.bundled import bundled_programs, bundled_so
from tests.functional.cli import Cli

VAULT_SETUP = """
[wallets]
alice = 10
mallory = 1
[mints.coin]
decimals = 6
[tokens.alice_coin]
mint = "@coin"
owner = "@alice"
amount = 1_000_000
[tokens.mallory_coin]
mint = "@coin"
owner = "@mallory"
"""


def test_the_demo_goes_the_whole_way_offline(cli: Cli) -> None:
    ran = cli("demo", "--json")
    assert ran.code == 0, ran.err
    steps = ran.json["steps"]
    assert len(steps) >= 12
    tools = {tool for step in steps for tool in step.get("tools", ())}
    assert {"increment", "deposit", "counter_increment", "vault_withdraw"} <= tools
    fields = [step["fields"] for step in steps if "fields" in step]
    assert [f["count"] for f in fields] == ["42", "142"]
    assert ["Underflow", "ConstraintHasOne"] in [step.get("errors") for step in steps]
    assert "WrongAuthority" in [step.get("error") for step in steps]
    text = cli("demo")
    assert text.code == 0
    assert "vault.deposit" in text.out


@pytest.mark.parametrize("source", ["vault", "so"])
def test_the_vault_takes_and_gives_back_real_tokens(
    cli: Cli, repo: Path, source: str
) -> None:
    source = str(bundled_so("vault")) if source == "so" else source
    setup = cli.write("vault.toml", VAULT_SETUP)

    def call(ix: str, accounts: dict[str, str], *more: str) -> dict[str, object]:
        ran = cli(
            "call",
            source,
            ix,
            "--accounts",
            json.dumps(accounts),
            "--setup",
            setup,
            "--ledger",
            "l.json",
            "--json",
            *more,
        )
        document: dict[str, object] = {"code": ran.code, **ran.json}
        return document

    made = call(
        "initialize", {"mint": "@coin", "authority": "@alice"}, "--mode", "send"
    )
    assert made["code"] == 0
    box = next(a["address"] for a in made["accounts"] if a["name"] == "vault")  # type: ignore[attr-defined]  # a list
    put = {
        "vault": box,
        "source": "@alice_coin",
        "mint": "@coin",
        "depositor": "@alice",
    }
    put_in = call("deposit", put, "--args", '{"amount": "400000"}', "--mode", "send")
    assert _moved(put_in) == ["-400000", "400000"]
    take = {
        "vault": box,
        "destination": "@alice_coin",
        "mint": "@coin",
        "authority": "@alice",
    }
    taken = call("withdraw", take, "--args", '{"amount": "150000"}', "--mode", "send")
    assert _moved(taken) == ["-150000", "150000"]
    assert taken["simulation"]["returns"] == "250000"  # type: ignore[index]  # an object
    theirs = {**take, "authority": "@mallory", "destination": "@mallory_coin"}
    refused = call("withdraw", theirs, "--args", '{"amount": "1"}', "--mode", "send")
    assert refused["code"] == 3
    assert refused["error"]["name"] == "WrongAuthority"  # type: ignore[index]  # an object


def _moved(document: dict[str, object]) -> list[str]:
    changes = document["simulation"]["balance_changes"]  # type: ignore[index]  # an object
    return sorted(c["change"] for c in changes if c["mint"] != "SOL")


@pytest.mark.parametrize("name", ["counter", "vault"])
def test_a_program_says_of_itself_what_its_spec_says(cli: Cli, name: str) -> None:
    folder = bundled_programs()[name]
    spec = os.fspath(folder / "spec.py")
    ran = cli("verify", folder / f"{name}.so", "--against", spec, "--json")
    assert ran.json["differences"] == []
    assert ran.code == 0
    tools = cli("list-tools", name, "--json", "--pages").json
    assert tools["pages"]
    assert all(
        len(page.encode()) <= 1024 for page in tools["pages"] if page.startswith("{")
    )


def test_two_calls_see_one_another_only_through_a_ledger(cli: Cli) -> None:
    one = (
        "call",
        "counter",
        "initialize",
        "--args",
        '{"start": "1"}',
        "--accounts",
        '{"authority": "@alice"}',
    )
    two = (
        "call",
        "counter",
        "increment",
        "--args",
        '{"amount": "1"}',
        "--accounts",
        '{"authority": "@alice"}',
    )
    assert cli(*one, "--mode", "send").code == 0
    assert cli(*two).code == 3
    assert cli(*one, "--mode", "send", "--ledger", "l.json").code == 0
    assert cli(*two, "--ledger", "l.json").code == 0
    # It is there already.
    assert cli(*one, "--mode", "send", "--ledger", "l.json").code == 3
