"""`idl2mcp sign`: transactions that somebody else built, shown, asked about, signed and sent."""

from __future__ import annotations

import base64
import io
import json
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTableAccount
from solders.compute_budget import (
    request_heap_frame,
    set_compute_unit_limit,
    set_compute_unit_price,
)
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import (
    AdvanceNonceAccountParams,
    TransferParams,
    advance_nonce_account,
    create_nonce_account,
    transfer,
)
from solders.transaction import Transaction, VersionedTransaction

from idl2mcp import terminal
from mcpsol_py.client.simulation import unsigned
from mcpsol_py.solana.addresses import (
    ADDRESS_LOOKUP_TABLE_PROGRAM,
    ASSOCIATED_TOKEN_PROGRAM,
    COMPUTE_BUDGET,
    SYSTEM_PROGRAM,
    TOKEN_PROGRAM,
)
from mcpsol_py.solana.base58 import b58encode
from mcpsol_py.solana.nonce import read_nonce
from mcpsol_py.solana.pda import associated_token
from tests.functional.cli import Cli, Ran
from tests.functional.svm_node import listening
from tests.support.key_files import write_key
from tests.support.rpc_nodes import COUNTER, Node
from tests.support.signing_service import service
from tests.support.terminal import Terminal

ALICE = Keypair.from_seed(bytes([61] * 32))
BOB = Keypair.from_seed(bytes([62] * 32))
SHOP = Pubkey(bytes([63] * 32))
MINT = Pubkey(bytes([65] * 32))
SOL = 10**9


class Desk:
    """A chain with alice's and bob's money, their key files, and `idl2mcp sign` on it."""

    def __init__(self, cli: Cli, node: Node) -> None:
        self.cli, self.node, self.svm = cli, node.node, node.local.transport
        self.url = node.url
        for person in (ALICE, BOB):
            self.svm.airdrop(person.pubkey(), 10 * SOL)
        self.alice = write_key(cli.folder / "alice-key.json", ALICE)
        self.bob = write_key(cli.folder / "bob-key.json", BOB)

    def __call__(self, tx: object, *more: object) -> Ran:
        return self.cli("sign", tx, "--url", self.url, *more)

    @property
    def blockhash(self) -> Hash:
        return self.svm.svm.latest_blockhash()

    def pays(
        self, *payers: Keypair, lamports: int = SOL, blockhash: Hash | None = None
    ) -> str:
        """A transaction in which each of *payers* pays the shop. The first pays the fee."""
        moves = [
            transfer(
                TransferParams(
                    from_pubkey=p.pubkey(), to_pubkey=SHOP, lamports=lamports
                )
            )
            for p in payers
        ]
        return self.made(moves, payers[0].pubkey(), blockhash)

    def made(
        self,
        instructions: Sequence[Instruction],
        payer: Pubkey,
        blockhash: Hash | None = None,
        tables: Sequence[AddressLookupTableAccount] = (),
    ) -> str:
        """An unsigned transaction in base64."""
        message = MessageV0.try_compile(
            payer, list(instructions), list(tables), blockhash or self.blockhash
        )
        return base64.b64encode(bytes(unsigned(message))).decode()

    def has(self, address: Pubkey) -> int:
        return self.svm.svm.get_balance(address) or 0

    @property
    def sent(self) -> int:
        return self.node.calls.count("sendTransaction")


@pytest.fixture
def desk(cli: Cli, tmp_path: Path, quick_retries: None) -> Iterator[Desk]:
    node = Node(tmp_path)
    with listening(node.node) as url:
        node.url = url
        yield Desk(cli, node)


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """What the person at the terminal does at each question: answers, or a function that is called first."""
    prepared: list[Any] = []

    def confirm(question: str) -> bool:
        assert question.endswith("this?")
        answer = prepared.pop(0)
        return bool(answer() if callable(answer) else answer)

    monkeypatch.setattr(terminal, "is_there", lambda: True)
    monkeypatch.setattr(terminal, "confirm", confirm)
    yield prepared
    assert prepared == []  # every question was asked


