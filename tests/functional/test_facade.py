"""A facade of SPL Token in LiteSVM: it serves list_tools, and every call through it is the call itself.

The token program is the cluster's own. Its tools come from a small IDL here; where the real IDLs are present,
also from the whole one. What is passed on is compared with the inner instruction that the runtime recorded.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py import load
from mcpsol_py.build.toolchain import Toolchain
from mcpsol_py.client.discovery import discover_sync, list_tools_sync
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.errors import ProgramFailed
from mcpsol_py.model.program import LIST_TOOLS
from mcpsol_py.program import Program
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.render import render
from mcpsol_py.schema.mcp_tools import tools
from mcpsol_py.solana.addresses import SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM
from mcpsol_py.sync_client import SyncProgramClient
from tests.conftest import REPO
from tests.functional.cli import Cli
from tests.functional.mcpsol_reader import Reader
from tests.functional.targets import built_crate

pytestmark = pytest.mark.rust

U64, KEY = "u64", "pubkey"
CARGO = shutil.which("cargo")


def _instruction(number: int, name: str, accounts: str, **args: str) -> dict[str, Any]:
    """*accounts*: names, with w (written to), s (signs), ? (optional) behind a colon."""
    rows = []
    for word in accounts.split():
        account, _, flags = word.partition(":")
        row: dict[str, Any] = {"name": account}
        flag_names = {"w": "writable", "s": "signer", "?": "optional"}
        row |= {flag_names[flag]: True for flag in flags}
        rows.append(row)
    fields = [
        {"name": n, "type": {"option": KEY} if t == "option" else t}
        for n, t in args.items()
    ]
    return {
        "name": name,
        "discriminator": [number],
        "docs": [f"{name}."],
        "accounts": rows,
        "args": fields,
    }


#: What the tests call of SPL Token, as an Anchor IDL can say it.
TOKEN_IDL: dict[str, Any] = {
    "address": str(TOKEN_PROGRAM),
    "metadata": {"name": "token", "version": "1.0.0", "spec": "0.1.0"},
    "instructions": [
        _instruction(
            20,
            "initialize_mint2",
            "mint:w",
            decimals="u8",
            mint_authority=KEY,
            freeze_authority="option",
        ),
        _instruction(18, "initialize_account3", "account:w mint", owner=KEY),
        _instruction(19, "initialize_multisig2", "multisig:w", m="u8"),
        _instruction(3, "transfer", "source:w destination:w authority:s", amount=U64),
        _instruction(4, "approve", "source:w delegate owner:s", amount=U64),
        _instruction(5, "revoke", "source:w owner:s"),
        _instruction(7, "mint_to", "mint:w account:w mint_authority:s", amount=U64),
        _instruction(8, "burn", "account:w mint:w authority:s", amount=U64),
        _instruction(9, "close_account", "account:w destination:w owner:s"),
        _instruction(
            12,
            "transfer_checked",
            "source:w mint destination:w authority:s",
            amount=U64,
            decimals="u8",
        ),
        _instruction(21, "get_account_data_size", "mint") | {"returns": U64},
        _instruction(
            23, "amount_to_ui_amount", "mint note:? target_program:?", amount=U64
        ),
    ],
    "accounts": [{"name": "TokenAccount", "discriminator": []}],
    "types": [
        {
            "name": "TokenAccount",
            "type": {
                "kind": "struct",
                "fields": [
                    {"name": "mint", "type": KEY},
                    {"name": "owner", "type": KEY},
                    {"name": "amount", "type": U64},
                    {"name": "rest", "type": {"array": ["u8", 93]}},
                ],
            },
        }
    ],
    "errors": [
        {"code": 1, "name": "InsufficientFunds", "msg": "Insufficient funds"},
        {"code": 12, "name": "InvalidInstruction", "msg": "Invalid instruction"},
    ],
}
FACADE = Pubkey.from_string("Facade1111111111111111111111111111111111111")


@pytest.fixture(scope="module")
def facade(
    tmp_path_factory: pytest.TempPathFactory, no_std_toolchain: Toolchain
) -> Path:
    """The facade's .so."""
    crate = tmp_path_factory.mktemp("facades") / "facade" / "token"
    return _built(TOKEN_IDL, str(TOKEN_PROGRAM), crate, no_std_toolchain)


