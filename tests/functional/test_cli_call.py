"""`idl2mcp call`, on programs that every LiteSVM has: what it builds, simulates, sends and says."""

from __future__ import annotations

import base64
import json

import pytest
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from idl2mcp.json_input import plain_value
from idl2mcp.local_cluster import wallet
from tests.functional.cli import Cli

ACCOUNTS = (
    '{"source": "@alice_usdc", "destination": "@bob_usdc", "authority": "@alice"}'
)


def call(
    cli: Cli,
    amount: object,
    *more: object,
    accounts: str = ACCOUNTS,
    ix: str = "transfer",
) -> tuple[object, ...]:
    args = json.dumps({"amount": amount})
    return (
        "call",
        cli.idl,
        ix,
        "--args",
        args,
        "--accounts",
        accounts,
        "--setup",
        cli.setup,
        *more,
    )


def test_a_send_moves_tokens_and_the_ledger_remembers(cli: Cli) -> None:
    first = cli(
        *call(cli, "400000", "--mode", "send", "--ledger", "ledger.json", "--json")
    )
    assert first.code == 0, first.err
    moved = {
        c["address"]: c
        for c in first.json["simulation"]["balance_changes"]
        if c["mint"] != "SOL"
    }
    assert sorted(c["change"] for c in moved.values()) == ["-400000", "400000"]
    assert first.json["signature"]
    second = cli(
        *call(cli, "600000", "--mode", "send", "--ledger", "ledger.json", "--json")
    )
    assert second.code == 0, second.err
    third = cli(*call(cli, "1", "--mode", "send", "--ledger", "ledger.json", "--json"))
    assert third.code == 3
    assert third.json["error"]["reason"] == "program_failed"
    assert third.json["error"]["name"] == "InsufficientFunds"


def test_a_simulation_changes_nothing(cli: Cli) -> None:
    for _ in range(2):
        ran = cli(*call(cli, "1000000", "--ledger", "ledger.json"))
        assert ran.code == 0
        assert "-1 @usdc" in ran.out
    assert not (cli.folder / "ledger.json").exists()


def test_the_summary_names_what_people_need(cli: Cli) -> None:
    out = cli(*call(cli, "250000")).out
    assert "token · transfer" in out
    assert "amount = 250000" in out
    assert "@alice  signs, pays the fee" in out
    assert "simulation: succeeded" in out
    assert "+0.25 @usdc" in out
    assert "-0.000005 SOL" in out


def test_a_build_is_an_unsigned_transaction_and_needs_no_chain(cli: Cli) -> None:
    accounts = json.dumps(
        {k: str(wallet(k).pubkey()) for k in ("source", "destination", "authority")}
    )
    ran = cli(
        "call",
        cli.idl,
        "transfer",
        "--args",
        '{"amount": "7"}',
        "--accounts",
        accounts,
        "--mode",
        "build",
        "--json",
    )
    assert ran.code == 0, ran.err
    transaction = VersionedTransaction.from_bytes(
        base64.b64decode(ran.json["transaction"])
    )
    assert bytes(transaction.message.instructions[0].data) == bytes([3]) + (7).to_bytes(
        8, "little"
    )
    assert transaction.message.account_keys[0] == wallet("authority").pubkey()
    assert all(bytes(s) == bytes(64) for s in transaction.signatures)


def test_a_wrong_authority_fails_with_the_errors_name(cli: Cli) -> None:
    ran = cli(
        *call(cli, "5", "--json", accounts=ACCOUNTS.replace('"@alice"}', '"@mallory"}'))
    )
    assert ran.code == 3
    assert ran.json["error"]["code"] == 4
    assert ran.json["error"]["name"] == "OwnerMismatch"


@pytest.mark.parametrize(
    ("args", "accounts", "says"),
    [
        ('{"amount": -1}', ACCOUNTS, "amount"),
        ('{"amount": 18446744073709551616}', ACCOUNTS, "amount"),
        ('{"amount": 9007199254740993}', ACCOUNTS, "amount"),
        ('{"amount": "x"}', ACCOUNTS, "amount"),
        ("{}", ACCOUNTS, "amount"),
        ('{"amont": "1"}', ACCOUNTS, "amount"),
        ("[]", ACCOUNTS, "--args"),
        ('{"amount": NaN}', ACCOUNTS, "NaN"),
        ('{"amount": "1", "amount": "2"}', ACCOUNTS, "twice"),
        ('{"amount":', ACCOUNTS, "--args"),
        ("@nowhere.json", ACCOUNTS, "nowhere.json"),
        (
            '{"amount": "1"}',
            '{"source": "@alice_usdc", "authority": "@alice"}',
            "destination",
        ),
        ('{"amount": "1"}', ACCOUNTS.replace("source", "sauce"), "source"),
        ('{"amount": "1"}', ACCOUNTS.replace("@alice_usdc", "zzz"), "source"),
        ('{"amount": "1"}', ACCOUNTS.replace("@bob_usdc", "@bob_usd"), "bob_usdc"),
        ('{"amount": "1"}', ACCOUNTS.replace('"@bob_usdc"', "null"), "destination"),
    ],
)
def test_wrong_arguments_exit_1_and_name_the_field(
    cli: Cli, args: str, accounts: str, says: str
) -> None:
    ran = cli(
        "call",
        cli.idl,
        "transfer",
        "--args",
        args,
        "--accounts",
        accounts,
        "--setup",
        cli.setup,
    )
    assert (ran.code, ran.out) == (1, "")
    assert says in ran.err
    assert ran.err.count("Error: ") == 1


