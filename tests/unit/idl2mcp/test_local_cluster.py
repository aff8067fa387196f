"""The local cluster: names, setup, ledger."""

from pathlib import Path

import pytest
from solders.pubkey import Pubkey
from solders.token.state import TokenAccount

from idl2mcp.local_cluster import LocalCluster, is_local_name, wallet
from mcpsol_py.errors import SourceError, TransportError

SETUP = """
[wallets]
alice = 10
bob = 0.5
[mints.usdc]
decimals = 6
authority = "@alice"
[tokens.alice_usdc]
mint = "@usdc"
owner = "@alice"
amount = 1_000_000
[tokens.bob_usdc]
mint = "@usdc"
owner = "@bob"
[clock]
unix_timestamp = 1_700_000_000
"""


def cluster(ledger: Path | None = None) -> LocalCluster:
    return LocalCluster(ledger=ledger)


def setup_file(folder: Path, text: str = SETUP) -> Path:
    path = folder / "setup.toml"
    path.write_text(text)
    return path


def tokens(c: LocalCluster, name: str) -> int:
    account = c.svm.get_account(Pubkey.from_string(c.names[name]))
    assert account is not None
    amount: int = TokenAccount.from_bytes(bytes(account.data)).amount
    return amount


def test_a_setup_makes_what_it_lists(tmp_path: Path) -> None:
    c = cluster()
    c.apply_setup(setup_file(tmp_path))
    assert c.svm.get_balance(wallet("alice").pubkey()) == 10_000_000_000
    assert c.svm.get_balance(wallet("bob").pubkey()) == 500_000_000
    assert (tokens(c, "alice_usdc"), tokens(c, "bob_usdc")) == (1_000_000, 0)
    assert c.svm.get_clock().unix_timestamp == 1_700_000_000
    assert c.resolve({"a": ["@alice", "x"]}) == {
        "a": [str(wallet("alice").pubkey()), "x"]
    }


def test_a_setup_may_be_applied_again_and_a_ledger_remembers(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    first = cluster(ledger)
    first.apply_setup(setup_file(tmp_path))
    first.svm.airdrop(wallet("bob").pubkey(), 5)
    # solders 0.26 cannot know what to keep, and says so.
    if not hasattr(first.svm, "get_program_accounts"):
        with pytest.raises(TransportError, match=r"0\.27"):
            first.save()
        return
    first.save()
    second = cluster(ledger)
    assert second.svm.get_balance(wallet("bob").pubkey()) == 500_000_005
    second.apply_setup(setup_file(tmp_path, SETUP.replace("1_000_000", "9")))
    assert tokens(second, "alice_usdc") == 1_000_000
    assert second.svm.get_balance(wallet("bob").pubkey()) == 500_000_005
    second.save()
    before = ledger.read_bytes()
    cluster(ledger).save()
    assert ledger.read_bytes() == before


def test_an_unknown_name_is_a_wallet_with_money_of_its_own() -> None:
    c = cluster()
    assert c.address("@carol") == str(wallet("carol").pubkey())
    assert c.svm.get_balance(wallet("carol").pubkey()) == 100_000_000_000
    assert c.signer(str(wallet("carol").pubkey())) is not None
    assert c.signer("1" * 32) is None


def test_with_a_setup_other_names_are_slips(tmp_path: Path) -> None:
    c = cluster()
    c.apply_setup(setup_file(tmp_path))
    with pytest.raises(SourceError, match="Did you mean 'bob_usdc'"):
        c.address("@bob_usd")


@pytest.mark.parametrize(
    "text", ["alice", "@Alice", "@", "@a b", "@" + "a" * 33, 5, None]
)
def test_what_is_no_name(text: object) -> None:
    assert not is_local_name(text)


def test_known_only_leaves_other_text_alone() -> None:
    c = cluster()
    c.wallet("alice")
    assert c.resolve(["@alice", "@handle"], known_only=True) == [
        str(wallet("alice").pubkey()),
        "@handle",
    ]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("walets = {}", "walets"),
        ("wallets = 5", "wallets"),
        ('[wallets]\nalice = "ten"', "wallets.alice"),
        ("[wallets]\nalice = -1", "wallets.alice"),
        ("[wallets]\nAlice = 1", "wallets"),
        ("[mints.usdc]\ndecimals = 256", "mints.usdc.decimals"),
        ('[mints.usdc]\nprogram = "spl"', "mints.usdc.program"),
        ("[mints.usdc]\ndecimal = 2", "mints.usdc.decimal"),
        ('[tokens.a]\nowner = "@alice"', "tokens.a.mint"),
        ("[clock]\nslot = -1", "clock.slot"),
        ('[tokens.a]\nowner = "@alice"\nmint = "@bob"', "tokens.a.mint"),
        ('[tokens.a]\nowner = "nobody"\nmint = "@bob"', "tokens.a.owner"),
        ('[programs.p]\nid = "x"\nfile = "absent.so"', "programs.p.file"),
        ("[clock]\nunix_timestamp = 1.5", "clock.unix_timestamp"),
        (
            "[mints.usdc]\n[tokens.a]\nowner='@b'\nmint='@usdc'\namount=-1",
            "tokens.a.amount",
        ),
    ],
)
def test_a_setup_that_is_none_is_refused_with_its_place(
    tmp_path: Path, text: str, path: str
) -> None:
    with pytest.raises(SourceError) as caught:
        cluster().apply_setup(setup_file(tmp_path, text))
    assert caught.value.path == path
    assert caught.value.origin == str(tmp_path / "setup.toml")


@pytest.mark.parametrize(
    "text",
    [
        "no json",
        "[]",
        '{"format": "other"}',
        '{"format": "mcpsol ledger 1", "accounts": []}',
        '{"format": "mcpsol ledger 1", "accounts": {"x": {}}}',
        '{"format": "mcpsol ledger 1", "accounts": {"11111111111111111111111111111112": {"lamports": -1, "data": ""}}}',
    ],
)
def test_a_ledger_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "ledger.json"
    path.write_text(text)
    with pytest.raises(SourceError):
        cluster(path)


def test_a_program_must_be_one() -> None:
    with pytest.raises(SourceError):
        cluster().add_program(b"#!/bin/sh", wallet("p").pubkey(), "p.so")
    with pytest.raises(SourceError):
        cluster().add_program(b"\x7fELF" + bytes(64), wallet("p").pubkey(), "p.so")