# --- signing and sending ----------------------------------------------------------------------------------------------


def test_what_a_bridge_hands_out_is_shown_signed_and_sent(desk: Desk) -> None:
    who = json.dumps({"authority": str(ALICE.pubkey())})
    built = desk.cli(
        *("call", COUNTER, "initialize", "--url", desk.url, "--args", '{"start": "5"}'),
        *("--accounts", who, "--mode", "build", "--json"),
    )
    ran = desk(
        built.json["transaction"], "--signer", desk.alice, "--send", "--yes", "--json"
    )
    assert ran.code == 0, ran.err
    assert "counter · initialize" in ran.err
    assert "start = 5" in ran.err
    assert f"leaves {ALICE.pubkey()}: " in ran.err
    assert ran.json["instructions"][0]["args"] == {"start": "5"}
    assert ran.json["simulation"]["events"][0]["fields"]["count"] == "5"
    assert ran.json["effects"][0]["wallet"] == str(ALICE.pubkey())
    assert ran.json["missing_signatures"] == []
    signed = VersionedTransaction.from_bytes(base64.b64decode(ran.json["transaction"]))
    assert str(signed.signatures[0]) == ran.json["signature"]
    assert desk.sent == 1


def test_without_send_it_is_only_signed(desk: Desk) -> None:
    ran = desk(desk.pays(ALICE), "--signer", desk.alice, "--yes")
    assert ran.code == 0, ran.err
    assert all(
        VersionedTransaction.from_bytes(base64.b64decode(ran.out)).verify_with_results()
    )
    assert f"leaves {ALICE.pubkey()}: 1.000005 SOL" in ran.err
    assert (desk.sent, desk.has(SHOP)) == (0, 0)
    sent = desk(ran.out.strip(), "--send", "--yes")
    assert sent.code == 0, sent.err
    assert sent.out.startswith("sent: ")
    assert desk.has(SHOP) == SOL


