"""Whatever a caller gives the client, the errors that leave it are those of mcpsol_py.errors."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from solders.account import Account
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from solders.transaction import VersionedTransaction

from mcpsol_py import connect_sync, load
from mcpsol_py.batch import Sender
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.svm import SvmTransport
from mcpsol_py.client.transport import Outcome, Status, run
from mcpsol_py.errors import (
    InvalidSigner,
    InvalidTransaction,
    McpsolError,
    MissingAccount,
    MissingSigner,
    TransactionTooLarge,
)
from mcpsol_py.program_client import ProgramClient
from mcpsol_py.solana.addresses import ADDRESS_LOOKUP_TABLE_PROGRAM
from mcpsol_py.sync_client import SyncProgramClient
from tests.functional.counter_scenario import COUNTER, PROGRAMS, REPO

PROGRAM = load(REPO / "programs/counter/idl.json")
WALLET = Keypair.from_seed(bytes([4] * 32))
OTHER = Pubkey(bytes([6] * 32))
TABLE = Pubkey(bytes([8] * 32))


def client(wallet: Any = WALLET) -> SyncProgramClient:
    chain = SvmTransport()
    chain.add_program(COUNTER, PROGRAMS[COUNTER])
    chain.airdrop(WALLET.pubkey(), 10**10)
    broken = Account(lamports=10**9, data=b"\1", owner=ADDRESS_LOOKUP_TABLE_PROGRAM)
    chain.set_account(TABLE, broken)
    return SyncProgramClient(ProgramClient(PROGRAM, chain, COUNTER, wallet=wallet))


def accounts(count: int, *, signer: bool = False) -> list[AccountMeta]:
    return [
        AccountMeta(
            Pubkey(bytes([1, number >> 8, number & 255, *bytes(29)])), signer, True
        )
        for number in range(count)
    ]


def instruction(count: int = 0, data: int = 1, *, signer: bool = False) -> Instruction:
    return Instruction(OTHER, bytes(data), accounts(count, signer=signer))


ODD_INSTRUCTIONS: dict[str, tuple[Any, type[McpsolError]]] = {
    "nothing of the kind": (5, InvalidTransaction),
    "none": (None, InvalidTransaction),
    "text": ("increment", InvalidTransaction),
    "one among others": ([instruction(), b"\1"], InvalidTransaction),
    "300 accounts": (instruction(300), InvalidTransaction),
    "256 signers": (instruction(256, signer=True), InvalidTransaction),
    "60 accounts": (instruction(60), TransactionTooLarge),
    "70,000 bytes": (instruction(0, 70_000), TransactionTooLarge),
    "1,300 bytes": (instruction(0, 1_300), TransactionTooLarge),
    "70,000 times one account": (
        Instruction(OTHER, b"", accounts(1) * 70_000),
        TransactionTooLarge,
    ),
    "a signer that nobody has": (instruction(1, signer=True), MissingSigner),
}


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("name", ODD_INSTRUCTIONS)
def test_instructions_that_make_no_transaction(name: str, legacy: bool) -> None:
    odd, error = ODD_INSTRUCTIONS[name]
    with pytest.raises(error):
        client().send(odd, legacy=legacy)


@pytest.mark.parametrize("name", ODD_INSTRUCTIONS)
def test_instructions_that_cannot_be_simulated(name: str) -> None:
    odd, _ = ODD_INSTRUCTIONS[name]
    with pytest.raises(McpsolError):
        client().simulate(odd).raise_for_error()


@pytest.mark.parametrize("name", ["300 accounts", "256 signers", "70,000 bytes"])
def test_instructions_that_a_batch_cannot_send(name: str) -> None:
    odd, error = ODD_INSTRUCTIONS[name]
    chain = client().transport
    with pytest.raises(error):
        run(Sender(chain, WALLET.pubkey(), [WALLET]).one([odd]))


@pytest.mark.parametrize(
    "options",
    [
        {"compute_units": 2**64},
        {"compute_units": -1},
        {"compute_units": 1.5},
        {"compute_units": "much"},
        {"priority_fee": 2**64},
        {"priority_fee": -1},
        {"priority_fee": "much"},
    ],
)
def test_numbers_out_of_range(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidTransaction, match="expected compute units"):
        client().send(instruction(), **options)


@pytest.mark.parametrize("table", ["nonsense", OTHER, TABLE, str(TABLE)])
def test_lookup_tables_that_are_none(table: Any) -> None:
    for method in (client().send, client().simulate):
        with pytest.raises(McpsolError, match="address lookup table"):
            method(instruction(), lookup_tables=[table])


@pytest.mark.parametrize("payer", ["nonsense", 5, b"\1" * 32])
def test_payers_that_are_none(payer: Any) -> None:
    with pytest.raises(MissingAccount, match="not an address"):
        client().send(instruction(), payer=payer)


def test_nobody_pays() -> None:
    with pytest.raises(MissingAccount, match="no wallet"):
        client(wallet=None).send(instruction())


class SignsNonsense:
    def pubkey(self) -> Pubkey:
        return WALLET.pubkey()

    def sign_message(self, _message: bytes) -> bytes:
        return b"a signature"


@pytest.mark.parametrize("signer", ["text", 5, OTHER, SignsNonsense()])
def test_signers_that_cannot_sign(signer: Any) -> None:
    with pytest.raises(InvalidSigner):
        client(wallet=None).send(instruction(), [signer], payer=WALLET.pubkey())


def test_a_signer_that_is_given_twice_signs_once() -> None:
    made = client()
    made.send(made.build("initialize", {"start": 0}), [WALLET, WALLET], payer=WALLET)


def test_a_transaction_without_signatures() -> None:
    empty = VersionedTransaction.default()
    with pytest.raises(McpsolError):
        client().send_transaction(empty)


@pytest.mark.parametrize("text", ["nonsense", "", "1" * 200])
def test_signatures_that_are_none(text: str) -> None:
    with pytest.raises(McpsolError, match="expected a signature"):
        client().transaction_events(text)


@pytest.mark.parametrize(
    "chain", [5, None, "nonsense", "http://", "http://127.0.0.1:1", object()]
)
def test_chains_that_are_none(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda *_: 0.001)  # between two attempts
    with pytest.raises(McpsolError):
        connect_sync(COUNTER, chain)


@pytest.mark.parametrize("err", ["AlreadyProcessed", "SomethingNew", {"New": [1, 2]}])
def test_outcomes_that_are_contradictory(err: Any) -> None:
    """The status says that it failed; the transaction itself says nothing of the kind."""
    chain = ScriptedTransport(
        sends=[None],
        statuses=[Status(True, err)],
        transactions=[Outcome(logs=("Program log: x",))],
    )
    made = SyncProgramClient(ProgramClient(PROGRAM, chain, COUNTER, wallet=WALLET))
    with pytest.raises(McpsolError):
        made.send(instruction())


ODD_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=50),
    st.binary(max_size=50),
    st.just(OTHER),
    st.just(WALLET),
    st.just(instruction()),
    st.just(instruction(40)),
    st.just(Signature.default()),
    st.lists(st.just(instruction(3)), max_size=3),
)


@settings(max_examples=300, deadline=None)
@given(
    what=ODD_VALUES,
    payer=ODD_VALUES,
    units=ODD_VALUES,
    fee=ODD_VALUES,
    table=ODD_VALUES,
    legacy=st.booleans(),
)
def test_no_foreign_error_leaves_a_send(
    what: Any, payer: Any, units: Any, fee: Any, table: Any, legacy: bool
) -> None:
    tables = [] if table is None else [table]
    options = {
        "payer": payer,
        "compute_units": units,
        "priority_fee": fee,
        "legacy": legacy,
    }
    only_ours(lambda: CLIENT.send(what, lookup_tables=tables, **options))
    only_ours(lambda: CLIENT.transaction(what, lookup_tables=tables, **options))
    only_ours(lambda: CLIENT.simulate(what, lookup_tables=tables))


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(["increment", "initialize", "nothing"]),
    amount=ODD_VALUES,
    key=ODD_VALUES,
    extra=st.lists(ODD_VALUES, max_size=2),
)
def test_no_foreign_error_leaves_a_build(
    name: str, amount: Any, key: Any, extra: list[Any]
) -> None:
    only_ours(
        lambda: CLIENT.build(
            name, {"amount": amount}, {"authority": key}, remaining=extra
        )
    )
    only_ours(lambda: CLIENT.view(name, {"amount": amount}, {"authority": key}))
    only_ours(lambda: CLIENT.fetch("State", key))


CLIENT = client()


def only_ours(call: Callable[[], Any]) -> None:
    try:
        call()
    except McpsolError:
        pass