def _built(
    idl: dict[str, Any], program_id: str, crate: Path, toolchain: Toolchain
) -> Path:
    render(load(idl).model, facade=program_id, out=crate)
    with (crate / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    return built_crate(crate, toolchain)


class Bank:
    """A chain with the facade, a mint of 6 decimals and clients of both programs."""

    def __init__(self, so: Path, features: str = "default") -> None:
        self.svm = SvmTransport(features=features)
        self.wallet = Keypair()
        self.svm.airdrop(self.wallet.pubkey(), 10**11)
        self.svm.add_program(FACADE, so)
        self.facade = self.client(discover_sync(self.svm, FACADE).program, FACADE)
        self.token = self.client(load(TOKEN_IDL), TOKEN_PROGRAM)
        self.mint = self.made(82)
        args = {
            "decimals": 6,
            "mint_authority": self.wallet.pubkey(),
            "freeze_authority": None,
        }
        self.facade.send(
            self.facade.build("initialize_mint2", args, {"mint": self.mint})
        )

    def client(self, program: Program, program_id: Pubkey) -> SyncProgramClient:
        return SyncProgramClient(
            ProgramClient(program, self.svm, program_id, wallet=self.wallet)
        )

    def made(self, space: int) -> Pubkey:
        """A new account of the token program, empty."""
        key = Keypair()
        data = (
            (0).to_bytes(4, "little")
            + (10**7).to_bytes(8, "little")
            + space.to_bytes(8, "little")
        )
        metas = [
            AccountMeta(self.wallet.pubkey(), True, True),
            AccountMeta(key.pubkey(), True, True),
        ]
        self.token.send(
            Instruction(SYSTEM_PROGRAM, data + bytes(TOKEN_PROGRAM), metas), [key]
        )
        return key.pubkey()

    def purse(self, owner: Pubkey, amount: int = 0) -> Pubkey:
        key = self.made(165)
        self.facade.send(
            self.facade.build(
                "initialize_account3",
                {"owner": owner},
                {"account": key, "mint": self.mint},
            )
        )
        if amount:
            accounts = {
                "mint": self.mint,
                "account": key,
                "mint_authority": self.wallet.pubkey(),
            }
            self.facade.send(self.facade.build("mint_to", {"amount": amount}, accounts))
        return key

    def amount(self, key: Pubkey) -> int:
        found: int = self.facade.fetch("TokenAccount", key)["amount"]
        return found

    def run(self, instruction: Instruction, *signers: Keypair) -> Ran:
        """Lands one transaction and says what the runtime recorded."""
        self.svm.expire_blockhash()
        message = Message.new_with_blockhash(
            [instruction], self.wallet.pubkey(), self.svm.svm.latest_blockhash()
        )
        keys = {k.pubkey(): k for k in (self.wallet, *signers)}
        wanted = message.account_keys[: message.header.num_required_signatures]
        transaction = VersionedTransaction(message, [keys[k] for k in wanted])
        outcome: Any = self.svm.svm.send_transaction(transaction)
        failed = hasattr(outcome, "err")
        meta = outcome.meta() if failed else outcome
        inner = [
            item.instruction() for part in meta.inner_instructions() for item in part
        ]
        return Ran(
            str(outcome.err()) if failed else "",
            list(meta.logs()),
            meta.compute_units_consumed(),
            [
                (
                    message.account_keys[i.program_id_index],
                    bytes(i.data),
                    [message.account_keys[a] for a in i.accounts],
                )
                for i in inner
            ],
        )


@dataclass
class Ran:
    """A transaction: its error, its logs, its units, and the calls that programs made."""

    error: str
    logs: list[str]
    units: int
    inner: list[tuple[Pubkey, bytes, list[Pubkey]]]

    def logged(self, text: str) -> bool:
        return any(text in line for line in self.logs)


@pytest.fixture(params=["default", "all"])
def bank(facade: Path, request: pytest.FixtureRequest) -> Bank:
    """In an SVM as it is on mainnet, and with every feature on (other limits, other layouts of memory)."""
    return Bank(facade, request.param)


# --- what it says of itself -------------------------------------------------------------------------------------------


def test_every_tool_takes_the_program_behind_first_and_clients_fill_it_in(
    bank: Bank,
) -> None:
    program = bank.facade.program
    assert program.model.facade_of == str(TOKEN_PROGRAM)
    assert program.instructions == bank.token.program.instructions
    for name in program.instructions:
        first, *rest = program.instruction(name).plan.leaves
        assert first.account.address == str(TOKEN_PROGRAM)
        assert [leaf.name for leaf in rest] == bank.token.program.instruction(
            name
        ).accounts
        assert first.name not in program.instruction(name).must_give()
    # a name that the instruction has already is not taken twice
    assert program.instruction("amount_to_ui_amount").accounts[0] == "target_program_2"


def test_readers_of_the_pages_alone_know_it_too(bank: Bank) -> None:
    pages = list_tools_sync(bank.svm, FACADE)
    assert json.loads(pages[0])["facade"] == str(TOKEN_PROGRAM)
    lifted = Program.from_pages(pages)
    assert lifted.model.facade_of == str(TOKEN_PROGRAM)
    assert lifted.instruction("transfer").plan.leaves[0].account.address == str(
        TOKEN_PROGRAM
    )
    tools = {
        t["name"]: t for t in Reader(lambda cursor: pages[cursor]).program()["tools"]
    }
    assert tools["transfer"]["accounts"][0]["path"] == ["target_program"]
    assert tools["transfer"]["accounts"][0]["address"] == str(TOKEN_PROGRAM)
    # mcpsol's own clients read the tool and its description alone
    rows = [row for page in pages for row in json.loads(page)["tools"]]
    row = next(r for r in rows if r["n"] == "transfer")
    assert row["r"][0] == "target_program"
    assert f"target_program: {TOKEN_PROGRAM}" in row["i"]


@pytest.mark.parametrize("descriptions", ["short", "none"])
def test_the_program_behind_is_told_however_short_the_descriptions_are(
    tmp_path: Path, descriptions: Any
) -> None:
    from mcpsol_py.model.facade import facade_model
    from mcpsol_py.schema.pages import write_pages

    model = facade_model(load(TOKEN_IDL).model, str(TOKEN_PROGRAM))
    rows = [
        r
        for page in write_pages(model, descriptions=descriptions)
        for r in json.loads(page)["tools"]
    ]
    assert all(row["i"].endswith(f": {TOKEN_PROGRAM}") for row in rows)


# --- calls ------------------------------------------------------------------------------------------------------------


def test_tokens_live_through_the_facade(bank: Bank) -> None:
    me, other = bank.wallet.pubkey(), Keypair()
    source, target = bank.purse(me, 500), bank.purse(other.pubkey())
    call = bank.facade.build
    bank.facade.send(
        call("transfer", {"amount": 200}, {"source": source, "destination": target})
    )
    assert (bank.amount(source), bank.amount(target)) == (300, 200)
    accounts = {"source": source, "mint": bank.mint, "destination": target}
    bank.facade.send(call("transfer_checked", {"amount": 50, "decimals": 6}, accounts))
    bank.facade.send(
        call("approve", {"amount": 30}, {"source": source, "delegate": other.pubkey()})
    )
    spend = call(
        "transfer",
        {"amount": 30},
        {"source": source, "destination": target, "authority": other.pubkey()},
    )
    bank.facade.send(spend, [other])
    assert (bank.amount(source), bank.amount(target)) == (220, 280)
    bank.facade.send(call("revoke", {}, {"source": source}))
    bank.svm.expire_blockhash()
    with pytest.raises(ProgramFailed, match="OwnerMismatch"):
        bank.facade.send(spend, [other])
    bank.facade.send(
        call("burn", {"amount": 220}, {"account": source, "mint": bank.mint})
    )
    before = bank.svm.svm.get_balance(other.pubkey()) or 0
    bank.facade.send(
        call("close_account", {}, {"account": source, "destination": other.pubkey()})
    )
    assert (bank.svm.svm.get_balance(other.pubkey()) or 0) - before == 10**7
    with pytest.raises(
        ProgramFailed, match=f"program {TOKEN_PROGRAM} failed with InsufficientFunds"
    ) as failed:
        bank.facade.send(
            call(
                "transfer",
                {"amount": 281},
                {"source": target, "destination": target, "authority": other.pubkey()},
            ),
            [other],
        )
    assert failed.value.stack == (str(FACADE), str(TOKEN_PROGRAM))
    assert [a["amount"] for _, a in bank.facade.fetch_all("TokenAccount")] == [280]


def test_what_the_program_returns_is_left_for_the_caller(bank: Bank) -> None:
    assert (
        bank.facade.view("get_account_data_size", {}, {"mint": bank.mint}).value == 165
    )
    shown = bank.facade.simulate(
        bank.facade.build(
            "amount_to_ui_amount", {"amount": 1_234_567}, {"mint": bank.mint}
        )
    )
    assert shown.return_data == b"1.234567"
    assert shown.outcome.return_data is not None
    assert shown.outcome.return_data[0] == TOKEN_PROGRAM


def test_accounts_and_data_arrive_unchanged(bank: Bank) -> None:
    """Order, repetitions, more accounts than the tool names; and an absent optional one by the id that it knows."""
    me = bank.wallet.pubkey()
    source, target = bank.purse(me, 500), bank.purse(me)
    more = [
        AccountMeta(Pubkey.new_unique(), False, False),
        AccountMeta(source, False, True),
    ]
    call = bank.facade.build(
        "transfer",
        {"amount": 3},
        {"source": source, "destination": target},
        remaining=more,
    )
    ran = bank.run(call)
    assert ran.error == ""
    assert ran.inner == [
        (TOKEN_PROGRAM, call.data, [m.pubkey for m in call.accounts[1:]])
    ]

    note = Pubkey.new_unique()
    shown = bank.facade.build(
        "amount_to_ui_amount", {"amount": 1}, {"mint": bank.mint, "note": note}
    )
    assert [m.pubkey for m in shown.accounts[2:]] == [note, FACADE]
    assert bank.run(shown).inner[0][2] == [bank.mint, note, TOKEN_PROGRAM]


def test_a_multisigs_members_sign_through_it(bank: Bank) -> None:
    members = [Keypair(), Keypair(), Keypair()]
    multisig = bank.made(355)
    readers = [AccountMeta(k.pubkey(), False, False) for k in members]
    bank.facade.send(
        bank.facade.build(
            "initialize_multisig2", {"m": 2}, {"multisig": multisig}, remaining=readers
        )
    )
    source, target = bank.purse(multisig, 10), bank.purse(multisig)
    signed = [AccountMeta(k.pubkey(), True, False) for k in members[:2]]
    behind, first, second, authority = bank.facade.build(
        "transfer",
        {"amount": 4},
        {"source": source, "destination": target, "authority": multisig},
    ).accounts
    unsigned = AccountMeta(authority.pubkey, False, False)
    data = b"\x03" + (4).to_bytes(8, "little")
    assert (
        bank.run(
            Instruction(FACADE, data, [behind, first, second, unsigned, *signed]),
            *members,
        ).error
        == ""
    )
    assert bank.amount(target) == 4
    one = Instruction(FACADE, data, [behind, first, second, unsigned, signed[0]])
    assert "MissingRequiredSignature" in bank.run(one, *members).error


def test_nothing_is_gained_by_it(bank: Bank) -> None:
    """No flag that the caller did not give: a signature or a right to write that is missing is missing behind it."""
    other = Keypair()
    source, target = bank.purse(other.pubkey(), 9), bank.purse(bank.wallet.pubkey())
    call = bank.facade.build(
        "transfer",
        {"amount": 9},
        {"source": source, "destination": target, "authority": other},
    )
    for place, missing in (
        (3, "MissingRequiredSignature"),
        (1, "ReadonlyDataModified"),
    ):
        metas = list(call.accounts)
        signs = place != 3
        metas[place] = AccountMeta(
            metas[place].pubkey, signs and metas[place].is_signer, False
        )
        ran = bank.run(Instruction(FACADE, call.data, metas), other)
        assert missing in ran.error
    assert bank.amount(source) == 9


@pytest.mark.parametrize("count", [62, 254])
def test_as_many_accounts_as_a_transaction_can_name(bank: Bank, count: int) -> None:
    """Each stands in a CPI's list once; a call of the token program with 254 of them passes."""
    me = bank.wallet.pubkey()
    source, target = bank.purse(me, 5), bank.purse(me)
    unique = [
        AccountMeta(Pubkey.new_unique(), False, False)
        for _ in range(59 if count > 62 else 10)
    ]
    rest = [*unique, *(unique[i % len(unique)] for i in range(count - 3 - len(unique)))]
    call = bank.facade.build(
        "transfer",
        {"amount": 5},
        {"source": source, "destination": target},
        remaining=rest,
    )
    assert len(call.accounts) == count + 1
    direct = bank.token.build(
        "transfer",
        {"amount": 0},
        {"source": source, "destination": target},
        remaining=rest,
    )
    tables_apart = bank.facade.simulate(direct)
    assert tables_apart.ok, tables_apart.error
    through = bank.facade.simulate(call)
    assert through.ok, through.error


# --- bad calls --------------------------------------------------------------------------------------------------------


def test_bad_calls_are_refused_by_name(bank: Bank) -> None:
    me = bank.wallet.pubkey()
    source, target = bank.purse(me, 50), bank.purse(me)
    call = bank.facade.build(
        "transfer", {"amount": 1}, {"source": source, "destination": target}
    )

    def failure(data: bytes, metas: list[AccountMeta]) -> tuple[str, bool]:
        """The error's name, and whether the program behind was called."""
        ran = bank.run(Instruction(FACADE, data, metas))
        simulated = bank.facade.simulate(Instruction(FACADE, data, metas))
        assert ran.error
        assert simulated.error is not None
        return simulated.error.name, ran.logged(f"Program {TOKEN_PROGRAM} invoke")

    good = list(call.accounts)
    assert failure(call.data, []) == ("AccountNotEnoughKeys", False)
    assert failure(call.data, good[1:]) == ("InvalidProgramId", False)
    for other in (TOKEN_2022_PROGRAM, SYSTEM_PROGRAM, FACADE, me):
        assert failure(call.data, [AccountMeta(other, False, False), *good[1:]]) == (
            "InvalidProgramId",
            False,
        )
    # the program behind refuses what it does not understand, in its own words
    assert failure(b"\xfa\1\2\3", good) == ("InvalidInstruction", True)
    assert failure(b"", good) == ("InvalidInstruction", True)
    assert failure(call.data[:-1], good) == ("InvalidInstruction", True)
    assert failure(call.data, good[:-1])[1]
    # list_tools is never passed on, whatever comes with it
    for cursor in (b"\xfe\x7f", b"\1\2\3"):
        assert failure(LIST_TOOLS + cursor, good) == ("InvalidInstructionData", False)
    assert bank.amount(source) == 50
    ran = bank.run(Instruction(FACADE, LIST_TOOLS, good))
    assert ran.error == ""
    assert ran.inner == []


def test_what_it_costs(bank: Bank, capsys: pytest.CaptureFixture[str]) -> None:
    """Over the call itself: the runtime's charge for a CPI (946), and about 80 CU and 55 an account."""
    me = bank.wallet.pubkey()
    source, target = bank.purse(me, 5), bank.purse(me)
    for more in (0, 20):
        remaining = [
            AccountMeta(Pubkey.new_unique(), False, False) for _ in range(more)
        ]
        units = []
        for client in (bank.facade, bank.token):
            accounts = {"source": source, "destination": target}
            simulation = client.simulate(
                client.build("transfer", {"amount": 1}, accounts, remaining=remaining)
            )
            assert simulation.ok
            units.append(simulation.outcome.units or 0)
        with capsys.disabled():
            print(
                f"\ntransfer of {3 + more} accounts: {units[1]:,} CU, through the facade {units[0]:,}"
            )
        assert units[0] - units[1] <= 946 + 100 + 58 * (3 + more)
    assert bank.run(Instruction(FACADE, LIST_TOOLS + b"\0", [])).units <= 104 + 15


# --- another program, and the command line ----------------------------------------------------------------------------


def test_derived_addresses_state_events_and_errors_are_those_of_the_program_behind(
    tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    """The counter, which derives addresses, keeps state, logs events, returns values and has errors of its own."""
    counter = load(REPO / "programs/counter/idl.json")
    assert counter.address is not None
    crate = tmp_path / "facade" / "counter"
    so = _built(
        json.loads((REPO / "programs/counter/idl.json").read_text()),
        str(counter.address),
        crate,
        no_std_toolchain,
    )
    svm, wallet = SvmTransport(), Keypair()
    svm.airdrop(wallet.pubkey(), 10**10)
    svm.add_program(counter.address, REPO / "programs/counter/counter.so")
    svm.add_program(FACADE, so)
    facade = SyncProgramClient(
        ProgramClient(discover_sync(svm, FACADE).program, svm, FACADE, wallet=wallet)
    )
    direct = SyncProgramClient(ProgramClient(counter, svm, wallet=wallet))
    created = facade.build("initialize", {"start": 40})
    assert [m.pubkey for m in created.accounts[1:]] == [
        m.pubkey for m in direct.build("initialize", {"start": 1}).accounts
    ]
    facade.send(created)
    at = created.accounts[1].pubkey
    assert facade.fetch("State", at) == direct.fetch("State", at)
    assert facade.fetch("State", at)["count"] == 40
    simulation = facade.simulate(facade.build("increment", {"amount": 2}))
    assert simulation.events == (("Changed", {"counter": at, "count": 42}),)
    assert facade.view("decrement", {"amount": 1}).value == 39
    with pytest.raises(
        ProgramFailed, match=rf"program {counter.address} failed with Underflow"
    ):
        facade.send(facade.build("decrement", {"amount": 41}))
    # by the pages alone, without the stream
    lifted = Program.from_pages(list_tools_sync(svm, FACADE))
    assert lifted.instruction("increment").build(
        {"amount": 2}, {}, FACADE, wallet
    ) == facade.build("increment", {"amount": 2})


def test_the_whole_token_program(
    shared_idls: Path, tmp_path: Path, no_std_toolchain: Toolchain
) -> None:
    """Its own IDL: signers that may be, remaining signers as an argument, 28 tools on 24 pages."""
    idl = shared_idls / "codama__token.json"
    so = _built(
        json.loads(idl.read_bytes()),
        str(TOKEN_PROGRAM),
        tmp_path / "facade" / "whole",
        no_std_toolchain,
    )
    bank = Bank(so)
    whole = bank.facade
    assert whole.program.model.facade_of == str(TOKEN_PROGRAM)
    members = [Keypair(), Keypair()]
    multisig = bank.made(355)
    keys = {"multisig": multisig, "signers": [k.pubkey() for k in members]}
    whole.send(whole.build("initializeMultisig2", {"m": 2}, keys))
    source, target = bank.made(165), bank.made(165)
    for account in (source, target):
        whole.send(
            whole.build(
                "initializeAccount3",
                {"owner": multisig},
                {"account": account, "mint": bank.mint},
            )
        )
    mint = {"mint": bank.mint, "token": source, "mintAuthority": bank.wallet}
    whole.send(whole.build("mintTo", {"amount": 70}, mint))
    keys = {
        "source": source,
        "destination": target,
        "authority": multisig,
        "multiSigners": members,
    }
    whole.send(whole.build("transfer", {"amount": 30}, keys), members)
    assert [a["amount"] for a in whole.fetch_many("token", [source, target])] == [
        40,
        30,
    ]


def test_the_command_line_knows_a_facade(cli: Cli, facade: Path) -> None:
    ran = cli("render", cli.idl, "--facade", TOKEN_PROGRAM, "--out", "made", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["facade_of"] == str(TOKEN_PROGRAM)
    assert 'name = "token-facade"' in (cli.folder / "made/Cargo.toml").read_text()
    assert (
        cli(
            "render",
            cli.idl,
            "--facade",
            TOKEN_PROGRAM,
            "--target",
            "anchor",
            "--out",
            "x",
        ).code
        == 2
    )
    other = cli("render", cli.idl, "--facade", TOKEN_2022_PROGRAM, "--out", "other")
    assert (
        f"another program, {TOKEN_PROGRAM}: the facade calls {TOKEN_2022_PROGRAM}"
        in other.out
    )
    wrong = cli("render", cli.idl, "--facade", "nonsense", "--out", "x")
    assert wrong.code == 1
    assert "--facade 'nonsense'" in wrong.err

    idl = cli.write("whole.json", TOKEN_IDL)
    same = cli("verify", facade, "--against", idl, "--json")
    assert same.code == 0, same.out
    assert same.json["facade_of"] == str(TOKEN_PROGRAM)
    changed = json.loads(json.dumps(TOKEN_IDL))
    changed["instructions"][3]["args"][0]["type"] = "u32"
    drift = cli(
        "verify", facade, "--against", cli.write("changed.json", changed), "--json"
    )
    assert drift.code == 1
    assert [d["path"] for d in drift.json["differences"]] == [
        "instructions.transfer.args.amount"
    ]
    elsewhere = cli.write(
        "elsewhere.json", TOKEN_IDL | {"address": str(TOKEN_2022_PROGRAM)}
    )
    assert "address" in [
        d["path"]
        for d in cli("verify", facade, "--against", elsewhere, "--json").json[
            "differences"
        ]
    ]

    accounts = (
        '{"source": "@alice_usdc", "destination": "@bob_usdc", "authority": "@alice"}'
    )
    call = (
        "call",
        facade,
        "transfer",
        "--args",
        '{"amount": "250000"}',
        "--accounts",
        accounts,
        "--setup",
        cli.setup,
    )
    sent = cli(*call, "--mode", "send", "--json")
    assert sent.code == 0, sent.err
    moved = sorted(
        c["change"]
        for c in sent.json["simulation"]["balance_changes"]
        if c["mint"] != "SOL"
    )
    assert moved == ["-250000", "250000"]
    poor = cli(*call[:4], '{"amount": "99000000000"}', *call[5:], "--json")
    assert poor.json["error"]["name"] == "InsufficientFunds"
    assert f"a facade of {TOKEN_PROGRAM}" in cli("inspect", facade).out
    listed = cli("list-tools", facade, "--json")
    assert len(listed.json["tools"]) == len(TOKEN_IDL["instructions"])


def test_agents_are_not_asked_for_the_program_behind(bank: Bank) -> None:
    for tool in tools(bank.facade.program.model):
        accounts = tool["inputSchema"]["properties"].get("accounts", {})
        assert not any(
            name.startswith("target_program") for name in accounts.get("required", [])
        )


@pytest.mark.skipif(CARGO is None, reason="cargo is missing: install Rust")
def test_a_facade_of_hostile_text_compiles_without_a_warning(tmp_path: Path) -> None:
    document = json.loads(json.dumps(TOKEN_IDL))
    nasty = '"); } /* \u202e\n#![no_std] {{ x }} \\'
    document["metadata"]["name"] = nasty
    for ix in document["instructions"]:
        ix["docs"] = [nasty, "*/ pub fn evil() {}"]
        for account in ix["accounts"]:
            account["name"] = f"{nasty}{account['name']}"
    render(load(document).model, facade=str(TOKEN_PROGRAM), out=tmp_path)
    with (tmp_path / "Cargo.toml").open("a") as manifest:
        manifest.write("\n[workspace]\n")
    assert CARGO is not None
    folder = (
        Path(os.environ.get("MCPSOL_CACHE", Path.home() / ".cache/mcpsol"))
        / "cargo-target-rendered"
    )
    done = subprocess.run(
        [CARGO, "clippy", "--quiet", "--", "--deny", "warnings"],
        cwd=tmp_path,
        env={**os.environ, "CARGO_TARGET_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    formatted = subprocess.run(
        ["rustfmt", "--edition", "2021", "--check", str(tmp_path / "src/lib.rs")],
        capture_output=True,
        check=False,
    )
    assert formatted.returncode == 0, formatted.stdout[-2000:]