@pytest.mark.parametrize(
    "form", ["base58", "base64", "text", "bytes", "result", "tool", "stdin"]
)
def test_a_transaction_comes_in_any_form(
    desk: Desk, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = desk.pays(ALICE)
    raw = base64.b64decode(text)
    contents: dict[str, Any] = {
        "text": text + "\n",
        "bytes": raw,
        "result": {"mode": "build", "transaction": text},
        "tool": {"structuredContent": {"transaction": text}},
    }
    words = {"base58": b58encode(raw), "base64": text, "stdin": "-"}
    given = words[form] if form in words else "@" + desk.cli.write("tx", contents[form])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    ran = desk(given, "--signer", desk.alice, "--send", "--yes")
    assert ran.code == 0, ran.err
    assert desk.has(SHOP) == SOL


@pytest.mark.parametrize(
    "content",
    [
        "",
        "zz",
        "{}",
        '{"transaction": 5}',
        "[1]",
        "{",
        b"\xff\xfe",
        "A" * (1 << 20) + "A",
    ],
)
def test_what_is_no_transaction_is_refused(desk: Desk, content: str | bytes) -> None:
    ran = desk(desk.cli.write("tx", content), "--signer", desk.alice, "--yes")
    assert ran.code == 1
    assert "expected" in ran.err


def test_a_missing_file_is_named(desk: Desk) -> None:
    ran = desk("@nowhere.txt", "--signer", desk.alice, "--yes")
    assert ran.code == 1
    assert "nowhere.txt: No such file" in ran.err


# --- several signers --------------------------------------------------------------------------------------------------


def test_each_signer_adds_a_signature_and_the_last_one_sends(desk: Desk) -> None:
    first = desk(desk.pays(ALICE, BOB), "--signer", desk.alice, "--yes", "--json")
    assert first.code == 0, first.err
    assert first.json["missing_signatures"] == [str(BOB.pubkey())]
    assert f"it still needs the signatures of {BOB.pubkey()}" in first.err
    assert [row["state"] for row in first.json["signatures"]] == [
        "signs here",
        "missing",
    ]
    early = desk(first.json["transaction"], "--send", "--yes")
    assert early.code == 1
    assert f"cannot be sent before {BOB.pubkey()}" in early.err
    second = desk(
        first.json["transaction"], "--signer", desk.bob, "--send", "--yes", "--json"
    )
    assert second.code == 0, second.err
    assert [row["state"] for row in second.json["signatures"]] == [
        "signed",
        "signs here",
    ]
    assert [row["wallet"] for row in second.json["effects"]] == [str(BOB.pubkey())]
    assert desk.has(SHOP) == 2 * SOL


def test_all_signers_at_once(desk: Desk) -> None:
    keys = ("--signer", desk.bob, "--signer", desk.alice)
    assert desk(desk.pays(ALICE, BOB), *keys, "--send", "--yes").code == 0
    assert desk.has(SHOP) == 2 * SOL


def test_a_signer_that_is_not_asked_for_is_refused(desk: Desk) -> None:
    ran = desk(desk.pays(ALICE), "--signer", desk.bob, "--yes", "--json")
    assert (ran.code, ran.json["error"]["reason"]) == (1, "cannot_sign")
    assert (
        f"does not need {BOB.pubkey()}; it needs signatures of {ALICE.pubkey()}"
        in ran.err
    )


def test_a_transaction_that_was_changed_after_a_signature_is_refused(
    desk: Desk,
) -> None:
    signed = desk(desk.pays(ALICE, BOB), "--signer", desk.alice, "--yes", "--json").json
    raw = VersionedTransaction.from_bytes(base64.b64decode(signed["transaction"]))
    other = VersionedTransaction.from_bytes(
        base64.b64decode(desk.pays(ALICE, BOB, lamports=2))
    )
    swapped = VersionedTransaction.populate(other.message, raw.signatures)
    text = base64.b64encode(bytes(swapped)).decode()
    for options in (("--signer", desk.bob), ("--signer", desk.bob, "--send")):
        ran = desk(text, *options, "--yes")
        assert ran.code == 1
        assert f"changed after {ALICE.pubkey()} signed" in ran.err
    assert desk.sent == 0


# --- blockhashes ------------------------------------------------------------------------------------------------------


def test_an_expired_blockhash_is_replaced_while_nobody_has_signed(desk: Desk) -> None:
    old = desk.pays(ALICE)
    desk.svm.expire_blockhash()
    ran = desk(old, "--signer", desk.alice, "--send", "--yes")
    assert ran.code == 0, ran.err
    assert "it gets a new one" in ran.err
    assert desk.has(SHOP) == SOL


def test_an_expired_blockhash_stays_once_somebody_has_signed(desk: Desk) -> None:
    signed = desk(desk.pays(ALICE, BOB), "--signer", desk.alice, "--yes").out.strip()
    desk.svm.expire_blockhash()
    ran = desk(signed, "--signer", desk.bob, "--send", "--yes")
    assert ran.code == 1
    assert f"expired, or is of another chain, and {ALICE.pubkey()} signed it" in ran.err
    assert desk.sent == 0


def test_an_empty_blockhash_is_filled_in_silently(desk: Desk) -> None:
    blank = desk.pays(ALICE, blockhash=Hash.default())
    ran = desk(blank, "--signer", desk.alice, "--send", "--yes")
    assert ran.code == 0, ran.err
    assert "expired" not in ran.err
    offline = desk.cli("sign", blank, "--signer", desk.alice, "--yes")
    assert offline.code == 1
    assert "no blockhash yet" in offline.err


def test_a_durable_nonce_outlives_blockhashes_and_is_renewed_unsigned(
    desk: Desk,
) -> None:
    nonce, me = Keypair(), ALICE.pubkey()
    create = create_nonce_account(me, nonce.pubkey(), me, 2_000_000)
    keys = [write_key(desk.cli.folder / "nonce.json", nonce), desk.alice]
    options = [part for key in keys for part in ("--signer", key)]
    assert desk(desk.made(create, me), *options, "--send", "--yes").code == 0
    desk.svm.expire_blockhash()
    held = read_nonce(desk.svm.svm.get_account(nonce.pubkey()))
    assert held is not None
    advance = advance_nonce_account(
        AdvanceNonceAccountParams(nonce_pubkey=nonce.pubkey(), authorized_pubkey=me)
    )
    move = transfer(TransferParams(from_pubkey=me, to_pubkey=SHOP, lamports=SOL))
    text = desk.made([advance, move], me, held.value)
    desk.svm.expire_blockhash()
    first = desk(text, "--signer", desk.alice, "--send", "--yes")
    assert first.code == 0, first.err
    assert "it gets a new one" not in first.err
    again = desk(text, "--signer", desk.alice, "--send", "--yes")
    assert again.code == 0, again.err
    assert "it gets a new one" in again.err
    assert desk.has(SHOP) == 2 * SOL


# --- lookup tables ----------------------------------------------------------------------------------------------------


def with_table(desk: Desk, *entries: Pubkey, exists: bool = True) -> str:
    """A payment to the shop, whose address is entry 1 of a lookup table; the chain's has *entries*."""
    key = Pubkey(bytes([64] * 32))
    if exists:
        # state 1, never deactivated, extended in slot 0 from index 0, no authority, padding
        header = struct.pack("<IQQBB34x", 1, 2**64 - 1, 0, 0, 0)
        data = header + b"".join(map(bytes, entries))
        desk.svm.set_account(key, Account(SOL, data, ADDRESS_LOOKUP_TABLE_PROGRAM))
    move = TransferParams(from_pubkey=ALICE.pubkey(), to_pubkey=SHOP, lamports=SOL)
    table = AddressLookupTableAccount(key, [BOB.pubkey(), SHOP])
    return desk.made([transfer(move)], ALICE.pubkey(), tables=[table])


def test_addresses_from_lookup_tables_are_shown_and_measured(desk: Desk) -> None:
    text = with_table(desk, BOB.pubkey(), SHOP)
    ran = desk(text, "--signer", desk.alice, "--yes")
    assert ran.code == 0, ran.err
    assert f"destination  {SHOP}" in ran.err
    assert f"+1 SOL at {SHOP}" in ran.err


def test_a_table_that_is_missing_or_short_is_refused(desk: Desk) -> None:
    missing = desk(with_table(desk, exists=False), "--signer", desk.alice, "--yes")
    assert missing.code == 1
    assert "address lookup table: it does not exist" in missing.err
    short = desk(with_table(desk, BOB.pubkey()), "--signer", desk.alice, "--yes")
    assert short.code == 1
    assert "entry 1 of lookup table" in short.err
    offline = desk.cli("sign", with_table(desk, SHOP), "--signer", desk.alice, "--yes")
    assert offline.code == 0, offline.err
    assert "lookup tables" in offline.err
    assert "simulation: not run: no chain was given" in offline.err


# --- who can sign -----------------------------------------------------------------------------------------------------


def test_an_address_without_a_key_is_explained(desk: Desk) -> None:
    vault = Pubkey.find_program_address([b"multisig"], SHOP)[0]
    move = TransferParams(from_pubkey=vault, to_pubkey=SHOP, lamports=SOL)
    text = desk.made([transfer(move)], ALICE.pubkey())
    ran = desk(text, "--signer", desk.alice, "--yes")
    assert ran.code == 1
    assert f"{vault} must sign, and no key belongs to it" in ran.err
    assert "Squads" in ran.err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("usb://ledger?key=0", "hardware wallet"),
        ("ledger", "hardware wallet"),
        ("prompt://", "seed phrase"),
        ("ASK", "seed phrase"),
        ("stdin:", "not read from stdin"),
        ("@carol", "local cluster"),
        ("http://signer.example.com/x", "https"),
        ("nowhere.json", "No such file"),
    ],
)
def test_a_signer_that_cannot_be_used_is_refused_in_plain_words(
    desk: Desk, name: str, says: str
) -> None:
    ran = desk(desk.pays(ALICE), "--signer", name, "--yes")
    assert ran.code in (1, 2)
    assert says in ran.err


