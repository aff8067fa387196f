"""Simulations: payers that exist, blockhashes, the caller's transaction, and return data in logs."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st
from solders.hash import Hash
from solders.instruction import AccountMeta, Instruction
from solders.keypair import Keypair
from solders.message import Message, MessageV0
from solders.pubkey import Pubkey
from solders.transaction import VersionedTransaction

from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.simulation import (
    Payers,
    returned_in_logs,
    run_instructions,
    run_transaction,
    with_blockhash,
)
from mcpsol_py.client.transport import Outcome, run
from mcpsol_py.errors import MissingAccount

PROGRAM, OTHER = Pubkey.new_unique(), Pubkey.new_unique()
IX = Instruction(PROGRAM, b"\1", [AccountMeta(OTHER, False, True)])
UNFUNDED, FINE = Outcome(err="AccountNotFound"), Outcome(units=7)


def signed(pair: Keypair, *, legacy: bool) -> VersionedTransaction:
    recent = Hash.new_unique()
    message: Message | MessageV0
    if legacy:
        message = Message.new_with_blockhash([IX], pair.pubkey(), recent)
    else:
        message = MessageV0.try_compile(pair.pubkey(), [IX], [], recent)
    return VersionedTransaction(message, [pair])


def payers_of(chain: ScriptedTransport) -> list[Pubkey]:
    return [
        a.given["transaction"].message.account_keys[0]
        for a in chain.asked
        if a.name == "simulate"
    ]


def test_the_ladder_of_payers_goes_from_the_wallet_to_the_node_to_known_ones() -> None:
    wallet, node = Pubkey.new_unique(), Pubkey.new_unique()
    chain = ScriptedTransport(
        simulations=[UNFUNDED, UNFUNDED, FINE, FINE], identity=node
    )
    payers = Payers(wallet=wallet)
    assert run(run_instructions(chain, [IX], payers)).units == 7
    asked = payers_of(chain)
    assert asked[:2] == [wallet, node]
    assert asked[2] not in (wallet, node)
    run(run_instructions(chain, [IX], payers))
    assert payers_of(chain)[3] == asked[2]  # the rung that held is kept


def test_an_explicit_payer_stands_alone() -> None:
    chain = ScriptedTransport(simulations=[UNFUNDED], identity=Pubkey.new_unique())
    with pytest.raises(MissingAccount) as caught:
        run(run_instructions(chain, [IX], Payers(option=OTHER, wallet=PROGRAM)))
    assert caught.value.account == "payer"
    assert str(OTHER) in caught.value.why
    assert "lamports" in caught.value.why


def test_a_failing_program_is_no_reason_to_try_another_payer() -> None:
    failed = Outcome(err={"InstructionError": [0, {"Custom": 1}]})
    chain = ScriptedTransport(simulations=[failed])
    assert run(run_instructions(chain, [IX], Payers(wallet=OTHER))) == failed


@pytest.mark.parametrize("legacy", [True, False])
def test_the_callers_transaction_stays_byte_identical(legacy: bool) -> None:
    transaction = signed(Keypair(), legacy=legacy)
    before = bytes(transaction)
    chain = ScriptedTransport(simulations=[Outcome(err="BlockhashNotFound"), FINE])
    assert run(run_transaction(chain, transaction)).units == 7
    assert bytes(transaction) == before


@pytest.mark.parametrize("legacy", [True, False])
def test_a_node_that_does_not_replace_the_blockhash_gets_a_fetched_one_once(
    legacy: bool,
) -> None:
    transaction = signed(Keypair(), legacy=legacy)
    chain = ScriptedTransport(
        simulations=[Outcome(err="BlockhashNotFound"), Outcome(err="BlockhashNotFound")]
    )
    assert run(run_transaction(chain, transaction)).err == "BlockhashNotFound"
    first, _, second = chain.asked
    assert first.given["replace_blockhash"] is True
    assert first.given["transaction"] is transaction
    assert second.given["replace_blockhash"] is False
    fresh = second.given["transaction"].message
    assert fresh.recent_blockhash != transaction.message.recent_blockhash
    assert type(fresh) is type(transaction.message)
    assert fresh.account_keys == transaction.message.account_keys
    assert fresh.instructions == transaction.message.instructions
    assert fresh.header == transaction.message.header


def test_a_new_blockhash_takes_the_signatures_away() -> None:
    copy = with_blockhash(signed(Keypair(), legacy=False), Hash.default())
    assert not any(bytes(s).strip(b"\0") for s in copy.signatures)


def logs_of(
    program: Pubkey,
    data: bytes | None,
    *,
    depth: int = 1,
    inner: list[str] | None = None,
) -> list[str]:
    said = (
        []
        if data is None
        else [f"Program return: {program} {base64.b64encode(data).decode()}"]
    )
    begin, end = f"Program {program} invoke [{depth}]", f"Program {program} success"
    return [
        begin,
        *(inner or []),
        f"Program {program} consumed 5 of 200000 compute units",
        *said,
        end,
    ]


@given(
    st.lists(st.none() | st.binary(min_size=1, max_size=40), max_size=8),
    st.integers(0, 60),
)
def test_each_instructions_return_data_is_its_own_as_far_as_the_logs_go(
    returned: list[bytes | None], cut: int
) -> None:
    logs = [line for data in returned for line in logs_of(PROGRAM, data)]
    found = list(returned_in_logs(logs))
    assert [r.data for r in found] == returned
    assert [r.index for r in found] == list(range(len(returned)))
    shorter = list(returned_in_logs([*logs[:cut], "Log truncated"]))
    assert [r.data for r in shorter] == returned[: len(shorter)]


def test_return_data_that_an_inner_program_set_is_not_the_outer_ones() -> None:
    inner = logs_of(OTHER, b"inner", depth=2)
    (only,) = returned_in_logs(logs_of(PROGRAM, b"inner", inner=inner))
    assert only.data is None  # the runtime logs it under the outer name too
    (own,) = returned_in_logs(logs_of(PROGRAM, b"own", inner=inner))
    assert own.data == b"own"


def test_a_program_that_prints_such_a_line_is_not_believed() -> None:
    faked = base64.b64encode(b"fake").decode()
    inner = [
        f"Program log: Program return: {PROGRAM} {faked}",
        f"Program return: {OTHER} {faked}",
    ]
    (only,) = returned_in_logs(logs_of(PROGRAM, None, inner=inner))
    assert only.data is None


def test_a_failed_instruction_is_told() -> None:
    logs = [
        *logs_of(PROGRAM, b"x"),
        f"Program {PROGRAM} invoke [1]",
        f"Program {PROGRAM} failed: invalid instruction data",
    ]
    assert [r.ok for r in returned_in_logs(logs)] == [True, False]