def test_an_unknown_instruction_is_answered_with_the_nearest(cli: Cli) -> None:
    ran = cli("call", cli.idl, "transfr", "--setup", cli.setup)
    assert ran.code == 1
    assert "Did you mean 'transfer'" in ran.err


def test_a_signer_whose_key_is_not_here_is_named(cli: Cli) -> None:
    stranger = str(Pubkey.from_bytes(bytes([7]) * 32))
    accounts = json.dumps(
        {"source": "@alice_usdc", "destination": "@bob_usdc", "authority": stranger}
    )
    ran = cli(*call(cli, "5", "--mode", "send", "--payer", "@alice", accounts=accounts))
    assert ran.code != 0
    assert stranger in ran.err or "OwnerMismatch" in ran.err


def test_a_file_that_is_no_program_is_refused(cli: Cli) -> None:
    for content in (b"#!/bin/sh", b"\x7fELF" + bytes(100), b""):
        path = cli.write("prog.so", content)
        for args in (
            ("list-tools", path),
            ("call", cli.idl, "transfer", "--so", path),
            ("inspect", path),
        ):
            ran = cli(*args)
            assert ran.code == 1
            assert "prog.so" in ran.err


# --- one argument, one account ----------------------------------------------------------------------------------------


def test_arguments_and_accounts_are_given_one_by_one(cli: Cli) -> None:
    accounts = ("--account", "source=@alice_usdc", "--account", "destination=@bob_usdc")
    single = (
        "call",
        cli.idl,
        "transfer",
        "--setup",
        cli.setup,
        *accounts,
        "--arg",
        "amount=5",
    )
    ran = cli(*single, "--account", "authority=@alice", "--json")
    assert ran.code == 0, ran.err
    together = cli(*call(cli, "5", "--json"))
    assert ran.json == together.json
    mixed = cli(*single, "--accounts", '{"authority": "@alice"}', "--json")
    assert mixed.json == together.json


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--arg", "amount"), "expected NAME=VALUE, got 'amount'"),
        (("--arg", "=5"), "expected NAME=VALUE"),
        (("--arg", "amount=5", "--arg", "amount=6"), "'amount' is given twice"),
        (("--arg", "amount=5", "--args", '{"amount": "5"}'), "'amount' is given twice"),
        (
            ("--account", "source=@alice", "--account", "source=@bob"),
            "'source' is given twice",
        ),
        (("--arg", "amount=much"), "expected an integer"),
    ],
)
def test_a_pair_that_is_none_is_refused(
    cli: Cli, options: tuple[str, ...], says: str
) -> None:
    ran = cli("call", cli.idl, "transfer", "--mode", "build", *options)
    assert ran.code == 1
    assert says in ran.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", "5"),
        ("-5", "-5"),
        ("1.5", "1.5"),
        (
            "340282366920938463463374607431768211455",
            "340282366920938463463374607431768211455",
        ),
        ("hello", "hello"),
        ("", ""),
        ('"5"', "5"),
        ("true", True),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ('{"a": 1}', {"a": 1}),
        ("{broken", "{broken"),
        ("NaN", "NaN"),
    ],
)
def test_a_value_is_json_or_text(text: str, value: object) -> None:
    found = plain_value(text)
    assert (type(found), found) == (type(value), value)


def test_all_missing_accounts_are_named_at_once(cli: Cli) -> None:
    ran = cli(
        "call", cli.idl, "transfer", "--mode", "build", "--arg", "amount=5", "--json"
    )
    assert (ran.code, ran.json["error"]["reason"]) == (1, "missing_account")
    assert ran.json["error"]["account"] == "source"
    assert ran.json["error"]["also"] == ["destination", "authority"]
    part = ("--account", f"destination={wallet('bob').pubkey()}")
    some = cli(
        "call",
        cli.idl,
        "transfer",
        "--mode",
        "build",
        "--arg",
        "amount=5",
        *part,
        "--json",
    )
    assert some.json["error"]["also"] == ["authority"]


def test_all_missing_accounts_are_named_at_once_as_the_bridge_names_them(
    cli: Cli,
) -> None:
    ran = cli("call", "vault", "deposit", "--arg", "amount=5")
    assert ran.code == 1
    assert "deposit.vault" in ran.err
    assert "Also to be given: depositor" in ran.err


def test_one_argument_and_one_account_can_be_given_by_name(cli: Cli) -> None:
    command = ["call", cli.idl, "transfer", "--setup", cli.setup, "--arg", "amount=5"]
    accounts = {
        "source": "@alice_usdc",
        "destination": "@bob_usdc",
        "authority": "@alice",
    }
    for name, address in accounts.items():
        command += ["--account", f"{name}={address}"]
    ran = cli(*command)
    assert ran.code == 0, ran.err
    assert "-0.000005 @usdc in @alice_usdc of @alice" in ran.out


def test_hints_have_the_names_of_the_setup(cli: Cli) -> None:
    accounts = {
        "source": "@alice_usdc",
        "destination": "@bob_usdc",
        "authority": "@bob",
    }
    ran = cli(
        *("call", cli.idl, "transfer", "--setup", cli.setup),
        *("--arg", "amount=5", "--accounts", json.dumps(accounts)),
    )
    assert ran.code == 3
    assert "source (@alice_usdc) holds" in ran.err
    assert "belongs to @alice" in ran.err


def test_known_mints_and_programs_have_names_on_a_public_chain() -> None:
    from idl2mcp.inputs import Source, book_of
    from mcpsol_py.solana import ids

    source = Source(None, "document", "a test", url="https://api.devnet.solana.com")  # type: ignore[arg-type]  # unread
    assert book_of(source).address("@usdc") == ids.DEVNET_USDC
    assert book_of(source).shown(ids.DEVNET_USDC) == "@usdc"