def test_a_signing_service_signs_for_the_one_who_is_missing(desk: Desk) -> None:
    def signs(asked: dict[str, Any]) -> tuple[int, Any]:
        key = {str(k.pubkey()): k for k in (ALICE, BOB)}[asked["address"]]
        return 200, {
            "signature": str(key.sign_message(base64.b64decode(asked["message"])))
        }

    with service(signs, []) as there:
        alone = desk(desk.pays(ALICE), "--signer", there, "--send", "--yes")
        assert alone.code == 0, alone.err
        unclear = desk(desk.pays(ALICE, BOB), "--signer", there, "--yes")
        assert unclear.code == 2
        assert "ADDRESS=URL" in unclear.err
        named = (f"{key.pubkey()}={there}" for key in (ALICE, BOB))
        options = [part for name in named for part in ("--signer", name)]
        both = desk(desk.pays(ALICE, BOB), *options, "--send", "--yes")
        assert both.code == 0, both.err
        beside = ("--signer", desk.alice, "--signer", there)
        assert (
            desk(desk.pays(ALICE, BOB, lamports=5), *beside, "--send", "--yes").code
            == 0
        )
    assert desk.has(SHOP) == 3 * SOL + 10


# --- what a person agrees to ------------------------------------------------------------------------------------------


def token_account(desk: Desk) -> tuple[str, Pubkey]:
    """A transaction that makes bob's token account if it does not exist, and its address."""
    address = associated_token(BOB.pubkey(), MINT, TOKEN_PROGRAM)
    accounts = [
        AccountMeta(ALICE.pubkey(), True, True),
        AccountMeta(address, False, True),
        AccountMeta(BOB.pubkey(), False, False),
        AccountMeta(MINT, False, False),
        AccountMeta(SYSTEM_PROGRAM, False, False),
        AccountMeta(TOKEN_PROGRAM, False, False),
    ]
    make = Instruction(ASSOCIATED_TOKEN_PROGRAM, b"\x01", accounts)
    return desk.made([make], ALICE.pubkey()), address


