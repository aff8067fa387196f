"""Which messages were sent for a chain, and which of them may be sent anew."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey

from mcpsol_py.calls import sent_messages as module
from mcpsol_py.calls import transactions
from mcpsol_py.calls.draft import TransactionDraft
from mcpsol_py.calls.send import sign_and_submit
from mcpsol_py.calls.sent_messages import SentMessages, sent_messages
from mcpsol_py.client.rpc import RpcTransport
from mcpsol_py.client.scripted import ScriptedTransport
from mcpsol_py.client.transport import Blockhash, Outcome, run
from mcpsol_py.errors import MissingSigner, ProgramFailed, TransportError

WALLET = Keypair()
GO = Instruction(Pubkey(bytes([7] * 32)), b"\1", [])
DRAFT = TransactionDraft(WALLET.pubkey(), [GO])


def message(number: int = 0) -> MessageV0:
    return MessageV0.try_compile(
        WALLET.pubkey(), [GO], [], Hash(number.to_bytes(32, "little"))
    )


class Slow(ScriptedTransport):
    """A chain that gives each blockhash *looks* times."""

    def __init__(self, looks: int, **script: Any) -> None:
        super().__init__(**script)
        self.looks, self.given = looks, 0

    async def latest_blockhash(self) -> Blockhash:
        self.given += 1
        return Blockhash(Hash((self.given // self.looks).to_bytes(32, "little")), 150)


def test_a_message_is_taken_once() -> None:
    sent = SentMessages()
    assert sent.take(message())
    assert not sent.take(message())
    assert sent.take(message(1))


def test_one_that_was_not_handed_in_can_be_taken_again() -> None:
    sent = SentMessages()
    sent.take(message())
    sent.release(message())
    assert sent.take(message())


def test_one_that_was_handed_in_cannot() -> None:
    sent = SentMessages()
    assert sent.hand_in(message())
    assert not sent.hand_in(message())
    sent.release(message())
    assert not sent.take(message())


def test_old_messages_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MESSAGES", 3)
    sent = SentMessages()
    assert all(sent.take(message(number)) for number in range(4))
    assert sent.take(message(0))
    assert not sent.take(message(3))


def test_threads_take_it_once() -> None:
    for number in range(50):
        sent = SentMessages()
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(sent.take, [message(number)] * 8)) == 1


def test_transports_to_one_url_share_a_record() -> None:
    assert sent_messages(RpcTransport("http://one")) is sent_messages(
        RpcTransport("http://one")
    )
    assert sent_messages(RpcTransport("http://one")) is not sent_messages(
        RpcTransport("http://two")
    )


def test_chains_in_this_process_have_records_of_their_own() -> None:
    one, two = ScriptedTransport(), ScriptedTransport()
    assert sent_messages(one) is sent_messages(one)
    assert sent_messages(one) is not sent_messages(two)


def test_a_record_goes_with_its_chain() -> None:
    before = len(module.by_transport)
    for _ in range(20):
        sent_messages(ScriptedTransport())
    gc.collect()
    assert len(module.by_transport) <= before + 1


def test_an_identical_call_waits_for_another_blockhash() -> None:
    chain = Slow(3, sends=[None] * 3)
    made = [
        run(sign_and_submit(chain, DRAFT, [WALLET], confirm=False)) for _ in range(3)
    ]
    assert len(set(made)) == 3
    assert chain.slept > 0


def test_no_new_blockhash_is_an_error() -> None:
    chain = Slow(10_000, sends=[None])
    run(sign_and_submit(chain, DRAFT, [WALLET], confirm=False))
    with pytest.raises(TransportError, match="gives no new blockhash"):
        run(sign_and_submit(chain, DRAFT, [WALLET], confirm=False))
    assert chain.count("send") == 1
    assert chain.slept == transactions.BLOCKHASH_LOOKS * transactions.BLOCKHASH_SECONDS


REFUSED = Outcome(err={"InstructionError": [0, {"Custom": 1}]})


@pytest.mark.parametrize(
    ("refusal", "error"),
    [
        (REFUSED, ProgramFailed),
        (TransportError("script", "forbidden", code=403), TransportError),
        (TransportError("script", "busy", retryable=True, code=-32005), TransportError),
    ],
)
def test_what_the_node_refused_can_be_sent_again_at_once(
    refusal: Any, error: type[Exception]
) -> None:
    chain = Slow(10_000, sends=[refusal, None])
    with pytest.raises(error):
        run(sign_and_submit(chain, DRAFT, [WALLET]))
    run(sign_and_submit(chain, DRAFT, [WALLET], confirm=False))
    assert chain.slept == 0


def test_what_was_never_signed_can_be_sent_at_once() -> None:
    chain = Slow(10_000, sends=[None])
    with pytest.raises(MissingSigner):
        run(sign_and_submit(chain, DRAFT, [Keypair()]))
    run(sign_and_submit(chain, DRAFT, [WALLET], confirm=False))
    assert chain.slept == 0