def test_what_costs_more_after_the_answer_is_asked_again(
    desk: Desk, answers: list[Any]
) -> None:
    from mcpsol_py.solana.tokens import Mint, TokenAccount

    desk.svm.set_account(MINT, Account(SOL, Mint(decimals=6).to_bytes(), TOKEN_PROGRAM))
    text, address = token_account(desk)
    held = TokenAccount(mint=MINT, owner=BOB.pubkey(), amount=0).to_bytes()
    desk.svm.set_account(address, Account(3_000_000, held, TOKEN_PROGRAM))

    def closes_meanwhile() -> bool:
        desk.svm.set_account(address, Account(0, b"", SYSTEM_PROGRAM))
        return True

    answers += [closes_meanwhile, False]
    ran = desk(text, "--signer", desk.alice, "--send")
    assert ran.code == 1
    assert "the person asked said no" in ran.err
    assert f"leaves {ALICE.pubkey()}: 0.000005 SOL" in ran.err
    assert f"leaves {ALICE.pubkey()}: 0.00204428 SOL" in ran.err
    assert desk.sent == 0


def test_a_blockhash_that_expires_at_the_question_is_replaced(
    desk: Desk, answers: list[Any]
) -> None:
    def slowly() -> bool:
        desk.svm.expire_blockhash()
        return True

    answers.append(slowly)
    ran = desk(desk.pays(ALICE), "--signer", desk.alice, "--send")
    assert ran.code == 0, ran.err
    assert desk.has(SHOP) == SOL


def test_power_that_is_given_away_is_said(desk: Desk) -> None:
    from mcpsol_py.solana.tokens import Mint, TokenAccount

    desk.svm.set_account(MINT, Account(SOL, Mint(decimals=6).to_bytes(), TOKEN_PROGRAM))
    account = Pubkey(bytes([66] * 32))
    held = TokenAccount(mint=MINT, owner=ALICE.pubkey(), amount=5).to_bytes()
    desk.svm.set_account(account, Account(3_000_000, held, TOKEN_PROGRAM))
    approve = Instruction(
        TOKEN_PROGRAM,
        b"\x04" + (5).to_bytes(8, "little"),
        [
            AccountMeta(account, False, True),
            AccountMeta(BOB.pubkey(), False, False),
            AccountMeta(ALICE.pubkey(), True, False),
        ],
    )
    ran = desk(
        desk.made([approve], ALICE.pubkey()), "--signer", desk.alice, "--yes", "--json"
    )
    assert ran.code == 0, ran.err
    (said,) = ran.json["effects"][0]["gives_power_away"]
    assert str(BOB.pubkey()) in said
    assert f"gives power away: {said}" in ran.err


def test_no_is_no(desk: Desk, answers: list[Any]) -> None:
    answers.append(False)
    ran = desk(desk.pays(ALICE), "--signer", desk.alice, "--send", "--json")
    assert (ran.code, ran.json["error"]["reason"]) == (1, "cannot_sign")
    assert desk.sent == 0


def test_without_a_terminal_it_needs_yes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "is_there", lambda: False)
    ran = desk(desk.pays(ALICE), "--signer", desk.alice, "--send")
    assert ran.code == 2
    assert "Add --yes" in ran.err
    assert desk.sent == 0


@pytest.mark.parametrize(
    ("options", "says"),
    [((), "--signer"), (("--send",), "needs a chain")],
    ids=["nothing to do", "no chain"],
)
def test_options_that_do_nothing_are_usage_errors(
    desk: Desk, options: tuple[str, ...], says: str
) -> None:
    ran = desk.cli("sign", desk.pays(ALICE), *options, "--yes")
    assert ran.code == 2
    assert says in ran.err


# --- failures ---------------------------------------------------------------------------------------------------------


def test_what_would_fail_is_explained_and_not_signed(desk: Desk) -> None:
    who = json.dumps({"authority": str(ALICE.pubkey())})
    made = (
        "call",
        COUNTER,
        "increment",
        "--url",
        desk.url,
        "--accounts",
        who,
        "--mode",
        "build",
    )
    text = desk.cli(*made, "--args", '{"amount": "5"}', "--json").json["transaction"]
    ran = desk(text, "--signer", desk.alice, "--send", "--yes", "--json")
    assert (ran.code, ran.json["error"]["reason"]) == (3, "program_failed")
    assert "look at: counter (" in ran.err
    assert "does not exist on this chain; initialize may create it" in ran.err
    assert desk.sent == 0


def test_an_unknown_program_is_shown_as_bytes(desk: Desk) -> None:
    from mcpsol_py.solana.addresses import MEMO_PROGRAM

    memo = Instruction(
        MEMO_PROGRAM, b"hello", [AccountMeta(ALICE.pubkey(), True, False)]
    )
    ran = desk(
        desk.made([memo], ALICE.pubkey()), "--signer", desk.alice, "--yes", "--json"
    )
    assert ran.code == 0, ran.err
    (row,) = ran.json["instructions"]
    assert row["data"] == "0x" + b"hello".hex()


@pytest.mark.parametrize(
    "url", [None, "http://127.0.0.1:9"], ids=["alone", "beside a url"]
)
def test_the_local_cluster_signs_by_name(
    cli: Cli, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    local = ("--setup", cli.setup, "--ledger", "ledger.json")
    token = ("call", cli.idl, "transfer", *local, "--args", '{"amount": "5"}', "--json")
    accounts = {
        "source": "@alice_usdc",
        "destination": "@bob_usdc",
        "authority": "@alice",
    }
    built = cli(*token, "--accounts", json.dumps(accounts), "--mode", "build")
    assert built.code == 0, built.err
    if url is not None:
        monkeypatch.setenv("IDL2MCP_URL", url)
    ran = cli(
        *("sign", built.json["transaction"], "--source", cli.idl, *local),
        *("--signer", "@alice", "--send", "--yes", "--json"),
    )
    assert ran.code == 0, ran.err
    assert ran.json["instructions"][0]["args"] == {"amount": "5"}
    monkeypatch.delenv("IDL2MCP_URL", raising=False)
    after = cli(*token, "--accounts", json.dumps(accounts))
    before = [
        change["before"] for change in after.json["simulation"]["balance_changes"]
    ]
    assert "999995" in before


# --- priority fees ----------------------------------------------------------------------------------------------------


def budget(text: str) -> list[bytes]:
    """The data of the compute budget's instructions in a transaction."""
    message = VersionedTransaction.from_bytes(base64.b64decode(text)).message
    keys = message.account_keys
    return [
        bytes(ix.data)
        for ix in message.instructions
        if keys[ix.program_id_index] == COMPUTE_BUDGET
    ]


@pytest.mark.parametrize(
    ("options", "paid"),
    [
        (("--priority-fee", "1000000"), 1000),
        (("--priority-fee", "auto"), 1000),
        (("--priority-fee", "auto", "--max-priority-fee", "100"), 100),
        (("--priority-fee", "0"), 0),
    ],
)
def test_a_priority_fee_is_added_within_its_limit(
    desk: Desk, options: tuple[str, ...], paid: int
) -> None:
    desk.node.do_getRecentPrioritizationFees = lambda keys=None: [  # type: ignore[method-assign]  # what others paid
        {"slot": 1, "prioritizationFee": 1_000_000}
    ]
    before = desk.has(ALICE.pubkey())
    ran = desk(
        desk.pays(ALICE), "--signer", desk.alice, *options, "--send", "--yes", "--json"
    )
    assert ran.code == 0, ran.err
    spent = before - desk.has(ALICE.pubkey()) - SOL - 5_000
    assert spent <= paid
    assert spent > paid * 9 // 10 or paid == 0
    assert ran.json["fee_lamports"] == str(5_000 + spent)
    assert len(budget(ran.json["transaction"])) == 2


def test_a_priority_fee_replaces_the_one_that_is_there(desk: Desk) -> None:
    first = desk.made(
        [
            set_compute_unit_price(77),
            request_heap_frame(65_536),
            set_compute_unit_limit(9_000),
            transfer(
                TransferParams(from_pubkey=ALICE.pubkey(), to_pubkey=SHOP, lamports=SOL)
            ),
        ],
        ALICE.pubkey(),
    )
    ran = desk(first, "--signer", desk.alice, "--priority-fee", "5", "--yes")
    assert ran.code == 0, ran.err
    assert [data[0] for data in budget(ran.out.strip())] == [2, 3, 1]
    assert b"\3" + (5).to_bytes(8, "little") in budget(ran.out.strip())
    assert desk(ran.out.strip(), "--send", "--yes").code == 0


def test_a_priority_fee_changes_nothing_that_is_signed(desk: Desk) -> None:
    signed = desk(desk.pays(ALICE, BOB), "--signer", desk.alice, "--yes").out.strip()
    ran = desk(signed, "--signer", desk.bob, "--priority-fee", "5", "--yes")
    assert ran.code == 1
    assert f"a priority fee changes it, and {ALICE.pubkey()} signed it" in ran.err


@pytest.mark.parametrize("signed", [False, True])
def test_a_fee_above_the_limit_is_refused_wherever_it_comes_from(
    desk: Desk, signed: bool
) -> None:
    move = transfer(
        TransferParams(from_pubkey=ALICE.pubkey(), to_pubkey=SHOP, lamports=SOL)
    )
    dear = [set_compute_unit_limit(1_000_000), set_compute_unit_price(2_000_000), move]
    text = desk.made(dear, ALICE.pubkey()) if signed else desk.pays(ALICE)
    options = () if signed else ("--priority-fee", 10**12)
    ran = desk(text, "--signer", desk.alice, *options, "--send", "--yes")
    assert ran.code == 1
    assert "and the limit is 1,000,000" in ran.err
    assert desk.sent == 0
    if signed:
        raised = ("--max-priority-fee", 2_000_000)
        assert desk(text, "--signer", desk.alice, *raised, "--yes").code == 0


def test_call_takes_the_same_options(desk: Desk) -> None:
    who = json.dumps({"authority": str(ALICE.pubkey())})
    base = (
        *("call", COUNTER, "initialize", "--url", desk.url, "--args", '{"start": "5"}'),
        *("--accounts", who, "--signer", desk.alice),
    )
    built = desk.cli(*base, "--mode", "build", "--priority-fee", "1000", "--json")
    assert built.code == 0, built.err
    assert budget(built.json["transaction"])[1] == b"\3" + (1000).to_bytes(8, "little")
    over = desk.cli(*base, "--mode", "send", "--priority-fee", 10**12)
    assert over.code == 1
    assert "and the limit is 1,000,000" in over.err
    sent = desk.cli(*base, "--mode", "send", "--priority-fee", 10**6, "--json")
    assert sent.code == 0, sent.err
    for text in ("-1", "much", "1.5", str(2**64)):
        assert desk.cli(*base, "--priority-fee", text).code == 2
    offline = desk.cli(
        "call", desk.cli.idl, "transfer", "--mode", "build", "--priority-fee", 5
    )
    assert offline.code == 2
    assert "needs a chain" in offline.err


# --- on a terminal ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="needs a pty")
@pytest.mark.parametrize(
    ("typed", "code", "shops"),
    [
        ("y\n", 0, SOL),
        ("yes\n", 0, SOL),
        ("\n", 1, 0),
        ("n\n", 1, 0),
        ("\x03", 130, 0),
        ("\x04", 130, 0),
    ],
    ids=["y", "yes", "enter", "no", "ctrl-c", "ctrl-d"],
)
def test_the_question_at_a_terminal(
    desk: Desk, typed: str, code: int, shops: int
) -> None:
    command = ("sign", "-", "--signer", desk.alice, "--url", desk.url, "--send")
    text = desk.pays(ALICE)
    with Terminal(*command, folder=desk.cli.folder, piped=text) as shown:
        shown.expect(f"leaves {ALICE.pubkey()}: 1.000005 SOL")
        shown.expect("Sign and send this? [y/N] ")
        shown.type(typed)
        assert shown.code() == code, shown.shown
    assert desk.has(SHOP) == shops
    assert "Traceback" not in shown.shown


def test_a_legacy_transaction_is_signed_too(desk: Desk) -> None:
    move = TransferParams(from_pubkey=ALICE.pubkey(), to_pubkey=SHOP, lamports=SOL)
    legacy = Transaction.new_with_payer([transfer(move)], ALICE.pubkey())
    text = base64.b64encode(bytes(legacy)).decode()
    assert desk(text, "--signer", desk.alice, "--send", "--yes").code == 0
    assert desk.has(SHOP) == SOL
